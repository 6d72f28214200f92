"""The in-memory key-value state of one execution: seeded from the snapshot, changed only by the code's own calls.

Events never change it on replay (spec 001, "How kv_state Stays Current"). Each key remembers where its value came
from, so that a poisoned read can be proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.runtime.kv import Entry

FROM_SNAPSHOT = 0
"""Origin of a value that the snapshot brought; any other origin is the event id of the write."""


class Held(NamedTuple):
    """A live value, when it was written (ms), and its origin."""

    value: str
    at_ms: int
    origin: int


class KeyValues:
    """The state that `ctx.get_kv_value` reads; in key order wherever order shows."""

    __slots__ = ("cleared", "held", "snapshot")

    def __init__(self, snapshot: Mapping[str, Entry]) -> None:
        self.snapshot = snapshot
        self.held = {
            key: Held(row.value, row.last_updated_at_ms, FROM_SNAPSHOT)
            for key, row in snapshot.items()
            if row.value is not None
        }
        self.cleared: dict[str, int] = {}
        """Keys that this execution cleared, with the event id of the clear."""

    def get(self, key: str) -> str | None:
        """The value of a key; None when it was never set or was cleared."""
        held = self.held.get(key)
        return None if held is None else held.value

    def keys(self) -> list[str]:
        """The live keys, ascending by code point."""
        return sorted(self.held)

    def values(self) -> dict[str, str]:
        """All live values, in key order."""
        return {key: self.held[key].value for key in sorted(self.held)}

    def set(self, key: str, value: str, at_ms: int, event_id: int) -> None:
        """Hold a value that the event `event_id` wrote at `at_ms`."""
        self.held[key] = Held(value, at_ms, event_id)

    def clear(self, key: str, event_id: int) -> None:
        """Forget a key; a key that is not there is fine."""
        self.held.pop(key, None)
        self.cleared[key] = event_id

    def clear_all(self, event_id: int) -> None:
        """Forget every key."""
        self.cleared.update(dict.fromkeys(self.held, event_id))
        self.held.clear()

    def sizes(self) -> tuple[int, int]:
        """How many keys are alive, and the UTF-8 bytes of the largest value."""
        return len(self.held), max(map(_bytes, self.held.values()), default=0)


def _bytes(held: Held) -> int:
    value = held.value
    return len(value) if value.isascii() else len(value.encode())
