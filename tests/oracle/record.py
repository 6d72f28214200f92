"""Record cases with the real duroxide: `python -m tests.oracle.record OUT.json --seed N --count K`.

`record` starts the runtime in a process of its own (`running`), waits until that process is gone, and then reads
the SQLite file. Turn boundaries are the truth, not a guess: the provider's own log says how many events each
commit appended.
"""

from __future__ import annotations

import argparse
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from tests.oracle.cases import Case
from tests.oracle.running import DATABASE, LOG

ROOT = Path(__file__).parents[2]
Row = tuple[str, str | None, int]
"""A row of a KV table: key, value (none is a tombstone), last update in ms."""


class RecordedExecution(msgspec.Struct, frozen=True):
    """One execution as it was stored; `turns` has the number of events that each turn's commit appended."""

    execution_id: int
    status: str
    output: str | None
    events: list[str]
    turns: list[int]


class RecordedInstance(msgspec.Struct, frozen=True):
    """One instance as it was stored; `case` is none for children and detached instances."""

    instance_id: str
    orchestration: str
    parent: str | None
    custom_status: str | None
    custom_status_version: int
    executions: list[RecordedExecution]
    kv_store: list[Row]
    kv_delta: list[Row]
    case: Case | None = None


def record(cases: list[Case], at_once: int = 100) -> list[RecordedInstance]:
    """Run the cases in the real engine, in another process, and give back what it stored.

    `at_once` instances are under way at a time: many make bigger batches, few keep the outside calls on time.
    """
    with tempfile.TemporaryDirectory(prefix="oracle-") as name:
        folder = Path(name)
        (folder / "cases.json").write_bytes(msgspec.json.encode(cases))
        run = subprocess.run(
            [sys.executable, "-m", "tests.oracle.running", str(folder / "cases.json"), str(folder), str(at_once)],
            cwd=ROOT,
            env={**os.environ, "RUST_LOG": "off,duroxide::providers::sqlite=debug"},
            check=False,
            stderr=subprocess.PIPE,
            text=True,
        )
        if run.returncode:
            raise RuntimeError(f"the real runtime did not get through:\n{run.stderr}")
        turns = commits((folder / LOG).read_text(encoding="utf-8").splitlines())
        return list(read_database(folder / DATABASE, turns, {case.name: case for case in cases}))


Commits = dict[tuple[str, int], list[int]]
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ACK = re.compile(r"Acking with explicit execution_id instance=(.*) execution_id=(\d+) history_delta_len=(\d+)$")
_DONE = re.compile(r"Acknowledged orchestration item and released lock instance=(.*)$")


def commits(log: Iterable[str]) -> Commits:
    """How many events each commit appended, by instance and execution, from the provider's log.

    The line that a commit begins with has the number; an attempt that met a locked database has one too, so only as
    many attempts count as were acknowledged. (The acknowledgement may be logged after the next commit began.)
    """
    attempts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    acknowledged: Counter[str] = Counter()
    for coloured in log:
        line = _COLOUR.sub("", coloured)
        if found := _ACK.search(line):
            attempts[found[1]].append((int(found[2]), int(found[3])))
        elif found := _DONE.search(line):
            acknowledged[found[1]] += 1
    counts: Commits = defaultdict(list)
    for instance_id, tried in attempts.items():
        for execution_id, count in _without_repeats(tried, len(tried) - acknowledged[instance_id]):
            if count:
                counts[instance_id, execution_id].append(count)
    return counts


def _without_repeats(tried: list[tuple[int, int]], failed: int) -> Iterator[tuple[int, int]]:
    """The attempts without `failed` of them: a failed one is followed by the same again."""
    for this, following in zip(tried, [*tried[1:], None], strict=True):
        if failed and this == following:
            failed -= 1
        else:
            yield this


def read_database(path: Path, turns: Commits, cases: dict[str, Case]) -> Iterator[RecordedInstance]:
    """Every instance in the file."""
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT instance_id, orchestration_name, parent_instance_id, custom_status, custom_status_version"
            " FROM instances ORDER BY instance_id"
        ).fetchall()
        for instance_id, name, parent, status, version in rows:
            yield RecordedInstance(
                instance_id,
                name,
                parent,
                status,
                version,
                [_execution(db, instance_id, row, turns) for row in _execution_rows(db, instance_id)],
                _kv(db, "kv_store", instance_id),
                _kv(db, "kv_delta", instance_id),
                cases.get(instance_id),
            )


def _execution_rows(db: sqlite3.Connection, instance_id: str) -> list[tuple[int, str, str | None]]:
    return db.execute(
        "SELECT execution_id, status, output FROM executions WHERE instance_id = ? ORDER BY execution_id",
        (instance_id,),
    ).fetchall()


def _execution(
    db: sqlite3.Connection, instance_id: str, row: tuple[int, str, str | None], turns: Commits
) -> RecordedExecution:
    execution_id, status, output = row
    events = [
        text
        for (text,) in db.execute(
            "SELECT event_data FROM history WHERE instance_id = ? AND execution_id = ? ORDER BY event_id",
            (instance_id, execution_id),
        )
    ]
    counts = turns[instance_id, execution_id]
    if sum(counts) != len(events):
        raise RuntimeError(
            f"the log of {instance_id}, execution {execution_id}, has commits of {counts} events,"
            f" but its history holds {len(events)}"
        )
    return RecordedExecution(execution_id, status, output, events, counts)


def _kv(db: sqlite3.Connection, table: str, instance_id: str) -> list[Row]:
    return db.execute(
        f"SELECT key, value, last_updated_at_ms FROM {table} WHERE instance_id = ? ORDER BY key", (instance_id,)
    ).fetchall()


def main() -> None:
    """Record random programs and write them to a JSON file."""
    from tests.oracle.programs import random_cases

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    given = parser.parse_args()
    recorded = record(random_cases(given.seed, given.count))
    given.out.write_bytes(msgspec.json.encode(recorded))


if __name__ == "__main__":
    main()
