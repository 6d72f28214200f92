"""The stepper in JupyterLab: with the mouse, with the keyboard alone, beside a busy cell, on a run and a recording."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Picture

pytestmark = pytest.mark.browser
WROTE = 'counter: last written in turn 1.2, event 5, line 4: set to "2"'


def test_a_click_on_a_turn_an_operation_and_a_key_moves_the_focus(show: Open, picture: Picture) -> None:
    at = show("live")
    expect(at.turn(3)).to_have_attribute("aria-current", "true")
    at.turn(2).click()
    expect(at.panel).to_contain_text("Turn 2 · woken by activity Noop completed (event 4), 2 new operations")
    assert at.ask("panel.focus.address") == "'1.2'"
    at.operation('set counter = "2"').click()
    expect(at.panel.locator(".workbench-looked-at")).to_contain_text("→ 4 ×2")
    assert at.ask("panel.focus.address") == "'1.2.1'"
    at.key("counter").click()
    expect(at.panel).to_contain_text(WROTE)
    assert at.ask("panel.focus.key") == "'counter'"
    picture(at, "stepper-turn")


def test_tab_and_enter_do_the_same(show: Open) -> None:
    at = show("live")
    at.panel.get_by_role("button", name="First").focus()
    at.press(at.turn(2))
    expect(at.panel).to_contain_text("Turn 2 · woken by activity Noop completed (event 4), 2 new operations")
    expect(at.turn(2)).to_be_focused()
    at.press(at.operation('set counter = "2"'))
    expect(at.panel.locator(".workbench-looked-at")).to_contain_text("→ 4 ×2")
    expect(at.operation('set counter = "2"')).to_be_focused()
    at.press(at.key("counter"))
    expect(at.panel).to_contain_text(WROTE)
    expect(at.key("counter")).to_be_focused()
    assert at.ask("(panel.focus.address, panel.focus.key)") == "('1.2.1', 'counter')"


def test_the_button_runs_the_next_turn_to_the_end(show: Open) -> None:
    at = show("live")
    at.button("Run next turn ▶").click()
    expect(at.turn(4)).to_have_attribute("aria-current", "true")
    expect(at.panel).to_contain_text("Turn 4 · woken by activity Noop completed (event 10), 2 new operations")
    at.button("Run next turn ▶").focus()
    at.page.keyboard.press("Enter")
    expect(at.turn(5)).to_have_attribute("aria-current", "true")
    expect(at.button("Run next turn ▶")).to_be_focused()
    at.page.keyboard.press("Enter")
    expect(at.panel).to_contain_text('✓ completed with "5"')
    expect(at.button("Next turn ▶")).to_be_disabled()
    # The button that had the keyboard is gone: it is with the turn now, not with the notebook.
    expect(at.turn(6)).to_be_focused()
    assert at.ask("(panel.focus.address, len(run.turns), run.output)") == "('1.6', 6, '5')"


def test_arrows_go_from_turn_to_turn_and_the_keyboard_goes_with_them(show: Open) -> None:
    at = show("live")
    at.turn(3).focus()
    at.page.keyboard.press("ArrowLeft")
    expect(at.turn(2)).to_be_focused()
    at.page.keyboard.press("ArrowLeft")
    expect(at.turn(1)).to_be_focused()
    expect(at.panel).to_contain_text("Turn 1 · woken by the start of Counter (event 1), 2 new operations")
    at.page.keyboard.press("ArrowLeft")
    at.page.keyboard.press("ArrowRight")
    expect(at.turn(2)).to_be_focused()
    at.operation("get counter → 1").focus()
    at.page.keyboard.press("ArrowDown")
    expect(at.operation('set counter = "2"')).to_be_focused()
    at.page.keyboard.press("ArrowRight")
    expect(at.operation('set counter = "3"')).to_be_focused()
    assert at.ask("panel.focus.address") == "'1.3'"


def test_the_box_takes_a_number_and_says_when_there_is_no_such_turn(show: Open) -> None:
    at = show("live")
    box = at.panel.get_by_role("textbox", name="Turn")
    at.tab_to(box)
    at.page.keyboard.press("Control+a")
    at.page.keyboard.type("1")
    at.page.keyboard.press("Enter")
    expect(at.turn(1)).to_have_attribute("aria-current", "true")
    box.fill("9")
    box.press("Enter")
    expect(at.panel.get_by_role("alert")).to_have_text(
        "LookupError: there is no turn '9'; the last ones are 1.1, 1.2, 1.3"
    )
    expect(box).to_have_value("1")
    at.turn(2).click()
    expect(at.panel.get_by_role("alert")).to_have_count(0)


def test_switches_show_all_keys_locals_and_the_chart(show: Open, picture: Picture) -> None:
    at = show("live")
    at.panel.get_by_role("checkbox", name="locals").check()
    expect(at.panel).to_contain_text("locals _=2  n=2  rounds=5")
    at.press(at.panel.get_by_role("checkbox", name="all keys"), "Space")
    expect(at.panel).to_contain_text("Key-value store after turn 3")
    expect(at.panel).not_to_contain_text("changed keys")
    at.panel.get_by_role("checkbox", name="limits").check()
    expect(at.panel.get_by_role("img")).to_have_attribute(
        "alt", "keys, largest value, all keys and values, history over 3 turns"
    )
    picture(at, "stepper-chart")


def test_the_panel_answers_while_a_cell_is_busy(show: Open) -> None:
    at = show("live")
    at.run_cell("busy", wait=False)
    expect(at.prompt("busy")).to_contain_text("*")
    at.turn(2).click()
    expect(at.panel).to_contain_text("Turn 2 · woken by activity Noop completed (event 4)")
    at.button("Last").click()
    expect(at.turn(3)).to_have_attribute("aria-current", "true")
    at.key("counter").click()
    expect(at.panel).to_contain_text("counter: last written in turn 1.3")
    at.button("Run next turn ▶").click()
    expect(at.panel).to_contain_text("Turn 4 · woken by activity Noop completed (event 10), 2 new operations")
    expect(at.prompt("busy"), "the panel answered only when the cell had ended").to_contain_text("*", timeout=1)
    expect(at.panel.get_by_role("alert")).to_have_count(0)
    expect(at.prompt("busy")).not_to_contain_text("*")
    assert at.ask("(panel.focus.address, panel.focus.key, panel.error, len(run.turns))") == (
        "('1.4', 'counter', None, 4)"
    )


def test_a_diverged_run_opens_where_it_diverged(show: Open, picture: Picture) -> None:
    at = show("diverged")
    expect(at.turn(2)).to_have_attribute("aria-current", "true")
    expect(at.panel.get_by_role("group", name="divergence")).to_contain_text("the snapshot is poisoned")
    expect(at.button("Next turn ▶")).to_be_disabled()
    picture(at, "stepper-diverged")


def test_a_recording_stops_at_its_last_turn(show: Open, picture: Picture) -> None:
    at = show("recorded")
    expect(at.button("Next turn ▶")).to_be_disabled()
    at.button("◀ Previous turn").click()
    expect(at.panel).to_contain_text("Turn 3 · woken by event approval (event 9)")
    expect(at.button("Next turn ▶")).to_be_enabled()
    picture(at, "stepper-recording")


def test_without_code_events_and_keys_are_shown(show: Open, picture: Picture) -> None:
    at = show("view only")
    expect(at.panel).to_contain_text("No code was given: the turn is shown from its events alone.")
    expect(at.panel.get_by_role("checkbox", name="locals")).to_be_disabled()
    at.turn(2).click()
    expect(at.panel).to_contain_text("Turn 2 · begins with activity Reserve completed")
    picture(at, "stepper-view-only")
