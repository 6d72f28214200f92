"""Turns made by hand, as the dispatcher would claim and commit them: a turn is what its code did, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, ExternalRaised, Message, StartOrchestration
from workbench.runtime.provider import Claim, Provider, TurnCommit

NOW_MS = 1_000
LOCK_MS = 5_000
RUNNING = "Running"
COMPLETED = "Completed"
FAILED = "Failed"
CONTINUED = "ContinuedAsNew"

Row = tuple[str, dict[str, Any]]
"""The type of an event and its own fields."""

_ENDINGS: dict[str, Row] = {
    COMPLETED: (ev.COMPLETED, {"output": "null"}),
    FAILED: (ev.FAILED, {"details": ev.application_error("on purpose")}),
    CONTINUED: (ev.CONTINUED_AS_NEW, {"input": "null"}),
}


def sets(key: str, value: str, at_ms: int = NOW_MS) -> Row:
    """Set a key, at a time (ms)."""
    return ev.KV_SET, {"key": key, "value": value, "last_updated_at_ms": at_ms}


def clears(key: str) -> Row:
    """Clear one key."""
    return ev.KV_CLEARED, {"key": key}


def clears_all() -> Row:
    """Clear all keys."""
    return ev.KV_ALL_CLEARED, {}


def schedules(name: str) -> Row:
    """Schedule an activity."""
    return ev.ACTIVITY_SCHEDULED, {"name": name, "input": "null"}


def start(instance_id: str, parent: str | None = None) -> StartOrchestration:
    """The message that begins an instance."""
    return StartOrchestration(instance_id, "Flow", "null", parent_instance=parent)


def nudge(instance_id: str, data: str = "null") -> ExternalRaised:
    """A message that gives a running instance a turn."""
    return ExternalRaised(instance_id, "go", data)


def claim_one(provider: Provider, instance_id: str, now_ms: int = NOW_MS) -> Claim:
    """The claim of an instance that must be ready."""
    claims = provider.claim(1, now_ms, LOCK_MS, instance_id)
    assert [claim.instance_id for claim in claims] == [instance_id], f"{instance_id} is not ready"
    return claims[0]


def turn_of(
    claim: Claim,
    *rows: Row,
    end: str = RUNNING,
    now_ms: int = NOW_MS,
    number: int = 1,
    parent: str | None = None,
    activities: Sequence[ActivityExecute] = (),
    messages: Sequence[Message] = (),
    cancelled: Sequence[int] = (),
) -> TurnCommit:
    """The commit of a claim's turn: what arrived, what the code did, and its ending."""
    begins = claim.execution_id == 0 or claim.continued
    execution_id = claim.execution_id + 1 if begins else claim.execution_id
    arrival: Row = (ev.EVENT_RECEIVED, {"name": "go", "data": "null"})
    if begins:
        arrival = (ev.STARTED, {"name": "Flow", "version": "1.0.0", "input": "null"})
    written = [arrival, *rows, *([_ENDINGS[end]] if end in _ENDINGS else [])]
    first_id = 1 if begins else claim.last_event_id + 1
    return TurnCommit(
        claim=claim,
        execution_id=execution_id,
        turn=number,
        now_ms=now_ms,
        events=tuple(
            ev.new_event(claim.instance_id, execution_id, event_id, now_ms, kind, None, **fields)
            for event_id, (kind, fields) in enumerate(written, first_id)
        ),
        status=end,
        output=None if end == RUNNING else "null",
        orchestration="Flow",
        version="1.0.0",
        parent_instance=parent,
        activities=tuple(activities),
        messages=tuple(messages),
        cancelled_activities=tuple(cancelled),
    )


def make_turn(provider: Provider, instance_id: str, *rows: Row, now_ms: int = NOW_MS, **more: Any) -> None:
    """Give an instance whatever message its next turn needs, make that turn, and commit it."""
    info = provider.instance(instance_id)
    wakes: Message = nudge(instance_id)
    number = 1
    if info is None:
        wakes = start(instance_id)
    elif info.status == CONTINUED:
        wakes = ContinueAsNew(instance_id, "Flow", "null")
    else:
        number = provider.executions(instance_id)[-1].turn_count + 1
    provider.enqueue([wakes], now_ms)
    turn = turn_of(claim_one(provider, instance_id, now_ms), *rows, now_ms=now_ms, number=number, **more)
    assert provider.commit([turn]) == []


def snapshot(provider: Provider, instance_id: str) -> dict[str, str | None]:
    """The values that the next replay of an instance is seeded with."""
    return {key: entry.value for key, entry in provider.get_kv_snapshot(instance_id).items()}


def read(provider: Provider, instance_id: str, *keys: str) -> list[str | None]:
    """What a client reads for each key; the bulk read must say the same."""
    single = [provider.get_kv_value(instance_id, key) for key in keys]
    everything = provider.get_all_kv_values(instance_id)
    assert [everything.get(key) for key in keys] == single
    return single


def rows_of(table: kv.Table) -> dict[str, str | None]:
    """A KV table without its times; None is a tombstone."""
    return {key: row.value for key, row in table.items()}
