"""The two queues: messages that wait for an instance's next turn, activities that wait for a worker.

A row that cannot be decoded is kept, marked with the reason and never claimed again, so that it neither vanishes nor
stands in the way.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from workbench.runtime.messages import (
    ActivityExecute,
    ContinueAsNew,
    Message,
    StartOrchestration,
    TimerFired,
    decode_message,
    encode_message,
)
from workbench.runtime.provider import ActivityClaim
from workbench.store.database import Cursor, columns

log = logging.getLogger("workbench.store")

START = StartOrchestration.__name__
CONTINUE = ContinueAsNew.__name__


def new_lock_token() -> str:
    """A token that no other lock ever has."""
    return uuid.uuid4().hex


def enqueue(cursor: Cursor, messages: Iterable[tuple[Message, int]], visible_at_ms: int | None = None) -> None:
    """Append messages, each with the time (ms) it is sent at, to the queues of their instances.

    A `TimerFired` is visible from its `fire_at_ms` on, others at once; `visible_at_ms` overrides both.
    """
    rows = [
        (
            message.target,
            type(message).__name__,
            encode_message(message),
            _visible_at_ms(message, now_ms) if visible_at_ms is None else visible_at_ms,
            now_ms,
        )
        for message, now_ms in messages
    ]
    if rows:
        cursor.execute(_ENQUEUE, columns(rows))


def enqueue_activities(cursor: Cursor, activities: Iterable[tuple[ActivityExecute, int]]) -> None:
    """Append activities, each with the time (ms) it is scheduled at, visible from then on."""
    rows = [
        (work.instance, work.execution_id, work.id, encode_message(work), now_ms, now_ms) for work, now_ms in activities
    ]
    if rows:
        cursor.execute(_ENQUEUE_ACTIVITIES, columns(rows))


def remove_activities(cursor: Cursor, cancelled: Sequence[tuple[str, int, int]]) -> None:
    """Remove activities, given as instance, execution and schedule id, from the worker queue."""
    if cancelled:
        cursor.execute(_REMOVE_ACTIVITIES, columns(cancelled))


def claim_activities(
    cursor: Cursor, limit: int, now_ms: int, lock_ms: int, instance_id: str | None, event_id: int | None = None
) -> list[ActivityClaim]:
    """Lock up to `limit` visible activities whose lock, if any, has expired, oldest first.

    With `event_id` only the one that this event scheduled, visible or not.
    """
    bounds = {"limit": limit, "now_ms": now_ms, "instance_id": instance_id, "event_id": event_id}
    while True:
        rows = cursor.execute(_READY_ACTIVITIES, bounds).fetchall()
        works, problems = decode_rows([(row_id, text) for row_id, text, _ in rows])
        if not problems:
            break
        mark_activities(cursor, problems)
    claims = []
    for row_id, _, attempt_count in rows:
        work = works[row_id]
        if isinstance(work, ActivityExecute):
            claims.append(ActivityClaim(row_id, new_lock_token(), work, attempt_count + 1))
    if claims:
        locks = [(claim.id, claim.lock_token, now_ms + lock_ms) for claim in claims]
        cursor.execute(_LOCK_ACTIVITIES, columns(locks))
    return claims


def complete_activities(
    cursor: Cursor, done: Sequence[tuple[ActivityClaim, Message]], now_ms: int
) -> list[ActivityClaim]:
    """Remove activities that are still ours and enqueue their outcomes; returns the claims that were not."""
    if not done:
        return []
    held = {
        token
        for (token,) in cursor.execute(_HELD_ACTIVITIES, [[claim.lock_token for claim, _ in done], now_ms]).fetchall()
    }
    ours = [(claim, outcome) for claim, outcome in done if claim.lock_token in held]
    if ours:
        cursor.execute(_DELETE_ACTIVITIES, [[claim.lock_token for claim, _ in ours]])
        enqueue(cursor, ((outcome, now_ms) for _, outcome in ours))
    return [claim for claim, _ in done if claim.lock_token not in held]


def abandon_activities(cursor: Cursor, claims: Sequence[ActivityClaim], visible_at_ms: int, keep_attempt: bool) -> None:
    """Unlock the activities that are still ours."""
    tokens = [claim.lock_token for claim in claims]
    cursor.execute(_ABANDON_ACTIVITIES, [visible_at_ms, 0 if keep_attempt else 1, tokens])


def decode_rows(rows: Iterable[tuple[int, str]]) -> tuple[dict[int, Message], list[tuple[int, str]]]:
    """Work items by row id, and the rows that hold none, each with the reason."""
    works: dict[int, Message] = {}
    problems: list[tuple[int, str]] = []
    for row_id, text in rows:
        try:
            works[row_id] = decode_message(text)
        except msgspec.MsgspecError as error:
            problems.append((row_id, str(error)))
    return works, problems


def mark_messages(cursor: Cursor, problems: Sequence[tuple[int, str]]) -> None:
    """Keep these rows of the orchestrator queue out of every claim, and say so in the log."""
    _warn("orchestrator_queue", problems)
    cursor.execute(_MARK_MESSAGES, columns(problems))


def mark_activities(cursor: Cursor, problems: Sequence[tuple[int, str]]) -> None:
    """Keep these rows of the worker queue out of every claim, and say so in the log."""
    _warn("worker_queue", problems)
    cursor.execute(_MARK_ACTIVITIES, columns(problems))


def _warn(table: str, problems: Iterable[tuple[int, str]]) -> None:
    for row_id, reason in problems:
        log.warning("row %d of %s cannot be read and is left there, unclaimed: %s", row_id, table, reason)


def _visible_at_ms(message: Message, now_ms: int) -> int:
    return message.fire_at_ms if isinstance(message, TimerFired) else now_ms


def pending_messages(cursor: Cursor, instance_id: str) -> list[Message]:
    """The readable messages in an instance's queue, in order."""
    return list(_pending(cursor.execute(_PENDING_MESSAGES, [instance_id]).fetchall()))


def pending_restarts(cursor: Cursor) -> list[ContinueAsNew]:
    """The restarts of failed instances that wait for their turn."""
    works = _pending(cursor.execute(_PENDING_EXECUTIONS, [CONTINUE]).fetchall())
    return [work for work in works if isinstance(work, ContinueAsNew) and work.restarts]


def pending_activities(cursor: Cursor, instance_id: str) -> list[ActivityExecute]:
    """The readable activities of an instance that wait for a worker, oldest first."""
    works = _pending(cursor.execute(_PENDING_ACTIVITIES, [instance_id]).fetchall())
    return [work for work in works if isinstance(work, ActivityExecute)]


def _pending(rows: list[Any]) -> Iterable[Message]:
    return decode_rows(rows)[0].values()


_ENQUEUE = """
INSERT INTO orchestrator_queue (instance_id, kind, work_item, visible_at_ms, enqueued_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[])
"""

_ENQUEUE_ACTIVITIES = """
INSERT INTO worker_queue (instance_id, execution_id, activity_id, work_item, visible_at_ms, enqueued_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::BIGINT[]), unnest(?::BIGINT[]), unnest(?::TEXT[]), unnest(?::BIGINT[]),
       unnest(?::BIGINT[])
"""

_REMOVE_ACTIVITIES = """
DELETE FROM worker_queue
USING (
    SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::BIGINT[]) AS execution_id, unnest(?::BIGINT[]) AS activity_id
) AS cancelled
WHERE worker_queue.instance_id = cancelled.instance_id AND worker_queue.execution_id = cancelled.execution_id
  AND worker_queue.activity_id = cancelled.activity_id
"""

_READY_ACTIVITIES = """
SELECT id, work_item, attempt_count
FROM worker_queue
WHERE (visible_at_ms <= $now_ms OR $event_id IS NOT NULL) AND problem IS NULL
  AND (locked_until_ms IS NULL OR locked_until_ms <= $now_ms) AND ($event_id IS NULL OR activity_id = $event_id)
  AND ($instance_id IS NULL OR instance_id = $instance_id)
ORDER BY id
LIMIT $limit
"""

_LOCK_ACTIVITIES = """
UPDATE worker_queue
SET lock_token = locks.lock_token, locked_until_ms = locks.locked_until_ms, attempt_count = attempt_count + 1
FROM (
    SELECT unnest(?::BIGINT[]) AS id, unnest(?::TEXT[]) AS lock_token, unnest(?::BIGINT[]) AS locked_until_ms
) AS locks
WHERE worker_queue.id = locks.id
"""

_HELD_ACTIVITIES = """
SELECT lock_token FROM worker_queue WHERE list_contains(?::TEXT[], lock_token) AND locked_until_ms > ?
"""

_DELETE_ACTIVITIES = "DELETE FROM worker_queue WHERE list_contains(?::TEXT[], lock_token)"

_ABANDON_ACTIVITIES = """
UPDATE worker_queue
SET lock_token = NULL, locked_until_ms = NULL, visible_at_ms = ?, attempt_count = attempt_count - ?
WHERE list_contains(?::TEXT[], lock_token)
"""

_MARK_MESSAGES = """
UPDATE orchestrator_queue SET problem = marks.problem
FROM (SELECT unnest(?::BIGINT[]) AS id, unnest(?::TEXT[]) AS problem) AS marks
WHERE orchestrator_queue.id = marks.id
"""

_MARK_ACTIVITIES = """
UPDATE worker_queue SET problem = marks.problem
FROM (SELECT unnest(?::BIGINT[]) AS id, unnest(?::TEXT[]) AS problem) AS marks
WHERE worker_queue.id = marks.id
"""

_PENDING_MESSAGES = """
SELECT id, work_item FROM orchestrator_queue WHERE instance_id = ? AND problem IS NULL ORDER BY id
"""

_PENDING_EXECUTIONS = "SELECT id, work_item FROM orchestrator_queue WHERE kind = ? AND problem IS NULL ORDER BY id"

_PENDING_ACTIVITIES = """
SELECT id, work_item FROM worker_queue WHERE instance_id = ? AND problem IS NULL ORDER BY id
"""
