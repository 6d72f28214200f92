"""Arguments of the wrong kind are refused where they are given, and what cannot be stored fails with its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import drive, kinds
from workbench.runtime import events as ev

Flow = Generator[Any, Any, Any]


ARGUMENTS: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda ctx: ctx.schedule_timer(-5),
        "InvalidTask: delay_ms is a whole number from 0 to 9007199254740992, not int -5",
    ),
    (
        lambda ctx: ctx.schedule_timer(1.5),
        "InvalidTask: delay_ms is a whole number from 0 to 9007199254740992, not float 1.5",
    ),
    (
        lambda ctx: ctx.schedule_timer("5"),
        "InvalidTask: delay_ms is a whole number from 0 to 9007199254740992, not str '5'",
    ),
    (
        lambda ctx: ctx.schedule_timer(True),
        "InvalidTask: delay_ms is a whole number from 0 to 9007199254740992, not bool True",
    ),
    (
        lambda ctx: ctx.schedule_timer(2**63),
        "InvalidTask: delay_ms is a whole number from 0 to 9007199254740992, not int 9223372036854775808",
    ),
    (lambda ctx: ctx.schedule_activity(5), "InvalidTask: the name of an activity is a text, not int 5"),
    (lambda ctx: ctx.schedule_activity("A", 1, 5), "InvalidTask: a session id is a text, not int 5"),
    (lambda ctx: ctx.schedule_activity("A").with_tag(None), "InvalidTask: a tag is a text, not NoneType None"),
    (lambda ctx: ctx.wait_for_event(None), "InvalidTask: the name of an event is a text, not NoneType None"),
    (lambda ctx: ctx.dequeue_event(b"q"), "InvalidTask: the name of a queue is a text, not bytes b'q'"),
    (
        lambda ctx: ctx.schedule_sub_orchestration(1),
        "InvalidTask: the name of an orchestration is a text, not int 1",
    ),
    (
        lambda ctx: ctx.schedule_sub_orchestration_with_id("C", 7),
        "InvalidTask: an instance id is a text, not int 7",
    ),
    (lambda ctx: ctx.start_orchestration("D", None), "InvalidTask: an instance id is a text, not NoneType None"),
    (lambda ctx: ctx.continue_as_new_versioned(1, 2), "InvalidTask: a version is a text, not int 2"),
    (
        lambda ctx: ctx.schedule_activity_with_retry("A", 1, {"max_attempts": 0}),
        "InvalidTask: max_attempts is a whole number from 1 up, not int 0",
    ),
    (
        lambda ctx: ctx.schedule_activity_with_retry("A", 1, {"timeout_ms": -1}),
        "InvalidTask: timeout_ms is a whole number from 0 to 9007199254740992, not int -1",
    ),
    (
        lambda ctx: ctx.schedule_activity_with_retry("A", 1, {"backoff": 5}),
        "InvalidTask: backoff is a text such as 'fixed', not int 5",
    ),
    (
        lambda ctx: ctx.prune_kv_values_updated_before("now"),
        "InvalidTask: cutoff_ms is a whole number from 0 up, not str 'now'",
    ),
    (
        lambda ctx: ctx.schedule_activity("Pay", {"lines": [1, {2}]}),
        "NotJSON: the input of activity 'Pay' is stored as JSON, and set at $.lines[1] has no JSON form",
    ),
    (
        lambda ctx: ctx.continue_as_new(object),
        "NotJSON: the input of the next execution is stored as JSON, and type at $ has no JSON form",
    ),
    (
        lambda ctx: ctx.set_kv_value_typed("k", {1: b"x"}),
        "NotJSON: the value of key 'k' is stored as JSON, and bytes at $.1 has no JSON form",
    ),
    (
        lambda ctx: ctx.set_kv_value("a\ud800", "1"),
        "NotStorable: a key cannot be stored as UTF-8: its character 2 is the lone surrogate U+D800",
    ),
    (
        lambda ctx: ctx.set_kv_value("k", "\udfff"),
        "NotStorable: the value of key 'k' cannot be stored as UTF-8: its character 1 is the lone surrogate U+DFFF",
    ),
    (
        lambda ctx: ctx.set_custom_status("\ud800"),
        "NotStorable: a custom status cannot be stored as UTF-8: its character 1 is the lone surrogate U+D800",
    ),
    (
        lambda ctx: ctx.wait_for_event("\ud800"),
        "NotStorable: the name of an event cannot be stored as UTF-8: its character 1 is the lone surrogate U+D800",
    ),
    (
        lambda ctx: ctx.schedule_activity_typed("A", "\ud800"),
        "NotStorable: the input of 'A' cannot be stored as UTF-8: its character 1 is the lone surrogate U+D800",
    ),
]


@pytest.mark.parametrize(("call", "text"), ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_an_argument_of_the_wrong_kind_is_an_error_at_the_call(call: Callable[[Any], Any], text: str) -> None:
    def code(ctx: Any, _: object) -> Flow:
        try:
            call(ctx)
        except Exception as error:
            yield ctx.schedule_activity("Seen", f"{type(error).__name__}: {error}")

    driven = drive(code)
    assert kinds(driven.events) == [ev.STARTED, ev.ACTIVITY_SCHEDULED]
    assert driven.events[1].input == json.dumps(text)


def test_an_output_that_is_no_json_fails_the_instance_and_names_type_and_path() -> None:
    driven = drive(lambda ctx, _: {"ok": [1, {2, 3}]})
    assert driven.last.output == (
        "NotJSON: the result of orchestration Flow is stored as JSON, and set at $.ok[1] has no JSON form"
    )


def test_half_a_character_in_a_failure_is_written_out() -> None:
    def code(ctx: Any, _: object) -> None:
        raise ValueError("half \ud83d")

    assert drive(code).last.output == "ValueError: half \\ud83d"
