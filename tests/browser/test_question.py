"""A prediction question in JupyterLab, with the keyboard alone; and what the magics show of changed code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import ARTEFACTS, Picture
from tests.browser.notebooks import position
from tests.browser.opened import Opened

pytestmark = pytest.mark.browser


@pytest.fixture
def asked(notebook: Opened, theme: str) -> Iterator[Opened]:
    """The question, asked anew."""
    yield run(notebook, "question")
    assert notebook.errors == []


def run(notebook: Opened, name: str) -> Opened:
    notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    notebook.cell = notebook.page.locator(".jp-CodeCell").nth(position(name))
    notebook.run_cell(name)
    return notebook


def choice(at: Opened, number: int) -> Locator:
    return at.panel.locator(f'[data-focus="choice:{number}"]')


def test_it_is_answered_with_the_keyboard_alone(asked: Opened, picture: Picture) -> None:
    expect(asked.panel.get_by_role("group", name="Turn 2. Line 3 runs again")).to_be_visible()
    picture(asked, "question")
    cells = asked.page.locator(".jp-CodeCell").count()
    choice(asked, 0).focus()
    asked.page.keyboard.press("Enter")
    expect(asked.panel.get_by_role("alert")).to_contain_text("Not that one")
    expect(choice(asked, 0)).to_be_focused()
    expect(choice(asked, 0)).to_have_attribute("aria-pressed", "true")
    picture(asked, "question-wrong")
    asked.page.keyboard.press("ArrowDown")
    asked.page.keyboard.press(" ")
    expect(asked.panel.get_by_role("alert")).to_contain_text("Yes. The engine loads kv_store")
    assert asked.ask("panel.is_right") == "True"
    asked.page.keyboard.press("Tab")
    asked.page.keyboard.press("Tab")
    asked.page.keyboard.press("Enter")
    expect(asked.panel.locator("details")).to_have_attribute("open", "")
    picture(asked, "question-right")
    for key in ("a", "d", "d"):
        asked.page.keyboard.press(key)
    assert asked.page.locator(".jp-CodeCell").count() == cells


def test_a_click_answers_it_too(asked: Opened) -> None:
    choice(asked, 1).click()
    expect(asked.panel.get_by_role("alert")).to_contain_text("Yes.")
    assert asked.ask("panel.chosen") == """'`"1"`, which line 4 wrote in turn 1'"""


def test_changed_code_shows_where_instances_in_flight_would_diverge(notebook: Opened, theme: str) -> None:
    run(notebook, "begun")
    shown = notebook.cell.locator(".workbench")
    expect(shown).to_contain_text("Key-value store of flow-2")
    run(notebook, "changed")
    shown = notebook.cell.locator(".workbench")
    expect(shown).to_contain_text("Flow 1.0.0 has other code now")
    expect(shown).to_contain_text("flow, line 3")
    ARTEFACTS.mkdir(exist_ok=True)
    shown.screenshot(path=ARTEFACTS / f"changed-code-{theme.lower()}.png", animations="disabled")
    assert notebook.errors == []
