"""The keys around a turn, snapshot | delta | what a client reads side by side."""

from __future__ import annotations

from workbench.runtime.turn import Turn
from workbench.views import layout, words
from workbench.views.changes import Cell, entry_in_words, key_changes

NO_KEYS = "no keys"
NONE_CHANGED = "no key changed in this turn"


def key_lines(turn: Turn) -> list[str]:
    """The changed keys as aligned text, or all that a diverged turn was given; the others are counted."""
    every = key_changes(turn)
    if not every:
        return [NO_KEYS]
    kept = every if turn.divergence is not None else [each for each in every if each.changed]
    if not kept:
        return [f"{NONE_CHANGED}; {words.counted(len(every), 'key')} in all"]
    columns = [("", "key", "snapshot", "delta", "client", "bytes")]
    rows = [
        (
            "" if turn.divergence is not None else each.sign,
            words.shown(each.key),
            _cell(each.snapshot),
            _cell(each.delta),
            _cell(each.client),
            str(each.byte_count),
        )
        for each in kept
    ]
    lines = layout.table([*columns, *rows], right=(5,))
    unchanged = len(every) - len(kept)
    return [*lines, f"{words.counted(unchanged, 'key')} unchanged"] if unchanged else lines


def _cell(cell: Cell) -> str:
    if not cell.changed:
        return entry_in_words(cell.after, "–")
    return f"{entry_in_words(cell.before, '–')} → {entry_in_words(cell.after, '–')}"
