"""The recordings, each made once per session by the real engine in a process of its own."""

from __future__ import annotations

import os

import pytest

from tests.oracle.by_hand import BY_HAND
from tests.oracle.experiments.all_of_them import TOGETHER
from tests.oracle.programs import random_cases
from tests.oracle.record import RecordedInstance, record

COUNT = int(os.environ.get("WORKBENCH_ORACLE_COUNT", "300"))
"""How many random programs; thousands take minutes."""
SEED = int(os.environ.get("WORKBENCH_ORACLE_SEED", "1"))
"""Which; a failure names the program, and the same seed makes it again (not its timing)."""


@pytest.fixture(scope="session")
def by_hand() -> list[RecordedInstance]:
    """The orchestrations by hand and what they started."""
    return record(BY_HAND)


@pytest.fixture(scope="session")
def random_programs() -> list[RecordedInstance]:
    """The random programs and what they started."""
    return record(random_cases(SEED, COUNT))


@pytest.fixture(scope="session")
def experiments() -> list[RecordedInstance]:
    """The experiments that can share a runtime."""
    return record(TOGETHER)
