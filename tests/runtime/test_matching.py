"""An operation must equal the next unused record of its own turn; in a turn that is not recorded it is new.

Follows replay-rule §1.3 and the table behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import msgspec
import pytest

from tests.runtime.driving import Driven, drive, kinds, new_rows
from workbench.runtime import events as ev
from workbench.runtime.divergence import Divergence

Flow = Generator[Any, Any, Any]


def two_turns(ctx: Any, _: object) -> Flow:
    """What most of these tests record: writes before and after one activity."""
    ctx.set_kv_value("a", "1")
    ctx.set_kv_value("b", "2")
    result = yield ctx.schedule_activity("Pay", {"sum": 5})
    ctx.set_kv_value("paid", result)
    yield ctx.schedule_timer(100)
    return "done"


@pytest.fixture
def recorded() -> Driven:
    driven = drive(two_turns)
    driven.turn(driven.completed(4, "yes"))
    driven.turn(driven.fired(7))
    return driven


def diverges(driven: Driven, code: Callable[..., Any]) -> Divergence:
    """Where this code leaves the history; it must."""
    found = driven.divergence(code)
    assert found is not None
    return found


def test_the_code_that_was_recorded_lines_up(recorded: Driven) -> None:
    replayed = recorded.replay()
    assert [turn.divergence for turn in replayed] == [None, None, None]
    assert replayed[-1].status == "Completed"
    assert replayed[-1].output == '"done"'


def test_ids_of_new_operations_follow_the_batch_at_once(recorded: Driven) -> None:
    assert [event.event_id for event in recorded.events] == list(range(1, 10))
    assert new_rows(recorded.results[1]) == ["6 KeyValueSet key=paid value=yes", "7 TimerCreated"]


# The words for what differs.


def test_another_value_is_changed(recorded: Driven) -> None:
    def other(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "3")
        yield ctx.schedule_activity("Pay", {"sum": 5})

    found = diverges(recorded, other)
    assert (found.kind, found.recorded_turn, found.operation) == ("changed", 1, 2)
    assert found.recorded == recorded.events[2]
    assert found.now is not None
    assert found.now.signature == ("KeyValueSet", "b", "3")
    assert found.message == (
        'kv set mismatch: action=SetKeyValue { key: "b", value: "3", last_updated_at_ms: 2000 } '
        'vs event=KeyValueSet { key: "b", value: "2", last_updated_at_ms: 2000 }'
    )


def test_an_operation_behind_the_last_record_of_a_recorded_turn_is_added(recorded: Driven) -> None:
    def other(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "2")
        yield ctx.schedule_activity("Pay", {"sum": 5})
        ctx.set_kv_value("paid", "yes")
        yield ctx.schedule_timer(100)
        ctx.set_kv_value("late", "1")
        return "done"

    found = diverges(recorded, other)
    assert (found.kind, found.recorded_turn, found.operation, found.recorded) == ("added", 3, 1, None)
    assert found.message == "an operation that is not in the recorded turn: KeyValueSet"


def test_an_operation_made_a_turn_too_early_is_moved() -> None:
    def original(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(1)
        yield ctx.schedule_activity("B")

    def both_at_once(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_timer(1), ctx.schedule_activity("B")])

    driven = drive(original)
    driven.turn(driven.fired(2))
    found = diverges(driven, both_at_once)
    assert (found.kind, found.recorded_turn, found.operation) == ("moved", 1, 2)
    assert found.recorded == driven.events[3]


def test_records_that_are_left_while_the_code_waits_are_removed() -> None:
    def original(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])

    def one_only(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A")])

    found = diverges(drive(original), one_only)
    assert (found.kind, found.operation, found.now) == ("removed", 2, None)
    assert found.message == "history schedule but no emitted action"


def test_a_wait_that_is_still_open_at_the_recorded_end_runs_on() -> None:
    def first_of_two(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("a"), ctx.schedule_timer(1))
        return "done"

    def both(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.wait_for_event("a"), ctx.schedule_timer(1)])
        return "done"

    driven = drive(first_of_two)
    driven.turn(driven.raised("a"))
    found = diverges(driven, both)
    assert found.kind == "runs on"
    assert found.recorded == driven.events[-1]


def test_code_that_ends_where_the_history_goes_on_has_ended_early() -> None:
    def original(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("a")
        yield ctx.wait_for_event("b")

    def shorter(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("a")
        return "done"

    driven = drive(original)
    driven.turn(driven.raised("a"))
    found = diverges(driven, shorter)
    assert (found.kind, found.recorded_turn, found.operation) == ("ended early", 2, 1)
    assert found.recorded == driven.events[3]


def test_code_that_ends_in_a_turn_that_recorded_nothing_has_ended_early() -> None:
    def original(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.wait_for_event("a"), ctx.wait_for_event("b")])

    def shorter(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("a"), ctx.wait_for_event("b"))
        return "done"

    driven = drive(original)
    driven.turn(driven.raised("a"))
    found = diverges(driven, shorter)
    assert (found.kind, found.recorded_turn, found.ending) == ("ended early", 2, 'completed with "done"')
    assert found.message == 'the code completed with "done" in a turn after which the history goes on'


def test_code_that_raises_early_has_ended_early_too(recorded: Driven) -> None:
    def raises(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        raise ValueError("no")
        yield

    found = diverges(recorded, raises)
    assert (found.kind, found.operation, found.ending) == ("ended early", 2, "failed with ValueError: no")


def test_code_that_continues_as_new_early_has_ended_early(recorded: Driven) -> None:
    def again(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        yield ctx.continue_as_new("x")

    found = diverges(recorded, again)
    assert (found.kind, found.operation) == ("ended early", 2)
    assert found.message.startswith(
        'kv set mismatch: action=ContinueAsNew { input: "\\"x\\"", version: None } vs event='
    )


# Tests to keep from the start (DESIGN §3).


def test_an_early_return_that_makes_a_set_again_is_found(recorded: Driven) -> None:
    def returns_early(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "2")
        return "early"
        yield

    def sets_again(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("a", "1")
        return "early"
        yield

    assert diverges(recorded, returns_early).kind == "ended early"
    assert diverges(recorded, sets_again).kind == "changed"


def test_all_turned_into_a_race_is_found_at_the_first_thing_it_does_otherwise() -> None:
    def everything(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])
        ctx.set_kv_value("k", "1")
        return "done"

    def first(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_activity("B"))
        ctx.set_kv_value("k", "1")
        return "done"

    driven = drive(everything)
    assert driven.divergence(first) is None  # while both wait they have written the same
    driven.turn(driven.completed(2))
    found = diverges(driven, first)
    assert (found.kind, found.recorded_turn) == ("added", 2)
    driven.turn(driven.completed(3))
    found = diverges(driven, first)
    assert (found.kind, found.recorded_turn) == ("moved", 2)


def test_all_turned_into_a_race_with_nothing_behind_it_is_an_early_end() -> None:
    def everything(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])

    def first(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_activity("B"))

    driven = drive(everything)
    driven.turn(driven.completed(2))
    assert diverges(driven, first).kind == "ended early"


def test_a_write_that_depends_on_what_this_execution_wrote_diverges_in_the_per_turn_model_only() -> None:
    def counter(ctx: Any, _: object) -> Flow:
        for _ in range(2):
            ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
            yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("n")

    delta = drive(counter)
    delta.turn(delta.completed(3))
    delta.turn(delta.completed(6))
    assert delta.output == "2"

    per_turn = drive(counter, kv_model="per-turn")
    result = per_turn.turn(per_turn.completed(3))
    assert result.divergence is not None
    assert (result.divergence.kind, result.divergence.turn, result.divergence.recorded_turn) == ("changed", 2, 1)
    assert result.status == "Failed"


def test_a_set_before_the_get_does_not_diverge_in_the_per_turn_model() -> None:
    def sets_first(ctx: Any, _: object) -> Flow:
        for number in range(3):
            ctx.set_kv_value("n", str(number))
            ctx.set_kv_value("seen", ctx.get_kv_value("n"))
            yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("seen")

    driven = drive(sets_first, kv_model="per-turn")
    for event_id in (4, 8, 12):
        driven.turn(driven.completed(event_id))
    assert driven.output == "2"


def test_a_divergence_knows_the_turn_being_made_and_the_one_being_replayed() -> None:
    def original(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        yield ctx.schedule_activity("B")

    driven = drive(original)
    driven.turn(driven.completed(2))
    driven.change_code(_schedules("Other"))
    result = driven.turn(driven.completed(4))
    assert result.divergence is not None
    assert (result.number, result.divergence.turn, result.divergence.recorded_turn) == (3, 3, 1)
    assert result.divergence.address == "1.3.1"


def _schedules(*names: str) -> Callable[..., Flow]:
    def code(ctx: Any, _: object) -> Flow:
        for name in names:
            yield ctx.schedule_activity(name)

    return code


# What a race lets go of.


def test_other_losers_than_recorded_are_a_changed_race() -> None:
    def races(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("a"), ctx.wait_for_event("b"))
        yield ctx.wait_for_event("c")

    driven = drive(races)
    driven.turn(driven.raised("a"))
    recorded = driven.turns[1]
    driven.turns[1] = tuple(each for each in recorded if each.type != ev.EVENT_SUBSCRIPTION_CANCELLED)
    found = diverges(driven, races)
    assert found.kind == "race changed"
    assert (found.dropped_now, found.dropped_recorded) == ((3,), ())
    assert found.message == "the code lets go of other tasks than the recorded turn did"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ev.ACTIVITY_CANCEL_REQUESTED, "activities"),
        (ev.CHILD_CANCEL_REQUESTED, "sub-orchestrations"),
        (ev.EVENT_SUBSCRIPTION_CANCELLED, "external waits"),
        (ev.QUEUE_SUBSCRIPTION_CANCELLED, "persistent waits"),
    ],
)
def test_a_loser_that_is_held_on_to_now_has_the_reference_engines_text(kind: str, words: str) -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("a")
        yield ctx.wait_for_event("c")

    driven = drive(waits)
    driven.turn(driven.raised("a"))
    driven.turns[1] = (*driven.turns[1], ev.new_event("i", 1, 5, 3_000, kind, 77, reason=ev.DROPPED))
    found = diverges(driven, waits)
    assert (found.kind, found.dropped_now, found.dropped_recorded) == ("race changed", (), (77,))
    assert found.message == (
        f"cancellation mismatch ({words}): baseline_dropped_future_cancel_requests={{77}} "
        "ctx_cancelled_in_replayed_segment={}"
    )


def test_the_kind_of_every_operation_is_part_of_the_match() -> None:
    operations: dict[str, Callable[[Any], Any]] = {
        "activity": lambda ctx: ctx.schedule_activity("X"),
        "timer": lambda ctx: ctx.schedule_timer(1),
        "event": lambda ctx: ctx.wait_for_event("X"),
        "queue": lambda ctx: ctx.dequeue_event("X"),
        "child": lambda ctx: ctx.schedule_sub_orchestration("X"),
        "detached": lambda ctx: ctx.start_orchestration("X", "x"),
        "status": lambda ctx: ctx.set_custom_status("X"),
        "set": lambda ctx: ctx.set_kv_value("X", ""),
        "clear": lambda ctx: ctx.clear_kv_value("X"),
        "clear all": lambda ctx: ctx.clear_all_kv_values(),
    }

    def makes(name: str) -> Callable[..., Flow]:
        def code(ctx: Any, _: object) -> Flow:
            task = operations[name](ctx)
            if task is not None:
                yield task
            yield ctx.wait_for_event("end")

        return code

    for recorded_name in operations:
        driven = drive(makes(recorded_name))
        for name in operations:
            found = driven.divergence(makes(name))
            assert (found is None) == (name == recorded_name), (recorded_name, name)
            assert found is None or found.kind == "changed"


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        (lambda ctx: ctx.schedule_activity("A", 1), lambda ctx: ctx.schedule_activity("B", 1)),
        (lambda ctx: ctx.schedule_activity("A", 1), lambda ctx: ctx.schedule_activity("A", 2)),
        (lambda ctx: ctx.schedule_activity("A", 1), lambda ctx: ctx.schedule_activity("A", 1, "s")),
        (lambda ctx: ctx.schedule_activity("A", 1, "s"), lambda ctx: ctx.schedule_activity("A", 1, "t")),
        (lambda ctx: ctx.schedule_activity("A", 1), lambda ctx: ctx.schedule_activity("A", 1).with_tag("gpu")),
        (lambda ctx: ctx.wait_for_event("a"), lambda ctx: ctx.wait_for_event("b")),
        (lambda ctx: ctx.dequeue_event("a"), lambda ctx: ctx.dequeue_event("b")),
        (lambda ctx: ctx.schedule_sub_orchestration("A", 1), lambda ctx: ctx.schedule_sub_orchestration("B", 1)),
        (lambda ctx: ctx.schedule_sub_orchestration("A", 1), lambda ctx: ctx.schedule_sub_orchestration("A", 2)),
        (lambda ctx: ctx.start_orchestration("A", "x", 1), lambda ctx: ctx.start_orchestration("B", "x", 1)),
        (lambda ctx: ctx.start_orchestration("A", "x", 1), lambda ctx: ctx.start_orchestration("A", "y", 1)),
        (lambda ctx: ctx.start_orchestration("A", "x", 1), lambda ctx: ctx.start_orchestration("A", "x", 2)),
        (lambda ctx: ctx.set_kv_value("a", "1"), lambda ctx: ctx.set_kv_value("b", "1")),
        (lambda ctx: ctx.set_kv_value("a", "1"), lambda ctx: ctx.set_kv_value("a", "2")),
        (lambda ctx: ctx.clear_kv_value("a"), lambda ctx: ctx.clear_kv_value("b")),
    ],
)
def test_a_matched_field_that_differs_diverges(recorded: Callable[[Any], Any], now: Callable[[Any], Any]) -> None:
    def makes(operation: Callable[[Any], Any]) -> Callable[..., Flow]:
        def code(ctx: Any, _: object) -> Flow:
            task = operation(ctx)
            if task is not None:
                yield task
            yield ctx.wait_for_event("end")

        return code

    assert diverges(drive(makes(recorded)), makes(now)).kind == "changed"


def test_the_input_of_a_cross_instance_read_is_compared_as_json() -> None:
    def reads(ctx: Any, _: object) -> Flow:
        yield ctx.get_kv_value_from_instance("other", "key")

    driven = drive(reads)
    written = driven.turns[0][1]
    assert written.input == '{"instance_id": "other", "key": "key"}'
    compact = msgspec.structs.replace(written, input='{"key":"key","instance_id":"other"}')
    driven.turns[0] = (driven.turns[0][0], compact)
    assert driven.divergence(reads) is None
    driven.turns[0] = (driven.turns[0][0], msgspec.structs.replace(written, input='{"instance_id":"x","key":"key"}'))
    assert diverges(driven, reads).kind == "changed"


# A changed history has one divergence, and only in the result.


def test_after_a_divergence_the_failure_is_recorded_and_what_the_code_did_is_not(recorded: Driven) -> None:
    driven = drive(two_turns)
    driven.change_code(_schedules("Other"))
    result = driven.turn(driven.completed(4, "yes"))
    message = (
        'kv set mismatch: action=CallActivity { scheduling_event_id: 0, name: "Other", input: "null", '
        'session_id: None, tag: None } vs event=KeyValueSet { key: "a", value: "1", last_updated_at_ms: 2000 }'
    )
    assert kinds(result.events) == [ev.ACTIVITY_COMPLETED, ev.FAILED]
    assert result.output == f"nondeterministic: {message}"
    assert result.details == {"Configuration": {"kind": "Nondeterminism", "resource": "", "message": message}}
    assert driven.kv == {"a": "1", "b": "2"}


def test_a_failed_replay_ends_the_subscriptions_and_activities_that_the_history_leaves_open() -> None:
    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.all(
            [
                ctx.schedule_activity("A"),
                ctx.wait_for_event("e"),
                ctx.dequeue_event("q"),
                ctx.schedule_activity("B"),
                ctx.schedule_timer(5),
            ]
        )

    driven = drive(waits)
    driven.change_code(_schedules("Other"))
    driven.turn(driven.completed(2))
    assert new_rows(driven.last)[:2] == [
        "8 ExternalSubscribedCancelled <3> reason=orchestration_terminal",
        "9 ExternalSubscribedPersistentCancelled <4> reason=orchestration_terminal",
    ]
    assert kinds(driven.last.events)[3:] == [ev.FAILED, ev.ACTIVITY_CANCEL_REQUESTED]
    assert driven.last.events[-1].source_event_id == 5
    assert driven.last.cancelled_activities == (5,)
