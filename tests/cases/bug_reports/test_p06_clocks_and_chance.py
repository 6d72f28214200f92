"""P-06: a clock or chance that reaches an operation is found at the first replay; a timer's delay is not part of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from tests.cases.bug_reports.living import Host
from workbench.runtime import events as ev

_passes: Iterator[int] = count()
"""Goes on over replays and restarts, as a clock does."""


def clock_in_an_input(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Echo", time.time_ns())
    yield ctx.wait_for_event("go")


async def awaited_clock_in_an_input(ctx: Any, _: None) -> Any:
    await ctx.schedule_activity("Echo", time.time_ns())
    await ctx.wait_for_event("go")


def clock_in_a_key(ctx: Any, _: None) -> Any:
    ctx.set_kv_value("now", str(time.time_ns()))
    yield ctx.schedule_activity("Echo", 1)
    yield ctx.wait_for_event("go")


def chance_between_two(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Echo" if next(_passes) % 2 == 0 else "Other", 1)
    yield ctx.wait_for_event("go")


def growing_delay(ctx: Any, _: None) -> Any:
    yield ctx.schedule_timer(1_000 * (1 + next(_passes)))
    yield ctx.schedule_activity("Echo", 1)
    return "done"


async def awaited_growing_delay(ctx: Any, _: None) -> Any:
    await ctx.schedule_timer(1_000 * (1 + next(_passes)))
    await ctx.schedule_activity("Echo", 1)
    return "done"


@pytest.fixture(autouse=True)
def counted_from_zero() -> None:
    """Each test counts its own passes."""
    globals()["_passes"] = count()


@pytest.mark.parametrize("code", [clock_in_an_input, awaited_clock_in_an_input, clock_in_a_key])
def test_a_clock_in_an_input_or_a_value_fails_at_the_first_replay_with_both_times(replaying: Host, code: Any) -> None:
    host = replaying
    host.start(code)
    host.settle()
    error = host.error()
    assert error.startswith("nondeterministic: ")
    recorded = next(event for event in host.events() if event.type in (ev.ACTIVITY_SCHEDULED, ev.KV_SET))
    was = str(recorded.value if recorded.type == ev.KV_SET else recorded.input)
    assert was in error
    now = [word.strip('"\\,}') for word in error.split() if word.strip('"\\,}').isdigit() and len(word) > 15]
    assert len(set(now)) == 2
    assert len(host.ran) == 1
    does_not_move_again(host)


def test_chance_that_picks_another_activity_fails_at_the_first_replay_with_both_names(replaying: Host) -> None:
    host = replaying
    host.activity("Other", lambda _, given: given)
    host.start(chance_between_two)
    host.settle()
    error = host.error()
    assert error.startswith("nondeterministic: ")
    assert '"Echo"' in error
    assert '"Other"' in error
    assert host.ran == [("Echo", 1)]
    assert host.kinds() == [ev.STARTED, ev.ACTIVITY_SCHEDULED, ev.ACTIVITY_COMPLETED, ev.FAILED]
    does_not_move_again(host)


def does_not_move_again(host: Host) -> None:
    """A failed instance gets no event any more, whatever comes."""
    before = host.events()
    host.client.raise_event("i", "go")
    host.clock.advance(86_400_000)
    host.settle()
    assert host.events() == before
    assert (host.provider.pending_messages("i"), host.provider.pending_activities("i")) == ([], [])


@pytest.mark.parametrize("code", [growing_delay, awaited_growing_delay])
def test_the_recorded_due_time_of_a_timer_wins_and_only_a_replay_of_the_record_notes_the_delay(
    host: Host, code: Any
) -> None:
    host.start(code)
    began_ms = host.clock.now_ms()
    host.settle()
    assert host.output() == "done"
    assert host.ran == [("Echo", 1)]
    [created] = [event for event in host.events() if event.type == ev.TIMER_CREATED]
    [fired] = [event for event in host.events() if event.type == ev.TIMER_FIRED]
    assert created.fire_at_ms == began_ms + 1_000
    assert fired.timestamp_ms == began_ms + 1_000
    assert host.clock.now_ms() == began_ms + 1_000
    replay = host.replay()
    assert replay.verdict == "same"
    assert [each.what for each in replay.strict_differences] == ["timer delay"]


def test_a_warm_execution_hides_a_clock_until_it_is_dropped(tmp_path: Any) -> None:
    """Said in DESIGN §8: why a workbench replays every turn."""
    from tests.cases.bug_reports.living import living

    with living("warm", tmp_path) as host:
        host.start(clock_in_an_input)
        host.settle()
        assert host.status() == "Running"
        host.warm.drop()
        host.client.raise_event("i", "go")
        host.settle()
        assert host.error().startswith("nondeterministic: ")
        assert len(host.ran) == 1
