"""SIGINT at random moments of a process that runs instances: each ends as if nobody had interrupted it (P-19)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def interrupted(file: Path, seed: int, runs: int, mean_ms: float) -> dict[str, object]:
    """What `tests.interrupts.program` found in a process of its own."""
    program = [sys.executable, "-m", "tests.interrupts.program", str(file), str(seed), str(runs), str(mean_ms)]
    done = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, timeout=900, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def check(found: dict[str, object], at_least: int) -> None:
    print(f"{found['interrupts']} interrupts in {found['runs']} runs; otherwise than without: {found['otherwise']}")
    assert found["otherwise"] == []
    assert found["instances"] == 3 * (1 + int(str(found["runs"])))  # the flow, and a child of each of its executions
    assert int(str(found["interrupts"])) >= at_least


def test_a_run_ends_the_same_however_often_it_was_interrupted(tmp_path: Path) -> None:
    check(interrupted(tmp_path / "flows.duckdb", 1, 1, 40), at_least=2)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_several_hundred_interrupts_change_nothing(tmp_path: Path, seed: int) -> None:
    check(interrupted(tmp_path / "flows.duckdb", seed, 12, (20, 40, 60, 80)[seed]), at_least=100)
