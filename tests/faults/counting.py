"""Counters in a process that is killed. Run as a module, it forks a life for each line of its input.

A line is JSON: the store's `path`, and how the life ends: `after_s` seconds, or `at` a statement of a commit. Each is
answered with an exit code: -9 for a life that was killed, 0 for one in which everything was finished.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from tests.faults.statements import before_statements_of_commits
from workbench import Client, DuckDBProvider, Runtime, RuntimeOptions
from workbench.runtime.errors import InstanceExists
from workbench.runtime.provider import TurnCommit
from workbench.store import database

COUNTERS, EXECUTIONS, STEPS, WIDTH = 4, 4, 3, 4
IDS = (*(f"counter-{number}" for number in range(COUNTERS)), "fan")
OUTPUTS = {**dict.fromkeys(IDS[:-1], EXECUTIONS * STEPS), "fan": [[0, 1, 2, 3], [STEPS, STEPS]]}
WRONG = 3
OPTIONS = RuntimeOptions(dispatcher_poll_interval_ms=5, worker_concurrency=2)


def counter(ctx: Any, left: int) -> Any:
    """Reads, adds one, writes, waits; then goes on in another execution."""
    for _ in range(STEPS):
        ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
        yield ctx.schedule_activity("Echo", left)
    if left > 1:
        yield ctx.continue_as_new(left - 1)
    return int(ctx.get_kv_value("n"))


def fan(ctx: Any, width: int) -> Any:
    """Activities and children, side by side."""
    echoes = yield ctx.all([ctx.schedule_activity("Echo", number) for number in range(width)])
    children = yield ctx.all([ctx.schedule_sub_orchestration("Counter", 1) for _ in range(2)])
    return [[each["ok"] for each in echoes], [each["ok"] for each in children]]


def live(path: str) -> None:
    """Open the store, which must be as its histories say; begin what has not begun; work to the end."""
    database.LOG_BYTES = 40_000  # folded in many times a life, so that kills fall into that, too
    provider = DuckDBProvider(path)
    if provider.verify():
        os._exit(WRONG)
    client = Client(provider)
    runtime = Runtime(provider, OPTIONS)
    runtime.register_orchestration("Counter", counter)
    runtime.register_orchestration("Fan", fan)
    runtime.register_activity("Echo", lambda _, given: given)
    for name in IDS:
        try:
            client.start_orchestration(name, *(("Fan", WIDTH) if name == "fan" else ("Counter", EXECUTIONS)))
        except InstanceExists:
            continue
    with runtime:
        for name in IDS:
            client.wait_for_orchestration(name, 120_000)
        while provider.next_visible_ms() is not None:  # what was sent to an instance that had ended by then
            provider.wait(0.01)
    provider.close()


def main() -> None:
    """Fork a life for each line."""
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _child(order)
        if order.get("after_s") is not None:
            time.sleep(order["after_s"])
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _child(order: dict[str, Any]) -> None:
    code = WRONG
    try:
        if order.get("at") is None:
            live(order["path"])
        else:
            with before_statements_of_commits(Killer(*order["at"])):
                live(order["path"])
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


class Killer:
    """Kills its own process before a statement: the first of this number in the given commit or a later one."""

    def __init__(self, commit: int, number: int) -> None:
        self.commit, self.number = commit, number
        self.commits = 0

    def __call__(self, number: int, _: str, __: Sequence[TurnCommit]) -> None:
        self.commits += number == 1
        if self.commits >= self.commit and number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
