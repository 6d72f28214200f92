"""Orchestrations that nobody should write: a clear error or no effect, the same on replay, and never on a neighbour."""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple

import pytest

from workbench import RuntimeOptions, Workbench
from workbench.runtime.runtime import Runtime
from workbench.runtime.tasks import Task

Flow = Generator[Any, Any, Any]
KEPT: dict[str, Any] = {}
"""What bad code leaves behind for other code to find."""


class Case(NamedTuple):
    code: Callable[..., Any]
    status: str
    says: str
    input: Any = None


CASES: dict[str, Case] = {}


def case(says: str, status: str = "Failed", given: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Note a program with its outcome: the text of its error, or its output as text when it completes."""

    def note(code: Callable[..., Any]) -> Callable[..., Any]:
        CASES[code.__name__] = Case(code, status, says, given)
        return code

    return note


def completes(output: object, given: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return case(repr(output), "Completed", given)


# Control flow.


@case("RecursionError: maximum recursion depth exceeded")
def recurses(ctx: Any, value: object) -> Any:
    return recurses(ctx, value)


@case("RecursionError: maximum recursion depth exceeded")
def recurses_in_a_generator(ctx: Any, value: object) -> Flow:
    yield from recurses_in_a_generator(ctx, value)


@case("RecursionError: maximum recursion depth exceeded")
async def recurses_in_a_coroutine(ctx: Any, value: object) -> None:
    await recurses_in_a_coroutine(ctx, value)


@completes(3)
def swallows_everything(ctx: Any, _: object) -> Flow:
    done = 0
    while True:
        try:
            yield ctx.schedule_activity("Echo", done)
            done += 1
            if done == 3:
                return done
        except BaseException:  # noqa: S110 (what is tested)
            pass


@completes(3)
async def swallows_everything_in_a_coroutine(ctx: Any, _: object) -> int:
    done = 0
    while True:
        try:
            await ctx.schedule_activity("Echo", done)
            done += 1
            if done == 3:
                return done
        except BaseException:  # noqa: S110 (what is tested)
            pass


@completes("both")
def yields_in_finally(ctx: Any, _: object) -> Flow:
    try:
        yield ctx.schedule_activity("Echo", 1)
    finally:
        yield ctx.schedule_activity("Echo", 2)
        ctx.set_kv_value("cleaned", "up")
    return "both"


@case("ValueError: first")
async def awaits_in_finally(ctx: Any, _: object) -> None:
    try:
        raise ValueError("first")
    finally:
        await ctx.schedule_activity("Echo", 2)


@case("StopIteration: 5")
def raises_stop_iteration(ctx: Any, _: object) -> None:
    raise StopIteration(5)


@case("RuntimeError: generator raised StopIteration")
def raises_stop_iteration_in_a_generator(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("Echo", 1)
    raise StopIteration(5)


@case("GeneratorExit")
def raises_generator_exit(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("Echo", 1)
    raise GeneratorExit


@case("<exception str() failed>")
def raises_what_has_no_text(ctx: Any, _: object) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    raise Mute


# What is returned.


@case("NotJSON: the result of orchestration returns_a_generator is stored as JSON, and generator at $")
def returns_a_generator(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("Echo", 1)
    return (number for number in range(3))


@case("NotATask: an orchestration may only yield what its context returns")
def is_a_function_that_returns_another_generator(ctx: Any, _: object) -> Flow:
    return (number for number in range(3))


@case("InvalidTask: is_an_async_generator is an async generator")
async def is_an_async_generator(ctx: Any, _: object) -> Any:
    yield ctx.schedule_activity("Echo", 1)


@case("NotJSON: the result of orchestration returns_a_coroutine is stored as JSON, and coroutine at $")
async def returns_a_coroutine(ctx: Any, _: object) -> Any:
    made = _nothing()
    KEPT.setdefault("coroutines", []).append(made)
    return made


async def _nothing() -> None:
    return


@case("NotJSON: the result of orchestration returns_its_task is stored as JSON, and ActivityTask at $")
def returns_its_task(ctx: Any, _: object) -> Any:
    return ctx.schedule_activity("Echo", 1)


@case("NotJSON: the result of orchestration returns_what_has_no_json_form is stored as JSON, and set at $.a[1]")
def returns_what_has_no_json_form(ctx: Any, _: object) -> Any:
    return {"a": [1, {2}]}


@case("too deep a nesting at $[0][0][0]")
def returns_what_is_too_deep(ctx: Any, _: object) -> Any:
    value: list[Any] = []
    for _level in range(100_000):
        value = [value]
    return value


@case("a value that contains itself at $[0]")
def returns_what_contains_itself(ctx: Any, _: object) -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@completes(1_000_000)
def passes_on_what_is_huge(ctx: Any, _: object) -> Flow:
    return len((yield ctx.schedule_activity("Echo", "x" * 1_000_000)))


# What is yielded or awaited.


@case("NotATask: an orchestration may only yield what its context returns, such as ctx.schedule_activity(...); it yie")
def yields_a_number(ctx: Any, _: object) -> Flow:
    try:
        yield 5
    except BaseException:
        yield ctx.schedule_activity("Echo", 1)


@case("it yielded generator")
def yields_a_generator(ctx: Any, _: object) -> Flow:
    yield (number for number in range(3))


@case("it yielded OrchestrationContext")
def yields_the_context(ctx: Any, _: object) -> Flow:
    yield ctx


@case("it yielded Mine")
def yields_a_task_of_its_own_making(ctx: Any, _: object) -> Flow:
    class Mine(Task):
        def describe(self) -> str:
            return "mine"

    yield Mine()


@case("it yielded object")
def yields_nonsense_in_a_composite(ctx: Any, _: object) -> Flow:
    yield ctx.all([ctx.schedule_activity("Echo", 1), object()])


@case("InvalidTask: all and race do not stand inside one another")
def yields_a_composite_that_contains_itself(ctx: Any, _: object) -> Flow:
    both = ctx.all([])
    both.tasks.append(both)
    yield both


@case("InvalidTask: ActivityTask: one of its fields was set to what is no text")
def writes_into_a_task(ctx: Any, _: object) -> Flow:
    task = ctx.schedule_activity("Echo", 1)
    task.input = object()
    yield task


@case("InvalidTask: TimerTask: its delay_ms was set to what is no whole number")
def writes_into_a_timer(ctx: Any, _: object) -> Flow:
    task = ctx.schedule_timer(1)
    task.delay_ms = "soon"
    yield ctx.race(ctx.schedule_activity("Echo", 1), task)


@case("NotATask")
def yields_its_own_generator(ctx: Any, _: object) -> Flow:
    inner = yields_the_context(ctx, None)
    yield inner


@case("ValueError: generator already executing")
def resumes_itself(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("Echo", 1)
    next(_running_generator("resumes_itself"))


def _running_generator(name: str) -> Generator[Any, Any, Any]:
    import gc

    found = (each for each in gc.get_objects() if isinstance(each, types.GeneratorType))
    return next(each for each in found if each.gi_code.co_name == name and each.gi_running)


@case("it yielded None")
async def awaits_asyncio_sleep_of_nothing(ctx: Any, _: object) -> None:
    await asyncio.sleep(0)


@case("RuntimeError: no running event loop")
async def awaits_asyncio_sleep(ctx: Any, _: object) -> None:
    await asyncio.sleep(0.01)


@case("it yielded Future")
async def awaits_a_future(ctx: Any, _: object) -> None:
    loop = asyncio.new_event_loop()
    try:
        await loop.create_future()
    finally:
        loop.close()


@case("it yielded int 5")
async def awaits_something_of_its_own(ctx: Any, _: object) -> None:
    class Mine:
        def __await__(self) -> Generator[int, None, None]:
            yield 5

    await Mine()


@case("RuntimeError: no running event loop")
async def awaits_wait_for(ctx: Any, _: object) -> None:
    await asyncio.wait_for(ctx.schedule_activity("Echo", 1), 1)


# The context, and what belongs to others.


@completes(["ContextInactive", "ContextInactive"])
def uses_the_context_in_a_thread(ctx: Any, _: object) -> Flow:
    raised: list[str] = []

    def call() -> None:
        for name, arguments in (("set_kv_value", ("stolen", "1")), ("schedule_activity", ("Echo", 1))):
            try:
                getattr(ctx, name)(*arguments)
            except BaseException as error:
                raised.append(type(error).__name__)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    yield ctx.schedule_activity("Echo", 1)
    return raised


@case("ContextInactive: the context of 'neighbour' was used outside its turn or from another thread")
def uses_the_context_of_another(ctx: Any, _: object) -> None:
    KEPT["neighbour"].set_kv_value("stolen", "1")


@case("ContextInactive: the context of 'neighbour' was used outside its turn or from another thread")
async def makes_a_task_of_another(ctx: Any, _: object) -> None:
    await KEPT["neighbour"].schedule_activity("Echo", "stolen")


@completes("of the neighbour")
def yields_a_task_of_another(ctx: Any, _: object) -> Flow:
    return (yield KEPT["neighbour's task"])


@completes("patched")
def patches_its_context(ctx: Any, _: object) -> Flow:
    ctx.get_kv_value = lambda key: "patched"
    ctx.is_odd = True
    yield ctx.schedule_activity("Echo", 1)
    return ctx.get_kv_value("anything")


@case("AttributeError: 'NoneType' object has no attribute 'enter'")
def breaks_its_context(ctx: Any, _: object) -> Flow:
    ctx._journal = None
    yield ctx.schedule_activity("Echo", 1)


@completes([[7, 1, 5], [7, 1, 2], [7, 1, 5]], given=[7])
def changes_what_it_was_given(ctx: Any, given: list[int]) -> Flow:
    given.append(1)
    first = yield ctx.schedule_activity("Echo", given)
    first.append(2)
    given.append(5)
    second = yield ctx.schedule_activity("Echo", given)
    return [given, first, second]


@completes(1)
def traces_what_has_no_text(ctx: Any, _: object) -> Flow:
    class Mute:
        def __str__(self) -> str:
            raise ValueError

    ctx.trace_info(Mute())
    yield ctx.schedule_activity("Echo", 1)
    return 1


@case("ChangedInsideTurn: the store :memory: cannot be changed from inside an orchestration")
def starts_through_the_client(ctx: Any, _: object) -> None:
    KEPT["wb"].client.start_orchestration("thief", "good", 1)


@case("ChangedInsideTurn")
async def raises_events_through_the_client(ctx: Any, _: object) -> None:
    await ctx.schedule_activity("Echo", 1)
    KEPT["wb"].client.raise_event("neighbour", "go", "stolen")


@case("ChangedInsideTurn")
def deletes_a_neighbour(ctx: Any, _: object) -> None:
    KEPT["wb"].client.delete_instance("neighbour", force=True)


@completes("refused")
def swallows_the_refusal(ctx: Any, _: object) -> Flow:
    try:
        KEPT["wb"].client.cancel_instance("neighbour", "stolen")
    except Exception:
        yield ctx.schedule_activity("Echo", 1)
        return "refused"


@case("ChangedInsideTurn")
def makes_a_turn_of_itself(ctx: Any, _: object) -> None:
    KEPT["wb"].run(ctx.instance_id).turn()


@case("ChangedInsideTurn")
def makes_a_turn_of_a_neighbour(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("Echo", 1)
    KEPT["wb"].run("neighbour").turn()


# The harness.


def good(ctx: Any, rounds: int) -> Flow:
    KEPT["neighbour"] = ctx
    KEPT["neighbour's task"] = ctx.schedule_activity("Echo", "of the neighbour")
    for _ in range(rounds):
        count = int(ctx.get_kv_value("count") or 0)
        ctx.set_kv_value("count", count + (yield ctx.schedule_activity("Echo", 1)))
    return ctx.get_kv_value("count")


@pytest.fixture
def wb() -> Iterator[Workbench]:
    with Workbench() as opened:
        KEPT["wb"] = opened
        opened.activity("Echo")(lambda _, value: value)
        opened.orchestration(good)
        yield opened
        for each in KEPT.pop("coroutines", []):
            each.close()
        KEPT.clear()


@pytest.mark.parametrize("name", CASES)
def test_nonsense_has_a_clear_outcome_that_replays_and_a_neighbour_that_does_not_notice(
    wb: Workbench, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, status, says, given = CASES[name]
    wb.orchestration(name)(code)
    neighbour = wb.start(good, 2, instance_id="neighbour")
    neighbour.turn()
    run = wb.start(name, given, instance_id="nonsense")
    outcome = run.finish()
    assert outcome.status == status
    assert says in str(outcome.output if status == "Completed" else outcome.error) or says == repr(outcome.output)
    assert " at 0x" not in str(outcome.error)
    assert run.recording().replay(code).verdict == "same"
    assert neighbour.kv == {}
    assert neighbour.finish().output == "2"
    assert neighbour.kv == {"count": "2"}
    assert neighbour.recording().replay(good).verdict == "same"
    assert sorted(info.instance_id for info in wb.provider.instances()) == ["neighbour", "nonsense"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("warm", [0, 100], ids=["cold", "warm"])
def test_all_of_it_at_once_beside_good_instances_in_a_runtime(wb: Workbench, warm: int) -> None:
    """One batch holds them all: none may take another's turn with it."""
    KEPT["neighbour"] = KEPT["neighbour's task"] = None
    skipped = {name for name in CASES if "another" in name or "neighbour" in name or "itself" in name}
    names = [name for name in CASES if name not in skipped]
    for name in names:
        wb.registry.add_orchestration(name, CASES[name].code)
        wb.start(name, CASES[name].input, instance_id=name)
    runs = [wb.start(good, 3) for _ in range(8)]
    runtime = Runtime(wb.provider, RuntimeOptions(warm=warm), wb.limits, wb.clock, wb.registry)
    with runtime:
        for run in runs:
            assert wb.client.wait_for_orchestration(run.instance_id, timeout_ms=60_000).output == "3"
        found = {name: wb.client.wait_for_orchestration(name, timeout_ms=60_000).status for name in names}
    assert found == {name: CASES[name].status for name in names}
    print(f"{len(names)} kinds of nonsense beside {len(runs)} good instances")
