"""Holding a finished turn to the limits: pure, called by dispatcher and replay alike (spec 001, "Enforcement").

Order and texts are the specification's and the reference's (facts §6.2, §6.3); what a refused turn keeps is
DESIGN §4: its arrivals and one failure, so that folding the events always equals the tables.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.ending import parent_notice
from workbench.runtime.limits import Limits
from workbench.runtime.turn_result import LogLine, TurnResult

_WRITE_LINES = ("kv.set", "kv.clear")
_WRITE_COUNTERS = ("duroxide.kv.set", "duroxide.kv.clear_value", "duroxide.kv.clear_all")


class BrokenLimit(msgspec.Struct, frozen=True):
    """A limit that a turn breaks: what its instance fails with, and the line that is logged, with its fields.

    `counter` counts such turns, tagged with the fields that `tags` names.
    """

    text: str
    line: str
    fields: dict[str, Any]
    counter: str | None = None
    tags: tuple[str, ...] = ()


def broken_limit(result: TurnResult, limits: Limits) -> BrokenLimit | None:
    """The first limit that a new turn breaks, or None."""
    return _status(result, limits) or _tag(result, limits) or _value(result, limits) or _keys(result, limits)


def _status(result: TurnResult, limits: Limits) -> BrokenLimit | None:
    updates = [event.status for event in result.events if event.type == ev.STATUS_UPDATED]
    last = next((status for status in reversed(updates) if isinstance(status, str)), None)
    size, most = 0 if last is None else len(last.encode()), limits.custom_status_bytes
    if size <= most:
        return None
    text = f"Custom status size ({size} bytes) exceeds limit ({most} bytes)"
    return BrokenLimit(text, "Custom status exceeds size limit", {"status_bytes": size, "max_bytes": most})


def _tag(result: TurnResult, limits: Limits) -> BrokenLimit | None:
    most = limits.tag_name_bytes
    for event in result.events:
        if event.type == ev.ACTIVITY_SCHEDULED and event.tag is not UNSET:
            size = len(event.tag.encode())
            if size > most:
                text = f"Activity '{event.name}' tag size ({size} bytes) exceeds limit ({most} bytes)"
                fields = {"activity": event.name, "tag_bytes": size, "max_bytes": most}
                return BrokenLimit(text, "Activity tag exceeds size limit", fields)
    return None


def _value(result: TurnResult, limits: Limits) -> BrokenLimit | None:
    most = limits.kv_value_bytes
    for event in result.events:
        if event.type == ev.KV_SET:
            size = len(str(event.value).encode())
            if size > most:
                text = f"KV value for key '{event.key}' ({size} bytes) exceeds limit ({most} bytes)"
                fields = {"key": event.key, "value_bytes": size, "max_bytes": most}
                counter = "duroxide.kv.limit_exceeded.value_size"
                return BrokenLimit(text, "KV value exceeds size limit", fields, counter, ("key",))
    return None


def _keys(result: TurnResult, limits: Limits) -> BrokenLimit | None:
    count, most = result.key_count, limits.kv_keys
    if count <= most:
        return None
    text = f"KV key count ({count}) exceeds limit ({most})"
    fields = {"key_count": count, "max_keys": most}
    return BrokenLimit(text, "KV key count exceeds limit", fields, "duroxide.kv.limit_exceeded.key_count")


def refuse(result: TurnResult, limits: Limits) -> TurnResult:
    """The turn as it is committed: itself, or, when it breaks a limit, its refusal.

    A refusal keeps the arrivals, one failure, the notice to the parent and the cancels of work already in flight; of
    writes that are discarded nothing is logged or counted.
    Unread queue messages beyond `carried_messages` are not carried over continue-as-new; the oldest are.
    """
    if result.replayed or result.divergence is not None or not result.arrivals:
        return result
    broken = broken_limit(result, limits)
    if broken is None:
        return _carry_less(result, limits)
    details = ev.application_error(broken.text)
    last = result.arrivals[-1]
    failed = ev.new_event(
        last.instance_id, last.execution_id, last.event_id + 1, result.now_ms, ev.FAILED, details=details
    )
    kept: list[ms.Message] = [message for message in result.messages if isinstance(message, ms.CancelInstance)]
    if result.started is not None and result.started.parent_instance and result.started.parent_id:
        kept.append(parent_notice(result.started, "null", details))
    return msgspec.structs.replace(
        result,
        status="Failed",
        output=broken.text,
        details=details,
        events=(*result.arrivals, failed),
        activities=(),
        messages=tuple(kept),
        cancelled_activities=result.in_flight,
        waiting_for=(),
        refused=broken.text,
        logs=(*(line for line in result.logs if line[2] not in _WRITE_LINES), *_lines(broken)),
        measures=(*(each for each in result.measures if each[0] not in _WRITE_COUNTERS), *_measures(broken)),
    )


def _carry_less(result: TurnResult, limits: Limits) -> TurnResult:
    kept: list[ms.Message] = []
    lost = 0
    for message in result.messages:
        if isinstance(message, ms.ContinueAsNew) and len(message.carry_forward_events) > limits.carried_messages:
            lost = len(message.carry_forward_events) - limits.carried_messages
            carried = message.carry_forward_events[: limits.carried_messages]
            kept.append(msgspec.structs.replace(message, carry_forward_events=carried))
        else:
            kept.append(message)
    if not lost:
        return result
    warning = f"unread queue messages were not carried over: {lost}; the limit is {limits.carried_messages}"
    line: LogLine = ("runtime", "WARNING", warning, {})
    return msgspec.structs.replace(
        result, messages=tuple(kept), warnings=(*result.warnings, warning), logs=(*result.logs, line)
    )


def _lines(broken: BrokenLimit) -> list[LogLine]:
    failing = f"{broken.line}, failing orchestration"
    return [("runtime", "WARNING", broken.line, broken.fields), ("runtime", "ERROR", failing, broken.fields)]


def _measures(broken: BrokenLimit) -> list[tuple[str, dict[str, Any]]]:
    return [] if broken.counter is None else [(broken.counter, {name: broken.fields[name] for name in broken.tags})]
