"""The two tables of spec 000: `kv_delta` is written every turn, `kv_store` when an execution ends."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, run, settle, start, values
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context


def tables(wb: Workbench) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The rows of `kv_store` and of `kv_delta`; None is a tombstone."""
    both = wb.provider.get_kv_tables(INSTANCE)
    return values(both.store), values(both.delta)


def carries_over(**keys: str) -> Any:
    """The first execution of an orchestration sets these keys and continues as new."""

    def first_execution(ctx: Context) -> Any:
        for key, value in keys.items():
            ctx.set_kv_value(key, value)
        return ctx.continue_as_new(False)

    return first_execution


def test_kv_delta_clear_all_then_set(delta: Workbench) -> None:
    """`clear_all`, followed by new sets in later turns."""
    first_execution = carries_over(a="1", b="2")

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield first_execution(ctx)
        ctx.set_kv_value("c", "3")
        ctx.clear_all_kv_values()
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("b", "4")
        ctx.set_kv_value("d", "5")
        yield ctx.wait_for_event("go")
        return ctx.get_kv_all_values()

    start(delta, flow, given=True)
    settle(delta)
    assert tables(delta) == ({"a": "1", "b": "2"}, {"a": None, "b": None, "c": None})
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert tables(delta) == ({"a": "1", "b": "2"}, {"a": None, "b": "4", "c": None, "d": "5"})
    assert delta.client.get_kv_all_values(INSTANCE) == {"b": "4", "d": "5"}
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).output == {"b": "4", "d": "5"}
    assert tables(delta) == ({"b": "4", "d": "5"}, {})


def test_kv_delta_clear_single_with_prior_execution_value(delta: Workbench) -> None:
    """A tombstone overrides the value in `kv_store`."""
    first_execution = carries_over(cleared="1", kept="2")

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield first_execution(ctx)
        ctx.clear_kv_value("cleared")
        yield ctx.wait_for_event("go")
        return ctx.get_kv_value("cleared")

    start(delta, flow, given=True)
    settle(delta)
    assert tables(delta) == ({"cleared": "1", "kept": "2"}, {"cleared": None})
    assert delta.client.get_kv_value(INSTANCE, "cleared") is None
    assert delta.client.get_kv_all_values(INSTANCE) == {"kept": "2"}
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).status == "Completed"
    assert tables(delta) == ({"kept": "2"}, {})


def test_kv_delta_merged_on_completion(delta: Workbench) -> None:
    """After the orchestration has completed `kv_store` has the merged state, and `kv_delta` is empty."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.wait_for_event("go")
        ctx.set_kv_value("b", "2")
        ctx.clear_kv_value("a")

    start(delta, flow)
    settle(delta)
    assert tables(delta) == ({}, {"a": "1", "b": "1"})
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).status == "Completed"
    assert tables(delta) == ({"b": "2"}, {})


def test_kv_delta_merged_on_can(delta: Workbench) -> None:
    """The same for continue-as-new: the next execution begins with an empty delta and sees the merged state."""

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            ctx.set_kv_value("k", "1")
            yield ctx.wait_for_event("go")
            ctx.set_kv_value("k", "2")
            yield ctx.continue_as_new(False)
        ctx.set_kv_value("seen", str(ctx.get_kv_value("k")))
        yield ctx.wait_for_event("never")

    start(delta, flow, given=True)
    settle(delta)
    assert tables(delta) == ({}, {"k": "1"})
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert tables(delta) == ({"k": "2"}, {"seen": "2"})


def test_kv_delta_client_reads_live_state(delta: Workbench) -> None:
    """A client reads delta and store merged: overridden, cleared, untouched and new keys."""
    first_execution = carries_over(cleared="old", overridden="old", untouched="old")

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield first_execution(ctx)
        ctx.set_kv_value("overridden", "new")
        ctx.clear_kv_value("cleared")
        ctx.set_kv_value("added", "new")
        yield ctx.wait_for_event("never")

    run(delta, flow, given=True)
    merged = {"added": "new", "overridden": "new", "untouched": "old"}
    assert delta.client.get_kv_all_values(INSTANCE) == merged
    for key in ("added", "cleared", "overridden", "untouched"):
        assert delta.client.get_kv_value(INSTANCE, key) == merged.get(key)
    seed = delta.provider.get_kv_snapshot(INSTANCE)
    assert {key: entry.value for key, entry in seed.items()} == {
        "cleared": "old",
        "overridden": "old",
        "untouched": "old",
    }
