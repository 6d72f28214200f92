"""`prune_kv_values_updated_before`: clearing keys by the time of their last write, strictly before a cutoff (ms).

What it clears depends on the state that it finds, so over several turns it is as poisoned in the per-turn model as a
read is: where keys of an earlier execution are pruned, the test is for the delta model.
"""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, output, run
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def test_kv_prune_old_values_by_timestamp(delta: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("old-1", "1")
            ctx.set_kv_value("old-2", "2")
            yield ctx.schedule_timer(1_000)
            yield ctx.continue_as_new(False)
        now_ms = yield ctx.utc_now()
        ctx.set_kv_value("fresh", "3")
        pruned = ctx.prune_kv_values_updated_before(now_ms)
        yield ctx.schedule_activity("Noop")
        return pruned

    assert output(delta, flow, given=True) == 2
    assert delta.client.get_kv_all_values(INSTANCE) == {"fresh": "3"}


def test_kv_prune_with_zero_threshold_does_nothing(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        pruned = ctx.prune_kv_values_updated_before(0)
        yield ctx.schedule_activity("Noop")
        return pruned

    assert output(wb, flow) == 0
    assert wb.client.get_kv_value(INSTANCE, "k") == "1"


def test_kv_prune_empty_returns_zero(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        pruned = ctx.prune_kv_values_updated_before(2**64 - 1)
        yield ctx.schedule_activity("Noop")
        return pruned

    assert output(wb, flow) == 0
    assert all(event.type != "KeyValueCleared" for event in wb.provider.read_history(INSTANCE, 1).events)


def test_kv_prune_current_turn_keys_with_max_threshold(wb: Workbench) -> None:
    """There is no protected set: keys of this very turn go too."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "2")
        pruned = ctx.prune_kv_values_updated_before(2**64 - 1)
        yield ctx.schedule_activity("Noop")
        return [pruned, ctx.get_kv_length()]

    assert output(wb, flow) == [2, 0]
    assert wb.client.get_kv_all_values(INSTANCE) == {}


def test_kv_prune_unpersisted_current_turn_key_with_wall_clock(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        now_ms = yield ctx.utc_now()
        ctx.set_kv_value("k", "1")
        pruned = [ctx.prune_kv_values_updated_before(now_ms), ctx.prune_kv_values_updated_before(now_ms + 60_000)]
        yield ctx.schedule_activity("Noop")
        return [*pruned, ctx.get_kv_value("k")]

    assert output(wb, flow) == [0, 1, None]


def test_kv_prune_selective_by_age(delta: Workbench) -> None:
    def flow(ctx: Context, execution: int) -> Any:
        if execution == 1:
            ctx.set_kv_value("older", "1")
            yield ctx.schedule_timer(1_000)
            yield ctx.continue_as_new(2)
        if execution == 2:
            ctx.set_kv_value("boundary", str((yield ctx.utc_now())))
            ctx.set_kv_value("newer", "2")
            yield ctx.schedule_timer(1_000)
            yield ctx.continue_as_new(3)
        pruned = ctx.prune_kv_values_updated_before(int(ctx.get_kv_value("boundary") or ""))
        yield ctx.schedule_activity("Noop")
        return pruned

    assert output(delta, flow, given=1) == 1
    assert set(delta.client.get_kv_all_values(INSTANCE)) == {"boundary", "newer"}


def test_kv_prune_is_strictly_before_the_cutoff(delta: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("k", "1")
            yield ctx.continue_as_new(False)
        pruned = [ctx.prune_kv_values_updated_before(cutoff_ms) for cutoff_ms in (written_ms, written_ms + 1)]
        yield ctx.schedule_activity("Noop")
        return pruned

    written_ms = delta.clock.now_ms()
    assert run(delta, flow, given=True).output == [0, 1]
