"""Whatever a key, a value, an id, an error text or a local holds, every panel shows it as text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.panels.reading import click, current, shown
from tests.views.making import started, typed
from tests.views.pages import Page
from tests.views.test_hostile import ATTRIBUTES, HOSTILE, TAGS
from workbench.panels.poisoning import PoisoningPanel
from workbench.panels.stepper import Stepper
from workbench.panels.turn_panel import TurnPanel
from workbench.run import Run
from workbench.runtime.limits import Limits
from workbench.session import Workbench
from workbench.views.markup import instance_address
from workbench.views.poisoning import Pair

LIMITS = Limits(kv_keys=100, kv_value_bytes=10_000_000, custom_status_bytes=10_000_000)
CODE = """\
def flow(ctx, given):
    for text in given:
        seen = ctx.get_kv_value(text)
        ctx.set_kv_value(text, text if seen is None else seen + text)
        yield ctx.schedule_activity("Noop", text)
    raise ValueError("".join(given))
"""
PARENT = """\
def parent(ctx, names):
    yield ctx.all([ctx.schedule_sub_orchestration_with_id("Child", each, each) for each in names])
"""
TEXTS = {"short": [each for each in HOSTILE if len(each) < 100], "long": [each for each in HOSTILE if len(each) >= 100]}


@pytest.fixture(scope="module", params=TEXTS)
def texts(request: pytest.FixtureRequest) -> list[str]:
    """Hostile texts, each of which is a key, a value, an activity's input and a local."""
    return TEXTS[request.param]


@pytest.fixture(scope="module")
def run(texts: list[str]) -> Run:
    """An instance whose id and error text hold them all."""
    begun = started(CODE, given=texts, instance_id="".join(texts).replace("\0", ""), limits=LIMITS)
    begun.finish()
    return begun


@pytest.fixture
def stepper(run: Run) -> Iterator[Stepper]:
    with run.stepper() as opened:
        opened._locals.value = True
        opened._every_key.value = True
        yield opened


@pytest.fixture(scope="module")
def pair(texts: list[str]) -> Pair:
    with Workbench(limits=LIMITS) as wb:
        wb.activity("Noop")(lambda _, value: value)
        with wb.poisoning(typed(CODE), texts) as opened:
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


def keys_of(panel: TurnPanel) -> list[str]:
    """The addresses of the keys that the panel shows, each once."""
    every = (str(each.attributes["data-focus"]) for each in Page(shown(panel)).focusable())
    return list(dict.fromkeys(each for each in every if each.startswith("key:")))


def test_a_stepper_shows_it_as_text_wherever_one_looks(stepper: Stepper, texts: list[str]) -> None:
    assert len(stepper.turns) == len(texts) + 1
    for turn in stepper.turns:
        click(stepper, turn.address)
        check(stepper)
    click(stepper, "1.1.1")
    check(stepper)


def test_the_address_that_a_stepper_shows_leads_back_to_its_moment(stepper: Stepper) -> None:
    stepper.goto("1.1.1")
    address = stepper.where().partition("@1.1.1 · ")[0] + "@1.1.1"
    stepper.last()
    stepper.goto(address)
    assert stepper.focus.address == "1.1.1"


def test_children_of_any_name_are_opened_by_what_is_clicked_and_left_again(texts: list[str]) -> None:
    names = [each.replace("\0", "") for each in texts]
    wb = Workbench(limits=LIMITS)
    wb.orchestration("Child")(typed("def child(ctx, name):\n    yield ctx.wait_for_event(name)\n", "<child>"))
    wb.orchestration("Parent")(typed(PARENT, "<parent>"))
    run = wb.start("Parent", names)
    run.turn()
    with run.stepper() as at:
        for name in names:
            address = instance_address(name)
            assert address in [each.attributes["data-focus"] for each in Page(shown(at)).focusable()]
            click(at, address)
            assert at.error is None
            at.next()
            assert at.turns[0].instance_id == name
            check(at)
            click(at, instance_address(run.instance_id))
            check(at)
            assert at.focus.address == "1.1"


def test_a_stepper_finds_every_key_by_what_is_clicked(stepper: Stepper, texts: list[str]) -> None:
    found = []
    for address in keys_of(stepper):
        click(stepper, address)
        found.append(stepper.focus.key)
        assert address in current(stepper)
        check(stepper)
    assert sorted(map(str, found)) == sorted(texts)


def test_the_poisoning_panel_shows_it_as_text_wherever_one_looks(poisoning: PoisoningPanel, texts: list[str]) -> None:
    assert poisoning.focus.address == "1.2"
    check(poisoning)
    click(poisoning, keys_of(poisoning)[0])
    assert poisoning.focus.key == texts[0]
    check(poisoning)
    poisoning.first()
    check(poisoning)


def test_the_plain_text_stays_in_its_lines(poisoning: PoisoningPanel) -> None:
    for text in (poisoning.text(), repr(poisoning)):
        assert len(text) < 20_000
        assert not set(text) & set("\0\x1b\r\u202e\u2066\u2067")
