"""Values that cannot be stored or waited for: the instance fails with a text that names them, and keeps the rest."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.session.contents import contents
from workbench import Run, Workbench
from workbench.runtime import events as ev
from workbench.runtime.errors import NotJSON, NotStorable

HALF = "\ud83d"
"""The first half of an emoji."""
ONLY_TASKS = (
    "NotATask: an orchestration may only yield what its context returns, such as ctx.schedule_activity(...); "
    "it yielded "
)


def run_of(wb: Workbench, value: object) -> Run:
    """A run that sets a key, then does with the value what its test registered as `Program`."""
    run = wb.start("Program", value)
    run.turn()
    return run


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, "int 5"),
        (None, "None"),
        ("x", "str 'x'"),
        ([1], "list [1]"),
        ({"a": 1}, "dict {'a': 1}"),
        ("x" * 99, f"str '{'x' * 56}..."),
    ],
    ids=["number", "nothing", "text", "list", "dict", "long"],
)
def test_a_yield_that_is_no_task_fails_the_instance(wb: Workbench, value: object, shown: str) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, given: object) -> Generator[Any, Any, None]:
        ctx.set_kv_value("before", "kept")
        try:
            yield given
        finally:
            ctx.set_kv_value("after", "never written")

    run = run_of(wb, value)
    assert run.status == "Failed"
    assert run.error == ONLY_TASKS + shown
    assert run.kv == {"before": "kept"}
    assert run.turns[-1].status == "Failed"
    assert run.recording().replay(program).verdict == "same"


def test_a_member_that_is_no_task_fails_the_instance_and_nothing_is_scheduled(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.all([ctx.schedule_activity("Echo", 1), 5])

    run = run_of(wb, None)
    assert run.error == ONLY_TASKS + "int 5"
    assert [event.type for event in run.recording().last.history.events] == [ev.STARTED, ev.FAILED]
    assert contents(wb)["worker_queue"] == []


def test_a_result_that_is_no_json_names_its_type_and_path(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> dict[str, object]:
        ctx.set_kv_value("before", "kept")
        return {"orders": [1, {"items": {1, 2}}]}

    run = run_of(wb, None)
    assert run.error == (
        "NotJSON: the result of orchestration Program is stored as JSON, and set at $.orders[1].items has no JSON form"
    )
    assert (run.status, run.kv) == ("Failed", {"before": "kept"})


def test_an_activity_result_that_is_no_json_is_a_failure_the_code_may_catch(wb: Workbench) -> None:
    @wb.activity("Object")
    def make(ctx: object, _: object) -> object:
        return {"x": [object()]}

    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> Generator[Any, Any, str]:
        try:
            yield ctx.schedule_activity("Object")
        except Exception as error:
            return str(error)
        return "not reached"

    assert run_of(wb, None).finish().output == (
        "Activity 'Object' call failed: NotJSON: the result of activity 'Object' is stored as JSON, "
        "and object at $.x[0] has no JSON form"
    )


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({1, 2}, "set at $"),
        ([b"x"], "bytes at $[0]"),
        ({"a": {(1, 2): 3}}, "the tuple key (1, 2) at $.a"),
    ],
    ids=["set", "bytes", "key"],
)
def test_what_is_sent_must_be_json_and_nothing_is_sent_otherwise(wb: Workbench, value: object, what: str) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.schedule_activity("Missing")

    run = run_of(wb, None)
    before = contents(wb)
    calls: dict[str, Callable[[], object]] = {
        "the input of 'Program'": lambda: wb.start("Program", value),
        "the data of 'go'": lambda: run.raise_event("go", value),
        "a message for 'mail'": lambda: run.enqueue_event("mail", value),
        "the result for event 2": lambda: run.complete(2, value),
    }
    for name, call in calls.items():
        with pytest.raises(NotJSON) as raised:
            call()
        assert str(raised.value) == f"{name} is stored as JSON, and {what} has no JSON form"
    assert repr(contents(wb)) == repr(before)


def test_an_input_that_is_no_json_is_raised_at_the_call(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> Generator[Any, Any, object]:
        try:
            ctx.schedule_activity("Echo", {"tags": {1}})
        except TypeError as error:
            return str(error)
        yield ctx.schedule_timer(1)
        return "not reached"

    run = run_of(wb, None)
    assert run.output == "the input of activity 'Echo' is stored as JSON, and set at $.tags has no JSON form"


KEYS_AND_NAMES: dict[str, Callable[[Any], object]] = {
    "a key": lambda ctx: ctx.set_kv_value(f"k{HALF}", "v"),
    "the value of key 'k'": lambda ctx: ctx.set_kv_value("k", f"v{HALF}"),
    "a custom status": lambda ctx: ctx.set_custom_status(f"s{HALF}"),
    "the name of an event": lambda ctx: ctx.wait_for_event(f"e{HALF}"),
    "the name of a queue": lambda ctx: ctx.dequeue_event(f"q{HALF}"),
    "the name of an activity": lambda ctx: ctx.schedule_activity(f"a{HALF}"),
    "a session id": lambda ctx: ctx.schedule_activity("Echo", 1, f"s{HALF}"),
    "a tag": lambda ctx: ctx.schedule_activity("Echo").with_tag(f"t{HALF}"),
    "an instance id": lambda ctx: ctx.schedule_sub_orchestration_with_id("Program", f"i{HALF}"),
}


@pytest.mark.parametrize("what", KEYS_AND_NAMES)
def test_half_a_character_is_refused_at_the_call_and_the_code_may_go_on(wb: Workbench, what: str) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, catches: bool) -> Generator[Any, Any, object]:
        ctx.set_kv_value("before", "kept")
        if not catches:
            KEYS_AND_NAMES[what](ctx)
        try:
            KEYS_AND_NAMES[what](ctx)
        except ValueError as error:
            return [type(error).__name__, str(error)]
        yield ctx.schedule_timer(1)
        return "not reached"

    text = f"{what} cannot be stored as UTF-8: its character 2 is the lone surrogate U+D83D"
    failed = run_of(wb, False)
    assert (failed.status, failed.error) == ("Failed", f"NotStorable: {text}")
    assert failed.kv == {"before": "kept"}
    assert run_of(wb, True).output == ["NotStorable", text]


def test_half_a_character_in_a_value_that_is_json_is_an_escape_and_comes_back(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, given: object) -> Generator[Any, Any, object]:
        return [given, (yield ctx.schedule_activity("Echo", given))]

    assert run_of(wb, f"x{HALF}").finish().output == [f"x{HALF}", f"x{HALF}"]


def test_half_a_character_in_an_error_text_is_written_as_its_escape(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, given: str) -> None:
        raise ValueError(given)

    assert run_of(wb, f"x{HALF}").error == "ValueError: x\\ud83d"


def test_half_a_character_in_a_call_from_outside_sends_nothing(wb: Workbench) -> None:
    @wb.orchestration("Program")
    def program(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.schedule_activity("Missing")

    run = run_of(wb, None)
    before = contents(wb)
    half = f"x{HALF}"
    calls: dict[str, Callable[[], object]] = {
        "an event name": lambda: run.raise_event(half),
        "a queue name": lambda: run.enqueue_event(half),
        "a reason": lambda: run.cancel(half),
        "the message": lambda: run.fail(2, half),
        "an instance id": lambda: wb.start("Program", instance_id=half),
        "the name of an orchestration": lambda: wb.orchestration(half)(program),
        "the name of an activity": lambda: wb.activity(half)(program),
    }
    for name, call in calls.items():
        with pytest.raises(NotStorable) as raised:
            call()
        assert str(raised.value) == f"{name} cannot be stored as UTF-8: its character 2 is the lone surrogate U+D83D"
    with pytest.raises(NotStorable):
        wb.run(half)
    assert repr(contents(wb)) == repr(before)
