"""A recording without the values of its users, made by a function that says what stands for each of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from workbench.recordings.integrity import Row
from workbench.recordings.recorded_code import RecordedCode
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of, stored_rows
from workbench.runtime import events as ev
from workbench.runtime.kv import Entry, Table, Tables

Redact = Callable[[str, str], str]
"""What stands for a value, given what it is (`input`, `output`, `result`, `data`, `value`, `status`, `error`, `reason`,
`source` or `row`) and its text."""

_VALUES = ("input", "output", "result", "data", "value")


def redacted(recording: Recording, redact: Redact) -> Recording:
    """The recording with every value replaced by what `redact(what, text)` returns.

    Names, keys, ids, times, kinds of errors and the shape of the history stay. `source` is the text of the code, if
    it is remembered, and of each of its lines.
    """
    stored = StoredInstance(
        instance_id=recording.instance_id,
        orchestration=recording.orchestration,
        version=recording.version,
        executions=[_execution(each, redact) for each in recording.executions],
        kv_model=recording.kv_model,
        kv_tables=Tables(_table(recording.kv_tables.store, redact), _table(recording.kv_tables.delta, redact)),
        limits=recording.limits,
        custom_status=_maybe(redact, "status", recording.custom_status),
        custom_status_version=recording.custom_status_version,
        parent_instance=recording.parent_instance,
    )
    made = recording_of(stored, recording.writer)
    return made if recording.code is None else msgspec.structs.replace(made, code=_code(recording.code, redact))


def _execution(execution: RecordedExecution, redact: Redact) -> StoredExecution:
    what = {"Completed": "output", "ContinuedAsNew": "input"}.get(execution.status, "error")
    return StoredExecution(
        execution.execution_id,
        execution.status,
        _maybe(redact, what, execution.output),
        tuple(Row(row.event_id, row.event_type, _row(row.text, redact)) for row in stored_rows(execution)),
        None if execution.turns_inferred else execution.history.turns,
        execution.history.refused,
        execution.damage,
    )


def _row(text: str, redact: Redact) -> str:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return redact("row", text)
    if not isinstance(event, dict):
        return redact("row", text)
    return json.dumps(_event(event, redact), ensure_ascii=False, separators=(",", ":"))


def _event(event: dict[str, Any], redact: Redact) -> dict[str, Any]:
    made = dict(event)
    for name in _VALUES:
        if isinstance(event.get(name), str):
            made[name] = redact(name, event[name])
    for name in ("status", "initial_custom_status"):
        if isinstance(event.get(name), str):
            made[name] = redact("status", event[name])
    if event.get("type") == ev.CANCEL_REQUESTED and isinstance(event.get("reason"), str):
        made["reason"] = redact("reason", event["reason"])
    if isinstance(event.get("details"), dict):
        made["details"] = _details(event["details"], redact)
    carried = event.get("carry_forward_events")
    if isinstance(carried, list):
        made["carry_forward_events"] = [[name, redact("data", data)] for name, data in carried]
    return made


def _details(details: dict[str, Any], redact: Redact) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in details.items():
        if isinstance(value, dict):
            made[name] = _details(value, redact)
        else:
            made[name] = redact("error", value) if name == "message" and isinstance(value, str) else value
    return made


def _table(table: Table, redact: Redact) -> Table:
    return {
        key: Entry(_maybe(redact, "value", entry.value), entry.last_updated_at_ms, entry.execution_id)
        for key, entry in table.items()
    }


def _code(code: RecordedCode, redact: Redact) -> RecordedCode:
    lines = tuple(
        msgspec.structs.replace(each, line=msgspec.structs.replace(each.line, text=redact("source", each.line.text)))
        for each in code.lines
    )
    return msgspec.structs.replace(code, source=_maybe(redact, "source", code.source), lines=lines)


def _maybe(redact: Redact, what: str, text: str | None) -> str | None:
    return None if text is None else redact(what, text)
