"""Parked code cannot write: verdict first, then the context is inert, then the code is closed (replay-rule §6).

A divergence inside user code is final, whatever the code does about it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from tests.runtime.driving import Driven, closing, drive
from workbench.runtime import messages as ms
from workbench.runtime.errors import ContextInactive
from workbench.runtime.execution import Execution
from workbench.runtime.turns import NewTurn

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


# Programs that are parked and closed: their cleanup changes nothing.


def cleans_up(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("A")
    finally:
        ctx.set_kv_value("a", "2")
        ctx.clear_all_kv_values()
        ctx.set_custom_status("closed")
        ctx.trace_info("closed")


def yields_again_in_cleanup(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("A")
    finally:
        yield ctx.schedule_activity("Cleanup")
        ctx.set_kv_value("a", "2")


def refuses_to_be_closed(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    ignored = 0
    while True:
        try:
            yield ctx.schedule_activity("A")
        except BaseException:
            ctx.set_kv_value("a", "2")
            ignored += 1


def raises_when_closed(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("A")
    finally:
        raise RuntimeError("cleanup failed")


def exits_when_closed(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("A")
    finally:
        raise SystemExit(3)


async def awaits_in_cleanup(ctx: Any, _: object) -> None:
    ctx.set_kv_value("a", "1")
    try:
        await ctx.schedule_activity("A")
    finally:
        await ctx.schedule_activity("Cleanup")


def continues_and_cleans_up(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", "1")
    try:
        yield ctx.schedule_activity("A")
        yield ctx.continue_as_new()
    finally:
        ctx.set_kv_value("a", "2")


@pytest.mark.parametrize(
    ("code", "warning"),
    [
        (cleans_up, None),
        (yields_again_in_cleanup, None),
        (refuses_to_be_closed, "the code refuses to be closed: it yields again in its own cleanup"),
        (raises_when_closed, "cleanup raised RuntimeError: cleanup failed"),
        (exits_when_closed, "cleanup raised SystemExit: 3"),
        (awaits_in_cleanup, None),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_closing_parked_code_changes_nothing(
    code: Code, warning: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    driven = drive(code)
    assert [event.type for event in driven.events][1:] == ["KeyValueSet", "ActivityScheduled"]
    assert driven.kv == {"a": "1"}
    result = driven.turn(driven.cancel())
    assert driven.kv == {"a": "1"}
    assert [event.type for event in result.events] == [
        "OrchestrationCancelRequested",
        "OrchestrationFailed",
        "ActivityCancelRequested",
    ]
    assert (result.warnings[-1] if result.warnings else None) == warning
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_code_that_continues_as_new_is_closed_and_its_cleanup_leaves_nothing() -> None:
    driven = drive(continues_and_cleans_up)
    driven.turn(driven.completed(3))
    assert driven.last.status == "ContinuedAsNew"
    assert driven.kv == {"a": "1"}


def test_closing_happens_at_the_end_of_the_call_on_the_thread_that_ran_the_code() -> None:
    closed: list[int] = []

    def notes(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        finally:
            closed.append(threading.get_ident())

    driven = Driven(notes, checked=False)
    gc.disable()
    try:
        driven.start()
    finally:
        gc.enable()
    assert closed == [threading.get_ident()]


def test_reads_answer_from_the_frozen_state_while_the_code_is_closed_and_calls_are_counted() -> None:
    seen: list[Any] = []

    def reads(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_custom_status("running")
        try:
            yield ctx.schedule_activity("A")
        finally:
            ctx.set_kv_value("a", "2")
            seen.append((ctx.get_kv_value("a"), ctx.get_kv_all_keys(), ctx.get_kv_length(), ctx.get_custom_status()))

    execution = Execution(reads, "i", 1)
    execution.advance(NewTurn((ms.StartOrchestration("i", "Flow", "null"),), 1), 0)
    execution.close()
    assert seen == [("1", ["a"], 1, "running")]
    assert execution.journal.ignored_calls == 5


def test_closing_twice_is_fine() -> None:
    execution = Execution(cleans_up, "i", 1)
    execution.advance(NewTurn((ms.StartOrchestration("i", "Flow", "null"),), 1), 0)
    execution.close()
    execution.close()


def test_a_keyboard_interrupt_in_cleanup_is_let_out() -> None:
    def interrupted(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        finally:
            raise KeyboardInterrupt

    execution = Execution(interrupted, "i", 1)
    execution.advance(NewTurn((ms.StartOrchestration("i", "Flow", "null"),), 1), 0)
    with pytest.raises(KeyboardInterrupt):
        execution.close()


def test_a_keyboard_interrupt_in_the_code_is_let_out_and_is_no_result() -> None:
    def interrupted(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        raise KeyboardInterrupt

    driven = drive(interrupted, checked=False)
    with pytest.raises(KeyboardInterrupt):
        driven.turn(driven.completed(2))


@pytest.mark.parametrize("raised", [SystemExit("leaving"), GeneratorExit("odd"), asyncio.CancelledError("by itself")])
def test_everything_else_that_is_raised_is_the_instances_failure(raised: BaseException) -> None:
    def leaves(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        raise raised

    def leaves_at_once(ctx: Any, _: object) -> None:
        raise raised

    driven = drive(leaves)
    driven.turn(driven.completed(2))
    at_once = drive(leaves_at_once)
    for ended in (driven, at_once):
        assert ended.last.status == "Failed"
        assert ended.last.output is not None
        assert ended.last.output.endswith(f"{type(raised).__name__}: {raised}")


# Async generators that the code leaves behind.


def test_an_async_generator_left_by_break_is_closed_inert_with_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    async def numbers(ctx: Any) -> AsyncIterator[int]:
        try:
            for number in range(3):
                await ctx.schedule_timer(1)
                yield number
        finally:
            ctx.set_kv_value("left", "1")

    async def leaves_early(ctx: Any, _: object) -> str:
        async for number in numbers(ctx):
            if number == 1:
                break
        await ctx.schedule_activity("A")
        return "done"

    driven = drive(leaves_early)
    driven.turn(driven.fired(2))
    result = driven.turn(driven.fired(4))
    assert result.warnings == (f"{numbers.__qualname__} was left unfinished; wrap it in contextlib.aclosing",)
    driven.turn(driven.completed(6))
    assert driven.output == "done"
    assert driven.kv == {}
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_an_async_generator_that_waits_in_its_cleanup_is_closed_all_the_same(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async def waits(ctx: Any) -> AsyncGenerator[int, None]:
        try:
            yield 1
        finally:
            await ctx.schedule_timer(1)

    async def leaves_early(ctx: Any, _: object) -> None:
        async for _number in waits(ctx):
            break
        await ctx.schedule_activity("A")

    driven = drive(leaves_early)
    assert [event.type for event in driven.events][1:] == ["ActivityScheduled"]
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_the_hooks_for_async_generators_are_put_back() -> None:
    before = sys.get_asyncgen_hooks()
    drive(recorded)
    assert sys.get_asyncgen_hooks() == before


# A context that somebody kept.


CALLS: list[Callable[[Any], object]] = [
    lambda ctx: ctx.set_kv_value("k", "1"),
    lambda ctx: ctx.get_kv_value("k"),
    lambda ctx: ctx.get_kv_all_values(),
    lambda ctx: ctx.clear_kv_value("k"),
    lambda ctx: ctx.prune_kv_values_updated_before(5),
    lambda ctx: ctx.set_custom_status("x"),
    lambda ctx: ctx.get_custom_status(),
    lambda ctx: ctx.trace_info("x"),
    lambda ctx: ctx.schedule_activity("A"),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_a_context_is_of_no_use_between_turns_and_after_the_end(call: Callable[[Any], object]) -> None:
    kept: list[Any] = []

    def leaks(ctx: Any, _: object) -> Flow:
        kept.append(ctx)
        ctx.set_kv_value("a", "1")
        yield ctx.schedule_activity("A")

    execution = Execution(leaks, "order-1", 1)
    result = execution.advance(NewTurn((ms.StartOrchestration("order-1", "Flow", "null"),), 1), 0)
    text = (
        "the context of 'order-1' was used outside its turn or from another thread; use it only inside the "
        "orchestration function, on the thread that runs it"
    )
    with pytest.raises(ContextInactive) as between:
        call(kept[0])
    execution.close()
    with pytest.raises(ContextInactive) as after:
        call(kept[0])
    assert str(between.value) == str(after.value) == text
    assert execution.key_values.values() == {"a": "1"}
    assert len(result.events) == 3


def test_a_context_is_of_no_use_in_another_thread() -> None:
    raised: list[BaseException] = []

    def from_a_thread(ctx: Any, _: object) -> Flow:
        def call() -> None:
            try:
                ctx.set_kv_value("k", "1")
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        yield ctx.schedule_activity("A")

    driven = drive(from_a_thread)
    assert {type(error) for error in raised} == {ContextInactive}
    assert driven.kv == {}


def test_code_that_somebody_keeps_alive_can_write_nothing_later() -> None:
    kept: list[Any] = []

    def helper(ctx: Any) -> Flow:
        try:
            yield ctx.schedule_activity("A")
        finally:
            ctx.set_kv_value("late", "1")

    def keeps_a_helper(ctx: Any, _: object) -> Flow:
        made = helper(ctx)
        kept.append(made)
        yield next(made)

    driven = drive(keeps_a_helper, checked=False)
    [made] = kept
    with pytest.raises(ContextInactive):
        made.close()
    assert driven.kv == {}


def test_no_reference_leads_from_the_context_to_the_code() -> None:
    execution = Execution(recorded, "i", 1)
    execution.advance(NewTurn((ms.StartOrchestration("i", "Flow", "null"),), 1), 0)
    code, context = execution._code, execution._context
    seen: set[int] = set()
    pending: list[Any] = [context]
    while pending:
        each = pending.pop()
        if id(each) in seen or isinstance(each, type | type(gc)):
            continue
        seen.add(id(each))
        assert each is not code
        pending += [found for found in gc.get_referents(each) if not isinstance(found, type | type(gc))]
        assert len(seen) < 10_000
    execution.close()
