"""While a panel has the keyboard, JupyterLab's shortcuts do nothing; saving and Escape still work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Open
from tests.browser.opened import Opened

pytestmark = [pytest.mark.browser, pytest.mark.parametrize("theme", ["Light"], indirect=True)]

# In JupyterLab: above, below, cut, copy, paste, delete, undo, code, markdown, raw, down, up, edit, find, run …
SHORTCUTS = ["a", "b", "x", "c", "v", "d", "d", "z", "y", "m", "r", "j", "k", "1", "0", "0", "i", "i", "f", "h"]
CHORDS = ["Shift+Enter", "Control+Enter", "Alt+Enter", "Control+Shift+ArrowUp", "Shift+m", "Control+b"]
LISTEN = """() => {
  if (window.run) return;
  window.run = [];
  window.jupyterapp.commands.commandExecuted.connect((_, each) => window.run.push(each.id));
}"""
NOTEBOOK = """() => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  return [notebook.widgets.map(cell => cell.model.type + cell.model.sharedModel.source), notebook.mode,
          notebook.activeCellIndex, notebook.widgets.map(cell => cell.model.executionCount ?? 0)];
}"""


def controls(at: Opened) -> dict[str, Locator]:
    """One of each kind of thing that can have the keyboard."""
    return {
        "button": at.button("First"),
        "checkbox": at.panel.get_by_role("checkbox", name="all keys"),
        "box": at.panel.get_by_role("textbox", name="Turn"),
        "turn": at.turn(2),
        "operation": at.operation("get counter → 2"),
        "key": at.key("counter"),
        "fold": at.panel.locator("summary"),
    }


@pytest.fixture
def commands(notebook: Opened) -> Callable[[], list[str]]:
    """The commands that JupyterLab has run since this was asked last."""
    notebook.page.evaluate(LISTEN)

    def since() -> list[str]:
        ran: list[str] = notebook.page.evaluate("() => window.run.splice(0)")
        return ran

    return since


def test_the_shortcuts_of_jupyterlab_do_nothing_on_any_control(show: Open, commands: Callable[[], list[str]]) -> None:
    at = show("live")
    before = at.page.evaluate(NOTEBOOK)
    for name, control in controls(at).items():
        control.focus()
        commands()
        for key in SHORTCUTS:
            at.page.keyboard.press(key)
        assert commands() == [], name
        if name == "box":
            control.fill("3")
    for name, control in controls(at).items():
        for chord in CHORDS:
            control.focus()
            at.page.keyboard.press(chord)
        assert commands() == [], name
        at.turn(3).click()  # Enter with Shift is still Enter: it pressed the button
    expect(at.operation("get counter → 2")).to_be_visible()
    assert at.page.evaluate(NOTEBOOK) == before


def test_saving_works_while_the_panel_has_the_keyboard(show: Open, commands: Callable[[], list[str]]) -> None:
    at = show("live")
    for name, control in controls(at).items():
        control.focus()
        commands()
        at.page.keyboard.press("Control+s")
        assert commands() == ["docmanager:save"], name


def test_escape_gives_the_keyboard_back_to_the_notebook(show: Open) -> None:
    at = show("live")
    cells = at.page.locator(".jp-Cell").count()
    for control in (at.button("First"), at.panel.get_by_role("textbox", name="Turn"), at.turn(2)):
        control.focus()
        at.page.keyboard.press("Escape")
        expect(control).not_to_be_focused()
        at.page.keyboard.press("b")
        expect(at.page.locator(".jp-Cell")).to_have_count(cells + 1)
        at.page.keyboard.press("z")
        expect(at.page.locator(".jp-Cell")).to_have_count(cells)


def test_tab_goes_through_the_panel_from_top_to_bottom(show: Open) -> None:
    at = show("live")
    at.button("First").focus()
    places: list[float] = []
    for _ in range(30):
        box = at.page.evaluate(
            "() => { const at = document.activeElement;"
            " return at.closest('.workbench-panel') && at.getBoundingClientRect().y }"
        )
        if box is None:
            break
        places.append(box)
        at.page.keyboard.press("Tab")
    assert len(places) > 12
    bar, strip = at.button("First").bounding_box(), at.turn(1).bounding_box()
    assert bar is not None
    assert strip is not None
    in_bar = [place for place in places if place < strip["y"] - 5]
    assert places[: len(in_bar)] == in_bar
    assert min(places[len(in_bar) :]) >= strip["y"] - 1


def test_what_has_the_keyboard_is_seen(show: Open) -> None:
    at = show("live")
    at.button("First").focus()
    for _ in range(16):
        at.page.keyboard.press("Tab")
        outline = at.page.evaluate(
            "() => { const at = document.activeElement, style = getComputedStyle(at);"
            " return [at.textContent || at.tagName, style.outlineStyle, parseFloat(style.outlineWidth)] }"
        )
        assert outline[1:] == ["solid", 2], outline
