"""workbench's own stores as sources: of every schema version, open here or not, never changed and never trusted."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from tests.recordings.files import state_of
from workbench.recordings import Recording, open_source, recording_from_provider
from workbench.runtime import events as ev
from workbench.runtime.errors import NoHistory, StoreError, StoreLocked, StoreTooNew, UnreadableFile
from workbench.runtime.kv import DELTA, PER_TURN, Entry, KVModel, Tables
from workbench.runtime.limits import Limits
from workbench.runtime.messages import ExternalRaised, StartOrchestration
from workbench.runtime.provider import TurnCommit
from workbench.store.provider import DuckDBProvider
from workbench.store.versions import migrate


def begin(provider: DuckDBProvider, *instance_ids: str) -> None:
    """Commit the first turn of these instances: it sets a key and waits for an event."""
    provider.enqueue([StartOrchestration(instance_id, "O", "null") for instance_id in instance_ids], 1000)
    turns = []
    for claim in provider.claim(len(instance_ids), 1000, 5000):
        of = claim.instance_id
        events = (
            ev.new_event(of, 1, 1, 1000, ev.STARTED, name="O", version="1.0.0", input="null"),
            ev.new_event(of, 1, 2, 1000, ev.KV_SET, key="n", value="1", last_updated_at_ms=1000),
            ev.new_event(of, 1, 3, 1000, ev.EVENT_SUBSCRIBED, name="go"),
        )
        turns.append(
            TurnCommit(
                claim=claim,
                execution_id=1,
                turn=1,
                now_ms=1000,
                events=events,
                status="Running",
                orchestration="O",
                version="1.0.0",
            )
        )
    assert provider.commit(turns) == []


def refuse(provider: DuckDBProvider, instance_id: str) -> None:
    """Commit a second turn that a limit refused."""
    provider.enqueue([ExternalRaised(instance_id, "go", "1")], 1000)
    (claim,) = provider.claim(1, 1000, 5000, instance_id)
    error = "KV key count (11) exceeds limit (10)"
    events = (
        ev.new_event(instance_id, 1, 4, 1000, ev.EVENT_RECEIVED, name="go", data="1"),
        ev.new_event(instance_id, 1, 5, 1000, ev.FAILED, details=ev.application_error(error)),
    )
    turn = TurnCommit(
        claim=claim,
        execution_id=1,
        turn=2,
        now_ms=1000,
        events=events,
        status="Failed",
        output=error,
        orchestration="O",
        version="1.0.0",
        refused=True,
    )
    assert provider.commit([turn]) == []


def store(folder: Path, kv_model: KVModel = DELTA) -> Path:
    """A closed store with instance `a`, running, and instance `b`, refused in its second turn."""
    path = folder / "store.duckdb"
    provider = DuckDBProvider(path, kv_model)
    begin(provider, "a", "b")
    refuse(provider, "b")
    provider.close()
    return path


@contextmanager
def changing(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection whose changes are in the file afterwards."""
    with duckdb.connect(str(path)) as connection:
        yield connection


@pytest.mark.parametrize("kv_model", [DELTA, PER_TURN])
def test_a_store_is_recorded_with_its_own_turns_and_model(tmp_path: Path, kv_model: KVModel) -> None:
    with open_source(store(tmp_path, kv_model)) as source:
        assert source.instance_ids == ("a", "b")
        assert list(source.instances["events"]) == [3, 5]
        first, second = source.recordings()
    assert [recording.writer for recording in (first, second)] == [ev.WRITER, ev.WRITER]
    assert first.limits == Limits()
    assert first.kv_model == kv_model
    assert first.kv_tables == (
        Tables({}, {"n": Entry("1", 1000)}) if kv_model == DELTA else Tables({"n": Entry("1", 1000, 1)}, {})
    )
    (execution,) = second.executions
    assert execution.history.turns == (1, 1, 1, 2, 2)
    assert execution.history.refused == {2}
    assert not execution.turns_inferred
    assert execution.damage == ()
    assert (second.status, second.error) == ("Failed", "KV key count (11) exceeds limit (10)")
    assert [Recording.from_json(recording.to_json()) for recording in (first, second)] == [first, second]


def test_a_store_that_this_process_has_open_is_read_as_it_is_now(tmp_path: Path) -> None:
    provider = DuckDBProvider(tmp_path / "store.duckdb")
    with open_source(tmp_path / "store.duckdb") as source:
        assert list(source.instance_ids) == []
        begin(provider, "a")
        assert source.recording("a") == recording_from_provider(provider, "a", Limits())
        with pytest.raises(StoreError, match="must be one SELECT"):
            source.sql("SELECT 1; COMMIT; DELETE FROM history")
        begin(provider, "b")
        assert source.instance_ids == ("a", "b")
    provider.close()


@pytest.mark.damages("an execution is marked as failed, by hand")
def test_a_source_does_not_keep_others_from_the_file(tmp_path: Path) -> None:
    path = store(tmp_path)
    with open_source(path) as source:
        assert source.recording("a").status == "Running"
        with changing(path) as connection:
            connection.execute("UPDATE executions SET status = 'Failed' WHERE instance_id = 'a'")
        provider = DuckDBProvider(path)
        assert source.recording("a").status == "Failed"
        provider.close()


def test_a_store_held_by_another_process_says_by_which(tmp_path: Path) -> None:
    path = store(tmp_path)
    program = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked) as caught:
            open_source(path)
        holder.communicate("")
    assert str(caught.value) == (
        f"store.duckdb is open in {caught.value.holder}; a DuckDB file has one process at a time. "
        "Close it there (wb.close(), or stop that kernel), or open a copy of the file"
    )
    assert str(holder.pid) in caught.value.holder


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_schema_version_is_read_without_migrating_it(tmp_path: Path, version: int) -> None:
    real = store(tmp_path, PER_TURN)
    path = tmp_path / "old.duckdb"
    with changing(path) as connection:
        migrate(connection, 0, version)
        connection.execute(f"ATTACH '{real}' AS real")
        for table in ("instances", "executions", "history"):
            connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM real.{table}")
        columns = {1: "execution_id", 2: "execution_id, last_updated_at_ms", 3: "last_updated_at_ms"}[version]
        connection.execute(f"INSERT INTO kv_store BY NAME SELECT instance_id, key, value, {columns} FROM real.kv_store")
    before = state_of(tmp_path)
    with open_source(path) as source:
        recording = source.recording("a")
    assert recording.damage == ()
    assert recording.kv_model == (DELTA if version == 3 else PER_TURN)
    assert recording.kv_tables == Tables(
        {"n": {1: Entry("1", 0, 1), 2: Entry("1", 1000, 1), 3: Entry("1", 1000)}[version]}
    )
    assert state_of(tmp_path) == before


def test_nothing_is_written_to_a_store_nor_beside_it_also_with_a_log(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "copied").mkdir()
    path = store(tmp_path / "live")
    connection = duckdb.connect(str(path))
    connection.execute("UPDATE executions SET output = 'from the log' WHERE instance_id = 'b'")
    for found in path.parent.iterdir():
        shutil.copyfile(found, tmp_path / "copied" / found.name)
    connection.close()
    before = state_of(tmp_path / "copied")
    assert set(before) == {"store.duckdb", "store.duckdb.wal"}
    with open_source(tmp_path / "copied" / "store.duckdb") as source:
        assert len(source.instances) == 2
        assert source.recording("b").error == "from the log"
    assert state_of(tmp_path / "copied") == before


def test_damage_of_one_instance_leaves_the_others_alone(tmp_path: Path) -> None:
    path = store(tmp_path)
    with changing(path) as connection:
        connection.execute("UPDATE history SET event_data = '{' WHERE instance_id = 'a' AND event_id = 2")
        connection.execute("DELETE FROM executions WHERE instance_id = 'b'")
    with open_source(path) as source:
        first, second = source.recordings()
        assert source.listing()[1].status is None
    assert [str(damage) for damage in (*first.damage, *second.damage)] == [
        "'a', execution 1, event 2: no JSON (Input data was truncated)",
        "'b', execution 1, status: 'Unknown' is none of Running, Completed, Failed, ContinuedAsNew",
    ]


def test_many_instances_come_one_by_one_and_in_order(tmp_path: Path) -> None:
    ids = [f"i{number}" for number in range(110)]
    provider = DuckDBProvider(tmp_path / "store.duckdb")
    begin(provider, *ids)
    provider.close()
    with open_source(tmp_path / "store.duckdb") as source:
        found = [recording.instance_id for recording in source.recordings()]
        assert [recording.instance_id for recording in source.recordings(["i7", "i3"])] == ["i7", "i3"]
    assert sorted(found) == sorted(ids)
    assert tuple(found) == source.instance_ids


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = store(tmp_path)
    with changing(path) as connection:
        connection.execute("UPDATE workbench_meta SET schema_version = 99")
    with pytest.raises(StoreTooNew, match=r"^store\.duckdb "):
        open_source(path)


def test_another_duckdb_file_is_named_with_the_tables_it_has(tmp_path: Path) -> None:
    with changing(tmp_path / "shop.duckdb") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
    with pytest.raises(NoHistory) as caught:
        open_source(tmp_path / "shop.duckdb")
    assert str(caught.value) == (
        "shop.duckdb is a database without orchestration history: it has no table 'history'; its tables: 'orders'"
    )


@pytest.mark.parametrize("table", ["instances", "executions", "kv_store"])
def test_a_view_does_not_count_as_a_table(tmp_path: Path, table: str) -> None:
    path = store(tmp_path, PER_TURN)
    with changing(path) as connection:
        connection.execute("DROP INDEX idx_kv_store_execution")
        connection.execute(f"ALTER TABLE {table} RENAME TO hidden")
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM hidden")
    with pytest.raises(NoHistory, match=f"it has no table '{table}'"):
        open_source(path)


def test_a_view_of_a_foreign_file_reads_no_other_file(tmp_path: Path) -> None:
    path = store(tmp_path)
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    with changing(path) as connection:
        connection.execute(f"CREATE VIEW harmless AS SELECT * FROM read_text('{tmp_path / 'secret'}')")
    with open_source(path) as source, pytest.raises(StoreError, match="file system operations are disabled"):
        source.sql("SELECT * FROM harmless")


def test_a_file_with_a_page_overwritten_fails_in_our_words_or_is_read(tmp_path: Path) -> None:
    content = store(tmp_path).read_bytes()
    path = tmp_path / "torn.duckdb"
    refused = 0
    for offset in range(0, len(content), len(content) // 6):
        path.write_bytes(content[:offset] + b"\xa5" * 64 + content[offset + 64 :])
        try:
            with open_source(path) as source:
                list(source.recordings())
        except StoreError:
            refused += 1
    assert refused > 0


def test_columns_of_another_type_are_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "foreign.duckdb"
    with changing(path) as connection:
        connection.execute("CREATE TABLE workbench_meta AS SELECT 3 AS schema_version")
        connection.execute("CREATE TABLE instances AS SELECT 'a' AS instance_id")
        for table in ("executions", "history", "kv_store", "kv_delta"):
            connection.execute(f"CREATE TABLE {table} AS SELECT 'a' AS instance_id")
    with (
        open_source(path) as source,
        pytest.raises(UnreadableFile, match=r"^foreign\.duckdb cannot be read: Binder Error"),
    ):
        source.recording("a")
