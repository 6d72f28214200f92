"""Free SELECTs over the store's tables; nothing can be changed with them."""

from __future__ import annotations

import pytest

from tests.store.turns import run_turn
from workbench.runtime.errors import StatementRefused, StoreClosed, StoreError
from workbench.store import DuckDBProvider


def test_a_query_gives_names_and_rows(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    run_turn(provider, "b")
    names, rows = provider.query("SELECT instance_id AS i, 1 + ? AS n FROM instances ORDER BY i", [1])
    assert names == ["i", "n"]
    assert rows == [("a", 2), ("b", 2)]
    assert provider.query("FROM instances SELECT count(*) WHERE instance_id = $i", {"i": "a"})[1] == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM instances",
        "SELECT 1; SELECT 2",
        "COMMIT",
        "COMMIT; DELETE FROM instances",
        "ATTACH ':memory:' AS other",
        "SET threads = 1",
        "",
    ],
)
def test_anything_but_one_select_is_refused(provider: DuckDBProvider, sql: str) -> None:
    with pytest.raises(StoreError, match="exactly one SELECT"):
        provider.query(sql)


@pytest.mark.parametrize("sql", ["EXPLAIN ANALYZE DELETE FROM instances", "SELECT nextval('message_order')"])
def test_a_select_that_would_write_is_refused(provider: DuckDBProvider, sql: str) -> None:
    run_turn(provider, "a")
    with pytest.raises(StatementRefused, match="read-only"):
        provider.query(sql)
    assert len(provider.instances()) == 1


def test_a_wrong_query_says_what_is_wrong(provider: DuckDBProvider) -> None:
    with pytest.raises(StatementRefused, match="Table with name nothing does not exist"):
        provider.query("SELECT * FROM nothing")
    with pytest.raises(StatementRefused, match="syntax error"):
        provider.query("SELEC 1")
    assert provider.query("SELECT 1")[1] == [(1,)]


def test_a_closed_provider_says_so() -> None:
    provider = DuckDBProvider()
    provider.close()
    provider.close()
    with pytest.raises(StoreClosed, match=":memory: is closed"):
        provider.query("SELECT 1")
    with pytest.raises(StoreClosed):
        provider.claim(1, 0, 1)


def test_a_provider_says_what_it_is(provider: DuckDBProvider) -> None:
    assert repr(provider) == f"DuckDBProvider(':memory:', kv_model={provider.kv_model!r})"


def test_a_kv_model_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="kv_model is 'delta' or 'per-turn', not 'both'"):
        DuckDBProvider(kv_model="both")  # type: ignore[arg-type]
