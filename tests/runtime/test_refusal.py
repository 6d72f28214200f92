"""A turn is held to the limits as a whole: in which order, with which words, and what a refused one keeps.

The numbers are bytes of UTF-8 and keys alive after the turn (spec 001 "Size Limits", semantics §6).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive, kinds, replay, rows
from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.limits import Limits

Flow = Generator[Any, Any, Any]
LIMITS = Limits(kv_keys=3, kv_value_bytes=12, custom_status_bytes=12, tag_name_bytes=12, carried_messages=2)


def under_limits(code: Callable[..., Any], value: object = None, **options: Any) -> Driven:
    return drive(code, value, limits=LIMITS, **options)


# The numbers.


def test_the_default_numbers_are_the_specifications() -> None:
    assert Limits() == Limits(
        kv_keys=10, kv_value_bytes=16_384, custom_status_bytes=262_144, tag_name_bytes=256, carried_messages=20
    )


def test_the_released_engines_numbers_are_larger() -> None:
    assert Limits.duroxide() == Limits(
        kv_keys=150, kv_value_bytes=65_536, custom_status_bytes=262_144, tag_name_bytes=256, carried_messages=100
    )


@pytest.mark.parametrize("text", ["x", "é", "€", "😀"])
@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda ctx, text: ctx.set_kv_value("k", text), "KV value for key 'k' ({} bytes) exceeds limit (12 bytes)"),
        (lambda ctx, text: ctx.set_custom_status(text), "Custom status size ({} bytes) exceeds limit (12 bytes)"),
        (
            lambda ctx, text: ctx.schedule_activity("Pay").with_tag(text),
            "Activity 'Pay' tag size ({} bytes) exceeds limit (12 bytes)",
        ),
    ],
    ids=["value", "status", "tag"],
)
def test_exactly_the_limit_is_fine_and_one_character_more_is_not(
    write: Callable[[Any, str], Any], words: str, text: str
) -> None:
    width = len(text.encode())

    def code(ctx: Any, count: int) -> Flow:
        task = write(ctx, text * count)
        yield task if task is not None else ctx.schedule_timer(1)

    fits = under_limits(code, 12 // width)
    assert (fits.last.status, fits.last.refused) == ("Running", None)
    refused = under_limits(code, 12 // width + 1)
    assert (refused.last.status, refused.last.refused) == ("Failed", words.format(12 + width))
    assert refused.last.output == refused.last.refused


def test_a_key_may_be_as_long_as_it_likes() -> None:
    driven = under_limits(lambda ctx, _: ctx.set_kv_value("k" * 100_000, "1"))
    assert driven.last.refused is None


def test_a_key_stands_in_the_message_as_it_is() -> None:
    driven = under_limits(lambda ctx, _: ctx.set_kv_value('it\'s "é"\n', "x" * 13))
    assert driven.last.refused == "KV value for key 'it's \"é\"\n' (13 bytes) exceeds limit (12 bytes)"


def test_all_broken_limits_are_looked_at_in_one_order() -> None:
    breaks: dict[str, Callable[[Any], Any]] = {
        "Custom status": lambda ctx: ctx.set_custom_status("x" * 13),
        "Activity 'A' tag": lambda ctx: ctx.schedule_activity("A").with_tag("x" * 13),
        "KV value": lambda ctx: ctx.set_kv_value("big", "x" * 13),
        "KV key count": lambda ctx: [ctx.set_kv_value(str(n), "") for n in range(4)] and None,
    }
    remaining = list(breaks)
    while remaining:

        def code(ctx: Any, names: list[str]) -> Flow:
            tasks = [task for name in reversed(names) if isinstance(task := breaks[name](ctx), object) and task]
            yield ctx.all(tasks) if tasks else ctx.schedule_timer(1)

        driven = under_limits(code, remaining)
        assert str(driven.last.refused).startswith(remaining.pop(0))


# Which part of a turn counts.


def test_of_the_custom_status_only_the_last_text_counts() -> None:
    def small_after_large(ctx: Any, _: object) -> None:
        ctx.set_custom_status("x" * 13)
        ctx.set_custom_status("x")

    def reset_after_large(ctx: Any, _: object) -> None:
        ctx.set_custom_status("x" * 13)
        ctx.reset_custom_status()

    assert under_limits(small_after_large).last.refused is None
    assert under_limits(reset_after_large).last.refused is not None


def test_a_value_counts_even_if_it_is_gone_at_the_end_of_the_turn() -> None:
    def cleared(ctx: Any, _: object) -> None:
        ctx.set_kv_value("k", "x" * 13)
        ctx.clear_all_kv_values()

    assert under_limits(cleared).last.refused is not None


def test_the_first_value_that_is_too_large_is_named() -> None:
    def two(ctx: Any, _: object) -> None:
        ctx.set_kv_value("second", "x" * 14)
        ctx.set_kv_value("first", "x" * 13)

    assert str(under_limits(two).last.refused).startswith("KV value for key 'second' (14 bytes)")


def test_what_an_earlier_turn_wrote_is_not_looked_at_again() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "x" * 12)
        yield ctx.schedule_timer(1)
        yield ctx.schedule_timer(1)

    driven = under_limits(code)
    driven.limits = Limits(kv_value_bytes=1)
    driven.turn(driven.fired(3))
    assert driven.last.refused is None


# Keys alive after the turn: right in every case of semantics §6.5.


def test_one_new_key_a_turn_is_refused_at_the_limit() -> None:
    def code(ctx: Any, _: object) -> Flow:
        for number in range(5):
            ctx.set_kv_value(f"k{number}", "1")
            yield ctx.schedule_timer(1)

    driven = under_limits(code)
    while driven.last.status == "Running":
        driven.turn(driven.fired(driven.events[-1].event_id))
    assert (driven.last.number, driven.last.refused) == (4, "KV key count (4) exceeds limit (3)")
    assert list(driven.kv) == ["k0", "k1", "k2"]


def test_keys_of_earlier_executions_count() -> None:
    def code(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            for number in range(3):
                ctx.set_kv_value(f"k{number}", "1")
            yield ctx.continue_as_new(2)
        yield ctx.schedule_timer(1)
        ctx.set_kv_value("one more", "1")

    second = under_limits(code, 1).next_execution()
    assert second.last.refused is None
    second.turn(second.fired(2))
    assert second.last.refused == "KV key count (4) exceeds limit (3)"


@pytest.mark.parametrize(
    "room",
    [
        lambda ctx: ctx.clear_all_kv_values(),
        lambda ctx: ctx.clear_kv_value("k0"),
        lambda ctx: ctx.prune_kv_values_updated_before(2**60),
    ],
)
def test_keys_that_were_cleared_make_room_in_this_turn_and_in_later_ones(room: Callable[[Any], Any]) -> None:
    def code(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            for number in range(3):
                ctx.set_kv_value(f"k{number}", "1")
            yield ctx.continue_as_new(2)
        room(ctx)
        yield ctx.schedule_timer(1)
        ctx.set_kv_value("new", "1")
        yield ctx.schedule_timer(1)
        ctx.set_kv_value("new", "2")
        return "done"

    second = under_limits(code, 1).next_execution()
    second.turn(second.fired(second.events[-1].event_id))
    second.turn(second.fired(second.events[-1].event_id))
    assert second.output == "done"


def test_a_key_that_is_set_and_cleared_in_one_turn_does_not_count() -> None:
    def code(ctx: Any, _: object) -> None:
        for number in range(9):
            ctx.set_kv_value(f"k{number}", "1")
            ctx.clear_kv_value(f"k{number}")

    driven = under_limits(code)
    assert (driven.last.refused, driven.last.key_count) == (None, 0)


# What a refused turn keeps.


def busy(ctx: Any, _: object) -> Flow:
    """Starts everything there is, then breaks a limit in the turn after."""
    yield ctx.race(
        ctx.schedule_timer(5),
        ctx.schedule_activity_with_retry("Slow", 1, {}),
    )
    yield ctx.all([])
    ctx.set_kv_value("small", "1")
    ctx.set_kv_value("large", "x" * 13)
    ctx.set_custom_status("written")
    yield ctx.start_orchestration("D", "detached")
    yield ctx.all(
        [
            ctx.schedule_activity("B"),
            ctx.schedule_timer(1),
            ctx.schedule_sub_orchestration("C"),
            ctx.wait_for_event("e"),
        ]
    )


def test_a_refused_turn_keeps_its_arrivals_and_one_failure_and_starts_nothing() -> None:
    driven = under_limits(busy)
    result = driven.turn(driven.fired(2), driven.queued("q", 1))
    text = "KV value for key 'large' (13 bytes) exceeds limit (12 bytes)"
    assert rows(result.events) == [
        "4 TimerFired <2>",
        "5 ExternalEventPersistent name=q data=1",
        f"6 OrchestrationFailed details={ev.application_error(text)}",
    ]
    assert (result.status, result.output, result.details) == ("Failed", text, ev.application_error(text))
    assert (result.activities, result.messages, result.waiting_for) == ((), (), ())
    assert driven.kv == {}


def test_activities_in_flight_leave_the_worker_queue_and_those_of_the_refused_turn_never_entered_it() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B"), ctx.wait_for_event("go")])

    def breaks(ctx: Any, _: object) -> Flow:
        yield from one_at_a_time(ctx)

    def one_at_a_time(ctx: Any) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("A"))
        ctx.set_kv_value("large", "x" * 13)
        yield ctx.schedule_activity("B")

    driven = under_limits(breaks)
    assert driven.turn(driven.raised("go")).cancelled_activities == (3,)
    waiting = under_limits(code)
    waiting.change_code(code)
    assert waiting.turn(waiting.cancel()).cancelled_activities == (2, 3)


def test_children_that_are_under_way_are_still_told_and_children_of_the_refused_turn_are_not() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_sub_orchestration("Old"))
        ctx.set_kv_value("large", "x" * 13)
        yield ctx.race(ctx.dequeue_event("q"), ctx.schedule_sub_orchestration("New"))
        yield ctx.wait_for_event("end")

    driven = under_limits(code)
    result = driven.turn(driven.queued("q", 1), driven.raised("go"))
    assert result.refused is not None
    assert result.messages == (ms.CancelInstance("i::sub::3", "parent dropped sub-orchestration future"),)


def test_a_parent_is_told() -> None:
    def code(ctx: Any, _: object) -> None:
        ctx.set_kv_value("large", "x" * 13)

    driven = Driven(code, instance_id="p::sub::7", limits=LIMITS)
    result = driven.start(message=ms.StartOrchestration("p::sub::7", "C", "1", None, "p", 7, 1, 2))
    assert result.messages == (ms.SubOrchFailed("p", 2, 7, ev.application_error(str(result.refused))),)


def test_a_turn_that_was_completing_or_continuing_has_failed_instead() -> None:
    def completes(ctx: Any, _: object) -> str:
        ctx.set_kv_value("large", "x" * 13)
        return "done"

    def continues(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("large", "x" * 13)
        yield ctx.continue_as_new(1)

    for code in (completes, continues):
        driven = under_limits(code)
        assert kinds(driven.events) == [ev.STARTED, ev.FAILED]
        assert (driven.last.status, driven.last.messages) == ("Failed", ())


def test_metrics_say_which_kv_limit_it_was() -> None:
    too_large = under_limits(lambda ctx, _: ctx.set_kv_value("k", "x" * 13)).last.measures
    too_many = under_limits(lambda ctx, _: [ctx.set_kv_value(str(n), "") for n in range(4)] and None).last.measures
    assert [name for name, _ in too_large][-1] == "duroxide.kv.limit_exceeded.value_size"
    assert [name for name, _ in too_many][-1] == "duroxide.kv.limit_exceeded.key_count"


def test_replaying_a_turn_never_refuses_it() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "x" * 12)
        yield ctx.schedule_timer(1)

    driven = under_limits(code)
    driven.limits = Limits(kv_value_bytes=1)
    [result] = replay(driven.execution(), driven.recorded())
    assert (result.refused, result.status) == (None, "Running")


# Messages that continue-as-new carries over.


def carries(ctx: Any, round_: int) -> Flow:
    if round_ == 1:
        yield ctx.wait_for_event("go")
        yield ctx.continue_as_new(2)
    first = yield ctx.dequeue_event("b")
    return [first, (yield ctx.dequeue_event("a"))]


def test_the_oldest_unread_messages_are_carried_and_the_others_are_named() -> None:
    driven = under_limits(carries, 1)
    result = driven.turn(driven.queued("a", 1), driven.queued("b", 2), driven.queued("a", 3), driven.raised("go"))
    [message] = result.messages
    assert isinstance(message, ms.ContinueAsNew)
    assert message.carry_forward_events == [("a", "1"), ("b", "2")]
    warning = "unread queue messages were not carried over: 1; the limit is 2"
    assert result.warnings == (warning,)
    assert ("runtime", "WARNING", warning, {}) in result.logs
    second = driven.next_execution()
    assert rows(second.events)[1:3] == [
        "2 ExternalEventPersistent name=a data=1",
        "3 ExternalEventPersistent name=b data=2",
    ]
    assert second.events[0].carry_forward_events == [("a", "1"), ("b", "2")]
    assert second.output == [2, 1]


def test_exactly_as_many_as_allowed_are_carried_without_a_word() -> None:
    driven = under_limits(carries, 1)
    result = driven.turn(driven.queued("a", 1), driven.queued("b", 2), driven.raised("go"))
    assert result.warnings == ()
    assert driven.next_execution().output == [2, 1]
