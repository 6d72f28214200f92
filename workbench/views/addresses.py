"""Finding a turn by its address, such as `1.3`, whatever the number of turns."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from workbench.runtime.turn import Turn
from workbench.views.operations import operation_addresses


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


def find_address(turns: Sequence[Turn], address: str) -> str:
    """The address of a turn or operation as somebody wrote it; `2` alone is that turn of the newest execution with one.

    Raises `LookupError` when there is no such turn, or it made no such operation.
    """
    address = address.strip()
    if address.isdecimal():
        named = [turn.address for turn in turns if turn.number == int(address)]
        address = named[-1] if named else address
    turn = turn_at(turns, ".".join(address.split(".")[:2]))
    if turn is None:
        known = ", ".join(turn.address for turn in turns[-8:])
        raise LookupError(f"there is no turn {address!r}; the last ones are {known or 'none'}")
    if address not in (turn.address, *operation_addresses(turn)):
        made = ", ".join(operation_addresses(turn)[:8])
        raise LookupError(f"there is no operation {address!r}; turn {turn.address} made {made or 'none'}")
    return address


def first_turn(turns: Sequence[Turn], execution_id: int) -> Turn | None:
    """The first turn of an execution, or None."""
    position = bisect_left(turns, execution_id, key=lambda turn: turn.execution_id)
    return turns[position] if position < len(turns) and turns[position].execution_id == execution_id else None


def follows(turn: Turn, turns: Sequence[Turn]) -> bool:
    """Whether the turn is the one after these, so that nobody has made another one in between."""
    if not turns:
        return turn.address == "1.1"
    last = turns[-1]
    begins = last.status == "ContinuedAsNew"
    after = (last.execution_id + 1, 1) if begins else (last.execution_id, last.number + 1)
    return (turn.execution_id, turn.number) == after


def diverged_turn(turns: Sequence[Turn]) -> Turn | None:
    """The turn that diverged, which is always the last one, or None."""
    return turns[-1] if turns and turns[-1].divergence is not None else None
