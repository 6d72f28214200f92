"""P-08: every value arrives equal and of its own type, by every way in, live and after a restart."""

from __future__ import annotations

from typing import Any

from tests.cases.bug_reports.living import Host
from workbench import Workbench
from workbench.views import turn as turn_view

NAN, INFINITY = float("nan"), float("inf")
VALUES: list[Any] = [
    False, 0, "", None, [], {}, -0.0, 0.1 + 0.2, 2**70, NAN, INFINITY, "123", '{"a":1}', [None, 0, ""],
]  # fmt: skip


def told(value: object) -> list[str]:
    """Type and exact text of a value: what `==` does not tell apart (0 and False, 0.0 and -0.0) or together (NaN)."""
    return [type(value).__name__, repr(value)]


TOLD = [told(value) for value in VALUES]


def by_activities(ctx: Any, number: int) -> Any:
    alone = yield ctx.schedule_activity("Value", number)
    [joined, _] = yield ctx.all([ctx.schedule_activity("Value", number), ctx.schedule_activity("Value", 0)])
    [bare, _] = yield ctx.all_typed([ctx.schedule_activity("Value", number), ctx.schedule_activity("Value", 0)])
    raced = yield ctx.race(ctx.schedule_activity("Value", number), ctx.wait_for_event("never"))
    return [told(value) for value in (alone, joined["ok"], bare, raced["value"])]


async def awaited_by_activities(ctx: Any, number: int) -> Any:
    alone = await ctx.schedule_activity("Value", number)
    [joined, _] = await ctx.all([ctx.schedule_activity("Value", number), ctx.schedule_activity("Value", 0)])
    [bare, _] = await ctx.all_typed([ctx.schedule_activity("Value", number), ctx.schedule_activity("Value", 0)])
    raced = await ctx.race(ctx.schedule_activity("Value", number), ctx.wait_for_event("never"))
    return [told(value) for value in (alone, joined["ok"], bare, raced["value"])]


def by_messages(ctx: Any, _: None) -> Any:
    return [told((yield ctx.wait_for_event("value"))), told((yield ctx.dequeue_event("values")))]


async def awaited_by_messages(ctx: Any, _: None) -> Any:
    return [told(await ctx.wait_for_event("value")), told(await ctx.dequeue_event("values"))]


def child(ctx: Any, value: Any) -> Any:
    yield ctx.schedule_activity("Echo", value)
    return value


def by_children(ctx: Any, values: list[Any]) -> Any:
    given = yield ctx.all_typed([ctx.schedule_sub_orchestration("child", value) for value in values])
    return [[told(value) for value in values], [told(value) for value in given]]


def by_continuing(ctx: Any, given: list[Any]) -> Any:
    """Input of the next execution, a key that holds the value as JSON, and a message carried along."""
    value, execution = given
    if execution == 2:
        carried = yield ctx.dequeue_event("values")
        return [told(value), told(ctx.get_kv_value_typed("value")), told(carried)]
    ctx.set_kv_value_typed("value", value)
    yield ctx.wait_for_event("go")
    yield ctx.continue_as_new([value, 2])


def test_activities_alone_joined_and_raced_give_every_value(host: Host) -> None:
    host.activity("Value", lambda _, number: VALUES[number])
    for number in range(len(VALUES)):
        host.start((by_activities, awaited_by_activities)[number % 2], number, f"i-{number}")
    host.settle()
    for number, expected in enumerate(TOLD):
        assert host.output(f"i-{number}") == [expected] * 4
    assert len(host.ran) == 6 * len(VALUES)


def test_events_and_queue_messages_bring_every_value_and_none_is_not_nothing_yet(host: Host) -> None:
    for number in range(len(VALUES)):
        host.start((by_messages, awaited_by_messages)[number % 2], None, f"i-{number}")
    host.settle()
    for number, value in enumerate(VALUES):
        host.client.raise_event(f"i-{number}", "value", value)
    host.settle()
    for number, value in enumerate(VALUES):
        assert host.status(f"i-{number}") == "Running"
        host.client.enqueue_event(f"i-{number}", "values", value)
    host.settle()
    for number, expected in enumerate(TOLD):
        assert host.output(f"i-{number}") == [expected] * 2


def test_children_take_and_give_every_value(host: Host) -> None:
    host.orchestration(child)
    host.start(by_children, VALUES)
    host.settle()
    assert host.output() == [TOLD, TOLD]
    assert sorted(map(told, (given for _, given in host.ran))) == sorted(TOLD)


def test_inputs_of_executions_typed_keys_and_carried_messages_keep_every_value(host: Host) -> None:
    for number, value in enumerate(VALUES):
        host.start(by_continuing, [value, 1], f"i-{number}")
    host.settle()
    for number, value in enumerate(VALUES):
        host.client.enqueue_event(f"i-{number}", "values", value)
        host.client.raise_event(f"i-{number}", "go")
    host.settle()
    for number, expected in enumerate(TOLD):
        assert host.output(f"i-{number}") == [expected] * 3


def test_an_instance_returns_every_value_and_its_record_replays_as_the_same(host: Host) -> None:
    host.orchestration(child)
    for number, value in enumerate(VALUES):
        host.client.start_orchestration(f"i-{number}", "child", value)
    host.settle()
    for number, expected in enumerate(TOLD):
        assert told(host.output(f"i-{number}")) == expected
        assert host.replay(f"i-{number}").verdict == "same"


def test_what_is_shown_of_them_is_exact() -> None:
    with Workbench() as wb:
        wb.orchestration(child)
        wb.activity("Echo")(lambda _, given: given)
        for value, shown in ((2**70, "1180591620717411303424"), (NAN, "NaN"), (INFINITY, "Infinity"), (None, "null")):
            run = wb.start(child, value)
            turn = run.turn()
            assert f"Echo({shown})" in turn_view.text(turn)
            assert shown in turn_view.html(turn)
            run.finish()
            assert shown in turn_view.text(run.turns[-1])
