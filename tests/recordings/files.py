"""Files to read: the recordings that duroxide wrote, and broken or hostile ones made from them."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from workbench.runtime import events as ev

FOLDER = Path(__file__).parents[1] / "cases" / "recordings"
RECORDED = sorted(FOLDER.glob("*.db"))
"""One duroxide SQLite file a scenario, named for it."""


def recorded(name: str) -> Path:
    """The recording whose file begins with `name`."""
    (found,) = (path for path in RECORDED if path.name.startswith(name))
    return found


@contextmanager
def changing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose changes are in the file afterwards."""
    with closing(sqlite3.connect(path)) as connection:
        yield connection
        connection.commit()


def copy_of(name: str, folder: Path) -> Path:
    """A copy of a recording that may be changed."""
    return Path(shutil.copyfile(recorded(name), folder / "copy.db"))


def event_text(event_id: int, kind: str, /, *, at_ms: int = 1000, source: int | None = None, **fields: Any) -> str:
    """An event of instance `a`, execution 1, as duroxide writes it."""
    envelope = {
        "event_id": event_id,
        "source_event_id": source,
        "instance_id": "a",
        "execution_id": 1,
        "timestamp_ms": at_ms,
        "duroxide_version": "0.1.32",
        "type": kind,
    }
    return json.dumps({**envelope, **fields}, separators=(",", ":"), ensure_ascii=False)


def event(event_id: int, kind: str, /, *, at_ms: int = 1000, source: int | None = None, **fields: Any) -> ev.Event:
    """The same as a struct."""
    return ev.decode_event(event_text(event_id, kind, at_ms=at_ms, source=source, **fields))


def started(event_id: int = 1) -> str:
    """The event that begins a history."""
    return event_text(
        event_id, ev.STARTED, name="O", version="1.0.0", input="null", parent_instance=None, parent_id=None
    )


def state_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its content."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
