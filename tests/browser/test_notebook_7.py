"""The stepper in Notebook 7: shown, clicked, used with the keyboard alone, in both themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import ARTEFACTS, WIDE
from tests.browser.lab import jupyter
from tests.browser.notebooks import write_notebook
from tests.browser.opened import Opened

pytestmark = pytest.mark.browser

CELLS = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets;
  return cells.map(cell => [cell.model.type, cell.model.sharedModel.source, cell.model.executionCount]);
}"""
LISTEN = """() => {
  window.ran = [];
  window.jupyterapp.commands.commandExecuted.connect((_, each) => window.ran.push(each.id));
}"""


@pytest.fixture(scope="module")
def notebook_7(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The notebook of the browser tests in Notebook 7; nothing may be thrown, nothing be on stderr."""
    root = tmp_path_factory.mktemp("notebook-7")
    write_notebook(root / "panels.ipynb")
    with jupyter(root, "notebook") as address:
        opened = Opened(browser.new_page(viewport=WIDE), address, "panels.ipynb", "notebooks")
        opened.page.wait_for_load_state("networkidle")
        opened.errors.clear()  # Notebook 7.6 throws one of its own (reading 'schema') while it starts
        yield opened
        assert opened.errors == []
        assert opened.page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        opened.close()


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_the_stepper_is_stepped_by_click_and_by_key(notebook_7: Opened, theme: str) -> None:
    notebook_7.use_theme(theme)
    at = notebook_7.show("live")
    expect(at.turn(3)).to_have_attribute("aria-current", "true")
    at.turn(1).click()
    expect(at.turn(1)).to_have_attribute("aria-current", "true")
    at.panel.get_by_role("button", name="First").focus()
    at.press(at.button("Next turn ▶"))
    expect(at.turn(2)).to_have_attribute("aria-current", "true")
    at.press(at.turn(3))
    expect(at.turn(3)).to_have_attribute("aria-current", "true")
    at.press(at.button("Run next turn ▶"))
    expect(at.turn(4)).to_have_attribute("aria-current", "true")
    ARTEFACTS.mkdir(exist_ok=True)
    at.panel.screenshot(path=ARTEFACTS / f"notebook-7-{theme.lower()}.png", animations="disabled")
    assert at.ask("panel.focus.address") == "'1.4'"


def test_letters_typed_at_the_panel_are_no_commands_of_the_notebook(notebook_7: Opened) -> None:
    at = notebook_7.show("live")
    before = at.page.evaluate(CELLS)
    for control in (at.turn(3), at.button("First"), at.panel.get_by_role("textbox", name="Turn")):
        control.focus()
        expect(control).to_be_focused()
        for key in ("a", "b", "b", "x", "d", "d", "m", "1", "Shift+Enter", "Control+Enter"):
            at.page.keyboard.press(key)
        assert at.page.evaluate(CELLS) == before


def test_saving_and_escape_reach_the_notebook(notebook_7: Opened) -> None:
    at = notebook_7.show("live")
    at.page.evaluate(LISTEN)
    at.turn(3).focus()
    at.page.keyboard.press("Control+s")
    assert at.page.evaluate("() => window.ran.splice(0)") == ["docmanager:save"]
    at.page.keyboard.press("Escape")
    expect(at.turn(3)).not_to_be_focused()
    at.page.keyboard.press("a")
    assert "notebook:insert-cell-above" in at.page.evaluate("() => window.ran.splice(0)")
