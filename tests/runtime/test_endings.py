"""How a turn ends: the order of its rows, what is let go of, and what leaves for other queues.

As `tests/oracle/README.md` found the real engine to do it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive, kinds, new_rows
from workbench.runtime import events as ev
from workbench.runtime import messages as ms

Flow = Generator[Any, Any, Any]


def every_kind(ctx: Any) -> list[Any]:
    """One task of each kind, in an order that is not the order of the breadcrumbs."""
    return [
        ctx.dequeue_event("q"),
        ctx.schedule_timer(5_000),
        ctx.wait_for_event("e"),
        ctx.schedule_sub_orchestration("C"),
        ctx.schedule_activity("A"),
    ]


# A running turn.


def test_rows_stand_in_the_order_arrivals_operations_breadcrumbs_ending_cancel_rows() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("Loser"))
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("B")

    def ends(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("Loser"))
        ctx.set_kv_value("k", "1")
        return "done"

    driven = drive(code)
    driven.turn(driven.raised("go"))
    assert new_rows(driven.last) == [
        "5 KeyValueSet key=k value=1",
        "6 ActivityScheduled name=B input=null",
        "7 ActivityCancelRequested <3> reason=dropped_future",
    ]
    driven = drive(ends)
    driven.turn(driven.raised("go"))
    assert new_rows(driven.last) == [
        "5 KeyValueSet key=k value=1",
        "6 ActivityCancelRequested <3> reason=dropped_future",
        '7 OrchestrationCompleted output="done"',
    ]


@pytest.mark.parametrize(
    ("position", "row", "message"),
    [
        (0, "ExternalSubscribedPersistentCancelled <3> reason=dropped_future", None),
        (1, None, None),
        (2, "ExternalSubscribedCancelled <3> reason=dropped_future", None),
        (
            3,
            "SubOrchestrationCancelRequested <3> reason=dropped_future",
            ms.CancelInstance("i::sub::3", "parent dropped sub-orchestration future"),
        ),
        (4, "ActivityCancelRequested <3> reason=dropped_future", None),
    ],
    ids=["queue", "timer", "event", "child", "activity"],
)
@pytest.mark.parametrize("ending", ["goes on", "completed", "failed"])
def test_a_loser_gets_its_breadcrumb_when_the_code_goes_on_completes_or_fails(
    position: int, row: str | None, message: ms.Message | None, ending: str
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), every_kind(ctx)[position])
        if ending == "failed":
            raise ValueError("no")
        if ending == "goes on":
            yield ctx.schedule_activity("Next")

    driven = drive(code)
    result = driven.turn(driven.raised("go"))
    written = [text.partition(" ")[2] for text in new_rows(result)]
    crumbs = [text for text in written if "reason=" in text]
    assert crumbs == ([] if row is None else [row])
    assert [each for each in result.messages if isinstance(each, ms.CancelInstance)] == (
        [] if message is None else [message]
    )
    last = {"goes on": ev.ACTIVITY_SCHEDULED, "completed": ev.COMPLETED, "failed": ev.FAILED}[ending]
    assert last in kinds(result.events)
    assert kinds(result.events).index(last) == (1 if ending == "goes on" else len(result.events) - 1)


def test_breadcrumbs_stand_activities_children_events_queues_and_by_id_within() -> None:
    def code(ctx: Any, _: object) -> Flow:
        for first, second in (("q", "e"), ("c", "a"), ("a", "c"), ("e", "q")):
            made = {
                "q": ctx.dequeue_event("never"),
                "e": ctx.wait_for_event("never"),
                "c": ctx.schedule_sub_orchestration("C"),
                "a": ctx.schedule_activity("A"),
            }
            yield ctx.race(ctx.dequeue_event("m"), made[first])
            yield ctx.race(ctx.dequeue_event("m"), made[second])
        yield ctx.wait_for_event("end")

    driven = Driven(code)
    driven.turn(ms.StartOrchestration("i", "Flow", "null"), *(driven.queued("m", n) for n in range(8)))
    crumbs = [(e.type, e.source_event_id) for e in driven.events if e.type in ev.BREADCRUMBS]
    assert [kind for kind, _ in crumbs] == [
        *[ev.ACTIVITY_CANCEL_REQUESTED] * 2,
        *[ev.CHILD_CANCEL_REQUESTED] * 2,
        *[ev.EVENT_SUBSCRIPTION_CANCELLED] * 2,
        *[ev.QUEUE_SUBSCRIPTION_CANCELLED] * 2,
    ]
    for start in range(0, 8, 2):
        assert crumbs[start][1] < crumbs[start + 1][1]  # type: ignore[operator]


def test_a_child_that_is_scheduled_and_dropped_in_one_turn_is_neither_started_nor_told() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.dequeue_event("m"), ctx.schedule_sub_orchestration("C"))
        yield ctx.wait_for_event("end")

    driven = Driven(code)
    driven.turn(ms.StartOrchestration("i", "Flow", "null"), driven.queued("m"))
    assert ev.CHILD_CANCEL_REQUESTED in kinds(driven.events)
    assert driven.last.messages == ()


def test_an_activity_that_is_scheduled_and_dropped_in_one_turn_never_reaches_a_worker() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.dequeue_event("m"), ctx.schedule_activity("A"))
        yield ctx.wait_for_event("end")

    driven = Driven(code)
    driven.turn(ms.StartOrchestration("i", "Flow", "null"), driven.queued("m"))
    assert driven.last.activities == ()


# Endings.


def outstanding(then: Callable[[Any], Any]) -> Callable[..., Flow]:
    """Leaves tasks of every kind in flight: all of them are members of an `all` that never finishes."""

    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), *every_kind(ctx), ctx.wait_for_event("e2")])
        return then(ctx)

    return code


def test_a_cancelled_turn_closes_what_is_outstanding_and_cancels_activities_after_the_ending() -> None:
    driven = drive(outstanding(lambda ctx: None))
    result = driven.turn(driven.cancel("stop"))
    assert new_rows(result) == [
        "10 ExternalSubscribedCancelled <5> reason=orchestration_terminal",
        "11 ExternalSubscribedCancelled <8> reason=orchestration_terminal",
        "12 ExternalSubscribedPersistentCancelled <3> reason=orchestration_terminal",
        f"13 OrchestrationFailed details={ev.cancelled_error('stop')}",
        "14 ActivityCancelRequested <2> reason=orchestration_terminal_failed",
        "15 ActivityCancelRequested <7> reason=orchestration_terminal_failed",
    ]
    assert result.cancelled_activities == (2, 7)
    assert result.messages == (ms.CancelInstance("i::sub::6", "parent canceled"),)


def test_in_a_cancelled_turn_losers_get_no_breadcrumb_of_their_own() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("loser"))
        yield ctx.race(ctx.wait_for_event("go2"), ctx.schedule_activity("A"))

    driven = drive(code)
    result = driven.turn(driven.raised("go"), driven.cancel())
    assert [text.partition(" ")[2] for text in new_rows(result)] == [
        "ExternalSubscribed name=go2",
        "ActivityScheduled name=A input=null",
        "ExternalSubscribedCancelled <3> reason=orchestration_terminal",
        "ExternalSubscribedCancelled <6> reason=orchestration_terminal",
        f"OrchestrationFailed details={ev.cancelled_error('enough')}",
        "ActivityCancelRequested <7> reason=orchestration_terminal_failed",
    ]


def test_an_activity_whose_outcome_is_in_the_batch_gets_no_row_after_the_ending() -> None:
    driven = drive(outstanding(lambda ctx: None))
    driven.turn(driven.completed(2), driven.cancel())
    assert [e.source_event_id for e in driven.last.events if e.type == ev.ACTIVITY_CANCEL_REQUESTED] == [7]


def test_every_outstanding_child_is_told_of_a_cancel_one_that_was_dropped_before_too() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_sub_orchestration("Dropped"))
        yield ctx.all([ctx.schedule_sub_orchestration("Awaited"), ctx.schedule_sub_orchestration("Ended")])

    driven = drive(code)
    driven.turn(driven.raised("go"))
    driven.turn(driven.child_completed(6))
    result = driven.turn(driven.cancel())
    assert [message.target for message in result.messages] == ["i::sub::3", "i::sub::5"]


def test_a_child_that_is_scheduled_in_a_cancelled_turn_is_neither_started_nor_told() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("go")
        yield ctx.schedule_sub_orchestration("C")

    driven = drive(code)
    result = driven.turn(driven.raised("go"), driven.cancel())
    assert ev.CHILD_SCHEDULED in kinds(result.events)
    assert result.messages == ()


@pytest.mark.parametrize(
    ("ending", "row"),
    [
        (lambda ctx: None, "5 ActivityCancelRequested <3> reason=dropped_future"),
        (lambda ctx: 1 / 0, "5 ActivityCancelRequested <3> reason=dropped_future"),
        (
            lambda ctx: ctx.continue_as_new(1),
            "6 ActivityCancelRequested <3> reason=orchestration_terminal_continued_as_new",
        ),
    ],
    ids=["completed", "failed", "continued as new"],
)
def test_an_activity_that_lost_in_the_last_turn_has_its_row_before_the_ending_or_behind_a_continue_as_new(
    ending: Callable[[Any], Any], row: str
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("A"))
        task = ending(ctx)
        if task is not None:
            yield task

    driven = drive(code)
    result = driven.turn(driven.raised("go"))
    assert [text for text in new_rows(result) if "Cancel" in text] == [row]
    assert result.cancelled_activities == (3,)


def test_a_doomed_turn_cancels_the_activities_in_flight() -> None:
    driven = drive(outstanding(lambda ctx: None))
    result = driven.turn(ms.TimerFired("i", 1, 99, 0))
    assert [e.source_event_id for e in result.events if e.type == ev.ACTIVITY_CANCEL_REQUESTED] == [2, 7]
    assert result.cancelled_activities == (2, 7)


def test_a_turn_that_ends_starts_no_timer_activity_or_child_of_its_own() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.dequeue_event("m"), ctx.schedule_activity("A"))
        yield ctx.race(ctx.dequeue_event("m"), ctx.schedule_timer(1))
        yield ctx.race(ctx.dequeue_event("m"), ctx.schedule_sub_orchestration("C"))
        return "done"

    driven = Driven(code)
    driven.turn(ms.StartOrchestration("i", "Flow", "null"), *(driven.queued("m") for _ in range(3)))
    assert driven.output == "done"
    assert (driven.last.activities, driven.last.messages) == ((), ())


# Detached starts.


@pytest.mark.parametrize(
    ("ending", "started"),
    [
        (lambda ctx: ctx.schedule_timer(1), True),
        (lambda ctx: None, True),
        (lambda ctx: 1 / 0, True),
        (lambda ctx: ctx.continue_as_new(1), True),
    ],
    ids=["goes on", "completed", "failed", "continued as new"],
)
def test_a_detached_start_is_made_whatever_the_turn_comes_to(ending: Callable[[Any], Any], started: bool) -> None:
    """The reference loses one that stands in a turn which continues as new (facts D14); we do not."""

    def code(ctx: Any, _: object) -> Flow:
        yield ctx.start_orchestration("D", "d", 1)
        task = ending(ctx)
        if task is not None:
            yield task

    driven = drive(code)
    assert (ms.StartOrchestration("d", "D", "1") in driven.last.messages) == started


def test_a_detached_start_in_a_cancelled_turn_is_recorded_and_not_made() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("go")
        yield ctx.start_orchestration("D", "d", 1)
        yield ctx.wait_for_event("more")

    driven = drive(code)
    result = driven.turn(driven.raised("go"), driven.cancel())
    assert ev.DETACHED_STARTED in kinds(result.events)
    assert result.messages == ()


# Which subscriptions are outstanding is counted in the rows.


def closed_at_the_end(driven: Driven) -> list[int | None]:
    return [e.source_event_id for e in driven.last.events if e.reason == ev.ORCHESTRATION_TERMINAL]


def test_each_message_takes_the_lowest_subscription_of_its_name_whoever_got_it() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("q"))
        yield ctx.dequeue_event("q")
        yield ctx.continue_as_new(1)

    driven = drive(code)
    result = driven.turn(driven.raised("go"), driven.queued("q", "m"))
    assert result.status == "ContinuedAsNew"
    assert closed_at_the_end(driven) == [6]  # the loser is counted as the taker, the real taker as open


def test_a_loser_of_this_turn_is_counted_as_a_taker_and_its_message_is_carried_all_the_same() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("q"))
        yield ctx.continue_as_new(1)

    driven = drive(code)
    result = driven.turn(driven.raised("go"), driven.queued("q", "m"))
    assert closed_at_the_end(driven) == []
    [message] = result.messages
    assert isinstance(message, ms.ContinueAsNew)
    assert message.carry_forward_events == [("q", '"m"')]


def test_a_subscription_that_was_dropped_in_an_earlier_turn_is_not_closed_again() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("q"))
        yield ctx.wait_for_event("never")

    driven = drive(code)
    driven.turn(driven.raised("go"))
    driven.turn(driven.cancel())
    assert closed_at_the_end(driven) == [5]


def test_an_event_that_came_before_its_subscription_takes_nothing() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        yield ctx.wait_for_event("e")

    driven = drive(code)
    driven.turn(driven.raised("e"))
    driven.turn(driven.completed(2))
    driven.turn(driven.cancel())
    assert closed_at_the_end(driven) == [5]


def test_an_event_takes_the_lowest_subscription_that_was_there_before_it() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.wait_for_event("e"), ctx.wait_for_event("e"), ctx.wait_for_event("f")])

    driven = drive(code)
    driven.turn(driven.raised("e"))
    driven.turn(driven.cancel())
    assert closed_at_the_end(driven) == [3, 4]


# Telling the parent.


def child_of(code: Callable[..., Any]) -> Driven:
    driven = Driven(code, instance_id="p::sub::7")
    driven.start(message=ms.StartOrchestration("p::sub::7", "C", "1", None, "p", 7, 1, 3))
    return driven


def test_a_child_says_what_it_completed_with() -> None:
    assert child_of(lambda ctx, _: [1]).last.messages == (ms.SubOrchCompleted("p", 3, 7, "[1]"),)


def test_a_child_says_what_it_failed_with() -> None:
    details = ev.application_error("ZeroDivisionError: division by zero")
    assert child_of(lambda ctx, _: 1 / 0).last.messages == (ms.SubOrchFailed("p", 3, 7, details),)


def test_a_cancelled_child_says_so() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("e")

    driven = child_of(waits)
    driven.turn(driven.cancel("why not"))
    assert driven.last.messages == (ms.SubOrchFailed("p", 3, 7, ev.cancelled_error("why not")),)


def test_a_child_whose_code_changed_says_so() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("e")

    def other(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(1)

    driven = child_of(waits)
    driven.change_code(other)
    result = driven.turn(driven.raised("e"))
    [message] = result.messages
    assert isinstance(message, ms.SubOrchFailed)
    assert message.details == result.details
    assert "Configuration" in message.details


def test_a_child_keeps_its_parent_over_continue_as_new() -> None:
    def code(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            yield ctx.continue_as_new(2)
        return "done"

    driven = child_of(code)
    assert [type(message) for message in driven.last.messages] == [ms.ContinueAsNew]
    second = driven.next_execution()
    assert second.last.messages == (ms.SubOrchCompleted("p", 3, 7, '"done"'),)
    assert (second.events[0].parent_instance, second.events[0].parent_id) == ("p", 7)


# The next execution.


def test_the_next_execution_begins_with_the_carried_messages_before_new_arrivals() -> None:
    def code(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("q"))
            yield ctx.continue_as_new(2)
        return [(yield ctx.dequeue_event("q")), (yield ctx.dequeue_event("q"))]

    driven = drive(code, 1)
    driven.turn(driven.raised("go"), driven.queued("q", "carried"))
    [message] = driven.last.messages
    second = Driven(code, execution_id=2)
    second.turn(second.queued("q", "new"), message)
    assert kinds(second.events)[:3] == [ev.STARTED, ev.QUEUE_MESSAGE, ev.QUEUE_MESSAGE]
    assert second.output == ["carried", "new"]


def test_key_values_live_on_without_being_carried_in_any_message() -> None:
    def code(ctx: Any, round_: int) -> Flow:
        ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or 0) + 1))
        if round_ < 3:
            yield ctx.continue_as_new(round_ + 1)
        return ctx.get_kv_value("n")

    second = drive(code, 1).next_execution()
    third = second.next_execution()
    assert third.output == "3"
    assert (third.execution_id, third.events[0].event_id) == (3, 1)
