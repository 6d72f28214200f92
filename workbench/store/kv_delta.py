"""SQL of the delta model (spec 000): `kv_store` at the last execution boundary, `kv_delta` written since.

A replay is seeded from `kv_store` alone, so what this execution wrote never comes back to its own first turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.kv import Entry, Tables, TurnChange
from workbench.store.database import Cursor, columns


class DeltaTables:
    """The delta model, for schema version 3."""

    def write(self, cursor: Cursor, changes: Sequence[tuple[str, TurnChange]]) -> None:
        """Spec 000, "Write path (every turn)"."""
        cleared = [
            (instance_id, change.cleared_all_at_ms)
            for instance_id, change in changes
            if change.cleared_all_at_ms is not None
        ]
        if cleared:
            cursor.execute(_CLEAR_ALL, columns(cleared))
        rows = [
            (instance_id, key, row.value, row.last_updated_at_ms)
            for instance_id, change in changes
            for key, row in change.rows.items()
        ]
        if rows:
            cursor.execute(_WRITE, columns(rows))

    def end_execution(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """Spec 000, "Write path: execution completion"."""
        ended = [list(instance_ids)]
        cursor.execute(_MERGE_VALUES, ended)
        cursor.execute(_MERGE_TOMBSTONES, ended)
        cursor.execute("DELETE FROM kv_delta WHERE instance_id IN (SELECT unnest(?::TEXT[]))", ended)

    def snapshots(self, cursor: Cursor, instance_ids: Sequence[str]) -> dict[str, dict[str, Entry]]:
        """Spec 000, "Read path: replay engine"."""
        found: dict[str, dict[str, Entry]] = {instance_id: {} for instance_id in instance_ids}
        rows = cursor.execute(_SNAPSHOTS, [list(instance_ids)]).fetchall()
        for instance_id, key, value, at_ms in rows:
            found[instance_id][key] = Entry(value, at_ms)
        return found

    def client_value(self, cursor: Cursor, instance_id: str, key: str) -> str | None:
        """Spec 000, "Read path: client / cross-instance reads"."""
        row = cursor.execute(_CLIENT_VALUE, {"instance_id": instance_id, "key": key}).fetchone()
        return None if row is None else row[0]

    def client_values(self, cursor: Cursor, instance_id: str) -> dict[str, str]:
        """Spec 000, "Read path: client / cross-instance reads"."""
        return dict(cursor.execute(_CLIENT_VALUES, {"instance_id": instance_id}).fetchall())

    def tables(self, cursor: Cursor, instance_id: str) -> Tables:
        """Both tables as they are."""
        rows = cursor.execute(_BOTH_TABLES, {"instance_id": instance_id}).fetchall()
        store = {key: Entry(value, at_ms) for in_delta, key, value, at_ms in rows if not in_delta}
        delta = {key: Entry(value, at_ms) for in_delta, key, value, at_ms in rows if in_delta}
        return Tables(store, delta)

    def every_table(self, cursor: Cursor) -> dict[str, Tables]:
        """Both tables of every instance that has rows."""
        found: dict[str, tuple[dict[str, Entry], dict[str, Entry]]] = {}
        for instance_id, in_delta, key, value, at_ms in cursor.execute(_EVERY_TABLE).fetchall():
            found.setdefault(instance_id, ({}, {}))[in_delta][key] = Entry(value, at_ms)
        return {instance_id: Tables(*both) for instance_id, both in found.items()}

    def prune(self, cursor: Cursor, instance_id: str, execution_ids: Sequence[int]) -> None:
        """Nothing: `kv_store` does not depend on the histories that led to it (spec 000, "Execution pruning")."""

    def delete(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """Spec 000, "Instance deletion"."""
        deleted = [list(instance_ids)]
        cursor.execute("DELETE FROM kv_store WHERE instance_id IN (SELECT unnest(?::TEXT[]))", deleted)
        cursor.execute("DELETE FROM kv_delta WHERE instance_id IN (SELECT unnest(?::TEXT[]))", deleted)


_CLEAR_ALL = """
MERGE INTO kv_delta USING (
    SELECT cleared.instance_id, known.key, cleared.at_ms
    FROM (SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::BIGINT[]) AS at_ms) AS cleared
    JOIN (SELECT instance_id, key FROM kv_delta UNION SELECT instance_id, key FROM kv_store) AS known
        USING (instance_id)
) AS tombstones USING (instance_id, key)
WHEN MATCHED THEN UPDATE SET value = NULL, last_updated_at_ms = at_ms
WHEN NOT MATCHED THEN INSERT VALUES (instance_id, key, NULL, at_ms)
"""

_WRITE = """
MERGE INTO kv_delta USING (
    SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::TEXT[]) AS key, unnest(?::TEXT[]) AS value,
           unnest(?::BIGINT[]) AS last_updated_at_ms
) AS written USING (instance_id, key)
WHEN MATCHED THEN UPDATE SET value = written.value, last_updated_at_ms = written.last_updated_at_ms
WHEN NOT MATCHED THEN INSERT BY NAME
"""

_MERGE_VALUES = """
MERGE INTO kv_store USING (
    SELECT * FROM kv_delta WHERE instance_id IN (SELECT unnest(?::TEXT[])) AND value IS NOT NULL
) AS written USING (instance_id, key)
WHEN MATCHED THEN UPDATE SET value = written.value, last_updated_at_ms = written.last_updated_at_ms
WHEN NOT MATCHED THEN INSERT BY NAME
"""

_MERGE_TOMBSTONES = """
DELETE FROM kv_store USING kv_delta
WHERE kv_store.instance_id = kv_delta.instance_id AND kv_store.key = kv_delta.key
  AND kv_delta.instance_id IN (SELECT unnest(?::TEXT[])) AND kv_delta.value IS NULL
"""

_SNAPSHOTS = """
SELECT instance_id, key, value, last_updated_at_ms
FROM kv_store
WHERE instance_id IN (SELECT unnest(?::TEXT[]))
ORDER BY key
"""

_CLIENT_VALUE = """
SELECT value
FROM (
    SELECT 1 AS layer, value FROM kv_delta WHERE instance_id = $instance_id AND key = $key
    UNION ALL
    SELECT 0 AS layer, value FROM kv_store WHERE instance_id = $instance_id AND key = $key
)
ORDER BY layer DESC
LIMIT 1
"""

_CLIENT_VALUES = """
SELECT key, value
FROM (
    SELECT key, value FROM kv_delta WHERE instance_id = $instance_id
    UNION ALL
    SELECT key, value FROM kv_store
    WHERE instance_id = $instance_id
      AND key NOT IN (SELECT key FROM kv_delta WHERE instance_id = $instance_id)
)
WHERE value IS NOT NULL
ORDER BY key
"""

_EVERY_TABLE = """
SELECT instance_id, FALSE AS in_delta, key, value, last_updated_at_ms FROM kv_store
UNION ALL
SELECT instance_id, TRUE AS in_delta, key, value, last_updated_at_ms FROM kv_delta
ORDER BY instance_id, in_delta, key
"""

_BOTH_TABLES = """
SELECT FALSE AS in_delta, key, value, last_updated_at_ms FROM kv_store WHERE instance_id = $instance_id
UNION ALL
SELECT TRUE AS in_delta, key, value, last_updated_at_ms FROM kv_delta WHERE instance_id = $instance_id
ORDER BY in_delta, key
"""
