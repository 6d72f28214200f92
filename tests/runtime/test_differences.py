"""Strict differences and other outcomes: noted, never in the way, never seen by the code."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import msgspec
import pytest

from tests.runtime.driving import Driven, drive
from tests.runtime.recorded import START, history, run
from workbench.runtime import events as ev

Flow = Generator[Any, Any, Any]


# Strict differences never stop a replay and never change what the code sees.


def strict(driven: Driven, code: Any) -> list[tuple[str, str, str]]:
    replayed = driven.replay(code)
    assert all(turn.divergence is None for turn in replayed)
    return [(each.what, each.recorded, each.now) for turn in replayed for each in turn.strict_differences]


def test_another_delay_of_a_timer_is_a_strict_difference() -> None:
    def waits(delay: int) -> Any:
        def code(ctx: Any, _: object) -> Flow:
            yield ctx.schedule_timer(delay)
            return "done"

        return code

    driven = drive(waits(100))
    driven.turn(driven.fired(2))
    assert strict(driven, waits(101)) == [("timer delay", "100 ms", "101 ms")]
    assert strict(driven, waits(100)) == []


@pytest.mark.parametrize(("delay", "differs"), [(99, True), (100, False), (105, False), (110, False), (111, True)])
def test_a_delay_is_known_as_an_interval_when_the_turn_took_time(delay: int, differs: bool) -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(delay)

    turns = history([START, (ev.TIMER_CREATED, {"fire_at_ms": 1_110, "at_ms": 1_010})])
    [result] = run(waits, turns)
    assert bool(result.strict_differences) == differs
    if differs:
        assert result.strict_differences[0].recorded == "100 to 110 ms"


def test_another_status_text_is_a_strict_difference_and_reading_it_back_gives_the_codes_own() -> None:
    def says(text: str | None) -> Any:
        def code(ctx: Any, _: object) -> Flow:
            ctx.reset_custom_status() if text is None else ctx.set_custom_status(text)
            ctx.set_kv_value("read", "same")
            yield ctx.schedule_timer(1)
            return ctx.get_custom_status()

        return code

    driven = drive(says("one"))
    assert strict(driven, says("two")) == [("custom status", "'one'", "'two'")]
    assert strict(driven, says(None)) == [("custom status", "'one'", "None")]


def test_another_id_of_a_child_is_a_strict_difference() -> None:
    def with_id(instance_id: str | None) -> Any:
        def code(ctx: Any, _: object) -> Flow:
            if instance_id is None:
                yield ctx.schedule_sub_orchestration("Child")
            else:
                yield ctx.schedule_sub_orchestration_with_id("Child", instance_id)

        return code

    named, automatic = drive(with_id("mine")), drive(with_id(None))
    assert strict(named, with_id("yours")) == [("sub-orchestration id", "'mine'", "'yours'")]
    assert strict(named, with_id(None)) == [("sub-orchestration id", "'mine'", "automatic")]
    assert strict(automatic, with_id("mine")) == [("sub-orchestration id", "'sub::2'", "'mine'")]
    assert strict(automatic, with_id("sub::7")) == []


def test_a_timer_that_fires_resumes_the_code_whatever_delay_it_asks_for_now() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(5)
        return "woken"

    turns = history(
        [START, (ev.TIMER_CREATED, {"fire_at_ms": 1_100})],
        [(ev.TIMER_FIRED, {"source": 2, "fire_at_ms": 1_100}), (ev.COMPLETED, {"output": '"woken"'})],
    )
    replayed = run(waits, turns)
    assert len(replayed[0].strict_differences) == 1
    assert (replayed[1].divergence, replayed[1].outcome_difference) == (None, None)


# A different outcome: every operation lines up, and the ending is another one.


def ends(value: object) -> Any:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(1)
        if isinstance(value, Exception):
            raise value
        if isinstance(value, tuple):
            yield ctx.continue_as_new(value[0])
        return value

    return code


def test_another_ending_is_a_different_outcome_and_no_divergence() -> None:
    recorded: dict[str, object] = {
        "one": 1,
        "two": 2,
        "failed": ValueError("no"),
        "failed otherwise": ValueError("yes"),
        "again": (1,),
        "again with two": (2,),
    }
    for name, value in recorded.items():
        driven = drive(ends(value))
        driven.turn(driven.fired(2))
        for other_name, other in recorded.items():
            last = driven.replay(ends(other))[-1]
            assert last.divergence is None
            assert (last.outcome_difference is None) == (name == other_name), (name, other_name)


def test_a_different_outcome_says_both() -> None:
    driven = drive(ends(1))
    driven.turn(driven.fired(2))
    difference = driven.replay(ends(KeyError("k")))[-1].outcome_difference
    assert difference is not None
    assert (difference.turn, difference.recorded_status, difference.recorded_output) == (2, "Completed", "1")
    assert (difference.now_status, difference.now_output) == ("Failed", "KeyError: 'k'")


def test_a_recorded_traceback_ends_with_the_text_that_we_record() -> None:
    driven = drive(ends(ValueError("no")))
    driven.turn(driven.fired(2))
    text = 'Traceback (most recent call last):\n  File "flow.py", line 3\nValueError: no\n'
    ending = msgspec.structs.replace(driven.turns[1][-1], details=ev.application_error(text))
    driven.turns[1] = (driven.turns[1][0], ending)
    assert driven.replay()[-1].outcome_difference is None
    assert driven.replay(ends(ValueError("yes")))[-1].outcome_difference is not None
