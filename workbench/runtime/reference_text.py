"""The reference engine's own texts for nondeterminism, since a live failure stores one (facts §3.2)."""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime.actions import Action

_ACTION_NAMES = {
    ev.ACTIVITY_SCHEDULED: "CallActivity",
    ev.TIMER_CREATED: "CreateTimer",
    ev.EVENT_SUBSCRIBED: "WaitExternal",
    ev.QUEUE_SUBSCRIBED: "DequeueEvent",
    ev.CHILD_SCHEDULED: "StartSubOrchestration",
    ev.DETACHED_STARTED: "StartOrchestrationDetached",
    ev.STATUS_UPDATED: "UpdateCustomStatus",
    ev.KV_SET: "SetKeyValue",
    ev.KV_CLEARED: "ClearKeyValue",
    ev.KV_ALL_CLEARED: "ClearKeyValues",
    ev.CONTINUED_AS_NEW: "ContinueAsNew",
}
_EVENT_NAMES = {ev.QUEUE_SUBSCRIBED: "QueueSubscribed"}
_MISMATCH = {
    ev.STATUS_UPDATED: "custom status mismatch",
    ev.KV_SET: "kv set mismatch",
    ev.KV_CLEARED: "kv clear mismatch",
    ev.KV_ALL_CLEARED: "kv clear_all mismatch",
}
_EVENT_FIELDS = {
    ev.ACTIVITY_SCHEDULED: ("name", "input", "session_id", "tag"),
    ev.TIMER_CREATED: ("fire_at_ms",),
    ev.EVENT_SUBSCRIBED: ("name",),
    ev.QUEUE_SUBSCRIBED: ("name",),
    ev.CHILD_SCHEDULED: ("name", "instance", "input"),
    ev.DETACHED_STARTED: ("name", "instance", "input"),
    ev.STATUS_UPDATED: ("status",),
    ev.KV_SET: ("key", "value", "last_updated_at_ms"),
    ev.KV_CLEARED: ("key",),
    ev.KV_ALL_CLEARED: (),
}
_ACTION_FIELDS = _EVENT_FIELDS | {
    ev.CHILD_SCHEDULED: ("name", "version", "instance", "input"),
    ev.DETACHED_STARTED: ("name", "version", "instance", "input"),
    ev.CONTINUED_AS_NEW: ("input", "version"),
}
_OPTIONAL = frozenset({"session_id", "tag", "version", "status"})
_NUMBERED = frozenset(_ACTION_NAMES) - set(_MISMATCH) - {ev.CONTINUED_AS_NEW}
_TIMES = re.compile(r"(last_updated_at_ms|fire_at_ms): \d+")


def mismatch_text(event: ev.Event, action: Action) -> str:
    """The text for an action that stands where the history has another event."""
    what = _MISMATCH.get(event.type, "schedule mismatch")
    return f"{what}: action={_action_text(action)} vs event={_event_text(event)}"


def missing_action_text(event: ev.Event) -> str:
    """The text for a history event that the code no longer makes an action for."""
    if event.type == ev.DETACHED_STARTED:
        return "history OrchestrationChained but no emitted action"
    if event.type in _MISMATCH:
        return f"the recorded {event.type} is no longer made"
    return "history schedule but no emitted action"


def dropped_text(words: str, recorded: set[int], dropped: set[int]) -> str:
    """The text for losers that lost no more; `words` names their kind in the plural."""
    now = dropped or "{}"
    sets = f"baseline_dropped_future_cancel_requests={recorded} ctx_cancelled_in_replayed_segment={now}"
    return f"cancellation mismatch ({words}): {sets}"


def without_times(text: str) -> str:
    """The text with its clock figures left out, so that it is the same on every run."""
    return _TIMES.sub("…", text)


def _action_text(action: Action) -> str:
    kind = action.kind
    values = action.fields() if kind != ev.CONTINUED_AS_NEW else dict(action.extra)
    fields = [] if kind not in _NUMBERED else [("scheduling_event_id", "0")]
    for name in _ACTION_FIELDS[kind]:
        value = values.get(name)
        if name == "instance" and value is None:
            value = "sub::pending_1"
        fields.append((name, _debug(name, value)))
    return _struct(_ACTION_NAMES[kind], fields)


def _event_text(event: ev.Event) -> str:
    names = _EVENT_FIELDS.get(event.type, ())
    fields = [(name, _debug(name, getattr(event, name))) for name in names]
    return _struct(_EVENT_NAMES.get(event.type, event.type), fields)


def _struct(name: str, fields: list[tuple[str, str]]) -> str:
    if not fields:
        return name
    return f"{name} {{ " + ", ".join(f"{key}: {value}" for key, value in fields) + " }"


def _debug(name: str, value: Any) -> str:
    if value is UNSET:
        value = None
    if isinstance(value, int):
        return str(value)
    if name in _OPTIONAL:
        return "None" if value is None else f"Some({_quoted(str(value))})"
    return _quoted("" if value is None else str(value))


def _quoted(text: str) -> str:
    if text.isprintable() and not any(character in text for character in '"\\'):
        return f'"{text}"'  # nearly every text, and letter by letter a long one takes a tenth of a second
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
    return '"' + "".join(escapes.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text) + '"'
