"""The limits panel: boxes for the limits, and what would fail first."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.panels.test_hostile import CODE, LIMITS
from tests.panels.test_leaks import Open
from tests.views.making import started
from tests.views.pages import Page
from tests.views.test_hostile import ATTRIBUTES, HOSTILE, TAGS
from tests.views.test_limits_check import GROWS
from workbench.panels.limits import LimitsPanel
from workbench.run import Run
from workbench.views.limits_check import Bounds


@pytest.fixture(scope="module")
def run() -> Run:
    """Four turns that add a key each, and the one that ends."""
    begun = started(GROWS, given=4)
    begun.finish()
    return begun


@pytest.fixture
def panel(run: Run) -> Iterator[LimitsPanel]:
    with run.limits_panel() as opened:
        yield opened


def type_into(panel: LimitsPanel, name: str, text: str) -> None:
    panel._part._boxes[name].set_state({"value": text})


def boxes(panel: LimitsPanel) -> list[str]:
    return [box.value for box in panel._part._boxes.values()]


def words(panel: LimitsPanel) -> str:
    """The words on screen."""
    return Page(f"<div>{panel._head.html}{panel._part._body.html}</div>").elements[0].text


def test_it_opens_with_the_limits_of_the_run(panel: LimitsPanel) -> None:
    assert boxes(panel) == ["10", "16,384", "", ""]
    assert panel._part._reset.disabled
    assert "✓ no turn goes over these limits" in words(panel)
    assert repr(panel) == "LimitsPanel: flow-1 · 5 turns · no turn goes over these limits"


def test_a_smaller_limit_shows_which_turn_would_fail_first(panel: LimitsPanel) -> None:
    type_into(panel, "keys", "2")
    assert "✗ would be refused in turn 3: key count 3 of 2" in words(panel)
    assert panel.text().splitlines()[-1] == "would be refused in turn 3: key count 3 of 2"
    type_into(panel, "keys", "10")
    type_into(panel, "value_bytes", "0 KiB")
    assert "✗ would be refused in turn 2: value of k1 10 B of 0 B" in words(panel)
    panel._part._reset.click()
    assert boxes(panel) == ["10", "16,384", "", ""]
    assert "✓ no turn goes over these limits" in words(panel)


def test_limits_that_the_engine_does_not_have_can_be_set_and_taken_away(panel: LimitsPanel) -> None:
    type_into(panel, "history_bytes", "1 KiB")
    assert boxes(panel)[3] == "1,024"
    assert "over the limit set here in turn" in words(panel)
    type_into(panel, "history_bytes", "")
    assert "over the limit" not in words(panel)


def test_a_cell_does_the_same(panel: LimitsPanel) -> None:
    panel.set(keys=2, kv_bytes=10)
    assert panel._part.bounds == Bounds(2, 16384, 10)
    assert boxes(panel) == ["2", "16,384", "10", ""]
    panel.reset()
    assert panel._part.bounds == Bounds(10, 16384)
    with pytest.raises(ValueError, match="the engine always has a limit for keys"):
        panel.set(keys=None)


def test_what_is_no_size_is_told_in_the_panel_and_the_limit_stays(panel: LimitsPanel) -> None:
    for wrong in ("many", ""):
        type_into(panel, "keys", wrong)
        assert panel.error is not None
        assert boxes(panel)[0] == "10"
    type_into(panel, "keys", "3")
    assert panel.error is None


def test_a_click_goes_to_the_turn_and_the_sizes_are_those_after_it(panel: LimitsPanel) -> None:
    panel.set(keys=2)
    body = panel._part._body
    body._receive(body, {"focus": "1.3"}, [])
    assert panel.focus.address == "1.3"
    assert "After turn 3" in words(panel)


def test_the_chart_is_in_the_live_panel_and_not_in_the_saved_one(panel: LimitsPanel) -> None:
    [image] = Page(panel._part._chart.html).all("img")
    assert image.attributes["alt"] == "keys, largest value, all keys and values, history over 5 turns"
    assert "<img" not in panel.static_html()
    assert len(panel.figure().axes) == 4
    assert panel.frame().loc["1.2", "keys"] == 2


def test_the_chart_is_drawn_anew_for_other_limits_and_themes_only(panel: LimitsPanel) -> None:
    drawn: list[object] = []
    panel._part._chart.observe(lambda change: drawn.append(change["new"]), "html")
    panel.focus.address = "1.2"
    assert drawn == []
    panel.set(keys=3)
    panel._drawn(True)
    assert len(drawn) == 2


def test_a_closed_panel_leaves_nothing(run: Run) -> None:
    before = set(_instances)
    with run.limits_panel() as panel:
        type_into(panel, "keys", "2")
        gone = [weakref.ref(each) for each in (panel, panel._part, panel.root)]
    del panel
    gc.collect()
    assert set(_instances) == before
    assert [each() for each in gone if each() is not None] == []


def test_hostile_texts_are_texts_in_it() -> None:
    texts = [each for each in HOSTILE if len(each) < 100]
    run = started(CODE, given=texts, instance_id="<script>alert(1)</script>", limits=LIMITS)
    run.finish()
    with run.limits_panel() as panel:
        for text in texts:
            panel.set(keys=3, value_bytes=0)
            type_into(panel, "keys", text)
            page = Page(panel.static_html() + panel._alert.html)
            assert {each.tag for each in page.elements} <= TAGS
            names = {attribute for each in page.elements for attribute in each.attributes}
            assert {each for each in names if not each.startswith("aria-")} <= ATTRIBUTES
        assert panel.error is not None


def test_without_turns_it_waits_for_some(live: Open) -> None:
    opened = live(0)
    with opened.run.limits_panel() as panel:
        assert "No turns yet." in words(panel)
        assert panel.text() == "no turns"
        opened.run.turn()
        panel.refresh()
        assert "After turn 1" in words(panel)
