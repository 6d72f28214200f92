"""Limits and the turn × key table in JupyterLab: alone and below a stepper, with the mouse and the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import WIDE, Picture
from tests.browser.notebooks import position
from tests.browser.opened import Opened
from tests.browser.test_seen import CONTRAST, LEAST, UNNAMED

pytestmark = pytest.mark.browser
WIDER = (
    "panel => [...panel.querySelectorAll('.workbench-part:not(:has(.workbench-scroll)), .workbench-controls, "
    ".workbench-chart')]"
    ".filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.textContent.slice(0, 60))"
)


@pytest.fixture
def show(notebook: Opened, theme: str) -> Iterator[Callable[[str], Opened]]:
    """Show a panel that has no strip of turns; nothing may be thrown meanwhile."""
    assert theme

    def open_one(name: str) -> Opened:
        notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        notebook.cell = notebook.page.locator(".jp-CodeCell").nth(position(name))
        notebook.run_cell(name)
        expect(notebook.panel.locator(".workbench-head")).to_be_visible()
        return notebook

    yield open_one
    assert notebook.errors == []


def box(at: Opened, name: str) -> Locator:
    return at.panel.get_by_role("textbox", name=name, exact=True)


def cell(at: Opened, address: str) -> Locator:
    return at.panel.locator(f'[role=grid] [data-focus="{address}"]')


@pytest.mark.parametrize("theme", ["Light"], indirect=True)
def test_a_smaller_limit_shows_which_turn_fails_first(show: Callable[[str], Opened], picture: Picture) -> None:
    at = show("limits")
    expect(at.panel).to_contain_text("no turn goes over these limits")
    expect(at.panel.get_by_role("img")).to_be_visible()
    picture(at, "limits")
    box(at, "Keys").fill("4")
    at.page.keyboard.press("Enter")
    expect(at.panel).to_contain_text("would be refused in turn 4: key count 5 of 4")
    box(at, "History").fill("4 KiB")
    at.page.keyboard.press("Tab")
    expect(at.panel).to_contain_text("over the limit set here in turn")
    at.panel.get_by_role("button", name="would be refused in turn 4").click()
    expect(at.panel).to_contain_text("After turn 4")
    assert at.ask("panel.focus.address") == "'1.4'"
    at.press(at.button("As recorded"))
    expect(at.panel).to_contain_text("no turn goes over these limits")
    box(at, "Keys").fill("many")
    at.page.keyboard.press("Enter")
    expect(at.panel.get_by_role("alert")).to_contain_text("many is no size")
    expect(box(at, "Keys")).to_have_value("10")


@pytest.mark.parametrize("theme", ["Light"], indirect=True)
def test_a_cell_is_gone_to_with_the_mouse_and_with_the_arrows(show: Callable[[str], Opened]) -> None:
    at = show("table")
    expect(cell(at, "1.13")).to_have_attribute("aria-current", "true")
    cell(at, "1.2/key:order-1").click()
    expect(cell(at, "1.2/key:order-1")).to_have_attribute("aria-current", "true")
    assert at.ask("(panel.focus.address, panel.focus.key)") == "('1.2', 'order-1')"
    expect(cell(at, "1.2/key:order-1")).to_be_focused()
    at.page.keyboard.press("ArrowDown")
    expect(cell(at, "1.3/key:order-1")).to_be_focused()
    at.page.keyboard.press("ArrowRight")
    at.page.keyboard.press("Enter")
    expect(cell(at, "1.3/key:order-2")).to_have_attribute("aria-current", "true")
    assert at.ask("(panel.focus.address, panel.focus.key)") == "('1.3', 'order-2')"
    at.page.keyboard.press("Home")
    expect(cell(at, "1.3")).to_be_focused()
    at.page.keyboard.press("ArrowUp")
    at.page.keyboard.press("Space")
    assert at.ask("panel.focus.address") == "'1.2'"
    expect(at.panel.locator("[role=grid] [tabindex='0']")).to_have_count(1)


@pytest.mark.parametrize("theme", ["Light"], indirect=True)
def test_both_are_switched_on_below_a_stepper_and_share_its_focus(
    show: Callable[[str], Opened], picture: Picture
) -> None:
    at = show("below")
    at.panel.get_by_role("checkbox", name="turn × key table").check()
    cell(at, "1.2/key:order-1").click()
    expect(at.turn(2)).to_have_attribute("aria-current", "true")
    expect(at.panel).to_contain_text("order-1: last written in")
    at.turn(5).click()
    expect(cell(at, "1.5/key:order-1")).to_have_attribute("aria-current", "true")
    at.panel.get_by_role("checkbox", name="limits").check()
    box(at, "Keys").fill("4")
    at.page.keyboard.press("Enter")
    at.panel.get_by_role("button", name="would be refused in turn 4").click()
    expect(at.turn(4)).to_have_attribute("aria-current", "true")
    picture(at, "stepper-below")


@pytest.mark.parametrize("name", ["limits", "table"])
def test_they_can_be_read_and_heard(show: Callable[[str], Opened], picture: Picture, name: str) -> None:
    at = show(name)
    if name == "limits":
        drawn = at.panel.get_by_role("img").get_attribute("src")
        box(at, "Keys").fill("4")
        at.page.keyboard.press("Enter")
        expect(at.panel.get_by_role("img")).not_to_have_attribute("src", drawn or "")
        expect(at.panel).to_contain_text("would be refused")
    picture(at, {"limits": "limits-broken", "table": "turn-key-table"}[name])
    found = at.panel.evaluate(CONTRAST)
    assert len(found) > 20
    assert [each for each in found if each[0] < LEAST] == []
    assert UNNAMED.findall(at.panel.aria_snapshot()) == []


@pytest.mark.parametrize("theme", ["Light"], indirect=True)
@pytest.mark.parametrize("name", ["limits", "table"])
def test_nothing_overflows_at_800_pixels_and_at_150_percent(
    show: Callable[[str], Opened], picture: Picture, name: str
) -> None:
    """At 150 % a window of 1,200 pixels has 800 to show things in, and one of 800 has 533."""
    at = show(name)
    try:
        for width in (800, 533):
            at.page.set_viewport_size({"width": width, "height": 1300})
            assert at.panel.evaluate(WIDER) == []
            picture(at, f"{name}-{width}")
    finally:
        at.page.set_viewport_size(WIDE)
