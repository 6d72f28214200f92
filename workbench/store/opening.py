"""Opening and sharing: one `Database` per file in this process, made, checked or migrated on the way.

DuckDB lets one process have a file. Within the process every opener of a path gets the same `Database`; the last one
to close it releases the file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from workbench.runtime.errors import (
    NoHistory,
    NotADatabase,
    StatementRefused,
    StoreError,
    StoreOpenWithOtherSettings,
)
from workbench.runtime.interrupts import held_back
from workbench.runtime.kv import DELTA, KVModel
from workbench.store.connecting import CONFIG, connect, connected_read_only
from workbench.store.database import Cursor, Database, file_identity
from workbench.store.healing import Healing, heal
from workbench.store.versions import NEWEST_OF, migrate, model_of, version_to_open

_open: dict[Path, Database] = {}
_registry_lock = threading.RLock()


def open_memory(kv_model: KVModel | None) -> Database:
    """A database in memory that nobody else can open."""
    model = kv_model or DELTA
    root = duckdb.connect(":memory:", config=CONFIG)
    migrate(root, 0, NEWEST_OF[model])
    database = Database(root, model)
    database.users = 1
    return database


def open_file(path: str | Path, kv_model: KVModel | None, heals: bool = True) -> Database:
    """The database of a file, shared within this process; give it back with `release`.

    A file that does not exist is made, as `"delta"` unless `kv_model` says otherwise; an older one is migrated, and
    what the migration finds half-way is healed unless `heals` is False. All locks in the file are dropped, as nobody
    can hold one any more. Raises `NotADatabase`, `NotAStore`, `NoHistory`, `StoreTooNew`, `StoreModelMismatch`,
    `StoreLocked`, `StoreOpenWithOtherSettings` or `StoreFileGone`, each before anything in the file is changed.
    """
    resolved = Path(path).resolve()
    with held_back(), _registry_lock:
        database = _database_here(resolved)
        if database is None:
            database = _open_first(resolved, kv_model, heals)
            _open[resolved] = database
        elif kv_model is not None and kv_model != database.kv_model:
            raise StoreOpenWithOtherSettings(resolved, "kv_model", database.kv_model, kv_model)
        database.users += 1
    return database


def release(database: Database) -> None:
    """Give a database back; the last user closes it."""
    database.check_process()
    with held_back(), _registry_lock:
        if database.users == 1:
            database.close()  # when it cannot be, it stays open and keeps its user
            if database.path is not None:
                del _open[database.path]
        database.users -= 1


@contextmanager
def reading_file(path: str | Path) -> Iterator[Cursor]:
    """A read-only transaction on a store file, without changing it: no migration, no lock is dropped.

    Works on a file that this process has open, too. Raises `NotADatabase`, `NotAStore`, `NoHistory` or
    `StoreLocked`.
    """
    resolved = Path(path).resolve()
    with _registry_lock:
        database = _database_here(resolved)
    if database is not None:
        with database.reading(reused=False) as cursor:  # a source makes views on it, with names of the store's tables
            yield cursor
        return
    with connected_read_only(resolved) as connection:
        schema_version(connection, resolved)
        yield connection


def is_open_here(path: str | Path) -> bool:
    """Whether this process has the file open as a store.

    Ask before reading such a file in any other way: closing a second descriptor of it drops DuckDB's lock on it.
    """
    with _registry_lock:
        return _find(Path(path).resolve()) is not None


def schema_version(cursor: Cursor, path: Path) -> int:
    """The schema version of a database file; raises `NoHistory` if it is none of ours."""
    tables = tuple(str(name) for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall())
    for needed in ("history", "workbench_meta"):
        if needed not in tables:
            raise NoHistory(path, tables, needed)
    row = cursor.execute("SELECT max(schema_version) FROM workbench_meta").fetchone()
    if row is None or row[0] is None:
        raise NotADatabase(path, "its schema version is missing")
    return int(row[0])


def _find(resolved: Path) -> Database | None:
    by_path = _open.get(resolved)
    if by_path is not None:
        return by_path
    identity = file_identity(resolved)
    if identity is None:
        return None
    return next((database for database in _open.values() if database.identity == identity), None)  # a hard link


def _database_here(resolved: Path) -> Database | None:
    database = _find(resolved)
    if database is not None:
        database.check_process()
        database.check_file()
    return database


def _open_first(path: Path, kv_model: KVModel | None, heals: bool) -> Database:
    if not path.exists():
        log = path.with_name(f"{path.name}.wal")
        if log.exists():
            raise StoreError(
                f"{path.name} is not there, but its log {log.name} is: the store was deleted or moved without it; "
                "put the store back beside it, or move the log away"
            )
        _create(path, kv_model or DELTA)
    # Looked at read-only first: a file that is refused must not even have its write-ahead log folded in.
    with connected_read_only(path) as connection:
        version = schema_version(connection, path)
        target = version_to_open(path, version, kv_model)
    root = connect(path)
    try:
        healing = _prepare(root, version, target, heals)
    except duckdb.Error as error:
        root.close()
        raise StatementRefused(path.name, str(error)) from error
    except BaseException:
        root.close()
        raise
    return Database(root, model_of(target), path, healing, lambda: connect(path))


def _prepare(root: Cursor, version: int, target: int, heals: bool) -> Healing:
    """Migrate, heal, and drop all locks, in one transaction."""
    root.execute("BEGIN TRANSACTION")
    migrate(root, version, target)
    crosses = model_of(version) != model_of(target)
    healing = heal(root) if heals and crosses else Healing()
    root.execute("DELETE FROM instance_locks")
    root.execute("UPDATE orchestrator_queue SET lock_token = NULL WHERE lock_token IS NOT NULL")
    root.execute("UPDATE worker_queue SET lock_token = NULL, locked_until_ms = NULL WHERE lock_token IS NOT NULL")
    root.execute("COMMIT")
    return healing


def _create(path: Path, kv_model: KVModel) -> None:
    """Make a store file; it appears under its name only when it is whole."""
    if not path.parent.is_dir():
        raise StoreError(f"{path.name} cannot be made: its folder {path.parent.name!r} does not exist")
    unfinished = path.with_name(f"unfinished-{os.getpid()}.duckdb")
    try:
        unfinished.unlink(missing_ok=True)
        with duckdb.connect(str(unfinished), config=CONFIG) as root:
            migrate(root, 0, NEWEST_OF[kv_model])
        _give_name(unfinished, path)
    except (duckdb.Error, OSError) as error:
        reason = str(error).splitlines()[0].replace(str(unfinished), path.name)
        raise StoreError(f"{path.name} cannot be made: {reason}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _give_name(unfinished: Path, path: Path) -> None:
    try:
        path.hardlink_to(unfinished)  # unlike a rename it never replaces a file that another process just made
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        unfinished.rename(path)
