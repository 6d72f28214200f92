"""P-07: a default, a module flag or a closure that outlives one pass of the code and changes the next."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.bug_reports.living import Host, living
from tests.cases.edited import fresh
from workbench.runtime import events as ev

SEEN: list[object] = []
"""State of the module, which outlives every pass of the code."""
FLAG = {"passed": False}


@pytest.fixture(autouse=True)
def as_the_module_was_loaded() -> None:
    """Each test begins with a module in which nothing has run."""
    SEEN.clear()
    FLAG["passed"] = False


def counts_in_an_input(ctx: Any, _: None, seen: list[int] = []) -> Any:  # noqa: B006 (that is the case)
    seen.append(1)
    yield ctx.schedule_activity("Echo", len(seen))
    yield ctx.schedule_activity("Echo", "second")
    return len(seen)


async def awaited_counts_in_an_input(ctx: Any, _: None, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(1)
    await ctx.schedule_activity("Echo", len(seen))
    await ctx.schedule_activity("Echo", "second")
    return len(seen)


def counts_in_the_result(ctx: Any, _: None, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(1)
    yield ctx.schedule_activity("Echo", "x")
    yield ctx.schedule_activity("Echo", "y")
    return len(seen)


def turns_by_a_flag(ctx: Any, _: None) -> Any:
    if not FLAG["passed"]:
        FLAG["passed"] = True
        yield ctx.schedule_timer(1_000)
        return "waited"
    return (yield ctx.schedule_activity("Echo", "never asked for"))


def collects_outside(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Collect", "a")
    yield ctx.schedule_activity("Collect", "b")
    return list(SEEN)


@pytest.mark.parametrize("code", [counts_in_an_input, awaited_counts_in_an_input])
def test_a_default_that_outlives_its_call_fails_at_the_first_replay_with_both_inputs(tmp_path: Any, code: Any) -> None:
    with living("cold", tmp_path) as host:
        host.start(fresh(code))
        host.settle()
        error = host.error()
        assert error.startswith("nondeterministic: ")
        assert ('input: "2"' in error, 'input: "1"' in error) == (True, True)
        assert host.ran == [("Echo", 1)]
        assert host.kinds() == [ev.STARTED, ev.ACTIVITY_SCHEDULED, ev.ACTIVITY_COMPLETED, ev.FAILED]


def test_in_a_new_process_the_default_is_new_and_nothing_is_wrong(tmp_path: Any) -> None:
    with living("restarted", tmp_path) as host:
        host.start(counts_in_an_input)
        host.settle()
        assert (host.output(), host.ran) == (1, [("Echo", 1), ("Echo", "second")])


def test_a_flag_that_turns_the_second_pass_fails_naming_both_kinds_and_the_timer_is_nobodys_result(
    replaying: Host,
) -> None:
    host = replaying
    host.start(turns_by_a_flag)
    host.settle()
    error = host.error()
    assert error.startswith("nondeterministic: ")
    assert "CallActivity" in error
    assert "TimerCreated" in error
    assert host.ran == []
    assert host.kinds() == [ev.STARTED, ev.TIMER_CREATED, ev.TIMER_FIRED, ev.FAILED]


def test_state_that_shows_only_in_the_result_goes_unnoticed_live_and_is_another_outcome_when_replayed(
    tmp_path: Any,
) -> None:
    """Cold, the code has run three times when it ends; a new process that replays the record runs it once."""
    for way, output in (("cold", 3), ("warm", 1), ("restarted", 1)):
        folder = tmp_path / way
        folder.mkdir()
        with living(way, folder) as host:  # type: ignore[arg-type]
            host.start(fresh(counts_in_the_result) if way != "restarted" else counts_in_the_result)
            host.settle()
            assert host.output() == output
            code = fresh(counts_in_the_result)
            verdicts = [host.replay(code=code).verdict for _ in range(2)]
            assert verdicts == (["different outcome"] * 2 if way == "cold" else ["same", "different outcome"])


def test_what_an_activity_left_outside_is_not_there_when_the_record_is_replayed(host: Host) -> None:
    host.activity("Collect", lambda _, given: SEEN.append(given))
    host.start(collects_outside)
    host.settle()
    assert host.output() == ["a", "b"]
    SEEN.clear()
    replay = host.replay()
    assert replay.verdict == "different outcome"
    assert replay.outcome_difference is not None
    assert (replay.outcome_difference.recorded_output, replay.outcome_difference.now_output) == ('["a", "b"]', "[]")
    assert SEEN == []
