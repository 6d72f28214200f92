"""Many instances, a file that is used again and again, a disk that is full, a folder that may not be written to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import Tell, sized
from workbench import DuckDBProvider

ROOT = Path(__file__).parents[2]
MIB = 2**20
NOBODY = 65_534
ROUNDS = 4


def printed(*command: str) -> list[dict[str, Any]]:
    """The JSON lines that a process prints."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=3_600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@sized(60, 10_000)
def test_many_instances_run_to_completion(tmp_path: Path, count: int, tell: Tell) -> None:
    [rounds, closed] = printed(
        sys.executable, "-m", "tests.faults.loading", str(tmp_path / "store.duckdb"), str(count), "1"
    )
    assert (rounds["right"], rounds["wrong"]) == (count, 0)
    tell(
        "instances at once", count, rounds["right"],
        f"{rounds['s']:.1f} s; memory {rounds['memory'] / MIB:.0f} MiB, file {closed['file'] / MIB:.1f} MiB",
    )  # fmt: skip
    assert rounds["memory"] < 300 * MIB + count * 100_000
    assert closed["file"] < 4 * MIB + count * 10_000


@sized(40, 2_000)
def test_a_file_that_is_used_again_and_again_does_not_grow(tmp_path: Path, count: int, tell: Tell) -> None:
    *rounds, closed = printed(
        sys.executable, "-m", "tests.faults.loading", str(tmp_path / "store.duckdb"), str(count), str(ROUNDS)
    )  # fmt: skip
    assert all(each["right"] == each["count"] and each["wrong"] == 0 for each in rounds)
    sizes = [each["file"] + each["log"] for each in rounds]
    tell(
        "rounds of run, delete, prune", len(rounds), len(rounds),
        f"MiB after each {', '.join(f'{size / MIB:.1f}' for size in sizes)}; closed {closed['file'] / MIB:.1f}",
    )  # fmt: skip
    assert closed["file"] < 4 * MIB + count * 1_000
    assert max(sizes) < 40 * MIB  # a log is folded in at 16 MiB


@pytest.mark.parametrize(("mib", "folds_that_fail"), [(12, 0), (28, 1)])
def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path, mib: int, folds_that_fail: int, tell: Tell) -> None:
    """The smaller one is full before the log is folded in, the larger one while it is."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], check=False, capture_output=True).returncode:
        pytest.skip("may not mount a small disk here")
    [after] = printed(unshare, "-m", sys.executable, "-m", "tests.faults.filling", str(tmp_path), str(mib))
    assert after["errors"]
    assert all("disk is full" in error for error in after["errors"])
    assert after["kept"] == after["written"] <= after["instances_while_full"]
    assert (after["not_folded"], after["refused_but_there"]) == (folds_that_fail, False)
    assert (after["counter"], after["disagreements"]) == (9, 0)
    tell(f"a disk of {mib} MiB that becomes full", 1, 1, f"after {after['written']} turns")


READ_ONLY = """
import os, sys
from workbench import DuckDBProvider
from workbench.runtime.errors import WorkbenchError
os.setuid(int(sys.argv[1]))
for path in sys.argv[2:]:
    try:
        DuckDBProvider(path)
        print("opened")
    except WorkbenchError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_folder_that_may_not_be_written_to_is_told(tmp_path: Path, tell: Tell) -> None:
    kept = tmp_path / "kept.duckdb"
    DuckDBProvider(kept).close()
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    before = kept.read_bytes()
    command = [sys.executable, "-c", READ_ONLY, str(NOBODY), str(tmp_path / "new.duckdb"), str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    new, old = done.stdout.splitlines()
    assert new.startswith("StoreError new.duckdb cannot be made: ")
    assert "ermission denied" in new
    assert old == "StoreError kept.duckdb cannot be opened: permission denied; open a copy of the file"
    assert [each.name for each in tmp_path.iterdir()] == ["kept.duckdb"]
    assert kept.read_bytes() == before
    DuckDBProvider(kept).close()
    tell("a folder that may not be written to", 2, 2)
