"""A JSON recording as a source of one instance."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Final

from workbench.recordings import envelope
from workbench.recordings.recording import Recording
from workbench.recordings.sources.query_views import sqlite_views
from workbench.recordings.sources.source import InstanceRow, Source
from workbench.recordings.sources.sqlite_connection import run_query
from workbench.recordings.stored import stored_rows
from workbench.runtime.errors import UnknownInstance

_TABLES: Final = """
    CREATE TABLE instances (instance_id, orchestration_name, orchestration_version, current_execution_id,
                            custom_status, custom_status_version, parent_instance_id);
    CREATE TABLE executions (instance_id, execution_id, status, output);
    CREATE TABLE history (instance_id, execution_id, event_id, event_type, event_data, turn);
    CREATE TABLE kv_store (instance_id, key, value, last_updated_at_ms);
    CREATE TABLE kv_delta (instance_id, key, value, last_updated_at_ms);
"""


class JSONSource(Source):
    """A file that `Recording.to_json` wrote."""

    kind: ClassVar[str] = "JSON recording"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._recording = envelope.read(path)

    def listing(self) -> list[InstanceRow]:
        """The one instance of the file."""
        recording = self._recording
        return [
            InstanceRow(
                recording.instance_id,
                recording.orchestration,
                recording.version,
                recording.status,
                len(recording.executions),
                recording.event_count,
                recording.last.output,
                recording.custom_status,
                recording.parent_instance,
            )
        ]

    def recording(self, instance_id: str) -> Recording:
        """The recording, if it is of this instance; raises `UnknownInstance`."""
        if instance_id != self._recording.instance_id:
            raise UnknownInstance(instance_id, (self._recording.instance_id,))
        return self._recording

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of a query over the views, and over the same tables that duroxide's files have."""
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(_TABLES)
            _fill(connection, self._recording)
            columns = ("custom_status", "parent_instance_id")
            return run_query(connection, sql, self.name, sqlite_views(columns, turns_are_stored=True))


def _fill(connection: sqlite3.Connection, recording: Recording) -> None:
    of = recording.instance_id
    instance = (of, recording.orchestration, recording.version, recording.last.execution_id, recording.custom_status)
    connection.execute(
        "INSERT INTO instances VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*instance, recording.custom_status_version, recording.parent_instance),
    )
    for execution in recording.executions:
        number = execution.execution_id
        connection.execute(
            "INSERT INTO executions VALUES (?, ?, ?, ?)", (of, number, execution.status, execution.output)
        )
        rows = zip(stored_rows(execution), execution.history.turns, strict=True)
        connection.executemany(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)",
            [(of, number, row.event_id, row.event_type, row.text, turn) for row, turn in rows],
        )
    for statement, table in (
        ("INSERT INTO kv_store VALUES (?, ?, ?, ?)", recording.kv_tables.store),
        ("INSERT INTO kv_delta VALUES (?, ?, ?, ?)", recording.kv_tables.delta),
    ):
        connection.executemany(statement, [(of, key, e.value, e.last_updated_at_ms) for key, e in table.items()])
