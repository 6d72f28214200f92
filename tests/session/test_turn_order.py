"""What `run.turn()` does to come to a turn, in the order of DESIGN §5: messages, an activity, a child, the clock."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest

from tests.session.contents import contents
from workbench import SystemClock, Workbench
from workbench.runtime import events as ev
from workbench.runtime.clock import MANUAL_START_MS
from workbench.runtime.errors import InstanceWaiting
from workbench.runtime.turn import Turn

Flow = Generator[Any, Any, Any]


def arrived(turn: Turn) -> list[str]:
    return [event.type for event in turn.arrivals]


def elapsed_ms(wb: Workbench) -> int:
    return wb.clock.now_ms() - MANUAL_START_MS


def test_the_first_turn_is_the_start_and_whatever_was_sent_by_then(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.dequeue_event("mail"))

    run = wb.start(flow)
    run.enqueue_event("mail", 1)
    run.raise_event("nothing", 2)
    turn = run.turn()
    assert arrived(turn) == [ev.STARTED, ev.QUEUE_MESSAGE, ev.EVENT_RECEIVED]
    assert run.output == 1


def test_all_visible_messages_are_one_batch_in_the_order_they_were_sent(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.wait_for_event("b")
        return (yield ctx.all([ctx.dequeue_event("mail"), ctx.dequeue_event("mail")]))

    run = wb.start(flow)
    run.turn()
    for number in (1, 2):
        run.enqueue_event("mail", number)
    run.raise_event("b")
    turn = run.turn()
    assert arrived(turn) == [ev.QUEUE_MESSAGE, ev.QUEUE_MESSAGE, ev.EVENT_RECEIVED]
    assert turn.woken_by is not None
    assert turn.woken_by.type == ev.EVENT_RECEIVED
    assert run.output == [{"ok": 1}, {"ok": 2}]


def test_a_turn_runs_one_activity_so_all_of_two_takes_two_turns(wb: Workbench) -> None:
    ran = []

    @wb.activity("Note")
    def note(ctx: object, name: str) -> str:
        ran.append(name)
        return name

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.all([ctx.schedule_activity("Note", "a"), ctx.schedule_activity("Note", "b")]))

    run = wb.start(flow)
    run.turn()
    assert ran == []
    first = run.turn()
    assert (ran, first.woken_by, first.status) == (["a"], None, "Running")
    assert first.waiting_for == ('activity Note("b"), event 3',)
    assert run.turn().status == "Completed"
    assert ran == ["a", "b"]


def test_messages_go_before_activities_and_activities_before_the_clock(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_timer(100), ctx.schedule_activity("Echo", 1), ctx.wait_for_event("go")])

    run = wb.start(flow)
    run.turn()
    run.raise_event("go")
    assert arrived(run.turn()) == [ev.EVENT_RECEIVED]
    assert arrived(run.turn()) == [ev.ACTIVITY_COMPLETED]
    assert elapsed_ms(wb) == 0
    assert arrived(run.turn()) == [ev.TIMER_FIRED]
    assert elapsed_ms(wb) == 100


def test_an_activity_without_a_function_is_passed_over_for_one_that_has_one(wb: Workbench) -> None:
    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.all([ctx.schedule_activity("Missing"), ctx.schedule_activity("Echo", 2)]))

    run = wb.start(flow)
    run.turn()
    assert run.turn().answered[0].name == "Echo"
    run.complete(2, "by hand")
    assert run.finish().output == [{"ok": "by hand"}, {"ok": 2}]


def test_a_child_gets_turns_until_it_sends_something(wb: Workbench) -> None:
    @wb.orchestration
    def inner(ctx: Any, value: int) -> Flow:
        first = yield ctx.schedule_activity("Echo", value)
        return (yield ctx.schedule_activity("Echo", first + 1))

    @wb.orchestration
    def outer(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_sub_orchestration("inner", 1))

    run = wb.start(outer)
    run.turn()
    assert arrived(run.turn()) == [ev.CHILD_COMPLETED]
    assert run.output == 2
    assert len(wb.run("outer-1::sub::2").turns) == 3


def test_a_child_of_a_child_is_moved_too(wb: Workbench) -> None:
    @wb.orchestration
    def nested(ctx: Any, depth: int) -> Flow:
        if depth == 0:
            return (yield ctx.schedule_activity("Echo", "deep"))
        return (yield ctx.schedule_sub_orchestration("nested", depth - 1))

    assert wb.start(nested, 3).finish().output == "deep"


def test_time_does_not_pass_for_a_child_while_its_parent_is_due_earlier(wb: Workbench) -> None:
    @wb.orchestration
    def slow(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(1_000)
        return "slow"

    @wb.orchestration
    def impatient(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_sub_orchestration("slow"), ctx.schedule_timer(10)))

    run = wb.start(impatient)
    assert run.finish().output == {"index": 1, "value": None}
    assert elapsed_ms(wb) == 10


def test_a_child_that_waits_for_a_call_does_not_stop_the_clock_of_its_parent(wb: Workbench) -> None:
    @wb.orchestration
    def asking(ctx: Any, _: object) -> Flow:
        return (yield ctx.wait_for_event("answer"))

    @wb.orchestration
    def impatient(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_sub_orchestration("asking"), ctx.schedule_timer(10)))

    assert wb.start(impatient).finish().output == {"index": 1, "value": None}


def test_a_manual_clock_jumps_to_the_earliest_due_time_of_this_instance_only(wb: Workbench) -> None:
    @wb.orchestration
    def sleeping(ctx: Any, delay_ms: int) -> Flow:
        yield ctx.schedule_timer(delay_ms)

    first, second = wb.start(sleeping, 50), wb.start(sleeping, 5_000)
    first.turn()
    second.turn()
    second.turn()
    assert elapsed_ms(wb) == 5_000
    assert first.turn().now_ms == MANUAL_START_MS + 5_000
    assert elapsed_ms(wb) == 5_000


def test_advancing_the_clock_lets_a_timer_win_a_race_against_an_activity(wb: Workbench) -> None:
    @wb.orchestration
    def racing(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_activity("Echo", "done"), ctx.schedule_timer(50)))

    unhurried, late = wb.start(racing), wb.start(racing)
    unhurried.turn()
    late.turn()
    assert unhurried.finish().output == {"index": 0, "value": "done"}
    wb.clock.advance(50)  # type: ignore[attr-defined]
    assert late.finish().output == {"index": 1, "value": None}


def test_a_batch_that_appends_nothing_is_no_turn(wb: Workbench) -> None:
    @wb.orchestration
    def renewing(ctx: Any, rounds: int) -> Flow:
        yield ctx.race(ctx.schedule_timer(1), ctx.schedule_timer(500))
        if rounds:
            yield ctx.continue_as_new(rounds - 1)
        yield ctx.wait_for_event("end")

    run = wb.start(renewing, 1)
    made = [run.turn() for _ in range(4)]
    assert [turn.address for turn in made] == ["1.1", "1.2", "2.1", "2.2"]
    # The long timer of execution 1 fires into execution 2: it is gone without a turn, then that of execution 2 fires.
    wb.clock.advance(498)  # type: ignore[attr-defined]
    last = run.turn()
    assert (last.address, arrived(last), last.woken_by) == ("2.3", [ev.TIMER_FIRED], None)
    with pytest.raises(InstanceWaiting):
        run.turn()


def test_a_system_clock_waits_until_a_timer_is_due() -> None:
    with Workbench(clock=SystemClock()) as wb:

        @wb.orchestration
        def sleeping(ctx: Any, delay_ms: int) -> Flow:
            yield ctx.schedule_timer(delay_ms)
            return "awake"

        run = wb.start(sleeping, 60)
        began = time.monotonic()
        assert run.finish().output == "awake"
        assert time.monotonic() - began >= 0.06


def test_an_interrupt_in_an_activity_leaves_it_to_be_run_by_the_next_turn(wb: Workbench) -> None:
    interrupts = [KeyboardInterrupt()]

    @wb.activity("Slow")
    def slow(ctx: object, value: object) -> object:
        if interrupts:
            raise interrupts.pop()
        return value

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Slow", 5))

    run = wb.start(flow)
    run.turn()
    before = contents(wb)
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert repr(contents(wb)) == repr(before)
    assert run.finish().output == 5


def test_an_interrupt_in_the_code_discards_the_turn_and_keeps_its_messages(wb: Workbench) -> None:
    interrupts = [KeyboardInterrupt()]

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        value = yield ctx.wait_for_event("go")
        ctx.set_kv_value("k", "v")
        if interrupts:
            raise interrupts.pop()
        return value

    run = wb.start(flow)
    run.turn()
    run.raise_event("go", 5)
    before = contents(wb)
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert repr(contents(wb)) == repr(before)
    assert (run.status, run.kv) == ("Running", {})
    assert run.turn().status == "Completed"
    assert (run.output, run.kv) == (5, {"k": "v"})
