"""P-11: clear everything and set again in one turn; what is seen inside, outside, and after each kind of end."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.bug_reports.living import WAYS, Host, Way, living
from tests.specification.running import values
from workbench.runtime.kv import DELTA, PER_TURN, KVModel


def clears_and_sets(ctx: Any, given: int) -> Any:
    if given == 0:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.schedule_activity("Echo", 1)
        yield ctx.continue_as_new(1)
    ctx.set_custom_status(str([ctx.get_kv_value("a"), ctx.get_kv_value("b")]))
    ctx.clear_all_kv_values()
    ctx.set_kv_value("a", "2")
    left = ctx.get_kv_all_values()
    how = yield ctx.wait_for_event("go")
    if how == "fail":
        raise ValueError("failed as told")
    return left


async def awaited_clears_and_sets(ctx: Any, given: int) -> Any:
    if given == 0:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        await ctx.schedule_activity("Echo", 1)
        await ctx.continue_as_new(1)
    ctx.set_custom_status(str([ctx.get_kv_value("a"), ctx.get_kv_value("b")]))
    ctx.clear_all_kv_values()
    ctx.set_kv_value("a", "2")
    left = ctx.get_kv_all_values()
    how = await ctx.wait_for_event("go")
    if how == "fail":
        raise ValueError("failed as told")
    return left


def reads_another(ctx: Any, instance_id: str) -> Any:
    a = yield ctx.get_kv_value_from_instance(instance_id, "a")
    b = yield ctx.get_kv_value_from_instance(instance_id, "b")
    return [a, b]


ENDS = {"completed": "Completed", "awaited": "Completed", "cancelled": "Failed", "failed": "Failed"}
FLOWS = {"awaited": "awaited_clears_and_sets"}


@pytest.mark.parametrize(("way", "kv_model"), [*((way, DELTA) for way in WAYS), ("cold", PER_TURN)])
def test_outside_shows_what_inside_has_done_and_every_end_leaves_the_same(
    tmp_path: Any, way: Way, kv_model: KVModel
) -> None:
    with living(way, tmp_path, kv_model) as host:
        host.orchestration(awaited_clears_and_sets)
        host.orchestration(clears_and_sets)
        for name in ENDS:
            host.client.start_orchestration(name, FLOWS.get(name, "clears_and_sets"), 0)
        host.settle()
        host.orchestration(reads_another)
        for name in ENDS:
            host.client.start_orchestration(f"reads {name}", "reads_another", name)
        host.settle()
        for name in ENDS:
            seen = host.client.get_status(name).custom_status
            assert seen == "['1', '1']"
            assert host.output(f"reads {name}") == ["2", None]
            outside(host, name)
            tables = host.provider.get_kv_tables(name)
            if kv_model == DELTA:
                assert (values(tables.store), values(tables.delta)) == ({"a": "1", "b": "1"}, {"a": "2", "b": None})
                assert values(host.provider.get_kv_snapshot(name)) == {"a": "1", "b": "1"}
        end_each(host)


def end_each(host: Host) -> None:
    """Let each instance end in its own way, and look at what is left."""
    for name in ("completed", "awaited"):
        host.client.raise_event(name, "go", "on")
    host.client.raise_event("failed", "go", "fail")
    host.client.cancel_instance("cancelled", "enough")
    host.settle()
    for name, status in ENDS.items():
        assert host.status(name) == status
        if status == "Completed":
            assert host.output(name) == {"a": "2"}
        outside(host, name)
        tables = host.provider.get_kv_tables(name)
        assert (values(tables.store), values(tables.delta)) == ({"a": "2"}, {})


def outside(host: Host, name: str) -> None:
    """What a client sees from the clear on."""
    assert (host.client.get_kv_value(name, "a"), host.client.get_kv_value(name, "b")) == ("2", None)
    assert host.client.get_kv_all_values(name) == {"a": "2"}


ORDERS: dict[str, list[str]] = {
    "clear all, set": ["clear all", "a=2"],
    "set, clear all": ["a=2", "clear all"],
    "set, clear, set": ["a=2", "clear a", "a=3"],
    "clear, set, clear": ["clear a", "a=2", "clear a"],
    "clear all, set, clear all, set other": ["clear all", "a=2", "clear all", "c=3"],
    "set other, clear it, clear all": ["c=1", "clear c", "clear all"],
    "clear all twice, set twice": ["clear all", "clear all", "a=2", "a=3"],
    "clear unknown, set it": ["clear c", "c=4"],
}


def in_order(ctx: Any, given: list[Any]) -> Any:
    operations, execution = given
    if execution == 1:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.continue_as_new([operations, 2])
    for operation in operations:
        if operation == "clear all":
            ctx.clear_all_kv_values()
        elif operation.startswith("clear "):
            ctx.clear_kv_value(operation.removeprefix("clear "))
        else:
            ctx.set_kv_value(*operation.split("="))
    yield ctx.schedule_activity("Echo", 1)
    return ctx.get_kv_all_values()


def by_a_dict(operations: list[str]) -> dict[str, str]:
    """What a dict holds after the same operations."""
    held = {"a": "1", "b": "1"}
    for operation in operations:
        if operation == "clear all":
            held.clear()
        elif operation.startswith("clear "):
            held.pop(operation.removeprefix("clear "), None)
        else:
            key, value = operation.split("=")
            held[key] = value
    return held


def test_the_order_of_clears_and_sets_in_one_turn_is_kept(host: Host) -> None:
    host.orchestration(in_order)
    for name, operations in ORDERS.items():
        host.client.start_orchestration(name, "in_order", [operations, 1])
    host.turn()
    host.turn()
    for name, operations in ORDERS.items():
        assert host.client.get_kv_all_values(name) == by_a_dict(operations)
        assert values(host.provider.get_kv_tables(name).store) == {"a": "1", "b": "1"}
    host.settle()
    for name, operations in ORDERS.items():
        assert host.output(name) == by_a_dict(operations)
        assert values(host.provider.get_kv_tables(name).store) == by_a_dict(operations)
