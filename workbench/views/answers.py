"""Which operation an arrival answers, and in which turn the answer to an operation arrived."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.runtime import events as ev
from workbench.runtime.turn import Turn
from workbench.views.addresses import position_of
from workbench.views.operations import address_of

_HOW = {
    ev.ACTIVITY_COMPLETED: "completed",
    ev.ACTIVITY_FAILED: "failed",
    ev.TIMER_FIRED: "fired",
    ev.CHILD_COMPLETED: "completed",
    ev.CHILD_FAILED: "failed",
}
_WAITS = ev.SCHEDULES | ev.SUBSCRIPTIONS
_CANCELS = {ev.EVENT_SUBSCRIPTION_CANCELLED, ev.QUEUE_SUBSCRIPTION_CANCELLED}


class Answer(NamedTuple):
    """What came of an operation: in words, and the turn where it did (None: nothing came yet, or ever)."""

    words: str
    turn: Turn | None = None


def asked_in(turns: Sequence[Turn], turn: Turn, arrival: ev.Event) -> tuple[Turn, str] | None:
    """The turn of the operation that an arrival of `turn` answers, and that operation's address.

    None if it answers none, or one that is not here.
    """
    source = arrival.source_event_id if arrival.type in ev.COMPLETIONS else None
    if arrival.type in (ev.EVENT_RECEIVED, ev.QUEUE_MESSAGE):
        source = next(
            (made for made, mail in _mail(turns, turn, arrival.name) if mail.event_id == arrival.event_id), None
        )
    found = None if source is None else made_by(turns, turn.execution_id, source)
    is_wait = found is not None and any(each.event_id == source and each.type in _WAITS for each in found[0].events)
    return found if is_wait else None  # in a damaged history an outcome may name anything


def made_by(turns: Sequence[Turn], execution_id: int, event_id: int) -> tuple[Turn, str] | None:
    """The turn that recorded an event, and the address of the operation that made it (else of the turn)."""
    position = bisect_left(turns, (execution_id, event_id), key=_last_event)
    if position == len(turns) or turns[position].execution_id != execution_id:
        return None
    turn = turns[position]
    address = next((address_of(turn, each) for each in turn.operations if each.event_id == event_id), None)
    return turn, address or turn.address


def answers(turns: Sequence[Turn], turn: Turn) -> dict[int, Answer]:
    """What came of each operation of a turn that waits for something, by the id of its event."""
    made = {event.event_id: event for event in _made(turn)}
    waiting = {event_id for event_id, event in made.items() if event.type in _WAITS}
    found: dict[int, Answer] = {}
    for name in {made[each].name for each in waiting if made[each].type in ev.SUBSCRIPTIONS}:
        for subscription, mail in _mail(turns, turn, name):
            if subscription in waiting:
                arrived = made_by(turns, turn.execution_id, mail.event_id)
                found[subscription] = Answer("arrived", None if arrived is None else arrived[0])
    open_ones = waiting - found.keys()
    for each in _execution_from(turns, turn) if open_ones else ():
        for event in each.events:
            if event.source_event_id in open_ones and (event.type in _HOW or event.type in ev.BREADCRUMBS):
                found[event.source_event_id] = Answer(_HOW.get(event.type, "let go of"), each)
                open_ones.discard(event.source_event_id)
        if not open_ones:
            break
    return found | dict.fromkeys(open_ones, _unanswered(turns, turn))


def _unanswered(turns: Sequence[Turn], turn: Turn) -> Answer:
    """What is to be said of an operation that nothing came of: the record may go on where a replay has stopped."""
    last = turns[-1]
    if last.execution_id == turn.execution_id and (last.divergence is not None or last.stopped is not None):
        return Answer("")
    running = last.execution_id == turn.execution_id and last.status == "Running"
    return Answer("still open" if running else "never answered")


def _made(turn: Turn) -> Iterator[ev.Event]:
    """The recorded events of the operations that the turn's code made."""
    made = {each.event_id for each in turn.operations if each.event_id is not None and each.state != "refused"}
    return (event for event in turn.events if event.event_id in made)


def _execution_from(turns: Sequence[Turn], turn: Turn) -> Iterator[Turn]:
    """The turn and those that follow it in its execution."""
    start = position_of(turns, turn.address)
    for at in range(len(turns) if start is None else start, len(turns)):
        if turns[at].execution_id != turn.execution_id:
            return
        yield turns[at]


def _mail(turns: Sequence[Turn], turn: Turn, name: object) -> Iterator[tuple[int, ev.Event]]:
    """Which event or message each subscription of one name got, in the turn's execution.

    The oldest subscription gets it. For an event it must have been there before the event's turn, and one that let go
    in that same turn still takes its event away; a message of a queue waits, and who let go takes none.
    """
    waiting: list[int] = []
    takers: list[int] = []
    messages: list[ev.Event] = []
    first = bisect_left(turns, turn.execution_id, key=lambda each: each.execution_id)
    let_go = {
        event.source_event_id
        for each in _execution_from(turns, turns[first])
        for event in each.events
        if event.type in _CANCELS
    }
    for each in _execution_from(turns, turns[first]):
        made: list[int] = []
        dropped: set[int | None] = set()
        for event in each.events:
            if event.type in _CANCELS:
                dropped.add(event.source_event_id)
            elif event.name != name:
                continue
            elif event.type == ev.EVENT_SUBSCRIBED:
                made.append(event.event_id)
            elif event.type == ev.QUEUE_SUBSCRIBED and event.event_id not in let_go:
                takers.append(event.event_id)
            elif event.type == ev.QUEUE_MESSAGE:
                messages.append(event)
            elif event.type == ev.EVENT_RECEIVED and waiting:
                taker = waiting.pop(0)
                if taker not in let_go:
                    yield taker, event
        waiting = [one for one in (*waiting, *made) if one not in dropped]
    yield from zip(takers, messages, strict=False)


def _last_event(turn: Turn) -> tuple[int, int]:
    return turn.execution_id, turn.events[-1].event_id if turn.events else sys.maxsize
