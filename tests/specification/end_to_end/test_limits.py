"""Limits of an instance, checked at the end of a turn (spec 001, "Size Limits"); the numbers are `Limits()`'s own."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, run, settle, start
from workbench import Limits, Workbench
from workbench.runtime.context import OrchestrationContext as Context

MOST_KEYS = Limits().kv_keys
MOST_BYTES = Limits().kv_value_bytes


def sets_keys(count: int) -> Any:
    """An orchestration that sets so many keys in its first turn, and waits."""

    def flow(ctx: Context, _: None) -> Any:
        for i in range(count):
            ctx.set_kv_value(f"key-{i}", str(i))
        yield ctx.schedule_activity("Noop")

    return flow


def sets_value(value: str) -> Any:
    """An orchestration that sets one key in its first turn, and waits."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", value)
        yield ctx.schedule_activity("Noop")

    return flow


def test_kv_exceeding_key_limit_fails_orchestration(wb: Workbench) -> None:
    result = run(wb, sets_keys(MOST_KEYS + 1))
    assert result.status == "Failed"
    assert result.error == f"KV key count ({MOST_KEYS + 1}) exceeds limit ({MOST_KEYS})"


def test_kv_at_key_limit_succeeds(wb: Workbench) -> None:
    assert run(wb, sets_keys(MOST_KEYS)).status == "Completed"
    assert len(wb.client.get_kv_all_values(INSTANCE)) == MOST_KEYS


def test_kv_exceeding_value_size_limit_fails_orchestration(wb: Workbench) -> None:
    result = run(wb, sets_value("x" * (MOST_BYTES + 1)))
    assert result.status == "Failed"
    assert result.error == f"KV value for key 'k' ({MOST_BYTES + 1} bytes) exceeds limit ({MOST_BYTES} bytes)"


def test_kv_value_size_is_counted_in_bytes(delta: Workbench) -> None:
    def flow(ctx: Context, value: str) -> Any:
        ctx.set_kv_value("k", value)
        yield ctx.schedule_activity("Noop")

    characters = {character: len(character.encode()) for character in "xé€😀"}
    for character, size in characters.items():
        fits = MOST_BYTES // size
        start(delta, flow, character * fits, instance_id=f"{character} fits")
        start(delta, flow, character * (fits + 1), instance_id=f"{character} is too large")
    settle(delta)
    for character, size in characters.items():
        assert delta.client.get_status(f"{character} fits").status == "Completed"
        error = delta.client.get_status(f"{character} is too large").error
        assert f"({(MOST_BYTES // size + 1) * size} bytes) exceeds limit" in str(error)


def test_kv_clear_all_resets_key_count(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for generation in ("old", "new"):
            ctx.clear_all_kv_values()
            for i in range(MOST_KEYS):
                ctx.set_kv_value(f"{generation}-{i}", "1")
        yield ctx.schedule_activity("Noop")

    assert run(wb, flow).status == "Completed"
    assert set(wb.client.get_kv_all_values(INSTANCE)) == {f"new-{i}" for i in range(MOST_KEYS)}


def test_limit_failure_is_an_application_error_that_is_not_retryable(wb: Workbench) -> None:
    """Spec 001, "Failure Mode": and nothing of what the turn scheduled is run."""
    run(wb, sets_value("x" * (MOST_BYTES + 1)))
    last = wb.provider.read_history(INSTANCE, 1).events[-1]
    body = {"kind": "OrchestrationFailed", "message": wb.client.get_status(INSTANCE).error, "retryable": False}
    assert (last.type, last.details) == ("OrchestrationFailed", {"Application": body})
    assert wb.provider.pending_activities(INSTANCE) == []
    assert wb.provider.pending_messages(INSTANCE) == []
