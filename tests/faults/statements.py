"""Something happens before a chosen statement of a commit: every statement passes by here, BEGIN and COMMIT too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from workbench.runtime.provider import TurnCommit
from workbench.store import DuckDBProvider, committing
from workbench.store.database import Cursor, Database

AFTER_COMMIT = "after COMMIT"
Happens = Callable[[int, str, Sequence[TurnCommit]], None]
"""Called with the statement's number in its transaction, its text, and the turns that are written in it."""


class Passed:
    """A cursor that tells of each statement before it is run, and of a COMMIT also after it."""

    def __init__(self, cursor: Cursor, tell: Callable[[str], None]) -> None:
        self._cursor = cursor
        self._tell = tell

    def execute(self, statement: str, *parameters: Any) -> Any:
        """Tell, then run it."""
        self._tell(statement)
        result = self._cursor.execute(statement, *parameters)
        if statement == "COMMIT":
            self._tell(AFTER_COMMIT)
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@contextmanager
def before_statements_of_commits(happens: Happens) -> Iterator[None]:
    """While this holds, `happens` is called before every statement of every transaction that writes turns."""
    writing: list[Sequence[TurnCommit]] = []
    number = 0
    real_cursor, real_commit = Database._cursor, committing._commit_together

    def tell(statement: str) -> None:
        nonlocal number
        if writing:
            number += 1
            happens(number, statement, writing[-1])

    @contextmanager
    def cursor(self: Database, reused: bool = True) -> Iterator[Any]:
        with real_cursor(self, reused) as real:
            yield Passed(real, tell)

    def commit(database: Database, kv: Any, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
        nonlocal number
        number = 0
        writing.append(turns)
        try:
            return real_commit(database, kv, turns)
        finally:
            writing.pop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "_cursor", cursor)
        patch.setattr(committing, "_commit_together", commit)
        yield


def rows(provider: DuckDBProvider) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that is stored, but for locks, which opening a file drops, and what a queue counts and numbers."""
    _, tables = provider.query("SELECT table_name FROM duckdb_tables() ORDER BY ALL")
    left_out = {
        "orchestrator_queue": "EXCLUDE (lock_token, attempt_count)",
        "worker_queue": "EXCLUDE (lock_token, locked_until_ms, attempt_count)",
    }
    names = [name for (name,) in tables if name != "instance_locks"]
    return {name: provider.query(f"SELECT * {left_out.get(name, '')} FROM {name} ORDER BY ALL")[1] for name in names}
