"""A saved stepper opened from disk: scrubbed with the keyboard alone, in both colour schemes, with hostile values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ARTEFACTS
from tests.browser.test_seen import CONTRAST, LEAST, UNNAMED
from tests.panels.test_hostile import CODE, LIMITS
from tests.views.making import COUNTER, counter, started, typed
from tests.views.test_hostile import HOSTILE
from tests.views.test_saved_page import WORSE
from workbench.session import Workbench

pytestmark = pytest.mark.browser
Scheme = Literal["light", "dark"]
VIOLATIONS = "addEventListener('securitypolicyviolation', e => (window.violations ??= []).push(e.violatedDirective))"


class Saved:
    """A page from disk, and all that it must not do: ask for anything else, throw, or break its policy."""

    def __init__(self, browser: Browser, path: Path, scheme: Scheme, width: int = 1200) -> None:
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 1000}, bypass_csp=False
        )
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text))
        self.page.add_init_script(VIOLATIONS)
        self.address = path.as_uri()
        self.page.goto(self.address)

    def check(self) -> None:
        assert [each.partition("#")[0] for each in self.asked] == [self.address]
        assert self.errors == []
        assert self.page.evaluate("window.violations ?? []") == []
        assert self.page.evaluate("window.hit") is None

    def has_keyboard(self) -> str:
        """What has the keyboard."""
        return str(self.page.evaluate("document.activeElement.id || document.activeElement.dataset.focus"))

    def picture(self, name: str) -> None:
        ARTEFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True, animations="disabled")


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counter of five rounds."""
    run = counter("delta")
    run.finish()
    with run.stepper() as stepper:
        stepper.goto("1.3")
        return Path(stepper.save_html(tmp_path_factory.mktemp("saved") / "counter.html"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every hostile text as key, value, input, local, id and error."""
    texts = [each for each in (*HOSTILE, *WORSE) if not re.search("[\ud800-\udfff]", each)]
    attacks = [text.replace("alert(1)", "window.hit=1") for text in texts]
    run = started(CODE, given=attacks, instance_id="".join(attacks[:8]).replace("\0", ""), limits=LIMITS)
    run.finish()
    with run.stepper() as stepper:
        stepper._locals.value = stepper._every_key.value = True
        return Path(stepper.save_html(tmp_path_factory.mktemp("saved") / "hostile <b>.html"))


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Browser, counted: Path) -> Iterator[Saved]:
    saved = Saved(browser, counted, request.param)
    yield saved
    saved.picture(f"saved-{request.param}")
    saved.check()
    saved.context.close()


def test_it_is_scrubbed_with_the_keyboard_alone(opened: Saved) -> None:
    page = opened.page
    expect(page.locator("#place")).to_have_text("turn 1.3 · 3 of 6")
    expect(page.locator("#body")).to_contain_text("Turn 3 · woken by activity Noop completed (event 7)")
    assert opened.has_keyboard() == "slider"
    page.keyboard.press("ArrowRight")
    expect(page.locator("#place")).to_have_text("turn 1.4 · 4 of 6")
    expect(page.locator("#body")).to_contain_text("Turn 4 · woken by activity Noop completed (event 10)")
    expect(page.locator("#strip [aria-current]")).to_have_attribute("data-focus", "1.4")
    for key, place in (("Home", "1.1 · 1"), ("End", "1.6 · 6"), ("ArrowLeft", "1.5 · 5"), ("PageUp", "1.1 · 1")):
        page.keyboard.press(key)
        expect(page.locator("#place")).to_have_text(f"turn {place} of 6")
    expect(page.get_by_role("button", name="First")).to_be_disabled()
    assert page.url.endswith("#1.1")


def test_buttons_slider_strip_and_table_lead_to_turns(opened: Saved) -> None:
    page = opened.page
    page.get_by_role("button", name="Next turn").click()
    expect(page.locator("#place")).to_have_text("turn 1.4 · 4 of 6")
    page.locator("#strip [data-focus='1.2']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#place")).to_have_text("turn 1.2 · 2 of 6")
    assert opened.has_keyboard() == "1.2"
    page.get_by_role("slider", name="turn").fill("4")
    expect(page.locator("#place")).to_have_text("turn 1.5 · 5 of 6")
    page.get_by_text("turn × key table").click()
    page.locator("#table td", has_text="~ 3").click()
    expect(page.locator("#place")).to_have_text("turn 1.3 · 3 of 6")
    expect(page.locator("#table [aria-current]").first).to_be_visible()
    page.get_by_role("button", name="Last").press("Enter")
    assert opened.has_keyboard() == "slider"


def test_it_can_be_read_and_heard(opened: Saved) -> None:
    page = opened.page
    page.get_by_text("turn × key table").click()
    found = page.locator("main").evaluate(CONTRAST)
    assert len(found) > 40
    assert [each for each in found if each[0] < LEAST] == []
    assert UNNAMED.findall(page.locator("main").aria_snapshot()) == []
    expect(page.get_by_role("slider", name="turn")).to_have_attribute("aria-valuetext", "turn 1.3, 3 of 6")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_divergence_is_in_the_colours_of_the_scheme(browser: Browser, tmp_path: Path, scheme: Scheme) -> None:
    run = counter("per-turn")
    run.finish()
    with run.stepper() as stepper:
        saved = Saved(browser, stepper.save_html(tmp_path / "diverged.html"), scheme)
    border = saved.page.locator(".workbench-card").evaluate("card => getComputedStyle(card).borderLeftColor")
    assert border == {"light": "rgb(213, 94, 0)", "dark": "rgb(240, 138, 69)"}[scheme]
    saved.picture(f"saved-diverged-{scheme}")
    saved.check()
    saved.context.close()


@pytest.mark.parametrize("width", [800, 533])
def test_nothing_overflows_where_there_is_little_room(browser: Browser, counted: Path, width: int) -> None:
    """533 px are what 800 px have to show at 150 %."""
    saved = Saved(browser, counted, "light", width)
    assert saved.page.evaluate("document.documentElement.scrollWidth") <= width
    wider = saved.page.evaluate(
        "() => [...document.querySelectorAll('.workbench-part, #controls, .workbench-head')]"
        ".filter(part => part.scrollWidth > part.clientWidth + 1).map(part => part.textContent.slice(0, 60))"
    )
    assert wider == []
    saved.picture(f"saved-{width}")
    saved.check()
    saved.context.close()


def test_hostile_values_are_text_in_every_turn(browser: Browser, hostile: Path) -> None:
    saved = Saved(browser, hostile, "light")
    page = saved.page
    page.keyboard.press("Home")
    seen = set()
    for _ in range(40):
        assert page.locator("main :is(script, img, svg, b, i, a, iframe, object)").count() == 0
        seen.add(page.locator("#place").text_content())
        if page.get_by_role("button", name="Last").is_disabled():
            break
        page.keyboard.press("ArrowRight")
    assert len(seen) > 15
    expect(page.locator("#body")).to_contain_text("<script>window.hit=1</script>")
    page.keyboard.press("Home")
    saved.picture("saved-hostile")
    saved.check()
    saved.context.close()


def test_the_policy_stops_a_script_that_gets_in_anyway(browser: Browser, counted: Path, tmp_path: Path) -> None:
    """What escaping is for, once without it: neither handler nor script nor picture from elsewhere."""
    attack = "<script>window.hit=1</script><img src='http://127.0.0.1:9/x.png' onerror='window.hit=2'>"
    path = tmp_path / "attacked.html"
    path.write_text(counted.read_text("utf-8").replace("<main", f"{attack}<main", 1), "utf-8")
    saved = Saved(browser, path, "light")
    saved.page.keyboard.press("ArrowRight")
    expect(saved.page.locator("#place")).to_have_text("turn 1.4 · 4 of 6")
    assert saved.page.evaluate("window.hit") is None
    assert set(saved.page.evaluate("window.violations")) >= {"script-src-elem", "img-src"}
    saved.context.close()


def test_without_a_script_the_turn_that_was_looked_at_is_shown(browser: Browser, counted: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(counted.as_uri())
    expect(page.locator("#body")).to_contain_text("Turn 3 · woken by activity Noop completed (event 7)")
    expect(page.locator("#controls")).to_be_hidden()
    context.close()


def test_a_redacted_page_scrubs_as_well(browser: Browser, tmp_path: Path) -> None:
    with Workbench() as wb:
        wb.orchestration("Counter")(typed(COUNTER))
        wb.activity("Noop")(lambda _, value: value)
        run = wb.start("Counter", 3)
        run.finish()
        with run.stepper() as stepper:
            path = stepper.save_html(tmp_path / "hidden.html", redact="values")
    saved = Saved(browser, path, "light")
    saved.page.keyboard.press("Home")
    expect(saved.page.locator("#body")).to_contain_text('set counter = "‹1 B›"')
    saved.picture("saved-redacted")
    saved.check()
    saved.context.close()
