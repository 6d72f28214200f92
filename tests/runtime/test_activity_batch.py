"""Activities that a worker has claimed together: one that blocks holds nobody up."""

from __future__ import annotations

import threading
from typing import Any

from workbench import Client, DuckDBProvider, Runtime, RuntimeOptions

WAIT_MS = 30_000
WORKERS = 4


def test_activities_that_block_run_beside_each_other() -> None:
    """Each waits for the others; one worker claims them all at first."""
    meeting = threading.Barrier(WORKERS, timeout=WAIT_MS / 1000)

    def meets(_: Any, number: int) -> int:
        meeting.wait()
        return number

    def fans_out(ctx: Any, count: int) -> Any:
        results = yield ctx.all([ctx.schedule_activity("Meets", number) for number in range(count)])
        return [each["ok"] for each in results]

    provider = DuckDBProvider()
    runtime, client = Runtime(provider, RuntimeOptions(worker_concurrency=WORKERS)), Client(provider)
    runtime.register_activity("Meets", meets)
    runtime.register_orchestration("FansOut", fans_out)
    with runtime:
        client.start_orchestration("a", "FansOut", WORKERS)
        assert client.wait_for_orchestration("a", 2 * WAIT_MS).output == [0, 1, 2, 3]


def test_what_is_done_is_told_while_the_next_one_of_the_batch_blocks() -> None:
    goes_on = threading.Event()

    def blocks(_: Any, __: object) -> bool:
        return goes_on.wait(WAIT_MS / 1000)

    def asks_both(ctx: Any, _: object) -> Any:
        return (yield ctx.race(ctx.schedule_activity("Quick"), ctx.schedule_activity("Blocks")))

    provider = DuckDBProvider()
    runtime, client = Runtime(provider, RuntimeOptions(worker_concurrency=1)), Client(provider)
    runtime.register_activity("Quick", lambda _, __: "done")
    runtime.register_activity("Blocks", blocks)
    runtime.register_orchestration("AsksBoth", asks_both)
    client.start_orchestration("a", "AsksBoth")
    with runtime:
        assert client.wait_for_orchestration("a", WAIT_MS // 2).output == {"index": 0, "value": "done"}
        goes_on.set()
