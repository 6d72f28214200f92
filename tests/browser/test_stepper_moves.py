"""The stepper's longer ways in JupyterLab: across turns and executions, along a key, to a child and back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import WIDE, Open, Picture

pytestmark = pytest.mark.browser
FORBID = """() => {
  document.execCommand = () => false;
  navigator.clipboard.writeText = () => Promise.reject(new Error("not allowed"));
}"""
CUT_OFF = """panel => {
  const edge = panel.getBoundingClientRect();
  return [...panel.querySelectorAll("button, input, .workbench-head > *, .workbench-strip > *, .workbench-part")]
    .filter((each) => {
      const box = each.getBoundingClientRect();
      return box.left < edge.left || box.right > edge.right + 1;
    })
    .map((each) => each.outerHTML.slice(0, 80));
}"""
ALLOW = "() => { delete document.execCommand; delete navigator.clipboard.writeText; }"


def test_a_pinned_key_is_followed_from_change_to_change(show: Open, picture: Picture) -> None:
    at = show("family")
    expect(at.button("‹ Change")).to_be_disabled()
    expect(at.panel).to_contain_text("no key pinned: click one")
    at.button("First").click()
    at.key("state").click()
    expect(at.panel).to_contain_text("pinned: state unpin")
    expect(at.button("‹ Change")).to_be_disabled()
    at.button("Change ›").click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@1.5")
    expect(at.panel).to_contain_text("next written in turn 2.1")
    picture(at, "stepper-pinned")
    at.panel.get_by_role("button", name="next: turn 2.1").click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@2.1.1")
    at.panel.get_by_role("button", name="unpin the key state").focus()
    at.page.keyboard.press("Enter")
    expect(at.button("Change ›")).to_be_disabled()
    expect(at.panel).to_contain_text("no key pinned: click one")


def test_a_child_is_opened_and_left_again_by_keyboard_alone(show: Open, picture: Picture) -> None:
    at = show("family")
    at.button("First").focus()
    at.page.keyboard.press("Enter")
    expect(at.panel).to_contain_text("⋯ 2 h 5 min idle")
    at.press(at.panel.get_by_role("button", name="open order-42::sub::3"))
    expect(at.panel.locator(".workbench-name")).to_have_text("Payment")
    expect(at.panel).to_contain_text("child of order-42")
    expect(at.panel).to_contain_text("back to order-42@1.1")
    picture(at, "stepper-child")
    at.press(at.panel.get_by_role("button", name="back to order-42@1.1"))
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@1.1")
    at.press(at.panel.get_by_role("button", name="completed in turn 1.3: go there"))
    expect(at.panel).to_contain_text("scheduled in turn 1")
    at.press(at.panel.get_by_role("button", name="sub-orchestration Payment completed (event 5): scheduled in turn 1"))
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@1.1.2")


def test_executions_are_a_chain_and_operations_go_on_across_turns(show: Open) -> None:
    at = show("family")
    at.panel.get_by_role("button", name="execution 2", exact=True).click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@2.1")
    at.button("‹ Operation").click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@1.5.1")
    at.button("Operation ›").click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@2.1.1")


def test_an_address_is_copied_and_taken_by_the_box(show: Open) -> None:
    at = show("family")
    at.button("First").click()
    copied = at.panel.get_by_role("button", name="Copy the address order-42@1.1")
    at.press(copied)
    expect(at.panel.locator(".workbench-copy")).to_have_text("copied")
    at.button("Last").click()
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@3.4")
    box = at.panel.get_by_role("textbox", name="Turn")
    box.focus()
    at.page.keyboard.press("Control+a")
    at.page.keyboard.press("Control+v")
    expect(box).to_have_value("order-42@1.1")
    box.press("Enter")
    expect(at.panel.locator(".workbench-address")).to_have_text("order-42@1.1")
    box.fill("order-42::sub::3@1.2")
    box.press("Enter")
    expect(at.panel.locator(".workbench-name")).to_have_text("Payment")
    box.fill("nobody@1.1")
    box.press("Enter")
    expect(at.panel.get_by_role("alert")).to_contain_text("there is no instance 'nobody'")


def test_where_nothing_may_be_copied_the_address_is_left_selected(show: Open) -> None:
    at = show("live")
    at.page.evaluate(FORBID)
    try:
        at.panel.locator(".workbench-copy").click()
        expect(at.panel.locator(".workbench-copy")).to_have_text("press Ctrl+C")
        assert at.page.evaluate("window.getSelection().toString()") == "counter-1@1.3"
    finally:
        at.page.evaluate(ALLOW)


def test_a_narrow_page_and_a_zoomed_one_cut_nothing_off(show: Open, picture: Picture) -> None:
    at = show("family")
    at.button("First").click()
    at.key("state").click()
    expect(at.panel).to_contain_text("pinned: state unpin")
    try:
        for width in (800, 540):
            at.page.set_viewport_size({"width": width, "height": 1300})
            expect(at.panel.locator(".workbench-address")).to_be_visible()
            assert at.panel.evaluate(CUT_OFF) == []
            picture(at, f"stepper-{width}")
    finally:
        at.page.set_viewport_size(WIDE)
