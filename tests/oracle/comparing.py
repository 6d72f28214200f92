"""Our engine against one recorded instance: replayed, and made to run the same batches as a runtime.

Each function gives back the differences as texts; none means equal. What may differ is what the specifications let
differ: times, the version of the writer, and failures before their last `Type: message` (the SDK stores a traceback).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from tests.oracle.record import RecordedExecution, RecordedInstance, Row
from workbench.recordings.tracing import exact_turns
from workbench.recordings.turns import infer_turns
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime import messages as ms
from workbench.runtime.dialect import DUROXIDE, WORKBENCH
from workbench.runtime.divergence import Divergence
from workbench.runtime.execution import Code, Execution
from workbench.runtime.limits import Limits
from workbench.runtime.provider import History
from workbench.runtime.refusal import refuse
from workbench.runtime.turn import TurnSetting
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn, recorded_turns

Differences = list[str]
Turns = Sequence[RecordedTurn]
TIMES = ("timestamp_ms", "duroxide_version", "last_updated_at_ms")
"""Fields whose values are of the run, not of the orchestration; they must be there all the same."""


def turns_of(execution: RecordedExecution) -> Turns:
    """The recorded turns, at their true boundaries."""
    numbers = [number for number, count in enumerate(execution.turns, 1) for _ in range(count)]
    events = tuple(ev.decode_event(text) for text in execution.events)
    return recorded_turns(History(events, tuple(execution.events), tuple(numbers)))


def inferred_turns_of(recorded: RecordedInstance, execution: RecordedExecution, code: Code, start: kv.Table) -> Turns:
    """The turns as they are found when nothing but the history is known."""
    events = tuple(ev.decode_event(text) for text in execution.events)
    numbers, soft = infer_turns(events)
    setting = TurnSetting(
        instance_id=recorded.instance_id,
        orchestration=recorded.orchestration,
        execution_id=execution.execution_id,
        kv_model="delta",
        limits=Limits.duroxide(),
        start=start,
        inferred=True,
    )
    return exact_turns(code, setting, History(events, tuple(execution.events), numbers), soft, DUROXIDE)


def replayed(recorded: RecordedInstance, code: Code, inferred: bool = False) -> Differences:
    """One pass through the recorded turns: nothing may diverge, every ending must be the recorded one."""
    found: Differences = []
    tables = kv.Tables()
    for each in recorded.executions:
        start = kv.snapshot(tables)
        turns = inferred_turns_of(recorded, each, code, start) if inferred else turns_of(each)
        with_code = Execution(code, recorded.instance_id, each.execution_id, turns, kv.snapshot(tables), DUROXIDE)
        for turn in turns:
            place = f"{each.execution_id}.{turn.number}"
            result = with_code.advance(turn)
            if result.divergence is not None:
                found.append(f"{place} diverged: {_told(result.divergence)}")
                break
            if result.outcome_difference is not None:
                found.append(f"{place} ends otherwise: {result.outcome_difference}")
            found += [f"{place} strictly: {difference}" for difference in result.strict_differences]
            tables = kv.apply_turn("delta", tables, turn.events, result.ended)
        with_code.close()
    return found + _compare_tables(recorded, tables, with_times=True)


def made_again(recorded: RecordedInstance, code: Code) -> Differences:
    """As a warm runtime: our engine makes every turn itself, from the recorded batches; executions hand over."""
    found: Differences = []
    tables = kv.Tables()
    handed_over: ms.Message | None = None
    status: str | None = None
    for each in recorded.executions:
        ours = Execution(code, recorded.instance_id, each.execution_id, (), kv.snapshot(tables), WORKBENCH)
        result: TurnResult | None = None
        for turn in turns_of(each):
            place = f"{each.execution_id}.{turn.number}"
            if _gave_up(turn):
                ours.close()
                return found
            start = _start_message(turn)
            if start is not None and handed_over is not None:
                found += _compare(f"{place} handed over", ms.encode_message(start), ms.encode_message(handed_over))
            result = _make(ours, turn, start)
            found += _compare_turn(place, turn, each.events, result)
            if found:
                ours.close()
                return found
            tables = kv.apply_turn("delta", tables, result.events, result.ended)
            status = _custom_status(status, result.events)
        assert result is not None
        found += _compare_execution(each, result)
        handed_over = next((m for m in result.messages if isinstance(m, ms.ContinueAsNew)), None)
        ours.close()
    if status != recorded.custom_status:
        found.append(f"custom status: recorded {recorded.custom_status!r}, ours {status!r}")
    return found + _compare_tables(recorded, tables, with_times=False)


def made_after_a_replay(recorded: RecordedInstance, code: Code) -> Differences:
    """As a cold runtime: each turn is made by a new execution that has replayed the recorded ones before it."""
    found: Differences = []
    tables = kv.Tables()
    for each in recorded.executions:
        turns = turns_of(each)
        start = kv.snapshot(tables)
        for turn in turns:
            if _gave_up(turn):
                return found
            before = turns[: turn.number - 1]
            ours = Execution(code, recorded.instance_id, each.execution_id, before, start, DUROXIDE)
            for earlier in before:
                ours.advance(earlier, being_made=turn.number)
            result = _make(ours, turn, _start_message(turn))
            found += _compare_turn(f"{each.execution_id}.{turn.number}", turn, each.events, result)
            ours.close()
            tables = kv.apply_turn("delta", tables, turn.events, result.ended)
    return found


# One turn.


def _make(execution: Execution, turn: RecordedTurn, start: ms.Message | None) -> TurnResult:
    batch = tuple(_messages(turn, execution.execution_id, start))
    version = str(turn.arrivals[0].version) if start is not None else "1.0.0"
    new = NewTurn(batch, turn.events[0].event_id, version)
    return refuse(execution.advance(new, turn.started_ms), Limits.duroxide())


def _start_message(turn: RecordedTurn) -> ms.Message | None:
    """The message that began the execution, when the turn is its first."""
    event = turn.arrivals[0]
    if event.type != ev.STARTED:
        return None
    of_parent = (
        event.parent_instance or None,
        event.parent_id or None,
        event.parent_execution_id or None,
    )
    if event.execution_id == 1:
        return ms.StartOrchestration(
            event.instance_id, str(event.name), str(event.input), None, of_parent[0], of_parent[1], 1, of_parent[2]
        )
    status = None if event.initial_custom_status is UNSET else event.initial_custom_status
    return ms.ContinueAsNew(
        event.instance_id, str(event.name), str(event.input), None, _carried(event), status, *of_parent
    )


def _carried(started: ev.Event) -> list[tuple[str, str]]:
    return [] if started.carry_forward_events is UNSET else list(started.carry_forward_events)


def _messages(turn: RecordedTurn, execution_id: int, start: ms.Message | None) -> Iterator[ms.Message]:
    """The recorded arrivals as the messages that they were; carried messages are inside the start."""
    arrivals = turn.arrivals
    if start is not None:
        yield start
        arrivals = arrivals[1 + len(_carried(arrivals[0])) :]
    for event in arrivals:
        to, source = event.instance_id, event.source_event_id or 0
        if event.type == ev.ACTIVITY_COMPLETED:
            yield ms.ActivityCompleted(to, execution_id, source, str(event.result))
        elif event.type == ev.ACTIVITY_FAILED:
            yield ms.ActivityFailed(to, execution_id, source, event.details or {})
        elif event.type == ev.TIMER_FIRED:
            yield ms.TimerFired(to, execution_id, source, event.fire_at_ms or 0)
        elif event.type == ev.CHILD_COMPLETED:
            yield ms.SubOrchCompleted(to, execution_id, source, str(event.result))
        elif event.type == ev.CHILD_FAILED:
            yield ms.SubOrchFailed(to, execution_id, source, event.details or {})
        elif event.type == ev.EVENT_RECEIVED:
            yield ms.ExternalRaised(to, str(event.name), str(event.data))
        elif event.type == ev.QUEUE_MESSAGE:
            yield ms.QueueMessage(to, str(event.name), str(event.data))
        else:
            yield ms.CancelInstance(to, str(event.reason))


def _compare_turn(place: str, turn: RecordedTurn, texts: Sequence[str], result: TurnResult) -> Differences:
    if result.divergence is not None:
        return [f"{place} diverged: {_told(result.divergence)}"]
    first = turn.events[0].event_id
    theirs = [json.loads(text) for text in texts[first - 1 : first - 1 + len(turn.events)]]
    ours = [json.loads(ev.encode_event(event)) for event in result.events]
    if [_label(event) for event in theirs] != [_label(event) for event in ours]:
        lines = [f"{place} has other events"]
        lines += [f"    recorded {_label(event)}" for event in theirs]
        lines += [f"    ours     {_label(event)}" for event in ours]
        return ["\n".join(lines)]
    found: Differences = []
    for their, our in zip(theirs, ours, strict=True):
        found += _compare_event(f"{place} event {their['event_id']}", their, our, turn.started_ms)
    return found


def _label(event: dict[str, Any]) -> str:
    source = event["source_event_id"]
    return f"{event['event_id']} {event['type']}" + ("" if source is None else f" <{source}>")


def _compare_event(place: str, theirs: dict[str, Any], ours: dict[str, Any], began_ms: int) -> Differences:
    found = _compare(f"{place} keys", list(theirs), list(ours))
    for key in theirs:
        if key in TIMES or key not in ours:
            continue
        if key == "fire_at_ms" and theirs["type"] == ev.TIMER_CREATED:
            delay_ms = ours[key] - ours["timestamp_ms"]
            if not theirs[key] - theirs["timestamp_ms"] <= delay_ms <= theirs[key] - began_ms:
                found.append(f"{place}: a delay of {delay_ms} ms, but it was created at {theirs} in turn {began_ms}")
        elif key == "details" and theirs["type"] == ev.FAILED:
            found += _compare_failure(f"{place} {key}", theirs[key], ours[key])
        else:
            found += _compare(f"{place} {key}", theirs[key], ours[key])
    return found


def _compare_failure(place: str, theirs: dict[str, Any], ours: dict[str, Any]) -> Differences:
    """Error objects are equal but for the traceback in front of an application's own failure."""
    if "Application" in theirs and "Application" in ours:
        their_text, our_text = (str(each["Application"]["message"]) for each in (theirs, ours))
        if our_text and their_text.rstrip().endswith(our_text):
            ours = {"Application": {**ours["Application"], "message": their_text}}
    return _compare(place, theirs, ours)


def _compare(place: str, theirs: Any, ours: Any) -> Differences:
    return [] if theirs == ours else [f"{place}: recorded {theirs!r}, ours {ours!r}"]


def _gave_up(turn: RecordedTurn) -> bool:
    return not turn.arrivals and turn.ending is not None and "Infrastructure" in (turn.ending.details or {})


def broke_down(recorded: RecordedInstance) -> bool:
    """Whether the reference failed the instance because its own database was locked for too long."""
    return any(_gave_up(turn) for each in recorded.executions for turn in turns_of(each))


# What is left when the turns are over.


def _compare_execution(theirs: RecordedExecution, ours: TurnResult) -> Differences:
    place = f"execution {theirs.execution_id}"
    found = _compare(f"{place} status", theirs.status, ours.status)
    if ours.status != "Failed":
        return found + _compare(f"{place} output", theirs.output, ours.output)
    if not str(theirs.output).rstrip().endswith(str(ours.output)):
        found += _compare(f"{place} failure", theirs.output, ours.output)
    return found


def _custom_status(before: str | None, events: Sequence[ev.Event]) -> str | None:
    updates = [event.status for event in events if event.type == ev.STATUS_UPDATED]
    return before if not updates else updates[-1] or None


def _compare_tables(recorded: RecordedInstance, ours: kv.Tables, with_times: bool) -> Differences:
    """The tables that the events fold to are the stored ones; tombstones have a time of their own clock."""

    def rows(table: kv.Table) -> list[Row]:
        return [(key, entry.value, entry.last_updated_at_ms) for key, entry in sorted(table.items())]

    def shown(row: Row) -> Row:
        return row if with_times and row[1] is not None else (row[0], row[1], 0)

    found: Differences = []
    for name, theirs, table in (
        ("kv_store", recorded.kv_store, ours.store),
        ("kv_delta", recorded.kv_delta, ours.delta),
    ):
        found += _compare(name, [shown(row) for row in sorted(theirs)], [shown(row) for row in rows(table)])
    return found


def _told(divergence: Divergence) -> str:
    return f"{divergence.kind} at operation {divergence.operation}: {divergence.message}"
