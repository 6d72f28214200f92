"""Histories as other engines may have written them, from kinds and fields."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from tests.runtime.driving import replay
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.dialect import WORKBENCH, Dialect
from workbench.runtime.execution import Execution
from workbench.runtime.provider import History
from workbench.runtime.turns import recorded_turns

Flow = Generator[Any, Any, Any]


def history(*turns: list[tuple[str, dict[str, Any]]], at_ms: tuple[int, ...] = ()) -> list[Any]:
    """Recorded turns of instance `i` from kinds and fields; `source` in the fields is the source event id."""
    made: list[ev.Event] = []
    numbers: list[int] = []
    for number, turn in enumerate(turns, 1):
        for kind, fields in turn:
            given = dict(fields)
            source = given.pop("source", None)
            now_ms = given.pop("at_ms", 1_000 * number)
            made.append(ev.new_event("i", 1, len(made) + 1, now_ms, kind, source, **given))
            numbers.append(number)
    return recorded_turns(History(tuple(made), tuple(map(ev.encode_event, made)), tuple(numbers)))


START = (ev.STARTED, {"name": "Flow", "version": "1.0.0", "input": "null"})
ACTIVITY = (ev.ACTIVITY_SCHEDULED, {"name": "A", "input": "null"})
DONE = (ev.ACTIVITY_COMPLETED, {"source": 2, "result": "null"})


def set_to(value: str, at_ms: int, key: str = "k") -> tuple[str, dict[str, Any]]:
    return ev.KV_SET, {"key": key, "value": value, "last_updated_at_ms": at_ms, "at_ms": at_ms}


def run(code: Any, turns: list[Any], dialect: Dialect = WORKBENCH, snapshot: dict[str, kv.Entry] | None = None) -> Any:
    return replay(Execution(code, "i", 1, turns, snapshot, dialect), turns)
