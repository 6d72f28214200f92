"""Recordings in a SQLite file that duroxide wrote."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from workbench.recordings.integrity import Row
from workbench.recordings.recording import Recording
from workbench.recordings.sources.query_views import sqlite_views
from workbench.recordings.sources.source import InstanceRow, Source
from workbench.recordings.sources.sqlite_connection import SQLiteReader, run_query
from workbench.recordings.stored import UNKNOWN_STATUS, StoredExecution, StoredInstance, recording_of
from workbench.runtime.errors import NoHistory, UnknownInstance, UnreadableFile
from workbench.runtime.kv import DELTA, PER_TURN, Entry, Tables
from workbench.runtime.limits import Limits

_REQUIRED: Final = ("history", "executions", "instances")

# Columns that only newer files have are read by way of `*` and looked up by name.
_LISTING: Final = """
    SELECT i.instance_id, i.orchestration_name, i.orchestration_version, e.status, e.output,
           coalesce(x.number, 0) AS executions, coalesce(h.number, 0) AS events, i.*
    FROM instances i
    LEFT JOIN executions e ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
    LEFT JOIN (SELECT instance_id, count(*) AS number FROM executions GROUP BY instance_id) x
      ON x.instance_id = i.instance_id
    LEFT JOIN (SELECT instance_id, count(*) AS number FROM history GROUP BY instance_id) h
      ON h.instance_id = i.instance_id
    ORDER BY i.rowid
"""
_INSTANCE: Final = "SELECT orchestration_name, orchestration_version, * FROM instances WHERE rowid = ?"
_EXECUTIONS: Final = """
    SELECT CAST(execution_id AS INTEGER) AS execution_id, status, output FROM executions
    WHERE instance_id = (SELECT instance_id FROM instances WHERE rowid = ?)
"""
_HISTORY: Final = """
    SELECT coalesce(CAST(execution_id AS INTEGER), 0), coalesce(CAST(event_id AS INTEGER), 0),
           coalesce(CAST(event_type AS TEXT), ''), coalesce(CAST(event_data AS TEXT), '')
    FROM history
    WHERE instance_id = (SELECT instance_id FROM instances WHERE rowid = ?)
    ORDER BY execution_id, event_id
"""
_KV: Final = {
    "kv_store": """
        SELECT key, value, * FROM kv_store
        WHERE instance_id = (SELECT instance_id FROM instances WHERE rowid = ?)
    """,
    "kv_delta": """
        SELECT key, value, * FROM kv_delta
        WHERE instance_id = (SELECT instance_id FROM instances WHERE rowid = ?)
    """,
}


class DuroxideSource(Source):
    """A duroxide SQLite file, live or not; older ones have no KV tables and fewer columns."""

    kind: ClassVar[str] = "duroxide SQLite"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._reader = SQLiteReader(path)
        with self._reader.reading() as connection:
            self._base_tables(connection)

    def close(self) -> None:
        """Release what is held; harmless a second time."""
        self._reader.close()

    def listing(self) -> list[InstanceRow]:
        """One row an instance, oldest first, by one grouped query; no history is read."""
        with self._reader.reading() as connection:
            self._base_tables(connection)
            return [
                InstanceRow(
                    instance_id=str(row["instance_id"]),
                    orchestration=str(row["orchestration_name"]),
                    version=str(row["orchestration_version"]),
                    status=_text(row["status"]),
                    executions=row["executions"],
                    events=row["events"],
                    output=_text(row["output"]),
                    custom_status=_text(row.get("custom_status")),
                    parent_instance=_text(row.get("parent_instance_id")),
                )
                for row in _named(connection.execute(_LISTING))
            ]

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The ids of all instances, in listing order."""
        with self._reader.reading() as connection:
            self._base_tables(connection)
            return tuple(
                str(name) for (name,) in connection.execute("SELECT instance_id FROM instances ORDER BY rowid")
            )

    def recording(self, instance_id: str) -> Recording:
        """The recording of one instance; raises `UnknownInstance`."""
        with self._reader.reading() as connection:
            tables = self._base_tables(connection)
            row_id = _row_id(connection, instance_id)
            instance = next(_named(connection.execute(_INSTANCE, (row_id,))), None)
            if instance is None:
                raise UnreadableFile(self.path, "table and index of 'instances' contradict each other")
            kv = {table: list(_named(connection.execute(_KV[table], (row_id,)))) for table in _KV if table in tables}
            stored = StoredInstance(
                instance_id=instance_id,
                orchestration=str(instance["orchestration_name"]),
                version=str(instance["orchestration_version"]),
                executions=_executions(connection, row_id),
                # Before duroxide 0.1.25 one table was written every turn, with the execution that did.
                kv_model=PER_TURN if "kv_store" in tables and "kv_delta" not in tables else DELTA,
                kv_tables=Tables(*(_entries(kv.get(table, [])) for table in _KV)),
                limits=Limits.duroxide(),
                custom_status=_text(instance.get("custom_status")),
                custom_status_version=_integer(instance.get("custom_status_version")),
                parent_instance=_text(instance.get("parent_instance_id")),
            )
        return recording_of(stored, elsewhere=self.recording)

    @property
    def warnings(self) -> tuple[str, ...]:
        """That the newest turns may be missing, when a file in write-ahead mode stands alone."""
        log = f"{self.name}-wal"
        if not self._reader.is_without_its_log():
            return ()
        return (f"there is no {log} beside it: if this is a copy of a database in use, copy that file too",)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of a read-only query over the views, and duroxide's own tables."""
        with self._reader.reading() as connection:
            self._base_tables(connection)
            columns = [column[0] for column in connection.execute("SELECT * FROM instances LIMIT 0").description]
            return run_query(connection, sql, self.name, sqlite_views(columns))

    def _base_tables(self, connection: sqlite3.Connection) -> frozenset[str]:
        """The names of the real tables: a view or a virtual table runs code of the file and does not count."""
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
        names = frozenset(str(name) for (name,) in found)
        for required in _REQUIRED:
            if required not in names:
                raise NoHistory(self.path, tuple(sorted(names)), required)
        return names


def _named(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    columns = [column[0] for column in cursor.description]
    return (dict(zip(columns, row, strict=True)) for row in cursor)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def _row_id(connection: sqlite3.Connection, instance_id: str) -> int:
    try:
        found = connection.execute("SELECT rowid FROM instances WHERE instance_id = ?", (instance_id,)).fetchone()
    except UnicodeEncodeError:
        found = None
    if found is not None:
        return int(found[0])
    # An id that is no UTF-8 text is listed, and asked for, in another form than it is stored.
    known = {str(stored): row_id for row_id, stored in connection.execute("SELECT rowid, instance_id FROM instances")}
    if instance_id not in known:
        raise UnknownInstance(instance_id, tuple(known))
    return int(known[instance_id])


def _executions(connection: sqlite3.Connection, row_id: int) -> list[StoredExecution]:
    """All executions that have a row in `executions` or in `history`, in order."""
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    for execution_id, *row in connection.execute(_HISTORY, (row_id,)):
        rows[execution_id].append(Row(*row))
    outcomes = {
        _integer(row["execution_id"]): (str(row["status"]), _text(row["output"]))
        for row in _named(connection.execute(_EXECUTIONS, (row_id,)))
    }
    return [
        StoredExecution(execution_id, *outcomes.get(execution_id, (UNKNOWN_STATUS, None)), tuple(rows[execution_id]))
        for execution_id in sorted({*outcomes, *rows})
    ]


def _entries(rows: list[dict[str, Any]]) -> Mapping[str, Entry]:
    """A KV table in key order; a file from before write times has 0 for them."""
    entries = {
        str(row["key"]): Entry(
            _text(row["value"]), _integer(row.get("last_updated_at_ms")), _integer(row.get("execution_id"))
        )
        for row in rows
    }
    return {key: entries[key] for key in sorted(entries)}
