"""A turn as one line and as a few lines of text."""

from __future__ import annotations

from workbench.runtime.divergence import OutcomeDifference, StrictDifference
from workbench.runtime.turn import Operation, Turn
from workbench.views import changes, divergence, layout, words
from workbench.views.key_table import key_lines
from workbench.views.operations import operation_lines, operations_in_words, replayed_in_words, waiting_in_words


def line(turn: Turn) -> str:
    """`Turn 1.2 of counter-1: woken by activity Noop completed (event 4), 2 new operations, counter 1 → 2`."""
    parts = [woken_in_words(turn), operations_in_words(turn)]
    if turn.divergence is not None:
        parts.append(divergence.title(turn.divergence))
    else:
        parts.append(changes.changes_in_words(turn))
        if turn.status != "Running":
            parts.append(words.outcome_in_words(turn.status, turn.output))
    return f"Turn {turn.address} of {words.shown(turn.instance_id)}: {', '.join(part for part in parts if part)}"


def text(turn: Turn) -> str:
    """The turn in a few lines, the same on every run."""
    lines = [title(turn)]
    for label, sentences in sentences_above(turn):
        for position, each in enumerate(sentences):
            lines += layout.labelled(label if position == 0 else "", each)
    lines += layout.labelled_lines("made", operation_lines(turn) or ["no operation"])
    if turn.divergence is None:
        for each in waiting_in_words(turn):
            lines += layout.labelled("waits for", each)
    lines += layout.labelled_lines("keys", key_lines(turn))
    for label, sentences in sentences_below(turn):
        for position, each in enumerate(sentences):
            lines += layout.labelled(label if position == 0 else "", each)
    if turn.divergence is not None:
        lines.append(turn.divergence.text())
    return "\n".join(lines)


def title(turn: Turn) -> str:
    """Which turn of what: `Turn 1.2 · Counter · counter-1 · delta model`."""
    parts = [f"Turn {turn.address}", words.shown(turn.orchestration), words.shown(turn.instance_id)]
    return " · ".join([*parts, f"{turn.kv_model} model", *(["turns inferred"] if turn.inferred else [])])


def woken_in_words(turn: Turn) -> str:
    """What woke the turn, with its event id."""
    answered = answered_by(turn)
    if turn.woken_by is not None:
        return f"woken by {words.arrival_in_words(turn.woken_by, answered)} (event {turn.woken_by.event_id})"
    arrivals = words.listed((arrival_with_id(turn, each.event_id) for each in turn.arrivals), 3)
    if not turn.has_code:
        return f"begins with {arrivals}"
    return f"nothing woke the code; arrived: {arrivals}" if turn.arrivals else "nothing arrived"


def arrival_with_id(turn: Turn, event_id: int) -> str:
    """An arrival of the turn with its event id."""
    event = next(each for each in turn.arrivals if each.event_id == event_id)
    return f"{words.arrival_in_words(event, answered_by(turn))} (event {event_id})"


def answered_by(turn: Turn) -> words.Answered:
    """The schedules that the turn's arrivals answer, by event id."""
    return {event.event_id: event for event in turn.answered}


def sentences_above(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences that stand above the operations: what arrived and what was replayed on the way."""
    woken = woken_in_words(turn)
    label = "woken by" if turn.woken_by is not None else "arrived"
    found = [(label, [woken.removeprefix("woken by ").removeprefix("begins with ")])]
    others = [each.event_id for each in turn.arrivals if turn.woken_by is not None and each != turn.woken_by]
    if others:
        found.append(("arrived", [words.listed((arrival_with_id(turn, each) for each in others), 8)]))
    if turn.unhandled:
        arrived = words.listed((arrival_with_id(turn, each.event_id) for each in turn.unhandled), 8)
        found.append(("nobody took", [arrived]))
    if turn.replayed:
        found.append(("replayed", [replayed_in_words(turn)]))
    return found


def sentences_below(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences that stand below the tables: how the turn ended and what else is to be said."""
    found = []
    if turn.divergence is None:
        found.append(("status", [words.outcome_in_words(turn.status, turn.output)]))
    if turn.refused is not None:
        found.append(("refused", [f"{words.sentence(turn.refused)}: nothing that the code made was recorded"]))
    if turn.outcome_difference is not None:
        found.append(("outcome", [outcome_difference_in_words(turn.outcome_difference)]))
    if turn.strict_differences:
        found.append(("differs", [strict_difference_in_words(each) for each in turn.strict_differences]))
    if turn.warnings:
        found.append(("warnings", [words.sentence(each) for each in turn.warnings]))
    return found


def outcome_difference_in_words(difference: OutcomeDifference) -> str:
    """Both endings: `recorded: completed with 3; now: completed with 4`."""
    recorded = words.outcome_in_words(difference.recorded_status, difference.recorded_output)
    now = words.outcome_in_words(difference.now_status, difference.now_output)
    return f"recorded: {recorded}; now: {now}"


def strict_difference_in_words(difference: StrictDifference) -> str:
    """Something outside the match that differs: `turn 1, event 2: timer delay recorded 50 ms, now 60 ms`."""
    place = words.place_in(difference.chain, None)
    where = f"turn {difference.turn}, event {difference.event_id}{f', {place}' if place else ''}"
    recorded, now = words.shown(difference.recorded), words.shown(difference.now)
    return f"{where}: {words.shown(difference.what)} recorded {recorded}, now {now}"


def made_here(turn: Turn) -> list[Operation]:
    """The operations of the turn itself, without reads."""
    return [each for each in turn.operations if each.number is not None]
