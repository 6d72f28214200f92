"""One JupyterLab, one chromium, one notebook for all browser tests; each of them shows a panel anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, expect, sync_playwright

from tests.browser.lab import jupyter
from tests.browser.notebooks import write_notebook
from tests.browser.opened import Opened
from tests.notebooks.found import FOLDER, copy_of

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "artefacts"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
WIDE: ViewportSize = {"width": 1200, "height": 1300}

expect.set_options(timeout=15_000)  # a machine may be busy; what is wrong stays wrong

Open = Callable[[str], Opened]
Picture = Callable[[Opened, str], Path]


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """The browser."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def notebook(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The notebook of these tests, open in a JupyterLab that serves it beside a copy of the examples."""
    root = copy_of(FOLDER, tmp_path_factory.mktemp("lab") / "notebooks")
    write_notebook(root / "panels.ipynb")
    with jupyter(root) as address:
        opened = Opened(browser.new_page(viewport=WIDE), address, "panels.ipynb")
        yield opened
        opened.close()


@pytest.fixture(scope="session", params=["Light", "Dark"])
def theme(request: pytest.FixtureRequest, notebook: Opened) -> str:
    """Both themes of JupyterLab, one after the other."""
    name: str = request.param
    notebook.use_theme(name)
    return name


@pytest.fixture
def show(notebook: Opened, theme: str) -> Iterator[Open]:
    """Show a panel, anew for each test; fails if meanwhile the page threw an error or the kernel wrote to stderr."""
    yield notebook.show
    assert notebook.errors == []
    assert notebook.page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0


@pytest.fixture
def picture(theme: str) -> Picture:
    """Keep a picture of a panel among the artefacts, named for what it shows and the theme."""

    def take(opened: Opened, name: str) -> Path:
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}-{theme.lower()}.png"
        opened.page.mouse.move(0, 0)
        opened.panel.screenshot(path=path, animations="disabled")
        return path

    return take
