"""What arrived in a turn and what woke its code, in words."""

from __future__ import annotations

from workbench.runtime.events import Event
from workbench.runtime.turn import Turn
from workbench.views import words

NOT_WOKEN = "the code was not woken"


def woken_in_words(turn: Turn) -> str:
    """What woke the turn, with its event id: `woken by activity Noop completed (event 4)`."""
    if turn.woken_by is not None:
        return f"woken by {arrival_with_id(turn, turn.woken_by)}"
    arrivals = words.listed((arrival_with_id(turn, each) for each in turn.arrivals), 3)
    if not turn.has_code:
        return f"begins with {arrivals}"
    return f"{arrivals} arrived, {NOT_WOKEN}" if turn.arrivals else "nothing arrived"


def arrival_with_id(turn: Turn, event: Event) -> str:
    """An arrival of the turn with its event id."""
    answered = {each.event_id: each for each in turn.answered}
    return f"{words.arrival_in_words(event, answered)} (event {event.event_id})"


def arrived(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences: what woke the code, and what else arrived."""
    woken = [] if turn.woken_by is None else [("woken by", [arrival_with_id(turn, turn.woken_by)])]
    others = [arrival_with_id(turn, each) for each in turn.arrivals if each != turn.woken_by]
    asleep = f"; {NOT_WOKEN}" if turn.woken_by is None and turn.has_code else ""
    return [*woken, ("arrived", [words.listed(others, 8) + asleep])] if others else woken
