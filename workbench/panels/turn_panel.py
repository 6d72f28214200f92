"""`TurnPanel`: a panel that looks at one turn of several; the stepper and the poisoning panel are made of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from workbench.panels.focus import Focus
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import Panel
from workbench.panels.turn_bar import TurnBar, switch
from workbench.runtime.turn import Turn
from workbench.views import page
from workbench.views.addresses import position_of, turn_at
from workbench.views.look import Look, Picture
from workbench.views.markup import key_at
from workbench.views.operations import MOST_REPLAYED, operation_addresses


class TurnPanel(Panel):
    """Head, bar, strip of turns and body, and a focus that all of them follow. Subclasses give `_picture`.

    `turns` are in order; whoever has more of them may replace the tuple.
    """

    def __init__(self, turns: Sequence[Turn], address: str) -> None:
        self.turns: tuple[Turn, ...] = tuple(turns)
        self.focus = Focus(address=address)
        super().__init__()
        self._watch(self.focus, lambda _: self._refresh(), "address", "key")

    def _picture(self, look: Look) -> Picture:
        raise NotImplementedError

    # Moving, from a cell as by a button.

    def next(self) -> None:
        """Look at the next turn."""
        self._to(self._position() + 1)

    def previous(self) -> None:
        """Look at the turn before."""
        self._to(self._position() - 1)

    def first(self) -> None:
        """Look at the first turn."""
        self._to(0)

    def last(self) -> None:
        """Look at the last turn."""
        self._to(len(self.turns) - 1)

    def next_operation(self) -> None:
        """Look at the next operation of this turn, the first one if none is looked at."""
        self._to_operation(1)

    def previous_operation(self) -> None:
        """Look at the operation before, in this turn."""
        self._to_operation(-1)

    def goto(self, address: str) -> None:
        """Look at a turn (`1.2`, or `2` for that of the newest execution that has one) or an operation (`1.2.1`).

        Raises `LookupError` when there is no such turn.
        """
        address = address.strip()
        if address.isdecimal():
            named = [turn.address for turn in self.turns if turn.number == int(address)]
            address = named[-1] if named else address
        if position_of(self.turns, ".".join(address.split(".")[:2])) is None:
            known = ", ".join(turn.address for turn in self.turns[-8:])
            raise LookupError(f"there is no turn {address!r}; the last ones are {known or 'none'}")
        self.focus.address = address

    def _position(self) -> int:
        position = position_of(self.turns, self.focus.turn)
        return len(self.turns) - 1 if position is None else position

    def _to(self, position: int) -> None:
        if 0 <= position < len(self.turns):
            self.focus.address = self.turns[position].address

    def _step(self, step: int) -> None:
        self._to(self._position() + step)

    def _operations(self) -> tuple[list[str], int]:
        """The addresses of this turn's operations, and where the one that is looked at stands (-1: nowhere)."""
        turn = turn_at(self.turns, self.focus.turn)
        found = [] if turn is None else operation_addresses(turn)
        return found, found.index(self.focus.operation) if self.focus.operation in found else -1

    def _to_operation(self, step: int) -> None:
        addresses, position = self._operations()
        if 0 <= position + step < len(addresses):
            self.focus.address = addresses[position + step]

    def _follow(self, target: str) -> None:
        """Go to what was clicked: a turn or operation, or a key such as `key:counter`; the same key again: no key."""
        if not target.startswith("key:"):
            self.goto(target)
            return
        key = key_at(target, self._keys())
        self.focus.key = None if key == self.focus.key else key

    def _keys(self) -> set[str]:
        """The keys that the turn at the focus knows of."""
        turn = self.turns[self._position()]
        steps = (*turn.replayed[-MOST_REPLAYED:], *turn.operations)
        read = {each.read.key for each in steps if each.read is not None}
        return read.union(turn.before.store, turn.before.delta, turn.after.store, turn.after.delta)

    def _typed(self, change: dict[str, Any]) -> None:
        asked = str(change["new"]).strip()
        if asked == self._number():
            return
        try:
            self.goto(asked)
        finally:
            self._bar.number.value = self._number()

    def _number(self) -> str:
        """The turn at the focus as the box shows it: its number where that says it all."""
        if not self.turns:
            return ""
        turn = self.turns[self._position()]
        return str(turn.number) if self.turns[-1].execution_id == 1 else turn.address

    # Showing.

    def _build(self) -> list[widgets.Widget]:
        follow, step = self._guarded(self._follow), self._guarded(self._step)
        self._head = HtmlView()
        self._strip = HtmlView(on_focus=follow, on_step=step)
        self._body = HtmlView(on_focus=follow, on_step=step)
        self._every_key = switch("all keys")
        self._bar = TurnBar(self._every_key, *self._switches())
        buttons = (
            (self._bar.first, self.first),
            (self._bar.previous, self.previous),
            (self._bar.next, self.next),
            (self._bar.last, self.last),
            (self._bar.previous_operation, self.previous_operation),
            (self._bar.next_operation, self.next_operation),
        )
        for button, handler in buttons:
            self._on_click(button, handler)
        self._watch(self._bar.number, self._typed, "value")
        self._watch(self._every_key, lambda _: self._refresh(), "value")
        return [self._head, self._bar.root, self._alert, self._strip, self._body]

    def _switches(self) -> Sequence[widgets.Checkbox]:
        return ()

    def _can_run(self) -> bool:
        return False

    def _look(self) -> Look:
        return Look(self.focus.turn, self.focus.operation, self.focus.key, self._every_key.value)

    def _refresh(self) -> None:
        picture = self._picture(self._look())
        self._head.html, self._strip.html, self._body.html = picture
        self._bar.show(self._position(), len(self.turns), self._number(), self._can_run())
        operations, position = self._operations()
        self._bar.show_operations(position > 0, position + 1 < len(operations))

    def static_html(self) -> str:
        """The turn that is looked at, with the strip, as it shows without a kernel."""
        with self._lock:
            return page.rendering(*self._picture(self._look()))
