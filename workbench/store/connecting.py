"""Connections to database files, and what to say of a file that there can be none to."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from workbench.runtime.errors import NotADatabase, NotAStore, StoreError, StoreLocked
from workbench.store.database import Cursor

# DuckDB would fetch an extension from the net for a file that looks like another database, and fold a log into its file
# in the middle of a commit.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "checkpoint_threshold": "1TB",
}


def connect(path: Path, *, read_only: bool = False) -> Cursor:
    """A connection to a file; raises `StoreLocked`, `NotAStore`, `NotADatabase` or `StoreError`."""
    try:
        return duckdb.connect(str(path), read_only=read_only, config=CONFIG)
    except duckdb.Error as error:
        raise _opening_error(path, error) from error


@contextmanager
def connected_read_only(path: Path) -> Iterator[Cursor]:
    """A connection that changes neither the file nor its log; raises what `connect` does."""
    with ExitStack() as stack:
        try:
            connection = connect(path, read_only=True)
        except NotADatabase as error:
            if "replaying WAL" not in str(error):
                raise
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            connection = connect(_copied(path, Path(folder)))  # DuckDB 1 reads no log of a migration without writing
        stack.callback(connection.close)
        yield connection


def _copied(path: Path, folder: Path) -> Path:
    for each in (path, path.with_name(f"{path.name}.wal")):
        shutil.copy(each, folder)
    return folder / path.name


_HELD_BY = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")


def _opening_error(path: Path, error: duckdb.Error) -> StoreError:
    text = str(error)
    held = _HELD_BY.search(text)
    if held is not None:
        return StoreLocked(path, f"{Path(held['program']).name} (process {held['pid']})")
    if "Could not set lock" in text:
        return StoreLocked(path, "another process")
    if isinstance(error, duckdb.ConnectionException):
        return StoreError(f"{path.name} is open in this process through duckdb itself; close that connection first")
    if isinstance(error, duckdb.PermissionException) or "Permission denied" in text:
        return StoreError(f"{path.name} cannot be opened: permission denied; open a copy of the file")
    other = _other_format(path)
    if other is not None:
        return NotAStore(path, other)
    return NotADatabase(path, text.splitlines()[0].replace(str(path), path.name))


def _other_format(path: Path) -> str | None:
    """What else a file is that can be looked at, by how it begins."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError:
        return None
    if head.startswith(b"SQLite format 3\x00"):
        return "a SQLite database"
    return "a JSON file" if head.lstrip().startswith(b"{") else None
