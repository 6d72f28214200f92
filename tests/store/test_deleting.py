"""Deleting instances and pruning executions."""

from __future__ import annotations

import pytest

from tests.store.turns import LOCK_MS, claim_one, nudge, run_turn, schedules, sets, start, turn_of
from workbench.runtime.errors import InstanceRunning, UnknownInstance
from workbench.runtime.messages import ActivityExecute
from workbench.store import DuckDBProvider

TABLES = (
    "instances",
    "executions",
    "history",
    "orchestrator_queue",
    "worker_queue",
    "instance_locks",
    "kv_store",
)


def rows_left(provider: DuckDBProvider) -> dict[str, list[str]]:
    """The instances that each table still has rows of."""
    tables = TABLES if provider.kv_model == "per-turn" else (*TABLES, "kv_delta")
    left = {}
    for table in tables:
        _, rows = provider.query(f"SELECT DISTINCT instance_id FROM {table} ORDER BY instance_id")
        left[table] = [name for (name,) in rows]
    return {table: names for table, names in left.items() if names}


def family(provider: DuckDBProvider) -> None:
    """`root` with a child and a grandchild, each with rows in every table."""
    for name, parent in (("root", None), ("child", "root"), ("grandchild", "child")):
        run_turn(provider, name, sets("k", "1"), status="ContinuedAsNew", parent=parent)
        work = ActivityExecute(name, 2, 3, "Noop", "")
        run_turn(provider, name, sets("l", "2"), schedules(), activities=[work])
        provider.enqueue([nudge(name)], 0)
        claim_one(provider, name)


def test_the_whole_tree_goes_with_everything_it_has(provider: DuckDBProvider) -> None:
    family(provider)
    provider.delete_instance("root", force=True)
    assert rows_left(provider) == {}


def test_others_keep_everything(provider: DuckDBProvider) -> None:
    family(provider)
    run_turn(provider, "other", sets("k", "1"), schedules(), activities=[ActivityExecute("other", 1, 3, "Noop", "")])
    provider.enqueue([nudge("other")], 0)
    before = provider.get_kv_tables("other")
    provider.delete_instance("root", force=True)
    assert {name for names in rows_left(provider).values() for name in names} == {"other"}
    assert provider.get_kv_tables("other") == before
    assert len(provider.pending_activities("other")) == len(provider.pending_messages("other")) == 1


def test_a_running_instance_is_refused_without_force(provider: DuckDBProvider) -> None:
    run_turn(provider, "root", status="Completed")
    run_turn(provider, "child", parent="root")
    with pytest.raises(InstanceRunning) as caught:
        provider.delete_instance("root")
    assert str(caught.value) == (
        "instance 'root' is not deleted; still running: 'child'. Cancel it first, or pass force=True"
    )
    assert [info.instance_id for info in provider.instances()] == ["root", "child"]


@pytest.mark.parametrize("status", ["Completed", "Failed"])
def test_a_finished_instance_needs_no_force(provider: DuckDBProvider, status: str) -> None:
    run_turn(provider, "a", status=status)
    provider.delete_instance("a")
    assert rows_left(provider) == {}


def test_an_instance_between_two_executions_counts_as_running(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", status="ContinuedAsNew")
    with pytest.raises(InstanceRunning):
        provider.delete_instance("a")


def test_an_unknown_instance_is_named_with_those_that_exist(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    with pytest.raises(UnknownInstance) as caught:
        provider.delete_instance("b")
    assert str(caught.value) == "there is no instance 'b'; instances here: 'a'"


def test_an_instance_that_has_not_begun_can_be_deleted_with_force(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a"), nudge("a")], 0)
    with pytest.raises(InstanceRunning):
        provider.delete_instance("a")
    provider.delete_instance("a", force=True)
    assert rows_left(provider) == {}


def test_messages_for_an_instance_that_never_was_can_be_deleted(provider: DuckDBProvider) -> None:
    provider.enqueue([nudge("ghost")], 0)
    provider.delete_instance("ghost")
    assert rows_left(provider) == {}


def test_a_child_that_waits_to_begin_goes_with_its_parent(provider: DuckDBProvider) -> None:
    run_turn(provider, "root", messages=[start("child", parent="root"), start("detached")])
    provider.delete_instance("root", force=True)
    assert rows_left(provider) == {"orchestrator_queue": ["detached"]}


def test_a_turn_of_a_deleted_instance_is_refused(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    provider.enqueue([nudge("a")], 0)
    turn = turn_of(claim_one(provider, "a"), sets("k", "1"))
    provider.delete_instance("a", force=True)
    assert provider.commit([turn]) == [turn]
    assert rows_left(provider) == {}


def test_a_deleted_id_begins_anew(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), status="Completed")
    provider.delete_instance("a")
    run_turn(provider, "a")
    assert [execution.execution_id for execution in provider.executions("a")] == [1]
    assert provider.get_kv_snapshot("a") == {}


def four_executions(provider: DuckDBProvider) -> None:
    """Executions 1 to 3 ended at 10, 20 and 30 ms, the fourth is running."""
    for now_ms in (10, 20, 30):
        run_turn(provider, "a", now_ms=now_ms, status="ContinuedAsNew")
    run_turn(provider, "a", now_ms=40)


@pytest.mark.parametrize(
    ("keep_last", "completed_before_ms", "pruned"),
    [
        (None, None, (1, 2, 3)),
        (0, None, (1, 2, 3)),
        (1, None, (1, 2, 3)),
        (2, None, (1, 2)),
        (9, None, ()),
        (None, 30, (1, 2)),
        (None, 31, (1, 2, 3)),
        (3, 31, (1,)),
    ],
)
def test_pruning_keeps_what_it_was_told_to_keep(
    provider: DuckDBProvider, keep_last: int | None, completed_before_ms: int | None, pruned: tuple[int, ...]
) -> None:
    four_executions(provider)
    assert provider.prune_executions("a", keep_last, completed_before_ms) == pruned
    kept = [number for number in (1, 2, 3, 4) if number not in pruned]
    assert [execution.execution_id for execution in provider.executions("a")] == kept
    assert all(provider.read_history("a", number).events == () for number in pruned)
    assert all(provider.read_history("a", number).events for number in kept)


def test_the_current_execution_is_never_pruned(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), status="Completed")
    assert provider.prune_executions("a") == ()
    assert provider.get_kv_value("a", "k") == "1"


def test_pruning_an_unknown_instance_is_an_error(provider: DuckDBProvider) -> None:
    with pytest.raises(UnknownInstance):
        provider.prune_executions("nobody")
    assert provider.claim(1, 0, LOCK_MS) == []
