"""Messages that do not fit: passed over and noted, or the end of the instance before any code sees them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

from tests.runtime.driving import drive, kinds
from workbench.runtime import events as ev
from workbench.runtime import messages as ms

Flow = Generator[Any, Any, Any]
RECORDINGS = Path(__file__).parents[1] / "cases" / "recordings"


def waits_for_an_activity(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("A")
    ctx.set_kv_value("k", "1")
    return "done"


def test_a_second_outcome_is_ignored_and_noted() -> None:
    def two(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        return (yield ctx.schedule_activity("B"))

    driven = drive(two)
    result = driven.turn(driven.completed(2, 1), driven.completed(2, 2), driven.failed(2))
    assert kinds(result.arrivals) == [ev.ACTIVITY_COMPLETED]
    assert result.warnings == ("a second outcome for event 2 was ignored",) * 2
    later = driven.turn(driven.failed(2), driven.completed(4, "b"))
    assert kinds(later.arrivals) == [ev.ACTIVITY_COMPLETED]
    assert driven.output == "b"


def test_an_activity_that_failed_may_complete_again_without_harm() -> None:
    def tries(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        except Exception:
            return (yield ctx.schedule_activity("B"))

    driven = drive(tries)
    driven.turn(driven.failed(2))
    driven.turn(driven.completed(2, "late"), driven.completed(4, "b"))
    assert driven.output == "b"


def test_a_second_outcome_that_another_engine_recorded_is_ignored_and_noted() -> None:
    def two(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        yield ctx.schedule_activity("B")

    driven = drive(two)
    driven.turn(driven.completed(2))
    second = ev.new_event("i", 1, 5, 4_000, ev.ACTIVITY_FAILED, 2, details=ev.application_error("late"))
    driven.turns.append((second,))
    replayed = driven.replay()
    assert replayed[-1].divergence is None
    assert replayed[-1].warnings == ("a second outcome for event 2 was ignored",)


def test_a_batch_that_appends_nothing_is_no_turn() -> None:
    driven = drive(waits_for_an_activity)
    late = ms.ActivityCompleted("i", 7, 2, "null")
    result = driven.turn(late)
    assert (result.events, result.status) == ((), "Running")
    assert result.warnings == ("an outcome for execution 7, event 2, came too late",)
    driven.turn(driven.completed(2))
    assert (driven.last.number, driven.output) == (2, "done")


def test_an_outcome_without_a_schedule_dooms_the_turn_and_no_code_runs() -> None:
    runs = []

    def counted(ctx: Any, _: object) -> Flow:
        runs.append(ctx.is_replaying)
        yield ctx.schedule_activity("A")
        runs.append("woken")

    for message, text in (
        (ms.ActivityCompleted("i", 1, 9, "null"), "no matching schedule for completion id=9"),
        (ms.TimerFired("i", 1, 9, 0), "no matching schedule for timer id=9"),
        (ms.SubOrchCompleted("i", 1, 9, "null"), "no matching schedule for sub-orchestration id=9"),
        (ms.TimerFired("i", 1, 2, 0), "completion kind mismatch for id=2, expected 'activity', got 'timer'"),
        (
            ms.SubOrchFailed("i", 1, 2, {}),
            "completion kind mismatch for id=2, expected 'activity', got 'suborchestration'",
        ),
    ):
        driven = drive(counted, checked=False)
        runs.clear()
        result = driven.turn(driven.completed(2), message)
        assert runs == [True], "only the replay ran"
        assert kinds(result.events) == [ev.ACTIVITY_COMPLETED, ev.FAILED]
        assert result.output == f"nondeterministic: {text}"


def test_an_outcome_for_an_event_that_is_no_schedule_dooms_the_turn() -> None:
    def writes(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "1")
        yield ctx.wait_for_event("e")

    driven = drive(writes)
    result = driven.turn(driven.completed(2))
    assert result.output == "nondeterministic: no matching schedule for completion id=2"
    assert kinds(result.events) == [ev.EVENT_SUBSCRIPTION_CANCELLED, ev.FAILED]


def test_a_doomed_turn_replays_without_running_code() -> None:
    driven = drive(waits_for_an_activity)
    driven.turn(driven.completed(2), ms.TimerFired("i", 1, 9, 0))
    replayed = driven.replay(lambda ctx, _: driven.code(ctx, _))
    assert [turn.divergence for turn in replayed] == [None, None]
    assert (replayed[-1].status, replayed[-1].woken_by) == ("Failed", None)


def test_a_failure_that_is_not_the_applications_ends_the_instance_unseen() -> None:
    def catches(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        except Exception:
            return "caught"

    poison = {
        "Poison": {
            "attempt_count": 4,
            "max_attempts": 3,
            "message_type": {"Activity": {"instance": "i", "execution_id": 1, "activity_name": "A", "activity_id": 2}},
            "message": "{}",
        }
    }
    driven = drive(catches)
    result = driven.turn(ms.ActivityFailed("i", 1, 2, poison))
    assert kinds(result.events) == [ev.ACTIVITY_FAILED, ev.FAILED]
    assert (result.details, result.output) == (poison, "poison: activity A#2 exceeded 4 attempts (max 3)")


def test_a_childs_nondeterminism_fails_its_parent_too() -> None:
    def catches(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_sub_orchestration("Child")
        except Exception:
            return "caught"

    details = ev.nondeterminism_error("schedule mismatch")
    driven = drive(catches)
    result = driven.turn(ms.SubOrchFailed("i", 1, 2, details))
    assert (result.details, result.output) == (details, "nondeterministic: schedule mismatch")


def test_a_childs_cancellation_is_an_error_that_the_parent_may_catch() -> None:
    def catches(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_sub_orchestration("Child")
        except Exception as error:
            return str(error)

    driven = drive(catches)
    driven.turn(ms.SubOrchFailed("i", 1, 2, ev.cancelled_error("parent canceled")))
    assert driven.output == "canceled: parent canceled"
