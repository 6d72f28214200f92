"""D28, D30: what a client and a context can do that the reference's SDK cannot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specification.running import INSTANCE, output, register, settle, start
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.errors import InstanceFinished


def two_values(ctx: Context, _: None) -> Any:
    """Sets a key, and another value when told to."""
    ctx.set_kv_value("k", "first")
    yield ctx.wait_for_event("go")
    ctx.set_kv_value("k", "second")
    yield ctx.wait_for_event("end")


def test_d28_waiting_for_a_key_sees_its_change(wb: Workbench) -> None:
    register(wb, two_values)
    with wb.runtime:
        wb.client.start_orchestration(INSTANCE, "two_values")
        assert wb.client.wait_for_kv_value(INSTANCE, "k") == "first"
        wb.client.raise_event(INSTANCE, "go")
        assert wb.client.wait_for_kv_value(INSTANCE, "k", changed_from="first") == "second"


def test_d28_waiting_for_a_key_ends_with_the_instance(wb: Workbench) -> None:
    """In the reference it waits for the whole timeout."""
    start(wb, two_values)
    settle(wb)
    for event in ("go", "end"):
        wb.client.raise_event(INSTANCE, event)
        settle(wb)
    assert wb.client.wait_for_kv_value(INSTANCE, "k") == "second"
    with pytest.raises(InstanceFinished, match="'i' is finished"):
        wb.client.wait_for_kv_value(INSTANCE, "another key")
    with pytest.raises(InstanceFinished):
        wb.client.wait_for_kv_value(INSTANCE, "k", changed_from="second")


def test_d30_the_code_can_ask_whether_it_is_replaying(delta: Workbench) -> None:
    seen = []

    def flow(ctx: Context, _: None) -> Any:
        seen.append(("before", ctx.is_replaying))
        yield ctx.schedule_activity("Noop")
        seen.append(("after", ctx.is_replaying))

    assert output(delta, flow) is None
    assert seen == [("before", False), ("before", True), ("after", False)]


def test_d30_the_context_has_typed_keys_and_the_client_all_of_them(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value_typed("k", {"n": 1})
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value_typed("k", dict[str, int])

    assert output(wb, flow) == {"n": 1}
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": '{"n": 1}'}
