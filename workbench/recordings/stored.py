"""An instance as a store has it, and the recording that is made of it: rows read, checked, numbered by turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from workbench.recordings.integrity import UNREADABLE, Damage, Row, check_sequence, damages, read_row
from workbench.recordings.recording import DUROXIDE_WRITER, Elsewhere, RecordedExecution, Recording
from workbench.recordings.turns import infer_turns
from workbench.runtime.errors import DamagedHistory
from workbench.runtime.events import KV_EVENTS, Event
from workbench.runtime.kv import DELTA, KVModel, Tables, apply_turn, snapshot
from workbench.runtime.limits import Limits
from workbench.runtime.provider import ExecutionInfo, History, Provider

UNKNOWN_WRITER: Final = "unknown"
UNKNOWN_STATUS: Final = "Unknown"
"""Status of an execution that the store has no row for."""


class StoredExecution(msgspec.Struct, frozen=True):
    """One execution as a store has it; `turns` is None where the store does not say."""

    execution_id: int
    status: str
    output: str | None
    rows: tuple[Row, ...] = ()
    turns: tuple[int, ...] | None = None
    refused: frozenset[int] = frozenset()
    damage: tuple[Damage, ...] = ()
    """What reading it has already shown to be wrong."""


class StoredInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance as a store has it; without executions it is recorded as one that lost its history."""

    instance_id: str
    orchestration: str
    version: str
    executions: Sequence[StoredExecution]
    kv_model: KVModel
    kv_tables: Tables
    limits: Limits
    custom_status: str | None = None
    custom_status_version: int = 0
    parent_instance: str | None = None


def recording_of(
    stored: StoredInstance, writer: str | None = None, elsewhere: Callable[[str], Recording] | None = None
) -> Recording:
    """The recording of a stored instance; `writer` where the store names it, else what the events say.

    `elsewhere` gives the recordings of the other instances in the same place.
    """
    rows = stored.executions or (StoredExecution(1, UNKNOWN_STATUS, None),)
    executions = [read_execution(stored.instance_id, execution) for execution in rows]
    return Recording(
        instance_id=stored.instance_id,
        orchestration=stored.orchestration,
        version=stored.version,
        writer=writer or writer_of(executions),
        limits=stored.limits,
        kv_model=stored.kv_model,
        executions=with_snapshots(executions, stored.kv_model, stored.kv_tables),
        kv_tables=stored.kv_tables,
        custom_status=stored.custom_status,
        custom_status_version=stored.custom_status_version,
        parent_instance=stored.parent_instance,
        elsewhere=None if elsewhere is None else Elsewhere(elsewhere),
    )


def read_execution(instance_id: str, stored: StoredExecution) -> RecordedExecution:
    """Read an execution's rows, check them, and number its turns; without the KV snapshot."""
    events: list[Event] = []
    found: list[tuple[str, str]] = []
    for row in stored.rows:
        event, reason = read_row(instance_id, stored.execution_id, row)
        events.append(event)
        if reason is not None:
            found.append((f"event {row.event_id}", reason))
    if stored.rows or not stored.damage:  # of rows that the store refused to give nothing else can be said
        found += check_sequence(events, stored.status)
    turns, refused = stored.turns, stored.refused
    soft: tuple[int, ...] = ()
    if turns is not None and not _count_up(turns):
        found.append(("turns", f"their stored numbers are {_shortened(turns)} and do not count 1, 2, 3 …"))
        turns, refused = None, frozenset()
    if turns is None:
        turns, soft = infer_turns(events)
    checked = damages(instance_id, stored.execution_id, found)
    return RecordedExecution(
        execution_id=stored.execution_id,
        status=stored.status,
        output=stored.output,
        history=History(tuple(events), tuple(row.text for row in stored.rows), turns, refused),
        turns_inferred=turns is not stored.turns,
        soft_boundaries=soft,
        damage=stored.damage + tuple(damage for damage in checked if damage not in stored.damage),
    )


def _count_up(turns: Sequence[int]) -> bool:
    return all(turn - before in (0, 1) for before, turn in pairwise((0, *turns))) and (not turns or turns[0] == 1)


def _shortened(turns: Sequence[int]) -> str:
    shown = ", ".join(str(turn) for turn in turns[:8])
    return shown if len(turns) <= 8 else f"{shown}, …"


def stored_rows(execution: RecordedExecution) -> tuple[Row, ...]:
    """The rows that `read_execution` made this execution of."""
    pairs = zip(execution.history.events, execution.history.texts, strict=True)
    return tuple(Row(e.event_id, str(e.name) if e.type == UNREADABLE else e.type, text) for e, text in pairs)


def with_snapshots(
    executions: Sequence[RecordedExecution], kv_model: KVModel, kv_tables: Tables
) -> tuple[RecordedExecution, ...]:
    """Each execution with the KV state that its first turn was given.

    Execution 1 began empty; later ones began with what the earlier ones left, known when all of those are here and
    whole. In the delta model a running execution began with the stored `kv_store`, and the newest one that has ended
    with what is stored now, as long as it never wrote.
    """
    done: list[RecordedExecution] = []
    tables: Tables | None = Tables()
    expected = 1
    for execution in executions:
        if execution.execution_id != expected:
            tables = None
        if any(event.kv_cleared is True for event in execution.history.events[:1]):
            tables = Tables()
        seed = tables
        untouched = tables is None and execution is executions[-1] and not _writes(execution)
        if kv_model == DELTA and (execution.status == "Running" or untouched):
            seed = kv_tables
        done.append(msgspec.structs.replace(execution, kv_snapshot=None if seed is None else snapshot(seed)))
        if tables is not None:
            whole = not execution.damage
            tables = apply_turn(kv_model, tables, execution.history.events, ended=True) if whole else None
        expected = execution.execution_id + 1
    return tuple(done)


def _writes(execution: RecordedExecution) -> bool:
    return any(event.type in KV_EVENTS for event in execution.history.events)


def writer_of(executions: Iterable[RecordedExecution]) -> str:
    """Who made the newest event that can be read: `duroxide-<version>`, `workbench-<version>` or `unknown`."""
    versions = [e.duroxide_version for x in executions for e in x.history.events if e.type != UNREADABLE]
    if not versions:
        return UNKNOWN_WRITER
    return versions[-1] if versions[-1].startswith("workbench-") else DUROXIDE_WRITER + versions[-1]


def recording_from_provider(provider: Provider, instance_id: str, limits: Limits) -> Recording:
    """The recording of an instance in a live store; `limits` are those that its turns are held to.

    Raises `UnknownInstance`, or `NoTurnYet` when it only waits to begin. An execution whose rows the store refuses to
    read is recorded as damaged.
    """
    instance = provider.begun(instance_id)
    executions = [_stored_by(provider, instance_id, execution) for execution in provider.executions(instance_id)]
    return recording_of(
        StoredInstance(
            instance_id=instance_id,
            orchestration=instance.orchestration,
            version=instance.version,
            executions=executions,
            kv_model=provider.kv_model,
            kv_tables=provider.get_kv_tables(instance_id),
            limits=limits,
            custom_status=instance.custom_status,
            custom_status_version=instance.custom_status_version,
            parent_instance=instance.parent_instance,
        )
    )


def _stored_by(provider: Provider, instance_id: str, info: ExecutionInfo) -> StoredExecution:
    try:
        history = provider.read_history(instance_id, info.execution_id)
    except DamagedHistory as error:
        damage = Damage(instance_id, info.execution_id, error.row, error.reason)
        return StoredExecution(info.execution_id, info.status, info.output, (), (), damage=(damage,))
    pairs: Sequence[tuple[Event, str]] = list(zip(history.events, history.texts, strict=True))
    rows = tuple(Row(event.event_id, event.type, text) for event, text in pairs)
    return StoredExecution(info.execution_id, info.status, info.output, rows, history.turns, history.refused)
