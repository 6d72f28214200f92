"""Whatever a key, a value, an id, an error text or a local holds, every panel shows it as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.panels.reading import click, current, shown
from tests.views.making import started, typed
from tests.views.pages import Page
from tests.views.test_hostile import ATTRIBUTES, HOSTILE, TAGS
from workbench.panels.poisoning import PoisoningPanel
from workbench.panels.turn_panel import TurnPanel
from workbench.runtime.limits import Limits
from workbench.session import Workbench
from workbench.views.poisoning import Pair

LIMITS = Limits(kv_value_bytes=10_000_000, custom_status_bytes=10_000_000)
CODE = """\
def flow(ctx, given):
    seen = ctx.get_kv_value(given)
    ctx.set_kv_value(given, given if seen is None else seen + given)
    yield ctx.schedule_activity("Noop", given)
    raise ValueError(given)
"""


@pytest.fixture(scope="module", params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> str:
    text: str = request.param
    return text


@pytest.fixture
def stepper(hostile: str) -> Iterator[TurnPanel]:
    run = started(CODE, given=hostile, instance_id=hostile.replace("\0", ""), limits=LIMITS)
    run.finish()
    with run.stepper() as opened:
        opened._locals.value = True
        opened._every_key.value = True
        yield opened


@pytest.fixture(scope="module")
def pair(hostile: str) -> Pair:
    with Workbench(limits=LIMITS) as wb:
        wb.activity("Noop")(lambda _, value: value)
        with wb.poisoning(typed(CODE), hostile) as opened:
            return opened.pair


@pytest.fixture
def poisoning(pair: Pair) -> Iterator[PoisoningPanel]:
    with PoisoningPanel(pair.first, pair.fixed) as opened:
        yield opened


def check(panel: TurnPanel) -> None:
    html = panel.static_html()
    page = Page(html)
    assert {each.tag for each in page.elements} <= TAGS
    names = {attribute for each in page.elements for attribute in each.attributes}
    assert {each for each in names if not each.startswith("aria-")} <= ATTRIBUTES
    assert len(page.all("style")) == 1
    assert len(html) < 100_000
    assert not set(html) & set("\0\u202e\u2066\u2067\u2068\u2069")
    assert html == shown(panel)


def key_of(panel: TurnPanel) -> str:
    return next(str(each) for each in all_targets(panel) if each.startswith("key:"))


def all_targets(panel: TurnPanel) -> list[str]:
    return [str(each.attributes["data-focus"]) for each in Page(shown(panel)).focusable()]


def test_a_stepper_shows_it_as_text_wherever_one_looks(stepper: TurnPanel, hostile: str) -> None:
    for turn in ("1.1", "1.2"):
        click(stepper, turn)
        check(stepper)
    click(stepper, "1.1.1")
    check(stepper)
    click(stepper, key_of(stepper))
    assert stepper.focus.key == hostile
    assert key_of(stepper) in current(stepper)
    check(stepper)


def test_the_poisoning_panel_shows_it_as_text_wherever_one_looks(poisoning: PoisoningPanel, hostile: str) -> None:
    assert poisoning.focus.address == "1.2"
    check(poisoning)
    click(poisoning, key_of(poisoning))
    assert poisoning.focus.key == hostile
    check(poisoning)
    poisoning.first()
    check(poisoning)


def test_the_plain_text_stays_in_its_lines(poisoning: PoisoningPanel) -> None:
    for text in (poisoning.text(), repr(poisoning)):
        assert len(text) < 20_000
        assert not set(text) & set("\0\x1b\r\u202e\u2066\u2067")
