"""What becomes of keys when instances are deleted and executions pruned.

Pruning differs: the per-turn model removes the keys that a pruned execution was the last to write (spec 001,
"Pruning Behavior"), the delta model never touches a key (spec 000, "Execution pruning").
"""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, output, register, settle, start
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import PER_TURN


def two_executions(ctx: Context, first: bool) -> Any:
    """Writes `orphan` only in execution 1, `shared` in both, `own` only in execution 2; then waits."""
    if first:
        ctx.set_kv_value("orphan", "1")
        ctx.set_kv_value("shared", "1")
        yield ctx.continue_as_new(False)
    ctx.set_kv_value("shared", "2")
    ctx.set_kv_value("own", "2")
    yield ctx.wait_for_event("end")


def test_kv_deleted_with_instance(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.wait_for_event("never")

    start(wb, flow)
    settle(wb)
    assert wb.client.get_kv_value(INSTANCE, "k") == "1"
    wb.client.delete_instance(INSTANCE, force=True)
    assert wb.client.get_kv_value(INSTANCE, "k") is None


def test_kv_not_accessible_after_deletion(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == "1"
    wb.client.delete_instance(INSTANCE)
    assert wb.client.get_kv_value(INSTANCE, "k") is None
    assert wb.client.get_kv_all_values(INSTANCE) == {}


def test_kv_delete_instance_removes_all_kv(wb: Workbench) -> None:
    """Keys of both executions go, and a new instance of the same id begins with none."""
    start(wb, two_executions, given=True)
    settle(wb)
    assert set(wb.client.get_kv_all_values(INSTANCE)) == {"orphan", "own", "shared"}
    wb.client.delete_instance(INSTANCE, force=True)
    assert wb.client.get_kv_all_values(INSTANCE) == {}

    def looks(ctx: Context, _: None) -> Any:
        return ctx.get_kv_all_keys()

    assert output(wb, looks) == []


def test_kv_delete_parent_cascades_child_kv(wb: Workbench) -> None:
    def child(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "child's")
        yield ctx.wait_for_event("never")

    def parent(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "parent's")
        yield ctx.schedule_sub_orchestration_with_id("child", "the child")

    register(wb, child)
    start(wb, parent)
    settle(wb)
    assert wb.client.get_kv_value("the child", "k") == "child's"
    wb.client.delete_instance(INSTANCE, force=True)
    assert wb.client.get_kv_value(INSTANCE, "k") is None
    assert wb.client.get_kv_value("the child", "k") is None


def test_kv_prune_execution_removes_orphan_keys(wb: Workbench) -> None:
    """So it is in the per-turn model; in the delta model the orphan stays, whatever the name of this test says."""
    start(wb, two_executions, given=True)
    settle(wb)
    assert wb.client.prune_executions(INSTANCE) == (1,)
    left = {"own": "2", "shared": "2"}
    assert wb.client.get_kv_all_values(INSTANCE) == (left if wb.kv_model == PER_TURN else left | {"orphan": "1"})


def test_kv_bulk_prune(wb: Workbench) -> None:
    """Several instances in one call: each by its own executions, a running execution's keys never."""
    for instance_id in ("a", "b", "c"):
        start(wb, two_executions, given=True, instance_id=instance_id)
    settle(wb)
    assert wb.client.prune_executions_bulk(["a", "b"], keep_last=1) == {"a": (1,), "b": (1,)}
    left = {"own": "2", "shared": "2"}
    pruned = left if wb.kv_model == PER_TURN else left | {"orphan": "1"}
    assert [wb.client.get_kv_all_values(instance_id) for instance_id in "abc"] == [
        pruned,
        pruned,
        left | {"orphan": "1"},
    ]


def test_kv_prune_keeps_what_a_later_execution_has_written(wb: Workbench) -> None:
    """Spec 001: pruning execution 1 does not remove a key that execution 2 was the last to write."""
    start(wb, two_executions, given=True)
    settle(wb)
    wb.client.prune_executions(INSTANCE)
    wb.client.raise_event(INSTANCE, "end")
    settle(wb)
    assert wb.client.get_status(INSTANCE).status == "Completed"
    assert wb.client.get_kv_value(INSTANCE, "shared") == "2"
