"""Recordings in a DuckDB file that workbench wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

import duckdb

from workbench.recordings.integrity import Row
from workbench.recordings.recording import Recording
from workbench.recordings.sources.query_views import duckdb_views
from workbench.recordings.sources.source import InstanceRow, Source
from workbench.recordings.stored import UNKNOWN_STATUS, StoredExecution, StoredInstance, recording_of
from workbench.runtime.errors import NoHistory, StoreError, StoreTooNew, UnknownInstance, UnreadableFile
from workbench.runtime.kv import Entry, KVModel, Tables
from workbench.runtime.limits import Limits
from workbench.store.database import Cursor
from workbench.store.opening import is_open_here, reading_file, schema_version
from workbench.store.versions import NEWEST, model_of

_REQUIRED: Final = ("history", "executions", "instances", "kv_store")
_AT_ONCE: Final = 100
"""Instances that are loaded while the file is open once; opening it is slower than reading them."""


class WorkbenchSource(Source):
    """A workbench store, of any schema version, also one that this process has open; nothing in it is changed.

    The file is open only while something is read, so that it is free for others in between.
    """

    kind: ClassVar[str] = "workbench DuckDB"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._reading():
            pass

    def listing(self) -> list[InstanceRow]:
        """One row an instance, oldest first, by one grouped query; no history is read."""
        with self._reading() as (cursor, _):
            return [InstanceRow(*row) for row in cursor.execute(_LISTING).fetchall()]

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The ids of all instances, in listing order."""
        with self._reading() as (cursor, _):
            return _ids(cursor)

    def recording(self, instance_id: str) -> Recording:
        """The recording of one instance; raises `UnknownInstance`."""
        with self._reading() as (cursor, kv_model):
            stored = _instance(cursor, kv_model, instance_id)
        return recording_of(stored, elsewhere=self.recording)

    def recordings(self, instance_ids: Iterable[str] | None = None) -> Iterator[Recording]:
        """All recordings, or those of the ids given, one at a time and in listing order or the order given."""
        wanted = list(self.instance_ids if instance_ids is None else instance_ids)
        for start in range(0, len(wanted), _AT_ONCE):
            with self._reading() as (cursor, kv_model):
                batch = [_instance(cursor, kv_model, instance_id) for instance_id in wanted[start : start + _AT_ONCE]]
            yield from (recording_of(stored, elsewhere=self.recording) for stored in batch)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of one SELECT over the views, and workbench's own tables."""
        with self._reading() as (cursor, _):
            try:
                catalog = str(cursor.execute("SELECT current_database()").fetchall()[0][0])
                for statement in duckdb_views(catalog):
                    cursor.execute(statement)
                kinds = [statement.type for statement in cursor.extract_statements(sql)]
                if kinds != [duckdb.StatementType.SELECT]:
                    raise StoreError(f"{self.name}: the query failed: it must be one SELECT, as a source is only read")
                cursor.execute(sql)
                return [column[0] for column in cursor.description or ()], cursor.fetchall()
            except duckdb.Error as error:
                raise StoreError(f"{self.name}: the query failed: {error}") from error

    @contextmanager
    def _reading(self) -> Iterator[tuple[Cursor, KVModel]]:
        """A read-only cursor and the file's KV model."""
        shared = is_open_here(self.path)
        try:
            with reading_file(self.path) as cursor:
                if not shared:
                    # A file from somebody else may hold views and macros that read other files.
                    cursor.execute("SET enable_external_access = false")
                    cursor.execute("SET lock_configuration = true")
                version = schema_version(cursor, self.path)
                if version > NEWEST:
                    raise StoreTooNew(self.path, version, NEWEST)
                self._require_tables(cursor)
                yield cursor, model_of(version)
        except duckdb.Error as error:
            raise UnreadableFile(self.path, str(error).splitlines()[0]) from error

    def _require_tables(self, cursor: Cursor) -> None:
        """Refuse a file in which a view stands where a table should."""
        found = cursor.execute(_BASE_TABLES).fetchall()
        names = tuple(str(name) for (name,) in found)
        for required in _REQUIRED:
            if required not in names:
                raise NoHistory(self.path, names, required)


def _ids(cursor: Cursor) -> tuple[str, ...]:
    found = cursor.execute("SELECT instance_id FROM instances ORDER BY created_order").fetchall()
    return tuple(str(name) for (name,) in found)


def _instance(cursor: Cursor, kv_model: KVModel, instance_id: str) -> StoredInstance:
    found = cursor.execute(_INSTANCE, [instance_id]).fetchone()
    if found is None:
        raise UnknownInstance(instance_id, _ids(cursor))
    orchestration, version, custom_status, custom_status_version, parent = found
    return StoredInstance(
        instance_id=instance_id,
        orchestration=orchestration,
        version=version,
        executions=_executions(cursor, instance_id),
        kv_model=kv_model,
        kv_tables=Tables(
            _entries(cursor.execute("SELECT * FROM kv_store WHERE instance_id = ? ORDER BY key", [instance_id])),
            _entries(cursor.execute("SELECT * FROM kv_delta WHERE instance_id = ? ORDER BY key", [instance_id]))
            if kv_model == "delta"
            else {},
        ),
        limits=Limits(),
        custom_status=custom_status,
        custom_status_version=custom_status_version,
        parent_instance=parent,
    )


def _executions(cursor: Cursor, instance_id: str) -> list[StoredExecution]:
    """All executions that have a row in `executions` or in `history`, in order."""
    rows: defaultdict[int, list[Row]] = defaultdict(list)
    turns: defaultdict[int, list[int]] = defaultdict(list)
    refused: defaultdict[int, set[int]] = defaultdict(set)
    for execution_id, event_id, event_type, text, turn, was_refused in cursor.execute(
        _HISTORY, [instance_id]
    ).fetchall():
        rows[execution_id].append(Row(event_id, event_type, text))
        turns[execution_id].append(turn)
        if was_refused:
            refused[execution_id].add(turn)
    outcomes = {
        execution_id: (status, output)
        for execution_id, status, output in cursor.execute(_EXECUTIONS, [instance_id]).fetchall()
    }
    return [
        StoredExecution(
            execution_id,
            *outcomes.get(execution_id, (UNKNOWN_STATUS, None)),
            tuple(rows[execution_id]),
            tuple(turns[execution_id]),
            frozenset(refused[execution_id]),
        )
        for execution_id in sorted({*outcomes, *rows})
    ]


def _entries(found: Cursor) -> Mapping[str, Entry]:
    """A KV table in key order; schema version 1 has no write times, version 3 not who wrote."""
    columns = [column[0] for column in found.description or ()]
    rows = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    return {
        row["key"]: Entry(row["value"], row.get("last_updated_at_ms", 0), row.get("execution_id", 0)) for row in rows
    }


_BASE_TABLES: Final = """
SELECT table_name FROM duckdb_tables()
WHERE database_name = current_database() AND schema_name = 'main'
ORDER BY table_name
"""

_LISTING: Final = """
SELECT i.instance_id, i.orchestration_name, i.orchestration_version, e.status,
       coalesce(x.number, 0), coalesce(h.number, 0), e.output, i.custom_status, i.parent_instance_id
FROM instances i
LEFT JOIN executions e ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
LEFT JOIN (SELECT instance_id, count(*) AS number FROM executions GROUP BY instance_id) x
  ON x.instance_id = i.instance_id
LEFT JOIN (SELECT instance_id, count(*) AS number FROM history GROUP BY instance_id) h
  ON h.instance_id = i.instance_id
ORDER BY i.created_order
"""

_INSTANCE: Final = """
SELECT orchestration_name, orchestration_version, custom_status, custom_status_version, parent_instance_id
FROM instances WHERE instance_id = ?
"""

_EXECUTIONS: Final = "SELECT execution_id, status, output FROM executions WHERE instance_id = ?"

_HISTORY: Final = """
SELECT execution_id::BIGINT, event_id::BIGINT, coalesce(event_type::VARCHAR, ''), coalesce(event_data::VARCHAR, ''),
       coalesce(turn::BIGINT, 0), coalesce(refused::BOOLEAN, FALSE)
FROM history WHERE instance_id = ?
ORDER BY execution_id, event_id
"""
