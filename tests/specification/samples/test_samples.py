"""Orchestrations as in the reference's `tests/e2e_samples.rs` and its SDK's `tests/test_kv_store.py`."""

from __future__ import annotations

import json
from typing import Any

from tests.specification.running import INSTANCE, output, register, settle, start
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def answers_requests(ctx: Context, rounds: int) -> Any:
    """Takes requests from outside, and leaves each answer under a key that the client waits for."""
    ctx.set_kv_value("ready", "0")
    for number in range(1, rounds + 1):
        request = yield ctx.wait_for_event("request")
        total = yield ctx.schedule_activity("Sum", request["numbers"])
        ctx.set_kv_value(f"response:{request['op']}", json.dumps(total))
        ctx.set_kv_value("ready", str(number))
    yield ctx.wait_for_event("never")


def add(_ctx: object, numbers: list[int]) -> int:
    """An activity that adds up."""
    return sum(numbers)


def test_sample_kv_request_response(wb: Workbench) -> None:
    """A client asks with events and reads answers by key, while background workers run the orchestration."""
    register(wb, answers_requests)
    wb.registry.add_activity("Sum", add)
    with wb.runtime:
        wb.client.start_orchestration(INSTANCE, "answers_requests", 2)
        wb.client.wait_for_kv_value(INSTANCE, "ready")
        for op, numbers in (("op-1", [1, 2]), ("op-2", [3, 4])):
            wb.client.raise_event(INSTANCE, "request", {"op": op, "numbers": numbers})
            assert wb.client.wait_for_kv_value_typed(INSTANCE, f"response:{op}", type=int) == sum(numbers)


def test_kv_request_response(wb: Workbench) -> None:
    """The SDK's sample: set, get and clear within a turn, then three rounds, then the final reads."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("scratch", "1")
        in_turn = [ctx.get_kv_value("scratch")]
        ctx.clear_kv_value("scratch")
        in_turn.append(ctx.get_kv_value("scratch"))
        ctx.set_kv_value("other", "2")
        ctx.clear_all_kv_values()
        in_turn.append(ctx.get_kv_value("other"))
        for _round in range(3):
            request = yield ctx.wait_for_event("request")
            ctx.set_kv_value(f"response:{request}", (yield ctx.schedule_activity("Echo", f"did {request}")))
        return in_turn

    start(wb, flow)
    for request in "abc":
        settle(wb)
        wb.client.raise_event(INSTANCE, "request", request)
    settle(wb)
    assert wb.client.get_status(INSTANCE).output == ["1", None, None]
    reads = [wb.client.get_kv_value(INSTANCE, key) for key in ("response:a", "response:b", "response:c", "scratch")]
    assert reads == ["did a", "did b", "did c", None]


def test_kv_several_requests_and_one_that_takes_longer(wb: Workbench) -> None:
    """Answers come in the order in which they are ready, each under its own key."""

    def serves(ctx: Context, _: None) -> Any:
        first = yield ctx.dequeue_event("requests")
        second = yield ctx.dequeue_event("requests")
        slow = ctx.schedule_timer(first)
        fast = ctx.schedule_activity("Echo", second)
        won = yield ctx.race(slow, fast)
        ctx.set_kv_value("response:2", str(won["value"]))
        yield ctx.schedule_timer(first)
        ctx.set_kv_value("response:1", "late")

    start(wb, serves)
    for request in (60_000, 7):
        wb.client.enqueue_event(INSTANCE, "requests", request)
    settle(wb)
    assert wb.client.get_kv_all_values(INSTANCE) == {"response:1": "late", "response:2": "7"}


def test_kv_orchestration_to_orchestration_request_typed(wb: Workbench) -> None:
    """One orchestration asks another by a queue message, and reads the typed answer from its keys."""

    def server(ctx: Context, _: None) -> Any:
        request = yield ctx.dequeue_event("requests")
        ctx.set_kv_value_typed(f"response:{request['op']}", {"sum": sum(request["numbers"])})
        yield ctx.wait_for_event("never")

    def ask(ctx: Any, request: dict[str, Any]) -> None:
        ctx.get_client().enqueue_event("server", "requests", request)

    def asker(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Ask", {"op": "x", "numbers": [1, 2, 3]})
        while True:
            answer = yield ctx.get_kv_value_from_instance_typed("server", "response:x", dict[str, int])
            if answer is not None:
                return answer["sum"]
            yield ctx.schedule_timer(100)

    wb.registry.add_activity("Ask", ask)
    start(wb, server, instance_id="server")
    settle(wb)
    assert output(wb, asker) == 6


def consumer(ctx: Context, _: None) -> Any:
    """Polls a producer's keys with timers until it is done, then reads its result."""
    for _poll in range(50):
        state = yield ctx.get_kv_value_from_instance("producer", "state")
        if state == "done":
            return int((yield ctx.get_kv_value_from_instance("producer", "result")))
        yield ctx.schedule_timer(100)
    raise TimeoutError("the producer is never done")


def producer(ctx: Context, _: None) -> Any:
    """Works for a while and says so under a key."""
    ctx.set_kv_value("state", "working")
    yield ctx.schedule_timer(250)
    ctx.set_kv_value("result", str((yield ctx.schedule_activity("Echo", 7 * 7))))
    ctx.set_kv_value("state", "done")


def test_sample_kv_cross_orchestration_read(wb: Workbench) -> None:
    start(wb, consumer, instance_id="consumer")
    start(wb, producer, instance_id="producer")
    settle(wb)
    assert wb.client.get_status("consumer").output == 49
    kinds = [event.type for event in wb.provider.read_history("consumer", 1).events]
    assert kinds.count("TimerFired") >= 1


def test_kv_cross_orchestration_read(wb: Workbench) -> None:
    """The SDK's sample: the producer is finished before the consumer begins."""
    assert output(wb, producer, instance_id="producer") is None
    assert output(wb, consumer, instance_id="consumer") == 49


def counter(ctx: Context, rounds: int) -> Any:
    """Reads before, and writes after, an activity: a read-modify-write over a turn's end."""
    for _round in range(rounds):
        before = int(ctx.get_kv_value("processed") or "0")
        done = yield ctx.schedule_activity("Echo", 1)
        ctx.set_kv_value("processed", str(before + done))
    return ctx.get_kv_value("processed")


def test_sample_kv_read_modify_write_counter(delta: Workbench) -> None:
    """Three batches."""
    assert output(delta, counter, given=3) == "3"
    assert delta.client.get_kv_value(INSTANCE, "processed") == "3"


def test_kv_read_modify_write_counter(delta: Workbench) -> None:
    """The SDK's sample: a client sees each round as soon as it is committed."""

    def flow(ctx: Context, _: None) -> Any:
        for _round in range(3):
            before = int(ctx.get_kv_value("counter") or "0")
            yield ctx.wait_for_event("next")
            ctx.set_kv_value("counter", str(before + 1))
        return ctx.get_kv_value("counter")

    start(delta, flow)
    seen = []
    for _round in range(3):
        settle(delta)
        delta.client.raise_event(INSTANCE, "next")
        settle(delta)
        seen.append(delta.client.get_kv_value(INSTANCE, "counter"))
    assert seen == ["1", "2", "3"]
    assert delta.client.get_status(INSTANCE).output == "3"


def test_kv_bulk_helpers(wb: Workbench) -> None:
    """The SDK's sample: all values, keys, length, a prune that takes nothing, and nothing after clear-all."""

    def flow(ctx: Context, _: None) -> Any:
        for key in ("b", "a"):
            ctx.set_kv_value(key, key.upper())
        seen = [ctx.get_kv_all_values(), ctx.get_kv_all_keys(), ctx.get_kv_length()]
        seen.append(ctx.prune_kv_values_updated_before(0))
        ctx.clear_all_kv_values()
        yield ctx.schedule_activity("Noop")
        return [*seen, ctx.get_kv_all_values(), ctx.get_kv_length()]

    assert output(wb, flow) == [{"a": "A", "b": "B"}, ["a", "b"], 2, 0, {}, 0]
