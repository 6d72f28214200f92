"""Actions: what the code asks for, in the form in which it is compared with a recorded event.

An action's signature is the event type it becomes, followed by the fields that must match; everything else it
carries (a timer's delay, a status text, a child's id and version) is never part of the match (DESIGN §3).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime import payload
from workbench.runtime.tasks import GET_KV_VALUE

Signature = tuple[str | None, ...]

MATCHED_FIELDS: dict[str, tuple[str, ...]] = {
    ev.ACTIVITY_SCHEDULED: ("name", "input", "session_id", "tag"),
    ev.TIMER_CREATED: (),
    ev.EVENT_SUBSCRIBED: ("name",),
    ev.QUEUE_SUBSCRIBED: ("name",),
    ev.CHILD_SCHEDULED: ("name", "input"),
    ev.DETACHED_STARTED: ("name", "instance", "input"),
    ev.STATUS_UPDATED: (),
    ev.KV_SET: ("key", "value"),
    ev.KV_CLEARED: ("key",),
    ev.KV_ALL_CLEARED: (),
}


class Action(msgspec.Struct, frozen=True):
    """Something the code asked for; `extra` holds event fields (or a timer's `delay_ms`) that are not matched."""

    signature: Signature
    extra: dict[str, Any] = {}

    @property
    def kind(self) -> str:
        """The type of the event it becomes."""
        return str(self.signature[0])

    def fields(self) -> dict[str, Any]:
        """The event fields it becomes; absent ones are left out."""
        named = zip(MATCHED_FIELDS[self.kind], self.signature[1:], strict=True)
        return {name: value for name, value in named if value is not None} | self.extra


def signature_of(event: ev.Event) -> Signature:
    """The signature of a recorded operation."""
    kind = event.type
    if kind == ev.KV_SET:
        return (kind, event.key, event.value)  # type: ignore[return-value]
    if kind == ev.ACTIVITY_SCHEDULED:
        session = None if event.session_id is UNSET else event.session_id
        tag = None if event.tag is UNSET else event.tag
        return activity_signature(str(event.name), str(event.input), session, tag)
    return (kind, *(getattr(event, name) for name in MATCHED_FIELDS[kind]))


def activity_signature(name: str, input_text: str, session_id: str | None, tag: str | None) -> Signature:
    """The signature of an activity; the cross-instance read's input is compared as a JSON value (facts D27)."""
    if name == GET_KV_VALUE:
        value = payload.load(input_text)
        if isinstance(value, dict):
            input_text = payload.dump("input", dict(sorted(value.items())))
    return (ev.ACTIVITY_SCHEDULED, name, input_text, session_id, tag)


def describe_signature(signature: Signature) -> str:
    """An operation in a few words: `set counter = "1"`, `activity Noop("")`."""
    kind, *fields = signature
    if kind == ev.KV_SET:
        return f'set {fields[0]} = "{fields[1]}"'
    if kind == ev.KV_CLEARED:
        return f"clear {fields[0]}"
    if kind == ev.KV_ALL_CLEARED:
        return "clear all keys"
    if kind == ev.ACTIVITY_SCHEDULED:
        name, text, session, tag = fields
        more = "".join(f" {label} {value!r}" for label, value in (("session", session), ("tag", tag)) if value)
        return f"activity {name}({text}){more}"
    if kind == ev.CHILD_SCHEDULED:
        return f"sub-orchestration {fields[0]}({fields[1]})"
    if kind == ev.DETACHED_STARTED:
        return f"start {fields[0]}({fields[2]}) as {fields[1]}"
    if kind == ev.EVENT_SUBSCRIBED:
        return f"wait for event {fields[0]}"
    if kind == ev.QUEUE_SUBSCRIBED:
        return f"dequeue from {fields[0]}"
    return {ev.TIMER_CREATED: "timer", ev.STATUS_UPDATED: "custom status"}.get(str(kind), str(kind))
