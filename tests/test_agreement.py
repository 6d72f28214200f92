"""The check that every test ends with can fail: in a store that is open and in one that was closed, and says where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agreement import Watch, disagreements, reason_to_disagree, watched
from tests.store.turns import run_turn, sets
from workbench import DuckDBProvider, Workbench

ROW = "kv_delta of 'a', key 'k': stored '2' of 0 ms, by the history '1' of 0 ms"
UNREADABLE = "the history of 'a', execution 1, is damaged at event 2"


def change_a_row(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"))
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE kv_delta SET value = '2'")


@pytest.mark.damages("that is what is tried here")
def test_a_row_that_is_not_what_the_history_says_is_found_at_the_end_and_only_once() -> None:
    with watched() as watch:
        provider = DuckDBProvider()
        change_a_row(provider)
        [found] = watch.take_found()
        assert found.endswith(ROW)
        assert watch.take_found() == []
        provider.close()


@pytest.mark.damages("that is what is tried here")
@pytest.mark.parametrize("name", [":memory:", "store.duckdb"])
def test_a_row_in_a_store_that_was_closed_during_the_test_is_found_too(tmp_path: Path, name: str) -> None:
    with watched() as watch:
        with Workbench(name if name == ":memory:" else tmp_path / name) as wb:
            change_a_row(wb.provider)
        [found] = watch.take_found()
        assert found.endswith(ROW)


@pytest.mark.damages("that is what is tried here")
def test_a_history_that_cannot_be_read_is_a_finding_and_no_error() -> None:
    provider = DuckDBProvider()
    run_turn(provider, "a", sets("k", "1"))
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE history SET event_data = '{' WHERE event_id = 2")
    [found] = disagreements(provider)
    assert UNREADABLE in found
    provider.close()


def test_a_store_that_agrees_gives_nothing_and_what_happens_in_it_later_is_looked_at_again(watch: Watch) -> None:
    provider = DuckDBProvider()
    for _ in range(2):
        run_turn(provider, "a", sets("k", "1"))
        assert watch.take_found() == []
    provider.close()


@pytest.mark.damages("nothing; the marker is what is tried")
def test_only_a_marker_with_a_reason_lets_a_store_disagree(request: pytest.FixtureRequest) -> None:
    assert reason_to_disagree(request.node) == "nothing; the marker is what is tried"
    request.node.own_markers.append(pytest.mark.damages().mark)
    request.node.own_markers.pop(0)
    with pytest.raises(ValueError, match="not enough values"):
        reason_to_disagree(request.node)
    request.node.own_markers.clear()
    assert reason_to_disagree(request.node) is None
