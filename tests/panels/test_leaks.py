"""A closed panel leaves nothing: no widget, no comm, no observer, no figure, and nothing that keeps it alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import comm
import matplotlib.figure
import pytest
from ipywidgets.widgets.widget import _instances

from tests.panels.conftest import Live
from tests.panels.reading import chart, switched
from tests.views.making import COUNTER, typed
from workbench.panels.focus import Focus
from workbench.panels.stepper import Stepper
from workbench.session import Workbench

Open = Callable[..., Live]
PANELS = 200


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> weakref.WeakSet[matplotlib.figure.Figure]:
    """The figures that are made while a test runs and are still alive."""
    alive: weakref.WeakSet[matplotlib.figure.Figure] = weakref.WeakSet()
    make = matplotlib.figure.Figure.__init__

    def made(self: matplotlib.figure.Figure, *arguments: object, **settings: object) -> None:
        make(self, *arguments, **settings)  # type: ignore[arg-type]
        alive.add(self)

    monkeypatch.setattr(matplotlib.figure.Figure, "__init__", made)
    return alive


def test_two_hundred_steppers_leave_nothing(live: Open, figures: weakref.WeakSet[matplotlib.figure.Figure]) -> None:
    turns = live(2).run.turns
    widgets, comms = set(_instances), len(comm.get_comm_manager().comms)
    gone: list[weakref.ref[object]] = []
    for number in range(PANELS):
        with Stepper(lambda: turns) as at:
            if number % 20 == 0:
                at.previous()
                at.focus.key = "counter"
                switched(at, "limits").value = number % 40 == 0
            gone += [weakref.ref(each) for each in (at, at.focus, at.root, at._body)]
    del at
    gc.collect()
    assert set(_instances) == widgets
    assert len(comm.get_comm_manager().comms) == comms
    assert [each() for each in gone if each() is not None] == []
    assert len(figures) == 0


def test_a_figure_is_made_and_goes(live: Open, figures: weakref.WeakSet[matplotlib.figure.Figure]) -> None:
    seen: list[int] = []
    at = live(2).stepper
    switched(at, "limits").value = True
    gc.collect()
    chart(at).observe(lambda _: seen.append(len(figures)), "html")
    at._alert._receive(at._alert, {"dark": True}, [])
    gc.collect()
    assert seen == [1] or seen == [0]
    assert len(figures) == 0


def test_a_poisoning_panel_leaves_nothing() -> None:
    before = set(_instances)
    with Workbench() as wb:
        wb.activity("Noop")(lambda _, value: value)
        with wb.poisoning(typed(COUNTER), 3) as panel:
            panel.next()
            gone = [weakref.ref(each) for each in (panel, panel.focus, panel.root)]
    del panel
    gc.collect()
    assert set(_instances) == before
    assert [each() for each in gone if each() is not None] == []


def test_a_closed_panel_no_longer_watches_its_focus(live: Open) -> None:
    at = live(2).stepper
    at.close()
    assert [each for names in at.focus._trait_notifiers.values() for each in names.get("change", [])] == []


def test_a_focus_that_outlives_its_panel_moves_nothing(live: Open) -> None:
    at = live(2).stepper
    focus: Focus = at.focus
    shown = at._body.html
    at.close()
    focus.address = "1.1"
    assert at._body.html == shown
