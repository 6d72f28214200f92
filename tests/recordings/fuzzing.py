"""Damaged files by the thousand: `python -m tests.recordings.fuzzing COUNT SEED`.

Each is read as a user would read it: listed, queried, replayed with and without code, shown, written as JSON. It may be
read or be refused in our own words; anything else is printed with its seed, and the process ends with 1. An audit hook
watches that nothing is executed, imported, or opened outside of the folder.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.recordings.files import FOLDER, RECORDED
from workbench import Workbench, open_source
from workbench.runtime.errors import WorkbenchError

QUERY = "SELECT * FROM operations"
MOST_LOADED = 3
WARM_UP = 60
ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 10**400, 1e308, "", "\x00", "\ud800", "x" * 70_000, [], {}, [[[]]], {"a": {}},
    "__import__('os')", "OrchestrationStarted", "KeyValueSet", "ActivityCompleted",
)  # fmt: skip
ODD_TEXTS = (
    "",
    "null",
    "[" * 5_000,
    '{"a":' * 3_000,
    "{",
    '"',
    "NaN",
    "\x00",
    "{}",
    "[]",
    "1" * 5_000,
    "'); DROP TABLE history; --",
)


def counter(ctx: Any, _: Any) -> Any:
    """Code to replay against."""
    n = int(ctx.get_kv_value("n") or "0")
    ctx.set_kv_value("n", str(n + 1))
    yield ctx.schedule_activity("a", n)
    return n


def bytes_damaged(content: bytes, rng: random.Random) -> bytes:
    """A few bytes overwritten, a piece moved, or the end cut off."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(data)) if rng.random() < 0.7 else rng.randrange(min(200, len(data)))
        size = rng.choice((1, 1, 2, 8, 64, 512))
        if rng.random() < 0.5:
            data[place : place + size] = rng.randbytes(size)
        else:
            other = rng.randrange(len(data))
            data[place : place + size] = data[other : other + size]
    return bytes(data[: rng.randrange(len(data))]) if rng.random() < 0.2 else bytes(data)


def json_damaged(value: Any, rng: random.Random) -> Any:
    """One place in it is gone, doubled, or something odd."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.15:
        return rng.choice(ODD_VALUES)
    copy: Any = value.copy()
    place = rng.choice(list(copy) if isinstance(copy, dict) else range(len(copy)))
    what = rng.random()
    if what < 0.2:
        del copy[place]
    elif what < 0.3 and isinstance(copy, list):
        copy.insert(place, copy[rng.randrange(len(copy))])
    elif what < 0.4 and isinstance(copy, dict):
        copy[str(rng.choice(ODD_VALUES))[:80]] = copy[place]
    else:
        copy[place] = json_damaged(copy[place], rng)
    return copy


def text_of(value: Any, rng: random.Random) -> str:
    """As JSON text, now and then no longer JSON."""
    text = json.dumps(value)
    return text if rng.random() < 0.8 else bytes_damaged(text.encode(), rng).decode(errors="replace")


def sqlite_bytes(path: Path, rng: random.Random, _: Path) -> None:
    """A duroxide database with bytes overwritten."""
    path.write_bytes(bytes_damaged(rng.choice(RECORDED).read_bytes(), rng))


def sqlite_rows(path: Path, rng: random.Random, _: Path) -> None:
    """A sound database with rows that are not."""
    path.write_bytes(rng.choice(RECORDED).read_bytes())
    with closing(sqlite3.connect(path)) as database:
        database.text_factory = lambda stored: stored.decode(errors="replace")
        rows = database.execute("SELECT rowid, event_data FROM history WHERE json_valid(event_data)").fetchall()
        for rowid, text in rng.sample(rows, min(len(rows), rng.randint(1, 3))):
            changed = rng.choice(ODD_TEXTS) if rng.random() < 0.2 else text_of(json_damaged(json.loads(text), rng), rng)
            stored = (
                changed.encode(errors="replace") if rng.random() < 0.2 else changed.encode(errors="replace").decode()
            )
            database.execute("UPDATE history SET event_data = ? WHERE rowid = ?", (stored, rowid))
        table, column = rng.choice(
            (("history", "event_id"), ("history", "event_type"), ("history", "execution_id"), ("executions", "status"),
             ("executions", "output"), ("instances", "orchestration_name"), ("kv_store", "value"), ("kv_delta", "key"),
             ("instances", "current_execution_id"), ("instances", "parent_instance_id"))
        )  # fmt: skip
        odd = rng.choice((None, -1, 0, 2**62, 1.5, "", "x", b"\xff\x00", "\x00", "Running"))
        query = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid IN (SELECT rowid FROM {table} LIMIT 1 OFFSET ?)"
        try:
            database.execute(query, (odd, rng.randrange(4)))
        except sqlite3.IntegrityError:
            return
        finally:
            database.commit()


def json_file(path: Path, rng: random.Random, folder: Path) -> None:
    """A JSON recording with something odd in it."""
    original = rng.choice([FOLDER / "P-08_queue.json", folder / "sound.json"])
    value = json.loads(original.read_text(encoding="utf-8"))
    for _ in range(rng.randint(1, 3)):
        value = json_damaged(value, rng)
    path.write_bytes(text_of(value, rng).encode(errors="surrogatepass"))


def json_events(path: Path, rng: random.Random, folder: Path) -> None:
    """A JSON recording whose envelope is sound and some of whose events are not."""
    original = rng.choice([FOLDER / "P-08_queue.json", folder / "sound.json"])
    value = json.loads(original.read_text(encoding="utf-8"))
    for execution in value["executions"]:
        events = execution["events"]
        for _ in range(rng.randint(0, 3)):
            place = rng.randrange(len(events))
            if isinstance(events[place], dict):
                events[place] = json_damaged(events[place], rng)
    path.write_bytes(json.dumps(value).encode(errors="surrogatepass"))


def duckdb_bytes(path: Path, rng: random.Random, folder: Path) -> None:
    """A workbench store with bytes overwritten."""
    path.write_bytes(bytes_damaged((folder / "sound.duckdb").read_bytes(), rng))


KINDS: tuple[Callable[[Path, random.Random, Path], None], ...] = (
    sqlite_bytes, sqlite_rows, sqlite_rows, json_file, json_events, duckdb_bytes,
)  # fmt: skip


def read(path: Path) -> None:
    """All that a user does with a file."""
    with open_source(path) as source:
        source.text()
        source._repr_html_()
        with suppress(WorkbenchError):
            source.query(QUERY)
        for instance_id in source.instance_ids[:MOST_LOADED]:
            recording = source.recording(instance_id)
            for replay in (recording.replay(), recording.replay(counter)):
                replay.text()
                replay._repr_html_()
            recording.to_json()


def make_sound_files(folder: Path) -> None:
    """A store and a JSON recording of ours."""
    with Workbench(folder / "sound.duckdb") as wb:
        wb.orchestration("Counter")(counter)
        wb.activity("a")(lambda ctx, n: n)
        run = wb.start("Counter", None, instance_id="a")
        run.finish()
        run.recording().to_json(folder / "sound.json")


def watch(folder: Path) -> list[str]:
    """What should not happen from now on, as it happens."""
    seen: list[str] = []
    allowed = (str(folder), "/proc/self/fd")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("exec", "os.system", "subprocess.Popen", "os.exec", "socket.connect", "ctypes.dlopen"):
            seen.append(f"{event} {str(arguments)[:200]}")
        elif event == "open" and isinstance(arguments[0], str) and not arguments[0].startswith(allowed):
            seen.append(f"open {arguments[0]}")

    sys.addaudithook(hook)
    return seen


def fuzz(count: int, seed: int) -> int:
    """Read so many damaged files; 1 if any of them did what it must not."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_sound_files(folder)
        for path in (RECORDED[0], folder / "sound.duckdb", folder / "sound.json"):
            read(path)
        for number in range(WARM_UP):  # what is imported or built at first use is there from now on
            KINDS[number % len(KINDS)](folder / "damaged", random.Random(number), folder)
            with suppress(WorkbenchError):
                read(folder / "damaged")
        originals = {path: path.read_bytes() for path in RECORDED}
        seen = watch(folder)
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            path = folder / "damaged"
            for old in folder.glob("damaged*"):
                old.unlink()
            kind(path, random.Random(f"{seed}-{number}"), folder)
            del seen[:]
            try:
                read(path)
                outcomes[f"{kind.__name__}: read"] += 1
            except WorkbenchError:
                outcomes[f"{kind.__name__}: refused"] += 1
            except Exception:
                print(f"seed {seed}, number {number}, {kind.__name__}:")
                traceback.print_exc(file=sys.stdout)
                outcomes["uncaught"] += 1
            if seen:
                print(f"seed {seed}, number {number}, {kind.__name__}: {seen[:3]}")
                outcomes["reached out"] += 1
        assert originals == {path: path.read_bytes() for path in RECORDED}
    for outcome, times in sorted(outcomes.items()):
        print(f"{outcome:28}{times:>8,}")
    return int(outcomes["uncaught"] + outcomes["reached out"] > 0)


if __name__ == "__main__":
    sys.exit(fuzz(int(sys.argv[1]), int(sys.argv[2])))
