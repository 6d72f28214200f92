"""The stepper: where it opens, how it moves, what follows the focus, and what it says when it cannot go on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.panels.conftest import Live
from tests.panels.reading import buttons, chart, click, current, limits_part, marked_line, shown, switched, words
from tests.views.making import COUNTER, ECHO, FLOW, RECORDINGS, read_modify_write, started, typed
from tests.views.pages import Page
from workbench.panels.stepper import Stepper
from workbench.recordings import open_source
from workbench.runtime.errors import InstanceWaiting

Open = Callable[..., Live]


# Where it opens.


def test_a_run_that_goes_on_opens_at_its_last_turn(live: Open) -> None:
    assert live(3).stepper.focus.address == "1.3"


def test_a_run_that_diverged_opens_where_it_did(live: Open) -> None:
    at = live(2, "per-turn").stepper
    assert at.focus.address == "1.2"
    assert "the snapshot is poisoned" in words(at)


def test_a_run_that_failed_opens_at_the_failed_turn() -> None:
    run = started("def failing(ctx, _):\n    yield ctx.schedule_activity('Work', 1)\n    raise ValueError('no luck')\n")
    run.finish()
    with run.stepper() as at:
        assert at.focus.address == "1.2"
        assert "✗ failed: ValueError: no luck" in words(at)


def test_an_instance_that_never_ran_opens_without_a_turn_and_runs_its_first(live: Open) -> None:
    at = live(0).stepper
    assert "run the next turn to see the first one" in words(at)
    assert buttons(at)["Run next turn ▶"]
    at._bar.next.click()
    assert at.focus.address == "1.1"
    assert "Turn 1 · woken by the start of Counter (event 1), 2 new operations" in words(at)


# Moving.


def test_next_and_previous_go_from_turn_to_turn(live: Open) -> None:
    at = live(3).stepper
    at._bar.previous.click()
    assert at.focus.address == "1.2"
    at._bar.first.click()
    assert at.focus.address == "1.1"
    assert buttons(at) == {
        "First": False,
        "◀ Previous turn": False,
        "Next turn ▶": True,
        "Last": True,
        "‹ Operation": False,
        "Operation ›": True,
        "‹ Change": False,
        "Change ›": False,
    }
    at._bar.next.click()
    at._bar.last.click()
    assert at.focus.address == "1.3"


def test_at_the_last_turn_of_a_run_the_button_says_that_it_runs_one_more(live: Open) -> None:
    at = live(3)
    assert buttons(at.stepper)["Run next turn ▶"]
    at.stepper._bar.next.click()
    assert at.stepper.focus.address == "1.4"
    assert len(at.run.turns) == 4
    assert "Turn 4 · woken by activity Noop completed (event 10), 2 new operations" in words(at.stepper)
    at.stepper.previous()
    assert buttons(at.stepper)["Next turn ▶"]
    at.stepper._bar.next.click()
    assert len(at.run.turns) == 4


def test_a_run_that_has_ended_makes_no_more_turns(live: Open) -> None:
    at = live(3, rounds=3).stepper
    at.next()
    assert at.turns[-1].status == "Completed"
    assert not buttons(at)["Next turn ▶"]
    at.next()
    assert len(at.turns) == 4


def test_a_run_that_diverged_makes_no_more_turns(live: Open) -> None:
    assert not buttons(live(2, "per-turn").stepper)["Next turn ▶"]


def test_on_a_recording_the_last_turn_is_the_end() -> None:
    with read_modify_write().replay(typed(ECHO)).stepper() as at:
        assert at.focus.address == "1.4"
        assert not buttons(at)["Next turn ▶"]
        at.next()
        assert at.focus.address == "1.4"


def test_a_turn_that_somebody_else_made_is_shown_before_another_one_is_made(live: Open) -> None:
    at = live(2)
    at.run.turn()
    at.stepper._bar.next.click()
    assert at.stepper.focus.address == "1.3"
    assert len(at.run.turns) == 3


@pytest.mark.parametrize("kv_model", ["delta", "per-turn"])
def test_a_turn_is_shown_as_it_was_made_and_as_it_is_when_all_are_run_again(live: Open, kv_model: str) -> None:
    at = live(1, kv_model, rounds=2)
    while at.stepper._can_run():
        at.stepper.next()
        with at.run.stepper() as again:
            assert again.static_html() == at.stepper.static_html()
            assert again.focus.address == at.stepper.focus.address


def test_a_run_that_goes_on_in_a_new_execution_is_followed() -> None:
    run = started("def twice(ctx, n):\n    if n == 0:\n        yield ctx.continue_as_new(1)\n    return n\n", given=0)
    with run.stepper() as at:
        at.next()
        at.next()
        assert [turn.address for turn in at.turns] == ["1.1", "2.1"]
        assert at._bar.number.value == "2.1"
        assert not at._can_run()


def test_the_box_takes_the_number_of_a_turn(at: Stepper) -> None:
    assert (at._bar.number.value, at._bar._of.value) == ("3", "of 3")
    at._bar.number.set_state({"value": "1"})
    assert at.focus.address == "1.1"
    at._bar.number.set_state({"value": "1.2.2"})
    assert (at.focus.address, at._bar.number.value) == ("1.2.2", "2")


def test_a_number_that_is_none_is_refused_in_the_panel_and_the_box_goes_back(at: Stepper) -> None:
    at._bar.number.set_state({"value": "9"})
    assert at.error == "LookupError: there is no turn '9'; the last ones are 1.1, 1.2, 1.3"
    assert (at.focus.address, at._bar.number.value) == ("1.3", "3")
    at._bar.previous.click()
    assert at.error is None


def test_with_several_executions_the_box_shows_addresses() -> None:
    with open_source(RECORDINGS / "P-11_kv_clear_set.db") as source, source.recording("x").stepper() as at:
        assert at._bar.number.value == at.focus.address
        assert {turn.execution_id for turn in at.turns} > {1}
        at.goto("1")
        assert at.focus.turn == f"{at.turns[-1].execution_id}.1"


def test_a_call_from_a_cell_raises_what_a_button_would_show(at: Stepper) -> None:
    with pytest.raises(LookupError, match=r"there is no turn '7'; the last ones are 1\.1, 1\.2, 1\.3"):
        at.goto("7")
    assert at.error is None


def test_arrow_keys_go_to_the_turns_beside(at: Stepper) -> None:
    at._strip._receive(at._strip, {"step": -1}, [])
    assert at.focus.address == "1.2"
    at._strip._receive(at._strip, {"step": 1}, [])
    at._strip._receive(at._strip, {"step": 1}, [])
    assert at.focus.address == "1.3"
    assert len(at.turns) == 3


# What follows the focus.


def test_a_turn_that_is_clicked_is_marked_and_shown(at: Stepper) -> None:
    click(at, "1.2")
    assert current(at) == ["1.2"]
    assert 'set counter = "2"' in words(at)


def test_an_operation_that_is_clicked_marks_its_line(at: Stepper) -> None:
    assert marked_line(at, "here").startswith("▶ 5 ×3 ")
    click(at, "1.3.1")
    assert current(at) == ["1.3", "1.3.1"]
    assert marked_line(at, "here").startswith("▶ 5 ×3 ")
    assert marked_line(at, "looked-at").startswith("→ 4 ×3 ")


def test_the_operation_buttons_go_through_the_operations_of_the_turn(at: Stepper) -> None:
    at._bar.next_operation.click()
    assert at.focus.address == "1.3.1"
    at._bar.next_operation.click()
    assert at.focus.address == "1.3.2"
    assert not buttons(at)["Operation ›"]
    at._bar.previous_operation.click()
    assert at.focus.address == "1.3.1"


def test_an_operation_in_another_function_shows_that_function() -> None:
    source = (
        "def inner(ctx):\n    ctx.set_kv_value('a', '1')\n\n"
        "def outer(ctx, _):\n    inner(ctx)\n    yield ctx.schedule_activity('Work', 1)\n"
    )
    run = started(source)
    run.turn()
    with run.stepper() as at:
        assert "yield" in marked_line(at, "here")
        click(at, "1.1.1")
        assert marked_line(at, "looked-at") == "→ 2 ×1      ctx.set_kv_value('a', '1')"
        assert "inner, line 2 ← outer, line 2" in words(at)


def test_a_replayed_operation_that_is_clicked_leads_to_its_turn(at: Stepper) -> None:
    folded = Page(shown(at)).all("details")[0]
    assert "replayed before: 4 operations of turns 1 to 2, as recorded" in folded.text
    click(at, "1.1.2")
    assert at.focus.address == "1.1.2"
    assert "Turn 1 · woken by the start of Counter" in words(at)


def test_a_key_that_is_clicked_is_marked_and_says_who_wrote_it(at: Stepper) -> None:
    click(at, "key:counter")
    assert at.focus.key == "counter"
    assert current(at) == ["1.3", "key:counter", "key:counter"]  # the turn, the read of the key, the key
    assert (
        'counter: last written in turn 1.3, event 8, line 4: set to "3" · before that in '
        'turn 1.2, event 5, line 4: set to "2", turn 1.1, event 2, line 4: set to "1"'
    ) in words(at)


def test_the_writer_of_a_key_can_be_followed(at: Stepper) -> None:
    click(at, "key:counter")
    links = [each for each in Page(shown(at)).focusable() if each.text.startswith("turn 1.1")]
    click(at, str(links[0].attributes["data-focus"]))
    assert at.focus.address == "1.1.1"
    assert at.focus.key == "counter"


def test_the_same_key_again_lets_go_of_it(at: Stepper) -> None:
    click(at, "key:counter")
    click(at, "key:counter")
    assert at.focus.key is None


def test_a_key_that_is_looked_at_stays_on_screen_where_it_did_not_change() -> None:
    run = started(FLOW)
    run.turn()
    run.turn()
    with run.stepper() as at:
        assert [key for key in ("a", "b") if f"key:{key}" in shown(at)] == ["b"]
        at.first()
        click(at, "key:a")
        at.last()
        assert [key for key in ("a", "b") if f"key:{key}" in shown(at)] == ["a", "b"]
        assert 'a: last written in turn 1.1, event 2, line 2: set to "1"' in words(at)


def test_turns_that_wrote_the_key_carry_a_dot() -> None:
    run = started(FLOW)
    run.turn()
    run.turn()
    with run.stepper() as at:
        at.focus.key = "b"
        assert [each.text for each in Page(shown(at)).focusable()[:2]] == ["▸ 1 +1", "◆ 2 +1 •"]


def test_only_changed_keys_are_shown_until_all_are_asked_for() -> None:
    run = started(FLOW)
    run.turn()
    run.turn()
    with run.stepper() as at:
        assert "1 key unchanged" in words(at)
        at._every_key.value = True
        assert "key:a" in shown(at)
        assert "unchanged" not in words(at)


def test_locals_are_made_on_demand(at: Stepper) -> None:
    assert "locals" not in words(at)
    at._locals.value = True
    assert "locals _=2  n=2  rounds=5" in words(at)
    click(at, "1.3.1")
    assert "locals _=2  n=2  rounds=5" in words(at)
    at.first()
    assert "locals _=0  n=0  rounds=5" in words(at)


def test_without_code_there_is_no_line_and_no_local() -> None:
    with read_modify_write().stepper() as at:
        assert "view only: no code was given" in words(at)
        assert "turns inferred from the history" in words(at)
        assert "No code was given: the turn is shown from its events alone." in words(at)
        assert at._locals.disabled
        click(at, "1.2.1")
        assert current(at) == ["1.2", "1.2.1"]


# The chart.


def test_the_chart_is_drawn_when_it_is_asked_for_and_not_again_for_a_step(live: Open) -> None:
    at = live(3).stepper
    assert limits_part(at).root not in at._below.children
    switched(at, "limits").value = True
    picture = chart(at).html
    [image] = Page(picture).all("img")
    assert str(image.attributes["src"]).startswith("data:image/png;base64,")
    assert image.attributes["alt"] == ("keys, largest value, all keys and values, history over 3 turns")
    at.previous()
    assert chart(at).html is picture
    at.last()
    at.next()
    assert "over 4 turns" in chart(at).html
    switched(at, "limits").value = False
    assert limits_part(at).root not in at._below.children


def test_the_chart_follows_the_theme(live: Open) -> None:
    at = live(2).stepper
    switched(at, "limits").value = True
    light = chart(at).html
    at._alert._receive(at._alert, {"dark": True}, [])
    assert chart(at).html != light


# When it cannot go on.


def test_a_run_that_waits_says_in_the_panel_what_would_wake_it() -> None:
    run = started("def asking(ctx, _):\n    return (yield ctx.wait_for_event('answer'))\n")
    run.turn()
    with run.stepper() as at:
        at._bar.next.click()
        assert "answer" in str(at.error)
        assert "raise_event" in Page(at._alert.html).elements[0].text
        run.raise_event("answer", "yes")
        at._bar.next.click()
        assert at.error is None
        assert at.focus.address == "1.2"


def test_next_called_from_a_cell_raises_what_the_run_waits_for() -> None:
    run = started("def asking(ctx, _):\n    return (yield ctx.wait_for_event('answer'))\n")
    run.turn()
    with run.stepper() as at, pytest.raises(InstanceWaiting):
        at.next()


def test_a_run_that_waits_for_the_clock_moves_it() -> None:
    run = started("def sleeping(ctx, _):\n    yield ctx.schedule_timer(60_000)\n    return 'up'\n")
    run.turn()
    with run.stepper() as at:
        at._bar.next.click()
        assert '✓ completed with "up"' in words(at)


# The saved picture.


@pytest.mark.parametrize("kv_model", ["delta", "per-turn"])
def test_the_saved_picture_is_what_the_live_panel_shows(live: Open, kv_model: str) -> None:
    at = live(2, kv_model).stepper
    assert at.static_html() == shown(at)
    for target in ("1.1", "key:counter", "1.1.2"):
        click(at, target)
        assert at.static_html() == shown(at)
    at._every_key.value = True
    at._locals.value = True
    assert "locals" in at.static_html()
    assert at.static_html() == shown(at)


def test_the_saved_picture_is_the_same_on_every_run() -> None:
    def picture() -> str:
        run = started(COUNTER, given=3)
        run.finish()
        with run.stepper() as at:
            return str(at.static_html())

    assert picture() == picture()


def test_a_stepper_names_where_it_is(at: Stepper) -> None:
    assert repr(at) == (
        "Stepper at 1.3 of 3 turns: Turn 1.3 of counter-1: woken by activity Noop completed (event 7), "
        "2 new operations, counter 2 → 3"
    )
    with Stepper(lambda: ()) as empty:
        assert repr(empty) == "Stepper at the start of 0 turns: no turn yet"
