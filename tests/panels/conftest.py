"""What holds for every test of a panel: it leaves no widget behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.views.making import COUNTER, counter, typed
from workbench.panels.stepper import Stepper
from workbench.run import Run
from workbench.runtime.kv import KVModel
from workbench.session import Workbench


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


@pytest.fixture(scope="session")
def three_turns() -> Run:
    """A counter that has made three turns, for tests that only look at it."""
    workbench = Workbench()
    workbench.orchestration("Counter")(typed(COUNTER, "<three turns>"))  # its source stays when others are typed
    workbench.activity("Noop")(lambda _, value: value)
    run = workbench.start("Counter", 5)
    for _ in range(3):
        run.turn()
    return run


@pytest.fixture
def at(three_turns: Run) -> Iterator[Stepper]:
    """A stepper on the counter that has made three turns; whoever uses it makes no turn."""
    with three_turns.stepper() as opened:
        yield opened
    assert len(three_turns.turns) == 3


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
