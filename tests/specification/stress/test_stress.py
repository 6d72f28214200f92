"""The stress tests of the reference and of its test plan, on background workers (both KV models where they agree)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specification.running import INSTANCE, echo, noop
from workbench import Client, Limits, Runtime, RuntimeOptions, Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import PER_TURN

OPTIONS = RuntimeOptions(orchestration_concurrency=2, worker_concurrency=2, dispatcher_poll_interval_ms=5)
MOST_KEYS = Limits().kv_keys
TIMEOUT_MS = 300_000


def sized(small: int, large: int) -> pytest.MarkDecorator:
    """A size for every run, and one for `--long`."""
    return pytest.mark.parametrize("count", [small, pytest.param(large, marks=pytest.mark.long)])


def runtime_of(wb: Workbench, flow: Any) -> Runtime:
    """A runtime on the workbench's store, not started."""
    runtime = Runtime(wb.provider, OPTIONS, wb.limits, wb.clock)
    runtime.register_orchestration("Flow", flow)
    runtime.register_activity("Noop", noop)
    runtime.register_activity("Echo", echo)
    return runtime


def outputs(wb: Workbench, flow: Any, given: dict[str, object]) -> dict[str, object]:
    """Run one instance for each id, all at once, and give what each returned; all must complete."""
    client = Client(wb.provider, wb.clock)
    for instance_id, value in given.items():
        client.start_orchestration(instance_id, "Flow", value)
    with runtime_of(wb, flow):
        results = {each: client.wait_for_orchestration(each, TIMEOUT_MS) for each in given}
    assert {each: result.error for each, result in results.items()} == dict.fromkeys(given)
    return {each: result.output for each, result in results.items()}


@sized(10, 100)
def test_kv_stress_concurrent_writes(wb: Workbench, count: int) -> None:
    """So many instances write every key they may have, each over two turns."""

    def flow(ctx: Context, name: str) -> Any:
        for i in range(MOST_KEYS):
            ctx.set_kv_value(f"key-{i}", f"{name}-{i}")
            if i == MOST_KEYS // 2:
                yield ctx.schedule_activity("Noop")
        return ctx.get_kv_length()

    names = [f"instance-{number}" for number in range(count)]
    assert outputs(wb, flow, dict(zip(names, names, strict=True))) == dict.fromkeys(names, MOST_KEYS)
    for name in names:
        assert wb.client.get_kv_all_values(name) == {f"key-{i}": f"{name}-{i}" for i in range(MOST_KEYS)}


@sized(5, 100)
def test_kv_stress_high_key_count(wb: Workbench, count: int) -> None:
    """As many keys as there may be, rewritten in each of so many turns."""

    def flow(ctx: Context, turns: int) -> Any:
        for turn in range(turns):
            for i in range(MOST_KEYS):
                ctx.set_kv_value(f"key-{i}", str(turn))
            yield ctx.schedule_activity("Noop")

    outputs(wb, flow, {INSTANCE: count})
    assert wb.client.get_kv_all_values(INSTANCE) == {f"key-{i}": str(count - 1) for i in range(MOST_KEYS)}
    written = [event for event in wb.provider.read_history(INSTANCE, 1).events if event.type == "KeyValueSet"]
    assert len(written) == count * MOST_KEYS


@sized(10, 100)
def test_kv_stress_cross_instance_reads(wb: Workbench, count: int) -> None:
    """So many readers of one producer, all at once."""

    def flow(ctx: Context, what: str) -> Any:
        if what == "produce":
            ctx.set_kv_value("product", "42")
            return (yield ctx.schedule_activity("Echo", "42"))
        while True:
            product = yield ctx.get_kv_value_from_instance("producer", "product")
            if product is not None:
                return product
            yield ctx.schedule_activity("Noop")

    readers = dict.fromkeys([f"reader-{number}" for number in range(count)], "read")
    results = outputs(wb, flow, {**readers, "producer": "produce"})
    assert set(results.values()) == {"42"}


@sized(10, 200)
def test_kv_stress_can_throughput(wb: Workbench, count: int) -> None:
    """A chain of so many executions, each writing a key."""

    def flow(ctx: Context, execution: int) -> Any:
        ctx.set_kv_value("execution", str(execution))
        ctx.set_kv_value(f"of-{execution % 5}", str(execution))
        if execution < count:
            yield ctx.continue_as_new(execution + 1)
        return ctx.get_kv_value("execution")

    assert outputs(wb, flow, {INSTANCE: 1}) == {INSTANCE: str(count)}
    assert wb.client.get_kv_value(INSTANCE, "execution") == str(count)
    assert wb.client.list_executions(INSTANCE) == list(range(1, count + 1))


@sized(10, 50)
def test_kv_stress_can_chain_with_pruning(wb: Workbench, count: int) -> None:
    """A chain whose executions write a key each, pruned to the last five: in the per-turn model their keys remain."""

    def flow(ctx: Context, execution: int) -> Any:
        ctx.set_kv_value(f"of-{execution % MOST_KEYS}", str(execution))
        if execution < count:
            yield ctx.continue_as_new(execution + 1)

    outputs(wb, flow, {INSTANCE: 1})
    assert wb.client.prune_executions(INSTANCE, keep_last=5) == tuple(range(1, count - 4))
    written = range(count - MOST_KEYS + 1, count + 1)
    kept = written[-5:] if wb.kv_model == PER_TURN else written
    assert wb.client.get_kv_all_values(INSTANCE) == {
        f"of-{execution % MOST_KEYS}": str(execution) for execution in sorted(kept, key=lambda each: each % MOST_KEYS)
    }


@sized(100, 1_000)
def test_kv_stress_one_key_written_many_times(wb: Workbench, count: int) -> None:
    """Each write is an event; the last one counts."""

    def flow(ctx: Context, writes: int) -> Any:
        for i in range(writes):
            ctx.set_kv_value("k", str(i))
        yield ctx.schedule_activity("Noop")

    outputs(wb, flow, {INSTANCE: count})
    events = wb.provider.read_history(INSTANCE, 1).events
    assert [event.value for event in events if event.type == "KeyValueSet"] == [str(i) for i in range(count)]
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": str(count - 1)}


@sized(2, 60)
def test_kv_stress_read_modify_write_over_executions(delta: Workbench, count: int) -> None:
    """Increments in every turn, over executions and instances at once: none is lost, none is made twice."""

    def flow(ctx: Context, execution: int) -> Any:
        for _round in range(3):
            ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or "0") + 1))
            yield ctx.schedule_activity("Noop")
        if execution < count:
            yield ctx.continue_as_new(execution + 1)
        return ctx.get_kv_value("n")

    names = ["a", "b", "c"]
    assert outputs(delta, flow, dict.fromkeys(names, 1)) == dict.fromkeys(names, str(3 * count))
