"""Turns made by hand, with real events, as the dispatcher would commit them.

A turn is written as what its code did: `run_turn(provider, "a", sets("k", "1"), status="Completed")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.runtime import events as ev
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, ExternalRaised, Message, StartOrchestration
from workbench.runtime.provider import Claim, Provider, TurnCommit

LOCK_MS = 5_000

Operation = tuple[str, dict[str, Any]]
"""The type of an event and its fields, without what numbers and dates it."""

KIND_OF_END = {"Completed": ev.COMPLETED, "Failed": ev.FAILED, "ContinuedAsNew": ev.CONTINUED_AS_NEW}


def sets(key: str, value: str, at_ms: int | None = None) -> Operation:
    """Set a key, at the turn's time unless told."""
    return ev.KV_SET, {"key": key, "value": value, "last_updated_at_ms": at_ms}


def clears(key: str) -> Operation:
    """Clear one key."""
    return ev.KV_CLEARED, {"key": key}


def clears_all() -> Operation:
    """Clear all keys."""
    return ev.KV_ALL_CLEARED, {}


def status(text: str | None) -> Operation:
    """Set the custom status, or reset it."""
    return ev.STATUS_UPDATED, {"status": text}


def schedules(name: str = "Noop") -> Operation:
    """Schedule an activity."""
    return ev.ACTIVITY_SCHEDULED, {"name": name, "input": ""}


def start(instance_id: str, parent: str | None = None) -> StartOrchestration:
    """The message that begins an instance."""
    return StartOrchestration(instance_id, "Flow", '""', parent_instance=parent)


def nudge(instance_id: str, data: str = "null") -> ExternalRaised:
    """A message that gives an instance a turn."""
    return ExternalRaised(instance_id, "go", data)


def claim_one(provider: Provider, instance_id: str, now_ms: int = 0, lock_ms: int = LOCK_MS) -> Claim:
    """Claim an instance that must be ready."""
    [claim] = provider.claim(1, now_ms, lock_ms, instance_id)
    return claim


def turn_of(
    claim: Claim,
    *operations: Operation,
    now_ms: int = 0,
    status: str = "Running",
    output: str | None = None,
    number: int = 1,
    messages: Sequence[Message] = (),
    activities: Sequence[ActivityExecute] = (),
    cancelled: Sequence[int] = (),
    parent: str | None = None,
    refused: bool = False,
) -> TurnCommit:
    """The commit of a claim's turn: its arrival, these operations, and its ending unless it is `Running`."""
    begins = claim.execution_id == 0 or claim.continued
    execution_id = claim.execution_id + 1 if begins else claim.execution_id
    first_id = 1 if begins else claim.last_event_id + 1
    arrival: Operation = (
        (ev.STARTED, {"name": "Flow", "version": "1.0.0", "input": '""'})
        if begins
        else (ev.EVENT_RECEIVED, {"name": "go", "data": "null"})
    )
    written = [arrival, *operations]
    if status in KIND_OF_END:
        written.append((KIND_OF_END[status], {}))
    events = []
    for event_id, (kind, fields) in enumerate(written, first_id):
        if fields.get("last_updated_at_ms", 0) is None:
            fields = {**fields, "last_updated_at_ms": now_ms}
        events.append(ev.new_event(claim.instance_id, execution_id, event_id, now_ms, kind, None, **fields))
    return TurnCommit(
        claim=claim,
        execution_id=execution_id,
        turn=number,
        now_ms=now_ms,
        events=tuple(events),
        status=status,
        output=output,
        orchestration="Flow",
        version="1.0.0",
        parent_instance=parent,
        refused=refused,
        messages=tuple(messages),
        activities=tuple(activities),
        cancelled_activities=tuple(cancelled),
    )


def wake(provider: Provider, instance_id: str, now_ms: int = 0) -> None:
    """Enqueue whatever gives the instance its next turn: its start, its next execution, or an event."""
    stored = provider.instance(instance_id)
    message: Message
    if stored is None:
        message = start(instance_id)
    elif stored.status == "ContinuedAsNew":
        message = ContinueAsNew(instance_id, "Flow", '""')
    else:
        message = nudge(instance_id)
    provider.enqueue([message], now_ms)


def run_turn(provider: Provider, instance_id: str, *operations: Operation, now_ms: int = 0, **options: Any) -> Claim:
    """Wake an instance, make its turn and commit it; returns the claim the turn was made under."""
    wake(provider, instance_id, now_ms)
    claim = claim_one(provider, instance_id, now_ms)
    assert provider.commit([turn_of(claim, *operations, now_ms=now_ms, **options)]) == []
    return claim
