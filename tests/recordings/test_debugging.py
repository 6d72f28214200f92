"""A divergence keeps its frame: a post-mortem stands in the orchestration, at the line, and nothing is kept for it."""

from __future__ import annotations

import gc
import io
import pdb  # noqa: T100 (it is what is tested)
import re
import subprocess
import sys
import types
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.edited import edited
from workbench import Recording, Workbench
from workbench.recordings.debugging import SKIPPED
from workbench.recordings.replay import Replay
from workbench.runtime.errors import ContextInactive, NoCodeToDebug, NondeterminismError

Code = Callable[..., Any]


def counter(ctx: Any, rounds: int) -> Generator[Any, Any, str]:
    for number in range(rounds):  # noqa: B007 (a local to look at)
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "x")
    return str(ctx.get_kv_value("counter"))


async def awaited(ctx: Any, rounds: int) -> str:
    for number in range(rounds):  # noqa: B007 (a local to look at)
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        await ctx.schedule_activity("Noop", "x")
    return str(ctx.get_kv_value("counter"))


def step(ctx: Any, value: str) -> Generator[Any, Any, None]:
    inside = value
    yield ctx.schedule_activity("Noop", inside)


def through_a_helper(ctx: Any, rounds: int) -> Generator[Any, Any, str]:
    for _ in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield from step(ctx, "x" if n == 0 else "other")
    return str(ctx.get_kv_value("counter"))


def recorded(kv_model: Any = "delta", code: Code = counter) -> Recording:
    with Workbench(kv_model=kv_model) as workbench:
        workbench.orchestration("Counter")(code)
        workbench.activity("Noop")(lambda _, value: value)
        run = workbench.start("Counter", 3)
        run.finish()
        return run.recording()


@pytest.fixture(scope="module")
def recording() -> Recording:
    return recorded()


def raised(recording: Recording, code: Code) -> NondeterminismError:
    with pytest.raises(NondeterminismError) as caught:
        recording.replay(code).raise_for_verdict()
    return caught.value


def frames(error: BaseException) -> list[tuple[types.FrameType, int]]:
    """The frames of the traceback that are not of the engine nor of this test, with their lines."""
    found = []
    at = error.__traceback__
    while at is not None:
        if "ctx" in at.tb_frame.f_locals:
            found.append((at.tb_frame, at.tb_lineno - at.tb_frame.f_code.co_firstlineno + 1))
        at = at.tb_next
    return found


def variables(frame: types.FrameType) -> dict[str, object]:
    return {name: value for name, value in frame.f_locals.items() if name != "ctx"}


# Where it stands.


@pytest.mark.parametrize(
    ("code", "before", "after", "line", "n"),
    [
        pytest.param(counter, "str(n + 1))", "str(n + 2 * n + 1))", 4, 1, id="at a call"),
        pytest.param(counter, '"x")', '"x" if n < 1 else "y")', 5, 1, id="parked at a yield"),
        pytest.param(awaited, '"x")', '"x" if n < 1 else "y")', 5, 1, id="parked at an await"),
        pytest.param(counter, "range(rounds)", "range(2)", 6, 1, id="ended early, at its return"),
        pytest.param(counter, "return str(", "raise ValueError(", 6, 2, id="raised instead of returning"),
    ],
)
def test_the_traceback_ends_in_the_orchestration_where_it_parts(
    recording: Recording, code: Code, before: str, after: str, line: int, n: int
) -> None:
    error = raised(recording, edited(code, before, after))
    [(frame, found)] = frames(error)
    assert found == line
    assert variables(frame) == {"rounds": 3, "number": n, "n": n}


def test_it_goes_through_helpers_and_stands_in_the_innermost(recording: Recording) -> None:
    outer, inner = frames(raised(recording, through_a_helper))
    assert (outer[0].f_code.co_name, outer[1]) == ("through_a_helper", 5)
    assert (inner[0].f_code.co_name, inner[1]) == ("step", 3)
    assert variables(inner[0]) == {"value": "other", "inside": "other"}


def test_in_the_per_turn_model_it_stands_where_the_poisoned_turn_is_replayed(recording: Recording) -> None:
    with pytest.raises(NondeterminismError) as caught:
        recording.replay(counter, kv_model="per-turn").raise_for_verdict()
    [(frame, line)] = frames(caught.value)
    assert line == 4
    assert variables(frame) == {"rounds": 3, "number": 0, "n": 1}


def test_a_live_divergence_has_its_frame_too() -> None:
    with Workbench(kv_model="per-turn") as workbench:
        workbench.orchestration("Counter")(counter)
        workbench.activity("Noop")(lambda _, value: value)
        run = workbench.start("Counter", 3)
        run.finish()
        with pytest.raises(NondeterminismError) as caught:
            _ = run.output
    [(frame, line)] = frames(caught.value)
    assert (frame.f_code.co_name, line, frame.f_locals["n"]) == ("counter", 4, 1)


def test_code_that_does_otherwise_this_time_gives_no_frame(recording: Recording) -> None:
    written = ["changed"]

    def impure(ctx: Any, rounds: int) -> Generator[Any, Any, None]:
        ctx.set_kv_value(written[0], "1")
        yield ctx.schedule_activity("Noop", "x")

    replay = recording.replay(impure)
    written[0] = "counter"
    with pytest.raises(NondeterminismError) as caught:
        replay.raise_for_verdict()
    assert frames(caught.value) == []


# What it keeps.


class Marked:
    """Something that a frame holds."""


def test_nothing_is_kept_once_the_error_is_gone(recording: Recording) -> None:
    alive: weakref.WeakSet[Marked] = weakref.WeakSet()

    def changed(ctx: Any, rounds: int) -> Generator[Any, Any, None]:
        kept = Marked()
        alive.add(kept)
        yield ctx.schedule_activity("Noop", "other")

    replay = recording.replay(changed)
    gc.collect()
    assert len(alive) == 0  # a replay keeps no frame
    error = raised(recording, changed)
    assert len(alive) == 1
    assert frames(error)[0][0].f_locals["kept"] in alive
    del error
    gc.collect()
    assert len(alive) == 0
    assert replay.divergence is not None


def test_the_frame_cannot_write_any_more(recording: Recording) -> None:
    def changed(ctx: Any, rounds: int) -> Generator[Any, Any, None]:
        try:
            yield ctx.schedule_activity("Noop", "other")
        finally:
            ctx.set_kv_value("late", "1")

    [(frame, line)] = frames(raised(recording, changed))
    assert line == 3
    with pytest.raises(ContextInactive, match="outside its turn"):
        frame.f_locals["ctx"].set_kv_value("counter", "9")
    assert frame.f_locals["ctx"]._journal.new_events == []


# `replay.debug(turn)` with pdb: once as a program of its own with its standard input, else with a scripted one here.

PROGRAM = """
from workbench import Workbench

wb = Workbench()


def step(ctx, value):
    inside = value
    got = yield ctx.schedule_activity("Noop", inside)
    return got


@wb.orchestration("Counter")
def counter(ctx, rounds):
    for number in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield from step(ctx, "x")
    return ctx.get_kv_value("counter")


@wb.activity("Noop")
def noop(ctx, value):
    return value


run = wb.start(counter, 3)
run.finish()
before = run.history.to_csv()
run.recording().replay(counter).debug("1.3")
print("LET GO", run.history.to_csv() == before)
"""


def test_pdb_stops_at_the_line_that_the_turn_resumes_and_steps_on(tmp_path: Path) -> None:
    program = tmp_path / "flow.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, str(program)],
        input="p inside\nn\np got\nup\np number\nc\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"HOME": str(tmp_path), "PATH": ""},
    )
    assert ran.stderr == ""
    said = [line for line in ran.stdout.replace("(Pdb) ", "").splitlines() if line.strip()]
    assert said[0].endswith("flow.py(9)step()")
    assert said[1:3] == ['-> got = yield ctx.schedule_activity("Noop", inside)', "'x'"]
    assert said[3].endswith("flow.py(10)step()")
    assert said[4:6] == ["-> return got", "'x'"]
    assert said[6].endswith("flow.py(18)counter()")
    assert said[8:] == ["1", "LET GO True"]


def debugged(replay: Replay, turn: int | str, *commands: str) -> list[str]:
    """What pdb says after each command."""
    said = io.StringIO()
    typed = io.StringIO("".join(f"{each}\n" for each in commands))
    debugger = pdb.Pdb(stdin=typed, stdout=said, skip=SKIPPED, readrc=False)
    before = sys.gettrace()
    replay.debug(turn, debugger)
    assert sys.gettrace() is before
    return [line for line in said.getvalue().replace("(Pdb) ", "").splitlines() if line.strip()]


def stops(said: list[str]) -> list[str]:
    """The functions and lines of them where it stood."""
    found = [re.match(r"> .*[/\\](\w+\.py)\((\d+)\)(\w+)\(\)", line) for line in said]
    first = {"counter": counter, "awaited": awaited, "step": step}
    return [
        f"{each[3]} {int(each[2]) - first[each[3]].__code__.co_firstlineno + 1}" if each[3] in first else each[0]
        for each in found
        if each is not None
    ]


def test_a_number_is_the_turn_of_the_newest_execution_and_turn_1_stops_at_the_first_line(recording: Recording) -> None:
    said = debugged(recording.replay(counter), 1, "n", "n", "p n", "where", "c")
    assert stops(said)[:3] == ["counter 2", "counter 3", "counter 4"]
    assert "0" in said
    assert "execution.py" not in "\n".join(said)  # nor does `where` show the engine


@pytest.mark.parametrize("code", [counter, awaited])
def test_stepping_past_the_end_of_the_turn_lets_go(recording: Recording, code: Code) -> None:
    said = debugged(recording.replay(code), "1.2", *["n"] * 20)
    name = code.__name__
    assert stops(said)[:5] == [f"{name} {line}" for line in (5, 2, 3, 4, 5)]
    assert {each.split()[0] for each in stops(said)} == {name}


def test_quitting_ends_the_debugger_and_nothing_else(recording: Recording) -> None:
    assert stops(debugged(recording.replay(counter), "1.2", "q")) == ["counter 5"]


def test_no_watchdog_stops_code_that_is_looked_at(recording: Recording) -> None:
    replay = recording.replay(counter, deadline_ms=500)
    assert stops(debugged(replay, "1.2", "!import time; time.sleep(0.7)", "n", "c")) == ["counter 5", "counter 2"]


def test_a_poisoned_turn_stops_where_it_replays_the_turn_that_it_contradicts(recording: Recording) -> None:
    said = debugged(recording.replay(counter, kv_model="per-turn"), "1.2", "n", "n", "p n", "c")
    assert stops(said) == ["counter 2", "counter 3", "counter 4"]
    assert said[-1] == "1"


def test_a_turn_that_there_is_not_and_a_replay_without_code_say_so(recording: Recording) -> None:
    with pytest.raises(LookupError, match=r"there is no turn '1\.9'"):
        recording.replay(counter).debug("1.9")
    with pytest.raises(NoCodeToDebug, match="has no code"):
        recording.replay().debug(1)


def test_a_run_is_debugged_with_the_code_that_is_registered() -> None:
    said = io.StringIO()
    with Workbench() as workbench:
        workbench.orchestration("Counter")(counter)
        workbench.activity("Noop")(lambda _, value: value)
        run = workbench.start("Counter", 3)
        run.turn()
        run.turn()
        debugger = pdb.Pdb(stdin=io.StringIO("p n\nc\n"), stdout=said, skip=SKIPPED, readrc=False)
        run.debug(2, debugger)
        assert len(run.turns) == 2
    assert stops(said.getvalue().splitlines()) == ["counter 5"]


def test_a_turn_that_runs_no_code_says_so() -> None:
    def waits(ctx: Any, _: object) -> Generator[Any, Any, None]:
        yield ctx.wait_for_event("go")

    with Workbench() as workbench:
        workbench.orchestration("Waits")(waits)
        run = workbench.start("Waits")
        run.turn()
        run.raise_event("other")
        run.turn()
        with pytest.raises(NoCodeToDebug, match=r"turn 1\.2 runs no line of the code"):
            run.recording().replay(waits).debug("1.2")
