"""What `all` and `race` schedule, return and refuse; arguments of a wrong type."""

from __future__ import annotations

from typing import Any

from tests.oracle.cases import event, message
from tests.oracle.experiments.asking import MEMBER, experiment, experiment_each, experiment_with


@experiment_with(
    guid="ctx.new_guid()",
    now="ctx.utc_now()",
    all="ctx.all([ctx.schedule_activity('Echo', 1)])",
    empty_all="ctx.all([])",
    race="ctx.race(ctx.schedule_activity('Echo', 1), ctx.schedule_timer(5))",
    detached="ctx.start_orchestration('Child', 'detached-in-all', 1)",
    continue_as_new="ctx.continue_as_new(1)",
    number="5",
    none="None",
    text="'x'",
    empty="{}",
    unknown_type="{'type': 'nope'}",
    retry="ctx.schedule_activity_with_retry('Echo', 1, {})",
    child="ctx.schedule_sub_orchestration('Child', 1)",
)
def member_of_all(ctx: Any, given: Any) -> Any:
    if ctx.execution_id > 1:
        return "continued"
    try:
        got = yield ctx.all([ctx.schedule_activity("Echo", "first"), MEMBER, ctx.schedule_activity("Echo", "last")])
    except Exception as error:
        ctx.set_kv_value("caught", repr(error))
        got = "caught"
    ctx.set_kv_value("got", repr(got))
    yield ctx.schedule_timer(1)
    return got


@experiment_with(
    guid="ctx.new_guid()",
    now="ctx.utc_now()",
    all="ctx.all([ctx.schedule_activity('Echo', 1)])",
    race="ctx.race(ctx.schedule_activity('Echo', 1), ctx.schedule_timer(5))",
    detached="ctx.start_orchestration('Child', 'detached-in-race', 1)",
    continue_as_new="ctx.continue_as_new(1)",
    number="5",
    none="None",
    unknown_type="{'type': 'nope'}",
    retry="ctx.schedule_activity_with_retry('Echo', 1, {})",
    child="ctx.schedule_sub_orchestration('Child', 1)",
)
def second_of_race(ctx: Any, given: Any) -> Any:
    if ctx.execution_id > 1:
        return "continued"
    try:
        got = yield ctx.race(ctx.schedule_activity("Slow", {"ms": 30}), MEMBER)
    except Exception as error:
        ctx.set_kv_value("caught", repr(error))
        got = "caught"
    ctx.set_kv_value("got", repr(got))
    yield ctx.schedule_timer(1)
    return got


@experiment_with(
    now="ctx.utc_now()",
    all="ctx.all([ctx.schedule_activity('Echo', 1)])",
    none="None",
    unknown_type="{'type': 'nope'}",
    continue_as_new="ctx.continue_as_new(1)",
)
def first_of_race(ctx: Any, given: Any) -> Any:
    if ctx.execution_id > 1:
        return "continued"
    try:
        got = yield ctx.race(MEMBER, ctx.schedule_activity("Slow", {"ms": 10}))
    except Exception as error:
        ctx.set_kv_value("caught", repr(error))
        got = "caught"
    ctx.set_kv_value("got", repr(got))
    yield ctx.schedule_timer(1)
    return got


@experiment_each(zero=0, one=1, two=2, three=3)
def members_of_race(ctx: Any, given: Any) -> Any:
    try:
        got = yield ctx.race(*[ctx.schedule_activity("Echo", n) for n in range(given)])
    except Exception as error:
        ctx.set_kv_value("caught", repr(error))
        got = "caught"
    yield ctx.schedule_timer(1)
    return got


@experiment()
def empty_all(ctx: Any, _given: Any) -> Any:
    ctx.set_kv_value("a", "1")
    got = yield ctx.all([])
    ctx.set_kv_value("b", repr(got))
    return got


@experiment()
def one_task_twice(ctx: Any, _given: Any) -> Any:
    task = ctx.schedule_activity("Echo", 1)
    first = yield task
    second = yield task
    both = yield ctx.all([task, task])
    return [first, second, both]


@experiment_with(
    wait="ctx.wait_for_event(5)",
    dequeue="ctx.dequeue_event(None)",
    activity="ctx.schedule_activity(None, 1)",
    session="ctx.schedule_activity('Echo', 1, 5)",
    tag="ctx.schedule_activity('Echo', 1).with_tag(5)",
    tag_on_timer="ctx.schedule_timer(1).with_tag('x')",
    tag_on_race="ctx.race().with_tag('x')",
    child="ctx.schedule_sub_orchestration(5)",
    detached="ctx.start_orchestration('Child', 5)",
    detached_empty="ctx.start_orchestration('Child', '')",
    all_of_tuple="ctx.all((ctx.schedule_timer(1),))",
    all_of_dict="ctx.all({})",
    all_of_none="ctx.all(None)",
    all_of_generator="ctx.all(ctx.schedule_timer(1) for _ in [1])",
    huge_timer="ctx.schedule_timer(2**64)",
    can_input="ctx.continue_as_new({1})",
    extra_key="{'type': 'timer', 'delayMs': 1, 'more': 2}",
    surrogate="ctx.schedule_activity('Echo', chr(0xd800))",
    surrogate_name="ctx.wait_for_event(chr(0xd800))",
    surrogate_key="ctx.set_kv_value(chr(0xd800), 1)",
    surrogate_status="ctx.set_custom_status(chr(0xd800))",
)
def wrong_argument(ctx: Any, given: Any) -> Any:
    try:
        got = yield MEMBER
    except Exception as error:
        ctx.set_kv_value("caught", f"{type(error).__name__}: {error}")
        got = "caught"
    return got


@experiment()
def all_kinds_of_results(ctx: Any, _given: Any) -> Any:
    got = yield ctx.all(
        [
            ctx.schedule_activity("Echo", {"a": [1, None, 2.5, "é"]}),
            ctx.schedule_activity("Fail", "why"),
            ctx.schedule_timer(2),
            ctx.schedule_activity_with_retry("Fail", "again", {"max_attempts": 2, "backoff": "fixed"}),
            ctx.schedule_sub_orchestration("Child", 3),
            ctx.schedule_sub_orchestration("FailingChild", 3),
            ctx.schedule_activity("Echo", None),
            ctx.schedule_activity_typed("Echo", "plain text"),
        ]
    )
    ctx.set_kv_value("got", repr(got))
    return got


@experiment(outside=[event(30, "E", {"é": 1}), message(31, "Q", "text"), message(32, "Q"), event(33, "E", 2)])
def all_of_waits(ctx: Any, _given: Any) -> Any:
    return (yield ctx.all([ctx.wait_for_event("E"), ctx.dequeue_event("Q"), ctx.schedule_activity("Fail", "")]))


@experiment()
def all_typed_and_race_typed(ctx: Any, _given: Any) -> Any:
    first = yield ctx.all_typed([ctx.schedule_activity("Echo", 1), ctx.schedule_activity("Fail", "no")])
    second = yield ctx.race_typed(ctx.schedule_activity("Echo", "2"), ctx.schedule_timer(50))
    return [first, second]


@experiment_each(first=0, second=1)
def failing_member_of_race(ctx: Any, given: Any) -> Any:
    members = [ctx.schedule_activity("Fail", "lost"), ctx.schedule_timer(500)]
    try:
        got = yield ctx.race(*(members if given == 0 else reversed(members)))
    except Exception as error:
        got = [type(error).__name__, str(error), repr(error.args)]
    return got


@experiment()
def nested_helpers_of_composites(ctx: Any, _given: Any) -> Any:
    got = yield ctx.race(
        ctx.schedule_activity_with_retry("Flaky", {"failures": 1}, {"max_attempts": 3}), ctx.schedule_timer(1000)
    )
    return got


@experiment()
def numbers_and_texts_in_composites(ctx: Any, _given: Any) -> Any:
    values: list[Any] = [
        float("nan"),
        float("inf"),
        [float("nan")],
        10**20,
        -(10**20),
        2**64,
        2**64 - 1,
        2**63,
        -(2**63),
    ]
    values += [-(2**63) - 1, 2**53 + 1, 1e300, 1e16, 1e-7, 123456789.123456789, 0.1, 1.0, -0.0, 1e22, 5e-324]
    values += [{"b": 1, "a": {"z": 1, "y": 2}}, "\ud800", ["\ud800"], "é\u2028", "\x00", [[[[]]]], None, "", "null"]
    for number, value in enumerate(values):
        alone = yield ctx.schedule_activity("Echo", value)
        raced = yield ctx.race(ctx.schedule_activity("Echo", value), ctx.wait_for_event("never"))
        joined = yield ctx.all([ctx.schedule_activity("Echo", value)])
        ctx.set_kv_value(f"{number:02}", ascii([alone, raced["value"], joined[0].get("ok", joined)]))
    return "done"


@experiment_each(**{str(depth): depth for depth in (126, 127, 128, 200)})
def deep_value_in_all(ctx: Any, given: Any) -> Any:
    value: Any = 1
    for _ in range(given):
        value = [value]
    got = yield ctx.all([ctx.schedule_activity("Echo", value), ctx.schedule_activity("Echo", {"a": value})])
    return [type(each["ok"]).__name__ for each in got]


NOT_FOR_RUST = {"b": 1, "a": [float("nan")]}
SORTED_BY_RUST = {"b": 10**20, "a": {"z": 1, "y": 0.1 + 0.2}, "é": 1, "Z": 123456789.12345679}


@experiment(
    outside=[
        *(event(40 + number, "E", value) for number, value in enumerate((NOT_FOR_RUST, SORTED_BY_RUST))),
        *(message(40 + number, "Q", value) for number, value in enumerate((NOT_FOR_RUST, SORTED_BY_RUST))),
        *(message(50 + number, "R", value) for number, value in enumerate((NOT_FOR_RUST, SORTED_BY_RUST))),
    ]
)
def events_in_composites(ctx: Any, _given: Any) -> Any:
    got = yield ctx.all(
        [ctx.wait_for_event("E"), ctx.wait_for_event("E"), ctx.dequeue_event("Q"), ctx.dequeue_event("Q")]
    )
    ctx.set_kv_value("joined", ascii(got))
    for number in range(2):
        raced = yield ctx.race(ctx.dequeue_event("R"), ctx.wait_for_event("never"))
        ctx.set_kv_value(f"raced {number}", ascii(raced))
    return "done"


@experiment()
def children_and_retries_in_composites(ctx: Any, _given: Any) -> Any:
    value = {"b": 10**20, "a": {"z": 1, "y": 0.1 + 0.2}, "Z": 123456789.12345679}
    got = yield ctx.all(
        [
            ctx.schedule_sub_orchestration("Child", value),
            ctx.schedule_activity_with_retry("Echo", value, {}),
            ctx.schedule_activity_typed("Echo", value),
            ctx.get_kv_value_from_instance("nobody", "x"),
        ]
    )
    ctx.set_kv_value("joined", ascii(got))
    typed = yield ctx.all_typed([ctx.schedule_activity("Echo", value)])
    ctx.set_kv_value("typed", ascii(typed))
    raced = yield ctx.race_typed(ctx.schedule_activity("Echo", value), ctx.wait_for_event("never"))
    ctx.set_kv_value("raced", ascii(raced))
    return "done"
