"""Programs of every shape that write their own line number into each operation, and their traces."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

from tests.runtime.driving import Driven, replay
from workbench.runtime import lines
from workbench.runtime.trace import TracedExecution, TracedOperation, TracedTurn

Flow = Generator[Any, Any, Any]


def here() -> int:
    """The line of whoever calls this."""
    return sys._getframe(1).f_lineno


def traced(driven: Driven, code: Callable[..., Any] | None = None, keep_locals: bool = False) -> list[TracedTurn]:
    """The recorded turns, traced."""
    execution = TracedExecution(
        code or driven.code, "i", driven.execution_id, driven.recorded(), {}, keep_locals=keep_locals
    )
    replay(execution, driven.recorded())
    return execution.traced


def operations(driven: Driven) -> list[TracedOperation]:
    """All traced operations."""
    return [step for turn in traced(driven) for step in turn.steps if isinstance(step, TracedOperation)]


def label_of(step: TracedOperation) -> int:
    """The line that the code wrote into the operation: its value or its input."""
    return int(str(step.action.signature[2]))


def finish(driven: Driven) -> Driven:
    """Complete whatever activity or timer waits, until the end."""
    while driven.last.status == "Running":
        waiting = [int(text.rpartition(" ")[2]) for text in driven.last.waiting_for]
        pending = next(event for event in driven.events if event.event_id == waiting[0])
        done = driven.fired(waiting[0]) if pending.type == "TimerCreated" else driven.completed(waiting[0])
        driven.turn(done)
    return driven


def def_of(function: Callable[..., Any]) -> int:
    return lines.def_line(function.__code__)


# Programs of every shape.


def straight(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("a", here())
    yield ctx.schedule_activity("A", here())
    ctx.set_kv_value("b", here()); ctx.set_kv_value("c", here())  # fmt: skip  # noqa: E702
    for _number in range(2):
        yield ctx.schedule_activity("A", here())


def delegated(ctx: Any, _: object) -> Flow:
    def inner() -> Flow:
        ctx.set_kv_value("inner", here())
        yield ctx.schedule_activity("Inner", here())

    def outer() -> Flow:
        yield from inner()
        yield ctx.schedule_activity("Outer", here())

    yield from outer()


def called(ctx: Any, _: object) -> Flow:
    def helper() -> None:
        ctx.set_kv_value("helper", here())

    def through_c(_value: object) -> int:
        ctx.set_kv_value("sorted", here())
        return 0

    helper()
    sorted([1], key=through_c)
    (lambda: ctx.set_kv_value("lambda", here()))()
    [ctx.set_kv_value("comprehension", here()) for _number in range(1)]
    yield ctx.schedule_activity("A", here())


async def awaited(ctx: Any, _: object) -> None:
    async def inner() -> None:
        ctx.set_kv_value("inner", here())
        await ctx.schedule_activity("Inner", here())

    await inner()
    await ctx.schedule_activity("Outer", here())


async def iterated(ctx: Any, _: object) -> None:
    async def numbers() -> AsyncIterator[int]:
        for number in range(2):
            await ctx.schedule_activity("Number", here())
            yield number

    async for _number in numbers():
        ctx.set_kv_value("loop", here())
    _ = [number async for number in numbers()]


async def managed(ctx: Any, _: object) -> None:
    @contextlib.asynccontextmanager
    async def section() -> AsyncIterator[None]:
        await ctx.schedule_activity("Enter", here())
        try:
            yield
        finally:
            await ctx.schedule_activity("Leave", here())

    async with section():
        await ctx.schedule_activity("Inside", here())


async def by_hand(ctx: Any, _: object) -> None:
    class Wrapper:
        def __init__(self, coroutine: Any) -> None:
            self.coroutine = coroutine

        def __await__(self) -> Any:
            return self.coroutine.__await__()

    class Steps:
        def __init__(self, made: Flow) -> None:
            self.made = made

        def __await__(self) -> Any:
            return self

        def __iter__(self) -> Steps:
            return self

        def __next__(self) -> Any:
            return next(self.made)

        def send(self, value: Any) -> Any:
            return self.made.send(value)

    async def inner() -> None:
        await ctx.schedule_activity("Inner", here())

    def generator() -> Flow:
        yield ctx.schedule_activity("Generator", here())

    await Wrapper(inner())
    await Steps(generator())
    await types.coroutine(generator)()


def synchronous_manager(ctx: Any, _: object) -> Flow:
    @contextlib.contextmanager
    def section() -> Iterator[None]:
        ctx.set_kv_value("enter", here())
        try:
            yield
        finally:
            ctx.set_kv_value("leave", here())

    with section():
        yield ctx.schedule_activity("Inside", here())


def composed(ctx: Any, _: object) -> Flow:
    yield ctx.all([ctx.schedule_activity("A", here()), ctx.schedule_activity("B", here())])


def plain(ctx: Any, _: object) -> None:
    ctx.set_kv_value("a", here())


PROGRAMS = [
    straight,
    delegated,
    called,
    awaited,
    iterated,
    managed,
    by_hand,
    synchronous_manager,
    composed,
    plain,
]
