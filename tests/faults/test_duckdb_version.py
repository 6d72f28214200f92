"""Which DuckDB these faults were tried with, beside the lowest that the project says it supports."""

from __future__ import annotations

import tomllib
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.faults.conftest import Tell


def test_the_lowest_duckdb_supported_is_stated_and_the_one_in_use_is_told(tell: Tell) -> None:
    stated = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    [duckdb] = [each for text in stated["project"]["dependencies"] if (each := Requirement(text)).name == "duckdb"]
    [lowest] = [each.version for each in duckdb.specifier if each.operator == ">="]
    used = version("duckdb")
    assert Version(used) >= Version(lowest)
    assert duckdb.specifier.contains(used, prereleases=True)
    tell("DuckDB", 1, 1, f"lowest supported {lowest}, used here {used}")
