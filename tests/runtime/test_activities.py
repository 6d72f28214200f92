"""Running activities: what their code sees, what becomes of results, errors and interrupts."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import kinds
from tests.runtime.instances import START_MS, Instances
from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.clock import SystemClock

Flow = Generator[Any, Any, Any]


def run(instances: Instances, activity: Callable[..., Any], value: object = None) -> Any:
    """What an orchestration gets from one activity, or `["error", text]`."""

    def code(ctx: Any, given: object) -> Flow:
        try:
            return (yield ctx.schedule_activity("Work", given))
        except Exception as error:
            return ["error", str(error)]

    instances.orchestration("Flow", code)
    instances.activity("Work", activity)
    instances.start("Flow", value)
    return instances.finish()


@pytest.mark.parametrize("value", [None, 0, "", "text", [1, {"a": None}], "é😀", 1e300, 2**70])
def test_input_and_result_are_json_values(instances: Instances, value: object) -> None:
    seen: list[object] = []

    def echo(ctx: Any, given: object) -> object:
        seen.append(given)
        return given

    assert run(instances, echo, value) == value
    assert seen == [value]


class OutOfStock(Exception):
    """A failure of one's own."""


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ValueError(), "ValueError: "),
        (KeyError("k"), "KeyError: 'k'"),
        (OutOfStock("none\nleft"), "OutOfStock: none\nleft"),
        (ValueError("half \ud83d"), "ValueError: half \\ud83d"),
    ],
)
def test_an_error_reaches_the_orchestration_as_type_and_text(
    instances: Instances, error: BaseException, text: str
) -> None:
    def fails(ctx: Any, _: object) -> None:
        raise error

    assert run(instances, fails) == ["error", f"Activity 'Work' call failed: {text}"]
    [failed] = [event for event in instances.history() if event.type == ev.ACTIVITY_FAILED]
    assert failed.details == {
        "Application": {
            "kind": "ActivityFailed",
            "message": f"Activity 'Work' call failed: {text}",
            "retryable": False,
        }
    }


def test_an_error_whose_text_cannot_be_had_is_still_an_error(instances: Instances) -> None:
    class Rude(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def fails(ctx: Any, _: object) -> None:
        raise Rude

    assert run(instances, fails) == ["error", "Activity 'Work' call failed: Rude: <no text: RuntimeError>"]


def test_a_result_that_is_no_json_is_the_activitys_failure(instances: Instances) -> None:
    assert run(instances, lambda ctx, _: {"a": {1}}) == [
        "error",
        (
            "Activity 'Work' call failed: NotJSON: the result of activity 'Work' is stored as JSON, "
            "and set at $.a has no JSON form"
        ),
    ]


def test_an_interrupt_is_never_recorded_and_the_activity_stays_where_it_was(instances: Instances) -> None:
    presses = [True]

    def interrupted(ctx: Any, _: object) -> str:
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        return "done"

    with pytest.raises(KeyboardInterrupt):
        run(instances, interrupted)
    assert kinds(instances.history()) == [ev.STARTED, ev.ACTIVITY_SCHEDULED]
    assert [work.name for work in instances.provider.pending_activities("i")] == ["Work"]
    assert instances.finish() == "done"
    assert instances.provider.pending_activities("i") == []


def test_the_context_says_what_is_run_for_whom(instances: Instances) -> None:
    def looks(ctx: Any, _: object) -> object:
        return [
            ctx.instance_id,
            ctx.execution_id,
            ctx.orchestration_name,
            ctx.orchestration_version,
            ctx.activity_name,
            ctx.session_id,
            ctx.tag(),
            ctx.is_cancelled(),
        ]

    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Work", None, "s-1").with_tag("gpu"))

    instances.orchestration("Flow", code)
    instances.activity("Work", looks)
    instances.start("Flow")
    assert instances.finish() == ["i", 1, "Flow", "1.0.0", "Work", "s-1", "gpu", False]


def test_an_activity_may_read_and_send_through_a_client(instances: Instances) -> None:
    def talks(ctx: Any, _: object) -> object:
        client = ctx.get_client()
        client.raise_event("i", "from the activity", 5)
        return client.get_kv_value("i", "k")

    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "committed")
        return (yield ctx.all([ctx.wait_for_event("from the activity"), ctx.schedule_activity("Work")]))

    instances.orchestration("Flow", code)
    instances.activity("Work", talks)
    instances.start("Flow")
    assert instances.finish() == [{"ok": 5}, {"ok": "committed"}]


def test_log_lines_of_an_activity_say_which_one(instances: Instances, caplog: pytest.LogCaptureFixture) -> None:
    def logs(ctx: Any, _: object) -> None:
        ctx.trace_info("one")
        ctx.trace_warn("two")
        ctx.trace_error("three")
        ctx.trace_debug("four")

    with caplog.at_level(logging.DEBUG, logger="workbench.activity"):
        run(instances, logs)
    assert [
        (record.levelname, record.getMessage()) for record in caplog.records if "activity=Work" in record.message
    ] == [
        (level, f"{text} instance_id=i activity=Work")
        for level, text in (("INFO", "one"), ("WARNING", "two"), ("ERROR", "three"), ("DEBUG", "four"))
    ]


# System activities.


def system(instances: Instances, body: Callable[[Any], Any], instance_id: str = "i") -> Any:
    def code(ctx: Any, _: object) -> Flow:
        return (yield body(ctx))

    instances.orchestration("System", code)
    instances.start("System", None, instance_id)
    return instances.finish(instance_id)


def test_utc_now_is_the_clock_when_it_is_run(instances: Instances) -> None:
    assert system(instances, lambda ctx: ctx.utc_now()) == START_MS


def test_guids_are_unique_and_reproducible_under_a_manual_clock(instances: Instances) -> None:
    def two(ctx: Any, _: object) -> Flow:
        return [(yield ctx.new_guid()), (yield ctx.new_guid())]

    made = []
    for store in (instances, Instances()):
        store.orchestration("Two", two)
        store.start("Two")
        made.append(store.finish())
    assert made[0] == made[1]
    assert len(set(made[0])) == 2
    assert all(uuid.UUID(text).version == 4 for text in made[0])
    other = system(instances, lambda ctx: ctx.new_guid(), "another")
    assert other not in made[0]


def test_guids_under_a_real_clock_are_random() -> None:
    stores = [Instances(clock=SystemClock()) for _ in range(2)]
    made = [system(store, lambda ctx: ctx.new_guid()) for store in stores]
    assert made[0] != made[1]
    for store in stores:
        store.provider.close()


def test_a_cross_instance_read_sees_what_clients_see(instances: Instances) -> None:
    def writes(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "42")
        yield ctx.wait_for_event("never")

    instances.orchestration("Writes", writes)
    instances.start("Writes", None, "other")
    instances.turn("other")
    assert system(instances, lambda ctx: ctx.get_kv_value_from_instance("other", "k")) == "42"
    assert system(instances, lambda ctx: ctx.get_kv_value_from_instance("other", "none"), "j") is None
    assert system(instances, lambda ctx: ctx.get_kv_value_from_instance("nobody", "k"), "k") is None


def test_a_read_of_oneself_sees_the_writes_of_the_turn_that_asked(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "mine")
        return (yield ctx.get_kv_value_from_instance(ctx.instance_id, "k"))

    instances.orchestration("Flow", code)
    instances.start("Flow")
    assert instances.finish() == "mine"


def test_a_system_activity_with_a_bad_input_fails_and_nothing_else(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("__duroxide_syscall:get_kv_value", [1])

    instances.orchestration("Flow", code)
    instances.start("Flow")
    instances.finish()
    assert re.search("call failed: ValueError: Invalid get_kv_value input", str(instances.info().output))


# Giving a result by hand.


def test_a_result_by_hand_takes_the_activity_out_of_the_queue(instances: Instances) -> None:
    def code(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Missing"))

    instances.orchestration("Flow", code)
    instances.start("Flow")
    instances.turn()
    done = ms.ActivityCompleted("i", 1, 2, '"by hand"')
    assert instances.activities.settle("i", 3, done) is False
    assert instances.activities.settle("i", 2, done) is True
    assert instances.activities.settle("i", 2, done) is False
    assert instances.provider.pending_activities("i") == []
    assert instances.finish() == "by hand"


def test_nothing_to_run_is_nothing_done(instances: Instances) -> None:
    assert instances.activities.run_one("i") is False
    assert instances.activities.run_one() is False
