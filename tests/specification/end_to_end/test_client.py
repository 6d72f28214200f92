"""What clients read: single keys while it runs, and all keys at once (spec 001, "Client"; spec 000, "client reads")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specification.running import INSTANCE, output, register, run, settle, start
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def test_client_get_value_running(wb: Workbench) -> None:
    """A client waits for a key of an instance that background workers run."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("progress", "half")
        yield ctx.wait_for_event("go on")
        ctx.set_kv_value("progress", "whole")

    register(wb, flow)
    with wb.runtime:
        wb.client.start_orchestration(INSTANCE, "flow")
        assert wb.client.wait_for_kv_value(INSTANCE, "progress") == "half"
        assert wb.client.get_status(INSTANCE).status == "Running"
        wb.client.raise_event(INSTANCE, "go on")
        assert wb.client.wait_for_orchestration(INSTANCE).status == "Completed"
    assert wb.client.get_kv_value(INSTANCE, "progress") == "whole"


def test_client_wait_for_a_key_that_never_comes_times_out(wb: Workbench) -> None:
    with pytest.raises(TimeoutError, match="'k' on instance 'nobody'"):
        wb.client.wait_for_kv_value("nobody", "k", timeout_ms=1)


def test_kv_client_get_all_values(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for key in ("c", "a", "b"):
            ctx.set_kv_value(key, key.upper())
        yield ctx.schedule_activity("Noop")

    run(wb, flow)
    assert list(wb.client.get_kv_all_values(INSTANCE).items()) == [("a", "A"), ("b", "B"), ("c", "C")]


def test_kv_client_get_all_values_empty(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Noop")

    run(wb, flow)
    assert wb.client.get_kv_all_values(INSTANCE) == {}
    assert wb.client.get_kv_all_values("nobody") == {}


def test_kv_client_get_all_values_after_overwrite(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("k", "2")
        yield ctx.wait_for_event("never")

    run(wb, flow)
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": "2"}


def test_kv_client_get_all_values_after_clear(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("cleared", "1")
        ctx.set_kv_value("kept", "2")
        yield ctx.schedule_activity("Noop")
        ctx.clear_kv_value("cleared")
        yield ctx.wait_for_event("never")

    run(wb, flow)
    assert wb.client.get_kv_all_values(INSTANCE) == {"kept": "2"}


def test_kv_client_get_all_values_across_can(wb: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("first", "1")
            ctx.set_kv_value("both", "1")
            yield ctx.continue_as_new(False)
        ctx.set_kv_value("both", "2")
        ctx.set_kv_value("second", "2")
        yield ctx.wait_for_event("never")

    run(wb, flow, given=True)
    assert wb.client.get_kv_all_values(INSTANCE) == {"both": "2", "first": "1", "second": "2"}


def test_kv_bulk_reads_of_the_code_are_in_key_order(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for key in ("c", "a", "é", "b"):
            ctx.set_kv_value(key, key)
        yield ctx.schedule_activity("Noop")
        return [list(ctx.get_kv_all_values()), ctx.get_kv_all_keys(), ctx.get_kv_length()]

    order = ["a", "b", "c", "é"]
    assert output(wb, flow) == [order, order, 4]


def test_get_orchestration_stats(wb: Workbench) -> None:
    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield ctx.wait_for_event("go")
            yield ctx.continue_as_new(False)
        ctx.set_kv_value("a", "12345")
        ctx.set_kv_value("b", "é")
        ctx.clear_kv_value("never set")
        yield ctx.wait_for_event("never")

    start(wb, flow, given=True)
    settle(wb)
    for number in range(2):
        wb.client.enqueue_event(INSTANCE, "unread", number)
    wb.client.raise_event(INSTANCE, "go")
    settle(wb)
    stats = wb.client.get_orchestration_stats(INSTANCE)
    assert stats is not None
    assert (stats.kv_user_key_count, stats.kv_total_value_bytes, stats.queue_pending_count) == (2, 7, 2)
    history = wb.provider.read_history(INSTANCE, 2)
    assert stats.history_event_count == len(history.events) == 7
    assert stats.history_size_bytes == sum(len(text.encode()) for text in history.texts)
    assert wb.client.get_orchestration_stats("nobody") is None
