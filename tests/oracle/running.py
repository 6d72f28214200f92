"""Run cases in one real duroxide runtime on a SQLite file: `python -m tests.oracle.running CASES FOLDER AT_ONCE`.

It runs in a process of its own, started by `record`: a second SQLite library in the process that has the file
open would break its locks, so nobody looks into the file before this process is gone.
"""

from __future__ import annotations

import heapq
import sys
import threading
import time
from pathlib import Path

import duroxide
import msgspec

from tests.oracle import library
from tests.oracle.cases import Case, Outside, load

DATABASE = "oracle.db"
LOG = "oracle.log"
WARM_UP_S = 0.3
"""The runtime polls slowly at first; outside calls of the first cases would come before their first turn."""
LOOK_EVERY_S = 0.02
LOOK_AT = 6
"""Status queries are few, as each of them competes with the runtime for the file."""
PATIENCE_S = 2.0
"""An instance that has not ended this long after its last outside call no longer holds up the others."""
QUIET_S = 0.2
"""Queues that have been empty for so long: what has not ended waits for ever."""
STUCK_S = 3.0
"""Queues that are not empty and have not moved for so long: something blocks them."""


def runtime_for(cases: list[Case], provider: duroxide.SqliteProvider) -> duroxide.Runtime:
    """A runtime that knows all the cases and the library; it polls as often as it can."""
    options = duroxide.RuntimeOptions(
        dispatcher_poll_interval_ms=1,
        orchestration_concurrency=2,
        worker_concurrency=2,
        worker_tag_filter=duroxide.TagFilter.ANY,
    )
    runtime = duroxide.Runtime(provider, options)
    for name, activity in library.ACTIVITIES.items():
        runtime.register_activity(name, activity)
    for name, child in library.CHILDREN.items():
        runtime.register_orchestration(name, child)
    for case in cases:
        runtime.register_orchestration(case.name, load(case.source, case.function))
    return runtime


class Stage:
    """Starts the cases, a bounded number at a time, and makes their outside calls when they are due."""

    def __init__(self, client: duroxide.Client, cases: list[Case], at_once: int) -> None:
        self.client = client
        self.at_once = at_once
        self.waiting = list(reversed(cases))
        self.calls: list[tuple[float, int, str, Outside]] = []
        self.given_up_at: dict[str, float] = {}

    def play(self) -> None:
        """Return when every instance has ended or waits for ever."""
        looked = moved = time.monotonic()
        depths: tuple[int, ...] = ()
        patience = QUIET_S
        while self.waiting or self.calls or time.monotonic() - moved < patience:
            while self.waiting and len(self.given_up_at) < self.at_once:
                self._start(self.waiting.pop())
            self._make_due_calls()
            if time.monotonic() - looked > LOOK_EVERY_S:
                looked = time.monotonic()
                self._forget_the_ended()
                before, depths = depths, self._depths()
                moved = moved if depths == before else looked
                patience = STUCK_S if any(depths) else QUIET_S
            time.sleep(0.001)

    def _depths(self) -> tuple[int, ...]:
        depths = self.client.get_queue_depths()
        return depths.orchestrator_queue, depths.worker_queue, depths.timer_queue

    def _start(self, case: Case) -> None:
        self.client.start_orchestration(case.name, case.name, case.input)
        now = time.monotonic()
        for number, outside in enumerate(case.outside):
            heapq.heappush(self.calls, (now + outside.after_ms / 1000, number, case.name, outside))
        last_ms = max((outside.after_ms for outside in case.outside), default=0)
        self.given_up_at[case.name] = now + last_ms / 1000 + PATIENCE_S

    def _make_due_calls(self) -> None:
        while self.calls and self.calls[0][0] <= time.monotonic():
            _due, _number, instance_id, outside = heapq.heappop(self.calls)
            call = getattr(self.client, outside.call)
            if outside.call == "cancel_instance":
                call(instance_id, outside.name)
            else:
                call(instance_id, outside.name, outside.data)

    def _forget_the_ended(self) -> None:
        """Look at a few of those under way, the longest not looked at first."""
        now = time.monotonic()
        for instance_id in list(self.given_up_at)[:LOOK_AT]:
            given_up_at = self.given_up_at.pop(instance_id)
            try:
                status = self.client.get_instance_info(instance_id).status
            except RuntimeError:  # not started yet
                status = "Pending"
            if status not in ("Completed", "Failed") and now < given_up_at:
                self.given_up_at[instance_id] = given_up_at


def main() -> None:
    """Run the cases of the file that the first argument names; the database appears in the folder."""
    cases = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=list[Case])
    folder = Path(sys.argv[2])
    library.holding = True
    duroxide.init_tracing(str(folder / LOG), "debug")
    provider = duroxide.SqliteProvider.open(str(folder / DATABASE))
    client = duroxide.Client(provider)
    runtime = runtime_for(cases, provider)
    thread = threading.Thread(target=runtime.start, daemon=True)
    thread.start()
    time.sleep(WARM_UP_S)
    Stage(client, cases, int(sys.argv[3])).play()
    runtime.shutdown(1000)
    thread.join()


if __name__ == "__main__":
    main()
