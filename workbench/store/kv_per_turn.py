"""SQL of the per-turn model (spec 001): one `kv_store` that every turn writes, with the execution that wrote a key.

It is kept because it is the bug we teach: a replay is seeded with what this very execution has already written.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.kv import Entry, Tables, TurnChange
from workbench.store.database import Cursor, columns


class PerTurnTable:
    """The per-turn model, for schema version 2."""

    def write(self, cursor: Cursor, changes: Sequence[tuple[str, TurnChange]]) -> None:
        """Spec 001, "KV Materialization"."""
        cleared = [instance_id for instance_id, change in changes if change.cleared_all_at_ms is not None]
        if cleared:
            self.delete(cursor, cleared)
        rows = [(instance_id, key, row) for instance_id, change in changes for key, row in change.rows.items()]
        removed = [(instance_id, key) for instance_id, key, row in rows if row.value is None]
        if removed:
            cursor.execute(_REMOVE, columns(removed))
        written = [
            (instance_id, key, row.value, row.execution_id, row.last_updated_at_ms)
            for instance_id, key, row in rows
            if row.value is not None
        ]
        if written:
            cursor.execute(_WRITE, columns(written))

    def end_execution(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """Nothing: every turn has already written to the one table."""

    def snapshots(self, cursor: Cursor, instance_ids: Sequence[str]) -> dict[str, dict[str, Entry]]:
        """Spec 001, "KV Loading Strategy": all rows, those of the running execution too."""
        found: dict[str, dict[str, Entry]] = {instance_id: {} for instance_id in instance_ids}
        rows = cursor.execute(_SNAPSHOTS, [list(instance_ids)]).fetchall()
        for instance_id, key, value, at_ms, execution_id in rows:
            found[instance_id][key] = Entry(value, at_ms, execution_id)
        return found

    def client_value(self, cursor: Cursor, instance_id: str, key: str) -> str | None:
        """Spec 001, "Client"."""
        row = cursor.execute(_CLIENT_VALUE, [instance_id, key]).fetchone()
        return None if row is None else row[0]

    def client_values(self, cursor: Cursor, instance_id: str) -> dict[str, str]:
        """All keys of the one table."""
        return dict(cursor.execute(_CLIENT_VALUES, [instance_id]).fetchall())

    def tables(self, cursor: Cursor, instance_id: str) -> Tables:
        """The one table as it is."""
        return Tables(self.snapshots(cursor, [instance_id])[instance_id], {})

    def every_table(self, cursor: Cursor) -> dict[str, Tables]:
        """The one table of every instance that has rows."""
        found: dict[str, dict[str, Entry]] = {}
        for instance_id, key, value, at_ms, execution_id in cursor.execute(_EVERY_TABLE).fetchall():
            found.setdefault(instance_id, {})[key] = Entry(value, at_ms, execution_id)
        return {instance_id: Tables(store, {}) for instance_id, store in found.items()}

    def prune(self, cursor: Cursor, instance_id: str, execution_ids: Sequence[int]) -> None:
        """Spec 001, "Execution Pruning": the keys that a pruned execution was the last to write go with it."""
        cursor.execute(_PRUNE, [instance_id, list(execution_ids)])

    def delete(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """Spec 001, "Instance Deletion"."""
        cursor.execute("DELETE FROM kv_store WHERE instance_id IN (SELECT unnest(?::TEXT[]))", [list(instance_ids)])


_REMOVE = """
DELETE FROM kv_store
USING (SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::TEXT[]) AS key) AS removed
WHERE kv_store.instance_id = removed.instance_id AND kv_store.key = removed.key
"""

_WRITE = """
MERGE INTO kv_store USING (
    SELECT unnest(?::TEXT[]) AS instance_id, unnest(?::TEXT[]) AS key, unnest(?::TEXT[]) AS value,
           unnest(?::BIGINT[]) AS execution_id, unnest(?::BIGINT[]) AS last_updated_at_ms
) AS written USING (instance_id, key)
WHEN MATCHED THEN UPDATE SET value = written.value, execution_id = written.execution_id,
                             last_updated_at_ms = written.last_updated_at_ms
WHEN NOT MATCHED THEN INSERT BY NAME
"""

_SNAPSHOTS = """
SELECT instance_id, key, value, last_updated_at_ms, execution_id
FROM kv_store
WHERE instance_id IN (SELECT unnest(?::TEXT[]))
ORDER BY key
"""

_CLIENT_VALUE = "SELECT value FROM kv_store WHERE instance_id = ? AND key = ?"

_CLIENT_VALUES = "SELECT key, value FROM kv_store WHERE instance_id = ? ORDER BY key"

_EVERY_TABLE = """
SELECT instance_id, key, value, last_updated_at_ms, execution_id FROM kv_store ORDER BY instance_id, key
"""

_PRUNE = "DELETE FROM kv_store WHERE instance_id = ? AND execution_id IN (SELECT unnest(?::BIGINT[]))"
