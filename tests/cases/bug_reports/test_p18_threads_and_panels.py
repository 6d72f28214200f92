"""P-18: work in other threads shows in panels and nowhere else; a handler that fails says so in its panel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ipywidgets.widgets.widget import _instances

from tests.kernel import Kernel, kernel, started_kernel
from tests.views.making import COUNTER, typed
from workbench import Run, Workbench
from workbench.panels.stepper import Stepper

__all__ = ["kernel", "started_kernel"]

FLOW = """
import logging, threading
from workbench import Workbench

logging.getLogger("workbench").setLevel(logging.DEBUG)
wb = Workbench()
go_on = threading.Event()


@wb.orchestration("Flow")
def flow(ctx, rounds):
    for number in range(rounds):
        ctx.trace_warn(f"round {number}")
        ctx.set_kv_value("round", str(number))
        yield ctx.schedule_activity("Work", number)
    return rounds


@wb.activity("Work")
def work(ctx, number):
    ctx.trace_error(f"work {number}")
    if number == 5:
        go_on.wait(30)
    return number


run = wb.start(flow, 10)
wb.runtime.start()
"""
AT_ROUND_5 = "while run.kv.get('round') != '5': pass"
"""There the activity waits, so that nothing moves before `go_on` is set."""


# A panel on a run that worker threads move, while its user runs other cells.


def test_no_cell_shows_what_worker_threads_do(kernel: Kernel) -> None:
    """What they did is in the panel, once it looks: each turn once."""
    assert kernel.run(FLOW).is_empty
    kernel.run(AT_ROUND_5)
    [shown] = kernel.run("panel = run.stepper()\npanel").texts
    assert shown.startswith("Stepper at ")
    others = [kernel.run(f"{number} + 1") for number in range(5)]
    assert kernel.run("go_on.set()\nresult = wb.client.wait_for_orchestration(run.instance_id, 30_000)").is_empty
    others += [kernel.run(f"{number} + 1") for number in range(5, 10)]
    for number, each in enumerate(others):
        assert (each.stdout, each.stderr, each.texts) == ("", "", [str(number + 1)])
    assert kernel.run("panel.last()\nlen(panel.turns), panel.focus.address").texts == ["(6, '1.6')"]
    kernel.run("while len(panel.turns) < 11: panel._bar.next.click()")
    assert kernel.run("[turn.number for turn in panel.turns] == list(range(1, 12)), panel.error").texts == [
        "(True, None)"
    ]
    assert kernel.run("wb.runtime.shutdown()\npanel.close()\nwb.close()").is_empty


def test_a_handler_that_fails_in_a_kernel_writes_into_its_panel_and_no_cell(kernel: Kernel) -> None:
    kernel.run(FLOW)
    kernel.run(AT_ROUND_5)
    kernel.run("panel = run.stepper()")
    pressed = kernel.run("panel._bar.last.click()\npanel._bar.next.click()")
    assert pressed.is_empty
    [error] = kernel.run("panel.error").texts
    assert "wb.runtime is running" in error
    assert (
        kernel.run("print(panel._bar.next.disabled, panel._bar.next.description)").stdout == "False Run next turn ▶\n"
    )
    kernel.run("go_on.set()\nwb.runtime.shutdown()\npanel.close()\nwb.close()")


# The same panel without a browser and without a kernel.


@pytest.fixture
def opened() -> Iterator[tuple[Workbench, Run, Stepper]]:
    """A run of a counter with two turns, and a stepper on it."""
    before = set(_instances)
    with Workbench() as workbench:
        workbench.orchestration("Counter")(typed(COUNTER))
        workbench.activity("Noop")(lambda _, value: value)
        run = workbench.start("Counter", 5)
        run.turn()
        run.turn()
        with run.stepper() as stepper:
            yield workbench, run, stepper
    assert set(_instances) == before


def test_a_button_on_an_instance_that_is_gone_says_so_and_stays_usable(
    opened: tuple[Workbench, Run, Stepper], capsys: pytest.CaptureFixture[str]
) -> None:
    workbench, run, stepper = opened
    workbench.client.delete_instance(run.instance_id, force=True)
    stepper._bar.next.click()
    assert stepper.error is not None
    assert "counter-1" in stepper.error
    assert 'role="alert"' in stepper._alert.html
    assert not stepper._bar.next.disabled
    stepper._bar.next.click()
    assert stepper.error is not None
    assert capsys.readouterr() == ("", "")


def test_a_call_from_a_cell_raises_what_a_button_shows(opened: tuple[Workbench, Run, Stepper]) -> None:
    workbench, run, stepper = opened
    workbench.client.delete_instance(run.instance_id, force=True)
    with pytest.raises(LookupError, match="counter-1"):
        stepper.next()
    stepper._bar.next.click()
    assert stepper.error is not None
