"""Replaying a long history: untraced, traced, cold, and the late turns of duroxide on the very same history.

Run: `python -m tests.bench.bench_replay [turns]`. A counter: in each turn a read, a write and an activity. duroxide
replays from the top in every turn; its time is taken inside the orchestration, from its first line to the yield at
which it waits, so that fetching, decoding and storing are not in it. Both are CPU times of the thread that replays
(duroxide drives the code on one thread too), so that other work on the machine counts little.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.long_history import counter, counter_recording
from tests.oracle.one_more_turn import DATABASE, NOBODY, Stored, fill
from workbench import Recording
from workbench.recordings.tracing import trace_execution
from workbench.runtime.dialect import WORKBENCH
from workbench.runtime.execution import Execution
from workbench.runtime.limits import Limits
from workbench.runtime.turn import TurnSetting
from workbench.runtime.turns import RecordedTurn, recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS, deadline

TURNS = 1_000
REPEATS = 15
STORED = "stored.json"
PATIENCE_S = 60.0

took_s: list[float] = []
"""How long each pass of the timed code took in duroxide, s."""


def main(count: int) -> None:
    """Measure each way on one history and print seconds, events a second and ratios."""
    recording = counter_recording(count)
    turns = recorded_turns(recording.executions[0].history)
    there = duroxide_turn_s(recording)
    ways = {
        "untraced": best_s(lambda: replay(turns)),
        "untraced, watched": best_s(lambda: replay(turns, watched=True)),
        "traced, every line": best_s(lambda: trace(recording, turns)),
        "cold, from JSON text": best_s(lambda: cold(recording.to_json())),
        "duroxide, a late turn": there,
    }
    print(f"{recording.event_count:,} events, {count:,} turns; best of {REPEATS}")
    print(f"{'':24}{'ms':>10}{'events/s':>14}{'duroxide / it':>16}")
    for name, seconds in ways.items():
        rate = recording.event_count / seconds
        print(f"{name:24}{seconds * 1000:>10,.1f}{rate:>14,.0f}{there / seconds:>16.2f}")


def best_s(way: Callable[[], object]) -> float:
    """The best time of a way, s: other work on the machine only ever adds."""
    way()
    found = []
    for _ in range(REPEATS):
        start = time.thread_time()
        way()
        found.append(time.thread_time() - start)
    return min(found)


def replay(turns: list[RecordedTurn], watched: bool = False) -> None:
    """One pass through all turns; `watched` with a deadline for each, as the engine makes them."""
    execution = Execution(counter, "long", 1, turns, {}, WORKBENCH)
    for turn in turns:
        with deadline(DEADLINE_MS if watched else None, execution):
            assert execution.advance(turn).divergence is None
    execution.close()


def trace(recording: Recording, turns: list[RecordedTurn]) -> None:
    """The same with every operation and read on its line, as the stepper shows them."""
    setting = TurnSetting(
        instance_id="long",
        orchestration=recording.orchestration,
        execution_id=1,
        kv_model="delta",
        limits=Limits(),
        start={},
    )
    made = trace_execution(counter, setting, turns, WORKBENCH, deadline_ms=None)
    assert made[-1].divergence is None


def cold(text: str) -> None:
    """From the text of a recording file."""
    replay(recorded_turns(Recording.from_json(text).executions[0].history))


def duroxide_turn_s(recording: Recording) -> float:
    """The best time that duroxide takes to replay this history in one turn, s; in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events = list(recording.executions[0].history.texts)
        (folder / STORED).write_text(json.dumps(events), encoding="utf-8")
        for part in ("--schema", "--turns"):
            command = [sys.executable, "-m", "tests.bench.bench_replay", part, str(folder)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
        return float(min(json.loads(done.stdout.splitlines()[-1])))


def timed(ctx: Any, rounds: int) -> Any:
    """The counter, which notes how long it ran before it waits for what is not there yet."""
    start, thread = time.thread_time(), threading.get_ident()
    took_s.append(0.0)
    for _ in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        assert threading.get_ident() == thread
        took_s[-1] = time.thread_time() - start
        yield ctx.schedule_activity("Noop", "")


def run_turns(folder: Path) -> None:
    """In a process of its own: have duroxide make late turns, each woken by an event that nobody waits for."""
    import duroxide

    stored = Stored("long", "", "", 1, json.loads((folder / STORED).read_text(encoding="utf-8")))
    fill(folder / DATABASE, [stored])
    provider = duroxide.SqliteProvider.open(str(folder / DATABASE))
    options = duroxide.RuntimeOptions(dispatcher_poll_interval_ms=1, worker_tag_filter=duroxide.TagFilter.NONE)
    runtime = duroxide.Runtime(provider, options)
    runtime.register_orchestration(stored.orchestration, timed)
    client = duroxide.Client(provider)
    thread = threading.Thread(target=runtime.start, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for made in range(1, REPEATS + 2):
        client.raise_event("long", NOBODY, None)
        while len(took_s) < made and time.monotonic() < deadline:
            time.sleep(0.01)
    time.sleep(0.3)
    runtime.shutdown(1000)
    thread.join()
    print(json.dumps(took_s[1:]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--schema"]:
        import duroxide

        duroxide.SqliteProvider.open(str(Path(sys.argv[2]) / DATABASE))
    elif sys.argv[1:2] == ["--turns"]:
        run_turns(Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS)
