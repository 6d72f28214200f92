"""P-13 as its user meets it: a cell is edited and run again while instances wait."""

from __future__ import annotations

import pytest

from tests.kernel import Kernel
from tests.magics.test_magics import ECHO, FLOW, WORKBENCH

NEW = FLOW.replace('"old"', '"NEW"')
BEHIND = FLOW.replace("return result", 'yield ctx.schedule_activity("Echo", "more")\n    return result')


@pytest.fixture
def waiting(kernel: Kernel) -> Kernel:
    """Two instances: flow-1 waits for its event, flow-2 has made one turn; a third has made none."""
    for cell in (WORKBENCH, ECHO, FLOW, 'run = wb.start("Flow")', "%turn", "%turn"):
        kernel.run(cell)
    kernel.run('other = wb.start("Flow")\nother.turn()\nidle = wb.start("Flow")')
    return kernel


def test_changed_code_says_of_each_instance_in_flight_where_it_would_diverge(waiting: Kernel) -> None:
    before = waiting.run('wb.sql("select * from history").to_csv()').texts
    shown = waiting.run(NEW)
    [text] = shown.texts
    where = 'flow, line 3: result = yield ctx.schedule_activity("Echo", "NEW")'
    assert text.splitlines() == [
        "Flow 1.0.0 has other code now; 2 instances in flight, replayed dry:",
        f"  flow-1  diverged (turn 1.1, event 3)  {where}",
        f"  flow-2  diverged (turn 1.1, event 3)  {where}",
    ]
    assert "Flow 1.0.0 has other code now" in shown.html[0]
    assert waiting.run('wb.sql("select * from history").to_csv()').texts == before  # nothing was committed


def test_a_change_behind_what_was_recorded_is_the_same_for_each(waiting: Kernel) -> None:
    [text] = waiting.run(BEHIND).texts
    assert [line.split(maxsplit=1) for line in text.splitlines()[1:]] == [
        ["flow-1", "same, still running"],
        ["flow-2", "same, still running"],
    ]


def test_the_same_code_says_nothing_wherever_it_stands_in_the_cell(waiting: Kernel) -> None:
    assert waiting.run(FLOW).is_empty
    assert waiting.run(FLOW.replace("Flow\n", "Flow\n\n# a comment\n")).is_empty


def test_changed_code_with_nothing_in_flight_says_that(kernel: Kernel) -> None:
    for cell in (WORKBENCH, ECHO, FLOW):
        kernel.run(cell)
    assert kernel.run(NEW).texts == ["Flow 1.0.0 has other code now; no instance is in flight"]


def test_another_version_leaves_instances_in_flight_on_theirs(waiting: Kernel) -> None:
    assert waiting.run(NEW.replace("Flow\n", "Flow --version 1.1.0\n")).is_empty
    waiting.run('run.raise_event("go")')
    assert waiting.run("run.finish().output").texts == ["'old'"]


def test_the_instance_in_flight_fails_and_names_both_requests_and_a_new_one_has_the_new_code(waiting: Kernel) -> None:
    waiting.run(NEW)
    waiting.run('run.raise_event("go")')
    [line] = waiting.run("%turn run").texts
    assert "diverged in turn 3: a recorded activity has another input now" in line
    shown = waiting.run("run.output")
    assert shown.error is not None
    assert 'recorded  activity Echo("old")' in shown.error
    assert 'now       activity Echo("NEW")' in shown.error
    waiting.run('late = wb.start("Flow", instance_id="late")\nlate.turn()\nlate.turn()\nlate.raise_event("go")')
    assert waiting.run("late.finish().output").texts == ["'NEW'"]


def test_the_same_is_had_without_magics(waiting: Kernel) -> None:
    assert waiting.run('wb.instances_in_flight("Flow"), wb.instances_in_flight("Flow", "2.0.0")').texts == [
        "(('flow-1', 'flow-2'), ())"
    ]
    waiting.run("@wb.orchestration('Flow')\n" + NEW.split("\n", 2)[2])
    report = waiting.run("report = wb.dry_run(flow)\nprint(report.text())").stdout
    assert "2 must stay on 1.0.0" in report
    assert "turn 1.1, event 3" in report
    assert "flow-1, flow-2" in report.replace(" (turn 1.1, event 3)", "")
    assert waiting.run("[row.verdict for row in wb.dry_run(flow, 'Other').rows]").texts == ["[]"]


def test_another_module_must_take_another_name(waiting: Kernel) -> None:
    module = "import types\nother_module = types.ModuleType('other_module')\n"
    code = NEW.split("\n", 2)[2]
    waiting.run(f"{module}exec({code!r}, other_module.__dict__)")
    shown = waiting.run("wb.orchestration('Flow')(other_module.flow)")
    assert shown.error is not None
    assert "registered by module '__main__'; module 'other_module' must take another name" in shown.error


def test_a_turn_that_is_being_made_finishes_with_the_code_it_began_with(kernel: Kernel) -> None:
    slow = """%%orchestration Slow
def slow(ctx, given):
    begun.set()
    go_on.wait(30)
    return "old\""""
    kernel.run(f"{WORKBENCH}\nimport threading\nbegun, go_on = threading.Event(), threading.Event()")
    kernel.run(slow)
    kernel.run('run = wb.start("Slow")\nwb.runtime.start()\nbegun.wait(30)')
    assert kernel.run(slow.replace('"old"', '"NEW"')).texts == [
        "Slow 1.0.0 has other code now; no instance is in flight"
    ]
    kernel.run("go_on.set()\nresult = wb.client.wait_for_orchestration(run.instance_id, 30_000)\nwb.runtime.shutdown()")
    assert kernel.run("run.output").texts == ["'old'"]
