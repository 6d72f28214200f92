"""SIGINT at every line of the engine and of the code, one after another, while an instance runs to its end."""

from __future__ import annotations

import signal
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from tests.interrupts.program import facts, uninterrupted
from workbench import Run, Workbench
from workbench.runtime.interrupts import ENGINE_FOLDER

TRACING = """
def tracing(strike, is_ours):
    def step(frame, event, _):
        if event == "line" and strike.is_due():
            strike.raise_signal(strike.number)
        return step
    return lambda frame, event, _: step if is_ours(frame) else None
"""
_names: dict[str, Any] = {}
# Named as a part of the engine: the handler goes by whose line it is, and this is nobody's.
exec(compile(TRACING, ENGINE_FOLDER + "traced.py", "exec"), _names)  # noqa: S102 (a text of this file)
tracing: Callable[..., Any] = _names["tracing"]


class Strike:
    """Counts lines; due at line number `at`."""

    number = signal.SIGINT
    raise_signal = staticmethod(signal.raise_signal)

    def __init__(self, at: int) -> None:
        self.at = at
        self.lines = 0

    def is_due(self) -> bool:
        self.lines += 1
        return self.lines == self.at


def is_ours(frame: types.FrameType) -> bool:
    """Lines whose number is the same each time: not those of the activity, which works for a millisecond."""
    name = frame.f_code.co_filename
    counted = "/workbench/" in name or name.endswith(("/contextlib.py", "/program.py"))
    return counted and frame.f_code.co_name != "double"


def finish_traced(run: Run, at: int) -> tuple[int, bool]:
    """Run to the end with SIGINT at one line: how many lines there were, and whether it was raised."""
    strike = Strike(at)
    raised = False
    before = sys.gettrace()
    sys.settrace(tracing(strike, is_ours))
    try:
        run.finish()
    except KeyboardInterrupt:
        raised = True
    finally:
        sys.settrace(before)
    return strike.lines, raised


def sweep(wb: Workbench, every: int) -> tuple[int, int]:
    """Interrupt at every so many lines; how many places, and how many of them raised."""
    wanted = uninterrupted(wb, rounds=1)
    run = wb.start("Flow", 1)
    lines, _ = finish_traced(run, 0)
    places = raised = 0
    for at in range(1, lines + 1, every):
        wb.provider.delete_instance(run.instance_id)
        began_ms = wb.clock.now_ms()
        run = wb.start("Flow", 1, instance_id="flow-2")
        _, was_raised = finish_traced(run, at)
        run.finish()
        assert facts(wb, run, began_ms) == wanted, f"interrupted at line {at} of {lines}"
        places += 1
        raised += was_raised
    return places, raised


def test_an_interrupt_at_any_line_changes_nothing(wb: Workbench) -> None:
    places, raised = sweep(wb, every=6_007)
    print(f"interrupted at {places} lines, raised at {raised}")
    assert raised > places / 2


@pytest.mark.long
def test_an_interrupt_at_every_53rd_line_changes_nothing(wb: Workbench) -> None:
    places, raised = sweep(wb, every=53)
    print(f"interrupted at {places} lines, raised at {raised}")
    assert raised > places / 2
