"""Every operation and read knows the line that made it, through every `yield from`, `await` and wrapper.

The code under test writes its own line number into each operation, so a line cannot be right by accident.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive, replay
from workbench.runtime import lines
from workbench.runtime.lines import Line, describe_line, function_source, translate
from workbench.runtime.trace import TracedExecution, TracedOperation, TracedRead, TracedTurn

Flow = Generator[Any, Any, Any]
THIS_FILE = __file__


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


@pytest.mark.parametrize("code", PROGRAMS, ids=lambda code: code.__name__)
def test_the_innermost_line_is_the_one_that_made_the_operation(code: Callable[..., Any]) -> None:
    driven = drive(code)
    while driven.last.status == "Running":
        waiting = [int(text.rpartition(" ")[2]) for text in driven.last.waiting_for]
        driven.turn(*(driven.completed(event_id) for event_id in waiting))
    steps = operations(driven)
    assert steps
    for step in steps:
        chain = translate(step.chain)
        assert chain[0].line == label_of(step), step.action.signature
        assert all(line.file == THIS_FILE for line in chain if not lines.is_library(line.file))
        assert chain[-1].function == code.__name__


def functions(driven: Driven) -> list[list[str]]:
    """For each operation the functions of its chain, the user's own ones."""
    return [
        [line.function for line in translate(step.chain) if not lines.is_library(line.file)]
        for step in operations(driven)
    ]


@pytest.mark.parametrize(
    ("code", "chains"),
    [
        (delegated, [["inner", "outer", "delegated"]] * 2 + [["outer", "delegated"]]),
        (
            called,
            [
                ["helper", "called"],
                ["through_c", "called"],
                ["<lambda>", "called"],
                ["<listcomp>", "called"] if sys.version_info < (3, 12) else ["called"],
                ["called"],
            ],
        ),
        (awaited, [["inner", "awaited"]] * 2 + [["awaited"]]),
        (
            iterated,
            [
                *[["numbers", "iterated"], ["iterated"]] * 2,
                *[["numbers", "<listcomp>", "iterated"] if sys.version_info < (3, 12) else ["numbers", "iterated"]] * 2,
            ],
        ),
        (managed, [["section", "managed"], ["managed"], ["section", "managed"]]),
        (by_hand, [["inner", "by_hand"], ["generator", "by_hand"], ["generator", "by_hand"]]),
        (
            synchronous_manager,
            [["section", "synchronous_manager"], ["synchronous_manager"], ["section", "synchronous_manager"]],
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_the_chain_names_every_function_on_the_way(code: Callable[..., Any], chains: list[list[str]]) -> None:
    assert functions(finish(drive(code))) == chains


def test_a_parked_turn_says_where_the_code_waits() -> None:
    def inner(ctx: Any) -> Flow:
        yield ctx.schedule_activity("A", here())

    def outer(ctx: Any, _: object) -> Flow:
        yield from inner(ctx)

    driven = drive(outer)
    [turn] = traced(driven)
    chain = translate(turn.parked)
    assert [line.function for line in chain] == ["inner", "outer"]
    assert chain[0].line == int(str(driven.events[1].input))


def test_an_attempt_that_an_arrival_makes_has_the_line_of_the_yield() -> None:
    def retries(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity_with_retry("A", here(), {"max_attempts": 2})

    driven = drive(retries)
    driven.turn(driven.failed(2))
    driven.turn(driven.fired(4))
    activities = [step for step in operations(driven) if step.action.kind == "ActivityScheduled"]
    assert [translate(step.chain)[0].line for step in activities] == [label_of(step) for step in activities]
    assert len(activities) == 2


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


def def_of(function: Callable[..., Any]) -> int:
    return lines.def_line(function.__code__)


def test_reading_in_cleanup_is_not_kept() -> None:
    def reads(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.schedule_timer(1)
        finally:
            ctx.get_kv_value("k")
            ctx.set_kv_value("k", "1")

    [turn] = traced(drive(reads))
    assert [type(step) for step in turn.steps] == [TracedOperation]


# Where a function begins.


def decorate(*_: object) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(ctx: Any, value: object) -> Any:
            return (yield from function(ctx, value))

        return wrapper

    return around


@decorate(
    "one",
    "two",
)
@decorate()
def decorated(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("A", here())


@decorate()
async def never_run(ctx: Any) -> None: ...


def test_lines_are_counted_from_the_def_below_the_decorators() -> None:
    [step] = operations(drive(decorated))
    innermost, *wrappers = translate(step.chain)
    assert describe_line(innermost) == f"decorated, line 2 (test_lines.py:{label_of(step)})"
    assert [line.function for line in wrappers] == ["wrapper", "wrapper"]
    assert function_source(innermost)[0] == "def decorated(ctx: Any, _: object) -> Flow:"


def test_a_lambda_and_a_comprehension_begin_where_they_stand() -> None:
    made = [lambda ctx, _: ctx.set_kv_value("k", str(here()))]
    [step] = operations(drive(made[0]))
    line = translate(step.chain)[0]
    assert (line.function, line.line - line.first_line) == ("<lambda>", 0)

    def comprehends(ctx: Any, _: object) -> None:
        any(
            ctx.set_kv_value("k", here())
            for _number in range(1)
        )  # fmt: skip

    def follows() -> None: ...

    [step] = operations(drive(comprehends))
    line = translate(step.chain)[0]
    assert line.function == "<genexpr>"
    assert line.first_line <= line.line < def_of(follows)


def test_code_of_a_cell_is_named_by_function_and_line_alone() -> None:
    for name in ("<ipython-input-3-abc>", "C:\\ipykernel_77\\123.py", "<stdin>"):
        assert describe_line(Line(name, "counter", 14, 11)) == "counter, line 4"
    assert describe_line(Line("/home/me/flow.py", "counter", 14, 11)) == "counter, line 4 (flow.py:14)"
    assert describe_line(Line("C:\\me\\flow.py", "counter", 14, 11)) == "counter, line 4 (flow.py:14)"


def test_a_line_of_the_user_goes_before_one_of_a_library() -> None:
    library = Line(contextlib.__file__, "__exit__", 1, 1)
    mine = Line(THIS_FILE, "flow", 1, 1)
    assert lines.user_line((library, mine)) == mine
    assert lines.user_line((library,)) == library
    assert lines.user_line(()) is None


def test_the_line_in_a_long_function_is_found_without_walking_it() -> None:
    body = "\n".join(f"    x{number} = {number}" for number in range(3_000))
    source = f"def long(ctx, _):\n{body}\n    yield ctx.schedule_activity('A', 3002)\n"
    names: dict[str, Any] = {}
    exec(compile(source, "<cell>", "exec"), names)  # noqa: S102
    [step] = operations(drive(names["long"]))
    assert describe_line(translate(step.chain)[0]) == "long, line 3002"


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
    assert at_the_set.pop("Rude").startswith("<class 'tests.runtime.test_lines.")
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
