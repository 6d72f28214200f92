"""Opening a file for what it is, never for what it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from workbench.recordings.sources import in_child, sqlite_connection
from workbench.recordings.sources.duroxide_sqlite import DuroxideSource
from workbench.recordings.sources.json_file import JSONSource
from workbench.recordings.sources.source import Source
from workbench.runtime.errors import NoSuchFile, NotADatabase, UnreadableFile

_DUCKDB_MAGIC: Final = b"DUCK"
_DUCKDB_MAGIC_AT: Final = 8
_BLANKS: Final = b" \t\r\n"


def open_source(path: str | Path) -> Source:
    """Open a file with recorded instances, read-only.

    Knows duroxide's SQLite files, workbench's DuckDB stores and JSON recordings by their content. A file that
    something else in this process has open, such as a duroxide runtime, is read in a child process. Raises
    `NoSuchFile`, `UnreadableFile`, `NotADatabase`, `NoHistory`, `BadRecording` or `StoreLocked`.
    """
    path = Path(path)
    if not _is_store_here(path) and in_child.has_open(path):
        return in_child.ChildSource(path)
    head = _read_head(path)
    if head[_DUCKDB_MAGIC_AT:].startswith(_DUCKDB_MAGIC):
        from workbench.recordings.sources.workbench_duckdb import WorkbenchSource

        return WorkbenchSource(path)
    if head.startswith(sqlite_connection.HEADER):
        return DuroxideSource(path)
    if head.lstrip(_BLANKS).startswith(b"{"):
        return JSONSource(path)
    if not head:
        raise NotADatabase(path, "it is empty")
    raise NotADatabase(path, "unknown content")


def _is_store_here(path: Path) -> bool:
    from workbench.store.opening import is_open_here  # and with it duckdb, which only sources need

    try:
        return is_open_here(path)
    except (OSError, ValueError):  # no such file, or no path at all: said below
        return False


def _read_head(path: Path) -> bytes:
    try:
        # Closing a second descriptor of a store that is open here would drop DuckDB's lock on it: do not look into it.
        if _is_store_here(path):
            return bytes(_DUCKDB_MAGIC_AT) + _DUCKDB_MAGIC
        with path.open("rb") as file:
            return file.read(4096)
    except FileNotFoundError:
        raise NoSuchFile(path) from None
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except ValueError as error:  # no path at all
        raise UnreadableFile(path, str(error)) from error
