"""The poisoning panel: the same orchestration on both KV models, turn by turn, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as widgets

from workbench.panels.focus import Focus
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import Panel
from workbench.runtime.turn import Turn
from workbench.views import page, poisoning


class PoisoningPanel(Panel):
    """Shows where the first KV design poisons a read and what the delta design reads in the same place.

    `first` are the turns on the first design (`kv_model="per-turn"`), `fixed` those on the delta design.
    """

    def __init__(self, first: Sequence[Turn], fixed: Sequence[Turn]) -> None:
        self.pair = poisoning.Pair(tuple(first), tuple(fixed))
        self.focus = Focus(turn=poisoning.opening(self.pair))
        super().__init__()
        self._watch(self.focus, lambda _: self._refresh(), "turn")

    def next(self) -> None:
        """Look at the next turn."""
        self._step(1)

    def previous(self) -> None:
        """Look at the turn before."""
        self._step(-1)

    def _step(self, step: int) -> None:
        addresses = self.pair.addresses
        position = self._position() + step
        if 0 <= position < len(addresses):
            self.focus.move(addresses[position])

    def _position(self) -> int:
        addresses = self.pair.addresses
        return addresses.index(self.focus.turn) if self.focus.turn in addresses else len(addresses) - 1

    def _follow(self, target: str) -> None:
        if target.startswith("key:"):
            self.focus.key = target.removeprefix("key:")
        else:
            self.focus.follow(target)

    def _build(self) -> list[widgets.Widget]:
        follow, step = self._guarded(self._follow), self._guarded(self._step)
        self._header = HtmlView(on_focus=follow, on_step=step)
        self._body = HtmlView(on_focus=follow, on_step=step)
        self._previous = self._button("◀ Previous turn", self.previous)
        self._next = self._button("Next turn ▶", self.next)
        return [self._header, widgets.HBox([self._previous, self._next]), self._body]

    def _refresh(self) -> None:
        self._header.html = page.rendering(poisoning.header(self.pair, self.focus.turn))
        self._body.html = page.rendering(poisoning.body(self.pair, self.focus.turn))
        self._previous.disabled = self._position() <= 0
        self._next.disabled = self._position() >= len(self.pair.addresses) - 1

    def text(self) -> str:
        """Both models turn by turn as plain text, with the divergence explained."""
        return poisoning.text(self.pair)

    def static_html(self) -> str:
        """The turn that is looked at, on both models."""
        return poisoning.html(self.pair, self.focus.turn)

    def __repr__(self) -> str:
        return f"PoisoningPanel at {self.focus.turn}: {poisoning.line(self.pair)}"
