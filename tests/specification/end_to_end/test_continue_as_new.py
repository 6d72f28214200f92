"""Keys live on from one execution to the next (spec 001, "ContinueAsNew Behavior"; spec 000, "Write path")."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, output
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def test_kv_survives_continue_as_new(wb: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("k", "carried")
            yield ctx.continue_as_new(False)
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow, given=True) == "carried"
    assert wb.client.get_kv_value(INSTANCE, "k") == "carried"
    assert wb.client.list_executions(INSTANCE) == [1, 2]


def test_kv_overwrite_after_can(wb: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("k", "old")
            yield ctx.continue_as_new(False)
        ctx.set_kv_value("k", "new")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow, given=True) == "new"
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": "new"}


def test_kv_clear_after_can(wb: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("a", "1")
            ctx.set_kv_value("b", "2")
            yield ctx.continue_as_new(False)
        ctx.clear_all_kv_values()
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_length()

    assert output(wb, flow, given=True) == 0
    assert wb.client.get_kv_all_values(INSTANCE) == {}


def test_kv_can_chain_accumulation(wb: Workbench) -> None:
    """Three executions, each adding to what the one before it left."""

    def flow(ctx: Context, execution: int) -> Any:
        if execution > 1:
            ctx.set_kv_value("sum", str(int(ctx.get_kv_value("sum") or "0") + 1))
        if execution < 3:
            yield ctx.continue_as_new(execution + 1)
        return ctx.get_kv_value("sum")

    assert output(wb, flow, given=1) == "2"
    assert wb.client.get_kv_value(INSTANCE, "sum") == "2"


def test_kv_rmw_across_can_boundary(delta: Workbench) -> None:
    """5 carried over, and 3 more, one in every turn."""

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("counter", "5")
            yield ctx.continue_as_new(False)
        for _round in range(3):
            ctx.set_kv_value("counter", str(int(ctx.get_kv_value("counter") or "0") + 1))
            yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("counter")

    assert output(delta, flow, given=True) == "8"
    assert delta.client.get_kv_value(INSTANCE, "counter") == "8"
