"""What arrived in a turn and what woke its code, in words."""

from __future__ import annotations

from workbench.runtime.events import Event
from workbench.runtime.turn import Turn
from workbench.views import words


def woken_in_words(turn: Turn) -> str:
    """What woke the turn, with its event id: `woken by activity Noop completed (event 4)`."""
    if turn.woken_by is not None:
        return f"woken by {arrival_with_id(turn, turn.woken_by)}"
    arrivals = words.listed((arrival_with_id(turn, each) for each in turn.arrivals), 3)
    if not turn.has_code:
        return f"begins with {arrivals}"
    return f"nothing woke the code; arrived: {arrivals}" if turn.arrivals else "nothing arrived"


def arrival_with_id(turn: Turn, event: Event) -> str:
    """An arrival of the turn with its event id."""
    answered = {each.event_id: each for each in turn.answered}
    return f"{words.arrival_in_words(event, answered)} (event {event.event_id})"


def arrived(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences: what woke the code, what else arrived, what nobody took."""
    woken = woken_in_words(turn)
    label = "woken by" if turn.woken_by is not None else "arrived"
    found = [(label, [woken.removeprefix("woken by ").removeprefix("begins with ")])]
    others = [each for each in turn.arrivals if turn.woken_by is not None and each != turn.woken_by]
    if others:
        found.append(("arrived", [words.listed((arrival_with_id(turn, each) for each in others), 8)]))
    if turn.unhandled:
        found.append(("lost", [words.listed((arrival_with_id(turn, each) for each in turn.unhandled), 8)]))
    return found
