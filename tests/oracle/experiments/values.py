"""Timers, inputs, results, event data, and yields that are no tasks."""

from __future__ import annotations

from typing import Any

from tests.oracle.cases import event, message
from tests.oracle.experiments.asking import MEMBER, experiment, experiment_each, experiment_with


@experiment_each(
    zero=0, negative=-5, fraction=1.5, whole_float=2.0, text="5", none=None, yes=True, huge=2**63, list=[1]
)
def timer_delay(ctx: Any, given: Any) -> Any:
    try:
        got = yield ctx.race(ctx.schedule_timer(given), ctx.schedule_timer(30))
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
        got = "caught"
    return got


@experiment_each(negative=-5, fraction=1.5, text="5")
def plain_timer_delay(ctx: Any, given: Any) -> Any:
    try:
        got = yield ctx.schedule_timer(given)
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
        got = "caught"
    return got


@experiment()
def activity_inputs(ctx: Any, _given: Any) -> Any:
    values: list[Any] = [
        "text",
        None,
        1,
        1.0,
        True,
        "",
        [],
        {},
        {"b": 1, "a": "é\u2028\U0001f600"},
        float("nan"),
        float("inf"),
    ]
    values += [-float("inf"), 10**20, 1e300, "42", '{"a": 1}', ("t", 1), {1: "int key"}, {None: 1, True: 2}]
    values += ["\x00\x07\x7f", "line\nline"]
    for number, value in enumerate(values):
        got = yield ctx.schedule_activity("Echo", value)
        ctx.set_kv_value(f"{number:02}", repr(got))
    return "done"


@experiment()
def typed_activity_inputs(ctx: Any, _given: Any) -> Any:
    for number, value in enumerate(["text", None, 1, "42", {"a": "é"}, "", "null", '"q"', [1, "x"]]):
        got = yield ctx.schedule_activity_typed("Echo", value)
        ctx.set_kv_value(f"{number:02}", repr(got))
    return "done"


@experiment()
def tag_and_session(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_activity("Echo", 1).with_tag("gpu")
    yield ctx.schedule_activity("Echo", 2, "session")
    yield ctx.schedule_activity_on_session("Echo", 3, "session").with_tag("gpu")
    yield ctx.schedule_activity("Echo", 4).with_tag("")
    yield ctx.schedule_activity("Echo", 5, "")
    yield ctx.schedule_activity_on_session_typed("Echo", "text", "session")
    return "done"


@experiment(given={"a": "é", "b": None}, outside=[event(40, "E", ""), event(80, "E", None), event(120, "E", 5)])
def event_data(ctx: Any, given: Any) -> Any:
    one = yield ctx.wait_for_event("E")
    two = yield ctx.wait_for_event("E")
    three = yield ctx.wait_for_event("E")
    return [given, one, two, three]


@experiment(outside=[message(20, "Q", ""), message(20, "Q", None), message(20, "Q", "5"), message(20, "Q", {"é": 1})])
def message_data(ctx: Any, _given: Any) -> Any:
    got = []
    for _ in range(4):
        got.append((yield ctx.dequeue_event("Q")))
    return got


@experiment_each(text="text", empty="", none=None, zero=0, false=False, list=[], accent="é")
def output(ctx: Any, given: Any) -> Any:
    yield ctx.schedule_timer(1)
    return given


@experiment()
def output_set(ctx: Any, _given: Any) -> Any:
    ctx.set_kv_value("k", "1")
    yield ctx.schedule_timer(1)
    return {1, 2}


@experiment()
def output_nan(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(1)
    return [float("nan"), float("inf"), (1, 2), {3: "x"}]


@experiment()
def input_not_json(ctx: Any, _given: Any) -> Any:
    try:
        yield ctx.schedule_activity("Echo", {1, 2})
    except Exception as error:
        ctx.set_kv_value("caught", f"{type(error).__name__}: {error}")
    return "done"


@experiment_with(
    number="5",
    none="None",
    text="'x'",
    list="[ctx.schedule_timer(1)]",
    empty="{}",
    unknown="{'type': 'nope'}",
    set="{1, 2}",
    object="object()",
    timer_without_delay="{'type': 'timer'}",
    activity_without_name="{'type': 'activity'}",
)
def bad_yield(ctx: Any, given: Any) -> Any:
    ctx.set_kv_value("before", "1")
    try:
        got = yield MEMBER
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
        got = "caught"
    ctx.set_kv_value("got", repr(got))
    return "went on"


@experiment_each(early=True, late=False)
def plain_function(ctx: Any, given: Any) -> Any:
    ctx.set_kv_value("k", "1")
    if given:
        raise ValueError("no yield at all")
    return {"plain": given}


@experiment()
def raising_before_first_yield(ctx: Any, _given: Any) -> Any:
    ctx.set_kv_value("k", "1")
    raise ValueError("early")
    yield


@experiment()
def returning_before_first_yield(ctx: Any, _given: Any) -> Any:
    ctx.set_custom_status("s")
    return "early"
    yield
