"""What a turn says of itself: reads and where their values came from, tables, lines, warnings, refusals."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.cases.edited import typed
from workbench import Limits, Run, Workbench
from workbench.runtime.divergence import Read
from workbench.runtime.kv import DELTA, PER_TURN, Entry, KVModel, Tables
from workbench.runtime.lines import describe_line
from workbench.runtime.turn import Turn

Flow = Generator[Any, Any, Any]


def reads(turn: Turn) -> list[Read]:
    return [each.read for each in turn.operations if each.read is not None]


def told(read: Read) -> tuple[str, str | None, str, int | None, int | None]:
    return read.key, read.value, read.origin, read.turn, read.event_id


def carried(ctx: Any, rounds: int) -> Flow:
    """Execution 1 leaves two keys; execution 2 reads, writes, clears, and reads again in a later turn."""
    if rounds:
        ctx.set_kv_value("kept", "1")
        ctx.set_kv_value("cleared", "1")
        yield ctx.schedule_timer(1)
        yield ctx.continue_as_new(rounds - 1)
    before = [ctx.get_kv_value(key) for key in ("kept", "cleared", "written", "absent")]
    ctx.set_kv_value("written", "2")
    ctx.clear_kv_value("cleared")
    yield ctx.schedule_timer(1)
    ctx.set_kv_value("late", "3")
    after = [ctx.get_kv_value(key) for key in ("kept", "cleared", "written", "late", "absent")]
    return [before, after]


def finished(wb: Workbench, code: Any, given: object = None) -> Run:
    wb.orchestration("Flow")(code)
    run = wb.start("Flow", given)
    run.finish()
    return run


def test_every_read_says_where_its_value_came_from(wb: Workbench) -> None:
    run = finished(wb, carried, 1)
    assert [turn.address for turn in run.turns] == ["1.1", "1.2", "2.1", "2.2"]
    assert [told(read) for read in reads(run.turns[2])] == [
        ("kept", "1", "snapshot", None, None),
        ("cleared", "1", "snapshot", None, None),
        ("written", None, "never set", None, None),
        ("absent", None, "never set", None, None),
    ]
    assert [told(read) for read in reads(run.turns[3])] == [
        ("kept", "1", "snapshot", None, None),
        ("cleared", None, "cleared", 1, 3),
        ("written", "2", "set", 1, 2),
        ("late", "3", "set", 2, 6),
        ("absent", None, "never set", None, None),
    ]
    assert run.output == [["1", "1", None, None], ["1", None, "2", "3", None]]


def test_a_read_that_was_carried_over_is_healthy_on_both_models(either: Workbench) -> None:
    run = finished(either, carried, 1)
    assert not any(read.poisoned for read in reads(run.turns[2]))


def test_on_the_first_design_each_read_of_what_this_execution_changed_is_poisoned() -> None:
    with Workbench(kv_model=PER_TURN) as wb:
        run = finished(wb, carried, 1)
        last = run.turns[3]
        again = [each.read for each in last.replayed if each.read is not None]
        assert [(read.key, read.value, read.poisoned, read.written_by) for read in again] == [
            ("kept", "1", False, None),
            ("cleared", None, True, 3),
            ("written", "2", True, 2),
            ("absent", None, False, None),
        ]
        assert run.output == [["1", None, "2", None], ["1", None, "2", "3", None]]


def values(table: Any) -> dict[str, str | None]:
    return {key: entry.value for key, entry in table.items()}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            DELTA,
            {
                "1.1": ({}, {}, {"kept": "1", "cleared": "1"}),
                "1.2": ({}, {"kept": "1", "cleared": "1"}, {}),
                "2.1": (
                    {"kept": "1", "cleared": "1"},
                    {"kept": "1", "cleared": "1"},
                    {"cleared": None, "written": "2"},
                ),
                "2.2": ({"kept": "1", "cleared": "1"}, {"kept": "1", "written": "2", "late": "3"}, {}),
            },
        ),
        (
            PER_TURN,
            {
                "1.1": ({}, {"kept": "1", "cleared": "1"}, {}),
                "1.2": ({"kept": "1", "cleared": "1"}, {"kept": "1", "cleared": "1"}, {}),
                "2.1": ({"kept": "1", "cleared": "1"}, {"kept": "1", "written": "2"}, {}),
                "2.2": ({"kept": "1", "written": "2"}, {"kept": "1", "written": "2", "late": "3"}, {}),
            },
        ),
    ],
)
def test_snapshot_store_and_delta_around_each_turn(
    model: KVModel, expected: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str | None]]]
) -> None:
    with Workbench(kv_model=model) as wb:
        turns = finished(wb, carried, 1).turns
        seen = {
            turn.address: (values(turn.snapshot), values(turn.after.store), values(turn.after.delta)) for turn in turns
        }
        assert seen == expected
        assert turns[0].before == Tables()
        assert [turn.changed_keys for turn in turns] == [("cleared", "kept"), (), ("cleared", "written"), ("late",)]


def test_an_entry_knows_when_it_was_written_and_on_the_first_design_by_which_execution() -> None:
    times = []
    for model in (DELTA, PER_TURN):
        with Workbench(kv_model=model) as wb:
            run = finished(wb, carried, 1)
            start = run.turns[0].now_ms
            written = run.turns[-1].after.store["written"]
            assert written == Entry("2", start + 1, 2 if model == PER_TURN else 0)
            times.append(run.turns[-1].after.store["late"].last_updated_at_ms - start)
    assert times == [2, 2]


def test_reading_everything_reads_each_key(wb: Workbench) -> None:
    def flow(ctx: Any, _: object) -> object:
        ctx.set_kv_value("b", "2")
        ctx.set_kv_value("a", "1")
        return [ctx.get_kv_all_values(), ctx.get_kv_all_keys(), ctx.get_kv_length()]

    run = finished(wb, flow)
    assert run.output == [{"a": "1", "b": "2"}, ["a", "b"], 2]
    assert [told(read) for read in reads(run.turns[0])] == [("a", "1", "set", 1, 3), ("b", "2", "set", 1, 2)]
    assert [each.text for each in run.turns[0].operations if each.number is None][-1] == "keys → a, b"


NESTED = """
    def helper(ctx):
        ctx.set_kv_value("k", "v")
        yield ctx.schedule_timer(1)

    def outer(ctx, _given):
        ctx.set_custom_status("s")
        yield from helper(ctx)
        return "done"
"""


def test_every_operation_has_the_lines_that_lead_to_it(wb: Workbench) -> None:
    turn = finished(wb, typed(NESTED)).turns[0]
    lines = [[describe_line(line) for line in each.chain] for each in turn.operations]
    assert lines == [["outer, line 2"], ["helper, line 2", "outer, line 3"], ["helper, line 3", "outer, line 3"]]
    assert [describe_line(line) for line in turn.parked] == ["helper, line 3", "outer, line 3"]


def test_operations_are_numbered_and_those_of_earlier_turns_are_replayed(wb: Workbench) -> None:
    last = finished(wb, carried, 0).turns[-1]
    made = [(each.turn, each.number, each.event_id, each.state) for each in last.operations if each.number is not None]
    again = [(each.turn, each.number, each.event_id, each.state) for each in last.replayed if each.number is not None]
    assert again == [(1, 1, 2, "replayed"), (1, 2, 3, "replayed"), (1, 3, 4, "replayed")]
    assert made == [(2, 1, 6, "new")]


def test_a_task_that_was_made_and_never_yielded_is_named_once_at_the_end(wb: Workbench) -> None:
    def forgetful(ctx: Any, _: object) -> Flow:
        ctx.schedule_activity("Echo", "forgotten")
        yield ctx.schedule_timer(1)

    run = finished(wb, forgetful)
    assert [turn.warnings for turn in run.turns] == [(), ('activity Echo("forgotten") was made and never yielded',)]


def test_code_that_is_parked_writes_nothing_when_it_is_closed(wb: Workbench) -> None:
    closed = []

    def guarded(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.wait_for_event("go")
            yield ctx.wait_for_event("again")
        finally:
            closed.append(ctx.is_replaying)
            ctx.set_kv_value("cleanup", "ran")
        return "done"

    wb.orchestration("Flow")(guarded)
    run = wb.start("Flow")
    for event in ("go", "again"):
        run.turn()
        assert run.kv == {}
        run.raise_event(event)
    run.turn()
    assert (run.output, run.kv) == ("done", {"cleanup": "ran"})
    assert len(closed) == 3
    assert sum(event.key == "cleanup" for turn in run.turns for event in turn.events) == 1


def test_a_turn_that_breaks_a_limit_keeps_its_arrivals_and_shows_what_was_refused() -> None:
    with Workbench(limits=Limits(kv_keys=1)) as wb:

        def greedy(ctx: Any, _: object) -> Flow:
            ctx.set_kv_value("a", "1")
            yield ctx.wait_for_event("go")
            ctx.set_kv_value("b", "2")
            return "not reached"

        wb.orchestration("Flow")(greedy)
        run = wb.start("Flow")
        run.turn()
        run.raise_event("go")
        turn = run.turn()
        assert turn.refused == "KV key count (2) exceeds limit (1)"
        assert [(each.state, each.text) for each in turn.operations] == [("refused", 'set b = "2"')]
        assert [event.type for event in turn.events] == ["ExternalEvent", "OrchestrationFailed"]
        assert (run.status, run.error, run.kv) == ("Failed", turn.refused, {"a": "1"})
        assert run.turns[-1].text() == turn.text()
        assert run.recording().replay(greedy).verdict == "same"


def test_an_outcome_says_how_it_stands(wb: Workbench) -> None:
    def flow(ctx: Any, _: object) -> Flow:
        ctx.set_custom_status("half way")
        ctx.set_kv_value("k", "v")
        yield ctx.wait_for_event("go")
        return {"total": 1}

    wb.orchestration("Flow")(flow)
    run = wb.start("Flow")
    assert (run.status, run.outcome.status, run.outcome.turns, run.orchestration) == ("Pending", "Pending", 0, "")
    run.turn()
    assert (run.status, run.output, run.error, run.custom_status) == ("Running", None, None, "half way")
    assert (run.kv, run.orchestration) == ({"k": "v"}, "Flow")
    run.raise_event("go")
    outcome = run.finish()
    assert (outcome.status, outcome.output, outcome.error, outcome.turns) == ("Completed", {"total": 1}, None, 2)
    assert list(wb.instances["status"]) == ["Completed"]
    assert len(run.history) == 6
