"""The magics in a real kernel: cells that define code, `%turn`, `%kv`, and clear words when something is missing."""

from __future__ import annotations

import pytest

from tests.kernel import Kernel

WORKBENCH = "from workbench import Workbench\nwb = Workbench()"
FLOW = """%%orchestration Flow

def flow(ctx, given):
    ctx.set_kv_value("step", "1")
    result = yield ctx.schedule_activity("Echo", "old")
    yield ctx.wait_for_event("go")
    return result"""
ECHO = """%%activity Echo
def echo(ctx, value):
    return value"""


@pytest.fixture
def flow(kernel: Kernel) -> Kernel:
    """A kernel with a workbench on which Flow and Echo are registered."""
    for cell in (WORKBENCH, ECHO, FLOW):
        assert kernel.run(cell).is_empty
    return kernel


def test_turn_makes_one_turn_of_the_run_started_last_and_shows_it(flow: Kernel) -> None:
    flow.run('first = wb.start("Flow")\nsecond = wb.start("Flow")')
    [text] = flow.run("%turn").texts
    assert text.startswith("Turn 1.1 of flow-2: woken by the start of Flow")
    assert flow.run("%turn first").texts[0].startswith("Turn 1.1 of flow-1")
    assert flow.run("%turn flow-1").texts[0].startswith("Turn 1.2 of flow-1: woken by activity Echo completed")
    assert flow.run("len(first.turns), len(second.turns)").texts == ["(2, 1)"]


def test_lines_and_source_are_those_of_the_cell(flow: Kernel) -> None:
    flow.run('run = wb.start("Flow")')
    shown = flow.run("turn = %turn\nprint(turn.text())").stdout
    assert "line 2" in shown
    assert "flow, line 3" in shown
    assert flow.run("turn.operations[1].chain[0].line").texts == ["5"]  # as the cell counts them
    assert 'result = <span class="workbench-keyword">yield</span>' in flow.run("turn").html[0]


def test_kv_shows_both_tables_and_what_a_client_reads(flow: Kernel) -> None:
    flow.run('run = wb.start("Flow")')
    assert flow.run("%kv").texts == ["flow-1: no keys"]
    flow.run("%turn")
    [shown] = flow.run("%kv run step").texts
    assert [line.split() for line in shown.splitlines()] == [
        ["flow-1,", "delta", "model"],
        ["key", "snapshot", "delta", "client"],
        ["step", "–", "1", "1"],
    ]
    assert flow.run("%kv").texts == flow.run("%kv step").texts == flow.run("%kv flow-1").texts == [shown]
    assert flow.run("%kv run other").texts == ["flow-1: no key other"]
    assert flow.run("now = %kv\nnow.frame().values.tolist()").texts == ["[['step', None, '1', '1']]"]


def test_the_workbench_is_the_one_named_else_the_one_made_last_that_is_open(flow: Kernel) -> None:
    flow.run('older = wb\nnewer = Workbench(kv_model="per-turn")')
    flow.run("%%orchestration A --on older\ndef a(ctx, given):\n    return 1")
    flow.run("%%orchestration B\ndef b(ctx, given):\n    return 2")
    flow.run("newer.close()")
    flow.run("%%orchestration C --version 2.1.0\ndef c(ctx, given):\n    return 3")
    names = "[sorted(each.registry._orchestrations) for each in (older, newer)]"
    assert flow.run(names).texts == ["[['A', 'C', 'Flow'], ['B']]"]
    assert flow.run('older.registry.orchestration("C").version').texts == ["'2.1.0'"]


def test_without_a_name_every_function_of_two_parameters_has_its_own(kernel: Kernel) -> None:
    kernel.run(WORKBENCH)
    cell = "%%orchestration\ndef helper(n):\n    return n + 1\n\ndef one(ctx, n):\n    return helper(n)\n\n"
    assert kernel.run(f"{cell}async def two(ctx, n):\n    return n").is_empty
    assert kernel.run("sorted(wb.registry._orchestrations)").texts == ["['one', 'two']"]
    assert kernel.run("wb.start('one', 1).finish().output, helper(1)").texts == ["(2, 2)"]


def test_a_name_with_blanks_stands_in_quotes(kernel: Kernel) -> None:
    kernel.run(WORKBENCH)
    assert kernel.run('%%activity "Say hello"\ndef say(ctx, who):\n    return who').is_empty
    assert kernel.run("wb.registry.activity_names()").texts == ["('Say hello',)"]


def test_a_cell_that_fails_registers_nothing(kernel: Kernel) -> None:
    kernel.run(WORKBENCH)
    shown = kernel.run("%%orchestration\ndef flow(ctx, n):\n    return n\nraise ValueError('no')")
    assert shown.error == "ValueError: no"
    assert kernel.run("%%orchestration\ndef flow(ctx, n)\n    return n").error is not None
    assert kernel.run("wb.registry._orchestrations").texts == ["{}"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%orchestration Flow\ndef f(ctx, n): pass", "there is no open workbench here"),
        ("%turn", "no run was started here"),
        ("%kv", "no run was started here"),
        ("%turn flow-9", "flow-9 is no variable that holds a run and no instance; instances: none"),
        ("%kv a b", "a is no variable that holds a run"),
        ("%kv a b c", "%kv takes a run and a key"),
        ("%%activity --on x\ndef f(ctx, n): pass", "--on x: no variable of that name holds a Workbench"),
    ],
)
def test_what_is_missing_is_said_in_one_line(kernel: Kernel, cell: str, said: str) -> None:
    shown = kernel.run(cell)
    assert shown.stderr.startswith("UsageError: ")
    assert said in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_a_cell_with_nothing_to_register_or_too_much_says_so(flow: Kernel) -> None:
    assert "defines no function of two parameters" in flow.run("%%orchestration\nx = 1").stderr
    two = "%%activity One\ndef a(ctx, n): pass\ndef b(ctx, n): pass"
    assert "the name One is for one function, and this cell defines a, b" in flow.run(two).stderr


def test_a_magic_says_how_it_is_used(kernel: Kernel) -> None:
    for name in ("%%orchestration", "%%activity", "%turn", "%kv"):
        shown = kernel.run(
            f"print(get_ipython().find_magic({name.strip('%')!r}, "
            f"{'cell' if name.startswith('%%') else 'line'!r}).__doc__)"
        ).stdout
        assert name.strip("%") in shown
        assert "run" in shown or "name" in shown
