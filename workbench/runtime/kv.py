"""The two KV models as pure functions: fold a turn's events, what a replay is seeded with, what a client reads.

`"delta"` (spec 000) keeps two tables: `store` is the state at the last execution boundary, `delta` holds the
running execution's writes, a tombstone being a row without value. `"per-turn"` (spec 001) keeps one table that
every turn writes, with the execution that wrote each key; that is the bug we teach.

The SQL of the same two models is in `workbench.store`; a model test holds them equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from workbench.runtime import events as ev

KVModel = Literal["delta", "per-turn"]
DELTA: KVModel = "delta"
PER_TURN: KVModel = "per-turn"


def check_model(kv_model: object) -> None:
    """Raise `ValueError` for what is no KV model (None: the default one)."""
    if kv_model not in (None, DELTA, PER_TURN):
        raise ValueError(f"kv_model is {DELTA!r} or {PER_TURN!r}, not {kv_model!r}")


class Entry(msgspec.Struct, frozen=True):
    """A stored value (`None` is a tombstone), when it was written (ms), and by which execution.

    `execution_id` is kept by the per-turn model only and is 0 elsewhere.
    """

    value: str | None
    last_updated_at_ms: int
    execution_id: int = 0


Table = Mapping[str, Entry]


class Tables(msgspec.Struct, frozen=True):
    """The KV tables of one instance; in the per-turn model `delta` is always empty."""

    store: Table = {}
    delta: Table = {}


class TurnChange(msgspec.Struct, frozen=True):
    """What a turn's KV events come to: one row per key, and when everything before was cleared (or not)."""

    cleared_all_at_ms: int | None
    rows: Table

    def __bool__(self) -> bool:
        return self.cleared_all_at_ms is not None or bool(self.rows)


def fold_turn(turn_events: Iterable[ev.Event]) -> TurnChange:
    """Fold KV events, in order, to one row per key; events of other kinds are passed over.

    A key set before a clear-all becomes a tombstone row, as it does when the events are applied one by one.
    """
    cleared_all_at_ms: int | None = None
    rows: dict[str, Entry] = {}
    for event in turn_events:
        if event.type == ev.KV_SET:
            at_ms = event.last_updated_at_ms or 0  # a missing time reads as 0
            rows[str(event.key)] = Entry(str(event.value), at_ms, event.execution_id)
        elif event.type == ev.KV_CLEARED:
            rows[str(event.key)] = Entry(None, event.timestamp_ms, event.execution_id)
        elif event.type == ev.KV_ALL_CLEARED:
            cleared_all_at_ms = event.timestamp_ms
            tombstone = Entry(None, event.timestamp_ms, event.execution_id)
            rows = dict.fromkeys(rows, tombstone)
    return TurnChange(cleared_all_at_ms, rows)


def apply_delta(tables: Tables, change: TurnChange) -> Tables:
    """Delta model, every turn: write the running execution's changes to `delta` (spec 000, "Write path")."""
    if not change:
        return tables
    delta = dict(tables.delta)
    if change.cleared_all_at_ms is not None:
        tombstone = Entry(None, change.cleared_all_at_ms)
        delta = dict.fromkeys([*delta, *tables.store], tombstone)
    delta.update((key, Entry(row.value, row.last_updated_at_ms)) for key, row in change.rows.items())
    return Tables(tables.store, delta)


def merge_delta(tables: Tables) -> Tables:
    """Delta model, at every end of an execution: `delta` goes into `store` (spec 000, "execution completion")."""
    if not tables.delta:
        return tables
    store = dict(tables.store)
    for key, row in tables.delta.items():
        if row.value is None:
            store.pop(key, None)
        else:
            store[key] = row
    return Tables(store, {})


def apply_per_turn(tables: Tables, change: TurnChange) -> Tables:
    """Per-turn model, every turn: write straight to the one table, deleting what was cleared (spec 001)."""
    if not change:
        return tables
    store = {} if change.cleared_all_at_ms is not None else dict(tables.store)
    for key, row in change.rows.items():
        if row.value is None:
            store.pop(key, None)
        else:
            store[key] = row
    return Tables(store, {})


def prune_per_turn(tables: Tables, execution_ids: Iterable[int]) -> Tables:
    """Per-turn model: pruning executions removes the keys that they were the last to write (spec 001)."""
    pruned = set(execution_ids)
    return Tables({k: row for k, row in tables.store.items() if row.execution_id not in pruned}, {})


def apply_turn(model: KVModel, tables: Tables, turn_events: Iterable[ev.Event], ended: bool) -> Tables:
    """The tables after a turn with these events; `ended` says whether its execution ended with it.

    A start that cleared the KV store (a restart that asked for it) begins with empty tables.
    """
    turn_events = list(turn_events)
    if turn_events and turn_events[0].type == ev.STARTED and turn_events[0].kv_cleared is True:
        tables = Tables()
    change = fold_turn(turn_events)
    if model == PER_TURN:
        return apply_per_turn(tables, change)
    after = apply_delta(tables, change)
    return merge_delta(after) if ended else after


def snapshot(tables: Tables) -> dict[str, Entry]:
    """What the next replay is seeded with, in key order: `store`, never `delta`.

    In the per-turn model `store` already has what this execution wrote: that is the poisoned snapshot.
    """
    return {key: tables.store[key] for key in sorted(tables.store)}


def client_view(tables: Tables) -> dict[str, Entry]:
    """What a client reads, in key order: `store` overlaid by `delta`, without tombstones."""
    merged = {**tables.store, **tables.delta}
    return {key: merged[key] for key in sorted(merged) if merged[key].value is not None}
