"""An instance waits, its code is changed and registered again, the awaited event comes: what the next turn says.

One row for each change of which the reference engine's verdict is known (facts: peers §5.3, semantics §3.3). Several
of these it accepts; here only what is new work, another delay or another status text goes on.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import count
from typing import Any, NamedTuple

import pytest

from tests.cases.edited import edited, line_of
from workbench import Recording, Run, Workbench
from workbench.runtime.divergence import Kind
from workbench.runtime.errors import NondeterminismError


def order(ctx: Any, given: object) -> Generator[Any, Any, str]:
    ctx.set_kv_value("a", "1")
    ctx.set_custom_status("one")
    yield ctx.schedule_activity("Work", "go")
    ctx.set_kv_value("b", "2")
    ctx.set_kv_value("c", "3")
    ctx.clear_kv_value("a")
    yield ctx.schedule_timer(50)
    yield ctx.schedule_sub_orchestration("Child", 1)
    yield ctx.wait_for_event("proceed")
    return "done"


SET_A, SET_B, SET_C = (f'ctx.set_kv_value("{key}", "{number}")' for number, key in enumerate("abc", 1))
STATUS, CLEAR_A = 'ctx.set_custom_status("one")', 'ctx.clear_kv_value("a")'
WORK, TIMER = 'yield ctx.schedule_activity("Work", "go")', "yield ctx.schedule_timer(50)"
CHILD, WAIT = 'yield ctx.schedule_sub_orchestration("Child", 1)', 'yield ctx.wait_for_event("proceed")'
RACE = 'yield ctx.race(ctx.wait_for_event("proceed"), ctx.schedule_timer(1))'
EXTRA = 'yield ctx.schedule_activity("Extra", 1)'
CLEAR_ALL = "ctx.clear_all_kv_values()"


class Change(NamedTuple):
    """An edit, the turn and event where it is met, the line shown, and what lines up afterwards."""

    before: str
    after: str
    kind: Kind
    turn: int
    event: int | None
    line: str
    lines_up: tuple[int, int]


CHANGES = [
    # An operation with other contents, or another one in its place.
    Change(WORK, "yield ctx.schedule_timer(7)", "changed", 1, 4, "yield ctx.schedule_timer(7)", (6, 6)),
    Change('"Work"', '"Work2"', "changed", 1, 4, WORK.replace("Work", "Work2"), (6, 6)),
    Change('"go"', '"go2"', "changed", 1, 4, WORK.replace("go", "go2"), (6, 6)),
    Change('"go")', '"go", "s1")', "changed", 1, 4, WORK.replace('"go"', '"go", "s1"'), (6, 6)),
    Change('"go")', '"go").with_tag("gpu")', "changed", 1, 4, f'{WORK}.with_tag("gpu")', (6, 6)),
    Change('"a", "1"', '"a", "9"', "changed", 1, 2, 'ctx.set_kv_value("a", "9")', (8, 8)),
    Change('"a", "1"', '"aa", "1"', "changed", 1, 2, 'ctx.set_kv_value("aa", "1")', (8, 8)),
    Change(SET_C, 'ctx.clear_kv_value("c")', "changed", 2, 7, 'ctx.clear_kv_value("c")', (4, 4)),
    Change(CLEAR_A, 'ctx.clear_kv_value("b")', "changed", 2, 8, 'ctx.clear_kv_value("b")', (3, 3)),
    Change(CLEAR_A, CLEAR_ALL, "changed", 2, 8, CLEAR_ALL, (3, 3)),
    Change('"Child", 1', '"Child", 2', "changed", 3, 11, CHILD.replace("1", "2"), (1, 1)),
    Change('"Child"', '"Other"', "changed", 3, 11, CHILD.replace("Child", "Other"), (1, 1)),
    Change('"proceed"', '"go_ahead"', "changed", 4, 13, WAIT.replace("proceed", "go_ahead"), (0, 0)),
    # An operation that is no longer made: the line is that of the next one.
    Change(WORK, "pass", "removed", 1, 4, SET_B, (6, 6)),
    Change(SET_A, "pass", "removed", 1, 2, STATUS, (8, 8)),
    Change(STATUS, "pass", "removed", 1, 3, WORK, (7, 7)),
    Change(TIMER, "pass", "removed", 2, 9, CHILD, (2, 2)),
    Change(CHILD, "pass", "removed", 3, 11, WAIT, (1, 1)),
    # One that was not made before.
    Change(STATUS, f'ctx.set_kv_value("z", "0")\n{STATUS}', "added", 1, 3, 'ctx.set_kv_value("z", "0")', (8, 8)),
    Change(SET_C, f"{SET_B}\n{SET_C}", "added", 2, 7, SET_B, (5, 5)),
    Change(WAIT, f"{EXTRA}\n{WAIT}", "added", 4, 13, EXTRA, (1, 1)),
    Change(WAIT, RACE, "added", 4, None, RACE, (0, 0)),
    # The same operations in another order, inside a turn and across turns.
    Change(f"{SET_B}\n    {SET_C}", f"{SET_C}\n{SET_B}", "moved", 2, 6, SET_C, (5, 5)),
    Change(f"{TIMER}\n    {CHILD}", f"{CHILD}\n{TIMER}", "moved", 2, 9, CHILD, (2, 2)),
    Change(f"{CLEAR_A}\n    {TIMER}", f"{TIMER}\n{CLEAR_A}", "moved", 2, 8, TIMER, (3, 3)),
    Change(f"{WORK}\n    {SET_B}", f"{SET_B}\n{WORK}", "moved", 1, 4, SET_B, (6, 6)),
    # The code ends where the history goes on.
    Change(WAIT, 'return "early"', "ended early", 4, 13, 'return "early"', (0, 0)),
    Change(SET_A, 'return "at once"', "ended early", 1, 2, 'return "at once"', (0, 8)),
    Change(SET_B, 'raise KeyError("b")', "ended early", 2, 6, 'raise KeyError("b")', (0, 5)),
    Change(TIMER, "yield ctx.continue_as_new(1)", "ended early", 2, 9, "yield ctx.continue_as_new(1)", (0, 2)),
]

ACCEPTED = [
    # Before, after, what the instance ends with (None: it goes on), what replay notes about it.
    ("50", "86_400_000", "done", [("timer delay", "50 ms", "86400000 ms")]),
    ('"one"', '"two"', "done", [("custom status", "'one'", "'two'")]),
    ('"done"', '"DONE"', "DONE", []),
    ('return "done"', 'ctx.set_kv_value("new", "1")\nreturn "done"', "done", []),
    ('return "done"', f'{EXTRA}\nreturn "done"', None, []),
]


@pytest.fixture(scope="module")
def factory() -> Iterator[Workbench]:
    with Workbench() as wb:

        @wb.orchestration("Child")
        def child(ctx: Any, given: object) -> object:
            return given

        @wb.activity("Work")
        def work(ctx: object, given: object) -> object:
            return given

        yield wb


_numbers = count(1)


def waiting(wb: Workbench) -> Run:
    """An instance of its own orchestration that has come to wait for the event."""
    name = f"Order{next(_numbers)}"
    wb.orchestration(name)(order)
    run = wb.start(name)
    for _ in range(4):
        turn = run.turn()
    assert turn.waiting_for == ("wait for event 'proceed', event 13",)
    return run


def change(wb: Workbench, run: Run, before: str, after: str) -> None:
    wb.orchestration(run.orchestration)(edited(order, before, after))


@pytest.fixture(scope="module")
def recorded(factory: Workbench) -> Recording:
    return waiting(factory).recording()


@pytest.mark.parametrize("edit", CHANGES, ids=[f"{edit.kind}: {edit.after}" for edit in CHANGES])
def test_a_change_is_named_where_it_was_made(recorded: Recording, edit: Change) -> None:
    divergence = recorded.replay(edited(order, edit.before, edit.after)).divergence
    assert divergence is not None
    assert (divergence.kind, divergence.turn, divergence.recorded_turn) == (edit.kind, edit.turn, edit.turn)
    assert (None if divergence.recorded is None else divergence.recorded.event_id) == edit.event
    assert line_of(divergence) == edit.line
    assert divergence.lines_up == edit.lines_up
    assert not divergence.impure


MET_LIVE = [
    next(edit for edit in CHANGES if edit.kind == kind) for kind in dict.fromkeys(edit.kind for edit in CHANGES)
]


@pytest.mark.parametrize("edit", MET_LIVE, ids=[f"{edit.kind}: {edit.after}" for edit in MET_LIVE])
def test_the_turn_that_the_event_wakes_says_the_same(factory: Workbench, edit: Change) -> None:
    run = waiting(factory)
    change(factory, run, edit.before, edit.after)
    before = run.turns[-1].divergence
    assert before is not None
    assert (before.kind, before.turn, before.lines_up) == (edit.kind, edit.turn, edit.lines_up)
    assert (run.status, run.divergence_text) == ("Running", None)

    run.raise_event("proceed")
    divergence = run.turn().divergence
    assert divergence is not None
    assert (divergence.kind, divergence.turn, divergence.recorded_turn) == (edit.kind, 5, edit.turn)
    assert (line_of(divergence), divergence.lines_up) == (edit.line, edit.lines_up)
    assert run.status == "Failed"
    with pytest.raises(NondeterminismError) as raised:
        _ = run.output
    assert str(raised.value) == divergence.text()


@pytest.mark.parametrize(("before", "after", "output", "noted"), ACCEPTED, ids=[row[1] for row in ACCEPTED])
def test_new_work_another_delay_and_another_status_go_on(
    factory: Workbench, before: str, after: str, output: str | None, noted: list[tuple[str, str, str]]
) -> None:
    run = waiting(factory)
    change(factory, run, before, after)
    replay = run.recording().replay(edited(order, before, after))
    assert replay.verdict == "same, still running"
    assert [(each.what, each.recorded, each.now) for each in replay.strict_differences] == noted
    run.raise_event("proceed")
    assert run.turn().divergence is None
    assert run.output == output


def test_the_unchanged_code_registered_again_changes_nothing(factory: Workbench) -> None:
    run = waiting(factory)
    change(factory, run, "50", "50")
    run.raise_event("proceed")
    assert run.turn().divergence is None
    assert run.output == "done"
