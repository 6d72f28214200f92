"""Deleting whole instances, and pruning executions that have ended."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.errors import InstanceIsChild, InstanceRunning, UnknownInstance
from workbench.runtime.messages import StartOrchestration
from workbench.store.claiming import CONTINUED, RUNNING
from workbench.store.database import Cursor
from workbench.store.histories import execution_infos
from workbench.store.kv import KVTables
from workbench.store.queues import START, decode_rows

GOING_ON = (RUNNING, CONTINUED)
"""Status of an instance that has turns to come."""


def delete_instance(cursor: Cursor, kv: KVTables, instance_id: str, force: bool) -> None:
    """Delete an instance, its descendants, and the children that wait in the queue to begin.

    An instance that has not had its first turn counts as running. Raises `UnknownInstance` when nothing at all is
    stored under the id, `InstanceIsChild` for a sub-orchestration, `InstanceRunning` without `force`.
    """
    above = [name for (name,) in cursor.execute(_ABOVE, [instance_id]).fetchall()]
    if above:
        raise InstanceIsChild(instance_id, above[0], above[-1])
    status_of: dict[str, str] = dict(cursor.execute(_TREE, {"root": instance_id}).fetchall())
    status_of |= dict.fromkeys(_not_begun(cursor, instance_id, set(status_of)), RUNNING)
    if not status_of and not _has_messages(cursor, instance_id):
        raise UnknownInstance(instance_id, _known_instances(cursor))
    running = tuple(name for name, status in status_of.items() if status in GOING_ON)
    if running and not force:
        raise InstanceRunning(instance_id, running)
    doomed = [instance_id, *(name for name in status_of if name != instance_id)]
    for statement in _DELETE_EVERYTHING:
        cursor.execute(statement, [doomed])
    kv.delete(cursor, doomed)


def prune_executions(
    cursor: Cursor, kv: KVTables, instance_id: str, keep_last: int | None, completed_before_ms: int | None
) -> tuple[int, ...]:
    """Delete ended executions with their history, and return their numbers.

    The current execution and a running one stay, and so do the `keep_last` highest and those that ended at or after
    `completed_before_ms`. What happens to their keys is the KV model's business.
    """
    executions = execution_infos(cursor, instance_id)
    if not executions:
        raise UnknownInstance(instance_id, _known_instances(cursor))
    kept_by_number = executions[-max(keep_last or 1, 1) :]
    pruned = [
        execution.execution_id
        for execution in executions
        if execution not in kept_by_number
        and execution.completed_at_ms is not None
        and (completed_before_ms is None or execution.completed_at_ms < completed_before_ms)
    ]
    if pruned:
        for statement in _DELETE_EXECUTIONS:
            cursor.execute(statement, [instance_id, pruned])
        kv.prune(cursor, instance_id, pruned)
    return tuple(pruned)


def _not_begun(cursor: Cursor, root: str, stored: set[str]) -> list[str]:
    """The root itself and the children of the tree whose start still waits in the queue."""
    starts = decode_rows(cursor.execute(_STARTS, [START]).fetchall())[0].values()
    tree = stored | {root}
    return [
        start.instance
        for start in starts
        if isinstance(start, StartOrchestration)
        and start.instance not in stored
        and (start.instance == root or start.parent_instance in tree)
    ]


def _has_messages(cursor: Cursor, instance_id: str) -> bool:
    query = "SELECT 1 FROM orchestrator_queue WHERE instance_id = ? LIMIT 1"
    return cursor.execute(query, [instance_id]).fetchone() is not None


def _known_instances(cursor: Cursor) -> tuple[str, ...]:
    rows: Sequence[tuple[str]] = cursor.execute("SELECT instance_id FROM instances ORDER BY created_order").fetchall()
    return tuple(name for (name,) in rows)


_TREE = """
WITH RECURSIVE tree AS (
    SELECT instance_id, current_execution_id FROM instances WHERE instance_id = $root
    UNION
    SELECT instances.instance_id, instances.current_execution_id
    FROM instances JOIN tree ON instances.parent_instance_id = tree.instance_id
)
SELECT tree.instance_id, status
FROM tree
JOIN executions ON executions.instance_id = tree.instance_id AND execution_id = current_execution_id
ORDER BY tree.instance_id
"""

_ABOVE = """
WITH RECURSIVE above AS (
    SELECT parent_instance_id AS instance_id, 1 AS level FROM instances WHERE instance_id = ?
    UNION
    SELECT instances.parent_instance_id, level + 1 FROM instances JOIN above USING (instance_id)
)
SELECT above.instance_id FROM above JOIN instances USING (instance_id) ORDER BY level
"""

_STARTS = "SELECT id, work_item FROM orchestrator_queue WHERE kind = ? AND problem IS NULL ORDER BY id"

_DELETE_EVERYTHING = (
    "DELETE FROM history WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
    "DELETE FROM executions WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
    "DELETE FROM orchestrator_queue WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
    "DELETE FROM worker_queue WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
    "DELETE FROM instance_locks WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
    "DELETE FROM instances WHERE instance_id IN (SELECT unnest(?::TEXT[]))",
)

_DELETE_EXECUTIONS = (
    "DELETE FROM history WHERE instance_id = ? AND execution_id IN (SELECT unnest(?::BIGINT[]))",
    "DELETE FROM executions WHERE instance_id = ? AND execution_id IN (SELECT unnest(?::BIGINT[]))",
)
