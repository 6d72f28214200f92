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
from workbench.store.claiming import RUNNING
from workbench.store.database import Cursor, Database, columns
from workbench.store.kv import KVTables
from workbench.store.queues import enqueue, enqueue_activities, remove_activities


def commit(database: Database, kv: KVTables, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
    """Write all turns in one transaction, or, if the database refuses that, each in its own.

    Returns the turns whose lock was lost; raises `CommitFailed` for those that the database does not take alone.
    """
    if len({turn.claim.instance_id for turn in turns}) != len(turns):
        raise ValueError("a batch has at most one turn of an instance")
    if not turns:
        return []
    if len(turns) > 1:
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
    cursor.execute("DELETE FROM orchestrator_queue WHERE list_contains(?::TEXT[], lock_token)", tokens)
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
    cursor.execute("DELETE FROM instance_locks WHERE list_contains(?::TEXT[], lock_token)", tokens)


def _write_state(cursor: Cursor, turns: Sequence[TurnCommit]) -> None:
    """Instance and execution rows; an execution keeps its first ending.

    The claim says which rows are there, so that each statement is a plain insert or update: in DuckDB 2.0.1 an
    upsert costs as much as three of them.
    """
    begun = [turn for turn in turns if turn.claim.execution_id == 0]
    if begun:
        cursor.execute(_INSERT_INSTANCES, columns([_instance_row(turn) for turn in begun]))
    known = [turn for turn in turns if turn.claim.execution_id > 0]
    if known:
        cursor.execute(_UPDATE_INSTANCES, columns([_instance_row(turn) for turn in known]))
    started = [turn for turn in turns if turn.execution_id != turn.claim.execution_id]
    if started:
        cursor.execute(_INSERT_EXECUTIONS, columns([_execution_row(turn) for turn in started]))
    ended = [turn for turn in turns if turn.execution_id == turn.claim.execution_id and turn.status != RUNNING]
    if ended:
        cursor.execute(_END_EXECUTIONS, columns([_execution_row(turn) for turn in ended]))


def _instance_row(turn: TurnCommit) -> tuple[object, ...]:
    status_event = _last_status_event(turn)
    return (
        turn.claim.instance_id,
        turn.orchestration,
        turn.version,
        turn.execution_id,
        turn.events[-1].event_id,
        turn.parent_instance,
        None if status_event is None else status_event.status,
        0 if status_event is None else 1,
        turn.now_ms,
    )


def _execution_row(turn: TurnCommit) -> tuple[object, ...]:
    completed_at_ms = None if turn.status == RUNNING else turn.now_ms
    return turn.claim.instance_id, turn.execution_id, turn.status, turn.output, turn.now_ms, completed_at_ms


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
    ended = [turn.claim.instance_id for turn in turns if turn.status != RUNNING]
    if ended:
        kv.end_execution(cursor, ended)


_LOCKS = """
SELECT instance_id, lock_token, locked_until_ms FROM instance_locks WHERE list_contains(?::TEXT[], lock_token)
"""

_INSERT_INSTANCES = """
INSERT INTO instances (instance_id, orchestration_name, orchestration_version, current_execution_id, last_event_id,
                       parent_instance_id, custom_status, custom_status_version, created_at_ms, updated_at_ms)
SELECT *, at_ms
FROM (
    SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]),
           unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]) AS at_ms
)
"""

_UPDATE_INSTANCES = """
UPDATE instances
SET orchestration_name = turns.name, orchestration_version = turns.version,
    current_execution_id = turns.execution_id, last_event_id = turns.last_event_id,
    custom_status = CASE turns.raised WHEN 1 THEN turns.custom_status ELSE instances.custom_status END,
    custom_status_version = custom_status_version + turns.raised,
    updated_at_ms = turns.at_ms
FROM (
    SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::TEXT[]) AS name, unnest(?::TEXT[]) AS version,
           unnest(?::BIGINT[]) AS execution_id, unnest(?::BIGINT[]) AS last_event_id, unnest(?::TEXT[]) AS parent_id,
           unnest(?::TEXT[]) AS custom_status, unnest(?::BIGINT[]) AS raised, unnest(?::BIGINT[]) AS at_ms
) AS turns
WHERE instances.instance_id = turns.instance_id
"""

_INSERT_EXECUTIONS = """
INSERT INTO executions (instance_id, execution_id, status, output, started_at_ms, completed_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]),
       unnest(?::BIGINT[])
"""

_END_EXECUTIONS = """
UPDATE executions
SET status = turns.status, output = turns.output, completed_at_ms = turns.completed_at_ms
FROM (
    SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::BIGINT[]) AS execution_id, unnest(?::TEXT[]) AS status,
           unnest(?::TEXT[]) AS output, unnest(?::BIGINT[]) AS at_ms, unnest(?::BIGINT[]) AS completed_at_ms
) AS turns
WHERE executions.instance_id = turns.instance_id AND executions.execution_id = turns.execution_id
  AND executions.status = 'Running'
"""

_HISTORY = """
INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data, turn, refused)
SELECT unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]), unnest(?::TEXT[]),
       unnest(?::BIGINT[]), unnest(?::BOOLEAN[])
"""
