"""Event kinds and their JSON, in duroxide's own form.

One `Event` struct serves all kinds: the key order on disk is envelope, `type`, fields, and a field that a kind
does not have stays unset and is not written. Unknown fields are ignored when reading, an unknown `type` is kept;
the text that was read is what is stored and exported again (the caller keeps it), never a re-encoding.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from workbench.runtime.version import VERSION

WRITER: Final = f"workbench-{VERSION}"
"""What our events carry in `duroxide_version`; it is how a recording knows who wrote it."""

STARTED: Final = "OrchestrationStarted"
COMPLETED: Final = "OrchestrationCompleted"
FAILED: Final = "OrchestrationFailed"
CONTINUED_AS_NEW: Final = "OrchestrationContinuedAsNew"
CANCEL_REQUESTED: Final = "OrchestrationCancelRequested"
ACTIVITY_SCHEDULED: Final = "ActivityScheduled"
ACTIVITY_COMPLETED: Final = "ActivityCompleted"
ACTIVITY_FAILED: Final = "ActivityFailed"
ACTIVITY_CANCEL_REQUESTED: Final = "ActivityCancelRequested"
TIMER_CREATED: Final = "TimerCreated"
TIMER_FIRED: Final = "TimerFired"
EVENT_SUBSCRIBED: Final = "ExternalSubscribed"
EVENT_RECEIVED: Final = "ExternalEvent"
EVENT_SUBSCRIPTION_CANCELLED: Final = "ExternalSubscribedCancelled"
QUEUE_SUBSCRIBED: Final = "ExternalSubscribedPersistent"
QUEUE_MESSAGE: Final = "ExternalEventPersistent"
QUEUE_SUBSCRIPTION_CANCELLED: Final = "ExternalSubscribedPersistentCancelled"
CHILD_SCHEDULED: Final = "SubOrchestrationScheduled"
CHILD_COMPLETED: Final = "SubOrchestrationCompleted"
CHILD_FAILED: Final = "SubOrchestrationFailed"
CHILD_CANCEL_REQUESTED: Final = "SubOrchestrationCancelRequested"
DETACHED_STARTED: Final = "OrchestrationChained"
STATUS_UPDATED: Final = "CustomStatusUpdated"
KV_SET: Final = "KeyValueSet"
KV_CLEARED: Final = "KeyValueCleared"
KV_ALL_CLEARED: Final = "KeyValuesCleared"

ENDINGS: Final = frozenset({COMPLETED, FAILED, CONTINUED_AS_NEW})
COMPLETIONS: Final = frozenset({ACTIVITY_COMPLETED, ACTIVITY_FAILED, TIMER_FIRED, CHILD_COMPLETED, CHILD_FAILED})
ARRIVALS: Final = COMPLETIONS | {STARTED, EVENT_RECEIVED, QUEUE_MESSAGE, CANCEL_REQUESTED}
KV_EVENTS: Final = frozenset({KV_SET, KV_CLEARED, KV_ALL_CLEARED})
SCHEDULES: Final = frozenset({ACTIVITY_SCHEDULED, TIMER_CREATED, CHILD_SCHEDULED})
SUBSCRIPTIONS: Final = frozenset({EVENT_SUBSCRIBED, QUEUE_SUBSCRIBED})
OPERATIONS: Final = SCHEDULES | SUBSCRIPTIONS | KV_EVENTS | {DETACHED_STARTED, STATUS_UPDATED}
BREADCRUMBS: Final = frozenset(
    {
        ACTIVITY_CANCEL_REQUESTED,
        CHILD_CANCEL_REQUESTED,
        EVENT_SUBSCRIPTION_CANCELLED,
        QUEUE_SUBSCRIPTION_CANCELLED,
    }
)
KNOWN_TYPES: Final = ARRIVALS | OPERATIONS | BREADCRUMBS | ENDINGS

DROPPED: Final = "dropped_future"
"""Reason of a breadcrumb: the code let go of it (it lost a race)."""
ORCHESTRATION_TERMINAL: Final = "orchestration_terminal"
"""Reason of a breadcrumb: the execution ended while it was outstanding; activities add how it ended."""

Text = str | UnsetType
NullableText = str | None | UnsetType


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of an execution's history.

    `event_id` counts from 1 within the execution; `source_event_id` names the schedule that a completion or a
    breadcrumb answers; times are ms since 1970.
    """

    event_id: int
    source_event_id: int | None
    instance_id: str
    execution_id: int
    timestamp_ms: int
    duroxide_version: str
    type: str
    name: Text = UNSET
    version: Text = UNSET
    instance: Text = UNSET
    input: Text = UNSET
    session_id: Text = UNSET
    tag: Text = UNSET
    parent_instance: NullableText = UNSET
    parent_id: int | UnsetType | None = UNSET
    carry_forward_events: list[tuple[str, str]] | UnsetType = UNSET
    initial_custom_status: Text = UNSET
    parent_execution_id: int | UnsetType = UNSET
    kv_cleared: bool | UnsetType = UNSET
    output: Text = UNSET
    details: dict[str, Any] | UnsetType = UNSET
    reason: Text = UNSET
    result: Text = UNSET
    fire_at_ms: int | UnsetType = UNSET
    data: Text = UNSET
    status: NullableText = UNSET
    key: Text = UNSET
    value: Text = UNSET
    last_updated_at_ms: int | UnsetType = UNSET


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def encode_event(event: Event) -> str:
    """The event as duroxide's JSON text: compact, its key order, non-ASCII raw."""
    return _encode(event).decode()


def decode_event(text: str | bytes) -> Event:
    """The event that a history row's JSON text holds.

    Raises `msgspec.DecodeError` when it is no JSON or a field has another type; callers know the row and turn
    that into their own error.
    """
    return _decode(text)


def new_event(
    instance_id: str,
    execution_id: int,
    event_id: int,
    now_ms: int,
    kind: str,
    source_event_id: int | None = None,
    **fields: Any,
) -> Event:
    """An event of ours, stamped with this version of workbench."""
    return Event(event_id, source_event_id, instance_id, execution_id, now_ms, WRITER, kind, **fields)


# The error object inside `details`: externally tagged, four variants (facts §1.4).


def application_error(message: str, kind: Any = "OrchestrationFailed") -> dict[str, Any]:
    """A failure that orchestration or activity code caused; `kind` as duroxide writes it."""
    return {"Application": {"kind": kind, "message": message, "retryable": False}}


def cancelled_error(reason: str) -> dict[str, Any]:
    """The failure of an instance that was cancelled."""
    return application_error("", {"Cancelled": {"reason": reason}})


def nondeterminism_error(message: str) -> dict[str, Any]:
    """The failure of an instance whose code left its own history."""
    return {"Configuration": {"kind": "Nondeterminism", "resource": "", "message": message}}


def is_application_error(details: dict[str, Any]) -> bool:
    """Whether user code may see this failure; the others abort the turn."""
    return "Application" in details


def display_error(details: dict[str, Any]) -> str:
    """The text that status calls and parents see for an error object."""
    tag = next(iter(details), "")
    body: dict[str, Any] = details.get(tag, {})
    if tag == "Infrastructure":
        return f"infrastructure:{body.get('operation')}: {body.get('message')}"
    if tag == "Configuration":
        message = body.get("message")
        if message is None:
            return f"nondeterministic in {body.get('resource')}"
        return f"nondeterministic: {message}"
    if tag == "Application":
        kind = body.get("kind")
        if isinstance(kind, dict) and "Cancelled" in kind:
            return f"canceled: {kind['Cancelled'].get('reason', '')}"
        if kind == "Panicked":
            return f"orchestration panicked: {body.get('message')}"
        return str(body.get("message", ""))
    if tag == "Poison":
        return _display_poison(body)
    return f"unknown error {tag}"


def _display_poison(body: dict[str, Any]) -> str:
    attempts = f"{body.get('attempt_count')} attempts (max {body.get('max_attempts')})"
    message_type: dict[str, dict[str, Any]] = body.get("message_type") or {}
    kind = next(iter(message_type), "")
    what = message_type.get(kind, {})
    if kind == "Activity":
        return f"poison: activity {what.get('activity_name')}#{what.get('activity_id')} exceeded {attempts}"
    if kind == "FailedDeserialization":
        where = f"poison: orchestration {what.get('instance')} history deserialization failed"
        return f"{where} after {attempts}: {what.get('error')}"
    return f"poison: orchestration {what.get('instance')} exceeded {attempts}"
