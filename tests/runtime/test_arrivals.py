"""What a batch of messages does: who gets it, who is woken, what is lost (replay-rule §1.2 and §1.3)."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

from tests.runtime.driving import Driven, drive, kinds, new_rows, rows
from workbench.recordings.sources import open_source
from workbench.runtime import events as ev
from workbench.runtime import messages as ms

Flow = Generator[Any, Any, Any]
RECORDINGS = Path(__file__).parents[1] / "cases" / "recordings"


# External events.


def event_then_event_or_timer(ctx: Any, _: object) -> Flow:
    """P-12, instance b."""
    first = yield ctx.wait_for_event("E")
    second = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(700))
    return [first, second]


def test_the_second_of_two_events_in_a_batch_is_lost_since_the_next_wait_is_made_in_that_batch() -> None:
    driven = drive(event_then_event_or_timer)
    result = driven.turn(driven.raised("E", "one"), driven.raised("E", "two"))
    assert rows(result.events) == [
        '3 ExternalEvent name=E data="one"',
        '4 ExternalEvent name=E data="two"',
        "5 ExternalSubscribed name=E",
        "6 TimerCreated",
    ]
    assert result.unhandled == (result.events[1],)
    assert result.warnings == ("event E arrived, nobody waiting",)
    driven.turn(driven.fired(6))
    assert driven.output == ["one", {"index": 1, "value": None}]


def test_the_real_engines_history_of_two_events_in_a_batch_replays_the_same() -> None:
    with_engine = open_source(RECORDINGS / "P-12_event_early.db").recording("b")
    replay = with_engine.replay(event_then_event_or_timer)
    assert (replay.verdict, replay.divergence) == ("same", None)


def test_an_event_that_nobody_waits_for_is_lost_for_good() -> None:
    def waits_late(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        return (yield ctx.wait_for_event("e"))

    driven = drive(waits_late)
    lost = driven.turn(driven.raised("e", "early"))
    assert (lost.unhandled, lost.woken_by) == (lost.arrivals, None)
    driven.turn(driven.completed(2))
    assert driven.last.status == "Running"
    driven.turn(driven.raised("e", "late"))
    assert driven.output == "late"


def test_a_wait_that_lost_its_race_in_this_batch_still_takes_the_event_with_it() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("e"))
        return (yield ctx.race(ctx.wait_for_event("e"), ctx.schedule_timer(9)))

    driven = drive(races)
    result = driven.turn(driven.raised("go"), driven.raised("e", "lost"))
    assert result.warnings == ("event e arrived, its wait had just lost a race",)
    assert new_rows(result)[-1] == "8 ExternalSubscribedCancelled <3> reason=dropped_future"
    driven.turn(driven.raised("e", "found"))
    assert driven.output == {"index": 0, "value": "found"}


def test_a_loser_of_an_earlier_turn_holds_no_place() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("e"))
        return (yield ctx.wait_for_event("e"))

    driven = drive(races)
    driven.turn(driven.raised("go"))
    driven.turn(driven.raised("e", "mine"))
    assert driven.output == "mine"


def test_two_waits_of_one_name_take_events_in_the_order_of_the_waits() -> None:
    def both(ctx: Any, _: object) -> Flow:
        return (yield ctx.all([ctx.wait_for_event("e"), ctx.wait_for_event("e")]))

    driven = drive(both)
    driven.turn(driven.raised("e", 1))
    driven.turn(driven.raised("e", 2))
    assert driven.output == [{"ok": 1}, {"ok": 2}]


def test_names_are_compared_exactly() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        return (yield ctx.wait_for_event("E"))

    driven = drive(waits)
    assert driven.turn(driven.raised("e")).unhandled != ()
    driven.turn(driven.raised("E", 1))
    assert driven.output == 1


# Queues.


def test_a_race_of_two_reads_of_one_queue_takes_one_of_two_buffered_messages() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("go")
        first = yield ctx.race(ctx.dequeue_event("q"), ctx.dequeue_event("q"))
        second = yield ctx.dequeue_event("q")
        return [first, second]

    driven = drive(races)
    driven.turn(driven.queued("q", "m1"), driven.queued("q", "m2"))
    driven.turn(driven.raised("go"))
    assert driven.output == [{"index": 0, "value": "m1"}, "m2"]
    assert kinds(driven.last.events)[-2:] == [ev.QUEUE_SUBSCRIPTION_CANCELLED, ev.COMPLETED]


def test_buffered_messages_go_one_at_a_time_the_code_running_in_between() -> None:
    def drains(ctx: Any, _: object) -> Flow:
        got = []
        for _ in range(3):
            got.append((yield ctx.dequeue_event("q")))
            ctx.set_kv_value("got", str(len(got)))
        return got

    driven = Driven(drains)
    driven.turn(
        ms.StartOrchestration("i", "Flow", "null"), driven.queued("q", 1), driven.queued("q", 2), driven.queued("q", 3)
    )
    assert kinds(driven.events) == [
        ev.STARTED,
        *[ev.QUEUE_MESSAGE] * 3,
        *[ev.QUEUE_SUBSCRIBED, ev.KV_SET] * 3,
        ev.COMPLETED,
    ]
    assert driven.output == [1, 2, 3]
    assert driven.last.woken_by == driven.events[0]


def test_there_is_no_limit_of_a_hundred_rounds() -> None:
    def drains(ctx: Any, _: object) -> Flow:
        total = 0
        for _ in range(150):
            total += yield ctx.dequeue_event("q")
        return total

    driven = Driven(drains)
    driven.turn(ms.StartOrchestration("i", "Flow", "null"), *(driven.queued("q", 1) for _ in range(150)))
    assert driven.output == 150


def test_a_dropped_taker_takes_nothing() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("q"))
        return (yield ctx.dequeue_event("q"))

    driven = drive(races)
    driven.turn(driven.raised("go"), driven.queued("q", "kept"))
    assert driven.output == "kept"


def test_takers_of_a_queue_are_served_in_the_order_they_were_made() -> None:
    def both(ctx: Any, _: object) -> Flow:
        return (yield ctx.all([ctx.dequeue_event("q"), ctx.dequeue_event("q")]))

    driven = drive(both)
    driven.turn(driven.queued("q", 1), driven.queued("q", 2))
    assert driven.output == [{"ok": 1}, {"ok": 2}]


def test_queues_of_other_names_are_buffered_apart() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        return (yield ctx.dequeue_event("b"))

    driven = drive(waits)
    driven.turn(driven.queued("a", 1), driven.queued("b", 2))
    assert driven.output == 2


# Who is woken.


def test_at_most_one_arrival_of_a_batch_wakes_the_code() -> None:
    def two(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])
        yield ctx.schedule_activity("C")

    driven = drive(two)
    result = driven.turn(driven.completed(3), driven.completed(2))
    assert result.woken_by == result.arrivals[1]
    assert new_rows(result) == ["6 ActivityScheduled name=C input=null"]


def test_what_wakes_nobody_is_still_recorded() -> None:
    def two(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])

    driven = drive(two)
    result = driven.turn(driven.completed(2))
    assert (result.woken_by, kinds(result.events)) == (None, [ev.ACTIVITY_COMPLETED])
    assert result.waiting_for == ("activity B(null), event 3",)


def test_of_two_members_of_a_race_in_one_batch_the_first_to_arrive_wins() -> None:
    def races(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_activity("B")))

    driven = drive(races)
    driven.turn(driven.completed(3, "b"), driven.completed(2, "a"))
    assert driven.output == {"index": 1, "value": "b"}


def test_a_loser_that_completes_later_in_the_batch_still_gets_its_breadcrumb() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("A"))
        yield ctx.wait_for_event("more")

    driven = drive(races)
    result = driven.turn(driven.raised("go"), driven.completed(3))
    assert new_rows(result) == [
        "6 ExternalSubscribed name=more",
        "7 ActivityCancelRequested <3> reason=dropped_future",
    ]


def test_arrivals_behind_the_one_that_ends_the_code_are_recorded_and_delivered_to_nobody() -> None:
    def one(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_timer(5)))

    driven = drive(one)
    result = driven.turn(driven.completed(2, "a"), driven.fired(3), driven.raised("x"))
    assert kinds(result.events) == [ev.ACTIVITY_COMPLETED, ev.TIMER_FIRED, ev.EVENT_RECEIVED, ev.COMPLETED]
    assert result.woken_by == result.arrivals[0]


# Cancelling.


def waits_for_an_activity(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("A")
    ctx.set_kv_value("k", "1")
    return "done"


def test_a_cancel_wins_wherever_it_stands_in_the_batch_and_what_the_code_wrote_is_kept() -> None:
    for cancel_first in (True, False):
        driven = drive(waits_for_an_activity)
        pair = (driven.completed(2), driven.cancel("enough"))
        result = driven.turn(*(pair if not cancel_first else reversed(pair)))
        assert (result.status, result.output) == ("Failed", "canceled: enough")
        assert ev.KV_SET in kinds(result.events)
        assert driven.kv == {"k": "1"}


def test_a_cancel_ends_code_that_waits() -> None:
    driven = drive(waits_for_an_activity)
    result = driven.turn(driven.cancel("no more"))
    assert new_rows(result) == [
        f"4 OrchestrationFailed details={ev.cancelled_error('no more')}",
        "5 ActivityCancelRequested <2> reason=orchestration_terminal_failed",
    ]
    assert result.cancelled_activities == (2,)


def test_two_cancels_in_a_batch_are_one_event_the_first() -> None:
    driven = drive(waits_for_an_activity)
    result = driven.turn(driven.cancel("first"), driven.cancel("second"))
    assert kinds(result.events).count(ev.CANCEL_REQUESTED) == 1
    assert result.output == "canceled: first"


def test_a_cancel_in_the_first_batch_lets_the_code_run_once() -> None:
    driven = Driven(waits_for_an_activity)
    result = driven.turn(driven.cancel("at once"), ms.StartOrchestration("i", "Flow", "null"))
    assert kinds(result.events)[:3] == [ev.STARTED, ev.CANCEL_REQUESTED, ev.ACTIVITY_SCHEDULED]
    assert (result.status, result.activities, result.messages) == ("Failed", (), ())


def test_the_ending_of_a_cancelled_turn_is_not_compared() -> None:
    driven = drive(waits_for_an_activity)
    driven.turn(driven.completed(2), driven.cancel())

    def other_end(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        ctx.set_kv_value("k", "1")
        raise ValueError("other")

    replayed = driven.replay(other_end)
    assert (replayed[-1].divergence, replayed[-1].outcome_difference) == (None, None)
