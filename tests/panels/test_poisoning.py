"""The poisoning panel: the poisoned read beside the healthy one, and what both designs do turn by turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.panels.reading import buttons, click, current, shown, words
from tests.views.making import COUNTER, typed
from tests.views.pages import Element, Page
from workbench.panels.poisoning import PoisoningPanel
from workbench.session import Workbench
from workbench.views.poisoning import Pair

ONLY_WRITES = """\
def only_writes(ctx, rounds):
    for n in range(rounds):
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return rounds
"""


def poisoning(source: str, rounds: int) -> PoisoningPanel:
    with Workbench() as wb:
        wb.activity("Noop")(lambda _, value: value)
        return wb.poisoning(typed(source), rounds)


@pytest.fixture(scope="module")
def pair() -> Pair:
    with poisoning(COUNTER, 3) as opened:
        return opened.pair


@pytest.fixture
def panel(pair: Pair) -> Iterator[PoisoningPanel]:
    with PoisoningPanel(pair.first, pair.fixed) as opened:
        yield opened


def sides(panel: PoisoningPanel) -> list[Element]:
    return [each for each in Page(shown(panel)).all("div") if each.attributes.get("class") == "workbench-side"]


def test_it_opens_where_the_first_design_diverged(panel: PoisoningPanel) -> None:
    assert panel.focus.address == "1.2"
    explained = 'line 3 read counter = "1" from the snapshot, but event 2 of this same execution wrote that value'
    assert explained in words(panel)


def test_the_poisoned_read_stands_beside_the_healthy_one(panel: PoisoningPanel) -> None:
    first, fixed = (each.text for each in sides(panel))
    assert "read counter → 1, from the snapshot: poisoned by event 2 · ✗ diverged in turn 2" in first
    assert "read counter → nothing, never set · ● running" in fixed
    assert "Turn 2, replaying turn 1" in fixed
    assert "Key-value store given to turn 2" in first
    assert "1 · written by this execution" in first
    assert "Key-value store after turn 2 · changed keys" in fixed


def test_the_strip_marks_the_turn_in_which_the_first_design_diverged(panel: PoisoningPanel) -> None:
    turns = Page(panel._strip.html).focusable()
    assert [each.text for each in turns] == ["▸ 1 +1", "✗ 2 =", "◆ 3 ~1", "◆ 4 ="]
    assert "diverged" in str(turns[1].attributes["aria-label"])


def test_before_the_divergence_both_designs_do_the_same(panel: PoisoningPanel) -> None:
    panel._bar.previous.click()
    assert panel.focus.address == "1.1"
    first, fixed = (each.text for each in sides(panel))
    assert "read counter → nothing, never set · ● running" in first
    assert "read counter → nothing, never set · ● running" in fixed


def test_after_it_the_first_design_has_no_turn_and_says_why(panel: PoisoningPanel) -> None:
    panel._bar.next.click()
    first, fixed = (each.text for each in sides(panel))
    assert "There is no such turn here: it diverged in turn 2." in first
    assert "read counter → 2, set in turn 2, event 5 · ● running" in fixed


def test_the_focus_moves_to_what_is_clicked_and_both_sides_follow(panel: PoisoningPanel) -> None:
    click(panel, "1.1")
    click(panel, "1.1.1")
    assert [each for each in current(panel) if each == "1.1.1"] == ["1.1.1", "1.1.1"]
    assert [each.text.count("→ 4 ×1") for each in sides(panel)] == [1, 1]
    click(panel, "key:counter")
    told = 'counter: last written in turn 1.1, event 2, line 4: set to "1"'
    assert [told in each.text for each in sides(panel)] == [True, True]


def test_the_bar_goes_to_the_ends_and_no_further(panel: PoisoningPanel) -> None:
    panel._bar.last.click()
    assert panel.focus.address == "1.4"
    assert not buttons(panel)["Next turn ▶"]
    panel.next()
    assert panel.focus.address == "1.4"
    panel._bar.number.set_state({"value": "1"})
    assert panel.focus.address == "1.1"
    assert not buttons(panel)["◀ Previous turn"]


def test_code_that_never_reads_is_the_same_on_both_designs() -> None:
    with poisoning(ONLY_WRITES, 2) as panel:
        assert panel.focus.address == "1.3"
        assert "= same" in words(panel)
        assert repr(panel) == (
            "PoisoningPanel at 1.3: only_writes: first design completed with 2; delta design completed with 2"
        )


def test_code_that_waits_for_ever_shows_the_turns_that_it_made() -> None:
    with poisoning("def waits(ctx, _):\n    yield ctx.wait_for_event('never')\n", 1) as panel:
        assert [turn.address for turn in panel.turns] == ["1.1"]
        assert "running" in panel.text()


def test_the_text_has_each_turn_on_both_designs_and_the_explanation(panel: PoisoningPanel) -> None:
    lines = panel.text().splitlines()
    assert lines[:8] == [
        'counter: first design diverged in turn 2; delta design completed with "3"',
        "  1.1       woken by the start of counter (event 1)",
        '  both      read counter → nothing, never set · set counter = "1"',
        "  1.2       woken by activity Noop completed (event 4)",
        "  first     read counter → 1, from the snapshot: poisoned by event 2 · diverged",
        '  delta     read counter → 1, set in turn 1, event 2 · set counter = "2"',
        "  1.3       woken by activity Noop completed (event 7)",
        '  delta     read counter → 2, set in turn 2, event 5 · set counter = "3"',
    ]
    assert "the snapshot is poisoned" in panel.text()
    assert all(len(line) <= 100 for line in lines)


def test_a_turn_that_touches_no_key_says_so() -> None:
    with poisoning("def quiet(ctx, _):\n    yield ctx.schedule_activity('Noop', '')\n", 1) as panel:
        assert panel.text().splitlines()[1:] == [
            "  1.1       woken by the start of quiet (event 1)",
            "  both      no key read or written",
            "  1.2       woken by activity Noop completed (event 3)",
            "  both      completed with null",
        ]


def test_the_saved_picture_is_what_the_live_panel_shows(panel: PoisoningPanel) -> None:
    for target in ("1.1", "1.1.1", "key:counter", "1.4"):
        assert panel.static_html() == shown(panel)
        click(panel, target)
    panel._every_key.value = True
    assert panel.static_html() == shown(panel)
