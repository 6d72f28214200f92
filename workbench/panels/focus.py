"""The focus: the one place that all views of a panel look at. Addresses are ids, never positions in a list."""

from __future__ import annotations

import traitlets


class Focus(traitlets.HasTraits):
    """Where a panel looks: a turn by its address (`execution.turn`), an operation of it (0: none), a key (or none)."""

    turn = traitlets.Unicode("")
    operation = traitlets.Int(0)
    key = traitlets.Unicode(None, allow_none=True)

    @property
    def address(self) -> str:
        """The address of the turn, or of the operation: `1.2`, `1.2.3`."""
        return f"{self.turn}.{self.operation}" if self.operation else self.turn

    def move(self, turn: str | None = None, operation: int = 0, key: str | None = None) -> None:
        """Move to a turn (and operation), or to a key of the same turn; observers are told once."""
        with self.hold_trait_notifications():
            if turn is not None:
                self.turn = turn
                self.operation = operation
            if key is not None:
                self.key = key

    def follow(self, target: str) -> None:
        """Move to what was clicked: `1.2`, `1.2.3`, or `key:counter`. Raises `ValueError` for anything else."""
        kind, separator, key = target.partition(":")
        if separator and kind == "key":
            self.move(key=key)
            return
        parts = target.split(".")
        if len(parts) not in (2, 3) or not all(part.isdigit() for part in parts):
            raise ValueError(f"{target!r} is no address: a turn is 1.2, an operation 1.2.3, a key key:name")
        self.move(".".join(parts[:2]), int(parts[2]) if len(parts) == 3 else 0)

    def __repr__(self) -> str:
        return f"Focus({self.address!r}{'' if self.key is None else f', key={self.key!r}'})"
