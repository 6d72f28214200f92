"""Parked code cannot write: verdict first, then the context is inert, then the code is closed (replay-rule §6)."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive
from workbench.runtime import messages as ms
from workbench.runtime.errors import ContextInactive
from workbench.runtime.execution import Execution
from workbench.runtime.turns import NewTurn

Flow = Generator[Any, Any, Any]
Code = Callable[..., Any]


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


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_or_exit_in_the_code_is_let_out_and_is_no_result(raised: type[BaseException]) -> None:
    def interrupted(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        raise raised

    driven = drive(interrupted, checked=False)
    with pytest.raises(raised):
        driven.turn(driven.completed(2))


@pytest.mark.parametrize("raised", [GeneratorExit("odd"), asyncio.CancelledError("by itself")])
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
    drive(cleans_up)
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
    execution = Execution(cleans_up, "i", 1)
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
