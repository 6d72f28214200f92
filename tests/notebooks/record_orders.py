"""Writes notebooks/recordings/orders.db with the real duroxide: three orders, one of them still waiting.

Run once, by hand: `python -m tests.notebooks.record_orders`. Times in the file are those of the run.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from duroxide import Client, Runtime, RuntimeOptions, SqliteProvider

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TARGET = NOTEBOOKS / "recordings" / "orders.db"
ORDERS: dict[str, dict[str, Any]] = {
    "order-41": {"item": "lamp", "total": 250},
    "order-42": {"item": "desk", "total": 480},
    "order-43": {"item": "pen", "total": 13},
}


def reserve(_: object, item: str) -> str:
    return f"shelf 7: {item}"


def charge(_: object, total: int) -> str:
    if total == 13:
        raise ValueError("card declined")
    return f"receipt over {total}"


def release(_: object, reserved: str) -> str:
    return f"released {reserved}"


def main() -> None:
    sys.path.insert(0, str(NOTEBOOKS))
    from order_flow import order_flow  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orders.db"
        provider = SqliteProvider.open(str(path))
        client = Client(provider)
        runtime = Runtime(provider, RuntimeOptions(dispatcher_poll_interval_ms=5))
        for name, function in (("Reserve", reserve), ("Charge", charge), ("Release", release)):
            runtime.register_activity(name, function)
        runtime.register_orchestration("OrderFlow", order_flow)
        worker = threading.Thread(target=runtime.start, daemon=True)
        worker.start()
        for instance_id, order in ORDERS.items():
            client.start_orchestration(instance_id, "OrderFlow", order)
        for instance_id in ("order-41", "order-42"):
            while client.get_kv_value(instance_id, "state") != "waiting for approval":
                threading.Event().wait(0.05)
        client.raise_event("order-41", "approval", "yes")
        client.wait_for_orchestration("order-41")
        client.wait_for_orchestration("order-43")
        runtime.shutdown(1_000)
        worker.join(5)
        TARGET.parent.mkdir(exist_ok=True)
        with sqlite3.connect(path) as source, sqlite3.connect(Path(folder) / "copy.db") as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        shutil.copyfile(Path(folder) / "copy.db", TARGET)


if __name__ == "__main__":
    main()
