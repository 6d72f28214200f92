"""Restarting a failed instance: what spec 000, "Rolling upgrade safety", takes for granted."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.runtime.instances import Instances
from workbench.runtime import events as ev
from workbench.runtime.errors import InstanceNotFailed, UnknownInstance

Flow = Generator[Any, Any, Any]


def counting(ctx: Any, given: object) -> Flow:
    """Fails until it has been run as often as its input says."""
    runs = int(ctx.get_kv_value("runs") or "0") + 1
    ctx.set_kv_value("runs", str(runs))
    yield ctx.schedule_timer(1)
    ctx.set_kv_value("last", f"of run {runs}")
    if runs < int(str(given)):
        raise ValueError(f"run {runs}")
    return ctx.get_kv_all_values()


@pytest.fixture
def failed(instances: Instances) -> Instances:
    """An instance that has failed in its first execution, and would complete in its second if it keeps its keys."""
    instances.orchestration("Counting", counting)
    instances.start("Counting", 2)
    finish(instances)
    assert instances.client.get_status("i").error == "ValueError: run 1"
    return instances


def finish(instances: Instances, instance_id: str = "i") -> None:
    while instances.client.get_status(instance_id).status in ("NotFound", "Running"):
        instances.turn(instance_id)


def test_it_has_another_execution_with_its_own_start_event_and_the_same_input(failed: Instances) -> None:
    failed.client.restart_instance("i")
    assert failed.client.get_status("i").status == "Running"
    finish(failed)
    assert failed.client.list_executions("i") == [1, 2]
    first, second = (failed.provider.read_history("i", number).events[0] for number in (1, 2))
    assert (second.type, second.event_id, second.execution_id) == (ev.STARTED, 1, 2)
    assert (first.name, first.version, first.input) == (second.name, second.version, second.input)


def test_it_keeps_its_keys_as_the_failed_execution_left_them(failed: Instances) -> None:
    failed.client.restart_instance("i")
    assert failed.client.get_kv_all_values("i") == {"last": "of run 1", "runs": "1"}
    finish(failed)
    assert failed.client.get_status("i").output == {"last": "of run 2", "runs": "2"}


def test_or_it_begins_with_none(failed: Instances) -> None:
    failed.client.restart_instance("i", kv="clear")
    assert failed.client.get_kv_all_values("i") == {}
    finish(failed)
    assert failed.client.get_status("i").error == "ValueError: run 1"
    assert failed.client.get_kv_value("i", "runs") == "1"
    assert failed.provider.read_history("i", 2).events[0].kv_cleared is True


def test_the_history_of_the_failed_execution_stays(failed: Instances) -> None:
    before = failed.provider.read_history("i", 1)
    failed.client.restart_instance("i", kv="clear")
    finish(failed)
    assert failed.provider.read_history("i", 1) == before
    assert [each.status for each in failed.provider.executions("i")] == ["Failed", "Failed"]


def test_it_can_be_restarted_again_and_again(failed: Instances) -> None:
    for _ in range(3):
        failed.client.restart_instance("i", kv="clear")
        finish(failed)
    assert failed.client.list_executions("i") == [1, 2, 3, 4]


def test_one_restart_at_a_time(failed: Instances) -> None:
    failed.client.restart_instance("i")
    with pytest.raises(InstanceNotFailed, match="instance 'i' is about to restart, and only a failed one"):
        failed.client.restart_instance("i", kv="clear")
    assert failed.client.get_kv_value("i", "runs") == "1"
    finish(failed)
    assert failed.client.list_executions("i") == [1, 2]


def test_only_what_has_failed_is_restarted(failed: Instances) -> None:
    failed.client.restart_instance("i")
    finish(failed)
    with pytest.raises(InstanceNotFailed, match="instance 'i' is Completed"):
        failed.client.restart_instance("i")
    failed.start("Counting", 1, "j")
    failed.turn("j")
    with pytest.raises(InstanceNotFailed, match="instance 'j' is Running"):
        failed.client.restart_instance("j")
    with pytest.raises(UnknownInstance, match="'nobody'"):
        failed.client.restart_instance("nobody")
    with pytest.raises(ValueError, match="kv is 'keep' or 'clear', not 'maybe'"):
        failed.client.restart_instance("i", kv="maybe")  # type: ignore[arg-type]


def test_a_cancelled_instance_has_failed_too(failed: Instances) -> None:
    failed.start("Counting", 1, "j")
    failed.turn("j")
    failed.client.cancel_instance("j", "enough")
    failed.turn("j")
    failed.client.restart_instance("j", kv="clear")
    finish(failed, "j")
    assert failed.client.get_status("j").output == {"last": "of run 1", "runs": "1"}
