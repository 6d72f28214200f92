"""Turns in their order, found by their address: what a panel steps through."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.turn import Turn


class Trace:
    """The turns of an instance, of all executions. Finding one does not depend on how many there are."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = tuple(turns)
        self._positions = {turn.address: position for position, turn in enumerate(self.turns)}
        self.executions = self.turns[-1].execution_id if self.turns else 1

    def __len__(self) -> int:
        return len(self.turns)

    def position(self, address: str) -> int | None:
        """Where the turn with this address stands, or None."""
        return self._positions.get(address)

    def at(self, address: str) -> Turn | None:
        """The turn with this address, or None."""
        position = self._positions.get(address)
        return None if position is None else self.turns[position]

    @property
    def diverged(self) -> Turn | None:
        """The turn that diverged, which is always the last one, or None."""
        return self.turns[-1] if self.turns and self.turns[-1].divergence is not None else None
