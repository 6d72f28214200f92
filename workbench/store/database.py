"""One open DuckDB database: transactions from any thread, news of changes, and a clean end.

DuckDB refuses a connection that is busy in another thread, and execute and fetch are two calls, so every
transaction gets a cursor that nobody else has at that moment. Writers follow one another under one lock; readers
never wait for them and see committed rows only.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from workbench.runtime.errors import (
    ChangedInsideTurn,
    StatementRefused,
    StoreClosed,
    StoreError,
    StoreFileGone,
    StoreLocked,
)
from workbench.runtime.interrupts import Section, held_back, is_inside_a_turn
from workbench.runtime.kv import KVModel

log = logging.getLogger("workbench.store")

Cursor = duckdb.DuckDBPyConnection

CLOSE_ATTEMPTS = 200
"""How often `close` interrupts readers before it gives up."""
CLOSE_PAUSE_S = 0.05
"""How long (seconds) it gives them each time."""
LOG_BYTES = 16 * 2**20
"""How long a write-ahead log becomes before it is folded into its file."""


def columns(rows: Iterable[Sequence[object]]) -> list[list[object]]:
    """Rows as one list per column, which `unnest(?)` turns back to rows; there must be at least one row.

    One statement for any number of rows: `executemany` costs a statement per row, and fails on none.
    """
    return [list(column) for column in zip(*rows, strict=True)]


class Changes:
    """Tells waiting threads that something was enqueued or committed, without losing what came before the wait.

    No condition variable: an interrupt could leave its lock taken, and then everybody waits for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[threading.Lock] = []
        self._count = 0
        self._seen = threading.local()

    def announce(self) -> None:
        """Wake everybody who waits."""
        with self._lock:
            self._count += 1
            waiting, self._waiting = self._waiting, []
        for bell in waiting:
            bell.release()

    def look(self) -> None:
        """Remember that this thread is about to look at the queues; only later changes end its next wait."""
        self._seen.count = self._count

    def wait(self, seconds: float) -> bool:
        """Block until there is a change after this thread's last look or wait; whether there was one."""
        bell = threading.Lock()
        bell.acquire()
        with self._lock:
            seen = getattr(self._seen, "count", self._count)
            if self._count == seen:
                self._waiting.append(bell)
        if self._count == seen:
            bell.acquire(timeout=max(0.0, seconds))
        with self._lock:
            if bell in self._waiting:
                self._waiting.remove(bell)
            changed = bool(self._count != seen)
            self._seen.count = self._count
        return changed


class Database:
    """A DuckDB database that every provider on the same file in this process shares.

    `path` is None in memory; `users` counts those who have not closed it yet. Errors of DuckDB leave a transaction as
    `StatementRefused`. After an error that DuckDB does not go on from (a disk that is full while the log is folded in)
    `reconnect` opens the file again for the next transaction; what was committed is there, locks included.
    """

    def __init__(
        self,
        root: Cursor,
        kv_model: KVModel,
        path: Path | None = None,
        healing: object = None,
        reconnect: Callable[[], Cursor] | None = None,
    ) -> None:
        self.path = path
        self.name = ":memory:" if path is None else path.name
        self.kv_model = kv_model
        self.healing = healing
        self.identity = None if path is None else file_identity(path)
        self.changes = Changes()
        self.users = 0
        self._root = root
        self._reconnect = reconnect
        self._is_broken = False
        self._fold_at_bytes = LOG_BYTES
        self._owner = os.getpid()
        self._write_lock = threading.RLock()
        self._free = threading.local()
        self._idle = threading.Condition()
        self._busy: dict[Cursor, int] = {}
        """Cursors in use, each with the thread that took it."""
        self._closed = False

    @contextmanager
    def reading(self, *, reused: bool = True) -> Iterator[Cursor]:
        """A read-only transaction: all its statements see the same committed state. An interrupt ends it.

        Not `reused`: the cursor is closed afterwards, and with it go the temporary views that were made on it.
        """
        with held_back() as section, self._transaction("BEGIN TRANSACTION READ ONLY", section, reused) as cursor:
            section.open()
            yield cursor
            section.shut()

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """A transaction that is kept whole, or not at all when anything is raised in it; interrupts wait for it.

        Raises `ChangedInsideTurn` when an orchestration's code is what calls.
        """
        self.check_process()
        if is_inside_a_turn():
            raise ChangedInsideTurn(self.name)
        with held_back() as section, self._write_lock:
            self.check_file()
            with self._transaction("BEGIN TRANSACTION", section) as cursor:
                yield cursor
            self._fold_log()

    def _fold_log(self) -> None:
        """Fold a long write-ahead log into the file.

        DuckDB would do it within a commit, and where that fails call what is written already a failure.
        """
        size = 0 if self.path is None else _size_of(self.path.with_name(f"{self.path.name}.wal"))
        if size < self._fold_at_bytes:
            return
        try:
            with self._cursor() as cursor:
                cursor.execute("CHECKPOINT")
            self._fold_at_bytes = LOG_BYTES
        except (duckdb.Error, StoreError) as error:  # what was committed stays so
            self._is_broken |= isinstance(error, duckdb.FatalException)
            self._fold_at_bytes = size + LOG_BYTES
            log.warning("the log of %s could not be folded in and stays beside it: %s", self.name, self._reason(error))

    def check_process(self) -> None:
        """Raise `StoreLocked` in a process that was forked while the store was open: it has no share in it."""
        if os.getpid() != self._owner:
            raise StoreLocked(self.path or self.name, f"process {self._owner}, from which this one was forked")

    def check_file(self) -> None:
        """Raise `StoreFileGone` when the path no longer leads to the file that is open."""
        if self.path is not None and file_identity(self.path) != self.identity:
            raise StoreFileGone(self.path)

    def close(self) -> None:
        """Wait for the writer, interrupt readers, close every cursor and release the file.

        Raises `StoreError`, and the store stays open, when a reader cannot be interrupted.
        """
        with held_back(), self._write_lock, self._idle:
            if self._closed:
                return
            if threading.get_ident() in self._busy.values():
                raise StoreError(
                    f"the store {self.name} is being used further up on this very thread, so it stays open; "
                    "close it where that is over, not in a signal handler or a callback"
                )
            self._closed = True  # from here on nobody begins to read
            try:
                self._interrupt_readers()
            except StoreError:
                self._closed = False
                raise
            self._root.close()
        self.changes.announce()

    def _interrupt_readers(self) -> None:
        """Interrupt until nobody reads; an interrupt between two statements of a reader has no effect."""
        for _ in range(CLOSE_ATTEMPTS):
            for cursor in self._busy:
                with suppress(duckdb.Error):  # its thread may have closed it just now
                    cursor.interrupt()
            if self._idle.wait_for(lambda: not self._busy, CLOSE_PAUSE_S):
                return
        raise StoreError(f"the store {self.name} is still being read by another thread, so its file is not released")

    @contextmanager
    def _transaction(self, begin: str, section: Section, reused: bool = True) -> Iterator[Cursor]:
        with self._cursor(reused) as cursor:
            try:
                cursor.execute(begin)
                yield cursor
                cursor.execute("COMMIT")
            except BaseException as error:
                section.shut()
                with suppress(duckdb.Error):  # the error may have ended the transaction already
                    cursor.execute("ROLLBACK")
                self._is_broken |= isinstance(error, duckdb.FatalException)
                if self._closed and isinstance(error, duckdb.InterruptException):
                    raise StoreClosed(self.name) from None
                if isinstance(error, duckdb.Error | UnicodeEncodeError):
                    raise StatementRefused(self.name, self._reason(error)) from error
                if type(error) is RuntimeError and str(error) == "Query interrupted":
                    raise KeyboardInterrupt from None  # DuckDB's word for it
                raise

    def _reason(self, error: Exception) -> str:
        """DuckDB's text, with the file's name for its path, and what to do when the disk is full."""
        text = str(error) if self.path is None else str(error).replace(str(self.path), self.name)
        if "No space left on device" not in text:
            return text
        return f"the disk is full; free some space, and the work goes on with nothing lost ({text})"

    @contextmanager
    def _cursor(self, reused: bool = True) -> Iterator[Cursor]:
        """A cursor of this thread that is not in use; a call within a call gets another one."""
        self.check_process()
        with self._idle:
            if self._closed:
                raise StoreClosed(self.name)
            if self._is_broken and not self._busy:
                self._open_again()
            root = self._root
            free = self._free_cursors(root)
            cursor = free.pop() if free and reused else root.cursor()
            self._busy[cursor] = threading.get_ident()
        try:
            yield cursor
            if reused:
                free.append(cursor)
            else:
                cursor.close()
        except BaseException:
            cursor.close()  # whatever state it is in, nobody gets it again
            raise
        finally:
            with self._idle:
                self._busy.pop(cursor, None)
                self._idle.notify_all()

    def _free_cursors(self, root: Cursor) -> list[Cursor]:
        """This thread's idle cursors; those of a connection that is no longer used are forgotten."""
        kept: tuple[Cursor, list[Cursor]] | None = getattr(self._free, "cursors", None)
        if kept is None or kept[0] is not root:
            kept = self._free.cursors = (root, [])
        return kept[1]

    def _open_again(self) -> None:
        """Open the file anew, once nobody uses the connection that DuckDB has given up."""
        if self._reconnect is None:
            return
        self.check_file()
        self._root.close()
        self._root = self._reconnect()
        self._is_broken = False


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, or None if there is none.

    Never by opening it: closing any descriptor of a file drops all locks that this process has on it.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
