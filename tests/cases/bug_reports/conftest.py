"""A host in each way of living."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases.bug_reports.living import REPLAYING, WAYS, Host, living


@pytest.fixture(params=WAYS)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host; the test runs once with each way."""
    with living(request.param, tmp_path) as host:
        yield host


@pytest.fixture(params=REPLAYING)
def replaying(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """A host on which every turn runs the code again from the top."""
    with living(request.param, tmp_path) as host:
        yield host
