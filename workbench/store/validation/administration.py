"""Instances and executions as they are listed, deleted and pruned."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from workbench.runtime.errors import (
    InstanceIsChild,
    InstanceNotFailed,
    InstanceRunning,
    UnknownInstance,
    WorkbenchError,
)
from workbench.runtime.messages import ActivityExecute, ContinueAsNew
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import CONTRACT, EVERY_STORE, follows
from workbench.store.validation.turns import (
    COMPLETED,
    CONTINUED,
    FAILED,
    LOCK_MS,
    NOW_MS,
    claim_one,
    make_turn,
    nudge,
    schedules,
    start,
    turn_of,
)


def _raised(call: Callable[[], object]) -> type[BaseException] | None:
    try:
        call()
    except WorkbenchError as error:
        return type(error)
    return None


def _executions(provider: Provider, instance_id: str) -> list[tuple[int, str]]:
    return [(each.execution_id, each.status) for each in provider.executions(instance_id)]


@follows(CONTRACT, EVERY_STORE)
def instances_are_listed_oldest_first(provider: Provider) -> None:
    """With the status and output of the current execution, and their times."""
    make_turn(provider, "b", now_ms=NOW_MS)
    make_turn(provider, "a", end=FAILED, now_ms=NOW_MS + 1)
    make_turn(provider, "b", end=COMPLETED, now_ms=NOW_MS + 2)
    listed = provider.instances()
    assert [(info.instance_id, info.status) for info in listed] == [("b", COMPLETED), ("a", FAILED)]
    assert (listed[0].created_at_ms, listed[0].updated_at_ms) == (NOW_MS, NOW_MS + 2)
    assert provider.instance("b") == listed[0]
    assert provider.instance("nobody") is None


@follows(CONTRACT, EVERY_STORE)
def each_execution_has_its_own_history(provider: Provider) -> None:
    """Event ids and turns begin anew; every execution keeps how it ended."""
    make_turn(provider, "a")
    make_turn(provider, "a", end=CONTINUED)
    make_turn(provider, "a", now_ms=NOW_MS + 5)
    assert _executions(provider, "a") == [(1, CONTINUED), (2, "Running")]
    first, second = provider.executions("a")
    assert (first.event_count, first.turn_count, first.completed_at_ms) == (3, 2, NOW_MS)
    assert (second.event_count, second.started_at_ms, second.completed_at_ms) == (1, NOW_MS + 5, None)
    assert [event.event_id for event in provider.read_history("a", 1).events] == [1, 2, 3]
    assert provider.read_history("a", 1).turns == (1, 2, 2)
    assert [event.event_id for event in provider.read_history("a", 2).events] == [1]
    assert provider.read_history("a", 3).events == ()
    assert provider.executions("nobody") == []


@follows(CONTRACT, EVERY_STORE)
def load_brings_the_current_execution(provider: Provider) -> None:
    """Its history only, for each claim in order."""
    make_turn(provider, "a", end=CONTINUED)
    make_turn(provider, "a", schedules("Work"))
    make_turn(provider, "b")
    provider.enqueue([nudge("b"), nudge("a")], NOW_MS)
    claims = provider.claim(2, NOW_MS, LOCK_MS)
    loaded = provider.load(claims)
    assert [claim.instance_id for claim in claims] == ["b", "a"]
    assert [each.history for each in loaded] == [provider.read_history("b", 1), provider.read_history("a", 2)]


@follows(CONTRACT, EVERY_STORE)
def delete_removes_everything(provider: Provider) -> None:
    """History, queues and lock; the id is free again."""
    make_turn(provider, "a", schedules("Work"), activities=[ActivityExecute("a", 1, 2, "Work", "null")])
    provider.enqueue([nudge("a")], NOW_MS)
    claim_one(provider, "a")
    provider.delete_instance("a", force=True)
    assert provider.instance("a") is None
    assert provider.read_history("a", 1).events == ()
    assert provider.pending_messages("a") == []
    assert provider.pending_activities("a") == []
    provider.enqueue([start("a")], NOW_MS)
    assert claim_one(provider, "a").execution_id == 0


@follows(CONTRACT, EVERY_STORE)
def delete_takes_descendants_along(provider: Provider) -> None:
    """Children and their children, nobody else."""
    make_turn(provider, "parent", end=COMPLETED)
    make_turn(provider, "child", end=COMPLETED, parent="parent")
    make_turn(provider, "grandchild", end=COMPLETED, parent="child")
    make_turn(provider, "other", end=COMPLETED)
    provider.delete_instance("parent")
    assert [info.instance_id for info in provider.instances()] == ["other"]


@follows(CONTRACT, EVERY_STORE)
def delete_refuses_what_is_running(provider: Provider) -> None:
    """Without `force` nothing is deleted while one of the tree has turns to come; an unknown id is an error."""
    make_turn(provider, "parent", end=COMPLETED)
    make_turn(provider, "child", parent="parent")
    assert _raised(lambda: provider.delete_instance("parent")) is InstanceRunning
    assert len(provider.instances()) == 2
    provider.delete_instance("parent", force=True)
    assert provider.instances() == []
    assert _raised(lambda: provider.delete_instance("parent")) is UnknownInstance


@follows(CONTRACT, EVERY_STORE)
def delete_refuses_a_child(provider: Provider) -> None:
    """Its parent would wait for it for ever: only the root of a tree is deleted, with or without `force`."""
    make_turn(provider, "parent")
    make_turn(provider, "child", end=COMPLETED, parent="parent")
    for force in (False, True):
        assert _raised(partial(provider.delete_instance, "child", force)) is InstanceIsChild
    assert len(provider.instances()) == 2
    provider.delete_instance("parent", force=True)
    assert provider.instances() == []


@follows(CONTRACT, EVERY_STORE)
def commit_after_deletion_is_refused(provider: Provider) -> None:
    """A turn of an instance that was deleted meanwhile is lost."""
    provider.enqueue([start("a")], NOW_MS)
    claim = claim_one(provider, "a")
    provider.delete_instance("a", force=True)
    turn = turn_of(claim)
    assert provider.commit([turn]) == [turn]
    assert provider.instance("a") is None


def _five_executions(provider: Provider) -> None:
    for number in range(1, 5):
        make_turn(provider, "a", end=CONTINUED, now_ms=NOW_MS + number)
    make_turn(provider, "a", now_ms=NOW_MS + 5)


@follows(CONTRACT, EVERY_STORE)
def prune_without_options_leaves_the_current_execution(provider: Provider) -> None:
    """All that have ended go, with their histories."""
    _five_executions(provider)
    assert provider.prune_executions("a") == (1, 2, 3, 4)
    assert _executions(provider, "a") == [(5, "Running")]
    assert provider.read_history("a", 4).events == ()
    assert provider.prune_executions("a") == ()


@follows(CONTRACT, EVERY_STORE)
def prune_keeps_the_last(provider: Provider) -> None:
    """`keep_last` counts the current one; 0 and 1 mean the same."""
    _five_executions(provider)
    assert provider.prune_executions("a", keep_last=3) == (1, 2)
    assert provider.prune_executions("a", keep_last=9) == ()
    assert provider.prune_executions("a", keep_last=0) == (3, 4)
    assert _executions(provider, "a") == [(5, "Running")]


@follows(CONTRACT, EVERY_STORE)
def prune_by_time_is_strict(provider: Provider) -> None:
    """Only what ended before `completed_before_ms`; with both options both must hold."""
    _five_executions(provider)
    assert provider.prune_executions("a", completed_before_ms=NOW_MS + 2) == (1,)
    assert provider.prune_executions("a", keep_last=4, completed_before_ms=NOW_MS + 9) == ()
    assert provider.prune_executions("a", keep_last=3, completed_before_ms=NOW_MS + 4) == (2,)


@follows(CONTRACT, EVERY_STORE)
def prune_goes_on_where_it_was(provider: Provider) -> None:
    """The current execution can still be claimed, loaded and committed; an unknown id is an error."""
    _five_executions(provider)
    provider.prune_executions("a")
    make_turn(provider, "a", end=COMPLETED)
    assert _executions(provider, "a") == [(5, COMPLETED)]
    assert _raised(lambda: provider.prune_executions("nobody")) is UnknownInstance


@follows(CONTRACT, EVERY_STORE)
def restart_is_for_what_has_failed(provider: Provider) -> None:
    """Once, and for no instance that is unknown, runs, is to be continued, or has completed."""
    make_turn(provider, "running")
    make_turn(provider, "continued", end=CONTINUED)
    make_turn(provider, "completed", end=COMPLETED)
    make_turn(provider, "failed", end=FAILED)
    again = {
        name: ContinueAsNew(name, "Flow", "null", restarts=True)
        for name in ("nobody", "running", "continued", "completed", "failed")
    }
    provider.restart(again["failed"], NOW_MS)
    for name, message in again.items():
        assert _raised(partial(provider.restart, message, NOW_MS)) is InstanceNotFailed, name
    assert [len(provider.pending_messages(name)) for name in again] == [0, 0, 0, 0, 1]


@follows(CONTRACT, EVERY_STORE)
def restart_begins_another_execution(provider: Provider) -> None:
    """Spec 000, "Rolling upgrade safety": a failed instance can be restarted, with an execution of its own."""
    make_turn(provider, "a", end=FAILED)
    provider.restart(ContinueAsNew("a", "Flow", "null", restarts=True), NOW_MS)
    claim = claim_one(provider, "a")
    assert (claim.continued, claim.execution_id) == (True, 1)
    assert provider.load([claim])[0].history.events == ()
    assert provider.commit([turn_of(claim)]) == []
    assert _executions(provider, "a") == [(1, FAILED), (2, "Running")]
