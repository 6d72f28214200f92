"""Whatever a user's key, value, id, error text, local or code holds, it is shown as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.views.making import started, typed
from tests.views.pages import Page
from workbench.recordings import Recording, open_source
from workbench.recordings.replay import Replay
from workbench.run import Outcome, Run
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import divergence, history, outcome, recording, replay, run, source, turn

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</style></div></td></table><script>alert(1)</script>",
    '" onmouseover="alert(1)" x="',
    "'><svg onload=alert(1)>",
    "&lt;b&gt;&amp;",
    "<!-- -->]]>",
    "nul\0nul",
    "exe\u202egnp.\u2066x\u2069",
    "שלום <b>",
    "x" * 1_000_000,
]
TABLES = {"caption", "table", "tbody", "td", "th", "thead", "tr"}
TAGS = TABLES | {"bdi", "br", "del", "details", "div", "ins", "p", "pre", "span", "style", "summary"}
ATTRIBUTES = {"class", "scope", "role", "tabindex", "data-focus", "style", "title"}


class Shown(msgspec.Struct):
    """One hostile text in every place where a user's text can stand."""

    recording: Recording
    replay: Replay
    run: Run
    turn: Turn
    diverged: Turn
    outcome: Outcome


def made(hostile: str) -> Shown:
    source_text = (
        f"# {hostile!r}\n"
        "def flow(ctx, given):\n"
        "    seen = ctx.get_kv_value(given)\n"
        "    ctx.set_kv_value(given, given)\n"
        f"    ctx.set_custom_status(given)  # {hostile[:60]!r}\n"
        "    yield ctx.schedule_activity('Work', given)\n"
        "    raise ValueError(given)\n"
    )
    limits = Limits(kv_value_bytes=10_000_000, custom_status_bytes=10_000_000)
    instance = hostile if "\0" not in hostile else hostile.replace("\0", "")
    begun = started(source_text, given=hostile, instance_id=instance, limits=limits)
    first = begun.turn()
    ended = begun.finish()
    recorded = begun.recording()
    other = typed(source_text.replace("ctx.set_kv_value(given, given)", "ctx.set_kv_value(given, given + given)"))
    diverged = recorded.replay(other, keep_locals=True)
    assert diverged.divergence is not None
    return Shown(recorded, diverged, begun, first, diverged.turns[-1], ended)


@pytest.fixture(scope="module", params=HOSTILE, ids=range(len(HOSTILE)))
def shown(request: pytest.FixtureRequest) -> Shown:
    made_once: Shown = made(request.param)
    return made_once


RENDERINGS: dict[str, Callable[[Shown], str]] = {
    "turn": lambda shown: turn.html(shown.turn),
    "diverged turn": lambda shown: turn.html(shown.diverged),
    "divergence": lambda shown: divergence.html(shown.replay.divergence),  # type: ignore[arg-type]
    "replay": lambda shown: replay.html(shown.replay),
    "run": lambda shown: run.html(shown.run),
    "recording": lambda shown: recording.html(shown.recording),
    "history": lambda shown: history.html(shown.recording),
    "outcome": lambda shown: outcome.html(shown.outcome),
}
TEXTS: dict[str, Callable[[Shown], str]] = {
    "turn": lambda shown: turn.text(shown.turn),
    "diverged turn": lambda shown: turn.text(shown.diverged),
    "replay": lambda shown: replay.text(shown.replay),
    "run": lambda shown: run.text(shown.run),
    "recording": lambda shown: recording.text(shown.recording),
    "history": lambda shown: history.text(shown.recording),
    "outcome": lambda shown: outcome.text(shown.outcome),
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_hostile_text_adds_no_element_and_no_attribute(shown: Shown, name: str) -> None:
    html = RENDERINGS[name](shown)
    page = Page(html)
    assert {each.tag for each in page.elements} <= TAGS
    names = {attribute for each in page.elements for attribute in each.attributes}
    assert {each for each in names if not each.startswith("aria-")} <= ATTRIBUTES
    assert len(page.all("style")) == 1
    assert len(html) < 100_000
    assert not set(html) & set("\0\u202e\u2066\u2067\u2068\u2069")


@pytest.mark.parametrize("name", RENDERINGS)
def test_a_hostile_rendering_is_the_same_twice(shown: Shown, name: str) -> None:
    assert RENDERINGS[name](shown) == RENDERINGS[name](shown)


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_stays_in_its_line(shown: Shown, name: str) -> None:
    text = TEXTS[name](shown)
    assert len(text) < 20_000
    assert not set(text) & set("\0\x1b\r\u202e\u2066\u2067")


def test_a_hostile_value_is_read_as_what_it_is() -> None:
    page = Page(turn.html(made(HOSTILE[0]).turn))
    cells = [each.text for each in page.all("td")]
    assert HOSTILE[0] in cells
    assert f'set {HOSTILE[0]} = "{HOSTILE[0]}"' in [each.text for each in page.focusable()]


def test_a_hostile_source_lists_as_text(shown: Shown, tmp_path: Path) -> None:
    path = tmp_path / "<img src=x onerror=alert(1)>.json"
    shown.recording.to_json(path)
    with open_source(path) as opened:
        page = Page(source.html(opened))
        assert {each.tag for each in page.elements} <= TAGS
        assert page.all("div")[1].text.startswith("<img src=x onerror=alert(1)>.json")
        assert len(source.text(opened)) < 20_000
