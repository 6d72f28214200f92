"""Keys beside races and joins."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, output
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def test_kv_works_in_select_branch(wb: Workbench) -> None:
    """The branch that won sets its key, the other sets nothing."""

    def flow(ctx: Context, _: None) -> Any:
        won = yield ctx.race(ctx.schedule_activity("Echo", "fast"), ctx.schedule_timer(60_000))
        ctx.set_kv_value("winner", won["value"] if won["index"] == 0 else "timer")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("winner")

    assert output(wb, flow) == "fast"
    assert wb.client.get_kv_all_values(INSTANCE) == {"winner": "fast"}


def test_kv_in_fan_out_fan_in(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        results = yield ctx.all([ctx.schedule_activity("Echo", i) for i in range(5)])
        for i, result in enumerate(results):
            ctx.set_kv_value(f"result-{i}", str(result["ok"]))
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_length()

    assert output(wb, flow) == 5
    assert wb.client.get_kv_all_values(INSTANCE) == {f"result-{i}": str(i) for i in range(5)}
