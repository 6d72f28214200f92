"""What holds for every test of a panel: it leaves no widget behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.views.making import counter
from workbench.panels.panel import Panel
from workbench.panels.stepper import Stepper
from workbench.run import Run
from workbench.runtime.kv import KVModel

Opened = Callable[[Panel], Panel]


@pytest.fixture(autouse=True)
def no_widget_is_left() -> Iterator[None]:
    """Every panel that a test opens is closed, and nothing of it stays."""
    before = set(_instances)
    yield
    assert set(_instances) <= before


class Live:
    """A counter that has made some turns, and a stepper on it."""

    def __init__(self, turns: int, kv_model: KVModel = "delta", rounds: int = 5) -> None:
        self.run: Run = counter(kv_model, rounds)
        for _ in range(turns):
            self.run.turn()
        self.stepper: Stepper = self.run.stepper()


@pytest.fixture
def live() -> Iterator[Callable[..., Live]]:
    """Opens steppers on counters; they are closed after the test."""
    opened: list[Live] = []

    def open_one(turns: int, kv_model: KVModel = "delta", rounds: int = 5) -> Live:
        opened.append(Live(turns, kv_model, rounds))
        return opened[-1]

    yield open_one
    for each in opened:
        each.stepper.close()
