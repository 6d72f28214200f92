"""`run.turn()` makes exactly one turn, in the order of DESIGN §5: messages, an activity, a child, the clock."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import pytest

from tests.runtime.driving import kinds
from tests.runtime.instances import START_MS, Instances
from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.clock import SystemClock
from workbench.runtime.errors import (
    InstanceFinished,
    InstanceWaiting,
    UnknownActivity,
    UnknownInstance,
    UnknownOrchestration,
)

Flow = Generator[Any, Any, Any]


@pytest.fixture(autouse=True)
def noop(instances: Instances) -> None:
    instances.activity("Noop", lambda ctx, value: value)


def define(instances: Instances, code: Any, name: str = "Flow") -> None:
    instances.orchestration(name, code)


def test_all_visible_messages_are_one_batch_in_queue_order(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.wait_for_event("a"), ctx.wait_for_event("b")])

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    instances.client.raise_event("i", "b", 1)
    instances.client.raise_event("i", "a", 2)
    instances.client.cancel_instance("i", "late")
    result = instances.turn()
    assert [event.name for event in result.arrivals[:2]] == ["b", "a"]
    assert result.arrivals[2].type == ev.CANCEL_REQUESTED


def test_one_activity_a_turn_so_two_take_two(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.all([ctx.schedule_activity("Noop", 1), ctx.schedule_activity("Noop", 2)]))

    define(instances, code)
    instances.start("Flow")
    results = [instances.turn() for _ in range(3)]
    assert [kinds(result.arrivals) for result in results] == [
        [ev.STARTED],
        [ev.ACTIVITY_COMPLETED],
        [ev.ACTIVITY_COMPLETED],
    ]
    assert results[2].output == '[{"ok": 1}, {"ok": 2}]'


def test_messages_go_before_activities(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_activity("Noop", 1), ctx.wait_for_event("e")))

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    instances.client.raise_event("i", "e", "first")
    instances.turn()
    assert instances.client.get_status("i").output == {"index": 1, "value": "first"}


def test_an_activity_goes_before_the_clock(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_timer(50), ctx.schedule_activity("Noop")])

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    instances.turn()
    assert instances.clock.now_ms() == START_MS
    instances.turn()
    assert instances.clock.now_ms() == START_MS + 50


def test_a_child_gets_turns_until_it_sends_something(instances: Instances) -> None:
    def child(ctx: Any, value: int) -> Flow:
        first = yield ctx.schedule_activity("Noop", value)
        return (yield ctx.schedule_activity("Noop", first + 1))

    def parent(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_sub_orchestration("Child", 5))

    define(instances, parent)
    define(instances, child, "Child")
    instances.start("Flow")
    instances.turn()
    result = instances.turn()
    assert kinds(result.arrivals) == [ev.CHILD_COMPLETED]
    assert result.output == "6"
    assert instances.info("i::sub::2").status == "Completed"


def test_a_child_of_a_child_moves_too(instances: Instances) -> None:
    def level(ctx: Any, depth: int) -> Flow:
        if depth == 0:
            return (yield ctx.schedule_activity("Noop", "bottom"))
        return (yield ctx.schedule_sub_orchestration("Flow", depth - 1))

    define(instances, level)
    instances.start("Flow", 3)
    assert instances.finish() == "bottom"


def test_the_clock_jumps_to_the_earliest_due_time(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.race(ctx.schedule_timer(500), ctx.schedule_timer(200)))

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    result = instances.turn()
    assert (instances.clock.now_ms(), result.now_ms) == (START_MS + 200, START_MS + 200)
    assert result.output == '{"index": 1, "value": null}'


def test_timers_that_are_due_at_the_same_time_arrive_together(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_timer(100), ctx.schedule_timer(100)])

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    assert kinds(instances.turn().arrivals) == [ev.TIMER_FIRED, ev.TIMER_FIRED]


def test_a_real_clock_waits(instances: Instances) -> None:
    real = Instances(clock=SystemClock())

    def code(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(30)

    define(real, code)
    real.start("Flow")
    first = real.turn()
    second = real.turn()
    assert second.now_ms - first.now_ms >= 30
    real.provider.close()


def test_a_batch_that_appends_nothing_is_no_turn_and_the_next_step_is_taken(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Noop", "x"))

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    instances.send(ms.ActivityCompleted("i", 9, 2, "null"))
    assert instances.turn().output == '"x"'


# When nothing moves it.


def test_a_finished_instance_says_so(instances: Instances) -> None:
    define(instances, lambda ctx, _: 1 / 0)
    instances.start("Flow")
    instances.turn()
    with pytest.raises(InstanceFinished, match=r"instance 'i' is finished \(Failed\); there is no further turn"):
        instances.turn()


def test_an_unknown_instance_says_so(instances: Instances) -> None:
    with pytest.raises(UnknownInstance, match="there is no instance 'nobody'; instances here: none"):
        instances.turn("nobody")


def test_unregistered_code_says_so_and_the_start_stays(instances: Instances) -> None:
    instances.start("Nowhere")
    with pytest.raises(UnknownOrchestration):
        instances.turn()
    define(instances, lambda ctx, _: "here", "Nowhere")
    assert instances.turn().output == '"here"'


def test_what_waits_for_the_outside_says_for_what_and_which_call_gives_it(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("work"))

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    with pytest.raises(InstanceWaiting) as caught:
        instances.turn()
    assert caught.value.waiting_for == ("event 'go' (event 2)", "a message in queue 'work' (event 3)")
    assert caught.value.calls == ("run.raise_event('go', data)", "run.enqueue_event('work', data)")


def test_an_activity_without_a_function_says_so_and_waits(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Missing", 1))

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    with pytest.raises(UnknownActivity, match=r"'Missing' .* run.complete\(2, result\)"):
        instances.turn()
    instances.activity("Missing", lambda ctx, value: value + 1)
    assert instances.turn().output == "2"


def test_an_activity_without_a_function_does_not_stop_the_ones_behind_it(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("Missing"), ctx.schedule_activity("Noop")])

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    assert [event.source_event_id for event in instances.turn().arrivals] == [3]


def test_a_divergence_ends_the_turn_and_the_instance(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Noop")

    def other(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_timer(1)

    define(instances, code)
    instances.start("Flow")
    instances.turn()
    define(instances, other)
    assert instances.turn().divergence is not None
    with pytest.raises(InstanceFinished):
        instances.turn()


def test_two_threads_that_ask_at_once_get_a_turn_each(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        for _round in range(6):
            yield ctx.schedule_activity("Noop")

    define(instances, code)
    instances.start("Flow")
    numbers: list[int] = []

    def three() -> None:
        numbers.extend(instances.turn().number for _ in range(3))

    threads = [threading.Thread(target=three) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6]
