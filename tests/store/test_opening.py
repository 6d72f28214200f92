"""Opening files: made, shared, refused, and gone."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import duckdb
import pytest

from tests.store.turns import claim_one, nudge, run_turn, sets, start, turn_of
from workbench.runtime.errors import (
    NoHistory,
    NotADatabase,
    NotAStore,
    StoreError,
    StoreFileGone,
    StoreModelMismatch,
    StoreOpenWithOtherSettings,
    StoreTooNew,
)
from workbench.store import DuckDBProvider, is_open_here, reading_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store file may be made."""
    return tmp_path / "flows.duckdb"


def test_what_was_committed_is_there_when_the_file_is_opened_again(path: Path) -> None:
    provider = DuckDBProvider(path)
    run_turn(provider, "a", sets("k", "1"))
    before = (provider.instances(), provider.read_history("a", 1), provider.get_kv_tables("a"))
    provider.close()
    provider = DuckDBProvider(str(path))
    assert (provider.instances(), provider.read_history("a", 1), provider.get_kv_tables("a")) == before
    provider.close()


def test_making_a_store_leaves_one_file(path: Path) -> None:
    DuckDBProvider(path).close()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_new_store_has_the_delta_model_unless_told(path: Path) -> None:
    provider = DuckDBProvider(path)
    assert provider.kv_model == "delta"
    provider.close()
    other = DuckDBProvider(path.with_name("first.duckdb"), "per-turn")
    assert other.kv_model == "per-turn"
    other.close()


def test_a_file_keeps_its_model(path: Path) -> None:
    DuckDBProvider(path, "per-turn").close()
    provider = DuckDBProvider(path)
    assert provider.kv_model == "per-turn"
    provider.close()


def test_opening_a_file_drops_all_locks_in_it(path: Path) -> None:
    provider = DuckDBProvider(path)
    run_turn(provider, "a")
    provider.enqueue([nudge("a"), start("b")], 0)
    lost = claim_one(provider, "a")
    provider.close()
    provider = DuckDBProvider(path)
    again = claim_one(provider, "a")
    assert again.attempt_count == 2
    assert provider.commit([turn_of(lost)]) == [turn_of(lost)]
    assert provider.commit([turn_of(again)]) == []
    provider.close()


def test_the_same_file_twice_in_one_process_is_one_store(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = DuckDBProvider(path)
    monkeypatch.chdir(path.parent)
    second = DuckDBProvider(path.name)
    link = path.with_name("link.duckdb")
    link.symlink_to(path)
    third = DuckDBProvider(link, "delta")
    first.enqueue([start("a")], 0)
    claim = claim_one(second, "a")
    assert third.claim(1, 0, 1_000) == []
    assert third.commit([turn_of(claim)]) == []
    assert first.instances() == second.instances() != []
    first.close()
    third.close()
    assert len(second.instances()) == 1
    assert is_open_here(path)
    second.close()
    assert not is_open_here(path)


def test_a_hard_link_leads_to_the_same_store(path: Path) -> None:
    first = DuckDBProvider(path)
    path.with_name("hard.duckdb").hardlink_to(path)
    second = DuckDBProvider(path.with_name("hard.duckdb"))
    run_turn(first, "a")
    assert len(second.instances()) == 1
    second.close()
    first.close()


def test_other_settings_on_an_open_file_are_refused(path: Path) -> None:
    provider = DuckDBProvider(path)
    with pytest.raises(StoreOpenWithOtherSettings) as caught:
        DuckDBProvider(path, "per-turn")
    assert str(caught.value) == (
        "flows.duckdb is open in this process with kv_model='delta', not 'per-turn'; "
        "use the same arguments, or close it first with wb.close()"
    )
    provider.close()


def test_stores_in_memory_are_never_shared() -> None:
    one, other = DuckDBProvider(), DuckDBProvider(":memory:")
    run_turn(one, "a")
    assert other.instances() == []
    one.close()
    assert other.instances() == []
    other.close()


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 8 + b"DUCK" + b"\0" * 100])
def test_a_file_that_is_no_database_is_refused_unchanged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(NotADatabase, match=r"^flows\.duckdb is neither a duroxide database, nor"):
        DuckDBProvider(path)
    assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_broken_database_is_refused_unchanged(path: Path) -> None:
    DuckDBProvider(path).close()
    whole = path.read_bytes()
    for broken in (whole[:5_000], whole[:100] + b"\xff" * 8_192 + whole[8_292:]):
        path.write_bytes(broken)
        with pytest.raises(NotADatabase):
            DuckDBProvider(path)
        assert path.read_bytes() == broken


def test_a_file_that_can_only_be_looked_at_is_refused_unchanged(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE history (a)")
    connection.commit()
    connection.close()
    for content, what in ((path.read_bytes(), "a SQLite database"), (b'{"format": 1}', "a JSON file")):
        path.write_bytes(content)
        with pytest.raises(NotAStore) as caught:
            DuckDBProvider(path)
        assert str(caught.value) == (
            f"flows.duckdb is {what}, not a workbench store, and nothing was written to it; "
            "look at it with open_source(path), or name another file"
        )
        assert path.read_bytes() == content


def test_a_database_without_our_tables_is_refused_unchanged(path: Path) -> None:
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE sales (a INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NoHistory) as caught:
        DuckDBProvider(path)
    assert str(caught.value) == (
        "flows.duckdb is a database without orchestration history: it has no table 'history'; its tables: 'sales'"
    )
    assert path.read_bytes() == before


def test_another_workbench_like_database_is_refused_unchanged(path: Path) -> None:
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE history (a INTEGER)")
    connection.close()
    with pytest.raises(NoHistory, match="it has no table 'workbench_meta'; its tables: 'history'"):
        DuckDBProvider(path)
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE workbench_meta (schema_version INTEGER)")
    connection.close()
    with pytest.raises(NotADatabase, match="its schema version is missing"):
        DuckDBProvider(path)


def test_a_newer_schema_version_is_refused_unchanged(path: Path) -> None:
    DuckDBProvider(path).close()
    connection = duckdb.connect(str(path))
    connection.execute("UPDATE workbench_meta SET schema_version = 4")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="schema version 4, and this workbench reads versions up to 3"):
        DuckDBProvider(path)
    assert path.read_bytes() == before


def test_a_delta_file_cannot_be_opened_as_per_turn(path: Path) -> None:
    DuckDBProvider(path).close()
    with pytest.raises(StoreModelMismatch, match="schema version 3"):
        DuckDBProvider(path, "per-turn")
    assert not is_open_here(path)
    DuckDBProvider(path).close()


def test_a_folder_or_a_path_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotADatabase):
        DuckDBProvider(tmp_path)
    with pytest.raises(StoreError, match=r"flows\.duckdb cannot be made: its folder 'nowhere' does not exist"):
        DuckDBProvider(tmp_path / "nowhere" / "flows.duckdb")


def test_a_file_that_cannot_be_made_leaves_nothing_behind(path: Path) -> None:
    in_the_way = path.with_name(f"unfinished-{os.getpid()}.duckdb")
    in_the_way.mkdir()
    with pytest.raises(StoreError, match=r"^flows\.duckdb cannot be made: .*[Dd]irectory"):
        DuckDBProvider(path)
    in_the_way.rmdir()
    assert list(path.parent.iterdir()) == []
    DuckDBProvider(path).close()


def test_a_log_without_its_store_is_told_and_left_alone(path: Path) -> None:
    """The store was deleted after a crash, its log was not; DuckDB would take the log for that of the new file."""
    log = path.with_name("flows.duckdb.wal")
    log.write_bytes(b"left over")
    with pytest.raises(StoreError) as raised:
        DuckDBProvider(path)
    assert str(raised.value) == (
        "flows.duckdb is not there, but its log flows.duckdb.wal is: the store was deleted or moved without it; "
        "put the store back beside it, or move the log away"
    )
    assert [each.name for each in path.parent.iterdir()] == ["flows.duckdb.wal"]
    log.unlink()
    DuckDBProvider(path).close()


def test_a_file_that_duckdb_itself_has_open_here_is_refused(path: Path) -> None:
    DuckDBProvider(path).close()
    connection = duckdb.connect(str(path))
    with pytest.raises(StoreError, match="open in this process through duckdb itself"):
        DuckDBProvider(path)
    connection.close()
    DuckDBProvider(path).close()


def test_a_deleted_file_is_noticed_before_anything_is_written(path: Path) -> None:
    provider = DuckDBProvider(path)
    run_turn(provider, "a")
    path.unlink()
    with pytest.raises(StoreFileGone, match="was deleted or replaced while it is open here"):
        provider.enqueue([nudge("a")], 0)
    with pytest.raises(StoreFileGone):
        DuckDBProvider(path)
    assert len(provider.instances()) == 1  # reading still works
    provider.close()
    fresh = DuckDBProvider(path)
    assert fresh.instances() == []
    fresh.close()


def test_a_replaced_file_is_noticed_and_left_alone(path: Path) -> None:
    other = path.with_name("other.duckdb")
    made = DuckDBProvider(other)
    run_turn(made, "theirs")
    made.close()
    provider = DuckDBProvider(path)
    run_turn(provider, "mine")
    other.replace(path)
    with pytest.raises(StoreFileGone):
        provider.enqueue([nudge("mine")], 0)
    provider.close()
    fresh = DuckDBProvider(path)
    assert [info.instance_id for info in fresh.instances()] == ["theirs"]
    fresh.close()


def test_a_file_can_be_read_without_opening_it_as_a_store(path: Path) -> None:
    provider = DuckDBProvider(path, "per-turn")
    run_turn(provider, "a")
    with reading_file(path) as cursor:
        assert cursor.execute("SELECT instance_id FROM instances").fetchall() == [("a",)]
    provider.close()
    before = path.read_bytes()
    with reading_file(path) as cursor:
        assert cursor.execute("SELECT instance_id FROM instances").fetchall() == [("a",)]
        with pytest.raises(duckdb.Error, match="read-only"):
            cursor.execute("DELETE FROM instances")
    assert path.read_bytes() == before
