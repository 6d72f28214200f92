"""The strip of turns: a glyph for what woke each, its number, and what it did to the keys."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime import events as ev
from workbench.runtime.turn import Turn
from workbench.views import changes, words
from workbench.views.arrivals import woken_in_words
from workbench.views.markup import Html, element, focusable, join

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
DIVERGED = "✗"
AROUND = 12
"""Turns that are shown on each side of the focus; the others are counted."""


def glyph(turn: Turn) -> str:
    """A sign for what woke the turn, or that it diverged."""
    if turn.divergence is not None:
        return DIVERGED
    event = turn.woken_by or (turn.arrivals[0] if turn.arrivals else None)
    return NOTHING if event is None else GLYPHS.get(event.type, NOTHING)


def strip(turns: Sequence[Turn], focus: str | None = None) -> Html:
    """The turns as a row of elements that move the focus; around `focus` (an address), the last turn without one."""
    if not turns:
        return element("div", element("span", "no turns", css="quiet"), css="strip")
    position = next((at for at, turn in enumerate(turns) if turn.address == focus), len(turns) - 1)
    kept = sorted({0, len(turns) - 1, *range(max(0, position - AROUND), min(len(turns), position + AROUND + 1))})
    pieces: list[Html] = []
    previous = -1
    for at in kept:
        if at - previous > 1:
            pieces.append(element("span", f"… {words.counted(at - previous - 1, 'turn')} …", css="quiet"))
        if turns[at].execution_id != (turns[previous].execution_id if previous >= 0 else 1):
            pieces.append(element("span", f"execution {turns[at].execution_id}", css="quiet"))
        pieces.append(_turn(turns[at], current=focus is not None and at == position))
        previous = at
    return element("div", join(pieces, between=" "), css="strip", role="group", aria_label="turns")


def _turn(turn: Turn, current: bool) -> Html:
    keys = "diverged" if turn.divergence is not None else changes.changes_in_words(turn) or "no key changed"
    label = f"turn {turn.address}: {woken_in_words(turn)}, {keys}"
    content = Html(f"{element('span', f'{glyph(turn)} {turn.number}')} {element('span', changes.badge(turn))}")
    css = "turn diverged" if turn.divergence is not None else "turn"
    return focusable(content, turn.address, label, current, css)
