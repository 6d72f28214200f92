"""What one turn comes to: pure data, handed to limits, commit, trace and replay alike."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from workbench.runtime.divergence import Divergence, OutcomeDifference, StrictDifference
from workbench.runtime.events import Event
from workbench.runtime.messages import ActivityExecute, Message

LogLine = tuple[Literal["orchestration", "runtime"], str, str, dict[str, Any]]
"""Who says it (the code, or the runtime about it), level, text, fields."""
Status = Literal["Running", "Completed", "Failed", "ContinuedAsNew"]
FINISHED = frozenset({"Completed", "Failed"})
"""What an instance is when nothing moves it any more, short of a restart."""


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of `Execution.advance`.

    `events` are all rows of a new turn, arrivals first (for a recorded turn: none, they are there already).
    `output` is JSON text when completed, the error text when failed, the next input when continued as new; `details`
    is the error object of a failure. `woken_by` is the one arrival that resumed the code, or None. `unhandled` are
    arrivals that nothing took. `key_count` and `largest_value_bytes` describe the KV state after the turn.
    `started` is the execution's start event; `in_flight` are activities of earlier turns without outcome.
    `logs` and `measures` (metric, attributes) are those of a new turn, to be emitted after its commit.
    """

    number: int
    now_ms: int
    execution_id: int
    replayed: bool
    arrivals: tuple[Event, ...]
    status: Status
    events: tuple[Event, ...] = ()
    output: str | None = None
    details: dict[str, Any] | None = None
    activities: tuple[ActivityExecute, ...] = ()
    messages: tuple[Message, ...] = ()
    cancelled_activities: tuple[int, ...] = ()
    woken_by: Event | None = None
    unhandled: tuple[Event, ...] = ()
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    strict_differences: tuple[StrictDifference, ...] = ()
    warnings: tuple[str, ...] = ()
    waiting_for: tuple[str, ...] = ()
    key_count: int = 0
    largest_value_bytes: int = 0
    refused: str | None = None
    parent_instance: str | None = None
    started: Event | None = None
    in_flight: tuple[int, ...] = ()
    version: str = "1.0.0"
    orchestration: str = ""
    logs: tuple[LogLine, ...] = ()
    measures: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the execution ended with this turn."""
        return self.status != "Running"
