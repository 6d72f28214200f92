"""Writes notebooks/recordings/week.db with the real duroxide: twelve orders and a stock watch, half of them in flight.

Run once, by hand: `python -m tests.notebooks.record_week`. Times in the file are those of the run. Activities of some
orders do not come back before the file is copied, so that these orders stand at that step.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from duroxide import Client, Runtime, RuntimeOptions, SqliteProvider

from tests.notebooks.record_orders import NOTEBOOKS, charge, release, reserve

TARGET = NOTEBOOKS / "recordings" / "week.db"
WHOLESALE = ", ".join(f"chair {number} of 120" for number in range(1, 121))
ORDERS: dict[str, dict[str, Any]] = {
    "order-51": {"item": "lamp", "total": 60},
    "order-52": {"item": "desk", "total": 480},
    "order-53": {"item": WHOLESALE, "total": 9_600},
    "order-54": {"item": "pen", "total": 13},
    "order-55": {"item": "shelf", "total": 150},
    "order-56": {"item": "rug", "total": 90},
    "order-57": {"item": "sofa", "total": 1_250},
    "order-58": {"item": "bed", "total": 870},
    "order-59": {"item": "table", "total": 640},
    "order-60": {"item": "stool", "total": 45},
    "order-61": {"item": "mirror", "total": 75},
    "order-62": {"item": "piano", "total": 5_200},
}
APPROVED = ("order-52", "order-53", "order-55", "order-57")
IN_FLIGHT = {
    "order-57": "charging",
    "order-58": "waiting for approval",
    "order-59": "waiting for approval",
    "order-60": "charging",
    "order-61": "reserving",
    "order-62": "reserving",
}
TAKEN = (3, 5, 4)


def main() -> None:
    sys.path.insert(0, str(NOTEBOOKS))
    from order_flow import order_flow, stock_watch  # type: ignore[import-not-found]

    copied = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "week.db"
        provider = SqliteProvider.open(str(path))
        client = Client(provider)
        runtime = Runtime(provider, RuntimeOptions(dispatcher_poll_interval_ms=5, worker_concurrency=8))
        held = {state: [ORDERS[each] for each, at in IN_FLIGHT.items() if at == state] for state in IN_FLIGHT.values()}
        items = {order["item"] for order in held["reserving"]}
        totals = {order["total"] for order in held["charging"]}
        runtime.register_activity("Reserve", _held(reserve, items, copied))
        runtime.register_activity("Charge", _held(charge, totals, copied))
        runtime.register_activity("Release", release)
        runtime.register_orchestration("OrderFlow", order_flow)
        runtime.register_orchestration("StockWatch", stock_watch)
        worker = threading.Thread(target=runtime.start, daemon=True)
        worker.start()
        try:
            _watch_stock(client)
            _take_orders(client)
            TARGET.parent.mkdir(exist_ok=True)
            TARGET.unlink(missing_ok=True)
            with sqlite3.connect(path) as source, sqlite3.connect(TARGET) as copy:
                source.backup(copy)
                copy.execute("PRAGMA journal_mode=DELETE")
        finally:
            copied.set()
            runtime.shutdown(1_000)
            worker.join(5)


def _held(activity: Callable[[object, Any], str], inputs: set[Any], until: threading.Event) -> Callable[..., str]:
    def run(ctx: object, given: Any) -> str:
        if given in inputs:
            until.wait(60)
        return activity(ctx, given)

    return run


def _watch_stock(client: Client) -> None:
    client.start_orchestration("stock-7", "StockWatch", "shelf 7")
    _until(lambda: client.get_kv_value("stock-7", "state") == "watching")
    for execution_id, taken in enumerate(TAKEN, start=1):
        _until_it_waits(client, "stock-7", execution_id)
        client.raise_event("stock-7", "taken", taken)
    _until_it_waits(client, "stock-7", len(TAKEN) + 1)


def _take_orders(client: Client) -> None:
    for instance_id, order in ORDERS.items():
        client.start_orchestration(instance_id, "OrderFlow", order)
    for instance_id in APPROVED:
        _until_state(client, instance_id, "waiting for approval")
        threading.Event().wait(0.3)  # whoever approves has to think
        client.raise_event(instance_id, "approval", "yes")
    for instance_id in ORDERS:
        if instance_id not in IN_FLIGHT:
            client.wait_for_orchestration(instance_id)
    for instance_id, state in IN_FLIGHT.items():
        _until_state(client, instance_id, state)


def _until_it_waits(client: Client, instance_id: str, execution_id: int) -> None:
    def waits() -> bool:
        if client.get_instance_info(instance_id).current_execution_id != execution_id:
            return False
        events = client.read_execution_history(instance_id, execution_id)
        return any(event.kind == "ExternalSubscribed" for event in events)

    _until(waits)


def _until_state(client: Client, instance_id: str, state: str) -> None:
    _until(lambda: bool(client.get_kv_value(instance_id, "state") == state))


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        threading.Event().wait(0.05)
    raise TimeoutError("the engine did not get there")


if __name__ == "__main__":
    main()
