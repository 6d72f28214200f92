"""Recomputing the KV tables from the histories, and naming every row that disagrees, times included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.errors import DamagedHistory
from workbench.runtime.kv import PER_TURN, Entry, KVModel, Table, Tables, apply_turn
from workbench.runtime.provider import History
from workbench.store import queues
from workbench.store.database import Cursor
from workbench.store.histories import read_histories
from workbench.store.kv import KVTables

_AT_ONCE: Final = 500
"""Instances whose histories are held at once."""


class Disagreement(msgspec.Struct, frozen=True):
    """A row of `kv_store` or `kv_delta` that is not what the histories say; None stands for no row.

    With a `reason`, nothing of the instance can be judged: that row of its history cannot be read.
    """

    instance_id: str
    table: str
    key: str
    stored: Entry | None
    recomputed: Entry | None
    reason: str | None = None

    def __str__(self) -> str:
        if self.reason is not None:
            return self.reason
        return (
            f"{self.table} of {self.instance_id!r}, key {self.key!r}: stored {_words(self.stored)}, "
            f"by the history {_words(self.recomputed)}"
        )


def verify(cursor: Cursor, kv: KVTables, kv_model: KVModel) -> list[Disagreement]:
    """Every row of the KV tables that disagrees with what the stored histories come to; empty when all is well.

    An instance that is not stored must have no rows. Keys that only a pruned execution wrote cannot be recomputed and
    are not judged. Statements do not grow with the instances.
    """
    executions = _executions(cursor)
    stored = kv.every_table(cursor)
    cleared = {each.instance for each in queues.pending_restarts(cursor) if each.clears_kv}
    ids = sorted({*executions, *stored})
    found: list[Disagreement] = []
    for start in range(0, len(ids), _AT_ONCE):
        for instance_id, read in _read(
            cursor, {each: executions.get(each, []) for each in ids[start : start + _AT_ONCE]}
        ):
            if isinstance(read, DamagedHistory):
                found.append(Disagreement(instance_id, "history", read.row, None, None, str(read)))
            else:
                tables = stored.get(instance_id, Tables())
                found += _of_instance(kv_model, instance_id, read, tables, instance_id in cleared)
    return found


class _Execution(msgspec.Struct, frozen=True):
    number: int
    is_running: bool
    history: History = History()


def _executions(cursor: Cursor) -> dict[str, list[_Execution]]:
    found: dict[str, list[_Execution]] = {}
    for instance_id, number, is_running in cursor.execute(_EXECUTIONS).fetchall():
        found.setdefault(instance_id, []).append(_Execution(number, is_running))
    return found


def _read(
    cursor: Cursor, executions: Mapping[str, Sequence[_Execution]]
) -> Iterator[tuple[str, list[_Execution] | DamagedHistory]]:
    """The executions of each instance with their histories, or what is wrong with one of them."""
    try:
        keys = [(instance_id, each.number) for instance_id, those in executions.items() for each in those]
        histories = dict(zip(keys, read_histories(cursor, keys), strict=True))
    except DamagedHistory as error:
        if len(executions) == 1:
            yield next(iter(executions)), error
            return
        for instance_id, those in executions.items():  # one of them cannot be read: each by itself
            yield from _read(cursor, {instance_id: those})
        return
    for instance_id, those in executions.items():
        yield (
            instance_id,
            [msgspec.structs.replace(each, history=histories[instance_id, each.number]) for each in those],
        )


def _of_instance(
    kv_model: KVModel, instance_id: str, executions: Sequence[_Execution], stored: Tables, is_cleared: bool
) -> list[Disagreement]:
    """`is_cleared`: it waits for a restart that has emptied its tables."""
    whole = is_cleared or [each.number for each in executions] == list(range(1, len(executions) + 1))
    ended = [(each.history, not each.is_running) for each in executions]
    recomputed = Tables() if is_cleared else recompute(kv_model, ended)
    running = [each.history for each in executions if each.is_running]
    merged = [each.history for each in executions if not each.is_running or kv_model == PER_TURN]
    found: list[Disagreement] = []
    for table, have, want, writers in (
        ("kv_store", stored.store, recomputed.store, merged),
        ("kv_delta", stored.delta, recomputed.delta, running),
    ):
        found += _differences(instance_id, table, have, want, None if whole else _written(writers))
    return found


def recompute(kv_model: KVModel, executions: Sequence[tuple[History, bool]]) -> Tables:
    """The tables after these executions, each a history and whether it has ended."""
    tables = Tables()
    for history, ended in executions:
        tables = apply_turn(kv_model, tables, history.events, ended)
    return tables


def _differences(
    instance_id: str, table: str, stored: Table, recomputed: Table, judged: frozenset[str] | None
) -> list[Disagreement]:
    keys = sorted(stored.keys() | recomputed.keys())
    return [
        Disagreement(instance_id, table, key, stored.get(key), recomputed.get(key))
        for key in keys
        if (judged is None or key in judged) and stored.get(key) != recomputed.get(key)
    ]


def _written(histories: Sequence[History]) -> frozenset[str]:
    """The keys that these histories write; a clear-all says nothing about keys that only a pruned one knew."""
    return frozenset(
        str(event.key) for history in histories for event in history.events if event.type in (ev.KV_SET, ev.KV_CLEARED)
    )


def _words(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    value = "a tombstone" if entry.value is None else repr(entry.value)
    return f"{value} of {entry.last_updated_at_ms} ms"


_EXECUTIONS: Final = """
SELECT instance_id, execution_id, status = 'Running' FROM executions ORDER BY instance_id, execution_id
"""
