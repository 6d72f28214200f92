"""`TurnPanel`: a panel that looks at one turn of several; the stepper and the poisoning panel are made of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from workbench.panels.focus import Focus
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import Panel
from workbench.panels.turn_bar import TurnBar, switch
from workbench.runtime.turn import Turn
from workbench.views import moves, page
from workbench.views.addresses import find_address, position_of
from workbench.views.look import Look, Picture
from workbench.views.markup import key_at
from workbench.views.moments import is_named, split_moment, where
from workbench.views.operations import MOST_REPLAYED
from workbench.views.writers import pinned


class TurnPanel(Panel):
    """Head, bar, strip of turns and body, and a focus that all of them follow. Subclasses give `_picture`.

    `turns` are in order; whoever has more of them may replace the tuple.
    """

    def __init__(self, turns: Sequence[Turn], address: str) -> None:
        self.turns: tuple[Turn, ...] = tuple(turns)
        self.focus = Focus(address=address)
        super().__init__()
        self._watch(self.focus, lambda _: self._refresh(), "address", "key")

    @abstractmethod
    def _picture(self, look: Look) -> Picture:
        """The panel as plain pieces of HTML, for how it is looked at."""

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
        """Look at the next operation, of this turn or of the next one that has any; never makes a turn."""
        self._at(moves.operation_after(self.turns, self._position(), self.focus.operation))

    def previous_operation(self) -> None:
        """Look at the operation before, of this turn or of an earlier one."""
        self._at(moves.operation_before(self.turns, self._position(), self.focus.operation))

    def goto(self, address: str | int) -> None:
        """Look at a turn (`1.2`, or `2` for that of the newest execution that has one) or an operation (`1.2.1`).

        It may begin with the instance, as `.where()` and the panel write it: `order-42@1.2`. Raises `LookupError`
        when there is no such turn, or when the instance is another one that cannot be reached from here.
        """
        instance, place = split_moment(address)
        if instance is not None and not is_named(self._instance_id(), instance):
            self._goto_elsewhere(instance, place)
        else:
            self.focus.address = find_address(self.turns, place)

    def where(self) -> str:
        """Where one is, in one line that is the same on every run and begins with an address that `goto` takes."""
        return where(self.turns, self._look())

    # A key that is kept in sight.

    def pin(self, key: str) -> None:
        """Keep a key in sight: who wrote and read it, and the turns that changed it. It may come only later."""
        self.focus.key = key

    def unpin(self) -> None:
        """Keep no key in sight."""
        self.focus.key = None

    def next_change(self) -> None:
        """Look at the next turn that changed the pinned key; stays where one is if there is none.

        Raises `LookupError` when no key is pinned.
        """
        self._at(moves.change_after(self.turns, self._position(), self._pinned()))

    def previous_change(self) -> None:
        """Look at the nearest earlier turn that changed the pinned key, likewise.

        Raises `LookupError` when no key is pinned.
        """
        self._at(moves.change_before(self.turns, self._position(), self._pinned()))

    def _pinned(self) -> str:
        if self.focus.key is None:
            raise LookupError("no key is pinned: click one, or call .pin(key)")
        return self.focus.key

    def _instance_id(self) -> str:
        return self.turns[0].instance_id if self.turns else ""

    def _goto_elsewhere(self, instance: str, place: str) -> None:
        here = self._instance_id()
        raise LookupError(f"{instance}@{place} is of another instance, and only {here!r} is to be had here")

    def _position(self) -> int:
        position = position_of(self.turns, self.focus.turn)
        return len(self.turns) - 1 if position is None else position

    def _to(self, position: int) -> None:
        if 0 <= position < len(self.turns):
            self.focus.address = self.turns[position].address

    def _at(self, address: str | None) -> None:
        if address is not None:
            self.focus.address = address

    def _step(self, step: int) -> None:
        self._to(self._position() + step)

    def _follow(self, target: str) -> None:
        """Go to what was clicked: a turn or operation, or a key such as `key:counter`; the same key again: no key."""
        if not target.startswith("key:"):
            self.goto(target)
            return
        key = key_at(target, self._keys())
        self.focus.key = None if key == self.focus.key else key

    def _keys(self) -> set[str]:
        """The keys that the turn at the focus knows of."""
        if not self.turns:
            return set()
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
        self._head = HtmlView(on_focus=follow)
        self._strip = HtmlView(on_focus=follow, on_step=step)
        self._body = HtmlView(on_focus=follow, on_step=step)
        self._pin_view = HtmlView(on_focus=follow)
        self._pin_view.add_class("workbench-pinned")
        self._every_key = switch("all keys")
        self._bar = TurnBar(self._pin_view, self._every_key, *self._switches())
        buttons = (
            (self._bar.first, self.first),
            (self._bar.previous, self.previous),
            (self._bar.next, self.next),
            (self._bar.last, self.last),
            (self._bar.previous_operation, self.previous_operation),
            (self._bar.next_operation, self.next_operation),
            (self._bar.previous_change, self.previous_change),
            (self._bar.next_change, self.next_change),
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
        turns, position, key = self.turns, self._position(), self.focus.key
        self._bar.show(position, len(turns), self._number(), self._can_run())
        before = moves.operation_before(turns, position, self.focus.operation)
        after = moves.operation_after(turns, position, self.focus.operation)
        self._bar.show_operations(before is not None, after is not None)
        earlier = None if key is None else moves.change_before(turns, position, key)
        later = None if key is None else moves.change_after(turns, position, key)
        self._bar.show_changes(earlier is not None, later is not None)
        self._pin_view.html = pinned(key)

    def static_html(self) -> str:
        """The turn that is looked at, with the strip, as it shows without a kernel."""
        with self._lock:
            return page.rendering(*self._picture(self._look()))
