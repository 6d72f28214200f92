"""What a store holds, table by table, to see that a refused call left nothing behind."""

from __future__ import annotations

from workbench import Workbench

TABLES = ("instances", "executions", "history", "orchestrator_queue", "worker_queue", "kv_store", "kv_delta")


def contents(wb: Workbench) -> dict[str, list[list[object]]]:
    """Every row of every table; the per-turn model has no `kv_delta`."""
    there = set(wb.sql("SELECT table_name FROM duckdb_tables()")["table_name"])
    return {name: wb.sql(f"SELECT * FROM {name} ORDER BY ALL").to_numpy().tolist() for name in TABLES if name in there}
