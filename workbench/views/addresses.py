"""Finding a turn by its address, such as `1.3`, whatever the number of turns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from workbench.runtime.turn import Turn


def position_of(turns: Sequence[Turn], address: str) -> int | None:
    """Where the turn with this address stands among turns in their order, or None."""
    execution, _, number = address.partition(".")
    if not (execution.isdecimal() and number.isdecimal()):
        return None
    position = bisect_left(turns, (int(execution), int(number)), key=lambda turn: (turn.execution_id, turn.number))
    return position if position < len(turns) and turns[position].address == address else None


def turn_at(turns: Sequence[Turn], address: str) -> Turn | None:
    """The turn with this address, or None."""
    position = position_of(turns, address)
    return None if position is None else turns[position]


def diverged_turn(turns: Sequence[Turn]) -> Turn | None:
    """The turn that diverged, which is always the last one, or None."""
    return turns[-1] if turns and turns[-1].divergence is not None else None
