"""`verify()` names every row of the KV tables that is not what the histories say, and judges all it can read."""

from __future__ import annotations

import pytest

from tests.store.turns import clears, run_turn, sets
from workbench.store import DuckDBProvider
from workbench.store.verifying import Disagreement

pytestmark = pytest.mark.damages("rows are changed behind the store's back, which is what is to be seen")


def change(provider: DuckDBProvider, statement: str) -> None:
    """Change the database as nobody may."""
    with provider._store.writing() as cursor:
        cursor.execute(statement)


def said(provider: DuckDBProvider) -> list[str]:
    return [str(each) for each in provider.verify()]


def table_of(provider: DuckDBProvider) -> str:
    """Where the writes of a running execution are."""
    return "kv_delta" if provider.kv_model == "delta" else "kv_store"


def test_a_time_that_is_another_is_named(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"))
    table = table_of(provider)
    [entry] = (provider.get_kv_tables("a").delta or provider.get_kv_tables("a").store).values()
    at_ms = entry.last_updated_at_ms
    change(provider, f"UPDATE {table} SET last_updated_at_ms = {at_ms + 1}")
    assert said(provider) == [
        f"{table} of 'a', key 'k': stored '1' of {at_ms + 1} ms, by the history '1' of {at_ms} ms"
    ]


def test_a_row_that_is_missing_and_one_too_many_are_named(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), sets("l", "2"))
    table = table_of(provider)
    change(provider, f"DELETE FROM {table} WHERE key = 'k'")
    change(provider, f"UPDATE {table} SET key = 'm' WHERE key = 'l'")
    found = provider.verify()
    assert [(each.key, each.stored is None, each.recomputed is None) for each in found] == [
        ("k", True, False),
        ("l", True, False),
        ("m", False, True),
    ]


def test_keys_of_an_instance_that_is_not_stored_are_named(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"))
    change(provider, "DELETE FROM instances")
    change(provider, "DELETE FROM executions")
    [found] = provider.verify()
    assert (found.instance_id, found.table, found.key) == ("a", table_of(provider), "k")
    assert found.recomputed is None


def test_a_history_that_cannot_be_read_is_named_and_the_others_are_judged(provider: DuckDBProvider) -> None:
    for name in ("a", "b", "c"):
        run_turn(provider, name, sets("k", "1"))
    change(provider, "UPDATE history SET event_data = '{' WHERE instance_id = 'a' AND event_id = 2")
    change(provider, f"DELETE FROM {table_of(provider)} WHERE instance_id = 'c'")
    damaged, wrong = provider.verify()
    assert (damaged.instance_id, damaged.table, damaged.key) == ("a", "history", "event 2")
    assert "the history of 'a', execution 1, is damaged at event 2" in str(damaged)
    assert isinstance(wrong, Disagreement)
    assert (wrong.instance_id, wrong.key, wrong.stored) == ("c", "k", None)


def test_a_tombstone_is_judged_with_its_time(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", clears("k"))
    assert delta.verify() == []
    change(delta, "UPDATE kv_delta SET last_updated_at_ms = last_updated_at_ms + 1")
    [found] = said(delta)
    assert found.startswith("kv_delta of 'a', key 'k': stored a tombstone of ")
