"""What cannot be made a turn of: tried again more and more rarely, then its instance fails as poisoned (facts §7.4)."""

from __future__ import annotations

from typing import Any

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.ending import parent_notice
from workbench.runtime.errors import DamagedHistory
from workbench.runtime.provider import ActivityClaim, Claim, History, Loaded, TurnCommit
from workbench.runtime.turn_making import start_message

LONGEST_DELAY_MS = 60_000
UNKNOWN_VERSION = "unknown"
UNKNOWN_TURN = 0
"""Of an ending behind a history that cannot be read."""


class Poisoned(msgspec.Struct, frozen=True):
    """A claim whose history cannot be read: the commit that ends its instance, or None while it is tried again."""

    commit: TurnCommit | None


def retry_delay_ms(attempt_count: int) -> int:
    """How long to leave alone what failed for the n-th time, ms: 1 s, 2 s, 4 s … 60 s."""
    return min(LONGEST_DELAY_MS, 1_000 << min(max(attempt_count - 1, 0), 6))


def poisoned(claim: Claim, loaded: Loaded, max_attempts: int, now_ms: int) -> TurnCommit:
    """The failure of an instance whose messages were tried too often."""
    execution_id = _execution_id(claim)
    where: dict[str, Any] = {"instance": claim.instance_id, "execution_id": execution_id}
    kind = {"Orchestration": where}
    wrong = _wrong_row(loaded.history)
    if wrong is not None:
        kind = {"FailedDeserialization": where | {"error": wrong}}
    batch = "[" + ",".join(ms.encode_message(message) for message in claim.messages) + "]"
    history = loaded.history
    started = history.events[0] if history.events else None
    turn = history.turns[-1] + 1 if history.turns else 1
    return _failure(claim, _details(claim.attempt_count, max_attempts, kind, batch), started, turn, now_ms)


def _wrong_row(history: History) -> str | None:
    """The row that no replay gets past: of a type that is not known, or the outcome of nothing; None for none."""
    made: set[int | None] = set()
    for event in history.events:
        if event.type not in ev.KNOWN_TYPES:
            what = f"a {event.type} of {event.duroxide_version}, a type that is not known here"
            return f"event {event.event_id} is {what}"
        if event.type in ev.COMPLETIONS and event.source_event_id not in made:
            return f"event {event.event_id} is the outcome of event {event.source_event_id}, which schedules nothing"
        if event.type in ev.SCHEDULES:
            made.add(event.event_id)
    return None


def unreadable(claim: Claim, error: DamagedHistory, max_attempts: int, now_ms: int) -> Poisoned:
    """A history that cannot be read: a failure after too many tries, until then nothing."""
    if claim.attempt_count <= max_attempts:
        return Poisoned(None)
    where = {"instance": claim.instance_id, "execution_id": claim.execution_id, "error": str(error)}
    details = _details(claim.attempt_count, max_attempts, {"FailedDeserialization": where}, str(error))
    return Poisoned(_failure(claim, details, None, UNKNOWN_TURN, now_ms))


def poisoned_activity(claim: ActivityClaim, max_attempts: int) -> ms.ActivityFailed:
    """The failure of an activity that was tried too often; its orchestration never sees it, it fails with it."""
    work = claim.work
    what = {
        "instance": work.instance,
        "execution_id": work.execution_id,
        "activity_name": work.name,
        "activity_id": work.id,
    }
    details = _details(claim.attempt_count, max_attempts, {"Activity": what}, ms.encode_message(work))
    return ms.ActivityFailed(work.instance, work.execution_id, work.id, details)


def _details(attempts: int, max_attempts: int, kind: dict[str, Any], message: str) -> dict[str, Any]:
    body = {"attempt_count": attempts, "max_attempts": max_attempts, "message_type": kind, "message": message}
    return {"Poison": body}


def _execution_id(claim: Claim) -> int:
    return claim.execution_id + 1 if start_message(claim) is not None else claim.execution_id


def _failure(claim: Claim, details: dict[str, Any], started: ev.Event | None, turn: int, now_ms: int) -> TurnCommit:
    execution_id = _execution_id(claim)
    start = start_message(claim)
    next_id = 1 if start is not None else claim.last_event_id + 1
    rows: list[ev.Event] = []
    if isinstance(start, ms.StartOrchestration | ms.ContinueAsNew):
        fields: dict[str, Any] = {
            "name": start.orchestration,
            "version": start.version or UNKNOWN_VERSION,
            "input": start.input,
            "parent_instance": start.parent_instance,
            "parent_id": start.parent_id,
        }
        started = ev.new_event(claim.instance_id, execution_id, 1, now_ms, ev.STARTED, **fields)
        rows.append(started)
        next_id = 2
    rows.append(ev.new_event(claim.instance_id, execution_id, next_id, now_ms, ev.FAILED, details=details))
    has_parent = started is not None and started.parent_instance and started.parent_id
    return TurnCommit(
        claim=claim,
        execution_id=execution_id,
        turn=turn,
        now_ms=now_ms,
        events=tuple(rows),
        status="Failed",
        output=ev.display_error(details),
        orchestration=str(started.name) if started is not None else claim.orchestration or "",
        version=str(started.version) if started is not None else claim.version or UNKNOWN_VERSION,
        parent_instance=str(started.parent_instance) if started is not None and has_parent else None,
        messages=(parent_notice(started, "null", details),) if started is not None and has_parent else (),
    )
