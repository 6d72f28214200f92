"""A file that something in this process has open is read in a child process, so that no lock is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from tests.recordings.files import copy_of
from workbench.recordings import open_source
from workbench.runtime.errors import NoHistory, StoreError, UnknownInstance

LOCKED = """
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
else:
    print("not locked")
"""


def seen_by_another_process(path: Path) -> str:
    """Whether another process finds the file locked."""
    done = subprocess.run([sys.executable, "-c", LOCKED, str(path)], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_lock_of_this_process_outlives_a_reading(tmp_path: Path) -> None:
    path = copy_of("P-12", tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN IMMEDIATE")
        assert seen_by_another_process(path) == "database is locked"
        with open_source(path) as source:
            assert len(source.instances) == 3
            assert [recording.instance_id for recording in source.recordings()] == list(source.instance_ids)
            assert source.query("SELECT count(*) FROM instances")[1] == [(3,)]
        assert seen_by_another_process(path) == "database is locked"


def test_what_is_read_is_the_same_as_read_in_this_process(tmp_path: Path) -> None:
    path = copy_of("P-09", tmp_path)
    with open_source(path) as source:
        expected = (source.kind, source.listing(), list(source.recordings()), source.query("SELECT * FROM events"))
    with path.open("rb"), open_source(path) as source:
        assert type(source).__name__ == "ChildSource"
        found = (source.kind, source.listing(), list(source.recordings()), source.query("SELECT * FROM events"))
    assert found[:2] == expected[:2]
    assert found[2] == expected[2]
    assert [list(row) for row in found[3][1]] == [list(row) for row in expected[3][1]]


def test_errors_of_the_child_are_told_here(tmp_path: Path) -> None:
    path = copy_of("P-12", tmp_path)
    with path.open("rb"), open_source(path) as source:
        with pytest.raises(StoreError, match=r"^copy\.db: the query failed: "):
            source.sql("DELETE FROM history")
        with pytest.raises(UnknownInstance, match="there is no instance 'c'; instances here: 'a', "):
            source.recording("c")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE x (y)")
        with pytest.raises(StoreError, match=r"other\.db"):
            open_source(other)
    with pytest.raises(NoHistory):
        open_source(other)


@pytest.mark.oracle
def test_a_database_that_duroxide_runs_on_here_is_read_beside_it(tmp_path: Path) -> None:
    program = """
        import sys
        from duroxide import Client, PyRuntimeOptions, Runtime, SqliteProvider
        from workbench import open_source

        path = sys.argv[1]
        provider = SqliteProvider.open("sqlite:" + path + "?mode=rwc")
        runtime = Runtime(provider, PyRuntimeOptions(dispatcher_poll_interval_ms=20))

        def waits(ctx, order):
            ctx.set_kv_value("n", "1")
            answer = yield ctx.wait_for_event("go")
            return answer

        runtime.register_orchestration("Waits", waits)
        runtime.start()
        client = Client(provider)
        client.start_orchestration("w", "Waits", None)
        client.wait_for_kv_value("w", "n", 40_000)
        with open_source(path) as source:
            print("found:", type(source).__name__, source.kind, [str(i) for i in source.instance_ids])
            print("found:", source.recording("w").replay(waits).verdict)
        client.raise_event("w", "go", "now")
        print("found:", client.wait_for_orchestration("w", 40_000).status)
        runtime.shutdown(100)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "live.db")],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # duroxide writes its log to stdout, too.
    assert [each for each in done.stdout.splitlines() if each.startswith("found: ")] == [
        "found: ChildSource duroxide SQLite ['w']",
        "found: same, still running",
        "found: Completed",
    ], done.stdout + done.stderr
