"""The store on the lowest DuckDB that the project says it supports. Run as `python -m tests.faults.lowest_duckdb`.

Installs that release in a folder of its own and runs the tests of the store with it; all others use the newest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/faults/test_duckdb_version.py",
    "tests/faults/test_commits.py",
    "tests/faults/test_load.py",
    "tests/session/test_rolling_upgrade.py",
    *(f"tests/store/test_{name}.py" for name in ("migration", "opening", "threads")),
)
USED = "WORKBENCH_DUCKDB"
"""Names the release that must be the one in use."""


def stated() -> Requirement:
    """What pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [duckdb] = [each for text in project["dependencies"] if (each := Requirement(text)).name == "duckdb"]
    return duckdb


def lowest() -> str:
    """The lower bound in it."""
    [version] = [each.version for each in stated().specifier if each.operator == ">="]
    return version


def main() -> int:
    """Install it, run the tests; the exit code of what failed."""
    python = [sys.executable, "-m"]
    with tempfile.TemporaryDirectory() as folder:
        install = [*python, "pip", "install", "-q", "--no-deps", "--target", folder, f"duckdb=={lowest()}"]
        environment = os.environ | {"PYTHONPATH": folder, USED: lowest()}
        return (
            subprocess.run(install, check=False).returncode
            or subprocess.run([*python, "pytest", "-n", "2", *TESTS], cwd=ROOT, env=environment, check=False).returncode
        )


if __name__ == "__main__":
    sys.exit(main())
