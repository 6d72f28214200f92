"""Running orchestrations on a real store: the workers' own calls, made on the test's thread until nothing is left.

Every turn is replayed from the top and committed as a background worker would; no thread, so nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench import Client, Limits, ManualClock, Workbench
from workbench.runtime import kv
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client_answers import OrchestrationResult
from workbench.runtime.clock import Clock
from workbench.runtime.dispatcher import MAX_ATTEMPTS, Dispatcher
from workbench.runtime.provider import Provider
from workbench.runtime.registry import Registry

Flow = Callable[..., Any]
INSTANCE = "i"
BATCH = 32


def noop(_ctx: object, _given: object) -> None:
    """An activity that does nothing."""


def echo(_ctx: object, given: object) -> object:
    """An activity that returns what it got."""
    return given


def register(wb: Workbench, *flows: Flow) -> None:
    """Register orchestrations under their functions' names."""
    for flow in flows:
        wb.registry.add_orchestration(flow.__name__, flow)


def start(wb: Workbench, flow: Flow, given: object = None, instance_id: str = INSTANCE) -> None:
    """Register an orchestration and begin an instance of it; no turn is made."""
    register(wb, flow)
    wb.client.start_orchestration(instance_id, flow.__name__, given)


def settle(wb: Workbench, max_attempts: int = MAX_ATTEMPTS) -> None:
    """Make every turn, run every activity and let every timer fire, until only calls from outside are waited for."""
    work_through(wb.provider, wb.registry, wb.clock, wb.limits, max_attempts)


def work_through(
    provider: Provider, registry: Registry, clock: Clock, limits: Limits, max_attempts: int = MAX_ATTEMPTS
) -> None:
    """Do what is to be done in a store, as its workers would, until nothing is left."""
    dispatcher = Dispatcher(provider, registry, clock, limits, max_attempts=max_attempts)
    activities = ActivityRunner(provider, registry, clock, lambda: Client(provider, clock))
    moved = True
    while moved:
        turns = dispatcher.make_turns(BATCH)
        ran = activities.run_batch(max_attempts, "worker-1")
        moved = turns > 0 or ran or _time_passes(provider, clock)


def _time_passes(provider: Provider, clock: Clock) -> bool:
    due_ms = provider.next_visible_ms()
    if due_ms is None:
        return False
    assert isinstance(clock, ManualClock)
    clock.advance_to(due_ms)
    return True


def run(wb: Workbench, flow: Flow, given: object = None, instance_id: str = INSTANCE) -> OrchestrationResult:
    """Run an orchestration as far as it goes, and say how it stands."""
    start(wb, flow, given, instance_id)
    settle(wb)
    return wb.client.get_status(instance_id)


def output(wb: Workbench, flow: Flow, given: object = None, instance_id: str = INSTANCE) -> Any:
    """What an orchestration returns; it must complete."""
    result = run(wb, flow, given, instance_id)
    assert (result.status, result.error) == ("Completed", None)
    return result.output


def values(tables: kv.Table) -> dict[str, str | None]:
    """The rows of a KV table without their times; None is a tombstone."""
    return {key: row.value for key, row in tables.items()}
