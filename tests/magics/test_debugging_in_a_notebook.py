"""`%debug` and `replay.debug(turn)` in a real kernel, with what its user types."""

from __future__ import annotations

import pytest

from tests.kernel import Kernel, Shown
from tests.magics.test_magics import ECHO, FLOW, WORKBENCH


def values(shown: Shown) -> list[str]:
    return [line.split("ipdb> ")[-1] for line in shown.stdout.splitlines()]


@pytest.fixture
def diverged(kernel: Kernel) -> Kernel:
    """A run whose code was changed while it waited; `run.output` has just raised."""
    for cell in (WORKBENCH, ECHO, FLOW, 'run = wb.start("Flow", 7)', "%turn", FLOW.replace('"old"', '"NEW"'), "%turn"):
        kernel.run(cell)
    return kernel


def test_debug_stands_in_the_orchestration_after_a_live_divergence(diverged: Kernel) -> None:
    error = diverged.run("run.output")
    assert error.error is not None
    assert error.error.startswith("NondeterminismError: Flow · flow-1 · diverged")
    assert '----> 5     result = yield ctx.schedule_activity("Echo", "NEW")' in error.traceback
    shown = diverged.run("%debug", "p given", "p ctx.instance_id", "q")
    assert "result = yield ctx.schedule_activity" in shown.stdout
    assert "7" in values(shown)
    assert "'flow-1'" in values(shown)


def test_debug_stands_there_after_raise_for_verdict_too(diverged: Kernel) -> None:
    diverged.run(FLOW.replace('"step", "1"', '"step", str(given)'))
    assert diverged.run("run.recording().replay(flow).raise_for_verdict()").error is not None
    shown = diverged.run("%debug", "p given", "up", "q")
    assert 'ctx.set_kv_value("step", str(given))' in shown.stdout
    assert "7" in values(shown)


def test_replay_debug_stops_in_the_notebooks_own_debugger(kernel: Kernel) -> None:
    for cell in (WORKBENCH, ECHO, FLOW, 'run = wb.start("Flow", 7)', "%turn", "%turn"):
        kernel.run(cell)
    shown = kernel.run("run.recording().replay(flow).debug('1.2')", "p given", "n", "p result", "c")
    assert shown.error is None
    assert "result = yield ctx.schedule_activity" in shown.stdout
    assert '----> 6     yield ctx.wait_for_event("go")' in shown.stdout
    assert "7" in values(shown)
    assert "'old'" in values(shown)
    assert kernel.run("len(run.turns), run.status").texts == ["(2, 'Running')"]
