"""`python -m tests.bench.bench_panels`: how long a stepper takes to open and to step, on the kernel's side.

Prints the figures beside what is aimed at; nothing is asserted, as they are those of one machine.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import quantiles
from typing import Any

from tests.bench.long_history import counter, counter_recording
from workbench.panels.stepper import Stepper, open_on
from workbench.panels.turn_key_table import TurnKeyTable
from workbench.recordings.replay import Replay
from workbench.run import Run
from workbench.session import Workbench

OPEN_TURNS, OPEN_SECONDS = 5_000, 2.0
STEP_TURNS, STEP_MS = 1_000, 50.0
STEPS = 200


def long(ctx: Any, rounds: int) -> Any:
    """A counter that goes on when it is told to."""
    for n in range(rounds):
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    while True:
        yield ctx.wait_for_event("go")


def line(what: str, figure: str, aim: str = "") -> None:
    """Print one figure."""
    print(f"{what:<58} {figure:>22}   {aim}")


@contextmanager
def timed(what: str, aim: str = "") -> Iterator[None]:
    """Print how long the block takes."""
    gc.collect()
    start = time.perf_counter()
    yield
    line(what, f"{time.perf_counter() - start:.2f} s", aim)


def steps(what: str, step: Callable[[], object], count: int = STEPS, aim: str = "") -> None:
    """Print the median and the 95th percentile of doing something so many times."""
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        taken.append(1000 * (time.perf_counter() - start))
    spread = quantiles(taken, n=20)
    line(what, f"p50 {spread[9]:.1f}  p95 {spread[18]:.1f} ms", aim)


def opening() -> None:
    """Open a long trace: run the recording against its code, then open the stepper."""
    recording = counter_recording(OPEN_TURNS)
    aim = f"together under {OPEN_SECONDS:.0f} s"
    with timed(f"replay {OPEN_TURNS:,} turns", aim):
        replay = recording.replay(counter)
    with timed(f"open a stepper on {OPEN_TURNS:,} turns", aim), open_on(replay):
        pass
    with open_on(replay) as stepper:
        steps(f"step back at {OPEN_TURNS:,} turns", stepper.previous)
    turns = replay.turns
    with timed(f"open a turn × key table of {OPEN_TURNS:,} turns"):
        table = TurnKeyTable(lambda: turns)
    with table:
        view = table._part._table
        clicks = (f"1.{number}/key:counter" for number in range(OPEN_TURNS - 1, 0, -1))
        aim = f"p95 under {STEP_MS:.0f} ms"
        steps("click a cell of it", lambda: view._receive(view, {"focus": next(clicks)}, []), aim=aim)


def stepping() -> None:
    """Step through a recording, look at operations and keys, type numbers."""
    replay: Replay = counter_recording(STEP_TURNS).replay(counter)
    with open_on(replay) as stepper:
        aim = f"p95 under {STEP_MS:.0f} ms"
        steps(f"step back at {STEP_TURNS:,} turns", stepper.previous, aim=aim)
        steps(f"step forward at {STEP_TURNS:,} turns", stepper.next, aim=aim)
        steps("an operation", lambda: stepper.goto(_other(stepper)), aim=aim)
        stepper.focus.key = "counter"
        steps("step back with a key looked at", stepper.previous, aim=aim)
        stepper._locals.value = True
        steps("step back with locals: the whole trace again", stepper.previous, count=20)


def _other(stepper: Stepper) -> str:
    turn = stepper.focus.turn
    return f"{turn}.2" if stepper.focus.address == f"{turn}.1" else f"{turn}.1"


def running() -> None:
    """Run the next turn of a live run that has made many: the turn itself replays all of them."""
    with Workbench() as wb:
        run = _long_run(wb, STEP_TURNS)
        with timed(f"open a stepper on a live run of {STEP_TURNS:,} turns"):
            stepper: Stepper = run.stepper()

        def next_turn() -> None:
            run.raise_event("go")
            stepper.next()

        before = len(stepper.turns)
        steps(f"run turn {before + 1:,} and the next ones", next_turn, count=20)
        assert len(stepper.turns) == before + 20
        stepper.close()


def _long_run(wb: Workbench, turns: int) -> Run:
    """A run that has made so many turns in the background and waits for an event."""
    wb.orchestration("Long")(long)
    wb.activity("Noop")(lambda _, nothing: nothing)
    run = wb.start("Long", turns)
    wb.runtime.start()
    while run.kv.get("counter") != str(turns) or wb.provider.pending_messages(run.instance_id):
        time.sleep(0.05)
    wb.runtime.shutdown()
    return run


if __name__ == "__main__":
    opening()
    stepping()
    running()
