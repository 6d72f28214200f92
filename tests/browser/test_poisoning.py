"""The poisoning panel in JupyterLab: the poisoned read beside the healthy one, with the mouse and the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import WIDE, Open, Picture
from tests.browser.opened import Opened

pytestmark = pytest.mark.browser
WROTE = 'counter: last written in turn 1.1, event 2, line 4: set to "1"'


def sides(at: Opened) -> tuple[Locator, Locator]:
    """The first design and the delta design."""
    both = at.panel.locator(".workbench-side")
    expect(both).to_have_count(2)
    return both.nth(0), both.nth(1)


def test_the_poisoned_read_stands_beside_the_healthy_one(show: Open, picture: Picture) -> None:
    at = show("poisoning")
    first, fixed = sides(at)
    expect(at.turn(2)).to_have_attribute("aria-current", "true")
    expect(first).to_contain_text("read counter → 1, from the snapshot: poisoned by event 2 · ✗ diverged in turn 2")
    expect(fixed).to_contain_text("read counter → nothing, never set · ● running")
    left, right = first.bounding_box(), fixed.bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert 0 <= right["x"] - (left["x"] + left["width"]) <= 2
    picture(at, "poisoning")


def test_a_click_on_a_turn_a_key_and_a_button_moves_the_focus(show: Open) -> None:
    at = show("poisoning")
    at.turn(1).click()
    expect(sides(at)[0]).to_contain_text("read counter → nothing, never set · ● running")
    assert at.ask("panel.focus.address") == "'1.1'"
    at.key("counter").click()
    expect(sides(at)[0]).to_contain_text(WROTE)
    expect(sides(at)[1]).to_contain_text(WROTE)
    assert at.ask("panel.focus.key") == "'counter'"
    at.button("Last").click()
    expect(sides(at)[0]).to_contain_text("There is no such turn here: it diverged in turn 2.")
    expect(sides(at)[1]).to_contain_text('✓ completed with "5"')
    expect(at.button("Next turn ▶")).to_be_disabled()
    assert at.ask("panel.focus.address") == "'1.6'"


def test_tab_and_enter_do_the_same(show: Open) -> None:
    at = show("poisoning")
    at.button("First").focus()
    at.press(at.turn(1))
    expect(sides(at)[0]).to_contain_text("read counter → nothing, never set · ● running")
    at.press(at.key("counter"))
    expect(sides(at)[1]).to_contain_text(WROTE)
    expect(at.key("counter")).to_be_focused()
    at.button("First").focus()
    at.press(at.button("Last"))
    expect(sides(at)[1]).to_contain_text('✓ completed with "5"')
    expect(at.turn(6)).to_be_focused()
    assert at.ask("(panel.focus.address, panel.focus.key)") == "('1.6', 'counter')"


def test_the_panel_answers_while_a_cell_is_busy(show: Open) -> None:
    at = show("poisoning")
    at.run_cell("busy", wait=False)
    expect(at.prompt("busy")).to_contain_text("*")
    at.button("Next turn ▶").click()
    expect(sides(at)[1]).to_contain_text("read counter → 2, set in turn 2, event 5 · ● running")
    at.turn(1).click()
    expect(sides(at)[0]).to_contain_text("read counter → nothing, never set · ● running")
    expect(at.prompt("busy"), "the panel answered only when the cell had ended").to_contain_text("*", timeout=1)
    expect(at.prompt("busy")).not_to_contain_text("*")
    assert at.ask("(panel.focus.address, panel.error)") == "('1.1', None)"


def test_nothing_overflows_where_there_is_little_room(show: Open, picture: Picture) -> None:
    at = show("poisoning")
    at.page.set_viewport_size({"width": 800, "height": 2000})
    try:
        wider = at.panel.evaluate(
            "panel => [...panel.querySelectorAll('.workbench-part, .workbench-card')]"
            ".filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.textContent.slice(0, 60))"
        )
        assert wider == []
        picture(at, "poisoning-narrow")
    finally:
        at.page.set_viewport_size(WIDE)
