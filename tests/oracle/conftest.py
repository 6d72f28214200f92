"""The recordings, each made once per session by the real engine in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec
import pytest

from tests.oracle.by_hand import BY_HAND
from tests.oracle.cases import Case
from tests.oracle.experiments.all_of_them import TOGETHER
from tests.oracle.programs import random_cases
from tests.oracle.record import RecordedInstance, record

COUNT = int(os.environ.get("WORKBENCH_ORACLE_COUNT", "300"))
"""How many random programs; thousands take minutes."""
SEED = int(os.environ.get("WORKBENCH_ORACLE_SEED", "1"))
"""Which; a failure names the program, and the same seed makes it again (not its timing)."""

A_RUNTIME = 300
"""Programs that share a runtime and its file; with more of them it gets slower and slower."""

Record = Callable[[list[Case]], list[RecordedInstance]]


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Record cases; the recording is also kept as a file, since its timing never comes again."""

    def keep(cases: list[Case]) -> list[RecordedInstance]:
        recorded = record(cases)
        path = tmp_path_factory.mktemp("oracle") / "recording.json"
        path.write_bytes(msgspec.json.encode(recorded))
        return recorded

    return keep


@pytest.fixture(scope="session")
def by_hand(recording: Record) -> list[RecordedInstance]:
    """The orchestrations by hand and what they started."""
    return recording(BY_HAND)


@pytest.fixture(scope="session")
def random_programs(recording: Record) -> list[RecordedInstance]:
    """The random programs and what they started."""
    cases = random_cases(SEED, COUNT)
    batches = [cases[start : start + A_RUNTIME] for start in range(0, COUNT, A_RUNTIME)]
    return [each for batch in batches for each in recording(batch)]


@pytest.fixture(scope="session")
def experiments(recording: Record) -> list[RecordedInstance]:
    """The experiments that can share a runtime."""
    return recording(TOGETHER)
