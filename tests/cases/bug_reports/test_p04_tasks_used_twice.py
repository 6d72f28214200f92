"""P-04: a task is a description: each yield schedules it anew, alone, inside a composite and in several of them."""

from __future__ import annotations

from typing import Any

from tests.cases.bug_reports.living import Host
from workbench.runtime import events as ev


def used_twice(ctx: Any, _: None) -> Any:
    task = ctx.schedule_activity("Echo", 1)
    first = yield task
    second = yield task
    member = ctx.schedule_activity("Echo", 2)
    both = yield ctx.all([member, member])
    return [first, second, both]


async def awaited_twice(ctx: Any, _: None) -> Any:
    task = ctx.schedule_activity("Echo", 1)
    first = await task
    second = await task
    member = ctx.schedule_activity("Echo", 2)
    both = await ctx.all([member, member])
    return [first, second, both]


def empty_joins(ctx: Any, given: list[object]) -> Any:
    joined = yield ctx.all([ctx.schedule_activity("Echo", each) for each in given])
    again = yield ctx.all_typed([])
    ctx.set_kv_value("joined", str([joined, again]))
    return [joined, again]


async def awaited_empty_joins(ctx: Any, given: list[object]) -> Any:
    joined = await ctx.all([ctx.schedule_activity("Echo", each) for each in given])
    again = await ctx.all_typed([])
    ctx.set_kv_value("joined", str([joined, again]))
    return [joined, again]


def shrinking_race(ctx: Any, _: None) -> Any:
    """The fastest of the rest, until one is left; the losers are yielded again."""
    left = [(delay, ctx.schedule_timer(delay)) for delay in (300, 100, 200)]
    order = []
    while len(left) > 1:
        won = yield ctx.race(left[0][1], left[1][1])
        order.append(left.pop(won["index"])[0])
    yield left[0][1]
    return order


async def awaited_shrinking_race(ctx: Any, _: None) -> Any:
    left = [(delay, ctx.schedule_timer(delay)) for delay in (300, 100, 200)]
    order = []
    while len(left) > 1:
        won = await ctx.race(left[0][1], left[1][1])
        order.append(left.pop(won["index"])[0])
    await left[0][1]
    return order


def shared(ctx: Any, _: None) -> Any:
    """One activity in a join, in a race and on its own."""
    task = ctx.schedule_activity("Echo", "x")
    joined = yield ctx.all_typed([task, ctx.schedule_activity("Echo", "y")])
    won = yield ctx.race(task, ctx.schedule_timer(1_000))
    alone = yield task
    return [joined, won, alone]


def empty_race(ctx: Any, _: None) -> Any:
    try:
        yield ctx.race()
    except Exception as error:
        return str(error)


def settled_and_replayed(host: Host, *names: str) -> None:
    """Make all turns; each history, replayed whole, schedules just what it holds."""
    host.settle()
    for name in names:
        replay = host.replay(name)
        assert (replay.verdict, replay.strict_differences) == ("same", ())
        assert replay.compared == sum(each in ev.OPERATIONS for each in host.kinds(name))


def test_a_task_yielded_again_is_scheduled_again_and_runs_again(host: Host) -> None:
    for code in (used_twice, awaited_twice):
        host.start(code, instance_id=code.__name__)
    settled_and_replayed(host, "used_twice", "awaited_twice")
    for name in ("used_twice", "awaited_twice"):
        assert host.output(name) == [1, 1, [{"ok": 2}, {"ok": 2}]]
        scheduled = [event.input for event in host.events(name) if event.type == ev.ACTIVITY_SCHEDULED]
        assert scheduled == ["1", "1", "2", "2"]
    assert sorted(str(given) for _, given in host.ran) == [*"1111", *"2222"]


def test_an_empty_join_is_done_at_once_and_adds_nothing_to_the_history(host: Host) -> None:
    for code in (empty_joins, awaited_empty_joins):
        host.start(code, [], instance_id=code.__name__)
    settled_and_replayed(host, "empty_joins", "awaited_empty_joins")
    for name in ("empty_joins", "awaited_empty_joins"):
        assert host.output(name) == [[], []]
        assert host.kinds(name) == [ev.STARTED, ev.KV_SET, ev.COMPLETED]


def test_a_loser_that_is_yielded_again_is_scheduled_again_with_its_whole_delay(host: Host) -> None:
    for code in (shrinking_race, awaited_shrinking_race):
        host.start(code, instance_id=code.__name__)
    settled_and_replayed(host, "shrinking_race", "awaited_shrinking_race")
    for name in ("shrinking_race", "awaited_shrinking_race"):
        assert host.output(name) == [100, 200]
        created = [event for event in host.events(name) if event.type == ev.TIMER_CREATED]
        delays = [int(event.fire_at_ms or 0) - event.timestamp_ms for event in created]
        assert delays == [300, 100, 300, 200, 300]


def test_a_task_in_two_composites_and_on_its_own_is_three_and_a_race_of_none_is_refused_at_the_yield(
    host: Host,
) -> None:
    host.start(shared, instance_id="shared")
    host.start(empty_race, instance_id="empty_race")
    settled_and_replayed(host, "shared", "empty_race")
    assert host.output("shared") == [["x", "y"], {"index": 0, "value": "x"}, "x"]
    assert sorted(str(given) for _, given in host.ran) == ["x", "x", "x", "y"]
    assert host.output("empty_race") == "race takes exactly two tasks, not 0"
    assert host.kinds("empty_race") == [ev.STARTED, ev.COMPLETED]
