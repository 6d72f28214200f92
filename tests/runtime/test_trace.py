"""A trace keeps reads with where their values came from, locals as text, and changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import drive
from tests.runtime.traced import (
    PROGRAMS,
    def_of,
    finish,
    traced,
)
from workbench.runtime.lines import translate
from workbench.runtime.trace import TracedOperation, TracedRead

Flow = Generator[Any, Any, Any]


def test_every_read_has_its_line_its_value_and_where_that_came_from() -> None:
    def reads(ctx: Any, _: object) -> Flow:
        ctx.get_kv_value("never")
        ctx.set_kv_value("k", "1")
        ctx.get_kv_value("k")
        yield ctx.schedule_timer(1)
        ctx.clear_kv_value("k")
        ctx.get_kv_value("k")
        ctx.get_kv_all_values()

    driven = finish(drive(reads))
    steps = [step for turn in traced(driven) for step in turn.steps if isinstance(step, TracedRead)]
    first = def_of(reads)
    assert [(step.key, step.value, step.origin, step.event_id) for step in steps] == [
        ("never", None, "never set", None),
        ("k", "1", "set", 2),
        ("k", None, "cleared", 5),
    ]
    assert [translate(step.chain)[0].line - first + 1 for step in steps] == [2, 4, 7]


def test_reading_in_cleanup_is_not_kept() -> None:
    def reads(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_timer(1)
        finally:
            ctx.get_kv_value("k")
            ctx.set_kv_value("k", "1")

    [turn] = traced(drive(reads))
    assert [type(step) for step in turn.steps] == [TracedOperation]


# Locals as text.


def test_locals_are_kept_as_text_of_that_moment_when_asked_for() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise ValueError("no")

    def code(ctx: Any, value: object) -> Flow:
        items = [1]
        rude = Rude()
        ctx.set_kv_value("k", "1")
        items.append(2)
        long = "x" * 500
        yield ctx.schedule_activity("A")
        del rude, long

    driven = drive(code, {"a": 1})
    [turn] = traced(driven, keep_locals=True)
    at_the_set = dict(turn.steps[0].local_values)
    assert at_the_set.pop("Rude").startswith("<class 'tests.runtime.test_trace.")
    assert at_the_set == {"items": "[1]", "rude": "<no repr: ValueError>", "value": "{'a': 1}"}
    parked = dict(turn.parked_locals)
    assert parked["items"] == "[1, 2]"
    assert parked["long"] == "'" + "x" * 78 + "…"
    [plainly] = traced(driven)
    assert (plainly.steps[0].local_values, plainly.parked_locals) == ((), ())


def test_locals_are_those_of_the_users_frame_not_of_a_library_in_between() -> None:
    def code(ctx: Any, _: object) -> Flow:
        mine = 7
        with contextlib.ExitStack() as stack:
            stack.callback(ctx.set_kv_value, "k", mine)
        yield ctx.schedule_activity("A")

    [turn] = traced(drive(code), keep_locals=True)
    assert dict(turn.steps[0].local_values)["mine"] == "7"


# Tracing changes nothing.


@pytest.mark.parametrize("code", PROGRAMS, ids=lambda code: code.__name__)
def test_a_traced_replay_comes_to_the_same_results(code: Callable[..., Any]) -> None:
    driven = finish(drive(code))
    assert [turn.result for turn in traced(driven, keep_locals=True)] == driven.replay()


def test_steps_say_whether_they_were_replayed_new_or_diverged() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.schedule_timer(1)

    def other(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "2")
        yield ctx.schedule_timer(1)

    driven = drive(code)
    [turn] = traced(driven, other)
    states = [step.state for step in turn.steps if isinstance(step, TracedOperation)]
    assert states == ["replayed", "diverged"]
    assert [step.record is None for step in turn.steps if isinstance(step, TracedOperation)] == [False, True]
