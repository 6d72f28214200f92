"""Naming a divergence: the pure engine runs the code again under each guess, and what lines up best gives the name.

*changed*: the operation made now stands for the recorded one. *added*: it is answered at once, with nothing, and
the record is still to come. *removed*: up to five records are passed over. *moved*: they are passed over and may
come later (replay-rule §7). How much lines up afterwards is part of the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from workbench.recordings.any_order import AnyOrder, is_iteration
from workbench.recordings.experiment import Experiment, Hypothesis, may_stand_for, records_before
from workbench.recordings.last_line import last_line
from workbench.recordings.observed_calls import Call, Watch, call_in_words, state_of
from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.dialect import Dialect
from workbench.runtime.divergence import Divergence, Kind
from workbench.runtime.errors import DidNotComeBack
from workbench.runtime.execution import Code, Execution
from workbench.runtime.kv import DELTA
from workbench.runtime.lines import Chain
from workbench.runtime.replayed_turn import compare_ending
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turns import Record, RecordedTurn
from workbench.runtime.watchdog import DEADLINE_MS, deadline

E = TypeVar("E", bound=Execution)

SKIP_AT_MOST = 5
DELTA_HELPS = 'use the delta model (kv_model="delta"): the same code replays this history there'
NOT_HEALED = (
    "restart the instance (client.restart_instance): its store was migrated in the middle of this execution; or "
    "migrate the old file again with heal=True"
)
SORT = "keep the order, over a set with sorted(…): this turn was recorded making the same operations in another order"
DELTA_TOO = 'use the delta model (kv_model="delta"); this history differs there too, at another place'
MOST_CAUSES = 3
ENOUGH = 40
"""A guess under which so many operations line up needs no further proof."""


def explain(
    divergence: Divergence,
    turn: Turn,
    code: Code,
    setting: TurnSetting,
    turns: Sequence[RecordedTurn],
    dialect: Dialect,
    deadline_ms: int | None = DEADLINE_MS,
) -> Divergence:
    """The divergence with its name found by experiment, how much lines up after it, and what to do.

    `turn` is the one that diverged, `turns` the recorded ones of its execution. All experiments together may take
    `deadline_ms` (ms; None: for ever): under a guess code may run where it never ran. Then it keeps its first name.
    """
    if setting.kv_model == "per-turn":
        turns = [each for each in turns if each.number <= divergence.turn]
    laboratory = _Laboratory(divergence, turn, code, setting, turns, dialect)
    try:
        with deadline(deadline_ms, Execution(code, setting.instance_id, setting.execution_id)):
            return _found(divergence, laboratory)
    except DidNotComeBack:
        return msgspec.structs.replace(divergence, to_do=_to_do(divergence))


def _found(divergence: Divergence, laboratory: _Laboratory) -> Divergence:
    if laboratory.is_impure():
        named = msgspec.structs.replace(divergence, impure=True)
        if named.explaining_read is None:
            return msgspec.structs.replace(named, to_do=(*laboratory.causes(), *_to_do(named)))
    else:
        named = laboratory.named()
    if named.explaining_read is None:
        return msgspec.structs.replace(named, to_do=((SORT,) if laboratory.is_reordered() else ()) + _to_do(named))
    healthy = laboratory.divergence_in_delta_model()
    if healthy is not None and _essence(healthy) == _essence(divergence):  # no poison had a part in it
        reads = tuple(msgspec.structs.replace(read, poisoned=False) for read in named.reads)
        return msgspec.structs.replace(named, reads=reads, to_do=_to_do(named))
    if laboratory.kv_model == DELTA:
        return msgspec.structs.replace(named, to_do=(NOT_HEALED,))
    return msgspec.structs.replace(named, to_do=(DELTA_TOO if healthy is not None else DELTA_HELPS,))


class _Laboratory:
    """Everything that the experiments on one divergence have in common."""

    def __init__(
        self,
        divergence: Divergence,
        turn: Turn,
        code: Code,
        setting: TurnSetting,
        turns: Sequence[RecordedTurn],
        dialect: Dialect,
    ) -> None:
        self._divergence = divergence
        self._turn = turn
        self._code = code
        self._setting = setting
        self.kv_model = setting.kv_model
        self._turns = turns
        self._dialect = dialect
        self._records = [record for each in turns for record in each.operations]
        self._place = records_before(turns, divergence.recorded_turn, divergence.operation)
        self._edited: Action | None = None
        self._calls: list[Call] = []
        self._changed: list[str] = []

    def is_impure(self) -> bool:
        """Whether the code, run again, does not part from the record at the same place by the same operation."""
        before = state_of(self._code)
        execution = self._fresh(Execution)
        with Watch() as watch:
            for turn in self._turns:
                if execution.advance(turn, being_made=self._divergence.turn).divergence is not None:
                    break
            execution.close()
        self._calls = watch.calls
        after = state_of(self._code)
        self._changed = [label for label, text in before.items() if after.get(label, text) != text]
        again = execution.journal.divergence
        return again is None or _essence(again) != _essence(self._divergence)

    def causes(self) -> tuple[str, ...]:
        """What was seen while impure code ran again: variables that it left otherwise, else calls."""
        found = self._changed or [call_in_words(call) for call in self._calls if call.hazard != "environment"]
        return tuple(f"the code is impure: {each}" for each in found[:MOST_CAUSES])

    def is_reordered(self) -> bool:
        """Whether one line made the recorded operations of this turn in another order."""
        return is_iteration(self._fresh(AnyOrder), self._turns, self._divergence.recorded_turn)

    def divergence_in_delta_model(self) -> Divergence | None:
        """Where the code parts from the record when its replay is seeded with the state at the execution's start."""
        setting = self._setting
        execution = Execution(
            self._code, setting.instance_id, setting.execution_id, self._turns, setting.start, self._dialect
        )
        for turn in self._turns:
            if turn.abort is not None or execution.advance(turn).divergence is not None:
                break
        execution.close()
        return execution.journal.divergence

    def named(self) -> Divergence:
        """The divergence under its right name, with what lines up."""
        kind = self._divergence.kind
        left = len(self._records) - self._place
        if kind == "ended early":
            stands_there = self._divergence.recorded is not None and self._divergence.recorded.type in ev.OPERATIONS
            name: Kind = "removed" if left == 1 and self._ends_as_recorded() else "ended early"
            ended = self._with(name, 0, left - stands_there)
            return ended if ended.chain else msgspec.structs.replace(ended, chain=self._last_line())
        if kind == "race changed":
            return msgspec.structs.replace(self._divergence, chain=self._line_of_race())
        if kind in ("changed", "added", "moved", "removed"):
            hypotheses = self._hypotheses()
            if hypotheses:
                return self._tried(hypotheses)
        return self._divergence

    def _tried(self, hypotheses: list[Hypothesis]) -> Divergence:
        worth = {each: self._experiment(each, ENOUGH)[0] for each in hypotheses}
        best = max(hypotheses, key=lambda each: worth[each])
        _, equal, ends_as_recorded = self._experiment(best, None)
        if best.back:
            return self._added_before(equal)
        left = len(self._records) - self._place
        if best.name == "added" and left == 0 and self._history_ends_here() and not ends_as_recorded:
            ending = self._turns[-1].ending
            return msgspec.structs.replace(self._with("runs on", 0, 0), recorded=ending)
        name: Kind = best.name if worth[best] > 0 else self._divergence.kind
        later = left - {"added": 0, "removed": best.skip}.get(best.name, 1)
        if best.name == "moved":
            equal -= 1
        return self._with(name, max(0, min(equal, later)), max(0, later))

    def _added_before(self, equal: int) -> Divergence:
        """The operation before the place is the one that was added: it equals a record that stands for the next."""
        record = self._records[self._place - 1]
        made = (*self._turn.replayed, *self._turn.operations)
        chain = next((each.chain for each in made if each.event_id == record.event_id), self._divergence.chain)
        return msgspec.structs.replace(
            self._with("added", equal, len(self._records) - self._place + 1),
            operation=self._divergence.operation - 1,
            recorded=record.event,
            now=self._edited,
            chain=chain,
        )

    def _with(self, kind: Kind, equal: int, later: int) -> Divergence:
        return msgspec.structs.replace(self._divergence, kind=kind, lines_up=(equal, later))

    def _hypotheses(self) -> list[Hypothesis]:
        """In the order in which an equal count decides; those that cannot hold are left out."""
        divergence = self._divergence
        now = divergence.now
        if now is None:
            left = self._left_in_turn()
            doubled = [Hypothesis("added", back=True)] if divergence.operation > 1 else []
            return [Hypothesis("removed", left), Hypothesis("moved", left), *doubled] if left else []
        record = self._record(0)
        found = []
        if divergence.kind == "changed" and record is not None and may_stand_for(now, record):
            found.append(Hypothesis("changed"))
        found.append(Hypothesis("added"))
        for skip in range(1, SKIP_AT_MOST + 1):
            following = self._record(skip)
            if following is not None and _same_name(following, now):
                found += [Hypothesis("removed", skip), Hypothesis("moved", skip)]
        if divergence.kind == "changed" and Hypothesis("changed") not in found:
            found.append(Hypothesis("changed"))
        return found

    def _record(self, ahead: int) -> Record | None:
        index = self._place + ahead
        return self._records[index] if index < len(self._records) else None

    def _left_in_turn(self) -> int:
        """How many records the turn at whose end the code waits has left over."""
        turn = next(each for each in self._turns if each.number == self._divergence.recorded_turn)
        return len(turn.operations) - (self._divergence.operation - 1)

    def _history_ends_here(self) -> bool:
        last = self._turns[-1]
        return last.number == self._divergence.recorded_turn and last.ending is not None

    def _experiment(self, hypothesis: Hypothesis | None, enough: int | None) -> tuple[float, int, bool]:
        """What lines up in all, how many operations equal their records, and whether the code ends as recorded."""
        back = hypothesis is not None and hypothesis.back
        at_end_of = self._divergence.recorded_turn if self._divergence.now is None and not back else None
        execution = self._fresh(Experiment)
        worth = execution.under(hypothesis, self._place - back, at_end_of, enough)
        self._edited = execution.journal.edited
        ends = execution.finished is not None and compare_ending(execution, self._turns[-1]) is None
        return worth, execution.journal.equal, ends

    def _ends_as_recorded(self) -> bool:
        return self._turns[-1].ending is not None and self._experiment(None, None)[2]

    def _line_of_race(self) -> Chain:
        """Where the first of the tasks was made that only one of the two lets go of."""
        differing = set(self._divergence.dropped_now) ^ set(self._divergence.dropped_recorded)
        made = (*self._turn.replayed, *self._turn.operations)
        return next((each.chain for each in made if each.event_id in differing), self._divergence.chain)

    def _last_line(self) -> Chain:
        return last_line(self._fresh(Execution), self._turns)

    def _fresh(self, kind: type[E]) -> E:
        setting = self._setting
        return kind(
            self._code, setting.instance_id, setting.execution_id, self._turns, self._turn.snapshot, self._dialect
        )


def _essence(divergence: Divergence) -> tuple[object, ...]:
    now = None if divergence.now is None else divergence.now.signature
    recorded = None if divergence.recorded is None else divergence.recorded.event_id
    return divergence.kind, divergence.recorded_turn, divergence.operation, recorded, now, divergence.ending


def _same_name(record: Record, action: Action) -> bool:
    return record.signature[:2] == action.signature[:2]


def _to_do(divergence: Divergence) -> tuple[str, ...]:
    if divergence.impure:
        return (
            "let the code depend on nothing but its input, its results and ctx: no clock, no chance, no state outside",
        )
    if divergence.recorded is not None and divergence.recorded.type not in ev.KNOWN_TYPES:
        return ("use a workbench that knows this type of event; up to it the code follows the record",)
    if divergence.kind == "broken history":
        return ("restore the history from a backup: nothing was replayed over it",)
    return (
        "keep the recorded code for running instances (register it under its version) and the new code under another",
        "or let this instance end before the code changes",
    )
