"""Nothing that a test has driven is left parked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.driving import close_parked
from tests.runtime.instances import Instances


@pytest.fixture(autouse=True)
def nothing_stays_parked() -> Iterator[None]:
    """Close what the test left parked."""
    yield
    close_parked()


@pytest.fixture
def instances() -> Iterator[Instances]:
    """Instances on a store in memory."""
    made = Instances()
    yield made
    made.provider.close()
