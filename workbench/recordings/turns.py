"""Finding the turns of a history that does not say which events were committed together.

Within a turn the order on disk is: arrivals, operations, breadcrumbs, endings. So an arrival behind anything else
begins a turn; between two arrivals only their times can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.runtime import events as ev

SOFT_GAP_MS = 1
"""Two arrivals this far apart were probably, not certainly, made in different turns."""


def infer_turns(events: Sequence[ev.Event]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The turn number of each event, counted from 1, and the ids of events that begin a turn by a 1 ms gap only.

    Hard boundary: an arrival behind an operation or breadcrumb, or 2 ms or more behind the arrival before it, or
    before it in time (a clock step). Soft boundary: exactly 1 ms behind it. Same turn: 0 ms. Events of unknown type
    stay in the turn they stand in and decide nothing.
    """
    turns: list[int] = []
    soft: list[int] = []
    turn = 1
    previous: ev.Event | None = None
    for event in events:
        if event.type in ev.ARRIVALS and previous is not None:
            gap_ms = event.timestamp_ms - previous.timestamp_ms
            if previous.type not in ev.ARRIVALS or gap_ms != 0:
                turn += 1
                if previous.type in ev.ARRIVALS and gap_ms == SOFT_GAP_MS:
                    soft.append(event.event_id)
        turns.append(turn)
        if event.type in ev.KNOWN_TYPES:
            previous = event
    return tuple(turns), tuple(soft)


def first_events(events: Iterable[ev.Event], turns: Iterable[int]) -> tuple[int, ...]:
    """The id of the first event of each turn, in turn order."""
    first: dict[int, int] = {}
    for event, turn in zip(events, turns, strict=True):
        first.setdefault(turn, event.event_id)
    return tuple(first.values())
