"""Commits: finished turns, written whole or not at all, many of them in one transaction.

The number of statements does not grow with the number of turns, and what no turn changed costs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from workbench.runtime import events as ev
from workbench.runtime.errors import CommitFailed, StatementRefused
from workbench.runtime.kv import fold_turn
from workbench.runtime.provider import TurnCommit
from workbench.store.database import Cursor, Database, columns
from workbench.store.kv import KVTables
from workbench.store.queues import enqueue, enqueue_activities, remove_activities


def commit(database: Database, kv: KVTables, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
    """Write all turns in one transaction, or, if the database refuses that, each in its own.

    Returns the turns whose lock was lost; raises `CommitFailed` for those that the database does not take alone.
    """
    if len({turn.claim.instance_id for turn in turns}) != len(turns):
        raise ValueError("a batch has at most one turn of an instance")
    if len(turns) != 1:
        with suppress(StatementRefused):
            return _commit_together(database, kv, turns)
    refused: list[TurnCommit] = []
    reasons: dict[str, str] = {}
    for turn in turns:
        try:
            refused += _commit_together(database, kv, [turn])
        except StatementRefused as error:
            reasons[turn.claim.instance_id] = error.reason
    if reasons:
        raise CommitFailed(reasons, tuple(turn.claim.instance_id for turn in refused))
    return refused


def _commit_together(database: Database, kv: KVTables, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
    with database.writing() as cursor:
        ours, lost = _sort_out_lost_locks(cursor, turns)
        if ours:
            _write(cursor, kv, ours)
    return lost


def _sort_out_lost_locks(cursor: Cursor, turns: Sequence[TurnCommit]) -> tuple[list[TurnCommit], list[TurnCommit]]:
    rows = cursor.execute(_LOCKS, [[turn.claim.lock_token for turn in turns]]).fetchall()
    until_ms = {(instance_id, token): locked_until_ms for instance_id, token, locked_until_ms in rows}
    ours: list[TurnCommit] = []
    lost: list[TurnCommit] = []
    for turn in turns:
        held = turn.now_ms < until_ms.get((turn.claim.instance_id, turn.claim.lock_token), 0)
        (ours if held else lost).append(turn)
    return ours, lost


def _write(cursor: Cursor, kv: KVTables, turns: Sequence[TurnCommit]) -> None:
    tokens = [[turn.claim.lock_token for turn in turns]]
    cursor.execute("DELETE FROM orchestrator_queue WHERE lock_token IN (SELECT unnest(?::TEXT[]))", tokens)
    made = [turn for turn in turns if turn.events]  # a batch that appends nothing only loses its messages
    if made:
        _write_state(cursor, made)
        _write_history(cursor, made)
        _write_kv(cursor, kv, made)
    enqueue_activities(cursor, ((work, turn.now_ms) for turn in turns for work in turn.activities))
    remove_activities(
        cursor,
        [
            (turn.claim.instance_id, turn.execution_id, schedule_id)
            for turn in turns
            for schedule_id in turn.cancelled_activities
        ],
    )
    enqueue(cursor, ((message, turn.now_ms) for turn in turns for message in turn.messages))
    cursor.execute("DELETE FROM instance_locks WHERE lock_token IN (SELECT unnest(?::TEXT[]))", tokens)


def _write_state(cursor: Cursor, turns: Sequence[TurnCommit]) -> None:
    """Instance and execution rows; an execution keeps its first ending."""
    instances = [
        (
            turn.claim.instance_id,
            turn.orchestration,
            turn.version,
            turn.execution_id,
            turn.parent_instance,
            turn.now_ms,
            turn.now_ms,
        )
        for turn in turns
    ]
    cursor.execute(_INSTANCES, columns(instances))
    executions = [
        (
            turn.claim.instance_id,
            turn.execution_id,
            turn.status,
            turn.output,
            turn.now_ms,
            None if turn.status == "Running" else turn.now_ms,
            turn.events[-1].event_id,
        )
        for turn in turns
    ]
    cursor.execute(_EXECUTIONS, columns(executions))
    statuses = [
        (turn.claim.instance_id, last.status) for turn in turns if (last := _last_status_event(turn)) is not None
    ]
    if statuses:
        cursor.execute(_CUSTOM_STATUS, columns(statuses))


def _last_status_event(turn: TurnCommit) -> ev.Event | None:
    return next((event for event in reversed(turn.events) if event.type == ev.STATUS_UPDATED), None)


def _write_history(cursor: Cursor, turns: Sequence[TurnCommit]) -> None:
    rows = [
        (
            turn.claim.instance_id,
            turn.execution_id,
            event.event_id,
            event.type,
            ev.encode_event(event),
            turn.turn,
            turn.refused,
        )
        for turn in turns
        for event in turn.events
    ]
    cursor.execute(_HISTORY, columns(rows))


def _write_kv(cursor: Cursor, kv: KVTables, turns: Sequence[TurnCommit]) -> None:
    changes = [(turn.claim.instance_id, change) for turn in turns if (change := fold_turn(turn.events))]
    if changes:
        kv.write(cursor, changes)
    ended = [turn.claim.instance_id for turn in turns if turn.status != "Running"]
    if ended:
        kv.end_execution(cursor, ended)


_LOCKS = """
SELECT instance_id, lock_token, locked_until_ms FROM instance_locks WHERE lock_token IN (SELECT unnest(?::TEXT[]))
"""

_INSTANCES = """
INSERT INTO instances (instance_id, orchestration_name, orchestration_version, current_execution_id,
                       parent_instance_id, created_at_ms, updated_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]),
       unnest(?::BIGINT[]), unnest(?::BIGINT[])
ON CONFLICT (instance_id)
    DO UPDATE SET orchestration_name = excluded.orchestration_name,
                  orchestration_version = excluded.orchestration_version,
                  current_execution_id = greatest(instances.current_execution_id, excluded.current_execution_id),
                  updated_at_ms = excluded.updated_at_ms
"""

_EXECUTIONS = """
INSERT INTO executions (instance_id, execution_id, status, output, started_at_ms, completed_at_ms, last_event_id)
SELECT unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]),
       unnest(?::BIGINT[]), unnest(?::BIGINT[])
ON CONFLICT (instance_id, execution_id)
    DO UPDATE SET
        status = CASE executions.status WHEN 'Running' THEN excluded.status ELSE executions.status END,
        output = CASE executions.status WHEN 'Running' THEN excluded.output ELSE executions.output END,
        completed_at_ms = coalesce(executions.completed_at_ms, excluded.completed_at_ms),
        last_event_id = greatest(executions.last_event_id, excluded.last_event_id)
"""

_CUSTOM_STATUS = """
UPDATE instances
SET custom_status = changes.custom_status, custom_status_version = custom_status_version + 1
FROM (SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::TEXT[]) AS custom_status) AS changes
WHERE instances.instance_id = changes.instance_id
"""

_HISTORY = """
INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, turn, refused)
SELECT unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]), unnest(?::TEXT[]),
       unnest(?::BIGINT[]), unnest(?::BOOLEAN[])
"""
