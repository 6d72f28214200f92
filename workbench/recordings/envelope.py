"""A recording as a JSON text: an envelope around the events exactly as they were stored.

An event that can be trusted stands there as the JSON object that it is, byte for byte, one a line. A row that is no
JSON, or whose JSON contradicts its columns, stands there as `{"row": id, "type": …, "text": …}`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from workbench.recordings.integrity import UNREADABLE, Damage, Row
from workbench.recordings.recorded_code import RecordedCode
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of, stored_rows
from workbench.recordings.turns import first_events
from workbench.runtime.errors import BadRecording, NoSuchFile, NotStorable, UnreadableFile
from workbench.runtime.kv import Entry, KVModel, Table, Tables
from workbench.runtime.limits import Limits

FORMAT: Final = "workbench-recording"
VERSION: Final = 1


_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""What every database can hold."""


class _Head(msgspec.Struct):
    format: str
    version: int


class _Damage(msgspec.Struct):
    row: str
    reason: str


class _Execution(msgspec.Struct):
    execution_id: _Integer
    status: str
    output: str | None
    turns_inferred: bool
    first_events: list[_Integer]
    refused_turns: list[_Integer]
    damage: list[_Damage]
    events: list[msgspec.Raw]


class _Entry(msgspec.Struct):
    key: str
    value: str | None
    last_updated_at_ms: _Integer
    execution_id: _Integer = 0


class _Envelope(msgspec.Struct):
    format: Literal["workbench-recording"]
    version: Literal[1]
    writer: str
    instance_id: str
    orchestration: str
    orchestration_version: str
    parent_instance: str | None
    custom_status: str | None
    custom_status_version: _Integer
    limits: Limits
    kv_model: KVModel
    kv_store: list[_Entry]
    kv_delta: list[_Entry]
    executions: list[_Execution]
    code: RecordedCode | None = None


class _Row(msgspec.Struct):
    row: _Integer
    type: str
    text: str


class _Columns(msgspec.Struct):
    event_id: _Integer
    type: str


def encode(recording: Recording) -> str:
    """The recording as JSON text: fixed key order, indented, one event and one KV row a line.

    Raises `NotStorable` for a text that has no UTF-8 form.
    """
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "writer": recording.writer,
        "instance_id": recording.instance_id,
        "orchestration": recording.orchestration,
        "orchestration_version": recording.version,
        "parent_instance": recording.parent_instance,
        "custom_status": recording.custom_status,
        "custom_status_version": recording.custom_status_version,
        "limits": recording.limits,
        "kv_model": recording.kv_model,
    }
    lines = [f"  {_json(name)}: {_json(value)}" for name, value in fields.items()]
    lines.append(_listed("kv_store", _entries(recording.kv_tables.store), 2))
    lines.append(_listed("kv_delta", _entries(recording.kv_tables.delta), 2))
    if recording.code is not None:
        lines.append(f'  "code": {_encode_code(recording.code)}')
    executions = [_encode_execution(execution) for execution in recording.executions]
    lines.append('  "executions": [\n' + ",\n".join(executions) + "\n  ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _encode_code(code: RecordedCode) -> str:
    head = {name: getattr(code, name) for name in ("fingerprint", "function", "file", "source")}
    lines = [f"    {_json(name)}: {_json(value)}" for name, value in head.items()]
    lines.append(_listed("lines", map(_json, code.lines), 4))
    return "{\n" + ",\n".join(lines) + "\n  }"


def _encode_execution(execution: RecordedExecution) -> str:
    history = execution.history
    fields = {
        "execution_id": execution.execution_id,
        "status": execution.status,
        "output": execution.output,
        "turns_inferred": execution.turns_inferred,
        "first_events": first_events(history.events, history.turns),
        "refused_turns": sorted(history.refused),
    }
    lines = [f"      {_json(name)}: {_json(value)}" for name, value in fields.items()]
    lines.append(_listed("damage", (_json(_Damage(d.row, d.reason)) for d in execution.damage), 6))
    lines.append(_listed("events", _encode_rows(execution), 6))
    return "    {\n" + ",\n".join(lines) + "\n    }"


def _encode_rows(execution: RecordedExecution) -> Iterator[str]:
    for event, row in zip(execution.history.events, stored_rows(execution), strict=True):
        # An object keeps its text, but not the blanks around it.
        plain = event.type != UNREADABLE and row.text.startswith("{") and row.text.endswith("}")
        yield row.text if plain else _json(_Row(row.event_id, row.event_type, row.text))


def _entries(table: Table) -> Iterator[str]:
    return (
        _json(_Entry(key, entry.value, entry.last_updated_at_ms, entry.execution_id)) for key, entry in table.items()
    )


def _listed(name: str, items: Iterable[str], indent: int) -> str:
    margin = " " * indent
    inner = ",\n".join(f"{margin}  {item}" for item in items)
    return f"{margin}{_json(name)}: [" + (f"\n{inner}\n{margin}]" if inner else "]")


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise NotStorable("a text of the recording", error.object) from None


def decode(text: str | bytes, name: str = "the text") -> Recording:
    """The recording that `encode` made; `name` is what error messages call the text.

    Fields that this version does not know are ignored, so that later ones can add some. Raises `BadRecording`.
    """
    try:
        head = msgspec.json.decode(text, type=_Head)
        if head.format != FORMAT:
            raise BadRecording(f"{name} is no workbench recording: its format is {head.format!r}, not {FORMAT!r}")
        if head.version != VERSION:
            raise BadRecording(
                f"{name} is a recording of version {head.version}; this workbench reads version {VERSION}"
            )
        envelope = msgspec.json.decode(text, type=_Envelope)
    except msgspec.ValidationError as error:
        raise BadRecording(f"{name} does not have the form of a workbench recording: {error}") from error
    except UnicodeEncodeError as error:
        raise BadRecording(f"{name} is no JSON: character {error.start} is half a character") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRecording(f"{name} is no JSON: {error}") from error
    return _recording(envelope, name)


def _recording(envelope: _Envelope, name: str) -> Recording:
    executions = [
        _stored(execution, envelope.instance_id, f"{name}, executions[{index}]")
        for index, execution in enumerate(envelope.executions)
    ]
    ids = [execution.execution_id for execution in executions]
    if not ids or ids != sorted(set(ids)) or ids[0] < 1:
        raise BadRecording(f"{name}, executions: ids must count upwards from 1 or more, and are {ids}")
    recording = recording_of(
        StoredInstance(
            instance_id=envelope.instance_id,
            orchestration=envelope.orchestration,
            version=envelope.orchestration_version,
            executions=executions,
            kv_model=envelope.kv_model,
            kv_tables=Tables(_table(envelope.kv_store), _table(envelope.kv_delta)),
            limits=envelope.limits,
            custom_status=envelope.custom_status,
            custom_status_version=envelope.custom_status_version,
            parent_instance=envelope.parent_instance,
        ),
        envelope.writer,
    )
    return recording if envelope.code is None else msgspec.structs.replace(recording, code=envelope.code)


def _stored(execution: _Execution, instance_id: str, where: str) -> StoredExecution:
    rows = tuple(_row(raw, index) for index, raw in enumerate(execution.events, start=1))
    turns = None if execution.turns_inferred else _turns(rows, execution.first_events, where)
    damage = tuple(Damage(instance_id, execution.execution_id, d.row, d.reason) for d in execution.damage)
    return StoredExecution(
        execution.execution_id,
        execution.status,
        execution.output,
        rows,
        turns,
        frozenset(execution.refused_turns),
        damage,
    )


def _row(raw: msgspec.Raw, place: int) -> Row:
    text = bytes(raw).decode(errors="backslashreplace")
    try:
        columns = msgspec.json.decode(text, type=_Columns)
        return Row(columns.event_id, columns.type, text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        wrapped = msgspec.json.decode(text, type=_Row)
        return Row(wrapped.row, wrapped.type, wrapped.text)
    except (msgspec.DecodeError, RecursionError):
        return Row(place, "", text)


def _turns(rows: tuple[Row, ...], first: list[int], where: str) -> tuple[int, ...]:
    """The turn number of each row, from the ids of the rows that begin a turn."""
    turns: list[int] = []
    turn = 0
    for row in rows:
        if turn < len(first) and row.event_id == first[turn]:
            turn += 1
        turns.append(turn)
    if turn < len(first):
        raise BadRecording(f"{where}: turn {turn + 1} begins with event {first[turn]}, which is not there or too early")
    if turns and turns[0] == 0:
        raise BadRecording(f"{where}: first_events must begin with event {rows[0].event_id}, the first one")
    return tuple(turns)


def _table(entries: list[_Entry]) -> Table:
    return {e.key: Entry(e.value, e.last_updated_at_ms, e.execution_id) for e in entries}


def read(path: Path) -> Recording:
    """The recording in a JSON file; raises `BadRecording`, `NoSuchFile` or `UnreadableFile`."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except ValueError as error:  # no path at all
        raise UnreadableFile(path, str(error)) from error
    return decode(text, path.name)


def write(text: str, path: Path) -> None:
    """Write a text to a file that is replaced whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
