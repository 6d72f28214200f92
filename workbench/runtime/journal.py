"""The journal of one execution: which record an operation must equal, and which ids new ones get.

The rule in one line: an operation must equal the next unused record of its own turn; in a turn that is not
recorded it is new (DESIGN §3, "The matching rule"). The journal knows nothing of code: it never holds a generator,
so that a context, which holds the journal, keeps no parked code alive.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.dialect import WORKBENCH, Dialect
from workbench.runtime.divergence import Divergence, Kind, StrictDifference
from workbench.runtime.errors import ContextInactive, ReplayStopped
from workbench.runtime.reference_text import mismatch_text, missing_action_text
from workbench.runtime.turn_result import LogLine
from workbench.runtime.turns import Record, RecordedTurn

State = Literal["live", "stopping", "inert"]
_HAS_EXTRA = frozenset({ev.TIMER_CREATED, ev.STATUS_UPDATED, ev.CHILD_SCHEDULED})
"""Kinds with something besides the match to compare (`extra_differences`)."""


class Journal:
    """Matches operations of the turn that is being run; `state` is what the context obeys (replay-rule §6).

    *live*: operations count. *stopping*: a verdict fell while user code is on the stack, every call raises again.
    *inert*: the code is being closed; writes do nothing, reads answer from the frozen state.
    """

    def __init__(
        self,
        instance_id: str,
        execution_id: int,
        turns: Sequence[RecordedTurn] = (),
        dialect: Dialect = WORKBENCH,
    ) -> None:
        self.instance_id = instance_id
        self.execution_id = execution_id
        self.turns = turns
        self.dialect = dialect
        self.state: State = "inert"
        self.thread = 0
        self.turn: RecordedTurn | None = None
        self.number = 0
        self.being_made = 0
        """The turn that is being made: differs from `number` while a cold execution replays earlier turns."""
        self.now_ms = 0
        self.cursor = 0
        self.next_event_id = 1
        self.new_events: list[ev.Event] = []
        self.divergence: Divergence | None = None
        self.strict_differences: list[StrictDifference] = []
        self.ignored_calls = 0
        self.logs: list[LogLine] = []
        self.measures: list[tuple[str, dict[str, Any]]] = []

    # A turn begins and ends.

    def begin(self, number: int, turn: RecordedTurn | None, now_ms: int, next_event_id: int) -> None:
        """Open a turn; `turn` is its record, or None for a new one whose own ids start at `next_event_id`."""
        self.number = number
        self.turn = turn
        self.now_ms = now_ms
        self.next_event_id = next_event_id
        self.cursor = 0
        self.new_events = []
        self.strict_differences = []
        self.ignored_calls = 0
        self.logs = []
        self.measures = []
        self.thread = threading.get_ident()
        self.state = "live"

    def close(self) -> None:
        """The code is being closed on this thread: its calls are ignored."""
        self.state = "inert"
        self.thread = threading.get_ident()

    def leave(self) -> None:
        """No code runs: whoever kept the context may not use it until the next turn."""
        self.thread = 0

    @property
    def is_replaying(self) -> bool:
        """Whether this turn has been made before."""
        return self.turn is not None

    def next_record(self) -> Record | None:
        """The record of this turn that the next operation must equal."""
        turn = self.turn
        if turn is None or self.cursor >= len(turn.operations):
            return None
        return turn.operations[self.cursor]

    # What the context asks before anything else.

    def enter(self) -> bool:
        """Whether a call of the context counts. Raises `ReplayStopped` again while stopping.

        Raises `ContextInactive` when called from a thread that is not running this turn.
        """
        if self.thread != threading.get_ident():
            raise ContextInactive(
                f"the context of {self.instance_id!r} was used outside its turn or from another thread; "
                "use it only inside the orchestration function, on the thread that runs it"
            )
        if self.state == "live":
            return True
        if self.state == "stopping":
            raise ReplayStopped
        self.ignored_calls += 1
        return False

    def measure(self, metric: str, level: str | None, line: str, fields: dict[str, Any]) -> None:
        """Note a metric and a log line of a new turn; they are emitted after its commit, never by a replay."""
        if self.turn is None and self.state == "live":
            self.measures.append((metric, fields))
            if level is not None:
                self.logs.append(("runtime", level, line, fields))

    # Matching.

    def match(self, action: Action) -> Record:
        """The record of an operation: the recorded one it equals, or a new one with the next id.

        Raises `ReplayStopped` when it equals none.
        """
        turn = self.turn
        if turn is None:
            return self._write(action)
        if self.cursor < len(turn.operations):
            record = turn.operations[self.cursor]
            if record.signature == action.signature:
                self.cursor += 1
                if action.kind in _HAS_EXTRA:
                    self._compare_extra(record, action)
                return record
            self._stop_at_unknown(turn, action, record.event_id)
            self.diverge("changed", record, action, mismatch_text(record.event, action))
            raise ReplayStopped
        if turn.abort == "engine":
            return self._write(action)
        self._stop_at_unknown(turn, action, turn.events[-1].event_id)
        later = self._first_later_record()
        moved = later is not None and later.signature == action.signature
        message = f"an operation that is not in the recorded turn: {action.kind}"
        if later is not None and not moved:
            message = mismatch_text(later.event, action)
        self.diverge("moved" if moved else "added", later if moved else None, action, message)
        raise ReplayStopped

    def _stop_at_unknown(self, turn: RecordedTurn, action: Action, before: int) -> None:
        """If an event of a type that is not known here may be this operation's record, say that and stop."""
        after = turn.operations[self.cursor - 1].event_id if self.cursor else 0
        for unknown in turn.unknown:
            if after < unknown.event_id <= before:
                what = f"event {unknown.event_id} is a {unknown.type} of {unknown.duroxide_version}"
                self.diverge("broken history", unknown, action, f"{what}, which is not known here")
                raise ReplayStopped

    def _write(self, action: Action) -> Record:
        event_id = self.next_event_id
        self.next_event_id = event_id + 1
        fields = action.fields()
        fields.pop("delay_ms", None)
        event = self.event(event_id, action.kind, **fields)
        self.new_events.append(event)
        return Record(event_id, action.signature, event)

    def event(self, event_id: int, kind: str, source_event_id: int | None = None, **fields: Any) -> ev.Event:
        """An event of this execution, made now."""
        return ev.new_event(self.instance_id, self.execution_id, event_id, self.now_ms, kind, source_event_id, **fields)

    def append(self, kind: str, source_event_id: int | None = None, **fields: Any) -> ev.Event:
        """Write an event with the next id into the new turn."""
        event = self.event(self.next_event_id, kind, source_event_id, **fields)
        self.next_event_id += 1
        self.new_events.append(event)
        return event

    def unknown_event(self, event_id: int) -> ev.Event | None:
        """The recorded event of unknown type with this id, if there is one."""
        return next((event for turn in self.turns for event in turn.unknown if event.event_id == event_id), None)

    def _first_later_record(self) -> Record | None:
        for turn in self.turns:
            if turn.number > self.number and turn.operations:
                return turn.operations[0]
        return None

    # Differences.

    def diverge(
        self,
        kind: Kind,
        recorded: Record | ev.Event | None,
        now: Action | None,
        message: str,
        **more: Any,
    ) -> None:
        """Note the first divergence and stop; callers inside user code raise `ReplayStopped` next."""
        if self.divergence is None:
            event = recorded.event if isinstance(recorded, Record) else recorded
            self.divergence = Divergence(
                kind=kind,
                turn=self.being_made or self.number,
                recorded_turn=self.number,
                operation=self.cursor + 1,
                recorded=event,
                now=now,
                message=message,
                **more,
            )
        self.state = "stopping"

    def no_longer_made(self, ended: bool, action: Action | None, ending: str | None) -> None:
        """Records of this turn are left and the code waits, or has `ended` (`action`: by continuing as new)."""
        record = self.next_record()
        if record is not None:
            message = missing_action_text(record.event) if action is None else mismatch_text(record.event, action)
            self.diverge("ended early" if ended else "removed", record, action, message, ending=ending)

    def _compare_extra(self, record: Record, action: Action) -> None:
        for what, recorded, now in extra_differences(record.event, action, self.turn):
            self.strict_differences.append(
                StrictDifference(turn=self.number, event_id=record.event_id, what=what, recorded=recorded, now=now)
            )


def extra_differences(event: ev.Event, action: Action, turn: RecordedTurn | None) -> list[tuple[str, str, str]]:
    """What an operation that matches does differently: timer delay, status text, child id (replay-rule §1.3).

    A recorded delay is only known as an interval: the fire time less any moment of the turn.
    """
    kind = action.kind
    if kind == ev.TIMER_CREATED and turn is not None:
        shortest = int(event.fire_at_ms or 0) - event.timestamp_ms
        longest = int(event.fire_at_ms or 0) - turn.started_ms
        delay = action.extra["delay_ms"]
        if not shortest <= delay <= longest:
            recorded = f"{shortest} ms" if shortest == longest else f"{shortest} to {longest} ms"
            return [("timer delay", recorded, f"{delay} ms")]
    elif kind == ev.STATUS_UPDATED and event.status != action.extra["status"]:
        return [("custom status", repr(event.status), repr(action.extra["status"]))]
    elif kind == ev.CHILD_SCHEDULED:
        recorded_id = str(event.instance)
        now_id = action.extra.get("instance")
        automatic = recorded_id.startswith("sub::")
        if (now_id is None) != automatic or (now_id is not None and now_id != recorded_id):
            return [("sub-orchestration id", repr(recorded_id), "automatic" if now_id is None else repr(now_id))]
    return []
