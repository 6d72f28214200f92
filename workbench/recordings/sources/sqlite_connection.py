"""Reading somebody's SQLite file without ever writing to it or beside it.

A file in write-ahead mode needs care: opened the usual read-only way it gets a `-wal` and a `-shm` beside it, and
those stay. So the sidecars that are there decide how it is opened, at every single reading.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from workbench.recordings.integrity import NOT_UTF8
from workbench.recordings.sources.query_views import text_with_nul
from workbench.runtime.errors import NotADatabase, StoreError, UnreadableFile

HEADER: Final = b"SQLite format 3\x00"

_BUSY_SECONDS: Final = 5.0
_WRITE_AHEAD: Final = 2
_ALLOWED: Final = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)


class SQLiteReader:
    """Opens one SQLite file for one reading at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._copied: tuple[tuple[int, int], ...] = ()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction, so that all its queries see the same state.

        Raises `NotADatabase` for a file that SQLite refuses and `UnreadableFile` for any other failure.
        """
        try:
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                connection.set_authorizer(_only_reading)
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            reason = str(error)
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
                raise NotADatabase(self._path, reason) from error
            raise UnreadableFile(self._path, reason) from error
        except UnicodeDecodeError as error:  # the sqlite3 module stumbles over a message that quotes the file
            raise UnreadableFile(self._path, "malformed database schema") from error
        except OSError as error:
            if isinstance(error, StoreError):
                raise
            raise UnreadableFile(self._path, error.strerror or str(error)) from error

    def close(self) -> None:
        """Remove the private copy, if one was needed."""
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def is_without_its_log(self) -> bool:
        """Whether the file is in write-ahead mode and no log lies beside it, as after a copy of the one file."""
        return self._writes_ahead() and not self._path.with_name(f"{self._path.name}-wal").exists()

    def _connect(self) -> sqlite3.Connection:
        log, index, journal = (self._path.with_name(self._path.name + end) for end in ("-wal", "-shm", "-journal"))
        if self._writes_ahead():
            if index.exists() and log.exists():
                return _open(self._path, "mode=ro")
            if log.exists() and log.stat().st_size > 0:
                return _open(self._copied_with(log), "mode=rw")
            return _open(self._path, "mode=ro&immutable=1")
        if journal.exists():
            return self._connect_beside(journal)
        return _open(self._path, "mode=ro")

    def _connect_beside(self, journal: Path) -> sqlite3.Connection:
        """A rollback journal is either in use, or left by a crash and to be rolled back, which is writing."""
        connection = _open(self._path, "mode=ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
            return _open(self._copied_with(journal), "mode=rw")
        return connection

    def _writes_ahead(self) -> bool:
        with self._path.open("rb") as file:
            header = file.read(20)
        return len(header) == 20 and _WRITE_AHEAD in header[18:20]

    def _copied_with(self, sidecar: Path) -> Path:
        """A private copy of the file and a sidecar that SQLite has to work on, renewed when they change."""
        now = tuple((found.stat().st_mtime_ns, found.stat().st_size) for found in (self._path, sidecar))
        if self._copy is None or now != self._copied:
            self.close()
            self._copy = tempfile.TemporaryDirectory(prefix="workbench-")
            for found in (self._path, sidecar):
                shutil.copyfile(found, Path(self._copy.name, found.name))
            self._copied = now
        return Path(self._copy.name, self._path.name)


def _open(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    connection.text_factory = _text
    for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {setting}")  # identifiers only
    return connection


def _text(stored: bytes) -> str:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return NOT_UTF8 + stored.decode(errors="backslashreplace")


def _only_reading(action: int, *_: object) -> int:
    """No ATTACH, which opens and creates other files, no PRAGMA, nothing that writes."""
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def run_query(
    connection: sqlite3.Connection, sql: str, name: str, views: Iterable[str]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The column names and rows of a query that may only read; `name` is what errors call its source.

    `views` are statements that make temporary views for it. Raises `StoreError` for a query that is wrong or would
    write.
    """
    connection.set_authorizer(None)
    connection.create_function("text_with_nul", 2, text_with_nul, deterministic=True)
    connection.execute("PRAGMA query_only = OFF")  # a temporary view counts as writing
    for statement in views:
        connection.execute(statement)
    connection.execute("PRAGMA query_only = ON")
    connection.set_authorizer(_only_reading)
    try:
        cursor = connection.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as error:
        raise StoreError(f"{name}: the query failed: {error}") from error
