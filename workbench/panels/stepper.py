"""The stepper: one instance, turn by turn, forwards and backwards."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from workbench.panels.focus import Focus
from workbench.panels.html_view import HtmlView
from workbench.panels.panel import Panel
from workbench.runtime.errors import InstanceFinished
from workbench.runtime.turn import Turn
from workbench.showing import Steppable
from workbench.views import limits_view, page, stepper
from workbench.views.markup import key_at

NEXT, RUN_NEXT = "Next turn ▶", "Run next turn ▶"


class Stepper(Panel):
    """Steps through turns. `turns` gives them as they are now; `run_next`, on a run that can go on, makes one more.

    `with_locals` gives the turn at an address with its locals, made on demand.
    """

    def __init__(
        self,
        turns: Callable[[], Sequence[Turn]],
        run_next: Callable[[], object] | None = None,
        with_locals: Callable[[str], Turn] | None = None,
    ) -> None:
        self._get_turns = turns
        self._run_next = run_next
        self._with_locals = with_locals
        self.turns: tuple[Turn, ...] = tuple(turns())
        self.focus = Focus(turn=stepper.opening(self.turns))
        super().__init__()
        self._watch(self.focus, lambda _: self._refresh(), "turn", "operation", "key")

    # Moving.

    def next(self) -> None:
        """Look at the next turn; at the last one of a run that can go on, make one more."""
        position = self._position()
        if position + 1 < len(self.turns):
            self.focus.move(self.turns[position + 1].address)
        elif self._can_run():
            self._run()

    def previous(self) -> None:
        """Look at the turn before."""
        self._to(max(0, self._position() - 1))

    def first(self) -> None:
        """Look at the first turn."""
        self._to(0)

    def last(self) -> None:
        """Look at the last turn."""
        self._to(len(self.turns) - 1)

    def goto(self, address: str) -> None:
        """Look at a turn (`1.2`, or `2` where that is unique) or an operation (`1.2.1`). Raises `LookupError`."""
        address = address.strip()
        if address.isdigit():
            named = [turn.address for turn in self.turns if turn.number == int(address)]
            address = named[-1] if named else address
        if stepper.at(self.turns, ".".join(address.split(".")[:2])) is None:
            known = ", ".join(turn.address for turn in self.turns[-8:])
            raise LookupError(f"there is no turn {address}; the last ones are {known or 'none'}")
        self.focus.follow(address)

    def _position(self) -> int:
        return next((i for i, turn in enumerate(self.turns) if turn.address == self.focus.turn), len(self.turns) - 1)

    def _to(self, position: int) -> None:
        if 0 <= position < len(self.turns):
            self.focus.move(self.turns[position].address)

    def _step(self, step: int) -> None:
        self._to(self._position() + step)

    def _follow(self, target: str) -> None:
        turn = self._turn()
        if target.startswith("key:"):
            keys = (
                [] if turn is None else [*turn.after.store, *turn.after.delta, *turn.before.store, *turn.before.delta]
            )
            self.focus.move(key=key_at(target, keys))
        else:
            self.goto(target)

    def _can_run(self) -> bool:
        ended = bool(self.turns) and self.turns[-1].status in ("Completed", "Failed")
        return self._run_next is not None and not ended

    def _run(self) -> None:
        if self._run_next is not None:
            with contextlib.suppress(InstanceFinished):
                self._run_next()
            self.turns = tuple(self._get_turns())
            self.focus.move(self.turns[-1].address if self.turns else "")
            self._refresh()

    # Showing.

    def _build(self) -> list[widgets.Widget]:
        self._header = HtmlView(on_focus=self._told(self._follow), on_step=self._told(self._step))
        self._body = HtmlView(on_focus=self._told(self._follow), on_step=self._told(self._step))
        self._first = self._button("First", self.first)
        self._previous = self._button("◀ Previous turn", self.previous)
        self._next = self._button(NEXT, self.next)
        self._last = self._button("Last", self.last)
        self._number = widgets.Text(description="Turn", continuous_update=False, layout={"width": "9em"})
        self._number.style.description_width = "initial"
        self._every_key = widgets.Checkbox(description="all keys", indent=False, layout={"width": "auto"})
        self._locals = widgets.Checkbox(description="locals", indent=False, layout={"width": "auto"})
        self._chart_on = widgets.Checkbox(description="limits chart", indent=False, layout={"width": "auto"})
        self._chart = widgets.Image(format="png", layout={"display": "none", "max_width": "704px"})
        self._watch(self._number, self._typed, "value")
        for box in (self._every_key, self._locals, self._chart_on):
            self._watch(box, lambda _: self._refresh(), "value")
        self._locals.disabled = self._with_locals is None
        buttons = widgets.HBox([self._first, self._previous, self._next, self._last, self._number])
        switches = widgets.HBox([self._every_key, self._locals, self._chart_on])
        bar = widgets.HBox([buttons, switches], layout={"flex_flow": "row wrap", "justify_content": "space-between"})
        return [self._header, bar, self._body, self._chart]

    def _told(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        return self._guarded(handler)

    def _typed(self, change: dict[str, Any]) -> None:
        if change["new"] and change["new"] != self.focus.turn:
            try:
                self.goto(change["new"])
            except (LookupError, ValueError):
                self._number.value = self.focus.turn
                raise

    def _turn(self) -> Turn | None:
        turn = stepper.at(self.turns, self.focus.turn)
        if turn is not None and self._locals.value and self._with_locals is not None:
            return self._with_locals(turn.address)
        return turn

    def _look(self) -> stepper.Look:
        operation = self.focus.address if self.focus.operation else ""
        return stepper.Look(self.focus.turn, operation, self.focus.key, self._every_key.value)

    def _refresh(self) -> None:
        look, position = self._look(), self._position()
        at_end = position >= len(self.turns) - 1
        with self._header.hold_sync(), self._body.hold_sync():
            self._header.html = page.rendering(stepper.header(self.turns, look))
            self._body.html = page.rendering(stepper.body(self._turn(), look))
        self._number.value = self.focus.turn
        self._next.description = RUN_NEXT if at_end and self._can_run() else NEXT
        self._next.disabled = at_end and not self._can_run()
        self._previous.disabled = self._first.disabled = position <= 0
        self._last.disabled = at_end
        self._refresh_chart()

    def _refresh_chart(self) -> None:
        if self._chart_on.value and self.turns:
            self._chart.value = limits_view.png(limits_view.figure(self.turns, self.turns[-1].limits))
            self._chart.layout.display = "block"
        else:
            self._chart.layout.display = "none"

    def static_html(self) -> str:
        """The turn that is looked at, with the strip, as it shows without a kernel."""
        return stepper.html(self.turns, self._look())

    def __repr__(self) -> str:
        turn = stepper.at(self.turns, self.focus.turn)
        where = "no turn yet" if turn is None else repr(turn)
        return f"Stepper at {self.focus.address or 'the start'} of {len(self.turns)} turns: {where}"


def open_on(source: Steppable) -> Stepper:
    """A stepper on something that can be stepped through: a run, a replay, a recording."""
    return Stepper(*source.stepping())
