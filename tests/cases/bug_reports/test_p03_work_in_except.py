"""P-03: work that is scheduled in an `except` or `finally` block is done like any other."""

from __future__ import annotations

from typing import Any

from tests.cases.bug_reports.living import Host
from workbench.runtime import events as ev


def boom(_ctx: object, given: object) -> None:
    raise ValueError(f"no {given}")


def failed(given: object) -> str:
    """The text with which that activity fails."""
    return f"Activity 'Boom' call failed: ValueError: no {given}"


def compensation(ctx: Any, _: None) -> Any:
    done: list[object] = []
    for number in range(3):
        try:
            done.append((yield ctx.schedule_activity("Echo" if number == 1 else "Boom", number)))
        except Exception as error:
            done.append(str(error))
            done.append((yield ctx.schedule_activity("Undo", number)))
    return done


async def awaiting_compensation(ctx: Any, _: None) -> Any:
    done: list[object] = []
    for number in range(3):
        try:
            done.append(await ctx.schedule_activity("Echo" if number == 1 else "Boom", number))
        except Exception as error:
            done.append(str(error))
            done.append(await ctx.schedule_activity("Undo", number))
    return done


def escapes(ctx: Any, _: None) -> Any:
    try:
        yield ctx.schedule_activity("Boom", "stock")
    finally:
        ctx.set_kv_value("undone", (yield ctx.schedule_activity("Undo", "order")))


async def awaiting_escapes(ctx: Any, _: None) -> Any:
    try:
        await ctx.schedule_activity("Boom", "stock")
    finally:
        ctx.set_kv_value("undone", await ctx.schedule_activity("Undo", "order"))


def fails_while_compensating(ctx: Any, _: None) -> Any:
    try:
        yield ctx.schedule_activity("Boom", "stock")
    except Exception as first:
        try:
            yield ctx.schedule_activity("Boom", "refund")
        except Exception as second:
            kept = yield ctx.schedule_activity("Undo", "all")
            return [str(first), str(second), kept]


def failing_child(ctx: Any, _: None) -> Any:
    yield ctx.schedule_activity("Echo", "child")
    raise LookupError("child is lost")


def compensates_for_a_child(ctx: Any, _: None) -> Any:
    try:
        yield ctx.schedule_sub_orchestration("failing_child", None)
    except Exception as error:
        undone = yield ctx.schedule_activity("Undo", "child")
        fired = yield ctx.schedule_timer(100)
        return [str(error), undone, fired]


def with_undo(host: Host) -> Host:
    """The host, with an activity that fails and one that makes good."""
    host.activity("Boom", boom)
    host.activity("Undo", lambda _, given: f"undone {given}")
    return host


def test_each_failure_is_caught_once_and_each_compensation_runs_once_in_order(host: Host) -> None:
    with_undo(host)
    host.start(compensation, instance_id="generator")
    host.start(awaiting_compensation, instance_id="coroutine")
    host.settle()
    for name in ("generator", "coroutine"):
        assert host.output(name) == [failed(0), "undone 0", 1, failed(2), "undone 2"]
        assert host.kinds(name).count(ev.ACTIVITY_SCHEDULED) == 5
    assert [each for each in host.ran if each[0] == "Undo"] == [("Undo", 0)] * 2 + [("Undo", 2)] * 2
    assert len(host.ran) == 10


def test_cleanup_in_finally_gets_its_result_and_then_the_instance_fails_with_the_first_error(host: Host) -> None:
    with_undo(host)
    host.start(escapes, instance_id="generator")
    host.start(awaiting_escapes, instance_id="coroutine")
    host.settle()
    for name in ("generator", "coroutine"):
        assert host.error(name) == f"Exception: {failed('stock')}"
        assert host.client.get_kv_all_values(name) == {"undone": "undone order"}
        assert host.kinds(name)[1:] == [
            ev.ACTIVITY_SCHEDULED,
            ev.ACTIVITY_FAILED,
            ev.ACTIVITY_SCHEDULED,
            ev.ACTIVITY_COMPLETED,
            ev.KV_SET,
            ev.FAILED,
        ]
    assert sorted(host.ran) == [("Boom", "stock")] * 2 + [("Undo", "order")] * 2


def test_a_second_failure_and_a_childs_failure_are_compensated_with_the_text_of_their_own(host: Host) -> None:
    with_undo(host)
    host.orchestration(failing_child)
    host.start(fails_while_compensating, instance_id="twice")
    host.start(compensates_for_a_child, instance_id="parent")
    host.settle()
    assert host.output("twice") == [failed("stock"), failed("refund"), "undone all"]
    text, undone, fired = host.output("parent")
    assert "child is lost" in text
    assert (undone, fired) == ("undone child", None)
    ran = [("Boom", "refund"), ("Boom", "stock"), ("Echo", "child"), ("Undo", "all"), ("Undo", "child")]
    assert sorted(host.ran) == ran
