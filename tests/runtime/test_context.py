"""Every call of an orchestration's context: what it records, what it gives back, live and on replay.

`drive` makes each turn warm and cold and replays the history, so one pass shows all three.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

import msgspec
import pytest

from tests.oracle.asynchronous import as_async
from tests.runtime.driving import Driven, drive, kinds, new_rows, rows
from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.context import OrchestrationContext

Flow = Generator[Any, Any, Any]


# A task that is yielded or awaited: one row, and the value that comes back for an answer.


class Answer(msgspec.Struct, frozen=True):
    """How a task is asked for, the row it records, the answer it gets, and what the code sees of it."""

    call: Callable[[Any], Any]
    row: str
    reply: Callable[[Driven], ms.Message]
    value: object


def activity(value: object) -> Callable[[Driven], ms.Message]:
    return lambda driven: driven.completed(2, value)


def child(value: object) -> Callable[[Driven], ms.Message]:
    return lambda driven: driven.child_completed(2, value)


def raw(text: str) -> Callable[[Driven], ms.Message]:
    return lambda driven: ms.ActivityCompleted("i", 1, 2, text)


RETRY = {"max_attempts": 2}
ANSWERS: dict[str, Answer] = {
    "schedule_activity": Answer(
        lambda ctx: ctx.schedule_activity("A", {"b": 1, "a": "é"}),
        '2 ActivityScheduled name=A input={"b": 1, "a": "\\u00e9"}',
        activity([1, None]),
        [1, None],
    ),
    "schedule_activity without input": Answer(
        lambda ctx: ctx.schedule_activity("A"), "2 ActivityScheduled name=A input=null", activity(None), None
    ),
    "schedule_activity with tag and session": Answer(
        lambda ctx: ctx.schedule_activity("A", 1, session_id="s").with_tag("gpu"),
        "2 ActivityScheduled name=A input=1 session_id=s tag=gpu",
        activity("x"),
        "x",
    ),
    "schedule_activity with empty tag and session": Answer(
        lambda ctx: ctx.schedule_activity("A", 1, "").with_tag(""),
        "2 ActivityScheduled name=A input=1 session_id= tag=",
        activity("x"),
        "x",
    ),
    "schedule_activity_on_session": Answer(
        lambda ctx: ctx.schedule_activity_on_session("A", 1, "s"),
        "2 ActivityScheduled name=A input=1 session_id=s",
        activity(2),
        2,
    ),
    "schedule_activity_typed": Answer(
        lambda ctx: ctx.schedule_activity_typed("A", "raw text", int),
        "2 ActivityScheduled name=A input=raw text",
        activity(2),
        2,
    ),
    "schedule_activity_typed with an empty text": Answer(
        lambda ctx: ctx.schedule_activity_typed("A", ""), "2 ActivityScheduled name=A input=", activity(2), 2
    ),
    "schedule_activity_on_session_typed": Answer(
        lambda ctx: ctx.schedule_activity_on_session_typed("A", [1], "s"),
        "2 ActivityScheduled name=A input=[1] session_id=s",
        activity(2),
        2,
    ),
    "schedule_activity_with_retry": Answer(
        lambda ctx: ctx.schedule_activity_with_retry("A", "x", RETRY),
        '2 ActivityScheduled name=A input="x"',
        activity(2),
        2,
    ),
    "schedule_activity_with_retry with tag": Answer(
        lambda ctx: ctx.schedule_activity_with_retry("A", "x", RETRY).with_tag("t"),
        '2 ActivityScheduled name=A input="x" tag=t',
        activity(2),
        2,
    ),
    "schedule_activity_with_retry_on_session": Answer(
        lambda ctx: ctx.schedule_activity_with_retry_on_session("A", "x", RETRY, "s"),
        '2 ActivityScheduled name=A input="x" session_id=s',
        activity(2),
        2,
    ),
    "schedule_activity_with_retry_typed": Answer(
        lambda ctx: ctx.schedule_activity_with_retry_typed("A", "x", RETRY),
        "2 ActivityScheduled name=A input=x",
        activity(2),
        2,
    ),
    "schedule_activity_with_retry_on_session_typed": Answer(
        lambda ctx: ctx.schedule_activity_with_retry_on_session_typed("A", "x", RETRY, "s"),
        "2 ActivityScheduled name=A input=x session_id=s",
        activity(2),
        2,
    ),
    "schedule_timer": Answer(
        lambda ctx: ctx.schedule_timer(250), "2 TimerCreated", lambda driven: driven.fired(2), None
    ),
    "wait_for_event": Answer(
        lambda ctx: ctx.wait_for_event("e"),
        "2 ExternalSubscribed name=e",
        lambda driven: driven.raised("e", {"k": 1}),
        {"k": 1},
    ),
    "wait_for_event_typed": Answer(
        lambda ctx: ctx.wait_for_event_typed("e"),
        "2 ExternalSubscribed name=e",
        lambda driven: driven.raised("e", 5),
        5,
    ),
    "dequeue_event": Answer(
        lambda ctx: ctx.dequeue_event("q"),
        "2 ExternalSubscribedPersistent name=q",
        lambda driven: driven.queued("q", "m"),
        "m",
    ),
    "dequeue_event_typed": Answer(
        lambda ctx: ctx.dequeue_event_typed("q"),
        "2 ExternalSubscribedPersistent name=q",
        lambda driven: driven.queued("q", "m"),
        "m",
    ),
    "schedule_sub_orchestration": Answer(
        lambda ctx: ctx.schedule_sub_orchestration("C", [1]),
        "2 SubOrchestrationScheduled name=C instance=sub::2 input=[1]",
        child(9),
        9,
    ),
    "schedule_sub_orchestration_with_id": Answer(
        lambda ctx: ctx.schedule_sub_orchestration_with_id("C", "mine", 1),
        "2 SubOrchestrationScheduled name=C instance=mine input=1",
        child(9),
        9,
    ),
    "schedule_sub_orchestration_versioned": Answer(
        lambda ctx: ctx.schedule_sub_orchestration_versioned("C", "2.0.0", 1),
        "2 SubOrchestrationScheduled name=C instance=sub::2 input=1",
        child(9),
        9,
    ),
    "schedule_sub_orchestration_versioned_with_id": Answer(
        lambda ctx: ctx.schedule_sub_orchestration_versioned_with_id("C", None, "mine", 1),
        "2 SubOrchestrationScheduled name=C instance=mine input=1",
        child(9),
        9,
    ),
    "schedule_sub_orchestration_typed": Answer(
        lambda ctx: ctx.schedule_sub_orchestration_typed("C", "x", list[int]),
        "2 SubOrchestrationScheduled name=C instance=sub::2 input=x",
        child([1]),
        [1],
    ),
    "schedule_sub_orchestration_with_id_typed": Answer(
        lambda ctx: ctx.schedule_sub_orchestration_with_id_typed("C", "mine", "x"),
        "2 SubOrchestrationScheduled name=C instance=mine input=x",
        child(9),
        9,
    ),
    "new_guid": Answer(
        lambda ctx: ctx.new_guid(),
        "2 ActivityScheduled name=__duroxide_syscall:new_guid input=",
        raw("8c5ea671-449a-47ab-9dfc-ec7b25fa83bf"),
        "8c5ea671-449a-47ab-9dfc-ec7b25fa83bf",
    ),
    "utc_now": Answer(
        lambda ctx: ctx.utc_now(),
        "2 ActivityScheduled name=__duroxide_syscall:utc_now_ms input=",
        raw("1796053764577"),
        1796053764577,
    ),
    "get_kv_value_from_instance": Answer(
        lambda ctx: ctx.get_kv_value_from_instance("other", "k"),
        '2 ActivityScheduled name=__duroxide_syscall:get_kv_value input={"instance_id": "other", "key": "k"}',
        raw('"42"'),
        "42",
    ),
    "get_kv_value_from_instance of nothing": Answer(
        lambda ctx: ctx.get_kv_value_from_instance("other", "k"),
        '2 ActivityScheduled name=__duroxide_syscall:get_kv_value input={"instance_id": "other", "key": "k"}',
        raw("null"),
        None,
    ),
    "get_kv_value_from_instance_typed": Answer(
        lambda ctx: ctx.get_kv_value_from_instance_typed("other", "k", int),
        '2 ActivityScheduled name=__duroxide_syscall:get_kv_value input={"instance_id": "other", "key": "k"}',
        raw('"42"'),
        42,
    ),
    "schedule_activity whose result is no JSON": Answer(
        lambda ctx: ctx.schedule_activity("A"), "2 ActivityScheduled name=A input=null", raw("not json"), "not json"
    ),
}


def yields(call: Callable[[Any], Any]) -> Callable[..., Flow]:
    def code(ctx: Any, _: object) -> Flow:
        value = yield call(ctx)
        return [value, type(value).__name__]

    return code


def awaits(call: Callable[[Any], Any]) -> Callable[..., Any]:
    async def code(ctx: Any, _: object) -> object:
        value = await call(ctx)
        return [value, type(value).__name__]

    return code


@pytest.mark.parametrize("shape", [yields, awaits], ids=["generator", "async"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_task_records_one_row_and_gives_its_answer(name: str, shape: Callable[..., Any]) -> None:
    answer = ANSWERS[name]
    driven = drive(shape(answer.call))
    assert new_rows(driven.last) == [answer.row]
    driven.turn(answer.reply(driven))
    assert driven.output == [answer.value, type(answer.value).__name__]


def test_every_task_of_the_context_is_tried_here() -> None:
    named = {name.split()[0] for name in ANSWERS}
    others = {
        *("all", "all_typed", "race", "race_typed"),
        *("start_orchestration", "start_orchestration_versioned"),
        *("start_orchestration_typed", "start_orchestration_versioned_typed"),
        *("continue_as_new", "continue_as_new_typed", "continue_as_new_versioned"),
        *("set_custom_status", "reset_custom_status", "get_custom_status"),
        *("set_kv_value", "get_kv_value", "set_kv_value_typed", "get_kv_value_typed", "clear_kv_value"),
        *("clear_all_kv_values", "get_kv_all_values", "get_kv_all_keys", "get_kv_length"),
        *("prune_kv_values_updated_before", "is_replaying"),
        *("trace_info", "trace_warn", "trace_error", "trace_debug"),
    }
    public = {name for name in vars(OrchestrationContext) if not name.startswith("_")}
    assert public == named | others


# What is started is started with the message that fits.


def test_an_activity_is_sent_to_the_worker_queue_with_what_it_needs() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_activity("A", 1, "s").with_tag("gpu")))
    assert driven.last.activities == (ms.ActivityExecute("i", 1, 2, "A", "1", "s", "gpu"),)


def test_a_timer_is_due_its_delay_after_the_time_of_the_turn() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_timer(250)))
    assert driven.events[1].fire_at_ms == driven.now_ms + 250
    assert driven.last.messages == (ms.TimerFired("i", 1, 2, driven.now_ms + 250),)


def test_a_timer_of_no_delay_takes_a_turn() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_timer(0)))
    assert driven.last.status == "Running"


def test_a_child_is_started_under_its_parent() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_sub_orchestration_versioned("C", "2.0.0", 1)))
    assert driven.last.messages == (ms.StartOrchestration("i::sub::2", "C", "1", "2.0.0", "i", 2, 1, 1),)


def test_a_child_with_an_id_of_its_own_keeps_it() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_sub_orchestration_with_id("C", "mine", 1)))
    assert driven.last.messages == (ms.StartOrchestration("mine", "C", "1", None, "i", 2, 1, 1),)


def test_a_child_of_a_later_execution_has_its_number_in_the_id() -> None:
    def again(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            yield ctx.continue_as_new(2)
        yield ctx.schedule_sub_orchestration("C")

    second = drive(again, 1).next_execution()
    assert new_rows(second.last) == ["2 SubOrchestrationScheduled name=C instance=sub::2_2 input=null"]
    assert [message.target for message in second.last.messages] == ["i::sub::2_2"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ctx: ctx.start_orchestration("D", "d", [1]), ms.StartOrchestration("d", "D", "[1]")),
        (
            lambda ctx: ctx.start_orchestration_versioned("D", "2.0.0", "d", 1),
            ms.StartOrchestration("d", "D", "1", "2.0.0"),
        ),
        (lambda ctx: ctx.start_orchestration_typed("D", "d", "raw"), ms.StartOrchestration("d", "D", "raw")),
        (
            lambda ctx: ctx.start_orchestration_versioned_typed("D", None, "d", "raw"),
            ms.StartOrchestration("d", "D", "raw"),
        ),
    ],
)
def test_a_detached_start_gives_none_in_the_same_turn(call: Callable[[Any], Any], message: ms.Message) -> None:
    driven = drive(yields(call))
    assert driven.output == [None, "NoneType"]
    assert kinds(driven.events) == [ev.STARTED, ev.DETACHED_STARTED, ev.COMPLETED]
    assert driven.last.messages == (message,)


@pytest.mark.parametrize(
    ("call", "text", "version"),
    [
        (lambda ctx: ctx.continue_as_new({"n": 1}), '{"n": 1}', None),
        (lambda ctx: ctx.continue_as_new(), "null", None),
        (lambda ctx: ctx.continue_as_new_typed("raw"), "raw", None),
        (lambda ctx: ctx.continue_as_new_versioned(1, "2.0.0"), "1", "2.0.0"),
    ],
)
def test_continue_as_new_ends_the_execution_with_the_next_input(
    call: Callable[[Any], Any], text: str, version: str | None
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield call(ctx)
        ctx.set_kv_value("never", "1")

    driven = drive(code)
    assert (driven.last.status, driven.last.output) == ("ContinuedAsNew", text)
    assert driven.last.messages == (ms.ContinueAsNew("i", "Flow", text, version),)
    assert driven.kv == {}


def test_failures_are_raised_at_the_yield_with_their_text() -> None:
    def catches(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        except Exception as error:
            return [type(error).__name__, list(error.args)]

    driven = drive(catches)
    driven.turn(driven.failed(2, "Activity 'A' call failed: ValueError: boom"))
    assert driven.output == ["Exception", ["Activity 'A' call failed: ValueError: boom"]]


def test_a_failure_that_nobody_catches_is_the_instances() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_activity("A")))
    driven.turn(driven.failed(2, "boom"))
    assert driven.last.output == "Exception: boom"


def test_a_result_of_the_wrong_type_is_raised_at_the_yield() -> None:
    driven = drive(yields(lambda ctx: ctx.schedule_activity_typed("A", 1, int)))
    driven.turn(driven.completed(2, "text"))
    assert driven.last.output == "msgspec.ValidationError: Expected `int`, got `str`"


def test_a_value_of_another_instance_that_is_no_json_is_raised_at_the_yield() -> None:
    driven = drive(yields(lambda ctx: ctx.get_kv_value_from_instance_typed("other", "k")))
    driven.turn(driven.completed(2, "{"))
    assert driven.last.output is not None
    assert driven.last.output.startswith("KVDecodeError: the value of key 'k' cannot be read as asked: ")


# The input and the functions.


@pytest.mark.parametrize("text", ['{"a": [1]}', "null", '"x"', "not json", ""])
def test_the_input_reaches_the_code_as_its_json_value(text: str) -> None:
    def code(ctx: Any, value: object) -> object:
        return value

    driven = Driven(code)
    driven.start(message=ms.StartOrchestration("i", "Flow", text))
    expected = None if text == "" else text if text == "not json" else json.loads(text)
    assert driven.output == expected


def test_the_context_knows_who_it_is() -> None:
    def code(ctx: Any, _: object) -> object:
        return [ctx.instance_id, ctx.execution_id, ctx.orchestration_name, ctx.orchestration_version]

    assert drive(code).output == ["i", 1, "Flow", "1.0.0"]


def test_a_plain_function_is_an_orchestration_of_one_turn() -> None:
    def code(ctx: Any, value: int) -> int:
        ctx.set_kv_value("k", "1")
        return value + 1

    driven = drive(code, 1)
    assert (driven.output, driven.kv) == (2, {"k": "1"})


def test_a_plain_function_that_raises_fails_and_keeps_what_it_wrote() -> None:
    def code(ctx: Any, _: object) -> None:
        ctx.set_kv_value("k", "1")
        raise ValueError("no")

    driven = drive(code)
    assert (driven.last.status, driven.last.output, driven.kv) == ("Failed", "ValueError: no", {"k": "1"})


def test_an_async_generator_is_refused() -> None:
    async def code(ctx: Any, _: object) -> Any:
        yield ctx.schedule_timer(1)

    driven = drive(code)
    assert driven.last.output == (
        "InvalidTask: test_an_async_generator_is_refused.<locals>.code is an async generator; "
        "await its tasks instead of yielding them"
    )


class Trolley:
    """An object as an orchestration."""

    def __call__(self, ctx: Any, value: int) -> Flow:
        result = yield ctx.schedule_activity("A", value)
        return result

    def method(self, ctx: Any, value: int) -> Flow:
        return (yield ctx.schedule_activity("A", value))


@pytest.mark.parametrize("code", [Trolley(), Trolley().method])
def test_callable_objects_and_methods_are_orchestrations_too(code: Callable[..., Any]) -> None:
    driven = drive(code, 7)
    driven.turn(driven.completed(2, "x"))
    assert driven.output == "x"


# Coroutines are driven by the same loop as generators.

HELPERS = """
def code(ctx, value):
    def helper(n):
        got = yield ctx.schedule_activity("A", n)
        return got

    total = 0
    for n in range(3):
        try:
            total += yield from helper(n)
        except Exception as error:
            ctx.set_kv_value("error", str(error))
        finally:
            ctx.set_kv_value("n", n)
    both = yield ctx.all([ctx.schedule_timer(1), ctx.schedule_activity("B")])
    return [total, both]
"""


def test_a_coroutine_writes_the_history_that_the_generator_writes() -> None:
    histories = []
    for source in (HELPERS, as_async(HELPERS)):
        names: dict[str, Any] = {}
        exec(source, names)  # noqa: S102
        driven = drive(names["code"])
        driven.turn(driven.completed(2, 1))
        driven.turn(driven.failed(5, "boom"))
        driven.turn(driven.completed(9, 5))
        driven.turn(driven.fired(12), driven.completed(13, "b"))
        assert driven.output == [6, [{"ok": None}, {"ok": "b"}]]
        histories.append(rows(driven.events))
    assert histories[0] == histories[1]
    assert re.search(r"key=error value=boom", "\n".join(histories[0]))


def test_an_awaitable_written_by_hand_works() -> None:
    class Twice:
        def __init__(self, ctx: Any) -> None:
            self.ctx = ctx

        def __await__(self) -> Flow:
            first = yield self.ctx.schedule_activity("A")
            second = yield self.ctx.schedule_activity("B")
            return [first, second]

    async def code(ctx: Any, _: object) -> object:
        return await Twice(ctx)

    driven = drive(code)
    driven.turn(driven.completed(2, 1))
    driven.turn(driven.completed(4, 2))
    assert driven.output == [1, 2]


# Custom status.


def test_custom_status_is_text_recorded_at_each_call_and_read_over_turns() -> None:
    def code(ctx: Any, _: object) -> Flow:
        seen = [ctx.get_custom_status()]
        ctx.set_custom_status("one")
        ctx.set_custom_status(5)
        seen.append(ctx.get_custom_status())
        yield ctx.schedule_timer(1)
        seen.append(ctx.get_custom_status())
        ctx.reset_custom_status()
        seen.append(ctx.get_custom_status())
        return seen

    driven = drive(code)
    driven.turn(driven.fired(4))
    assert driven.output == [None, "5", "5", None]
    assert [event.status for event in driven.events if event.type == ev.STATUS_UPDATED] == ["one", "5", None]


@pytest.mark.parametrize(("last", "carried"), [("one", "one"), (None, None)])
def test_the_status_is_carried_over_continue_as_new_unless_it_was_reset(last: str | None, carried: str | None) -> None:
    def code(ctx: Any, round_: int) -> Flow:
        if round_ == 2:
            ctx.set_kv_value("seen", ctx.get_custom_status())
            yield ctx.schedule_timer(1)
            return ctx.get_custom_status()
        ctx.set_custom_status("one")
        if last is None:
            ctx.reset_custom_status()
        yield ctx.continue_as_new(2)

    second = drive(code, 1).next_execution()
    start = second.events[0]
    assert start.initial_custom_status == (carried or msgspec.UNSET)
    assert second.kv["seen"] == str(carried)
    second.turn(second.fired(3))
    assert second.output == carried


# Time, replaying and logging.


def test_is_replaying_is_false_only_in_the_turn_that_is_new() -> None:
    seen: list[tuple[str, bool]] = []

    def code(ctx: Any, _: object) -> Flow:
        seen.append(("first", ctx.is_replaying))
        yield ctx.schedule_timer(1)
        seen.append(("second", ctx.is_replaying))
        yield ctx.schedule_timer(1)

    driven = drive(code, checked=False)
    assert seen == [("first", False)]
    seen.clear()
    driven.turn(driven.fired(2))
    assert seen == [("first", True), ("second", False)]
    seen.clear()
    driven.replay()
    assert seen == [("first", True), ("second", True)]


def test_log_lines_are_those_of_the_new_turn_only() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.trace_info("started")
        yield ctx.schedule_timer(1)
        ctx.trace_warn("woken")
        ctx.trace_error(7)
        ctx.trace_debug("details")

    driven = drive(code)
    driven.turn(driven.fired(2))
    assert [turn.logs for turn in driven.results] == [
        (("orchestration", "INFO", "started", {}),),
        (
            ("orchestration", "WARNING", "woken", {}),
            ("orchestration", "ERROR", "7", {}),
            ("orchestration", "DEBUG", "details", {}),
        ),
    ]
    assert all(turn.logs == () for turn in driven.replay())


# A task is a description.


def test_a_task_is_scheduled_each_time_it_is_yielded() -> None:
    def code(ctx: Any, _: object) -> Flow:
        task = ctx.schedule_activity("A")
        yield task
        yield ctx.all([task, task])

    driven = drive(code)
    driven.turn(driven.completed(2))
    assert kinds(driven.events).count(ev.ACTIVITY_SCHEDULED) == 3


def test_a_task_that_is_made_and_never_yielded_is_named_at_the_end() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.schedule_activity("Forgotten", 1)
        ctx.schedule_timer(5)
        used = ctx.schedule_activity("Used")
        yield used
        yield ctx.all([ctx.schedule_activity("Member")])

    driven = drive(code)
    driven.turn(driven.completed(2))
    driven.turn(driven.completed(4))
    named = ("activity Forgotten(1) was made and never yielded", "timer of 5 ms was made and never yielded")
    assert [turn.warnings for turn in driven.results] == [(), (), named]


def test_a_task_says_what_it_is_when_it_is_shown() -> None:
    shown: list[str] = []

    def code(ctx: Any, _: object) -> None:
        tasks = [
            ctx.schedule_activity("A", 1),
            ctx.schedule_activity_with_retry("A", 1, {}),
            ctx.schedule_timer(5),
            ctx.wait_for_event("e"),
            ctx.dequeue_event("q"),
            ctx.schedule_sub_orchestration("C", 1),
            ctx.start_orchestration("D", "d", 1),
            ctx.continue_as_new(1),
            ctx.all([]),
            ctx.race(1, 2),
        ]
        shown.extend(map(repr, tasks))

    drive(code, checked=False)
    assert shown == [
        "<activity A(1); yield it or await it>",
        "<activity A(1) with up to 3 attempts; yield it or await it>",
        "<timer of 5 ms; yield it or await it>",
        "<wait for event 'e'; yield it or await it>",
        "<dequeue from 'q'; yield it or await it>",
        "<sub-orchestration C(1); yield it or await it>",
        "<start D(1) as 'd'; yield it or await it>",
        "<continue as new with 1; yield it or await it>",
        "<all of 0 tasks; yield it or await it>",
        "<race of 2 tasks; yield it or await it>",
    ]


# Key-values.


def in_one_turn(body: Callable[[Any], object], **options: Any) -> Driven:
    """Drive code of one turn; what `body` returns is its output."""
    return drive(lambda ctx, _: body(ctx), **options)


def test_reads_see_the_snapshot_and_every_write_at_once() -> None:
    def first(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            ctx.set_kv_value("kept", "old")
            ctx.set_kv_value("gone", "old")
            yield ctx.continue_as_new(2)
        seen = [ctx.get_kv_value("kept"), ctx.get_kv_value("never")]
        ctx.set_kv_value("kept", "new")
        ctx.clear_kv_value("gone")
        return [*seen, ctx.get_kv_value("kept"), ctx.get_kv_value("gone")]

    second = drive(first, 1).next_execution()
    assert second.output == ["old", None, "new", None]
    assert second.kv == {"kept": "new"}


def test_bulk_reads_are_in_key_order() -> None:
    def body(ctx: Any) -> object:
        for key in ("b", "a", "é", "C", ""):
            ctx.set_kv_value(key, key.upper())
        return [ctx.get_kv_all_keys(), list(ctx.get_kv_all_values().items()), ctx.get_kv_length()]

    keys = ["", "C", "a", "b", "é"]
    assert in_one_turn(body).output == [keys, [[key, key.upper()] for key in keys], 5]


def test_every_write_is_an_event_also_one_that_changes_nothing() -> None:
    def body(ctx: Any) -> None:
        ctx.set_kv_value("k", "1")
        ctx.set_kv_value("k", "1")
        ctx.clear_kv_value("unknown")
        ctx.clear_all_kv_values()
        ctx.clear_all_kv_values()

    assert kinds(in_one_turn(body).events)[1:-1] == [
        ev.KV_SET,
        ev.KV_SET,
        ev.KV_CLEARED,
        ev.KV_ALL_CLEARED,
        ev.KV_ALL_CLEARED,
    ]


def test_reads_are_no_events() -> None:
    def body(ctx: Any) -> object:
        ctx.get_kv_value("k")
        ctx.get_kv_all_values()
        ctx.get_kv_all_keys()
        ctx.get_kv_value_typed("k")
        return ctx.get_kv_length()

    assert kinds(in_one_turn(body).events) == [ev.STARTED, ev.COMPLETED]


def test_keys_and_values_are_taken_as_text() -> None:
    def body(ctx: Any) -> object:
        ctx.set_kv_value(1, None)
        ctx.set_kv_value("e\u0301", "\0\n")
        return [ctx.get_kv_value(1), ctx.get_kv_value("1"), ctx.get_kv_value("\u00e9"), ctx.get_kv_value("e\u0301")]

    assert in_one_turn(body).output == ["None", "None", None, "\0\n"]


def test_a_write_carries_the_time_of_its_turn() -> None:
    driven = in_one_turn(lambda ctx: ctx.set_kv_value("k", "1"))
    assert driven.events[1].last_updated_at_ms == driven.events[1].timestamp_ms == driven.now_ms


def test_typed_values_are_json_and_come_back_as_asked() -> None:
    class Order(msgspec.Struct):
        id: int
        lines: list[str]

    def body(ctx: Any) -> object:
        ctx.set_kv_value_typed("order", {"id": 7, "lines": ["é"]})
        ctx.set_kv_value_typed("text", "5")
        order = ctx.get_kv_value_typed("order", Order)
        return [
            ctx.get_kv_value("order"),
            [order.id, order.lines],
            ctx.get_kv_value_typed("order"),
            ctx.get_kv_value_typed("text"),
            ctx.get_kv_value_typed("text", str),
            ctx.get_kv_value_typed("absent", int),
        ]

    assert in_one_turn(body).output == [
        '{"id": 7, "lines": ["\\u00e9"]}',
        [7, ["é"]],
        {"id": 7, "lines": ["é"]},
        "5",
        "5",
        None,
    ]


@pytest.mark.parametrize(
    ("stored", "wanted", "reason"),
    [
        ("{", None, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("", int, "Expecting value: line 1 column 1 (char 0)"),
        ('"5"', int, "Expected `int`, got `str`"),
        ("1.5", int, "Expected `int`, got `float`"),
    ],
)
def test_a_value_that_is_not_as_asked_raises_the_same_live_and_on_replay(
    stored: str, wanted: type | None, reason: str
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", stored)
        try:
            ctx.get_kv_value_typed("k", wanted) if wanted else ctx.get_kv_value_typed("k")
        except ValueError as error:
            ctx.set_kv_value("error", f"{type(error).__name__}: {error}")
        yield ctx.schedule_timer(1)
        return ctx.get_kv_value("error")

    driven = drive(code)
    driven.turn(driven.fired(4))
    assert driven.output == f"KVDecodeError: the value of key 'k' cannot be read as asked: {reason}"


def test_metrics_are_noted_for_new_turns_only() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "é")
        ctx.get_kv_value("k")
        ctx.clear_kv_value("k")
        ctx.clear_all_kv_values()
        yield ctx.get_kv_value_from_instance("other", "k")

    driven = drive(code)
    assert driven.last.measures == (
        ("duroxide.kv.set", {"key": "k", "value_len": 2}),
        ("duroxide.kv.get", {"key": "k", "found": True}),
        ("duroxide.kv.clear_value", {"key": "k"}),
        ("duroxide.kv.clear_all", {}),
        ("duroxide.kv.get_remote", {}),
    )
    assert [(level, text) for _, level, text, _ in driven.last.logs] == [
        ("INFO", "kv.set"),
        ("DEBUG", "kv.get"),
        ("INFO", "kv.clear"),
        ("INFO", "kv.clear"),
    ]
    assert all((turn.measures, turn.logs) == ((), ()) for turn in driven.replay())
