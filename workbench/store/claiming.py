"""Claims: which instances are ready for a turn, and the lock under which that turn is made.

An instance is ready when messages for it are visible, nobody holds its lock, and those messages can do something:
without a row, or after continue-as-new, only a message that begins the execution makes it ready. What can never be
claimed therefore stands in nobody's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workbench.runtime.errors import LockLost
from workbench.runtime.messages import ContinueAsNew, Message
from workbench.runtime.provider import Claim
from workbench.store.database import Cursor, columns
from workbench.store.queues import CONTINUE, START, decode_rows, mark_messages, new_lock_token

RUNNING = "Running"
CONTINUED = "ContinuedAsNew"
FAILED = "Failed"


def claim_instances(cursor: Cursor, limit: int, now_ms: int, lock_ms: int, instance_id: str | None) -> list[Claim]:
    """Lock up to `limit` ready instances for `lock_ms`, the one with the oldest visible message first."""
    bounds = {"limit": limit, "now_ms": now_ms, "instance_id": instance_id, "start": START, "continue": CONTINUE}
    while True:
        rows = [_ReadyRow(*row) for row in cursor.execute(_READY, bounds).fetchall()]
        works, problems = decode_rows([(row.message_id, row.work_item) for row in rows])
        if not problems:
            break
        mark_messages(cursor, problems)  # which may change what is ready
    claims = _claims(rows, works)
    if claims:
        expired = [row.instance_id for row in rows if row.expired_lock]
        if expired:
            cursor.execute("DELETE FROM instance_locks WHERE instance_id IN (SELECT unnest(?::TEXT[]))", [expired])
        locks = [(claim.instance_id, claim.lock_token, now_ms, now_ms + lock_ms) for claim in claims]
        cursor.execute(_LOCK, columns(locks))
        tokens = {claim.instance_id: claim.lock_token for claim in claims}
        cursor.execute(_STAMP, columns([(row.message_id, tokens[row.instance_id]) for row in rows]))
    return claims


class _ReadyRow(NamedTuple):
    """One message of a ready instance, with where that instance stands."""

    instance_id: str
    execution_id: int
    last_event_id: int
    status: str
    orchestration: str | None
    version: str | None
    expired_lock: bool
    message_id: int
    work_item: str
    attempt_count: int


def _claims(rows: Sequence[_ReadyRow], works: dict[int, Message]) -> list[Claim]:
    by_instance: dict[str, list[_ReadyRow]] = {}
    for row in rows:
        by_instance.setdefault(row.instance_id, []).append(row)
    return [
        Claim(
            instance_id=instance_id,
            lock_token=new_lock_token(),
            messages=tuple(works[row.message_id] for row in own),
            execution_id=own[0].execution_id,
            last_event_id=own[0].last_event_id,
            attempt_count=1 + max(row.attempt_count for row in own),
            status=own[0].status,
            orchestration=own[0].orchestration,
            version=own[0].version,
            continued=own[0].status == CONTINUED or _restarts(own[0].status, (works[row.message_id] for row in own)),
        )
        for instance_id, own in by_instance.items()
    ]


def _restarts(status: str, messages: Iterable[Message]) -> bool:
    return status == FAILED and any(isinstance(each, ContinueAsNew) and each.restarts for each in messages)


def abandon(cursor: Cursor, claim: Claim, delay_ms: int, keep_attempt: bool) -> None:
    """Give a claim back; a delay counts from the time the claim was made or last renewed."""
    lock = cursor.execute(
        "DELETE FROM instance_locks WHERE instance_id = ? AND lock_token = ? RETURNING locked_at_ms",
        [claim.instance_id, claim.lock_token],
    ).fetchone()
    if lock is None:
        raise LockLost(claim.instance_id)
    visible_at_ms = lock[0] + delay_ms if delay_ms > 0 else None
    cursor.execute(_UNSTAMP, [visible_at_ms, 0 if keep_attempt else 1, claim.lock_token])


def renew(cursor: Cursor, claim: Claim, now_ms: int, lock_ms: int) -> None:
    """Hold an unexpired lock until `now_ms + lock_ms`."""
    bounds = [now_ms, now_ms + lock_ms, claim.instance_id, claim.lock_token, now_ms]
    if cursor.execute(_RENEW, bounds).fetchone() is None:
        raise LockLost(claim.instance_id)


def next_ready_ms(cursor: Cursor, instance_id: str | None) -> int | None:
    """The earliest time at which something waiting can be claimed; None when nothing waits."""
    row = cursor.execute(_NEXT_READY, {"instance_id": instance_id, "start": START, "continue": CONTINUE}).fetchone()
    return None if row is None else row[0]


_READY = """
WITH visible AS (
    SELECT * FROM orchestrator_queue
    WHERE visible_at_ms <= $now_ms AND problem IS NULL AND ($instance_id IS NULL OR instance_id = $instance_id)
),
waiting AS (
    SELECT instance_id, min(id) AS oldest, bool_or(kind = $start) AS starts, bool_or(kind = $continue) AS continues
    FROM visible
    GROUP BY instance_id
),
ready AS (
    SELECT waiting.instance_id, oldest, coalesce(current_execution_id, 0) AS execution_id,
           coalesce(last_event_id, 0) AS last_event_id, coalesce(status, 'Running') AS status, orchestration_name,
           orchestration_version, locked_until_ms IS NOT NULL AS expired_lock
    FROM waiting
    LEFT JOIN instances ON instances.instance_id = waiting.instance_id
    LEFT JOIN executions
        ON executions.instance_id = waiting.instance_id AND executions.execution_id = current_execution_id
    LEFT JOIN instance_locks ON instance_locks.instance_id = waiting.instance_id
    WHERE CASE
            WHEN current_execution_id IS NULL THEN starts OR continues
            WHEN status = 'ContinuedAsNew' THEN continues
            ELSE TRUE
          END
      AND (locked_until_ms IS NULL OR locked_until_ms <= $now_ms)
    ORDER BY oldest
    LIMIT $limit
)
SELECT instance_id, execution_id, last_event_id, status, orchestration_name, orchestration_version, expired_lock,
       id, work_item, attempt_count
FROM ready JOIN visible USING (instance_id)
ORDER BY oldest, id
"""

_LOCK = """
INSERT INTO instance_locks (instance_id, lock_token, locked_at_ms, locked_until_ms)
SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[])
"""

_STAMP = """
UPDATE orchestrator_queue SET lock_token = stamps.lock_token, attempt_count = attempt_count + 1
FROM (SELECT unnest(?::BIGINT[]) AS id, unnest(?::TEXT[]) AS lock_token) AS stamps
WHERE orchestrator_queue.id = stamps.id
"""

_UNSTAMP = """
UPDATE orchestrator_queue
SET lock_token = NULL, visible_at_ms = coalesce(?, visible_at_ms), attempt_count = greatest(attempt_count - ?, 0)
WHERE lock_token = ?
"""

_RENEW = """
UPDATE instance_locks SET locked_at_ms = ?, locked_until_ms = ?
WHERE instance_id = ? AND lock_token = ? AND locked_until_ms > ?
RETURNING instance_id
"""

_NEXT_READY = """
WITH waiting AS (
    SELECT instance_id, min(visible_at_ms) AS first_ms,
           min(visible_at_ms) FILTER (WHERE kind IN ($start, $continue)) AS begins_ms,
           min(visible_at_ms) FILTER (WHERE kind = $continue) AS continues_ms
    FROM orchestrator_queue
    WHERE problem IS NULL AND ($instance_id IS NULL OR instance_id = $instance_id)
    GROUP BY instance_id
),
ready AS (
    SELECT waiting.instance_id,
           CASE
             WHEN current_execution_id IS NULL THEN begins_ms
             WHEN status = 'ContinuedAsNew' THEN continues_ms
             ELSE first_ms
           END AS ready_ms
    FROM waiting
    LEFT JOIN instances ON instances.instance_id = waiting.instance_id
    LEFT JOIN executions
        ON executions.instance_id = waiting.instance_id AND executions.execution_id = current_execution_id
)
SELECT min(greatest(ready_ms, coalesce(locked_until_ms, ready_ms)))
FROM ready LEFT JOIN instance_locks ON instance_locks.instance_id = ready.instance_id
WHERE ready_ms IS NOT NULL
"""
