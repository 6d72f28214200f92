"""Stored histories that the real engine goes on with, by other code: `python -m tests.oracle.one_more_turn FOLDER`.

Each history is written into a fresh database as an instance in flight, its ending left out; an event that nobody
waits for makes the engine take it up. What its first turn then wrote is what it thinks of the code.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import duroxide
import msgspec

from tests.oracle.cases import load
from tests.oracle.record import ROOT, Row, commits
from tests.oracle.running import LOG
from workbench.runtime import events as ev
from workbench.runtime.reference_text import without_times

DATABASE = "stored.db"
STORED = "stored.json"
NOBODY = "nobody waits for this"
PATIENCE_S = 60.0


class Stored(msgspec.Struct, frozen=True):
    """An instance in flight and the code that it goes on with; `kv_store` is what its execution began with."""

    instance_id: str
    source: str
    function: str
    execution_id: int
    events: list[str]
    kv_store: list[Row] = []

    @property
    def orchestration(self) -> str:
        """The name that its code is registered by, for itself alone."""
        return f"code of {self.instance_id}"


class Answer(msgspec.Struct, frozen=True):
    """What the engine did: `message` is that of a nondeterminism failure, else it went on and is `status` now."""

    message: str | None
    status: str
    output: str | None


def take_up(stored: Sequence[Stored]) -> dict[str, Answer]:
    """Have the real engine take up all of them, in one runtime in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as name:
        folder = Path(name)
        _run(folder, "schema")
        fill(folder / DATABASE, stored)
        (folder / STORED).write_bytes(msgspec.json.encode(list(stored)))
        _run(folder, "turns")
        first = commits((folder / LOG).read_text(encoding="utf-8").splitlines())
        with closing(sqlite3.connect(folder / DATABASE)) as db:
            return {each.instance_id: _answer(db, each, first) for each in stored}


def _run(folder: Path, what: str) -> None:
    command = [sys.executable, "-m", "tests.oracle.one_more_turn", str(folder), what]
    environment = {**os.environ, "RUST_LOG": "off,duroxide::providers::sqlite=debug"}
    run = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"the real runtime did not get through:\n{run.stderr}")


def fill(path: Path, stored: Sequence[Stored]) -> None:
    """Write the instances into a database that has the tables."""
    with closing(sqlite3.connect(path)) as db, db:
        for each in stored:
            db.execute(
                "INSERT INTO instances (instance_id, orchestration_name, orchestration_version, current_execution_id)"
                " VALUES (?, ?, '1.0.0', ?)",
                (each.instance_id, each.orchestration, each.execution_id),
            )
            db.execute(
                "INSERT INTO executions (instance_id, execution_id, status, duroxide_version_major,"
                " duroxide_version_minor, duroxide_version_patch) VALUES (?, ?, 'Running', 0, 1, 32)",
                (each.instance_id, each.execution_id),
            )
            rows = [_row(each, text) for text in each.events]
            db.executemany(
                "INSERT INTO history (instance_id, execution_id, event_id, event_type, event_data)"
                " VALUES (?, ?, ?, ?, ?)",
                rows,
            )
            db.executemany(
                "INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms) VALUES (?, ?, ?, ?)",
                [(each.instance_id, *row) for row in each.kv_store],
            )


def _row(stored: Stored, text: str) -> tuple[str, int, int, str, str]:
    event = json.loads(text)
    event["instance_id"] = stored.instance_id
    if event["type"] == ev.STARTED:
        event["name"] = stored.orchestration
    written = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return stored.instance_id, stored.execution_id, event["event_id"], event["type"], written


def _answer(db: sqlite3.Connection, stored: Stored, first: dict[tuple[str, int], list[int]]) -> Answer:
    texts = db.execute(
        "SELECT event_data FROM history WHERE instance_id = ? AND execution_id = ? ORDER BY event_id",
        (stored.instance_id, stored.execution_id),
    ).fetchall()
    added = first[stored.instance_id, stored.execution_id][0]
    events = [ev.decode_event(text) for (text,) in texts[len(stored.events) :][:added]]
    ending = next((event for event in events if event.type in ev.ENDINGS), None)
    if ending is None:
        return Answer(None, "Running", None)
    if ending.type == ev.FAILED:
        details = ending.details or {}
        if "Configuration" in details:
            return Answer(without_times(str(details["Configuration"]["message"])), "Failed", None)
        return Answer(None, "Failed", ev.display_error(details))
    if ending.type == ev.COMPLETED:
        return Answer(None, "Completed", str(ending.output))
    return Answer(None, "ContinuedAsNew", str(ending.input))


def main() -> None:
    """Make the tables, or run the turns, in the folder that the first argument names."""
    folder = Path(sys.argv[1])
    if sys.argv[2] == "schema":
        duroxide.SqliteProvider.open(str(folder / DATABASE))
        return
    stored = msgspec.json.decode((folder / STORED).read_bytes(), type=list[Stored])
    duroxide.init_tracing(str(folder / LOG), "debug")
    provider = duroxide.SqliteProvider.open(str(folder / DATABASE))
    client = duroxide.Client(provider)
    options = duroxide.RuntimeOptions(
        dispatcher_poll_interval_ms=1,
        orchestration_concurrency=2,
        worker_tag_filter=duroxide.TagFilter.NONE,
    )
    runtime = duroxide.Runtime(provider, options)
    for each in stored:
        runtime.register_orchestration(each.orchestration, load(each.source, each.function))
        client.raise_event(each.instance_id, NOBODY, None)
    thread = threading.Thread(target=runtime.start, daemon=True)
    thread.start()
    _wait_for_turns(folder / LOG, {each.instance_id for each in stored})
    runtime.shutdown(1000)
    thread.join()


def _wait_for_turns(log: Path, missing: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while missing:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no turn was made of {sorted(missing)}")
        time.sleep(0.05)
        missing -= {instance_id for instance_id, _ in commits(log.read_text(encoding="utf-8").splitlines())}


if __name__ == "__main__":
    main()
