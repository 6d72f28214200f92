"""The notebook as it is open in JupyterLab, with the panel that one of its cells shows."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import TOKEN
from tests.browser.notebooks import position

SECONDS = 1000
LONGEST_WAIT = 15 * SECONDS

READY = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.revealed;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
CHANGE_THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
RUN_CELL = """([index, wait]) => {
  const app = window.jupyterapp;
  app.shell.currentWidget.content.activeCellIndex = index;
  const done = app.commands.execute('notebook:run-cell');
  return wait ? done : true;
}"""
ASK = """async (expression) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const asked = kernel.requestExecute({code: '', user_expressions: {answer: expression}, store_history: false});
  const answer = (await asked.done).content.user_expressions.answer;
  if (answer.status !== 'ok') throw new Error(answer.evalue);
  return answer.data['text/plain'];
}"""
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


class Opened:
    """The notebook. `errors` are those that the page threw; there should never be one.

    `where` is the part of the address that opens one file: `doc/tree` in JupyterLab, `notebooks` in Notebook 7.
    """

    def __init__(self, page: Page, address: str, notebook: str, where: str = "doc/tree") -> None:
        self.page = page
        self.errors: list[str] = []
        self.cell = page.locator(".jp-CodeCell").first
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.set_default_timeout(LONGEST_WAIT)
        page.goto(f"{address}/{where}/{notebook}?token={TOKEN}")
        page.wait_for_function("window.jupyterapp?.shell?.currentWidget?.sessionContext")
        page.evaluate(READY)

    def use_theme(self, theme: str) -> None:
        """Change to JupyterLab's light or dark theme."""
        self.page.evaluate(CHANGE_THEME, f"JupyterLab {theme}")
        self.page.wait_for_function(f"document.body.dataset.jpThemeLight === '{str(theme == 'Light').lower()}'")

    def show(self, name: str) -> Opened:
        """Run one cell and nothing else: a new panel in the state it opens in."""
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        self.cell = self.page.locator(".jp-CodeCell").nth(position(name))
        self.run_cell(name)
        expect(self.panel.locator(".workbench-strip")).to_be_visible()
        return self

    def run_cell(self, name: str, wait: bool = True) -> None:
        """Run a cell; without `wait` go on at once."""
        self.page.evaluate(RUN_CELL, [position(name), wait])

    def ask(self, expression: str) -> Any:
        """What the kernel says an expression is, as text."""
        return self.page.evaluate(ASK, expression)

    def prompt(self, name: str) -> Locator:
        """What stands before a cell: `[*]:` while it runs."""
        return self.page.locator(".jp-CodeCell").nth(position(name)).locator(".jp-InputPrompt").first

    def close(self) -> None:
        """End the kernel and the page."""
        self.page.evaluate(SHUT_DOWN)
        self.page.close()

    # The parts of the panel.

    @property
    def panel(self) -> Locator:
        """The panel."""
        return self.cell.locator(".workbench-panel")

    def turn(self, number: int) -> Locator:
        """A turn in the strip."""
        return self.panel.locator(f'.workbench-strip [data-focus="1.{number}"]')

    def key(self, name: str) -> Locator:
        """A key in the table of keys."""
        return self.panel.locator(f'th[scope=row] [data-focus="key:{name}"]').last

    def operation(self, words: str) -> Locator:
        """An operation or a read of the turn that is looked at, by its words."""
        return self.panel.locator("tbody th").get_by_role("button", name=words, exact=True)

    def button(self, name: str) -> Locator:
        """A button of the bar."""
        return self.panel.get_by_role("button", name=name, exact=True)

    def tab_to(self, target: Locator, most: int = 80) -> None:
        """Press Tab until the target has the keyboard."""
        for _ in range(most):
            if target.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{target} cannot be reached with Tab")

    def press(self, target: Locator, key: str = "Enter") -> None:
        """Go to the target with Tab and press a key on it."""
        self.tab_to(target)
        self.page.keyboard.press(key)
