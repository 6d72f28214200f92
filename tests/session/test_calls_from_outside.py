"""Events, messages, results by hand and cancels: what each does to the next turn and to the outcome."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from workbench import Workbench
from workbench.run import Outcome
from workbench.runtime.kv import KVModel

Flow = Generator[Any, Any, Any]


def test_an_event_reaches_the_wait_that_is_there_and_an_early_one_is_lost_with_a_warning(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Echo", 1)
        return (yield ctx.wait_for_event("go"))

    run = wb.start(flow)
    run.turn()
    run.raise_event("go", "early")
    early = run.turn()
    assert early.warnings == ("event go arrived, nobody waiting",)
    assert [event.event_id for event in early.unhandled] == [3]
    assert early.woken_by is None
    run.turn()
    run.raise_event("go", "in time")
    assert run.turn().warnings == ()
    assert run.output == "in time"


def test_names_of_events_are_matched_exactly(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.wait_for_event("Go"))

    run = wb.start(flow)
    run.turn()
    run.raise_event("go")
    run.raise_event("Go ", "blank")
    assert run.turn().warnings == ("event go arrived, nobody waiting", "event Go  arrived, nobody waiting")
    run.raise_event("Go", None)
    assert run.finish().output is None


def test_messages_are_kept_in_order_until_they_are_taken(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        first = yield ctx.dequeue_event("a")
        yield ctx.schedule_activity("Echo", 1)
        return [first, (yield ctx.dequeue_event("a")), (yield ctx.dequeue_event("b"))]

    run = wb.start(flow)
    for queue, message in (("b", "b1"), ("a", "a1"), ("a", "a2"), ("a", "a3")):
        run.enqueue_event(queue, message)
    assert run.finish().output == ["a1", "a2", "b1"]


@pytest.mark.parametrize("value", [None, 0, False, "", [], {"a": [1.5, None]}, "42", 2**70])
def test_data_arrives_as_it_was_sent(wb: Workbench, value: object) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        both = yield ctx.all([ctx.wait_for_event("go"), ctx.dequeue_event("mail"), ctx.schedule_activity("Missing")])
        return [each["ok"] for each in both]

    run = wb.start(flow)
    run.turn()
    run.raise_event("go", value)
    run.enqueue_event("mail", value)
    run.complete(4, value)
    output = run.finish().output
    assert output == [value] * 3
    assert [type(each) for each in output] == [type(value)] * 3


def test_a_result_by_hand_stands_for_running_the_activity(wb: Workbench) -> None:
    @wb.activity("Never")
    def never(ctx: object, _: object) -> None:
        raise AssertionError("this must not run")

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        good = yield ctx.schedule_activity("Never")
        try:
            yield ctx.schedule_activity("Never")
        except Exception as error:
            return [good, str(error)]
        return "not reached"

    run = wb.start(flow)
    run.turn()
    run.complete(2, "by hand")
    run.turn()
    run.fail(4, "no stock")
    assert run.finish().output == ["by hand", "no stock"]


def test_a_failure_by_hand_that_is_not_caught_fails_the_instance(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Missing")

    run = wb.start(flow)
    run.turn()
    run.fail(2, "no stock")
    assert run.finish() == Outcome(instance_id="flow-1", status="Failed", error="Exception: no stock", turns=2)


def test_a_cancel_ends_the_instance_with_its_next_turn(either: Workbench, kv_model: KVModel) -> None:
    wb = either

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "kept")
        try:
            yield ctx.wait_for_event("go")
        finally:
            ctx.set_kv_value("cleanup", "not written: being cancelled is not being resumed")

    run = wb.start(flow)
    run.turn()
    run.cancel("enough")
    assert run.status == "Running"
    turn = run.turn()
    assert (turn.status, run.error) == ("Failed", "canceled: enough")
    assert run.kv == {"k": "kept"}
    assert wb.kv_model == kv_model


def test_a_cancel_beats_the_end_of_the_code_in_the_same_batch(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("k", "made in the last turn")
        return "done"

    run = wb.start(flow)
    run.turn()
    run.raise_event("go")
    run.cancel()
    assert run.finish().error == "canceled: "
    assert run.kv == {"k": "made in the last turn"}


def test_a_cancelled_parent_cancels_its_child(wb: Workbench) -> None:
    @wb.orchestration
    def inner(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("never")

    @wb.orchestration
    def outer(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_sub_orchestration_with_id("inner", "the-child")

    run = wb.start(outer)
    run.turn()
    wb.run("the-child").turn()
    run.cancel("enough")
    assert run.finish().error == "canceled: enough"
    assert wb.run("the-child").finish().error == "canceled: parent canceled"


def test_the_failure_of_a_child_is_raised_at_its_yield(wb: Workbench) -> None:
    @wb.orchestration
    def inner(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Fail", "broken")

    @wb.orchestration
    def outer(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_sub_orchestration("inner")
        except Exception as error:
            return str(error)
        return "not reached"

    expected = "Exception: Activity 'Fail' call failed: ValueError: broken"
    assert wb.start(outer).finish().output == expected
