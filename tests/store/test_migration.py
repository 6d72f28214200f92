"""Schema versions: what is in a file of each, and the way from one to the next.

The files are built by running the schema's own SQL up to a version and adding rows by hand, as that version had them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.store.turns import run_turn, sets
from workbench.runtime import events as ev
from workbench.runtime.errors import StatementRefused
from workbench.runtime.kv import Entry, KVModel, Tables
from workbench.store import DuckDBProvider
from workbench.store.versions import NEWEST, schema_sql

ROOT = Path(__file__).parents[2]

HISTORY = [
    ev.new_event("a", 1, 1, 10, ev.STARTED, name="Flow", version="1.0.0", input='""'),
    ev.new_event("a", 1, 2, 10, ev.KV_SET, key="old", value="1", last_updated_at_ms=10),
    ev.new_event("a", 1, 3, 10, ev.CONTINUED_AS_NEW, input="2"),
    ev.new_event("a", 2, 1, 20, ev.STARTED, name="Flow", version="1.0.0", input="2"),
    ev.new_event("a", 2, 2, 20, ev.KV_SET, key="é\0", value="", last_updated_at_ms=20),
]
"""An instance in the middle of its second execution."""

KV_ROWS: dict[int, list[tuple[object, ...]]] = {
    1: [("a", "old", "1", 1), ("a", "é\0", "", 2)],
    2: [("a", "old", "1", 1, 10), ("a", "é\0", "", 2, 20)],
    3: [("a", "old", "1", 10)],
}


def file_of_version(path: Path, version: int) -> Path:
    """A file of that schema version with one running instance, a queued message, and a lock."""
    with duckdb.connect(str(path)) as connection:
        for step in range(1, version + 1):
            connection.execute(schema_sql(step))
        connection.execute("INSERT INTO instances VALUES ('a', 'Flow', '1.0.0', 2, 2, NULL, 'busy', 3, 10, 20, 1)")
        connection.execute("INSERT INTO executions VALUES ('a', 1, 'ContinuedAsNew', '2', 10, 10)")
        connection.execute("INSERT INTO executions VALUES ('a', 2, 'Running', NULL, 20, NULL)")
        for event in HISTORY:
            connection.execute(
                "INSERT INTO history VALUES (?, ?, ?, ?, ?, 1, FALSE)",
                [event.instance_id, event.execution_id, event.event_id, event.type, ev.encode_event(event)],
            )
        message = '{"ExternalRaised":{"instance":"a","name":"go","data":"null"}}'
        connection.execute(
            "INSERT INTO orchestrator_queue (instance_id, kind, work_item, visible_at_ms, enqueued_at_ms, lock_token, "
            "attempt_count) VALUES ('a', 'ExternalRaised', ?, 0, 0, 't', 1)",
            [message],
        )
        connection.execute("INSERT INTO instance_locks VALUES ('a', 't', 0, 99)")
        for row in KV_ROWS[version]:
            connection.execute(f"INSERT INTO kv_store VALUES ({', '.join('?' * len(row))})", row)
        if version == 3:
            connection.execute("INSERT INTO kv_delta VALUES (?, ?, ?, ?)", ["a", "é\0", "", 20])
            connection.execute("INSERT INTO kv_delta VALUES (?, ?, ?, ?)", ["a", "old", None, 20])
    return path


def columns(path: Path, table: str) -> list[tuple[str, str, str]]:
    """Name, type and nullability of a table's columns, and whether they are in the primary key."""
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{table}')").fetchall()
    return [(name, kind, "NOT NULL" if not_null or key else "NULL") for name, kind, not_null, key in rows]


def primary_key(path: Path, table: str) -> list[str]:
    """The columns of a table's primary key."""
    with duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.execute(f"SELECT name FROM pragma_table_info('{table}') WHERE pk ORDER BY cid").fetchall()
    return [name for (name,) in rows]


def indexes(path: Path) -> list[tuple[str, str]]:
    """Name and columns of all indexes."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("SELECT index_name, expressions FROM duckdb_indexes()").fetchall()


def version_of(path: Path) -> int:
    """The schema version in the file."""
    with duckdb.connect(str(path), read_only=True) as connection:
        [(version,)] = connection.execute("SELECT schema_version FROM workbench_meta").fetchall()
    return int(version)


def test_version_1_has_the_columns_that_spec_001_prints(tmp_path: Path) -> None:
    path = file_of_version(tmp_path / "1.duckdb", 1)
    assert columns(path, "kv_store") == [
        ("instance_id", "VARCHAR", "NOT NULL"),
        ("key", "VARCHAR", "NOT NULL"),
        ("value", "VARCHAR", "NOT NULL"),
        ("execution_id", "BIGINT", "NOT NULL"),
    ]
    assert primary_key(path, "kv_store") == ["instance_id", "key"]
    assert indexes(path) == [("idx_kv_store_execution", "[instance_id, execution_id]")]


def test_version_2_adds_the_time_of_the_last_write(tmp_path: Path) -> None:
    path = file_of_version(tmp_path / "2.duckdb", 2)
    assert columns(path, "kv_store")[4:] == [("last_updated_at_ms", "BIGINT", "NOT NULL")]
    assert primary_key(path, "kv_store") == ["instance_id", "key"]
    assert indexes(path) == [("idx_kv_store_execution", "[instance_id, execution_id]")]


def test_version_3_has_the_two_tables_that_spec_000_prints(tmp_path: Path) -> None:
    path = file_of_version(tmp_path / "3.duckdb", 3)
    assert columns(path, "kv_store") == [
        ("instance_id", "VARCHAR", "NOT NULL"),
        ("key", "VARCHAR", "NOT NULL"),
        ("value", "VARCHAR", "NOT NULL"),
        ("last_updated_at_ms", "BIGINT", "NOT NULL"),
    ]
    assert columns(path, "kv_delta") == [
        ("instance_id", "VARCHAR", "NOT NULL"),
        ("key", "VARCHAR", "NOT NULL"),
        ("value", "VARCHAR", "NULL"),
        ("last_updated_at_ms", "BIGINT", "NOT NULL"),
    ]
    assert primary_key(path, "kv_store") == primary_key(path, "kv_delta") == ["instance_id", "key"]
    assert indexes(path) == []


def test_the_newest_version_is_the_last_file_there_is() -> None:
    schema_sql(NEWEST)
    with pytest.raises(FileNotFoundError):
        schema_sql(NEWEST + 1)


@pytest.mark.damages("the file is written by hand, its tables apart from its histories; version 1 kept no times")
@pytest.mark.parametrize(
    ("version", "kv_model", "reached"),
    [(1, None, 2), (2, None, 2), (1, "per-turn", 2), (2, "per-turn", 2), (1, "delta", 3), (2, "delta", 3),
     (3, None, 3), (3, "delta", 3)],
)  # fmt: skip
def test_opening_leads_to_the_version_of_the_model(
    tmp_path: Path, version: int, kv_model: KVModel | None, reached: int
) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", version)
    provider = DuckDBProvider(path, kv_model, heal=False)
    assert provider.kv_model == ("delta" if reached == 3 else "per-turn")
    assert provider.query("SELECT schema_version FROM workbench_meta")[1] == [(reached,)]
    written = {1: (0, 0), 2: (10, 20), 3: (10, 20)}[version]
    if version == 3:
        expected = Tables({"old": Entry("1", 10)}, {"old": Entry(None, 20), "é\0": Entry("", 20)})
    elif reached == 3:
        expected = Tables({"old": Entry("1", written[0]), "é\0": Entry("", written[1])}, {})
    else:
        expected = Tables({"old": Entry("1", written[0], 1), "é\0": Entry("", written[1], 2)}, {})
    assert provider.get_kv_tables("a") == expected
    assert_the_rest_is_as_it_was(provider)
    provider.close()


def assert_the_rest_is_as_it_was(provider: DuckDBProvider) -> None:
    """History, instance and queue come through every migration; locks do not."""
    assert [*provider.read_history("a", 1).events, *provider.read_history("a", 2).events] == HISTORY
    stored = provider.instance("a")
    assert stored is not None
    assert (stored.execution_id, stored.custom_status, stored.custom_status_version) == (2, "busy", 3)
    [claim] = provider.claim(1, 0, 1_000)
    assert (claim.last_event_id, claim.attempt_count) == (2, 2)


@pytest.mark.damages("the file is written by hand, its tables apart from its histories; version 1 kept no times")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_file_of_any_version_goes_on_working(tmp_path: Path, version: int) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", version)
    for _ in range(2):  # opened again, it is not migrated again
        provider = DuckDBProvider(path, "delta")
        run_turn(provider, "a", sets("new", "1"), number=2)
        run_turn(provider, "b", sets("new", "1"), sets("old", "2"), status="ContinuedAsNew")
        assert provider.get_kv_value("a", "new") == "1"
        provider.close()
        provider = DuckDBProvider(path)
        provider.delete_instance("b", force=True)
        assert provider.get_kv_value("a", "new") == "1"
        provider.close()


@pytest.mark.damages("the file is written by hand, its tables apart from its histories; version 1 kept no times")
def test_a_migration_that_fails_leaves_the_file_at_its_version(tmp_path: Path) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", 1)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE kv_store_new (in_the_way INTEGER)")  # fails in the middle of step 3
    with pytest.raises(StatementRefused, match=re.escape('"kv_store_new" already exists')):
        DuckDBProvider(path, "delta")
    assert version_of(path) == 1
    assert len(columns(path, "kv_store")) == 4
    assert indexes(path) == [("idx_kv_store_execution", "[instance_id, execution_id]")]
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT count(*) FROM kv_store").fetchall() == [(2,)]
        assert connection.execute("SELECT count(*) FROM instance_locks").fetchall() == [(1,)]
        connection.execute("DROP TABLE kv_store_new")
    provider = DuckDBProvider(path, "delta")
    assert_the_rest_is_as_it_was(provider)
    provider.close()


@pytest.mark.damages("the file is written by hand, its tables apart from its histories; version 1 kept no times")
@pytest.mark.parametrize("version", [1, 2])
def test_a_migrated_file_survives_a_process_that_dies_right_after(tmp_path: Path, version: int) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", version)
    program = (
        "import os, sys\n"
        "from workbench.store import DuckDBProvider\n"
        "provider = DuckDBProvider(sys.argv[1], 'delta')\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, cwd=ROOT, timeout=60)
    provider = DuckDBProvider(path)
    assert provider.kv_model == "delta"
    tables = provider.get_kv_tables("a")
    assert (list(tables.store), list(tables.delta)) == (["old"], ["é\0"])  # migrated and healed
    assert_the_rest_is_as_it_was(provider)
    provider.close()
