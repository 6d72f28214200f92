"""Keys over several turns: every turn runs the code again from the top (spec 001, "Replay Behavior"; spec 000)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.specification.running import (
    INSTANCE,
    output,
    register,
    run,
    settle,
    start,
    values,
)
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import DELTA, PER_TURN, KVModel


def test_kv_persists_across_turns(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "before")
        yield ctx.schedule_activity("Noop")
        seen = ctx.get_kv_value("k")
        ctx.set_kv_value("k", "after")
        yield ctx.schedule_activity("Noop")
        return seen

    assert output(wb, flow) == "before"
    assert wb.client.get_kv_value(INSTANCE, "k") == "after"


def test_kv_update_across_turns(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("k", "2")
        yield ctx.wait_for_event("end")

    seen = []
    start(wb, flow)
    for event in ("go", "end"):
        settle(wb)
        seen.append(wb.client.get_kv_value(INSTANCE, "k"))
        wb.client.raise_event(INSTANCE, event)
    assert seen == ["1", "2"]


def test_kv_clear_value_then_reset(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "old")
        yield ctx.schedule_activity("Noop")
        ctx.clear_kv_value("k")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("k", "new")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == "new"
    assert wb.client.get_kv_value(INSTANCE, "k") == "new"


def test_kv_interleaved_with_activities_and_timers(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "first")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("k", "second")
        yield ctx.schedule_timer(1_000)
        ctx.clear_all_kv_values()
        ctx.set_kv_value("k", "final")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == "final"
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": "final"}


def test_kv_read_value_as_activity_input_is_stable(wb: Workbench) -> None:
    """The input of a recorded activity is made again from the key on every replay, and equals the record."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "input")
        seen = yield ctx.schedule_activity("Echo", ctx.get_kv_value("k"))
        ctx.set_kv_value("k", "another")
        yield ctx.schedule_activity("Noop")
        return seen

    assert output(wb, flow) == "input"


def test_kv_read_modify_write_across_turns(wb: Workbench) -> None:
    """Code that sets a key before it reads it goes well in both models."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("counter", "1")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("counter", str(int(ctx.get_kv_value("counter") or "0") + 1))
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("counter")

    assert output(wb, flow) == "2"
    assert wb.client.get_kv_value(INSTANCE, "counter") == "2"


def read_modify_write(ctx: Context, _: None) -> Any:
    """Spec 000, "Reproduction"."""
    for _round in range(5):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return ctx.get_kv_value("counter")


def test_kv_read_modify_write_every_turn(delta: Workbench) -> None:
    assert output(delta, read_modify_write) == "5"
    assert delta.client.get_kv_value(INSTANCE, "counter") == "5"
    written = [e.value for e in delta.provider.read_history(INSTANCE, 1).events if e.type == "KeyValueSet"]
    assert written == ["1", "2", "3", "4", "5"]


def test_kv_read_modify_write_every_turn_is_poisoned_in_the_per_turn_model(per_turn: Workbench) -> None:
    """Spec 000, "What happens": turn 2 is seeded with what turn 1 wrote, so turn 1's code reads it."""
    failed = run(per_turn, read_modify_write)
    assert failed.status == "Failed"
    text = str(failed.error)
    assert text.startswith('nondeterministic: kv set mismatch: action=SetKeyValue { key: "counter", value: "2"')
    assert 'vs event=KeyValueSet { key: "counter", value: "1"' in text
    assert per_turn.client.get_kv_value(INSTANCE, "counter") == "1"


def test_kv_clear_all_then_set_across_turns(delta: Workbench) -> None:
    """What an earlier execution wrote stays cleared in every later turn, and what is set after the clear stays."""

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("old", "1")
            yield ctx.continue_as_new(False)
        ctx.clear_all_kv_values()
        ctx.set_kv_value("new", "2")
        yield ctx.schedule_activity("Noop")
        seen = [ctx.get_kv_value("old"), ctx.get_kv_value("new")]
        ctx.set_kv_value("final", "3")
        yield ctx.schedule_activity("Noop")
        return [*seen, ctx.get_kv_value("old"), ctx.get_kv_value("final")]

    assert output(delta, flow, given=True) == [None, "2", None, "3"]
    assert delta.client.get_kv_all_values(INSTANCE) == {"final": "3", "new": "2"}


def test_kv_clear_single_with_prior_execution_value(delta: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("cleared", "1")
            ctx.set_kv_value("kept", "2")
            yield ctx.continue_as_new(False)
        ctx.clear_kv_value("cleared")
        yield ctx.schedule_activity("Noop")
        yield ctx.schedule_activity("Noop")
        return [ctx.get_kv_value("cleared"), ctx.get_kv_value("kept")]

    assert output(delta, flow, given=True) == [None, "2"]
    assert delta.client.get_kv_all_values(INSTANCE) == {"kept": "2"}


def test_kv_stored_tables_are_not_changed_by_replay(wb: Workbench) -> None:
    """A turn that only replays its KV calls leaves every row as it was, times included."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        ctx.clear_kv_value("gone")
        for _round in range(3):
            yield ctx.wait_for_event("go")

    start(wb, flow)
    settle(wb)
    tables = wb.provider.get_kv_tables(INSTANCE)
    assert values(tables.store) | values(tables.delta) == {"k": "1"} | ({"gone": None} if tables.delta else {})
    for _round in range(2):
        wb.client.raise_event(INSTANCE, "go")
        settle(wb)
        assert wb.provider.get_kv_tables(INSTANCE) == tables


@pytest.mark.parametrize("model", [DELTA, PER_TURN])
def test_kv_same_state_after_the_process_is_gone(tmp_path: Path, model: KVModel) -> None:
    """Nothing is held but the file: closed between any two turns and opened again, the code sees what it wrote."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("k", f"{ctx.get_kv_value('k')}2")
        yield ctx.wait_for_event("go")
        return ctx.get_kv_value("k")

    path = tmp_path / "store.duckdb"
    with Workbench(path, kv_model=model) as wb:
        start(wb, flow)
        settle(wb)
    for _round in range(2):
        with Workbench(path) as wb:
            register(wb, flow)
            wb.client.raise_event(INSTANCE, "go")
            settle(wb)
            assert wb.provider.verify() == []
            outcome = wb.client.get_status(INSTANCE)
    assert (outcome.status, outcome.output) == ("Completed", "12")
