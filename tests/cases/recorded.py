"""The recordings of the public bug cases: SQLite files of the real engine, each made while one scenario ran."""

from __future__ import annotations

from pathlib import Path

from workbench import Recording, open_source

FOLDER = Path(__file__).parent / "recordings"
QUEUE_FILE = FOLDER / "P-08_queue.json"
"""The queue half of P-08, which has no SQLite file; `record_queue` made it."""
FILES = tuple(sorted(path.name for path in FOLDER.glob("*.db")))


def recording(case: str, instance_id: str = "a") -> Recording:
    """One instance of a case, such as `recording("P-12", "b")`; the case names its file up to the underscore."""
    [name] = [name for name in FILES if name.startswith(f"{case}_")]
    with open_source(FOLDER / name) as source:
        return source.recording(instance_id)


def instances(case: str) -> list[Recording]:
    """Every instance of a case."""
    [name] = [name for name in FILES if name.startswith(f"{case}_")]
    with open_source(FOLDER / name) as source:
        return list(source.recordings())
