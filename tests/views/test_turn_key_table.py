"""The turn × key table: what a client reads after each turn, and which turn changed it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from tests.views.making import COUNTER, ECHO, read_modify_write, started, typed
from tests.views.pages import Element, Page
from workbench.runtime.kv import Entry, Tables
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views.turn_key_table import (
    MOST_KEYS,
    PAGE_ROWS,
    columns_of,
    key_grid,
    line,
    looked_at,
    page_at,
    table_lines,
    target,
    turn_key_frame,
    turn_keys,
)

CHANGES = """\
def flow(ctx, _):
    ctx.set_kv_value("a", "1")
    ctx.set_kv_value("b", "x")
    yield ctx.schedule_activity("Work", 1)
    ctx.set_kv_value("a", "2")
    ctx.clear_kv_value("b")
    yield ctx.schedule_activity("Work", 2)
    ctx.set_kv_value("b", " y ")
    return "done"
"""


@pytest.fixture(scope="module")
def turns() -> tuple[Turn, ...]:
    run = started(CHANGES)
    run.finish()
    return run.turns


def many(count: int, keys: int = 1) -> list[Turn]:
    """So many turns, the n-th of which sets key n modulo `keys`."""
    turn = started(COUNTER, given=1).turn()
    made: list[Turn] = []
    held: dict[str, Entry] = {}
    for number in range(1, count + 1):
        after = {**held, f"k{number % keys:03}": Entry(str(number), 0)}
        tables = {"before": Tables({}, held), "after": Tables({}, after)}
        made.append(msgspec.structs.replace(turn, number=number, operations=(), **tables))
        held = after
    return made


def grid(turns: Sequence[Turn], *current: str) -> list[Element]:
    """The cells of the page that the last turn is on."""
    keys = turn_keys(turns)
    rows = page_at(len(turns), len(turns) - 1)
    page = Page(key_grid(keys, rows, columns_of(keys, rows), frozenset(current)))
    return [each for each in page.elements if each.tag in ("th", "td")]


def test_each_cell_is_what_a_client_reads_with_a_sign_where_the_turn_changed_it(turns: tuple[Turn, ...]) -> None:
    keys = turn_keys(turns)
    assert table_lines(keys, range(3)) == [
        "turn    a    b",
        "1.1   + 1  + x",
        "1.2   ~ 2  − cleared",
        '1.3     2  + " y "',
    ]
    assert line(keys) == "Flow · flow-1 · 3 turns × 2 keys"


def test_the_html_says_the_same_and_every_cell_can_be_gone_to(turns: tuple[Turn, ...]) -> None:
    cells = grid(turns, *looked_at("1.2", "b"))
    assert [each.text for each in cells] == [
        *("turn", "a", "b"),
        *("▸ 1.1", "+ 1", "+ x"),
        *("◆ 1.2", "~ 2", "− cleared"),
        *("◆ 1.3", "  2", '+ " y "'),
    ]
    assert [each.attributes.get("data-focus") for each in cells[6:9]] == ["1.2", "1.2/key:a", "1.2/key:b"]
    current = [str(each.attributes["data-focus"]) for each in cells if "aria-current" in each.attributes]
    assert current == ["key:b", "1.2", "1.2/key:b"]
    assert [each.attributes.get("class") for each in cells[7:11]] == [
        "workbench-changed",
        "workbench-removed",
        None,
        "workbench-quiet",
    ]


def test_a_poisoned_read_is_marked_and_a_diverged_turn_changes_nothing() -> None:
    turns = read_modify_write().replay(typed(ECHO), kv_model="per-turn").turns
    assert table_lines(turn_keys(turns), range(2)) == ["   turn    n", "   1.1   + 1", "✗  1.2   ! 1"]
    assert [each.text for each in grid(turns)][-2:] == ["✗ 1.2", "! 1"]


def test_a_refused_turn_is_marked_and_leaves_what_was_there() -> None:
    run = started(CHANGES.replace('ctx.clear_kv_value("b")', 'ctx.set_kv_value("c", "z")'), limits=Limits(kv_keys=2))
    run.finish()
    assert table_lines(turn_keys(run.turns), range(2))[1:] == ["   1.1   + 1  + x", "−  1.2     1    x"]


def test_a_page_has_five_hundred_rows_and_is_the_one_of_the_turn(turns: tuple[Turn, ...]) -> None:
    assert page_at(len(turns), 2) == range(3)
    assert page_at(1200, 0) == range(500)
    assert page_at(1200, 700) == range(500, 1000)
    assert page_at(1200, 1199) == range(1000, 1200)
    assert page_at(1200, 5000) == range(1000, 1200)
    assert page_at(0, 0) == range(0)
    assert PAGE_ROWS == 500
    long = many(1200)
    assert len([each for each in grid(long) if each.attributes.get("scope") == "row"]) == 200
    assert table_lines(turn_keys(long), page_at(1200, 700))[-1] == "rows 501 to 1,000 of 1,200 turns"


def test_of_many_keys_those_changed_most_recently_are_shown_and_the_others_named() -> None:
    keys = turn_keys(many(30, keys=30))
    columns = columns_of(keys, range(30))
    assert columns.shown == ("k000", *(f"k{n:03}" for n in range(19, 30)))
    assert len(columns.shown) == MOST_KEYS
    assert columns.left_out[:2] == ("k018", "k017")
    assert table_lines(keys, range(30))[-1] == "18 more keys: k018, k017, k016, k015, k014, k013 and 12 more"
    links = Page(key_grid(keys, range(30), columns)).all("p")[-1]
    assert links.text.startswith("18 more keys: k018, k017, ")


def test_the_key_that_is_looked_at_is_always_among_them() -> None:
    keys = turn_keys(many(30, keys=30))
    assert "k003" in columns_of(keys, range(30), "k003").shown
    assert list(columns_of(keys, range(30), "k003").shown) == sorted(columns_of(keys, range(30), "k003").shown)


def test_a_page_shows_the_keys_that_were_changed_up_to_its_end() -> None:
    keys = turn_keys(many(30, keys=30))
    assert columns_of(keys, range(13)).shown == tuple(f"k{n:03}" for n in range(2, 14))


def test_what_an_execution_began_with_is_a_key_too() -> None:
    turn = many(1)[0]
    carried = Tables({"old": Entry("1", 0)}, {})
    unchanged = msgspec.structs.replace(turn, before=carried, after=carried)
    assert table_lines(turn_keys([unchanged]), range(1)) == ["turn    old", "1.1     1"]


def test_a_click_names_a_turn_a_key_or_both(turns: tuple[Turn, ...]) -> None:
    keys = turn_keys(turns).changes
    assert target("1.2", keys) == ("1.2", None)
    assert target("key:a", keys) == (None, "a")
    assert target("1.2/key:b", keys) == ("1.2", "b")
    with pytest.raises(LookupError, match="there is no key 'c' in these turns"):
        target("1.2/key:c", keys)


def test_the_frame_has_a_row_a_turn_and_a_column_a_key(turns: tuple[Turn, ...]) -> None:
    frame = turn_key_frame(turns)
    assert list(frame.columns) == ["a", "b"]
    assert list(frame.index) == ["1.1", "1.2", "1.3"]
    assert frame.to_numpy().tolist() == [["1", "x"], ["2", None], ["2", " y "]]
    assert turn_key_frame([]).empty


def test_a_long_value_is_cut_and_stands_whole_in_its_title() -> None:
    run = started('def flow(ctx, _):\n    ctx.set_kv_value("a", "x" * 60)\n    yield ctx.wait_for_event("go")\n')
    cell = grid([run.turn()])[-1]
    assert cell.text == "+ xxxxxx…60 B…xxx"
    assert cell.attributes["title"] == "x" * 60


def test_without_turns_it_says_so() -> None:
    assert table_lines(turn_keys([]), range(0)) == ["no turns"]
    assert "No key is written in these turns." in key_grid(turn_keys([]), range(0), columns_of(turn_keys([]), range(0)))
