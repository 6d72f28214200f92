"""A duroxide database of 1,000,000 events: listed, one instance loaded, queried, next to sqlite3 with pandas.

Run: `python -m tests.bench.bench_sources [events]`. Prints seconds, the memory of each way, and ratios.
"""

from __future__ import annotations

import json
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.recordings.files import recorded
from workbench.runtime import events as ev

EVENTS = 1_000_000
PER_INSTANCE = 100
START_MS = 1_700_000_000_000
BIG_VALUES = "SELECT instance_id, max(value_bytes) FROM kv_writes WHERE value_bytes > 10 * 1024 GROUP BY instance_id"


def main(events: int) -> None:
    """Make the database, and measure each way in a process of its own, so that memory is its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.db")
        write(path, events)
        print(f"{events:,} events of {events // PER_INSTANCE:,} instances, {path.stat().st_size / 2**20:,.0f} MiB")
        ours, pandas = (measured(path, way) for way in ("workbench", "pandas"))
    print(f"{'':28}{'workbench':>12}{'sqlite3 + pandas':>18}{'ratio':>10}")
    for name in ours:
        there = pandas[name]
        ratio = f"{ours[name] / there:.2f}" if there else ""
        print(f"{name:28}{ours[name]:>12,.3f}{there:>18,.3f}{ratio:>10}")


def write(path: Path, events: int) -> None:
    """A database with duroxide's own tables: counters of 100 events, one in 1,000 with a value of 12 KiB."""
    shutil.copyfile(recorded("P-01"), path)
    with closing(sqlite3.connect(path)) as database:
        for table in ("instances", "executions", "history", "kv_store", "kv_delta"):
            database.execute(f"DELETE FROM {table}")
        ids = [f"counter-{number}" for number in range(events // PER_INSTANCE)]
        database.executemany(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version) VALUES (?, 'Counter', '1')",
            [(each,) for each in ids],
        )
        database.executemany(
            "INSERT INTO executions (instance_id, execution_id, status) VALUES (?, 1, 'Running')",
            [(each,) for each in ids],
        )
        database.executemany(
            "INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data) VALUES (?, 1, ?, ?, ?)",
            (row for number, each in enumerate(ids) for row in history(each, number % 1000 == 7)),
        )
        database.commit()


def history(instance_id: str, has_big_value: bool) -> Iterator[tuple[str, int, str, str]]:
    """The rows of one counter: a start, then a set, an activity and its result again and again."""
    for event_id in range(1, PER_INSTANCE + 1):
        fields: dict[str, Any]
        if event_id == 1:
            kind, fields = ev.STARTED, {"name": "Counter", "version": "1", "input": "null"}
        elif event_id % 3 == 2:
            value = "x" * 12 * 1024 if has_big_value and event_id == 50 else str(event_id)
            kind, fields = ev.KV_SET, {"key": "counter", "value": value, "last_updated_at_ms": START_MS + event_id}
        elif event_id % 3 == 0:
            kind, fields = ev.ACTIVITY_SCHEDULED, {"name": "Noop", "input": '""'}
        else:
            kind, fields = ev.ACTIVITY_COMPLETED, {"result": '""'}
        source = event_id - 1 if kind == ev.ACTIVITY_COMPLETED else None
        event = ev.new_event(instance_id, 1, event_id, START_MS + 10 * event_id, kind, source, **fields)
        yield instance_id, event_id, kind, ev.encode_event(event)


def measured(path: Path, way: str) -> dict[str, float]:
    """What one way takes, as a process of its own says it."""
    command = [sys.executable, "-m", "tests.bench.bench_sources", "--way", way, str(path)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def with_workbench(path: Path) -> Iterator[tuple[str, float]]:
    """The source: listing, one instance, a query over everything."""
    from workbench import open_source

    with open_source(path) as source:
        assert len(source.instances) > 0  # pandas is loaded
        start = time.perf_counter()
        count = len(source.instances)
        yield "listing, s", time.perf_counter() - start
        start = time.perf_counter()
        recording = source.recording(f"counter-{count // 2}")
        yield "one instance, s", time.perf_counter() - start
        assert recording.event_count == PER_INSTANCE
        yield "memory, MiB", peak_mebibytes()
        start = time.perf_counter()
        source.sql(BIG_VALUES)
        yield "values over 10 KiB, s", time.perf_counter() - start
        yield "memory with the query, MiB", peak_mebibytes()


def with_pandas(path: Path) -> Iterator[tuple[str, float]]:
    """The way without workbench: the whole history in one DataFrame."""
    import pandas as pd

    with closing(sqlite3.connect(path)) as database:
        start = time.perf_counter()
        frame = pd.read_sql("SELECT * FROM history", database)
        count = len(frame.groupby("instance_id").size())
        yield "listing, s", time.perf_counter() - start
        start = time.perf_counter()
        one = frame[frame["instance_id"] == f"counter-{count // 2}"]
        rows = [json.loads(text) for text in one["event_data"]]
        yield "one instance, s", time.perf_counter() - start
        assert len(rows) == PER_INSTANCE
        yield "memory, MiB", peak_mebibytes()
        start = time.perf_counter()
        sets = frame[frame["event_type"] == ev.KV_SET]
        sizes = sets["event_data"].map(lambda text: len(json.loads(text)["value"].encode()))
        sizes[sizes > 10 * 1024].groupby(sets["instance_id"]).max()
        yield "values over 10 KiB, s", time.perf_counter() - start
        yield "memory with the query, MiB", peak_mebibytes()


def peak_mebibytes() -> float:
    """The most memory that this process has held, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--way"]:
        way = {"workbench": with_workbench, "pandas": with_pandas}[sys.argv[2]]
        print(json.dumps(dict(way(Path(sys.argv[3])))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
