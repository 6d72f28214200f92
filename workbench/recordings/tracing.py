"""Running one recorded execution against code and building its `Turn`s.

In the delta model one pass through the recorded turns shows them all. In the per-turn model the snapshot changes
with every turn, so turn n is a new execution from the top, seeded with the state after turn n − 1: that is the bug.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.dialect import Dialect
from workbench.runtime.divergence import Divergence
from workbench.runtime.execution import Code
from workbench.runtime.lines import translate
from workbench.runtime.provider import History
from workbench.runtime.trace import TracedExecution, TracedOperation, TracedTurn
from workbench.runtime.turn import Turn, TurnSetting, answered_by, fold_tables, turn_from_record, turn_from_trace
from workbench.runtime.turns import RecordedTurn, recorded_turns

Row = tuple[int, ev.Event]


def trace_execution(
    code: Code,
    setting: TurnSetting,
    turns: Sequence[RecordedTurn],
    dialect: Dialect,
    keep_locals: bool = False,
) -> list[Turn]:
    """Every turn of a recorded execution, up to the first divergence."""
    tables = fold_tables(setting, [(turn.events, turn.ending is not None) for turn in turns])
    tracer = _Tracer(code, setting, turns, tables, dialect, keep_locals)
    return tracer.per_turn() if setting.kv_model == kv.PER_TURN else tracer.one_pass()


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
    code: Code, setting: TurnSetting, history: History, soft_boundaries: Sequence[int], dialect: Dialect
) -> list[RecordedTurn]:
    """The recorded turns with each uncertain boundary decided by what the code does (replay-rule §3.3).

    A boundary known only by a gap of 1 ms is false when an arrival before it, in the same turn, made the code move.
    """
    if not soft_boundaries:
        return recorded_turns(history)
    merged = recorded_turns(merge_soft_boundaries(history, soft_boundaries))
    execution = TracedExecution(code, setting.instance_id, setting.execution_id, merged, setting.start, dialect)
    false: list[int] = []
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
    ) -> None:
        self._code = code
        self._setting = setting
        self._turns = turns
        self._tables = tables
        self._dialect = dialect
        self._keep_locals = keep_locals
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
        execution = self._execution(self._tables[0])
        made: list[Turn] = []
        for position, recorded in enumerate(self._turns):
            result = execution.advance(recorded)
            made.append(self._turn(position, execution.traced, self._tables[0]))
            if result.divergence is not None:
                break
        execution.close()
        return made

    def per_turn(self) -> list[Turn]:
        made: list[Turn] = []
        for position, wanted in enumerate(self._turns):
            execution = self._execution(self._tables[position])
            for recorded in self._turns[: position + 1]:
                result = execution.advance(recorded, being_made=wanted.number)
                if result.divergence is not None:
                    break
            execution.close()
            made.append(self._turn(position, execution.traced, self._tables[position]))
            if made[-1].divergence is not None:
                break
        return made

    def _turn(self, position: int, traced: list[TracedTurn], seeded: kv.Tables) -> Turn:
        recorded = self._turns[position]
        before, after = self._tables[position], self._tables[position + 1]
        return build_turn(
            self._setting,
            traced,
            recorded.number,
            recorded.arrivals,
            recorded.events,
            (before, after),
            kv.snapshot(seeded),
            self._history,
        )


def build_turn(
    setting: TurnSetting,
    traced: Sequence[TracedTurn],
    number: int,
    arrivals: tuple[ev.Event, ...],
    events: tuple[ev.Event, ...],
    tables: tuple[kv.Tables, kv.Tables],
    snapshot: Any,
    history: Sequence[Row],
) -> Turn:
    """The turn `number` from the pass that made it; a pass that diverged on the way shows where it did."""
    shown = next((each for each in traced if each.result.divergence is not None), traced[-1])
    earlier = list(traced[: traced.index(shown)])
    before_it = [(turn, event) for turn, event in history if turn < number]
    turn = turn_from_trace(setting, shown, events, earlier, tables, snapshot, before_it)
    last = traced[-1].result
    turn = msgspec.structs.replace(
        turn,
        number=number,
        arrivals=arrivals,
        answered=answered_by(arrivals, before_it),
        now_ms=last.now_ms if shown is traced[-1] else arrivals[0].timestamp_ms,
    )
    if shown.result.number != number:
        turn = msgspec.structs.replace(turn, woken_by=arrivals[0], status=last.status, output=last.output)
    if turn.divergence is None:
        return turn
    return msgspec.structs.replace(turn, divergence=_placed(turn, shown, turn.divergence))


def _placed(turn: Turn, shown: TracedTurn, divergence: Divergence) -> Divergence:
    """The divergence with its place in the code and the reads before it."""
    last = shown.steps[-1] if shown.steps else None
    at_call = isinstance(last, TracedOperation) and last.state == "diverged"
    chain = translate(last.chain if at_call and last is not None else shown.parked)
    reads = [each.read for each in (*turn.replayed, *turn.operations) if each.read is not None]
    return msgspec.structs.replace(
        divergence,
        instance_id=turn.instance_id,
        orchestration=turn.orchestration,
        execution_id=turn.execution_id,
        chain=chain,
        reads=tuple(reads),
        local_values=last.local_values if at_call and last is not None else shown.parked_locals,
    )
