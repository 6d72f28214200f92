"""Which DuckDB these faults were tried with, beside the lowest that the project says it supports.

`tests/run` tries the newest with all tests, and the lowest with those of the store (`lowest_duckdb`).
"""

from __future__ import annotations

import os
from importlib.metadata import version

import duckdb

from tests.faults.conftest import Tell
from tests.faults.lowest_duckdb import USED, lowest, stated


def test_the_lowest_duckdb_supported_is_stated_and_the_one_in_use_is_told(tell: Tell) -> None:
    used = version("duckdb")
    assert used == duckdb.__version__ == os.environ.get(USED, used)
    assert stated().specifier.contains(used, prereleases=True)
    tell("DuckDB", 1, 1, f"lowest supported {lowest()}, used here {used}")
