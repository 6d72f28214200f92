"""What limits are about, turn by turn: keys, largest value, all values, and the history so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.runtime import kv
from workbench.runtime.events import encode_event
from workbench.runtime.turn import Turn
from workbench.views import words
from workbench.views.changes import tables_after


class Sizes(NamedTuple):
    """After one turn: keys alive, and UTF-8 bytes of the largest value, of all keys and values, of the history.

    `history_bytes` is the JSON of this execution's events up to here: continue-as-new begins at nothing again.
    """

    keys: int
    value_bytes: int
    kv_bytes: int
    history_bytes: int


def sizes_of(turns: Sequence[Turn]) -> list[Sizes]:
    """The sizes after each turn; a turn that diverged has changed nothing."""
    found: list[Sizes] = []
    history_bytes = 0
    previous: Turn | None = None
    kept = (0, 0, 0)
    for turn in turns:
        if previous is None or turn.execution_id != previous.execution_id:
            history_bytes = 0
        history_bytes += sum(words.byte_count(encode_event(event)) for event in turn.events)
        tables = tables_after(turn)
        if previous is None or tables is not tables_after(previous):
            kept = _kv_sizes(tables)
        found.append(Sizes(*kept, history_bytes))
        previous = turn
    return found


def _kv_sizes(tables: kv.Tables) -> tuple[int, int, int]:
    values = {**tables.store, **tables.delta}
    alive = {key: words.byte_count(row.value) for key, row in values.items() if row.value is not None}
    total = sum(alive.values()) + sum(map(words.byte_count, alive))
    return len(alive), max(alive.values(), default=0), total
