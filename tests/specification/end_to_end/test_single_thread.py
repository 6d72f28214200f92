"""One worker for turns and one for activities are enough."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, Flow
from workbench import Client, Runtime, RuntimeOptions, Workbench
from workbench.runtime.context import OrchestrationContext as Context

ONE_OF_EACH = RuntimeOptions(orchestration_concurrency=1, worker_concurrency=1, dispatcher_poll_interval_ms=5)


def completed_by_one_worker(wb: Workbench, flow: Flow, given: object = None) -> object:
    """What an orchestration returns, run by a real runtime with one worker of each kind."""
    runtime = Runtime(wb.provider, ONE_OF_EACH, wb.limits, wb.clock, wb.registry)
    runtime.register_orchestration("Flow", flow)
    client = Client(wb.provider, wb.clock)
    with runtime:
        client.start_orchestration(INSTANCE, "Flow", given)
        result = client.wait_for_orchestration(INSTANCE)
    assert result.error is None
    return result.output


def test_kv_single_thread_basic(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("k", f"{ctx.get_kv_value('k')}2")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert completed_by_one_worker(wb, flow) == "12"
    assert wb.client.get_kv_value(INSTANCE, "k") == "12"


def test_kv_single_thread_can_with_kv(wb: Workbench) -> None:
    def flow(ctx: Context, round_number: int) -> Any:
        ctx.set_kv_value("rounds", str(round_number))
        yield ctx.schedule_activity("Noop")
        if round_number < 4:
            yield ctx.continue_as_new(round_number + 1)
        return ctx.get_kv_value("rounds")

    assert completed_by_one_worker(wb, flow, 1) == "4"
    assert wb.client.get_kv_value(INSTANCE, "rounds") == "4"
