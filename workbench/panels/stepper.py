"""The stepper: one instance, turn by turn, forwards and backwards, and from there to its children and its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import ipywidgets as widgets

from workbench.panels.extra import EXTRAS, Extra
from workbench.panels.limits import LimitsPanel
from workbench.panels.panel import close_tree
from workbench.panels.turn_bar import switch
from workbench.panels.turn_key_table import TurnKeyTable
from workbench.panels.turn_panel import TurnPanel
from workbench.runtime.errors import InstanceFinished
from workbench.runtime.turn import Turn
from workbench.runtime.turn_result import FINISHED
from workbench.showing import Steppable, Stepping
from workbench.views import moments, relatives, saved_page, stepper
from workbench.views.addresses import find_address, follows, turn_at
from workbench.views.look import BACK, Look, Picture
from workbench.views.redaction import Redact


class _Left(NamedTuple):
    """An instance that was left for another one, and where one was in it."""

    stepping: Stepping
    instance_id: str
    address: str
    key: str | None


class Stepper(TurnPanel):
    """Steps through turns. `turns` gives them as they are now; `run_next`, on a run that can go on, makes one more.

    `with_locals` gives the turn at an address with its locals, made on demand; `stamp` is another value whenever
    `turns` would be others, and None where that is not known; `elsewhere` gives the stepping of another instance.
    """

    def __init__(
        self,
        turns: Callable[[], Sequence[Turn]],
        run_next: Callable[[], object] | None = None,
        with_locals: Callable[[str], Turn] | None = None,
        stamp: Callable[[], object] | None = None,
        elsewhere: Callable[[str], Stepping] | None = None,
    ) -> None:
        self._on = Stepping(turns, run_next, with_locals, stamp, elsewhere)
        self._left: list[_Left] = []
        self._opened_as = ""
        self._seen = self._stamp()
        self._located: tuple[Turn, Turn] | None = None
        made = tuple(turns())
        super().__init__(made, stepper.opening(made))

    # Turns.

    def next(self) -> None:
        """Look at the next turn; at the last one of a run that can go on, make one more. Nothing else makes any.

        Raises `InstanceWaiting` when only a call from outside could move it.
        """
        position = self._position()
        if position == len(self.turns) - 1 and self._can_run():
            self._run()
        self._to(position + 1)

    def _can_run(self) -> bool:
        if self._on.run_next is None:
            return False
        last = self.turns[-1] if self.turns else None
        return last is None or (last.divergence is None and last.status not in FINISHED)

    def _run(self) -> None:
        """Make one more turn, unless somebody else has since this was drawn: what is unseen is shown first."""
        if self._on.run_next is None or self._catch_up():
            return
        try:
            made = self._on.run_next()
        except InstanceFinished:
            made = None  # it was ended from outside, before its first turn: there is nothing to show
        if isinstance(made, Turn) and follows(made, self.turns):
            self.turns = (*self.turns, made)  # as it was made; running all of them again would show the same
            self._seen = self._stamp()
        else:
            self._catch_up()

    def _stamp(self) -> object:
        return None if self._on.stamp is None else self._on.stamp()

    def _catch_up(self) -> bool:
        """Get the turns that somebody else has made; whether there are any."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen:
            return False
        count = len(self.turns)
        self.turns, self._seen = tuple(self._on.turns()), stamp
        return len(self.turns) > count

    def _turn(self) -> Turn | None:
        """The turn at the focus, with its locals where they are asked for."""
        turn = turn_at(self.turns, self.focus.turn)
        if turn is None or self._on.with_locals is None or not self._locals.value:
            return turn
        if self._located is None or self._located[0] is not turn:
            self._located = (turn, self._on.with_locals(turn.address))
        return self._located[1]

    # Other instances.

    def open_child(self, instance_id: str | None = None) -> None:
        """Show a child: the one with this id, else that of the operation that is looked at, else this turn's only one.

        `.back()` comes back. Raises `LookupError` when there is none, or it is not to be had here.
        """
        if instance_id is None:
            turn = turn_at(self.turns, self.focus.turn)
            instance_id = None if turn is None else relatives.child_at(turn, self.focus.operation)
        if instance_id is None:
            what = f"operation {self.focus.operation}" if self.focus.operation else f"turn {self.focus.turn}"
            raise LookupError(f"{what} does not name one child: go to the operation that scheduled it, or give its id")
        self._open(instance_id)

    def open_parent(self) -> None:
        """Show the parent, at the operation that scheduled this instance. Raises `LookupError` if there is none."""
        parent = relatives.parent_of(self.turns)
        if parent is None:
            raise LookupError(f"{self._instance_id()!r} has no parent")
        if self._left and self._left[-1].instance_id == parent.instance_id:
            self.back()
        else:
            self._open(parent.instance_id, lambda turns: relatives.place_in_parent(turns, parent))

    def back(self) -> None:
        """Go back to where one was before another instance was opened. Raises `LookupError` if none was."""
        if not self._left:
            raise LookupError("no other instance was opened from here, so there is nothing to go back to")
        left = self._left[-1]
        turns = tuple(left.stepping.turns())
        self._left.pop()
        self._look_at(left.stepping, left.instance_id, turns, left.address, left.key)

    def _goto_elsewhere(self, instance: str, place: str) -> None:
        self._open(instance, lambda turns: find_address(turns, place))

    def _open(self, instance_id: str, place: Callable[[Sequence[Turn]], str] = stepper.opening) -> None:
        """Show another instance at a place among its turns; what cannot be shown leaves all as it was."""
        here = self._instance_id()
        if self._on.elsewhere is None:
            raise LookupError(f"{instance_id!r} is another instance, and only {here!r} is to be had here")
        stepping = self._on.elsewhere(instance_id)
        turns = tuple(stepping.turns())
        address = place(turns) or stepper.opening(turns)
        self._left.append(_Left(self._on, here, self.focus.address, self.focus.key))
        self._look_at(stepping, instance_id, turns, address)

    def _look_at(
        self, stepping: Stepping, instance_id: str, turns: tuple[Turn, ...], address: str, key: str | None = None
    ) -> None:
        self._on, self.turns, self._opened_as, self._located = stepping, turns, instance_id, None
        self._seen = self._stamp()
        with self.focus.hold_trait_notifications():
            self.focus.address = address
            self.focus.key = key
        self._refresh()  # the address may be the same one as before, of another instance

    def _instance_id(self) -> str:
        return self.turns[0].instance_id if self.turns else self._opened_as

    def _follow(self, target: str) -> None:
        if target == BACK:
            self.back()
        elif target.startswith("open:"):
            turn = turn_at(self.turns, self.focus.turn)
            found = None if turn is None else relatives.instance_at(target, self.turns, turn)
            parent = relatives.parent_of(self.turns)
            if parent is not None and found == parent.instance_id:
                self.open_parent()
            elif found is not None:
                self._open(found)
        else:
            super()._follow(target)

    # Beside it, and out of it.

    def table(self) -> TurnKeyTable:
        """A panel with a row a turn and a column a key, for another cell; it shares this one's focus."""
        return TurnKeyTable(lambda: self.turns, self.focus)

    def limits_panel(self) -> LimitsPanel:
        """A panel of sizes over turns against limits that can be changed, for another cell; it shares the focus."""
        return LimitsPanel(lambda: self.turns, self.focus)

    def save_html(
        self,
        path: str | Path,
        redact: Redact | None = None,
        turns: range | None = None,
    ) -> Path:
        """Save all turns as one HTML page that needs no kernel and loads nothing; returns where it is.

        `redact="values"` shows the size of every value in its place; a callable gets what a value is (a key of the
        store, `input`, `result`, the name of a local …) and the value, and returns what to show: the value itself to
        keep it, None for its size. Code, keys and names of orchestrations, activities, events and queues stay.
        `turns` are those to save, counted from 1: `range(1, 501)`. As in the panel: locals and unchanged keys where
        they are switched on. A page saved before is replaced. Raises `TooManyTurns` beyond 2,000 turns without
        `turns`, `NotASavedPage` rather than overwrite another file.
        """
        with self._lock:
            with_locals = self._on.with_locals if self._locals.value else None
            look = self._look()
            return saved_page.save(path, self.turns, look.turn, look.every_key, redact, turns, with_locals)

    # Showing.

    def _switches(self) -> Sequence[widgets.Checkbox]:
        self._locals = switch("locals")
        self._watch(self._locals, lambda _: self._refresh(), "value")
        self._extras: list[tuple[widgets.Checkbox, Extra]] = []
        for make in EXTRAS:
            extra = make(self)
            box = switch(extra.label)
            self._watch(box, lambda _: self._refresh(), "value")
            self._cleanup.callback(close_tree, extra.root)
            self._extras.append((box, extra))
        return (self._locals, *(box for box, _ in self._extras))

    def _build(self) -> list[widgets.Widget]:
        built = super()._build()
        self._below = widgets.VBox()
        self._below.add_class("workbench-below")
        return [*built, self._below]

    def guarded(self, handler: Callable[[object], None]) -> Callable[[object], None]:
        """A handler of a part below the body, so that what it raises is shown in the panel and leaves it usable."""
        return self._guarded(handler)

    def _look(self) -> Look:
        back = ""
        if self._left:
            left = self._left[-1]
            back = moments.address_in_words(left.instance_id, left.address)
        return super()._look()._replace(opens=self._on.elsewhere is not None, back=back)

    def _picture(self, look: Look) -> Picture:
        return stepper.picture(self.turns, self._turn(), look)

    def _refresh(self) -> None:
        super()._refresh()
        self._locals.disabled = self._on.with_locals is None
        switched_on = [extra for box, extra in self._extras if box.value]
        for extra in switched_on:
            extra.show()
        roots = tuple(extra.root for extra in switched_on)
        if self._below.children != roots:
            self._below.children = roots

    def __repr__(self) -> str:
        turn = turn_at(self.turns, self.focus.turn)
        where = "no turn yet" if turn is None else repr(turn)
        return f"Stepper at {self.focus.address or 'the start'} of {len(self.turns)} turns: {where}"


def open_on(source: Steppable) -> Stepper:
    """A stepper on something that can be stepped through: a run, a replay, a recording."""
    return Stepper(*source.stepping())
