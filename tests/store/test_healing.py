"""Healing: what a migration to the delta design finds in the middle of an execution."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.store.test_migration import file_of_version
from workbench.runtime import events as ev
from workbench.runtime.kv import Entry, Tables
from workbench.store import DuckDBProvider
from workbench.store.healing import healed_tables


def started(execution: int) -> ev.Event:
    return ev.new_event("a", execution, 1, 10 * execution, ev.STARTED, name="Flow", version="1.0.0", input="null")


def set_key(execution: int, event_id: int, key: str, value: str) -> ev.Event:
    at_ms = 10 * execution
    return ev.new_event("a", execution, event_id, at_ms, ev.KV_SET, key=key, value=value, last_updated_at_ms=at_ms)


def cleared(execution: int, event_id: int, key: str) -> ev.Event:
    return ev.new_event("a", execution, event_id, 10 * execution, ev.KV_CLEARED, key=key)


def cleared_all(execution: int, event_id: int) -> ev.Event:
    return ev.new_event("a", execution, event_id, 10 * execution, ev.KV_ALL_CLEARED)


@pytest.mark.damages("version 1 kept no times")
@pytest.mark.parametrize("version", [1, 2])
def test_opening_an_old_file_heals_what_is_mid_execution(tmp_path: Path, version: int) -> None:
    provider = DuckDBProvider(file_of_version(tmp_path / "flows.duckdb", version), "delta")
    tables = provider.get_kv_tables("a")
    assert tables.store.keys() == {"old"}
    assert tables.delta == {"é\0": Entry("", 20)}
    assert provider.healing.instances == ("a",)
    assert provider.healing.unhealed == ()
    provider.close()


def test_a_file_that_is_migrated_already_is_not_healed_again(tmp_path: Path) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", 2)
    DuckDBProvider(path, "delta").close()
    again = DuckDBProvider(path)
    assert again.healing.instances == ()
    again.close()


def test_a_row_that_an_older_execution_was_the_last_to_write_stays() -> None:
    histories = {1: [started(1), set_key(1, 2, "old", "1")], 2: [started(2), set_key(2, 2, "new", "2")]}
    mixed = {"old": Entry("1", 7), "new": Entry("2", 20)}
    tables, unhealed = healed_tables("a", histories, 2, mixed)
    assert tables == Tables({"old": Entry("1", 7)}, {"new": Entry("2", 20)})
    assert unhealed == []


def test_a_key_that_the_running_execution_wrote_gets_the_last_earlier_write() -> None:
    histories = {
        1: [started(1), set_key(1, 2, "k", "1")],
        2: [started(2), set_key(2, 2, "k", "2")],
        3: [started(3), set_key(3, 2, "k", "3")],
    }
    tables, unhealed = healed_tables("a", histories, 3, {"k": Entry("3", 30)})
    assert tables == Tables({"k": Entry("2", 20)}, {"k": Entry("3", 30)})
    assert unhealed == []


def test_a_key_that_an_earlier_execution_cleared_begins_absent() -> None:
    histories = {
        1: [started(1), set_key(1, 2, "k", "1"), cleared(1, 3, "k"), cleared_all(1, 4)],
        2: [started(2), set_key(2, 2, "k", "2")],
    }
    tables, _ = healed_tables("a", histories, 2, {"k": Entry("2", 20)})
    assert tables == Tables({}, {"k": Entry("2", 20)})


def test_a_key_that_the_running_execution_cleared_comes_back_under_a_tombstone() -> None:
    histories = {1: [started(1), set_key(1, 2, "k", "1")], 2: [started(2), cleared(2, 2, "k")]}
    tables, _ = healed_tables("a", histories, 2, {})
    assert tables == Tables({"k": Entry("1", 10)}, {"k": Entry(None, 20)})


def test_clear_all_brings_every_earlier_key_back_under_tombstones() -> None:
    histories = {
        1: [started(1), set_key(1, 2, "a", "1"), set_key(1, 3, "b", "1")],
        2: [started(2), cleared_all(2, 2), set_key(2, 3, "a", "2")],
    }
    tables, unhealed = healed_tables("a", histories, 2, {"a": Entry("2", 20)})
    assert tables.store == {"a": Entry("1", 10), "b": Entry("1", 10)}
    assert tables.delta == {"a": Entry("2", 20), "b": Entry(None, 20)}
    assert unhealed == []


def test_where_a_pruned_history_would_decide_nothing_is_guessed() -> None:
    histories = {2: [started(2), set_key(2, 2, "known", "2")], 3: [started(3), set_key(3, 2, "k", "3")]}
    mixed = {"k": Entry("3", 30), "known": Entry("2", 20)}
    tables, unhealed = healed_tables("a", histories, 3, mixed)
    assert tables.store == mixed
    assert [(each.instance_id, each.key) for each in unhealed] == [("a", "k")]
    assert "execution 1, which would decide, is pruned" in unhealed[0].reason


def test_what_cannot_be_healed_is_named_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = file_of_version(tmp_path / "flows.duckdb", 2)
    old = DuckDBProvider(path, "per-turn")
    old.prune_executions("a")
    old.close()
    with caplog.at_level(logging.WARNING, "workbench.store"):
        provider = DuckDBProvider(path, "delta")
    assert [each.key for each in provider.healing.unhealed] == ["é\0"]
    assert "cannot be healed" in caplog.text
    provider.close()


@pytest.mark.damages("without healing the mixed table stays")
def test_without_healing_the_mixed_table_stays_and_verify_names_the_rows(tmp_path: Path) -> None:
    provider = DuckDBProvider(file_of_version(tmp_path / "flows.duckdb", 2), "delta", heal=False)
    assert provider.get_kv_tables("a").delta == {}
    assert {(each.table, each.key) for each in provider.verify()} == {("kv_store", "é\0"), ("kv_delta", "é\0")}
    provider.close()
