"""The shape that the SQL of both KV models has, and the choice between them.

What the statements must do is said once, by the pure functions in `workbench.runtime.kv`; a model test holds the two
equal. A turn's events are folded to one row per key before any SQL: `ON CONFLICT` with a key named twice keeps the
first value in DuckDB 2.0.1, without an error. Rows are written with `MERGE`, which has no such silence and costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from workbench.runtime.kv import DELTA, Entry, KVModel, Tables, TurnChange
from workbench.store.database import Cursor
from workbench.store.kv_delta import DeltaTables
from workbench.store.kv_per_turn import PerTurnTable


class KVTables(Protocol):
    """One KV model in SQL; every method runs within the caller's transaction and for many instances at once."""

    def write(self, cursor: Cursor, changes: Sequence[tuple[str, TurnChange]]) -> None:
        """Write what a turn of each instance changed, at most one turn an instance."""

    def end_execution(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """These instances' current executions have ended, in whatever way, after their last `write`."""

    def snapshots(self, cursor: Cursor, instance_ids: Sequence[str]) -> dict[str, dict[str, Entry]]:
        """What the next replay of each instance is seeded with, in key order; every instance has an entry."""
        ...

    def client_value(self, cursor: Cursor, instance_id: str, key: str) -> str | None:
        """What a client reads for one key, in one statement; None when absent or cleared."""

    def client_values(self, cursor: Cursor, instance_id: str) -> dict[str, str]:
        """What a client reads for all keys, in key order, in one statement."""
        ...

    def tables(self, cursor: Cursor, instance_id: str) -> Tables:
        """The tables as they are."""
        ...

    def every_table(self, cursor: Cursor) -> dict[str, Tables]:
        """The tables of every instance that has rows, by its id."""
        ...

    def prune(self, cursor: Cursor, instance_id: str, execution_ids: Sequence[int]) -> None:
        """These executions of the instance are no longer stored."""

    def delete(self, cursor: Cursor, instance_ids: Sequence[str]) -> None:
        """These instances are no longer stored."""


def kv_tables(model: KVModel) -> KVTables:
    """The SQL of a KV model."""
    return DeltaTables() if model == DELTA else PerTurnTable()
