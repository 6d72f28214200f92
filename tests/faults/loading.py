"""Many instances. Run as `python -m tests.faults.loading PATH INSTANCES ROUNDS`; prints JSON, a line for each round.

Round 1 runs all instances to completion. Each later one deletes those that are there, prunes an instance that goes on
for ever, and runs a tenth as many anew. Sizes are bytes: file and log as they are, and the process at its largest.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.specification.running import echo
from workbench import Client, DuckDBProvider, Runtime, RuntimeOptions
from workbench.runtime.messages import StartOrchestration


def flow(ctx: Any, given: int) -> Any:
    """Three turns, with keys and an activity in each of the first two."""
    for step in range(2):
        ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
        ctx.set_custom_status(f"step {step}")
        given = yield ctx.schedule_activity("Echo", given + 1)
    return [given, ctx.get_kv_value("n")]


def for_ever(ctx: Any, executions: int) -> Any:
    """An execution for each message."""
    yield ctx.dequeue_event("go")
    ctx.set_kv_value("executions", str(executions))
    yield ctx.continue_as_new(executions + 1)


def main(path: Path, instances: int, rounds: int) -> None:
    """Run the rounds."""
    provider = DuckDBProvider(path)
    client = Client(provider)
    runtime = Runtime(provider, RuntimeOptions(batch=256, dispatcher_poll_interval_ms=5))
    runtime.register_orchestration("Flow", flow)
    runtime.register_orchestration("ForEver", for_ever)
    runtime.register_activity("Echo", echo)
    client.start_orchestration("for ever", "ForEver", 1)
    for number in range(1, rounds + 1):
        began = time.monotonic()
        count = instances if number == 1 else instances // 10
        names = [f"{number}-{each}" for each in range(count)]
        now_ms = time.time_ns() // 1_000_000
        provider.enqueue([StartOrchestration(name, "Flow", str(i), "1.0.0") for i, name in enumerate(names)], now_ms)
        with runtime:
            for each in range(10):
                client.enqueue_event("for ever", "go", each)
            for name in names:
                client.wait_for_orchestration(name, 3_600_000)
            client.wait_for_kv_value("for ever", "executions", changed_from=str(10 * number - 1))
        took_s = time.monotonic() - began
        right = sum(client.get_status(name).output == [i + 2, "2"] for i, name in enumerate(names))
        disagreements = len(provider.verify())
        if number > 1 or rounds > 1:
            client.delete_instance_bulk(limit=10**9)
            client.prune_executions("for ever")
        print(
            json.dumps(
                {"round": number, "count": count, "right": right, "wrong": disagreements, "s": took_s} | sizes(path)
            )
        )
    provider.close()
    print(json.dumps({"round": 0} | sizes(path)))


def sizes(path: Path) -> dict[str, int]:
    """The file, its log, and this process at its largest."""
    log = path.with_name(path.name + ".wal")
    return {
        "file": path.stat().st_size,
        "log": log.stat().st_size if log.exists() else 0,
        "memory": largest(),
    }


def largest() -> int:
    """The most memory that this process has held, bytes; `getrusage` would count that of the one that started it."""
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
