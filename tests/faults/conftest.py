"""What was tried and what survived: counted by each test here, printed after the run, a row for each fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

ROWS = pytest.StashKey[list["Row"]]()


class Row(NamedTuple):
    """One fault: how often it was tried, how often everything was as it must be, and what else was counted."""

    fault: str
    tried: int
    survived: int
    more: str = ""


Tell = Callable[..., None]


def sized(small: int, large: int) -> pytest.MarkDecorator:
    """A size for every run, and one for `--long`; the test gets it as `count`."""
    return pytest.mark.parametrize("count", [small, pytest.param(large, marks=pytest.mark.long)])


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Tell:
    """`tell(fault, tried, survived, more="")` puts a row into the table at the end of the run."""
    rows = request.config.stash.setdefault(ROWS, [])
    return lambda *row: rows.append(Row(*row))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    rows = config.stash.get(ROWS, [])
    if rows:
        terminalreporter.section("faults: tried, survived")
        for fault, tried, survived, more in rows:
            terminalreporter.write_line(f"{fault}: {tried:,} tried, {survived:,} survived{more and f'; {more}'}")
