"""P-12: a plain event reaches at most one wait that is recorded by then; a queue keeps its messages in order."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.bug_reports.living import Host
from workbench import Workbench
from workbench.runtime import events as ev
from workbench.runtime.errors import InstanceExists, UnknownInstance


def waits_after_work(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Echo", 1)
    return (yield ctx.wait_for_event("E"))


async def awaits_after_work(ctx: Any, _: None) -> Any:
    await ctx.schedule_activity("Echo", 1)
    return await ctx.wait_for_event("E")


def waits_twice(ctx: Any, _: None) -> Any:
    first = yield ctx.wait_for_event("E")
    second = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(700))
    return [first, second]


async def awaits_twice(ctx: Any, _: None) -> Any:
    first = await ctx.wait_for_event("E")
    second = await ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(700))
    return [first, second]


def takes_after_work(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Echo", 1)
    return [(yield ctx.dequeue_event("Q")), (yield ctx.dequeue_event("Q"))]


def takes_twice(ctx: Any, _: None) -> Any:
    first = yield ctx.dequeue_event("Q")
    second = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(700))
    third = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(700))
    return [first, second, third]


async def takes_over_executions(ctx: Any, taken: list[Any]) -> Any:
    taken.append(await ctx.dequeue_event("Q"))
    if len(taken) < 4:
        await ctx.continue_as_new(taken)
    return taken


def two_waits_at_once(ctx: Any, _: None) -> Any:
    first = yield ctx.all_typed([ctx.wait_for_event("E"), ctx.wait_for_event("E")])
    return first


def test_a_plain_event_before_the_wait_is_recorded_and_lost_and_the_next_one_is_the_answer(host: Host) -> None:
    names = ("generator", "coroutine")
    for name, code in zip(names, (waits_after_work, awaits_after_work), strict=True):
        host.start(code, instance_id=name)
    host.turn()
    for name in names:
        host.client.raise_event(name, "E", "early")
    host.settle()
    for name in names:
        assert host.status(name) == "Running"
        assert host.kinds(name).count(ev.EVENT_RECEIVED) == 1
    for name in names:
        host.client.raise_event(name, "E", "in time")
    host.settle()
    assert [host.output(name) for name in names] == ["in time", "in time"]
    assert host.ran == [("Echo", 1)] * 2


def test_one_of_two_plain_events_at_once_is_delivered_and_the_other_to_nobody(host: Host) -> None:
    names = ("generator", "coroutine")
    for name, code in zip(names, (waits_twice, awaits_twice), strict=True):
        host.start(code, instance_id=name)
    host.settle()
    for name in names:
        host.client.raise_event(name, "E", 1)
        host.client.raise_event(name, "E", 2)
    host.settle()
    for name in names:
        assert host.output(name) == [1, {"index": 1, "value": None}]
        assert host.kinds(name).count(ev.EVENT_RECEIVED) == 2


def test_of_two_waits_for_one_name_each_gets_an_event_of_its_own(host: Host) -> None:
    host.start(two_waits_at_once)
    host.settle()
    host.client.raise_event("i", "E", 1)
    host.settle()
    assert host.status() == "Running"
    host.client.raise_event("i", "E", 2)
    host.settle()
    assert host.output() == [1, 2]


def test_queue_messages_are_kept_in_order_and_each_is_delivered_once(host: Host) -> None:
    host.start(takes_after_work, instance_id="early")
    host.start(takes_twice, instance_id="twice")
    host.start(takes_over_executions, [], instance_id="over executions")
    host.turn()
    for name, messages in (("early", [1, 2]), ("twice", [1, 2]), ("over executions", [1, 2, 3])):
        for message in messages:
            host.client.enqueue_event(name, "Q", message)
    host.settle()
    assert host.output("early") == [1, 2]
    assert host.output("twice") == [1, {"index": 0, "value": 2}, {"index": 1, "value": None}]
    assert host.status("over executions") == "Running"
    host.client.enqueue_event("over executions", "Q", 4)
    host.settle()
    assert host.output("over executions") == [1, 2, 3, 4]


def test_names_of_events_and_queues_are_matched_exactly(host: Host) -> None:
    host.start(waits_after_work, instance_id="waits")
    host.start(takes_after_work, instance_id="takes")
    host.settle()
    for almost in ("e", "E ", " E", "E\0", ""):
        host.client.raise_event("waits", almost, "wrong")
    for almost in ("q", "Q ", ""):
        host.client.enqueue_event("takes", almost, "wrong")
    host.client.raise_event("takes", "Q", "an event is no message")
    host.client.enqueue_event("waits", "E", "a message is no event")
    host.settle()
    assert [host.status(name) for name in ("waits", "takes")] == ["Running", "Running"]
    host.client.raise_event("waits", "E", "right")
    for message in (1, 2):
        host.client.enqueue_event("takes", "Q", message)
    host.settle()
    assert [host.output(name) for name in ("waits", "takes")] == ["right", [1, 2]]


def test_before_the_start_after_deletion_and_to_nobody_the_sender_is_told(host: Host) -> None:
    host.orchestration(takes_after_work)
    client = host.client
    for send in (client.raise_event, client.enqueue_event):
        with pytest.raises(UnknownInstance, match="'i'"):
            send("i", "Q", 1)
    client.start_orchestration("i", "takes_after_work")
    client.enqueue_event("i", "Q", "before its first turn")
    with pytest.raises(InstanceExists):
        client.start_orchestration("i", "takes_after_work")
    host.settle()
    host.client.enqueue_event("i", "Q", "later")
    host.settle()
    assert host.output() == ["before its first turn", "later"]
    host.client.delete_instance("i")
    for send in (host.client.raise_event, host.client.enqueue_event):
        with pytest.raises(UnknownInstance, match="'i'"):
            send("i", "Q", 1)
    with pytest.raises(UnknownInstance, match="'i'"):
        host.client.cancel_instance("i", "late")
    assert host.provider.pending_messages("i") == []


def test_a_turn_whose_event_nobody_waits_for_says_so() -> None:
    with Workbench() as wb:
        wb.activity("Echo")(lambda _, given: given)
        wb.orchestration(waits_after_work)
        run = wb.start(waits_after_work)
        run.turn()
        run.raise_event("E", "early")
        assert run.turn().warnings == ("event E arrived, nobody waiting",)
        assert "event E arrived, nobody waiting" in run.turns[-1].text()
        run.raise_event("e", "wrong name")
        assert run.turn().warnings == ("event e arrived, nobody waiting",)
        assert run.turn().waiting_for == ("wait for event 'E', event 6",)
        run.raise_event("E", "in time")
        assert (run.turn().warnings, run.output) == ((), "in time")
