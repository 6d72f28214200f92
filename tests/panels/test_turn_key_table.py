"""The turn × key table as a panel: alone, and sharing the focus of another panel."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.bench.long_history import counter, counter_recording
from tests.panels.conftest import Live
from tests.panels.test_hostile import CODE, LIMITS
from tests.panels.test_leaks import Open
from tests.views.making import started
from tests.views.pages import Page
from tests.views.test_hostile import ATTRIBUTES, HOSTILE, TAGS
from tests.views.test_saved_page import WORSE
from workbench.panels.focus import Focus
from workbench.panels.stepper import Stepper
from workbench.panels.turn_key_table import TurnKeyTable
from workbench.run import Run
from workbench.runtime.turn import Turn
from workbench.views.markup import Html, key_address


@pytest.fixture
def table(three_turns: Run) -> Iterator[TurnKeyTable]:
    with three_turns.key_table() as opened:
        yield opened


@pytest.fixture(scope="module")
def long() -> tuple[Turn, ...]:
    """Twelve hundred turns of a counter."""
    return counter_recording(1200).replay(counter).turns


def click(panel: TurnKeyTable, target: str) -> None:
    view = panel._part._table
    view._receive(view, {"focus": target}, [])


def current(panel: TurnKeyTable) -> list[str]:
    """What the saved rendering marks, and the live one with it."""
    page = Page(panel.static_html())
    marked = [str(each.attributes["data-focus"]) for each in page.focusable() if "aria-current" in each.attributes]
    addresses = {str(each.attributes["data-focus"]) for each in page.focusable()}
    assert sorted(marked) == sorted(addresses & set(panel._part._table.current))
    return marked


def test_it_opens_at_the_last_turn_and_says_what_it_is(table: TurnKeyTable) -> None:
    assert current(table) == ["1.3"]
    assert repr(table) == "TurnKeyTable at 1.3: Counter · counter-1 · 3 turns × 1 key"
    assert table.text().splitlines() == ["turn    counter", "1.1   + 1", "1.2   ~ 2", "1.3   ~ 3"]
    assert list(table.frame()["counter"]) == ["1", "2", "3"]


def test_a_click_on_a_cell_goes_to_its_turn_and_key(table: TurnKeyTable) -> None:
    click(table, "1.2/key:counter")
    assert (table.focus.address, table.focus.key) == ("1.2", "counter")
    assert current(table) == ["key:counter", "1.2", "1.2/key:counter"]
    click(table, "1.1")
    assert (table.focus.address, table.focus.key) == ("1.1", "counter")


def test_moving_in_it_sends_two_words_and_not_the_table(table: TurnKeyTable) -> None:
    sent: list[str] = []
    table._part._table.observe(lambda change: sent.append(change["name"]), ["html", "current"])
    click(table, "1.2/key:counter")
    assert sent == ["current"]


def test_it_follows_a_focus_that_it_shares_and_moves_it(three_turns: Run) -> None:
    focus = Focus(address="1.1")
    with TurnKeyTable(lambda: three_turns.turns, focus) as table:
        focus.address = "1.2.1"
        assert current(table) == ["1.2"]
        click(table, "1.3/key:counter")
        assert (focus.address, focus.key) == ("1.3", "counter")


def test_a_stepper_opens_both_beside_it_with_its_own_focus(at: Stepper) -> None:
    with at.table() as table, at.limits_panel() as limits:
        click(table, "1.2/key:counter")
        assert (at.focus.address, at.focus.key) == ("1.2", "counter")
        assert "After turn 2" in limits._part._body.html
        at.next()
        assert current(table) == ["key:counter", "1.3", "1.3/key:counter"]
    at.previous()
    assert at.focus.address == "1.2"


def test_pages_are_turned_and_follow_the_focus(long: tuple[Turn, ...]) -> None:
    with TurnKeyTable(lambda: long) as table:
        assert table.text().splitlines()[-1] == "rows 1,001 to 1,200 of 1,200 turns"
        table._part._earlier.click()
        table.earlier()
        assert table.text().splitlines()[-1] == "rows 1 to 500 of 1,200 turns"
        assert table.focus.address == "1.1200"
        assert table._part._earlier.disabled
        table.focus.address = "1.700"
        assert table.text().splitlines()[-1] == "rows 501 to 1,000 of 1,200 turns"
        table.later()
        assert table._part._later.disabled


def test_a_run_that_goes_on_is_shown_when_it_is_asked_for(live: Open) -> None:
    run = live(1).run
    with run.key_table() as table:
        run.turn()
        assert len(table.text().splitlines()) == 2
        table.refresh()
        assert table.text().splitlines()[-1] == "1.2   ~ 2"


def test_a_key_that_is_not_there_is_an_error_in_the_panel(table: TurnKeyTable) -> None:
    click(table, "1.2/key:gone")
    assert table.error == "LookupError: there is no key 'gone' in these turns"
    click(table, "1.2/key:counter")
    assert table.error is None


def test_the_saved_and_the_live_rendering_are_one(table: TurnKeyTable) -> None:
    live = Page(f"<div>{Html(table._part._table.html)}</div>").elements[0].text
    assert live in Page(table.static_html()).elements[0].text


def test_a_closed_table_leaves_nothing(three_turns: Run) -> None:
    before = set(_instances)
    focus = Focus(address="1.1")
    with TurnKeyTable(lambda: three_turns.turns, focus) as table:
        click(table, "1.2/key:counter")
        gone = [weakref.ref(each) for each in (table, table._part, table.root)]
    del table
    gc.collect()
    assert set(_instances) == before
    assert [each() for each in gone if each() is not None] == []
    assert [each for names in focus._trait_notifiers.values() for each in names.get("change", [])] == []


def test_hostile_texts_are_texts_in_it_and_lead_to_their_keys() -> None:
    texts = [*HOSTILE, *WORSE[:3], *WORSE[5:]]
    run = started(CODE, given=texts, instance_id="<script>alert(1)</script>", limits=LIMITS)
    run.finish()
    with run.key_table() as table:
        for key in texts:
            click(table, f"1.1/{key_address(key)}")
            assert table.focus.key == key
        html = table.static_html()
        page = Page(html)
        assert {each.tag for each in page.elements} <= TAGS
        names = {attribute for each in page.elements for attribute in each.attributes}
        assert {each for each in names if not each.startswith("aria-")} <= ATTRIBUTES
        assert not set(html) & set("\0\u202e\u2066\u2067\u2068\u2069")
        assert len(html) < 100_000
        assert not set(table.text()) & set("\0\x1b\r\u202e\u2066\u2067")


def test_without_turns_it_waits_for_some(live: Open) -> None:
    opened: Live = live(0)
    with opened.run.key_table() as table:
        assert table.text() == "no turns"
        assert "No turn yet" in table.static_html()
        opened.run.turn()
        table.refresh()
        assert table.text().splitlines()[-1] == "1.1   + 1"
