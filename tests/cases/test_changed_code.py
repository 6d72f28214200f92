"""Changed code parts from a real recording at the right event, on the right line, under the right name.

Each row is one edit of the recorded code: what was there, what stands there now, and how it must be named: the kind,
the recorded event, the line that the message points at, and how many of the later operations line up.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import pytest

from tests.cases import programs
from tests.cases.edited import Code, edited, line_of
from tests.cases.recorded import recording
from workbench.runtime.divergence import Kind
from workbench.runtime.errors import NondeterminismError


class Edit(NamedTuple):
    before: str
    after: str
    kind: Kind
    event: int | None
    line: str
    lines_up: tuple[int, int] | None


SET_N = 'ctx.set_kv_value("n", str(n + 1))'
ECHO_1 = 'yield ctx.schedule_activity("Echo", 1)'
# What is edited in a loop differs in each of its rounds, and what stands between lines up.
COUNTER = [
    Edit("str(n + 1)", "str(n + 2)", "changed", 2, 'ctx.set_kv_value("n", str(n + 2))', (3, 5)),
    Edit('"n", str', '"m", str', "changed", 2, 'ctx.set_kv_value("m", str(n + 1))', (3, 5)),
    Edit('"Echo", 1', '"Echo", 2', "changed", 3, 'yield ctx.schedule_activity("Echo", 2)', (2, 4)),
    Edit("Echo", "Ecco", "changed", 3, 'yield ctx.schedule_activity("Ecco", 1)', (2, 4)),
    Edit(ECHO_1, "yield ctx.schedule_timer(5)", "changed", 3, "yield ctx.schedule_timer(5)", (2, 4)),
    Edit(SET_N, "pass", "removed", 2, ECHO_1, (3, 5)),
    Edit(ECHO_1, f'ctx.clear_kv_value("x")\n{ECHO_1}', "added", 3, 'ctx.clear_kv_value("x")', (5, 5)),
    Edit(f"{SET_N}\n        {ECHO_1}", f"{ECHO_1}\n{SET_N}", "moved", 2, ECHO_1, (5, 5)),
    Edit("range(3)", "range(2)", "ended early", 8, 'return ctx.get_kv_value("n")', (0, 1)),
    Edit("range(3)", "range(4)", "runs on", 11, SET_N, (0, 0)),
    Edit("return ctx", "yield ctx.new_guid()\nreturn ctx", "added", None, "yield ctx.new_guid()", (0, 0)),
]

CLEANUP_WRITE = 'ctx.set_kv_value("cleanup", "ran")'
CLEANUP = [
    Edit('"ran"', '"run"', "changed", 6, 'ctx.set_kv_value("cleanup", "run")', (0, 0)),
    Edit(CLEANUP_WRITE, "pass", "removed", 6, 'return "ok"', (0, 0)),
    Edit('yield ctx.schedule_activity("Echo", 2)', "pass", "removed", 4, CLEANUP_WRITE, (1, 1)),
]
LEASE = [
    Edit("with Lease(ctx)", "if True", "removed", 2, 'yield ctx.schedule_activity("Slow", 1)', (2, 4)),
    Edit('"go"', '"stop"', "changed", 5, 'yield ctx.wait_for_event("stop")', (2, 2)),
    Edit("wait_for_event", "dequeue_event", "changed", 5, 'yield ctx.dequeue_event("go")', (2, 2)),
]

COMPENSATE = 'done.append((yield ctx.schedule_activity("Echo", f"comp{number}")))'
TRY = 'done.append((yield ctx.schedule_activity("Boom", number)))'
COMPENSATION = [
    Edit('f"comp{number}"', "0", "changed", 4, 'done.append((yield ctx.schedule_activity("Echo", 0)))', (2, 3)),
    Edit(COMPENSATE, "pass", "removed", 4, 'done.append((yield ctx.schedule_activity("Echo", number)))', (2, 3)),
    Edit("range(3)", "range(1)", "ended early", 6, "return done", (0, 2)),
    Edit(COMPENSATE, "raise", "ended early", 4, TRY, (0, 3)),
]

ALL = "ctx.all([member, member])"
SAME_TASK = [
    Edit("second = yield task", "second = first", "removed", 4, f"both = yield {ALL}", (2, 2)),
    Edit(ALL, "ctx.all([member])", "removed", 7, "both = yield ctx.all([member])", (0, 0)),
    Edit(ALL, "ctx.all(3 * [member])", "added", None, "both = yield ctx.all(3 * [member])", (0, 0)),
    Edit(ALL, "ctx.race(member, member)", "race changed", None, "both = yield ctx.race(member, member)", None),
]

# A timer matches by its position; something else in its place does not.
TIMER = [
    Edit("yield ctx.schedule_timer(100)", "pass", "removed", 2, 'yield ctx.schedule_activity("Echo", 2)', (1, 1)),
    Edit("schedule_timer(100)", 'wait_for_event("E")', "changed", 2, 'yield ctx.wait_for_event("E")', (1, 1)),
    Edit('yield ctx.schedule_activity("Echo", 2)', "pass", "removed", 4, "return 3", (0, 0)),
]

CLEAR = "ctx.clear_all_kv_values()"
SET_A = 'ctx.set_kv_value("a", "2")'
CLEAR_AND_SET = [
    Edit(CLEAR, "pass", "removed", 2, SET_A, (2, 2)),
    Edit(CLEAR, 'ctx.clear_kv_value("a")', "changed", 2, 'ctx.clear_kv_value("a")', (2, 2)),
    Edit(f"{CLEAR}\n    {SET_A}", f"{SET_A}\n{CLEAR}", "moved", 2, SET_A, (2, 2)),
    Edit('ctx.set_kv_value("b", "1")', "pass", "removed", 3, ECHO_1, (1, 1)),
    Edit("yield ctx.continue_as_new(1)", "pass", "runs on", 6, CLEAR, (0, 0)),
]

WAIT = 'return (yield ctx.wait_for_event("E"))'
EARLY_EVENT = [
    Edit('"E"', '"F"', "changed", 5, 'return (yield ctx.wait_for_event("F"))', (0, 0)),
    Edit('yield ctx.schedule_activity("Slow", 1)', "pass", "removed", 2, WAIT, (1, 1)),
    Edit(WAIT, 'return "early"', "ended early", 5, 'return "early"', (0, 0)),
]

EVENT, TIMER_700 = 'ctx.wait_for_event("E")', "ctx.schedule_timer(700)"
RACE = f"ctx.race({EVENT}, {TIMER_700})"
SWAPPED, TOGETHER = f"ctx.race({TIMER_700}, {EVENT})", f"ctx.all([{EVENT}, {TIMER_700}])"
EVENT_TWICE = [
    Edit(RACE, TIMER_700, "removed", 5, f"second = yield {TIMER_700}", (1, 1)),
    Edit(RACE, SWAPPED, "moved", 5, f"second = yield {SWAPPED}", (1, 1)),
    Edit(RACE, TOGETHER, "runs on", 9, f"second = yield {TOGETHER}", None),
]

EDITS: list[tuple[str, str, Code, list[Edit]]] = [
    ("P-01", "a", programs.read_modify_write, COUNTER),
    ("P-02", "a", programs.cleanup_in_finally, CLEANUP),
    ("P-02b", "a", programs.lease, LEASE),
    ("P-03", "a", programs.compensation, COMPENSATION),
    ("P-04", "a", programs.same_task_twice, SAME_TASK),
    ("P-06", "a", programs.timer_then_activity, TIMER),
    ("P-11", "x", programs.clear_and_set, CLEAR_AND_SET),
    ("P-12", "a", programs.event_before_the_wait, EARLY_EVENT),
    ("P-12", "b", programs.event_twice, EVENT_TWICE),
]


@pytest.mark.parametrize(
    ("case", "instance_id", "program", "edit"),
    [
        pytest.param(case, instance_id, program, edit, id=f"{case} {instance_id}: {edit.kind}, {edit.after}")
        for case, instance_id, program, edits in EDITS
        for edit in edits
    ],
)
def test_an_edit_is_named_where_it_was_made(case: str, instance_id: str, program: Code, edit: Edit) -> None:
    replay = recording(case, instance_id).replay(edited(program, edit.before, edit.after))
    assert replay.verdict == "diverged"
    divergence = replay.divergence
    assert divergence is not None
    assert divergence.kind == edit.kind
    assert (None if divergence.recorded is None else divergence.recorded.event_id) == edit.event
    assert line_of(divergence) == edit.line
    assert divergence.lines_up == edit.lines_up
    assert not divergence.impure
    with pytest.raises(NondeterminismError) as raised:
        replay.raise_for_verdict()
    assert str(raised.value) == divergence.text()


@pytest.mark.parametrize(
    ("case", "instance_id", "program", "before", "after"),
    [
        ("P-01", "a", programs.read_modify_write, 'return ctx.get_kv_value("n")', "return 4"),
        ("P-01", "a", programs.read_modify_write, 'return ctx.get_kv_value("n")', 'raise ValueError("no")'),
        ("P-02", "a", programs.cleanup_in_finally, '"ok"', '"OK"'),
        ("P-03", "a", programs.compensation, 'f"E:', 'f"F:'),
        ("P-11", "x", programs.clear_and_set, "continue_as_new(1)", "continue_as_new(2)"),
        ("P-11", "x", programs.clear_and_set, "yield ctx.continue_as_new(1)", "return 1"),
    ],
)
def test_only_another_ending_is_a_different_outcome(
    case: str, instance_id: str, program: Code, before: str, after: str
) -> None:
    replay = recording(case, instance_id).replay(edited(program, before, after))
    assert replay.verdict == "different outcome"
    assert replay.divergence is None
    with pytest.raises(NondeterminismError, match="different outcome"):
        replay.raise_for_verdict()


@pytest.mark.parametrize("delay_ms", ["50", "99", "102", "86_400_000"])
def test_p_06_another_delay_is_a_strict_difference_with_its_line(delay_ms: str) -> None:
    replay = recording("P-06").replay(edited(programs.timer_then_activity, "100", delay_ms))
    assert replay.verdict == "same"
    [difference] = replay.strict_differences
    assert (difference.turn, difference.event_id, difference.what) == (1, 2, "timer delay")
    assert (difference.recorded, difference.now) == ("100 to 101 ms", f"{int(delay_ms)} ms")
    assert [line.line - line.first_line + 1 for line in difference.chain] == [3]


@pytest.mark.parametrize("delay_ms", ["100", "101"])
def test_p_06_a_delay_that_the_record_allows_is_no_difference(delay_ms: str) -> None:
    replay = recording("P-06").replay(edited(programs.timer_then_activity, "100", delay_ms))
    assert replay.strict_differences == ()


def test_under_a_profiler_the_line_of_a_return_is_left_out_and_the_profiler_stays() -> None:
    def watch(*_: object) -> None: ...

    changed = edited(programs.read_modify_write, "range(3)", "range(2)")
    recorded = recording("P-01")
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        divergence = recorded.replay(changed).divergence
        assert sys.getprofile() is watch
    finally:
        sys.setprofile(before)
    assert divergence is not None
    assert (divergence.kind, divergence.chain) == ("ended early", ())
    assert "after the last line of the code" in divergence.text()
