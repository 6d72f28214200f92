"""Whether a stored history can be trusted, row by row and as a sequence.

Nothing is skipped in silence: a row that cannot be trusted stays in the history, in its place and with its text, as
an event of type `UNREADABLE`, and a `Damage` says what is wrong with it. A row of an unknown *type* is no damage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.turns import is_engine_failure

UNREADABLE: Final = "unreadable"
"""Type of the event that stands for a row that cannot be trusted; its `name` is the type that the row claims."""

NOT_UTF8: Final = "not UTF-8: "
"""Begins the text that stands for a stored text that is no UTF-8; it can be shown, and is never valid JSON."""

STATUSES: Final = ("Running", "Completed", "Failed", "ContinuedAsNew")


class Damage(msgspec.Struct, frozen=True):
    """Something in a history that cannot be trusted: whose, where (`row`, such as `event 4`), and why."""

    instance_id: str
    execution_id: int
    row: str
    reason: str

    def __str__(self) -> str:
        return f"{self.instance_id!r}, execution {self.execution_id}, {self.row}: {self.reason}"


class Row(msgspec.Struct, frozen=True):
    """A history row as it is stored: its own id and type columns, and the JSON text."""

    event_id: int
    event_type: str
    text: str


class _Outer(msgspec.Struct, frozen=True):
    """What every event has; of an event of unknown type nothing else is read."""

    event_id: int
    source_event_id: int | None
    instance_id: str
    execution_id: int
    timestamp_ms: int
    duroxide_version: str
    type: str


_decode_envelope = msgspec.json.Decoder(_Outer).decode

_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    ev.STARTED: ("name", "version", "input"),
    ev.COMPLETED: ("output",),
    ev.FAILED: ("details",),
    ev.CONTINUED_AS_NEW: ("input",),
    ev.CANCEL_REQUESTED: ("reason",),
    ev.ACTIVITY_SCHEDULED: ("name", "input"),
    ev.ACTIVITY_COMPLETED: ("result",),
    ev.ACTIVITY_FAILED: ("details",),
    ev.ACTIVITY_CANCEL_REQUESTED: ("reason",),
    ev.TIMER_CREATED: ("fire_at_ms",),
    ev.TIMER_FIRED: ("fire_at_ms",),
    ev.EVENT_SUBSCRIBED: ("name",),
    ev.EVENT_RECEIVED: ("name", "data"),
    ev.EVENT_SUBSCRIPTION_CANCELLED: ("reason",),
    ev.QUEUE_SUBSCRIBED: ("name",),
    ev.QUEUE_MESSAGE: ("name", "data"),
    ev.QUEUE_SUBSCRIPTION_CANCELLED: ("reason",),
    ev.CHILD_SCHEDULED: ("name", "instance", "input"),
    ev.CHILD_COMPLETED: ("result",),
    ev.CHILD_FAILED: ("details",),
    ev.CHILD_CANCEL_REQUESTED: ("reason",),
    ev.DETACHED_STARTED: ("name", "instance", "input"),
    ev.STATUS_UPDATED: ("status",),
    ev.KV_SET: ("key", "value"),
    ev.KV_CLEARED: ("key",),
    ev.KV_ALL_CLEARED: (),
}
"""The fields that an event cannot do without; a missing write time of a KV set reads as 0."""

_ANSWERS: Final = {
    ev.ACTIVITY_COMPLETED: ev.ACTIVITY_SCHEDULED,
    ev.ACTIVITY_FAILED: ev.ACTIVITY_SCHEDULED,
    ev.ACTIVITY_CANCEL_REQUESTED: ev.ACTIVITY_SCHEDULED,
    ev.TIMER_FIRED: ev.TIMER_CREATED,
    ev.CHILD_COMPLETED: ev.CHILD_SCHEDULED,
    ev.CHILD_FAILED: ev.CHILD_SCHEDULED,
    ev.CHILD_CANCEL_REQUESTED: ev.CHILD_SCHEDULED,
    ev.EVENT_SUBSCRIPTION_CANCELLED: ev.EVENT_SUBSCRIBED,
    ev.QUEUE_SUBSCRIPTION_CANCELLED: ev.QUEUE_SUBSCRIBED,
}
"""Which kind of event the `source_event_id` of a kind must name."""

_ERROR_KINDS: Final = ("Infrastructure", "Configuration", "Application", "Poison")


def read_row(instance_id: str, execution_id: int, row: Row) -> tuple[ev.Event, str | None]:
    """The event of a row, and what is wrong with the row or None; the event is `UNREADABLE` if something is."""
    try:
        event = _decode(row.text)
        reason = _misplaced(event, instance_id, execution_id, row) or _incomplete(event)
    except msgspec.ValidationError as error:
        reason = f"a field is missing or has another type ({error})"
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        reason = "no UTF-8" if row.text.startswith(NOT_UTF8) else f"no JSON ({error})"
    if reason is None:
        return event, None
    placeholder = ev.Event(row.event_id, None, instance_id, execution_id, 0, "", UNREADABLE, name=row.event_type)
    return placeholder, reason


def _decode(text: str) -> ev.Event:
    try:
        return ev.decode_event(text)
    except msgspec.ValidationError:
        # A kind we do not know may use a field name for another type of value.
        envelope = _decode_envelope(text)
        if envelope.type in ev.KNOWN_TYPES:
            raise
        return ev.Event(**{name: getattr(envelope, name) for name in envelope.__struct_fields__})


def _misplaced(event: ev.Event, instance_id: str, execution_id: int, row: Row) -> str | None:
    said = {"event_id": event.event_id, "type": event.type}
    stored = {"event_id": row.event_id, "type": row.event_type}
    # Older engines left instance and execution of their own failure events empty.
    if event.type != ev.FAILED or (event.instance_id, event.execution_id) != ("", 0):
        said |= {"instance_id": event.instance_id, "execution_id": event.execution_id}
        stored |= {"instance_id": instance_id, "execution_id": execution_id}
    for field, value in said.items():
        if value != stored[field]:
            return f"its JSON says {field} {value!r}, the row {stored[field]!r}"
    return None


def _incomplete(event: ev.Event) -> str | None:
    if event.type == UNREADABLE:
        return f"its type is {UNREADABLE!r}"
    for field in _FIELDS.get(event.type, ()):
        if getattr(event, field) is msgspec.UNSET:
            return f"{event.type} has no field {field!r}"
    if isinstance(event.details, dict):
        kinds = [kind for kind, body in event.details.items() if kind in _ERROR_KINDS and isinstance(body, dict)]
        if len(kinds) != 1 or len(event.details) != 1:
            return f"the details of {event.type} are no error of a known kind"
    return None


def check_sequence(events: Sequence[ev.Event], status: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the events as a sequence, as pairs of row and reason.

    `status` is the stored status of the execution. Ids must be 1, 2, 3 …; a hole is allowed before an ending that
    the engine wrote and behind a continue-as-new (which takes an id and leaves no event).
    """
    yield from _wrong_start(events)
    yield from _wrong_order(events)
    yield from _holes(events)
    yield from _wrong_sources(events)
    yield from _wrong_status(events, status)


def _wrong_start(events: Sequence[ev.Event]) -> Iterator[tuple[str, str]]:
    if not events:
        yield "event 1", "missing: the history is empty"
        return
    first = events[0]
    if first.event_id == 1 and first.type not in (ev.STARTED, UNREADABLE):
        yield "event 1", f"a history begins with {ev.STARTED}, this one with {first.type}"
    for event in events[1:]:
        if event.type == ev.STARTED:
            yield f"event {event.event_id}", f"a second {ev.STARTED}"


def _wrong_order(events: Sequence[ev.Event]) -> Iterator[tuple[str, str]]:
    seen: set[int] = set()
    highest = 0
    for event in events:
        if event.event_id < 1:
            yield f"event {event.event_id}", "event ids count from 1"
        elif event.event_id in seen:
            yield f"event {event.event_id}", "this id is there twice"
        elif event.event_id < highest:
            yield f"event {event.event_id}", f"stands behind event {highest}"
        seen.add(event.event_id)
        highest = max(highest, event.event_id)


def _holes(events: Sequence[ev.Event]) -> Iterator[tuple[str, str]]:
    by_id = {event.event_id: index for index, event in enumerate(events) if event.event_id >= 1}
    before = 0
    for event_id in sorted(by_id):
        first, last = before + 1, event_id - 1
        if first <= last and not _may_skip_ids(events[by_id[event_id] :], last - first + 1):
            row = f"event {first}" if first == last else f"events {first} to {last}"
            yield row, "missing" if before else f"missing: a history begins with {ev.STARTED}"
        before = event_id


def _may_skip_ids(rest: Sequence[ev.Event], count: int) -> bool:
    """Whether `count` ids may be missing in front of `rest`."""
    ending = next((event for event in rest if event.type in ev.ENDINGS), None)
    if ending is None:
        return False
    turn = rest[: rest.index(ending)]
    if all(event.type in ev.BREADCRUMBS for event in turn):
        return _written_by_engine(ending)
    continued = ending.type == ev.CONTINUED_AS_NEW and turn[0].type in ev.OPERATIONS
    return count == 1 and continued and not any(event.type in ev.ARRIVALS for event in turn)


def _written_by_engine(ending: ev.Event) -> bool:
    """Whether an ending is no result and no exception of the code: a cancel, or a failure of the engine's own."""
    if ending.type != ev.FAILED or not isinstance(ending.details, dict):
        return False
    cancelled = isinstance(ending.details.get("Application", {}).get("kind"), dict)
    return cancelled or is_engine_failure(ending.details)


def _wrong_sources(events: Sequence[ev.Event]) -> Iterator[tuple[str, str]]:
    types: dict[int, str] = {}
    for event in events:
        schedule = _ANSWERS.get(event.type)
        if schedule is not None:
            source = None if event.source_event_id is None else types.get(event.source_event_id)
            reason = _wrong_source(event, schedule, source)
            if reason is not None:
                yield f"event {event.event_id}", reason
        types.setdefault(event.event_id, event.type)


def _wrong_source(event: ev.Event, schedule: str, source: str | None) -> str | None:
    if event.source_event_id is None:
        return f"{event.type} names no event that it answers"
    if source is None:
        return f"{event.type} answers event {event.source_event_id}, which is not there before it"
    if source != schedule and source in ev.KNOWN_TYPES:
        return f"{event.type} answers event {event.source_event_id}, which is {source}"
    return None


def _wrong_status(events: Sequence[ev.Event], status: str) -> Iterator[tuple[str, str]]:
    if status not in STATUSES:
        yield "status", f"{status!r} is none of {', '.join(STATUSES)}"
    elif status != "Running" and not any(event.type in ev.ENDINGS or event.type == UNREADABLE for event in events):
        yield "ending", f"missing: the execution is {status}, its history has no ending"


def damages(instance_id: str, execution_id: int, found: Iterable[tuple[str, str]]) -> tuple[Damage, ...]:
    """Pairs of row and reason as `Damage` of one execution."""
    return tuple(Damage(instance_id, execution_id, row, reason) for row, reason in found)
