"""Reading what is stored: histories with their turns, instances, executions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from workbench.runtime.errors import DamagedHistory
from workbench.runtime.events import STARTED, Event, decode_event
from workbench.runtime.provider import Claim, ExecutionInfo, History, InstanceInfo, Loaded
from workbench.store.database import Cursor, columns
from workbench.store.kv import KVTables
from workbench.store.queues import START

MISSING = "missing"


def load(cursor: Cursor, kv: KVTables, claims: Sequence[Claim]) -> list[Loaded]:
    """History and KV snapshot for each claim; the history is empty where the messages begin an execution."""
    if not claims:
        return []
    snapshots = kv.snapshots(cursor, [claim.instance_id for claim in claims])
    histories = read_histories(
        cursor, [(claim.instance_id, 0 if claim.continued else claim.execution_id) for claim in claims]
    )
    for claim, history in zip(claims, histories, strict=True):
        if not claim.continued and len(history.events) < claim.last_event_id:
            raise DamagedHistory(claim.instance_id, claim.execution_id, f"event {claim.last_event_id}", MISSING)
    return [Loaded(history, snapshots[claim.instance_id]) for claim, history in zip(claims, histories, strict=True)]


def read_histories(cursor: Cursor, executions: Sequence[tuple[str, int]]) -> list[History]:
    """The history of each instance and execution, in their order; empty where there is none."""
    if not executions:
        return []
    rows_of: dict[tuple[str, int], list[tuple[Any, ...]]] = {execution: [] for execution in executions}
    rows = cursor.execute(_HISTORIES, columns(list(rows_of))).fetchall()
    for instance_id, execution_id, *rest in rows:
        rows_of[instance_id, execution_id].append(tuple(rest))
    return [
        _history(instance_id, execution_id, rows_of[instance_id, execution_id])
        for instance_id, execution_id in executions
    ]


def _history(instance_id: str, execution_id: int, rows: Sequence[tuple[Any, ...]]) -> History:
    """Rows as a history; they are numbered from 1 without a hole and begin with the start, or it is damaged."""
    for expected, (event_id, *_) in enumerate(rows, 1):
        if event_id != expected:
            raise DamagedHistory(instance_id, execution_id, f"event {expected}", MISSING)
    history = History(
        events=tuple(_event(instance_id, execution_id, event_id, text) for event_id, text, _, _ in rows),
        texts=tuple(text for _, text, _, _ in rows),
        turns=tuple(turn for _, _, turn, _ in rows),
        refused=frozenset(turn for _, _, turn, refused in rows if refused),
    )
    if history.events and history.events[0].type != STARTED:
        reason = f"it begins with {history.events[0].type}, not with {STARTED}"
        raise DamagedHistory(instance_id, execution_id, "event 1", reason)
    return history


def _event(instance_id: str, execution_id: int, event_id: int, text: str) -> Event:
    try:
        event = decode_event(text)
    except msgspec.MsgspecError as error:
        raise DamagedHistory(instance_id, execution_id, f"event {event_id}", str(error)) from error
    if event.event_id != event_id:
        reason = f"its text says it is event {event.event_id}"
        raise DamagedHistory(instance_id, execution_id, f"event {event_id}", reason)
    return event


def instance_infos(cursor: Cursor) -> list[InstanceInfo]:
    """All instances, in the order of their first commit."""
    return [InstanceInfo(*row) for row in cursor.execute(_INSTANCES).fetchall()]


def instance_info(cursor: Cursor, instance_id: str) -> InstanceInfo | None:
    """One instance, or None."""
    row = cursor.execute(_INSTANCE, [instance_id]).fetchone()
    return None if row is None else InstanceInfo(*row)


def is_known(cursor: Cursor, instance_id: str) -> bool:
    """Whether an instance has begun, or a message that begins it waits."""
    return cursor.execute(_IS_KNOWN, [instance_id, instance_id, START]).fetchone() is not None


def known_ids(cursor: Cursor) -> tuple[str, ...]:
    """The ids of all instances in the order of their first commit, then of those that wait to begin."""
    begun = cursor.execute("SELECT instance_id FROM instances ORDER BY created_order").fetchall()
    waiting = cursor.execute(_STARTS, [START]).fetchall()
    return tuple(dict.fromkeys(instance_id for (instance_id,) in begun + waiting))


def execution_infos(cursor: Cursor, instance_id: str) -> list[ExecutionInfo]:
    """The stored executions of an instance, in order."""
    return [ExecutionInfo(*row) for row in cursor.execute(_EXECUTIONS, {"instance_id": instance_id}).fetchall()]


def latest_ms(cursor: Cursor) -> int | None:
    """The largest time at which anything in the store happened; times in the future (timers) do not count."""
    row = cursor.execute(_LATEST).fetchone()
    return None if row is None else row[0]


_HISTORIES = """
SELECT instance_id, execution_id, event_id, event_data, turn, refused
FROM history
JOIN (SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::BIGINT[]) AS execution_id) AS wanted
    USING (instance_id, execution_id)
ORDER BY instance_id, execution_id, event_id
"""

_INSTANCE_ROWS = """
SELECT instances.instance_id, orchestration_name, orchestration_version, current_execution_id, status, output,
       custom_status, custom_status_version, parent_instance_id, created_at_ms, updated_at_ms
FROM instances
JOIN executions ON executions.instance_id = instances.instance_id AND execution_id = current_execution_id
"""

_INSTANCES = _INSTANCE_ROWS + "ORDER BY created_order"

_INSTANCE = _INSTANCE_ROWS + "WHERE instances.instance_id = ?"

_IS_KNOWN = """
SELECT 1 FROM instances WHERE instance_id = ?
UNION ALL
SELECT 1 FROM orchestrator_queue WHERE instance_id = ? AND kind = ? AND problem IS NULL
"""

_STARTS = "SELECT instance_id FROM orchestrator_queue WHERE kind = ? AND problem IS NULL ORDER BY id"

_EXECUTIONS = """
SELECT execution_id, status, output, started_at_ms, completed_at_ms, count(event_id), coalesce(max(turn), 0)
FROM executions LEFT JOIN history USING (instance_id, execution_id)
WHERE instance_id = $instance_id
GROUP BY ALL
ORDER BY execution_id
"""

_LATEST = """
SELECT max(at_ms)
FROM (
    SELECT max(updated_at_ms) AS at_ms FROM instances
    UNION ALL SELECT max(enqueued_at_ms) FROM orchestrator_queue
    UNION ALL SELECT max(enqueued_at_ms) FROM worker_queue
)
"""
