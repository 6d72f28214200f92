"""One execution's history as turns. A turn is always: arrivals, operations, breadcrumbs, endings, cancel rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime.actions import Signature, signature_of
from workbench.runtime.provider import History

Abort = Literal["arrival", "engine"]

_ENGINE_TEXT = re.compile(
    r"(Custom status size \(|Activity '.*' tag size \(|KV value for key '.*' \(|KV key count \()\d+"
    r"|Invalid generator step result: ",
    re.DOTALL,
)
"""A limit, or a yield that duroxide's core could not read (a text of its code's own begins with `Traceback`)."""
_DOOM_TEXT = re.compile(r"(no matching schedule for|completion kind mismatch for) ")


class Record(msgspec.Struct, frozen=True):
    """A recorded operation, ready to be compared."""

    event_id: int
    signature: Signature
    event: ev.Event


class RecordedTurn(msgspec.Struct, frozen=True):
    """What is known of one turn from the history.

    `abort` says that the engine, not the code, decided how the turn went on: `"arrival"` (the code was never run:
    an outcome that it may not see, or a batch that could not be matched) or `"engine"` (the ending is the engine's
    own: nondeterminism, limit, poison). `cancelled`: a cancel request is anywhere in the batch. `refused`: a limit
    refused the turn and nothing that the code made was recorded. `started_ms` is the time of its first event.
    """

    number: int
    arrivals: tuple[ev.Event, ...]
    operations: tuple[Record, ...]
    breadcrumbs: tuple[ev.Event, ...]
    ending: ev.Event | None
    events: tuple[ev.Event, ...]
    unknown: tuple[ev.Event, ...] = ()
    cancelled: bool = False
    abort: Abort | None = None
    refused: bool = False

    @property
    def last_ending(self) -> ev.Event | None:
        """The ending that counts for the instance: a limit may have failed a turn whose code had ended otherwise."""
        if self.ending is None:
            return None
        return next(event for event in reversed(self.events) if event.type in ev.ENDINGS)

    @property
    def started_ms(self) -> int:
        """The time of the turn's first event, ms."""
        return self.events[0].timestamp_ms

    @property
    def last_operation_ms(self) -> int:
        """The time of the last operation, or of the last arrival when there is none, ms."""
        last = self.operations[-1].event if self.operations else self.events[0]
        return last.timestamp_ms


class NewTurn(msgspec.Struct, frozen=True):
    """A turn that is to be made now: the messages of its batch, in queue order.

    `next_event_id` is the id of the first event it will write; `version` the registered version for an execution
    that begins with this turn.
    """

    messages: tuple[Any, ...]
    next_event_id: int
    version: str = "1.0.0"


def recorded_turns(history: History) -> list[RecordedTurn]:
    """Split a history at its turn numbers."""
    turns: list[RecordedTurn] = []
    start = 0
    count = len(history.events)
    while start < count:
        number = history.turns[start]
        stop = start + 1
        while stop < count and history.turns[stop] == number:
            stop += 1
        turns.append(_recorded_turn(number, history.events[start:stop], number in history.refused))
        start = stop
    return turns


def _recorded_turn(number: int, turn_events: Sequence[ev.Event], refused: bool) -> RecordedTurn:
    arrivals: list[ev.Event] = []
    operations: list[Record] = []
    breadcrumbs: list[ev.Event] = []
    unknown: list[ev.Event] = []
    ending: ev.Event | None = None
    for event in turn_events:
        kind = event.type
        if kind in ev.OPERATIONS:
            operations.append(Record(event.event_id, signature_of(event), event))
        elif kind in ev.ARRIVALS:
            arrivals.append(event)
        elif kind in ev.BREADCRUMBS:
            breadcrumbs.append(event)
        elif kind in ev.ENDINGS:
            ending = ending or event
        else:
            unknown.append(event)
    return RecordedTurn(
        number,
        tuple(arrivals),
        tuple(operations),
        tuple(breadcrumbs),
        ending,
        tuple(turn_events),
        tuple(unknown),
        cancelled=any(event.type == ev.CANCEL_REQUESTED for event in arrivals),
        abort=_abort(arrivals, ending, refused),
        refused=refused,
    )


def _abort(arrivals: Sequence[ev.Event], ending: ev.Event | None, refused: bool) -> Abort | None:
    for event in arrivals:
        if event.details is not UNSET and not ev.is_application_error(event.details):
            return "arrival"
    if refused:
        return "engine"
    if ending is None or ending.type != ev.FAILED or ending.details is UNSET:
        return None
    configuration = ending.details.get("Configuration")
    if configuration is not None and _DOOM_TEXT.match(str(configuration.get("message"))):
        return "arrival"
    return "engine" if is_engine_failure(ending.details) else None


def is_engine_failure(details: dict[str, Any]) -> bool:
    """Whether the engine, not the code, wrote this failure.

    Nondeterminism, infrastructure, poison, a panic, a limit, or a yield that was no task.
    """
    if not ev.is_application_error(details):
        return True
    kind, message = (details["Application"].get(name) for name in ("kind", "message"))
    if kind == "Panicked":
        return True
    return kind == "OrchestrationFailed" and _ENGINE_TEXT.match(str(message)) is not None
