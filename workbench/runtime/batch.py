"""Turning a batch of messages into a new turn's arrivals: numbered, de-duplicated, or dooming the turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import messages as ms

_COMPLETION_KINDS: dict[type[ms.Message], tuple[str, str]] = {
    ms.ActivityCompleted: ("activity", ev.ACTIVITY_COMPLETED),
    ms.ActivityFailed: ("activity", ev.ACTIVITY_FAILED),
    ms.TimerFired: ("timer", ev.TIMER_FIRED),
    ms.SubOrchCompleted: ("child", ev.CHILD_COMPLETED),
    ms.SubOrchFailed: ("child", ev.CHILD_FAILED),
}
_WORDS = {"activity": "activity", "timer": "timer", "child": "suborchestration"}
_SCHEDULE_WORDS = {"activity": "completion", "timer": "timer", "child": "sub-orchestration"}


class Arrival(msgspec.Struct, frozen=True):
    """An event that a message becomes, before it has an id."""

    kind: str
    source_event_id: int | None = None
    fields: dict[str, Any] = {}


class Batch(msgspec.Struct, frozen=True):
    """A batch ready for numbering.

    `doom` is the text of a nondeterminism that no code may see; `notes` say what was passed over and why.
    """

    arrivals: tuple[Arrival, ...]
    doom: str | None
    notes: tuple[str, ...]


def read_batch(
    messages: Sequence[ms.Message],
    execution_id: int,
    version: str,
    schedules: Mapping[int, str],
    outcomes: Set[int],
) -> Batch:
    """What the messages come to (facts §3.1, without its hole D13).

    `schedules` maps event ids to `activity`, `timer` or `child`; `outcomes` are those that have one. Completions of
    another execution and second outcomes are passed over and noted; one without a schedule dooms the turn.
    """
    arrivals: list[Arrival] = []
    notes: list[str] = []
    doom: str | None = None
    seen: set[int] = set()
    cancelled = False
    for message in messages:
        if isinstance(message, ms.StartOrchestration | ms.ContinueAsNew):
            arrivals[:0] = _start(message, version)
            continue
        if type(message) in _COMPLETION_KINDS:
            source_id, of_execution = _source(message)
            kind, event_type = _COMPLETION_KINDS[type(message)]
            if of_execution != execution_id:
                notes.append(f"an outcome for execution {of_execution}, event {source_id}, came too late")
            elif schedules.get(source_id) != kind:
                doom = doom or _doom(kind, source_id, schedules.get(source_id))
            elif source_id in seen or source_id in outcomes:
                notes.append(f"a second outcome for event {source_id} was ignored")
            else:
                seen.add(source_id)
                arrivals.append(Arrival(event_type, source_id, _outcome_fields(message)))
            continue
        if isinstance(message, ms.CancelInstance):
            if not cancelled:
                arrivals.append(Arrival(ev.CANCEL_REQUESTED, None, {"reason": message.reason}))
            cancelled = True
        elif isinstance(message, ms.ExternalRaised | ms.QueueMessage):
            event_type = ev.EVENT_RECEIVED if isinstance(message, ms.ExternalRaised) else ev.QUEUE_MESSAGE
            arrivals.append(Arrival(event_type, None, {"name": message.name, "data": message.data}))
    return Batch(tuple(arrivals), doom, tuple(notes))


def _source(message: ms.Message) -> tuple[int, int]:
    if isinstance(message, ms.SubOrchCompleted | ms.SubOrchFailed):
        return message.parent_id, message.parent_execution_id
    assert isinstance(message, ms.ActivityCompleted | ms.ActivityFailed | ms.TimerFired)  # noqa: S101
    return message.id, message.execution_id


def _outcome_fields(message: ms.Message) -> dict[str, Any]:
    if isinstance(message, ms.ActivityCompleted | ms.SubOrchCompleted):
        return {"result": message.result}
    if isinstance(message, ms.ActivityFailed | ms.SubOrchFailed):
        return {"details": message.details}
    assert isinstance(message, ms.TimerFired)  # noqa: S101
    return {"fire_at_ms": message.fire_at_ms}


def _doom(kind: str, source_id: int, scheduled: str | None) -> str:
    if scheduled is None:
        return f"no matching schedule for {_SCHEDULE_WORDS[kind]} id={source_id}"
    return f"completion kind mismatch for id={source_id}, expected '{_WORDS[scheduled]}', got '{_WORDS[kind]}'"


def _start(message: ms.StartOrchestration | ms.ContinueAsNew, version: str) -> list[Arrival]:
    fields: dict[str, Any] = {
        "name": message.orchestration,
        "version": version,
        "input": message.input,
        "parent_instance": message.parent_instance,
        "parent_id": message.parent_id,
    }
    if message.parent_execution_id is not None:
        fields["parent_execution_id"] = message.parent_execution_id
    carried: list[tuple[str, str]] = []
    if isinstance(message, ms.ContinueAsNew):
        carried = [(name, data) for name, data in message.carry_forward_events]
        if carried:
            fields["carry_forward_events"] = carried
        if message.clears_kv:
            fields["kv_cleared"] = True
        if message.initial_custom_status is not None:
            fields["initial_custom_status"] = message.initial_custom_status
    start = Arrival(ev.STARTED, None, fields)
    return [start, *(Arrival(ev.QUEUE_MESSAGE, None, {"name": name, "data": data}) for name, data in carried)]
