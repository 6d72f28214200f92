"""The strip of turns: a glyph for what woke each, its number, and what it did to the keys."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime import events as ev
from workbench.runtime.turn import Turn
from workbench.views import changes, words
from workbench.views.addresses import position_of
from workbench.views.arrivals import woken_in_words
from workbench.views.idle import idle_in_words
from workbench.views.markup import Html, element, focusable, join
from workbench.views.moves import changed

GLYPHS = {
    ev.STARTED: "▸",
    ev.ACTIVITY_COMPLETED: "◆",
    ev.ACTIVITY_FAILED: "◇",
    ev.TIMER_FIRED: "◷",
    ev.EVENT_RECEIVED: "◉",
    ev.QUEUE_MESSAGE: "≡",
    ev.CHILD_COMPLETED: "▣",
    ev.CHILD_FAILED: "▢",
    ev.CANCEL_REQUESTED: "⊘",
}
NOTHING = "·"
PARTED = "✗"
WRITTEN = "•"
REMARKED = "!"
AROUND = 12
"""Turns that are shown on each side of the focus; the others are counted."""


def glyph(turn: Turn) -> str:
    """A sign for what woke the turn, or that it diverged or did not come back."""
    if turn.divergence is not None or turn.stopped is not None:
        return PARTED
    event = turn.woken_by or (turn.arrivals[0] if turn.arrivals else None)
    return NOTHING if event is None else GLYPHS.get(event.type, NOTHING)


def has_remarks(turn: Turn) -> bool:
    """Whether more is to be said of the turn than what it did: warnings, strict differences, what nobody waited for."""
    return bool(turn.warnings or turn.strict_differences or turn.unhandled or turn.outcome_difference)


def strip(turns: Sequence[Turn], focus: str | None = None, key: str | None = None) -> Html:
    """The turns as a row of elements that move the focus; around `focus` (an address), the last turn without one.

    Turns that changed `key` carry a dot, those with something to remark an exclamation mark; a long pause is told.
    """
    if not turns:
        return element("div", element("span", "no turns", css="quiet"), css="strip")
    found = None if focus is None else position_of(turns, focus)
    position = len(turns) - 1 if found is None else found
    kept = sorted({0, len(turns) - 1, *range(max(0, position - AROUND), min(len(turns), position + AROUND + 1))})
    pieces: list[Html] = []
    previous = -1
    for at in kept:
        if at - previous > 1:
            pieces.append(element("span", f"… {words.counted(at - previous - 1, 'turn')} …", css="quiet"))
        pause = idle_in_words(turns[at - 1], turns[at]) if at and at - previous == 1 else ""
        if pause:
            pieces.append(element("span", pause, css="quiet"))
        if turns[at].execution_id != (turns[previous].execution_id if previous >= 0 else 1):
            pieces.append(element("span", f"execution {turns[at].execution_id}", css="quiet"))
        pieces.append(_turn(turns[at], at == found, key))
        previous = at
    return element("div", join(pieces, between=" "), css="strip", role="group", aria_label="turns")


def _turn(turn: Turn, current: bool, key: str | None) -> Html:
    diverged = turn.divergence is not None
    label = f"turn {turn.address}: {woken_in_words(turn)}"
    label += ", diverged" if diverged else f", {changes.changes_in_words(turn) or 'no key changed'}"
    label += ", with remarks" if (remarked := has_remarks(turn)) else ""
    written = key is not None and changed(turn, key)
    signs = (changes.badge(turn), WRITTEN if written else "", REMARKED if remarked else "")
    content = [element("span", f"{glyph(turn)} {turn.number}"), element("span", " ".join(filter(None, signs)))]
    return focusable(join(content, between=" "), turn.address, label, current, "turn diverged" if diverged else "turn")
