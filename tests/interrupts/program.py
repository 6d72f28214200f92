"""What is interrupted: a small flow with everything in it, and what must be the same however often it was.

As a program (`python -m tests.interrupts.program FILE SEED RUNS MEAN_MS`) it runs that many instances to their ends
while a thread sends SIGINT at random moments, and prints what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
import types
from collections.abc import Generator
from pathlib import Path
from typing import Any

from workbench import Run, Workbench

Flow = Generator[Any, Any, Any]


def register(wb: Workbench) -> None:
    """Register the flow, the child that it starts, and its activity."""

    @wb.activity("Double")
    def double(_: object, number: int) -> int:
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            pass
        return 2 * number

    @wb.orchestration("Child")
    async def child(ctx: Any, number: int) -> int:
        value: int = await ctx.schedule_activity("Double", number)
        ctx.set_kv_value("value", value)
        return value

    @wb.orchestration("Flow")
    def flow(ctx: Any, rounds: int) -> Flow:
        total = int(ctx.get_kv_value("total") or 0)
        both = yield ctx.all([ctx.schedule_activity("Double", rounds), ctx.schedule_activity("Double", 1)])
        total += sum(each["ok"] for each in both)
        ctx.set_kv_value("total", total)
        yield ctx.schedule_timer(1_000)
        total += yield ctx.schedule_sub_orchestration("Child", rounds)
        ctx.set_kv_value("total", total)
        if rounds > 1:
            yield ctx.continue_as_new(rounds - 1)
        return total


def facts(wb: Workbench, run: Run, began_ms: int) -> dict[str, Any]:
    """What an interrupt must not change: outcome, keys, time that passed, every event, and what is left lying about."""
    _, events = wb.provider.query(
        "SELECT replace(instance_id, $id, ''), execution_id, event_id, turn, replace(event_data, $id, '')"
        " FROM history WHERE starts_with(instance_id, $id) ORDER BY 1, 2, 3",
        {"id": run.instance_id},
    )
    outcome = run.outcome
    return {
        "outcome": [outcome.status, outcome.output, outcome.error, outcome.turns],
        "kv": run.kv,
        "passed_ms": wb.clock.now_ms() - began_ms,
        "events": [[*row[:4], _timeless(row[4], began_ms)] for row in events],
        "left": [
            wb.provider.query(f"SELECT count(*) FROM {table}")[1][0][0]
            for table in ("orchestrator_queue", "worker_queue", "instance_locks")
        ],
        "verify": [str(each) for each in wb.provider.verify()],
    }


def _timeless(text: str, began_ms: int) -> dict[str, Any]:
    """An event with its times counted from the beginning of its instance."""
    event: dict[str, Any] = json.loads(text)
    return {key: value - began_ms if key.endswith("_ms") and value else value for key, value in event.items()}


def uninterrupted(wb: Workbench, rounds: int = 2) -> dict[str, Any]:
    """The facts of an instance that nobody interrupts."""
    began_ms = wb.clock.now_ms()
    run = wb.start("Flow", rounds)
    run.finish()
    return facts(wb, run, began_ms)


class Interrupts:
    """Sends this process SIGINT at random moments from a thread, each time one or two of them; counts those raised.

    They are raised in `Run.finish` and what it calls only, so that the loop that goes on after them is not hit.
    """

    def __init__(self, seed: int, mean_ms: float) -> None:
        self._random = random.Random(seed)
        self._mean_s = mean_ms / 1_000
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self.raised = 0

    def __enter__(self) -> Interrupts:
        signal.signal(signal.SIGINT, self._raise)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()

    def _raise(self, _: int, frame: types.FrameType | None) -> None:
        while frame is not None and frame.f_code is not Run.finish.__code__:
            frame = frame.f_back
        if frame is not None and not self._stopped.is_set():
            self.raised += 1
            raise KeyboardInterrupt

    def _send(self) -> None:
        while not self._stopped.wait(self._random.expovariate(1 / self._mean_s)):
            for _ in range(self._random.choice((1, 1, 2))):
                os.kill(os.getpid(), signal.SIGINT)


def finish_whatever_happens(run: Run) -> None:
    """What a person does: run the cell again after every interrupt."""
    while True:
        try:
            run.finish()
        except KeyboardInterrupt:
            continue
        return


def main(file: Path, seed: int, runs: int, mean_ms: float) -> dict[str, Any]:
    """Run that many instances under interrupts; how many were raised, and what came out otherwise than without."""
    with Workbench(file) as wb:
        register(wb)
        wanted = uninterrupted(wb)
        others = []
        with Interrupts(seed, mean_ms) as interrupts:
            for _ in range(runs):
                began_ms = wb.clock.now_ms()
                run = wb.start("Flow", 2)
                finish_whatever_happens(run)
                found = facts(wb, run, began_ms)
                if found != wanted:
                    others.append({key: [wanted[key], found[key]] for key in wanted if found[key] != wanted[key]})
    with Workbench(file) as wb:
        again = len(wb.instances)
    return {"interrupts": interrupts.raised, "runs": runs, "instances": again, "otherwise": others}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))))
