"""Running one recorded execution against code and building its `Turn`s.

In the delta model one pass through the recorded turns shows them all. In the per-turn model the snapshot changes
with every turn, so turn n is a new execution from the top, seeded with the state after turn n − 1: that is the bug.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence

import msgspec

from workbench.recordings.recording import RecordedExecution, Recording
from workbench.runtime import kv
from workbench.runtime.dialect import Dialect
from workbench.runtime.errors import DidNotComeBack
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.provider import History
from workbench.runtime.trace import TracedExecution, TracedTurn
from workbench.runtime.turn import Turn, TurnSetting, fold_tables, outcome_of, turn_from_record
from workbench.runtime.turn_building import Pass, Row
from workbench.runtime.turns import RecordedTurn, recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS, deadline


def trace_execution(
    code: Code,
    setting: TurnSetting,
    turns: Sequence[RecordedTurn],
    dialect: Dialect,
    keep_locals: bool = False,
    deadline_ms: int | None = DEADLINE_MS,
) -> list[Turn]:
    """Every turn of a recorded execution, up to the first divergence or the first that does not come back.

    `deadline_ms` is how long the code may take for one turn, ms (None: for ever); a turn that was stopped is shown
    as its events tell it, with `stopped` set.
    """
    tables = fold_tables(setting, [(turn.events, turn.ending is not None) for turn in turns])
    tracer = _Tracer(code, setting, turns, tables, dialect, keep_locals, deadline_ms)
    return tracer.per_turn() if setting.kv_model == kv.PER_TURN else tracer.one_pass()


def setting_of(recording: Recording, execution: RecordedExecution, kv_model: kv.KVModel, limits: Limits) -> TurnSetting:
    """What all turns of a recorded execution have in common."""
    return TurnSetting(
        instance_id=recording.instance_id,
        orchestration=recording.orchestration,
        execution_id=execution.execution_id,
        kv_model=kv_model,
        limits=limits,
        start=execution.kv_snapshot or {},
        inferred=execution.turns_inferred,
    )


def turns_without_code(setting: TurnSetting, turns: Sequence[RecordedTurn]) -> list[Turn]:
    """Every turn of a recorded execution as its events tell it."""
    tables = fold_tables(setting, [(turn.events, turn.ending is not None) for turn in turns])
    history: list[Row] = [(turn.number, event) for turn in turns for event in turn.events]
    return [
        turn_from_record(setting, turn, (tables[position], tables[position + 1]), history)
        for position, turn in enumerate(turns)
    ]


def merge_soft_boundaries(history: History, false_boundaries: Sequence[int]) -> History:
    """The history with the turns that begin at these event ids joined to the ones before them."""
    if not false_boundaries:
        return history
    false = set(false_boundaries)
    numbers: list[int] = []
    joined = 0
    previous = 0
    for event, number in zip(history.events, history.turns, strict=True):
        if number != previous and event.event_id in false:
            joined += 1
        previous = number
        numbers.append(number - joined)
    return msgspec.structs.replace(history, turns=tuple(numbers))


def exact_turns(
    code: Code,
    setting: TurnSetting,
    history: History,
    soft_boundaries: Sequence[int],
    dialect: Dialect,
    deadline_ms: int | None = DEADLINE_MS,
) -> list[RecordedTurn]:
    """The recorded turns with each uncertain boundary decided by what the code does (replay-rule §3.3).

    A boundary known only by a gap of 1 ms is false when an arrival before it, in the same turn, made the code move.
    Code that takes longer than `deadline_ms` decides nothing more.
    """
    if not soft_boundaries:
        return recorded_turns(history)
    merged = recorded_turns(merge_soft_boundaries(history, soft_boundaries))
    execution = TracedExecution(code, setting.instance_id, setting.execution_id, merged, setting.start, dialect)
    false: list[int] = []
    with contextlib.suppress(DidNotComeBack), deadline(deadline_ms, execution):
        for turn in merged:
            result = execution.advance(turn)
            woken_by = result.woken_by
            inside = [each for each in soft_boundaries if turn.events[0].event_id <= each <= turn.events[-1].event_id]
            false += [each for each in inside if woken_by is not None and woken_by.event_id < each]
            if result.divergence is not None or result.ended:
                break
        execution.close()
    return recorded_turns(merge_soft_boundaries(history, false))


class _Tracer:
    def __init__(
        self,
        code: Code,
        setting: TurnSetting,
        turns: Sequence[RecordedTurn],
        tables: list[kv.Tables],
        dialect: Dialect,
        keep_locals: bool,
        deadline_ms: int | None,
    ) -> None:
        self._code = code
        self._setting = setting
        self._turns = turns
        self._tables = tables
        self._dialect = dialect
        self._keep_locals = keep_locals
        self._deadline_ms = deadline_ms
        self._history: list[Row] = [(turn.number, event) for turn in turns for event in turn.events]

    def _execution(self, tables: kv.Tables) -> TracedExecution:
        return TracedExecution(
            self._code,
            self._setting.instance_id,
            self._setting.execution_id,
            self._turns,
            kv.snapshot(tables),
            self._dialect,
            keep_locals=self._keep_locals,
        )

    def one_pass(self) -> list[Turn]:
        """All turns in one pass: what replay is seeded with stays the same."""
        execution = self._execution(self._tables[0])
        shown = Pass(self._setting, kv.snapshot(self._tables[0]), self._history)
        made: list[Turn] = []
        for position in range(len(self._turns)):
            made.append(self._made_or_stopped(execution, shown, position, position))
            if made[-1].divergence is not None or made[-1].stopped is not None:
                break
        self._close(execution)
        return made

    def per_turn(self) -> list[Turn]:
        """Each turn in a pass of its own, seeded with the state after the turn before it."""
        made: list[Turn] = []
        for position in range(len(self._turns)):
            execution = self._execution(self._tables[position])
            before = self._rows_before(position)
            shown = Pass(self._setting, kv.snapshot(self._tables[position]), before)
            made.append(self._made_or_stopped(execution, shown, 0, position))
            self._close(execution)
            if made[-1].divergence is not None or made[-1].stopped is not None:
                break
        return made

    def _made_or_stopped(self, execution: TracedExecution, shown: Pass, first: int, wanted: int) -> Turn:
        """Turn number `wanted` (both are positions), made on the way from turn `first` on, within the deadline."""
        try:
            with deadline(self._deadline_ms, execution):
                for recorded in self._turns[first : wanted + 1]:
                    result = execution.advance(recorded, being_made=self._turns[wanted].number)
                    shown.add(execution.traced[-1])
                    if result.divergence is not None:
                        break
        except DidNotComeBack as error:
            return self._stopped(wanted, error)
        return self._turn(shown, wanted)

    def _close(self, execution: TracedExecution) -> None:
        with contextlib.suppress(DidNotComeBack), deadline(self._deadline_ms, execution):
            execution.close()

    def _stopped(self, position: int, error: DidNotComeBack) -> Turn:
        """A turn that did not come back, as its events tell it: what its code did before is not its record."""
        tables = (self._tables[position], self._tables[position + 1])
        turn = turn_from_record(self._setting, self._turns[position], tables, self._history)
        return msgspec.structs.replace(turn, stopped=error.did, warnings=(f"the code {error.did}",))

    def _rows_before(self, position: int) -> list[Row]:
        count = sum(len(turn.events) for turn in self._turns[:position])
        return self._history[:count]

    def _turn(self, shown: Pass, position: int) -> Turn:
        recorded = self._turns[position]
        tables = (self._tables[position], self._tables[position + 1])
        return shown.turn(recorded.number, recorded.arrivals, recorded.events, tables, outcome_of(recorded))


def made_turn(
    setting: TurnSetting,
    traced: Sequence[TracedTurn],
    recorded: Sequence[RecordedTurn],
    snapshot: Mapping[str, kv.Entry],
) -> Turn:
    """The turn that was just made on top of these recorded ones, from the pass that made it.

    `snapshot` is what the store gave the pass.
    """
    result = traced[-1].result
    rows = [(turn.events, turn.ending is not None) for turn in recorded]
    # What the store gave is what its tables held, also where that is not what the execution began with.
    given = msgspec.structs.replace(setting, start=snapshot) if setting.kv_model == kv.DELTA else setting
    tables = fold_tables(given, [*rows, (result.events, result.ended)])
    history = [(turn.number, event) for turn in recorded for event in turn.events]
    shown = Pass(setting, snapshot, history)
    for each in traced:
        shown.add(each)
        if each.result.divergence is not None:
            break
    around = (tables[-2], tables[-1])
    return shown.turn(result.number, result.arrivals, result.events, around, (result.status, result.output))
