"""Activities that nobody should write: recorded as what they are, or refused, and no other instance notices."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest

from workbench import Run, RuntimeOptions, Workbench
from workbench.runtime.runtime import Runtime

Flow = Generator[Any, Any, Any]
NO_JSON = "call failed: NotJSON: the result of activity 'Odd' is stored as JSON, and"


def recurses(ctx: Any, value: object) -> Any:
    return recurses(ctx, value)


def is_a_generator(ctx: Any, _: object) -> Flow:
    yield 1


async def is_a_coroutine(ctx: Any, _: object) -> int:
    return 1


def returns_what_contains_itself(ctx: Any, _: object) -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def returns_its_context(ctx: Any, _: object) -> Any:
    return ctx


def raises_generator_exit(ctx: Any, _: object) -> None:
    raise GeneratorExit


def raises_what_has_no_text(ctx: Any, _: object) -> None:
    class Mute(BaseException):
        def __str__(self) -> str:
            raise ValueError

    raise Mute


def raises_in_a_finaliser(ctx: Any, _: object) -> str:
    """What a finaliser raises Python prints and drops; here it is dropped only."""

    class Late:
        def __del__(self) -> None:
            raise ValueError("late")

    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        Late()
    finally:
        sys.unraisablehook = before
    return "done"


def changes_its_input(ctx: Any, given: list[int]) -> Any:
    given.append(1)
    ctx.instance_id = "good-1"
    return given


CASES: dict[Callable[..., Any], str] = {
    recurses: "call failed: RecursionError: maximum recursion depth exceeded",
    is_a_generator: f"{NO_JSON} generator at $ has no JSON form",
    is_a_coroutine: f"{NO_JSON} coroutine at $ has no JSON form",
    returns_what_contains_itself: f"{NO_JSON} a value that contains itself at $[0] has no JSON form",
    returns_its_context: f"{NO_JSON} ActivityContext at $ has no JSON form",
    raises_generator_exit: "call failed: GeneratorExit: ",
    raises_what_has_no_text: "call failed: Mute: <no text: ValueError>",
    raises_in_a_finaliser: "done",
    changes_its_input: "[7, 1]",
}


def flow(ctx: Any, _: object) -> Flow:
    try:
        return str((yield ctx.schedule_activity("Odd", [7])))
    except Exception as error:
        return str(error)


def good(ctx: Any, _: object) -> Flow:
    return (yield ctx.schedule_activity("Echo", "good"))


def opened() -> Workbench:
    wb = Workbench()
    wb.orchestration(flow)
    wb.orchestration(good)
    wb.activity("Echo")(lambda _, value: value)
    return wb


@pytest.mark.filterwarnings("ignore:coroutine 'is_a_coroutine' was never awaited")
@pytest.mark.parametrize("activity", CASES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("by_hand", [True, False], ids=["by hand", "in a runtime"])
def test_nonsense_is_recorded_as_what_it_is_and_a_neighbour_does_not_notice(
    activity: Callable[..., Any], by_hand: bool
) -> None:
    with opened() as wb:
        wb.activity("Odd")(activity)
        runs = [wb.start(good), wb.start(flow), wb.start(good)]
        if by_hand:
            for run in runs:
                run.finish()
        else:
            with Runtime(wb.provider, RuntimeOptions(), wb.limits, wb.clock, wb.registry):
                for run in runs:
                    wb.client.wait_for_orchestration(run.instance_id, timeout_ms=60_000)
        outputs = [run.output for run in runs]
        assert outputs[0] == outputs[2] == "good"
        assert CASES[activity] in outputs[1]
        for run, code in zip(runs, (good, flow, good), strict=True):
            assert run.recording().replay(code).verdict == "same"


def test_an_activity_that_makes_a_turn_of_its_own_instance_is_refused() -> None:
    with opened() as wb:
        runs: dict[str, Run] = {}

        @wb.activity("Odd")
        def odd(ctx: Any, _: object) -> str:
            return str(runs["own"].turn())

        runs["own"] = wb.start(flow)
        now_ms = wb.clock.now_ms()
        says = "TurnInsideItself: a turn of instance 'flow-1' is being made on this thread"
        assert says in runs["own"].finish().output
        assert wb.clock.now_ms() == now_ms


def test_an_activity_may_run_another_instance_and_use_the_client() -> None:
    with opened() as wb:

        @wb.activity("Odd")
        def odd(ctx: Any, _: object) -> list[object]:
            ctx.get_client().start_orchestration("by-client", "good")
            return [wb.run("by-client").finish().output, wb.start(good).finish().output]

        assert wb.start(flow).finish().output == "['good', 'good']"


def test_a_context_that_an_activity_leaves_in_a_thread_reads_its_own_instance_only() -> None:
    with opened() as wb:
        seen: list[object] = []

        @wb.activity("Odd")
        def odd(ctx: Any, _: object) -> str:
            def later() -> None:
                seen.extend([ctx.instance_id, ctx.orchestration_name, ctx.is_cancelled()])

            thread = threading.Thread(target=later)
            thread.start()
            thread.join()
            return "done"

        wb.start(good).finish()
        assert wb.start(flow).finish().output == "done"
        assert seen == ["flow-1", "flow", False]
