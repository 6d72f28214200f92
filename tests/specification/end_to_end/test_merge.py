"""Every kind of end merges: spec 000, "Write path: execution completion", on a runtime with real workers.

Before the end `kv_delta` has what the running execution wrote; after it `kv_store` has the merged state and `kv_delta`
is empty, whatever the end was. What a turn wrote that was not accepted (by a limit, or because the code left its
history) is in neither. A client reads the same in both models, and never anything else than before the end or after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.specification.running import INSTANCE, values
from workbench import Client, ManualClock, Runtime, RuntimeOptions, Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import PER_TURN
from workbench.runtime.registry import Registry

OPTIONS = RuntimeOptions(
    orchestration_concurrency=1, worker_concurrency=1, dispatcher_poll_interval_ms=2, max_attempts=1
)
CARRIED = {"cleared": "1", "kept": "1", "overwritten": "1"}
BEFORE = {"kept": "1", "new": "2", "overwritten": "2"}
LAST_TURN = {"kept": "1", "last": "3", "new": "2", "overwritten": "2"}


def flow(ctx: Context, given: Any) -> Any:
    """Carries keys into execution 2, changes them there, and ends as it is told."""
    if given == "begin":
        for key in CARRIED:
            ctx.set_kv_value(key, "1")
        yield ctx.continue_as_new("end")
    elif given == "after":
        ctx.set_custom_status("the execution after")
        yield ctx.wait_for_event("never")
    ctx.set_kv_value("overwritten", "2")
    ctx.set_kv_value("new", "2")
    ctx.clear_kv_value("cleared")
    how = yield ctx.wait_for_event("end")
    ctx.set_kv_value("last", "3")
    if how == "fail":
        raise ValueError("on purpose")
    if how == "continue":
        yield ctx.continue_as_new("after")
    if how == "break a limit":
        ctx.set_kv_value("too large", "x" * 20_000)
    if how == "poisoned activity":
        yield ctx.schedule_activity("NobodyHasIt")


def changed(ctx: Context, _: Any) -> Any:
    """Other code than what wrote the history."""
    ctx.set_kv_value("overwritten", "another value")
    yield ctx.wait_for_event("end")


class End(NamedTuple):
    """One kind of end: what is said to the instance, its error, and what a client reads afterwards."""

    told: str
    error: str | None
    after: dict[str, str]


ENDS = {
    "completed": End("complete", None, LAST_TURN),
    "continued": End("continue", None, LAST_TURN),
    "failed": End("fail", "ValueError: on purpose", LAST_TURN),
    "cancelled": End("complete", "canceled: enough", LAST_TURN),
    "limit": End("break a limit", "KV value for key 'too large' (20000 bytes)", BEFORE),
    "divergence": End("complete", "nondeterministic: kv set mismatch", BEFORE),
    "poison": End("complete", "poison: orchestration i exceeded 2 attempts (max 1)", BEFORE),
    "poisoned activity": End("poisoned activity", "poison: activity NobodyHasIt#8 exceeded 2 attempts", LAST_TURN),
}


def before_the_end(wb: Workbench, client: Client) -> Runtime:
    """The runtime of an instance that waits in its second execution for how it is to end; its workers have stopped."""
    runtime = Runtime(wb.provider, OPTIONS, wb.limits, wb.clock)
    runtime.register_orchestration("Flow", flow)
    client.start_orchestration(INSTANCE, "Flow", "begin")
    with runtime:
        client.wait_for_kv_value(INSTANCE, "new")
    return runtime


def end(kind: str, wb: Workbench, runtime: Runtime, client: Client) -> Runtime:
    """Say what ends the instance; the runtime whose workers will see to it."""
    client.raise_event(INSTANCE, "end", ENDS[kind].told)
    if kind == "cancelled":
        client.cancel_instance(INSTANCE, "enough")
    elif kind == "divergence":
        runtime.register_orchestration("Flow", changed)
    elif kind == "poison":
        return Runtime(wb.provider, OPTIONS, wb.limits, wb.clock, Registry())
    return runtime


def has_ended(kind: str, client: Client) -> Callable[[], bool]:
    """Whether the execution has ended; for continue-as-new, whether the next one has begun."""
    if kind == "continued":
        return lambda: client.get_status(INSTANCE).custom_status is not None
    return lambda: client.get_status(INSTANCE).status in ("Completed", "Failed")


def views_until(done: Callable[[], bool], wb: Workbench, client: Client, step_ms: int) -> Iterator[dict[str, str]]:
    """What a client reads, again and again until the end has come; the clock goes on by `step_ms` between looks."""
    assert isinstance(wb.clock, ManualClock)
    for _look in range(10_000):
        yield client.get_kv_all_values(INSTANCE)
        if done():
            return
        wb.clock.advance(step_ms)
        wb.provider.wait(0.005)
    pytest.fail("the execution does not end")


@pytest.mark.parametrize("kind", ENDS)
def test_every_kind_of_end_merges(wb: Workbench, kind: str) -> None:
    client = Client(wb.provider, wb.clock)
    runtime = before_the_end(wb, client)
    tables = wb.provider.get_kv_tables(INSTANCE)
    if wb.kv_model == PER_TURN:
        assert (values(tables.store), values(tables.delta)) == (BEFORE, {})
    else:
        changes = {"cleared": None, "new": "2", "overwritten": "2"}
        assert (values(tables.store), values(tables.delta)) == (CARRIED, changes)
    assert client.get_kv_all_values(INSTANCE) == BEFORE

    retried = 100 if "poison" in kind else 0  # what cannot be made is tried again a second later
    with end(kind, wb, runtime, client):
        seen = list(views_until(has_ended(kind, client), wb, client, retried))

    after = ENDS[kind].after
    tables = wb.provider.get_kv_tables(INSTANCE)
    assert (values(tables.store), values(tables.delta)) == (after, {})
    assert client.get_kv_all_values(INSTANCE) == after
    assert [view for view in seen if view not in (BEFORE, after)] == []
    status = client.get_status(INSTANCE)
    assert (ENDS[kind].error or "") in (status.error or "")
    assert (status.status == "Failed") == (ENDS[kind].error is not None)
