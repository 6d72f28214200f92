"""Histories written by hand, a turn a list of rows, and code replayed over them.

`resumed(code, turn, turn)` reads: the history has these turns; now the activity that was scheduled last comes back.
So whatever the code does is compared with every recorded row before anything new is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.runtime.driving import closing
from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.execution import Execution
from workbench.runtime.kv import Entry
from workbench.runtime.provider import History
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn, recorded_turns

Row = tuple[str, int | None, dict[str, Any]]
"""The type of an event, the schedule it answers, and its fields."""
Turn = Sequence[Row]
INSTANCE = "i"
WRITTEN_MS = 1_000
NOW_MS = 9_000


def started() -> Row:
    """The first event of an execution."""
    return ev.STARTED, None, {"name": "Flow", "version": "1.0.0", "input": "null"}


def kv_set(key: str, value: str, at_ms: int = WRITTEN_MS) -> Row:
    """A key was set."""
    return ev.KV_SET, None, {"key": key, "value": value, "last_updated_at_ms": at_ms}


def kv_cleared(key: str) -> Row:
    """A key was cleared."""
    return ev.KV_CLEARED, None, {"key": key}


def kv_all_cleared() -> Row:
    """All keys were cleared."""
    return ev.KV_ALL_CLEARED, None, {}


def scheduled(name: str = "Work") -> Row:
    """An activity was scheduled."""
    return ev.ACTIVITY_SCHEDULED, None, {"name": name, "input": "null"}


def completed(event_id: int, result: object = None) -> Row:
    """The activity that event `event_id` scheduled has returned."""
    return ev.ACTIVITY_COMPLETED, event_id, {"result": json.dumps(result)}


def snapshot(**values: str) -> dict[str, Entry]:
    """What the provider seeds the replay with."""
    return {key: Entry(value, WRITTEN_MS) for key, value in values.items()}


def recorded(*turns: Turn) -> list[RecordedTurn]:
    """The history of one execution, its events numbered from 1."""
    events: list[ev.Event] = []
    numbers: list[int] = []
    for number, rows in enumerate(turns, 1):
        for kind, source, fields in rows:
            events.append(ev.new_event(INSTANCE, 1, len(events) + 1, WRITTEN_MS, kind, source, **fields))
            numbers.append(number)
    return recorded_turns(History(tuple(events), tuple(map(ev.encode_event, events)), tuple(numbers)))


def first_turn(code: Callable[..., Any], seed: Mapping[str, Entry] | None = None) -> TurnResult:
    """A new execution without history makes its first turn."""
    return _advanced(code, [], ms.StartOrchestration(INSTANCE, "Flow", "null"), seed)


def resumed(
    code: Callable[..., Any], *turns: Turn, seed: Mapping[str, Entry] | None = None, result: object = None
) -> TurnResult:
    """The turn after this history, in which the activity scheduled last returns `result`."""
    history = recorded(*turns)
    rows = [event for turn in history for event in turn.events]
    last = next(event.event_id for event in reversed(rows) if event.type == ev.ACTIVITY_SCHEDULED)
    return _advanced(code, history, ms.ActivityCompleted(INSTANCE, 1, last, json.dumps(result)), seed)


def mismatch(code: Callable[..., Any], *turns: Turn) -> str:
    """The text of the nondeterminism error with which the turn after this history fails."""
    result = resumed(code, *turns)
    assert result.status == "Failed"
    assert result.divergence is not None
    assert result.output == f"nondeterministic: {result.divergence.message}"
    return result.divergence.message


def _advanced(
    code: Callable[..., Any], history: Sequence[RecordedTurn], message: ms.Message, seed: Mapping[str, Entry] | None
) -> TurnResult:
    execution = Execution(code, INSTANCE, 1, history, seed or {})
    with closing(execution):
        for turn in history:
            if execution.advance(turn, being_made=len(history) + 1).divergence is not None:
                execution.number = len(history)
                break
        next_id = history[-1].events[-1].event_id + 1 if history else 1
        return execution.advance(NewTurn((message,), next_id), NOW_MS)
