"""Every task of the context: the row it records, the answer it gets, what it starts.

`drive` makes each turn warm and cold and replays the history, so one pass shows all three.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import msgspec
import pytest

from tests.runtime.driving import Driven, drive, kinds, new_rows
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
    assert driven.last.output.startswith(
        "KVDecodeError: Typed deserialization error: the value of key 'k' cannot be read as asked: "
    )
