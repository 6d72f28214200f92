"""The key-value store as `%kv` shows it, and what changed code does to many instances in flight."""

from __future__ import annotations

import pytest

from tests.views.making import COUNTER, typed
from tests.views.pages import Page
from workbench import Workbench
from workbench.recordings.report import CheckReport
from workbench.runtime.kv import DELTA, PER_TURN, Entry, KVModel, Tables
from workbench.views.dry_run import MOST_ROWS, ChangedCode
from workbench.views.kv_now import KeyValuesNow

ATTACK = "<img src=x onerror=alert(1)>"


def entry(value: str | None) -> Entry:
    return Entry(value, 1000, 1)


def now(tables: Tables, key: str | None = None, kv_model: KVModel = DELTA) -> KeyValuesNow:
    return KeyValuesNow(instance_id="order-1", kv_model=kv_model, tables=tables, key=key)


BOTH = Tables(store={"a": entry("1"), "b": entry("2")}, delta={"b": entry(None), "c": entry("3")})


def test_a_client_reads_the_delta_before_the_snapshot_and_no_tombstone() -> None:
    rows = [line.split() for line in now(BOTH).text().splitlines()]
    assert rows == [
        ["order-1,", "delta", "model"],
        ["key", "snapshot", "delta", "client"],
        ["a", "1", "–", "1"],
        ["b", "2", "cleared", "–"],
        ["c", "–", "3", "3"],
    ]
    assert repr(now(BOTH)) == now(BOTH).text()
    cells = [each.text for each in Page(now(BOTH)._repr_html_()).elements if each.tag in ("td", "th")]
    assert cells[4:] == [cell for row in rows[2:] for cell in row]


def test_one_key_is_shown_alone_and_one_that_is_not_there_is_named() -> None:
    assert now(BOTH, "a").text().splitlines()[2:] == ["  a    1         –      1"]
    assert now(BOTH, "z").text() == "order-1: no key z"
    assert now(Tables()).text() == "order-1: no keys"
    assert "no keys" in now(Tables())._repr_html_()


def test_the_first_design_has_no_delta() -> None:
    shown = now(Tables(store={"a": entry("1")}), kv_model=PER_TURN)
    assert shown.text().splitlines()[1:] == [
        "  key  snapshot  delta (not in this model)  client",
        "  a    1         –                          1",
    ]


def test_keys_and_values_are_shown_as_they_are() -> None:
    shown = now(Tables(delta={ATTACK: entry(ATTACK)}))
    assert "<img" not in shown._repr_html_()
    assert ATTACK in shown.text()


def test_a_table_has_the_same() -> None:
    assert now(BOTH).frame().fillna("").to_numpy().tolist() == [
        ["a", "1", "", "1"],
        ["b", "2", "", ""],
        ["c", "", "3", "3"],
    ]


# Changed code.


@pytest.fixture(scope="module")
def report() -> CheckReport:
    with Workbench() as workbench:
        workbench.orchestration("Counter")(typed(COUNTER))
        for _ in range(MOST_ROWS + 2):
            workbench.start("Counter", 5).turn()
        return workbench.dry_run(typed(COUNTER.replace('"Noop"', '"Other"')), "Counter")


def test_many_instances_are_counted_behind_the_first_ones(report: CheckReport) -> None:
    lines = ChangedCode(name="Counter", version="1.0.0", report=report).text().splitlines()
    assert lines[0] == f"Counter 1.0.0 has other code now; {MOST_ROWS + 2} instances in flight, replayed dry:"
    assert len(lines) == MOST_ROWS + 2
    assert lines[-1] == "  … and 2 more"


def test_a_name_is_shown_as_it_is(report: CheckReport) -> None:
    for each in (report, CheckReport(rows=())):
        changed = ChangedCode(name=ATTACK, version="1.0.0", report=each)
        assert "<img" not in changed._repr_html_()
        assert f"{ATTACK} 1.0.0 has other code now" in repr(changed)
