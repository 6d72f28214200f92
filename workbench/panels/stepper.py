"""The stepper: one instance, turn by turn, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ipywidgets as widgets

from workbench.panels.html_view import HtmlView
from workbench.panels.turn_bar import switch
from workbench.panels.turn_panel import TurnPanel
from workbench.runtime.errors import InstanceFinished
from workbench.runtime.turn import Turn
from workbench.showing import Steppable
from workbench.views import stepper
from workbench.views.addresses import turn_at
from workbench.views.look import Look, Picture


class Stepper(TurnPanel):
    """Steps through turns. `turns` gives them as they are now; `run_next`, on a run that can go on, makes one more.

    `with_locals` gives the turn at an address with its locals, made on demand; `stamp` is another value whenever
    `turns` would be others, and None where that is not known.
    """

    def __init__(
        self,
        turns: Callable[[], Sequence[Turn]],
        run_next: Callable[[], object] | None = None,
        with_locals: Callable[[str], Turn] | None = None,
        stamp: Callable[[], object] = lambda: None,
    ) -> None:
        self._get_turns = turns
        self._run_next = run_next
        self._with_locals = with_locals
        self._stamp = stamp
        self._seen = stamp()
        self._located: tuple[Turn, Turn] | None = None
        self._drawn_chart: tuple[int, bool] | None = None
        made = tuple(turns())
        super().__init__(made, stepper.opening(made))

    def next(self) -> None:
        """Look at the next turn; at the last one of a run that can go on, make one more.

        Raises `InstanceWaiting` when only a call from outside could move it.
        """
        position = self._position()
        if position == len(self.turns) - 1 and self._can_run():
            self._run()
        self._to(position + 1)

    def _can_run(self) -> bool:
        if self._run_next is None:
            return False
        last = self.turns[-1] if self.turns else None
        return last is None or (last.divergence is None and last.status not in ("Completed", "Failed"))

    def _run(self) -> None:
        """Make one more turn, unless somebody else has since this was drawn: what is unseen is shown first."""
        if self._run_next is None or self._catch_up():
            return
        try:
            made = self._run_next()
        except InstanceFinished:
            made = None  # it was ended from outside, before its first turn: there is nothing to show
        if isinstance(made, Turn) and _follows(made, self.turns):
            self.turns = (*self.turns, made)  # as it was made; running all of them again would show the same
            self._seen = self._stamp()
        else:
            self._catch_up()

    def _catch_up(self) -> bool:
        """Get the turns that somebody else has made; whether there are any."""
        stamp = self._stamp()
        if stamp is not None and stamp == self._seen:
            return False
        count = len(self.turns)
        self.turns, self._seen = tuple(self._get_turns()), stamp
        return len(self.turns) > count

    def _turn(self) -> Turn | None:
        """The turn at the focus, with its locals where they are asked for."""
        turn = turn_at(self.turns, self.focus.turn)
        if turn is None or self._with_locals is None or not self._locals.value:
            return turn
        if self._located is None or self._located[0] is not turn:
            self._located = (turn, self._with_locals(turn.address))
        return self._located[1]

    # Showing.

    def _switches(self) -> Sequence[widgets.Checkbox]:
        self._locals = switch("locals")
        self._chart_on = switch("limits chart")
        self._locals.disabled = self._with_locals is None
        for box in (self._locals, self._chart_on):
            self._watch(box, lambda _: self._refresh(), "value")
        return (self._locals, self._chart_on)

    def _build(self) -> list[widgets.Widget]:
        self._chart = HtmlView()
        self._chart.add_class("workbench-chart")
        return [*super()._build(), self._chart]

    def _picture(self, look: Look) -> Picture:
        return stepper.picture(self.turns, self._turn(), look)

    def _refresh(self) -> None:
        super()._refresh()
        wanted = (len(self.turns), self.dark) if self._chart_on.value and self.turns else None
        if wanted != self._drawn_chart:
            self._chart.html = "" if wanted is None else stepper.chart(self.turns, self.dark)
            self._drawn_chart = wanted

    def __repr__(self) -> str:
        turn = turn_at(self.turns, self.focus.turn)
        where = "no turn yet" if turn is None else repr(turn)
        return f"Stepper at {self.focus.address or 'the start'} of {len(self.turns)} turns: {where}"


def _follows(turn: Turn, turns: Sequence[Turn]) -> bool:
    """Whether the turn is the next one, so that nobody has made another one in between."""
    if not turns:
        return turn.address == "1.1"
    last = turns[-1]
    begins = last.status == "ContinuedAsNew"
    after = (last.execution_id + 1, 1) if begins else (last.execution_id, last.number + 1)
    return (turn.execution_id, turn.number) == after


def open_on(source: Steppable) -> Stepper:
    """A stepper on something that can be stepped through: a run, a replay, a recording."""
    turns, run_next, with_locals, stamp = source.stepping()
    return Stepper(turns, run_next, with_locals, stamp or (lambda: None))
