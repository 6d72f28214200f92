"""A store on a disk that becomes full. Run as `python -m tests.faults.filling FOLDER MIB`, it mounts that disk itself.

Prints JSON: how many turns were written before, what the error said, and how everything stood after space was freed.
Needs to be allowed to mount; it does so in a mount namespace of its own, which is gone with the process.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import queue
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.counting import counter
from tests.specification.running import echo, work_through
from tests.store.turns import run_turn, sets
from workbench import Client, DuckDBProvider, Limits, ManualClock
from workbench.runtime.errors import WorkbenchError
from workbench.runtime.registry import Registry

BALLAST = 4 * 2**20
CHARACTERS = 100_000


def value(number: int) -> str:
    """Text that the database cannot make shorter by much."""
    return Random(number).randbytes(CHARACTERS // 2).hex()


def main(folder: Path, mib: int) -> None:
    """Mount, fill, free, go on."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(BALLAST))
    print(json.dumps(filled(folder / "store.duckdb", ballast)))


def filled(path: Path, ballast: Path) -> dict[str, Any]:
    """Write turns until none can be written; then free the ballast and go on in the same process."""
    said: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    logging.getLogger("workbench.store").addHandler(logging.handlers.QueueHandler(said))
    provider = DuckDBProvider(path)
    clock = ManualClock()
    registry = Registry()
    registry.add_orchestration("Counter", counter)
    registry.add_activity("Echo", echo)
    client = Client(provider, clock)
    client.start_orchestration("counter", "Counter", 3)
    errors: list[str] = []
    written = 0
    while not errors:
        try:
            run_turn(provider, f"i{written}", sets("k", value(written)), status="Completed", now_ms=clock.now_ms())
            written += 1
        except WorkbenchError as error:
            errors.append(str(error))
    refused_but_there = provider.instance(f"i{written}") is not None
    try:
        work_through(provider, registry, clock, Limits())
    except WorkbenchError as error:
        errors.append(str(error))
    while_full = len(provider.instances())
    ballast.unlink()
    clock.advance(60_000)
    work_through(provider, registry, clock, Limits())
    after = {
        "written": written,
        "errors": errors,
        "instances_while_full": while_full,
        "refused_but_there": refused_but_there,
        "not_folded": said.qsize(),
        "counter": client.get_status("counter").output,
        "disagreements": len(provider.verify()),
    }
    provider.close()
    provider = DuckDBProvider(path)
    kept = [provider.get_kv_value(f"i{number}", "k") == value(number) for number in range(written)]
    after["kept"] = sum(kept)
    provider.close()
    return after


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
