"""Which recorded operation each arrival answers, told from the history alone.

Completions name their schedule. External events and queue messages do not: who gets them follows from the order of
the rows (replay-rule §1.3).
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime import events as ev
from workbench.runtime.turns import RecordedTurn


class _Subscription:
    __slots__ = ("dropped_in", "event_id", "turn")

    def __init__(self, event_id: int, turn: int, dropped_in: int | None) -> None:
        self.event_id = event_id
        self.turn = turn
        self.dropped_in = dropped_in


def answered_operations(turns: Sequence[RecordedTurn]) -> dict[int, int]:
    """The id of each arrival that an operation got, with the id of that operation."""
    answered: dict[int, int] = {}
    dropped = {
        event.source_event_id: turn.number
        for turn in turns
        for event in turn.breadcrumbs
        if event.reason == ev.DROPPED and event.type not in (ev.ACTIVITY_CANCEL_REQUESTED, ev.CHILD_CANCEL_REQUESTED)
    }
    waiting: dict[tuple[str, str], list[_Subscription]] = {}
    for turn in turns:
        for record in turn.operations:
            if record.event.type in (ev.EVENT_SUBSCRIBED, ev.QUEUE_SUBSCRIBED):
                subscription = _Subscription(record.event_id, turn.number, dropped.get(record.event_id))
                waiting.setdefault((record.event.type, str(record.event.name)), []).append(subscription)
    for turn in turns:
        for event in turn.arrivals:
            if event.source_event_id is not None:
                answered[event.event_id] = event.source_event_id
            elif event.type == ev.EVENT_RECEIVED:
                _give_event(event, turn.number, waiting.get((ev.EVENT_SUBSCRIBED, str(event.name)), []), answered)
            elif event.type == ev.QUEUE_MESSAGE:
                takers = waiting.get((ev.QUEUE_SUBSCRIBED, str(event.name)), [])
                taker = next((each for each in takers if each.dropped_in is None), None)
                if taker is not None:
                    takers.remove(taker)
                    answered[event.event_id] = taker.event_id
    return answered


def _give_event(event: ev.Event, turn: int, waits: list[_Subscription], answered: dict[int, int]) -> None:
    """To the first wait that was there before this batch; one that loses its race in this turn takes it along."""
    for wait in waits:
        if wait.turn < turn and (wait.dropped_in is None or wait.dropped_in >= turn):
            waits.remove(wait)
            if wait.dropped_in is None:
                answered[event.event_id] = wait.event_id
            return
