"""duroxide's SQLite files: live ones, copies of all kinds, old ones, damaged ones and hostile ones; none is written."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.recordings.files import RECORDED, changing, copy_of, recorded, state_of
from workbench.recordings import Recording, open_source
from workbench.recordings.integrity import UNREADABLE
from workbench.runtime.errors import NoHistory, StoreError, UnknownInstance, UnreadableFile
from workbench.runtime.kv import PER_TURN, Entry, Tables


def read_everything(path: Path) -> list[Recording]:
    """Do all that a source can, and give its recordings."""
    with open_source(path) as source:
        assert len(source.instances) == len(source.instance_ids)
        source.sql("SELECT * FROM history")
        repr(source)
        return list(source.recordings())


def only(path: Path) -> Recording:
    """The one recording of a file."""
    (recording,) = read_everything(path)
    return recording


@pytest.mark.parametrize("journal", ["delete", "wal", "truncate"])
def test_nothing_is_written_to_a_file_nor_beside_it(tmp_path: Path, journal: str) -> None:
    for path in RECORDED:
        copy = Path(shutil.copyfile(path, tmp_path / path.name))
        with changing(copy) as database:
            database.execute(f"PRAGMA journal_mode = {journal}")
    before = state_of(tmp_path)
    assert len(before) == len(RECORDED)
    for path in RECORDED:
        assert read_everything(tmp_path / path.name) == read_everything(path)
    assert state_of(tmp_path) == before


def test_a_copy_without_its_write_ahead_log_says_what_may_be_missing(tmp_path: Path) -> None:
    path, writer = write_ahead(tmp_path)
    alone = Path(shutil.copyfile(path, tmp_path / "alone.db"))
    writer.close()
    with open_source(alone) as source:
        warning = "there is no alone.db-wal beside it: if this is a copy of a database in use, copy that file too"
        assert source.warnings == (warning,)
        assert warning in source.text()
        assert warning in source._repr_html_()


def write_ahead(folder: Path) -> tuple[Path, sqlite3.Connection]:
    """A live file whose last change is in the write-ahead log only."""
    path = copy_of("P-12", folder)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = wal")
    writer.execute("UPDATE executions SET output = 'from the log' WHERE instance_id = 'b'")
    return path, writer


def test_a_live_file_shows_what_is_in_its_write_ahead_log(tmp_path: Path) -> None:
    path, writer = write_ahead(tmp_path)
    # Nothing here opens one of these files: closing it would drop the writer's locks.
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert set(times) == {"copy.db", "copy.db-shm", "copy.db-wal"}
    with closing(writer), open_source(path) as source:
        assert source.recording("b").output == "from the log"
        assert source.warnings == ()
        del times["copy.db-shm"]  # readers mark there how far they have read
        assert {name: tmp_path.joinpath(name).stat().st_mtime_ns for name in times} == times
        writer.execute("UPDATE executions SET output = 'later' WHERE instance_id = 'b'")
        assert source.recording("b").output == "later"
        writer.execute("BEGIN")
        writer.execute("UPDATE executions SET output = 'not committed' WHERE instance_id = 'b'")
        assert source.recording("b").output == "later"


def test_a_copy_with_its_log_but_without_the_shared_memory_is_read_beside(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "copied").mkdir()
    path, writer = write_ahead(tmp_path / "live")
    with closing(writer):
        for name in ("copy.db", "copy.db-wal"):
            shutil.copyfile(path.with_name(name), tmp_path / "copied" / name)
    before = state_of(tmp_path / "copied")
    with open_source(tmp_path / "copied" / "copy.db") as source:
        assert source.recording("b").output == "from the log"
        assert source.recording("d").status == "Completed"
    assert state_of(tmp_path / "copied") == before


def test_a_copy_without_its_log_shows_what_was_in_the_file_itself(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    path, writer = write_ahead(tmp_path / "live")
    with closing(writer):
        shutil.copyfile(path, tmp_path / "alone.db")
    with open_source(tmp_path / "alone.db") as source, open_source(recorded("P-12")) as original:
        assert source.recording("b") == original.recording("b")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["alone.db", "live"]


def half_written(folder: Path) -> tuple[Path, sqlite3.Connection]:
    """A file with an open transaction that has already overwritten parts of it."""
    path = copy_of("P-10", folder)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA cache_size = 1")
    writer.execute("BEGIN")
    writer.execute("UPDATE history SET event_data = 'half' || event_data")
    return path, writer


def test_a_copy_that_a_crash_left_half_written_is_rolled_back_beside(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "copied").mkdir()
    path, writer = half_written(tmp_path / "live")
    with closing(writer):
        for found in path.parent.iterdir():
            shutil.copyfile(found, tmp_path / "copied" / found.name)
    before = state_of(tmp_path / "copied")
    assert set(before) == {"copy.db", "copy.db-journal"}
    assert read_everything(tmp_path / "copied" / "copy.db") == read_everything(recorded("P-10"))
    assert state_of(tmp_path / "copied") == before


WRITER = """
import sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.stdin:
    writer.execute(statement)
    print("done", flush=True)
"""


@contextmanager
def writing(path: Path) -> Iterator[Callable[[str], None]]:
    """A writer in another process; the function makes it execute a statement."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=pipe, stdout=pipe, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None

        def execute(statement: str) -> None:
            print(statement, file=writer.stdin, flush=True)
            assert writer.stdout is not None
            assert writer.stdout.readline() == "done\n"

        yield execute
        writer.stdin.close()


def test_a_file_that_is_locked_for_too_long_is_unreadable_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.recordings.sources.sqlite_connection._BUSY_SECONDS", 0.01)
    path = copy_of("P-10", tmp_path)
    with writing(path) as execute:
        execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnreadableFile) as caught:
            open_source(path)
        execute("ROLLBACK")
        source = open_source(path)
        execute("BEGIN EXCLUSIVE")
        assert repr(source) == "copy.db: duroxide SQLite, not readable now"
    assert str(caught.value) == "copy.db cannot be read: database is locked"


def test_a_file_that_disappears_is_named(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with open_source(path) as source:
        path.unlink()
        with pytest.raises(UnreadableFile) as caught:
            source.recording("a")
    assert str(caught.value) == "copy.db cannot be read: No such file or directory"


def test_a_path_with_characters_that_mean_something_in_a_uri(tmp_path: Path) -> None:
    folder = tmp_path / "50% of #1?mode=rw"
    folder.mkdir()
    assert only(copy_of("P-01", folder)) == only(recorded("P-01"))


# Older files.


def test_a_file_from_before_the_key_value_tables_has_none(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        for table in ("kv_store", "kv_delta"):
            database.execute(f"DROP TABLE {table}")
        for column in ("custom_status", "custom_status_version"):
            database.execute(f"ALTER TABLE instances DROP COLUMN {column}")
    recording = only(path)
    assert recording.kv_tables == Tables()
    assert recording.custom_status is None
    assert recording.executions == only(recorded("P-01")).executions


def test_a_file_with_one_key_value_table_has_the_per_turn_model(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("DROP TABLE kv_delta")
        database.execute("DROP TABLE kv_store")
        database.execute("CREATE TABLE kv_store (instance_id TEXT, key TEXT, value TEXT, execution_id INTEGER)")
        database.execute("INSERT INTO kv_store VALUES ('a', 'n', '3', 1)")
    recording = only(path)
    assert recording.kv_model == PER_TURN
    assert recording.kv_tables == Tables({"n": Entry("3", 0, 1)}, {})


# Damaged ones.


def test_damage_of_one_instance_leaves_the_others_alone(tmp_path: Path) -> None:
    path = copy_of("P-07", tmp_path)
    with changing(path) as database:
        database.execute(
            "UPDATE history SET event_data = substr(event_data, 1, 40) WHERE instance_id = 'a' AND event_id = 2"
        )
    with open_source(path) as source, open_source(recorded("P-07")) as original:
        assert source.instance_ids == ("a", "b")
        assert source.recording("b") == original.recording("b")
        (damage,) = source.recording("a").damage
    assert (damage.row, damage.reason) == ("event 2", "no JSON (Input data was truncated)")


BREAKING = {
    "two rows swapped": (
        "UPDATE history SET event_id = CASE event_id WHEN 2 THEN 300 ELSE 200 END WHERE event_id IN (2, 3)",
        "UPDATE history SET event_id = event_id / 100 WHERE event_id >= 200",
        ["event 2: its JSON says event_id 3, the row 2", "event 3: its JSON says event_id 2, the row 3"],
    ),
    "the start is missing": (
        "DELETE FROM history WHERE event_id = 1",
        "",
        ["event 1: missing: a history begins with OrchestrationStarted"],
    ),
    "a middle row is missing": ("DELETE FROM history WHERE event_id = 5", "", ["event 5: missing"]),
    "all rows are missing": (
        "DELETE FROM history",
        "",
        [
            "event 1: missing: the history is empty",
            "ending: missing: the execution is Completed, its history has no ending",
        ],
    ),
    "the ending is missing": (
        "DELETE FROM history WHERE event_id = 11",
        "",
        ["ending: missing: the execution is Completed, its history has no ending"],
    ),
    "an outcome of nothing": (
        "UPDATE history SET event_data = replace(event_data, '\"source_event_id\":6', '\"source_event_id\":66')",
        "",
        ["event 7: ActivityCompleted answers event 66, which is not there before it"],
    ),
    "no text at all": (
        "UPDATE history SET event_data = x'ff00' WHERE event_id = 2",
        "",
        ["event 2: no UTF-8"],
    ),
    "a text that is no UTF-8": (
        "UPDATE history SET event_data = CAST(x'7bff7d' AS TEXT) WHERE event_id = 2",
        "",
        ["event 2: no UTF-8"],
    ),
    "an id that is no number": (
        "UPDATE history SET event_id = 'two' WHERE event_id = 2",
        "",
        [
            "event 0: its JSON says event_id 2, the row 0",
            "event 0: event ids count from 1",
            "event 2: missing",
        ],
    ),
    "another type column": (
        "UPDATE history SET event_type = 'TimerCreated' WHERE event_id = 2",
        "",
        ["event 2: its JSON says type 'KeyValueSet', the row 'TimerCreated'"],
    ),
    "a row of another execution": (
        "DELETE FROM executions",
        "",
        ["status: 'Unknown' is none of Running, Completed, Failed, ContinuedAsNew"],
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_a_broken_copy_opens_and_says_row_and_reason(tmp_path: Path, name: str) -> None:
    first, second, expected = BREAKING[name]
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute(first)
        database.execute(second)
    recording = only(path)
    assert [f"{damage.row}: {damage.reason}" for damage in recording.damage] == expected
    assert Recording.from_json(recording.to_json()) == recording


def test_the_same_completion_twice_is_no_damage(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        (text,) = database.execute("SELECT event_data FROM history WHERE event_id = 10").fetchone()
        assert '"type":"ActivityCompleted"' in text
        again = text.replace('"event_id":10', '"event_id":11')
        database.execute(
            "UPDATE history SET event_type = 'ActivityCompleted', event_data = ? WHERE event_id = 11", (again,)
        )
        database.execute("UPDATE executions SET status = 'Running'")
    assert only(path).damage == ()


# Hostile ones.


HOSTILE_IDS = ["", "a'; DROP TABLE history; --", "<script>", "\x00nul\x00", "𝓾nicode/../é", " ", "%", '"', "a" * 5000]


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_hostile_ids_and_keys_are_just_texts(tmp_path: Path, hostile: str) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        for table in ("instances", "executions", "history", "kv_store"):
            database.execute(f"UPDATE {table} SET instance_id = ?", (hostile,))
        database.execute("UPDATE kv_store SET key = ?", (hostile,))
    recording = only(path)
    assert recording.instance_id == hostile
    assert list(recording.kv_tables.store) == [hostile]
    assert len(recording.damage) == 11
    assert Recording.from_json(recording.to_json()) == recording


def test_an_id_that_is_no_utf8_is_listed_and_loaded_under_the_text_that_is_shown(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        for table in ("instances", "executions", "history", "kv_store"):
            database.execute(f"UPDATE {table} SET instance_id = CAST(x'61ff' AS TEXT)")
    recording = only(path)
    assert recording.instance_id == "not UTF-8: a\\xff"
    assert {event.type for event in recording.last.history.events} == {UNREADABLE}


def test_half_a_character_is_an_unknown_instance() -> None:
    with open_source(recorded("P-01")) as source, pytest.raises(UnknownInstance):
        source.recording("\ud800")


@pytest.mark.parametrize("table", ["history", "executions", "instances"])
def test_a_view_or_virtual_table_does_not_count_as_a_table(tmp_path: Path, table: str) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("DROP INDEX IF EXISTS idx_instances_parent")
        database.execute(f"ALTER TABLE {table} RENAME TO hidden")
        database.execute(f"CREATE VIEW {table} AS SELECT * FROM hidden")
    with pytest.raises(NoHistory) as caught:
        open_source(path)
    assert str(caught.value).startswith(
        f"copy.db is a database without orchestration history: it has no table '{table}'; its tables: "
    )
    with changing(path) as database:
        database.execute(f"DROP VIEW {table}")
        database.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(instance_id)")
    with pytest.raises(NoHistory):
        open_source(path)


def test_a_database_without_history_is_named_with_the_tables_it_has(tmp_path: Path) -> None:
    with changing(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER)")
    with pytest.raises(NoHistory) as caught:
        open_source(tmp_path / "shop.db")
    assert str(caught.value) == (
        "shop.db is a database without orchestration history: it has no table 'history'; its tables: 'orders'"
    )


def test_tables_that_lack_what_is_needed_are_unreadable(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("ALTER TABLE history RENAME COLUMN event_data TO data")
    with open_source(path) as source, pytest.raises(UnreadableFile) as caught:
        source.recording("a")
    assert str(caught.value) == "copy.db cannot be read: no such column: event_data"


def test_a_schema_that_is_no_utf8_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    path.write_bytes(recorded("P-01").read_bytes().replace(b"CREATE TABLE history", b"CREATE \xff\xfeBLE history"))
    with pytest.raises(UnreadableFile) as caught:
        open_source(path)
    assert str(caught.value) == "odd.db cannot be read: malformed database schema"


def test_a_file_with_a_page_overwritten_fails_in_our_words_or_is_read(tmp_path: Path) -> None:
    content = recorded("P-11").read_bytes()
    path = tmp_path / "torn.db"
    refused = 0
    for offset in range(0, len(content), 3000):
        path.write_bytes(content[:offset] + b"\xa5" * 64 + content[offset + 64 :])
        try:
            read_everything(path)
        except StoreError:
            refused += 1
    assert refused > 0
    assert [found.name for found in tmp_path.iterdir()] == ["torn.db"]
