"""A divergence inside user code is final, whatever the code does about it (replay-rule §6)."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from tests.runtime.driving import closing, drive

Flow = Generator[Any, Any, Any]
Code = Callable[..., Any]


def recorded(ctx: Any, _: object) -> Flow:
    """What is recorded; each hostile program below parts from it at its second write."""
    ctx.set_kv_value("a", "1")
    ctx.set_kv_value("b", "1")
    yield ctx.schedule_activity("A")
    ctx.set_kv_value("c", "1")
    yield ctx.schedule_activity("B")


# Programs that part from the record and do not take it well: the verdict is the same for all.


def leaves_at_once(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    ctx.set_kv_value("b", "2")
    yield ctx.schedule_activity("A")


def catches_exception(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    except Exception:
        ctx.set_kv_value("b", "1")
    yield ctx.schedule_activity("A")


def catches_everything_and_does_the_right_thing(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    except BaseException:
        ctx.set_kv_value("b", "1")
    yield ctx.schedule_activity("A")


def catches_everything_and_yields(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    task = ctx.schedule_activity("A")
    try:
        ctx.set_kv_value("b", "2")
    except BaseException:
        yield task
    yield task


def catches_everything_and_returns(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    except BaseException:
        return "fine"
    yield ctx.schedule_activity("A")


def catches_everything_and_raises_something_else(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    except BaseException:
        raise ValueError("mine") from None
    yield ctx.schedule_activity("A")


def tries_a_thousand_times(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    for _number in range(1_000):
        with contextlib.suppress(BaseException):
            ctx.set_kv_value("b", "2")
    yield ctx.schedule_activity("A")


def writes_in_finally(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    finally:
        with contextlib.suppress(BaseException):
            ctx.set_kv_value("finally", "1")
            ctx.clear_all_kv_values()
            ctx.set_custom_status("finally")
    yield ctx.schedule_activity("A")


def yields_in_finally(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    task = ctx.schedule_activity("A")
    try:
        ctx.set_kv_value("b", "2")
    finally:
        yield task


def yields_for_ever(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    task = ctx.schedule_activity("A")
    with contextlib.suppress(BaseException):
        ctx.set_kv_value("b", "2")
    ignored = 0
    while True:
        try:
            yield task
        except BaseException:
            ignored += 1


def writes_in_a_context_manager(ctx: Any, _: object) -> Flow:
    @contextlib.contextmanager
    def section() -> Iterator[None]:
        try:
            yield
        finally:
            with contextlib.suppress(BaseException):
                ctx.set_kv_value("left", "1")

    ctx.set_kv_value("a", "1")
    with section():
        ctx.set_kv_value("b", "2")
    yield ctx.schedule_activity("A")


def inside_a_helper_that_catches(ctx: Any, _: object) -> Flow:
    def helper() -> Flow:
        try:
            ctx.set_kv_value("b", "2")
        except BaseException:
            return (yield ctx.wait_for_event("never"))

    ctx.set_kv_value("a", "1")
    yield from helper()


def leaves_at_a_yield(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("Other")
    finally:
        ctx.set_kv_value("finally", "1")


def prunes_in_cleanup(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.wait_for_event("other")
    finally:
        assert ctx.prune_kv_values_updated_before(2**60) == 0
        ctx.clear_kv_value("a")
        ctx.reset_custom_status()


async def coroutine_catches_everything(ctx: Any, _: object) -> None:
    ctx.set_kv_value("a", "1")
    try:
        ctx.set_kv_value("b", "2")
    except BaseException:
        await ctx.wait_for_event("never")


async def coroutine_with_async_cleanup(ctx: Any, _: object) -> None:
    ctx.set_kv_value("a", "1")
    try:
        await ctx.wait_for_event("other")
    finally:
        ctx.set_kv_value("finally", "1")
        await ctx.wait_for_event("never")


def exits_in_cleanup(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.wait_for_event("other")
    finally:
        sys.exit("leaving")


def raises_in_cleanup(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.wait_for_event("other")
    finally:
        raise KeyError("in cleanup")


def plain_function(ctx: Any, _: object) -> str:
    ctx.set_kv_value("a", "1")
    with contextlib.suppress(BaseException):
        ctx.set_kv_value("b", "2")
    return "fine"


HOSTILE: list[Code] = [
    leaves_at_once,
    catches_exception,
    catches_everything_and_does_the_right_thing,
    catches_everything_and_yields,
    catches_everything_and_returns,
    catches_everything_and_raises_something_else,
    tries_a_thousand_times,
    writes_in_finally,
    yields_in_finally,
    yields_for_ever,
    writes_in_a_context_manager,
    inside_a_helper_that_catches,
    leaves_at_a_yield,
    prunes_in_cleanup,
    coroutine_catches_everything,
    coroutine_with_async_cleanup,
    exits_in_cleanup,
    raises_in_cleanup,
    plain_function,
]


@pytest.mark.parametrize("code", HOSTILE, ids=lambda code: code.__name__)
def test_a_divergence_is_final_whatever_the_code_does_about_it(code: Code, capfd: pytest.CaptureFixture[str]) -> None:
    driven = drive(recorded)
    driven.turn(driven.completed(4))
    with closing(driven.execution(code)) as execution:
        first = execution.advance(driven.recorded()[0])
        assert first.divergence is not None
        assert (first.divergence.kind, first.divergence.operation) == ("changed", 2)
        assert first.divergence.recorded == driven.events[2]
        assert execution.key_values.values() == {"a": "1"}
        assert execution.custom_status is None
        assert execution.journal.cursor == 1
    del execution
    gc.collect()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("code", HOSTILE, ids=lambda code: code.__name__)
def test_a_divergence_fails_the_instance_and_leaves_its_keys_alone(
    code: Code, capfd: pytest.CaptureFixture[str]
) -> None:
    driven = drive(recorded)
    driven.change_code(code)
    result = driven.turn(driven.completed(4))
    assert [event.type for event in result.events] == ["ActivityCompleted", "OrchestrationFailed"]
    assert (result.activities, result.messages) == ((), ())
    assert driven.kv == {"a": "1", "b": "1"}
    gc.collect()
    assert capfd.readouterr() == ("", "")
