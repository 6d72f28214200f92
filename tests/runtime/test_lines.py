"""Every operation and read knows the line that made it, through every `yield from`, `await` and wrapper.

The code under test writes its own line number into each operation, so a line cannot be right by accident.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive
from tests.runtime.traced import (
    PROGRAMS,
    awaited,
    by_hand,
    called,
    def_of,
    delegated,
    finish,
    here,
    iterated,
    label_of,
    managed,
    operations,
    synchronous_manager,
    traced,
)
from workbench.runtime import lines
from workbench.runtime.lines import Line, describe_line, function_source, translate

Flow = Generator[Any, Any, Any]
THIS_FILE = __file__


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
        assert all(line.file == code.__code__.co_filename for line in chain if not lines.is_library(line.file))
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
