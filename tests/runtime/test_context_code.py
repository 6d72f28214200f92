"""What may be an orchestration, and what its context says: input, status, replaying, log lines, unused tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any

import msgspec
import pytest

from tests.oracle.asynchronous import as_async
from tests.runtime.driving import Driven, drive, kinds, rows
from workbench.runtime import events as ev
from workbench.runtime import messages as ms

Flow = Generator[Any, Any, Any]


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
