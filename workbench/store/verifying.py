"""Recomputing the KV tables from the histories, and naming every row that disagrees, times included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.errors import DamagedHistory
from workbench.runtime.kv import PER_TURN, Entry, KVModel, Table, Tables, apply_turn
from workbench.runtime.messages import ContinueAsNew
from workbench.runtime.provider import History, Provider


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


def verify(provider: Provider, with_keys: Iterable[str] = ()) -> list[Disagreement]:
    """Every row of the KV tables that disagrees with what the stored histories come to; empty when all is well.

    `with_keys` are the instances that have rows in them: one that is not stored must have none. Keys that only a
    pruned execution wrote cannot be recomputed and are not judged.
    """
    instance_ids = dict.fromkeys([*(info.instance_id for info in provider.instances()), *with_keys])
    return [each for instance_id in instance_ids for each in _of_instance(provider, instance_id)]


def _of_instance(provider: Provider, instance_id: str) -> list[Disagreement]:
    try:
        histories = [
            (each.execution_id, provider.read_history(instance_id, each.execution_id), each.status)
            for each in provider.executions(instance_id)
        ]
    except DamagedHistory as error:
        return [Disagreement(instance_id, "history", error.row, None, None, str(error))]
    whole = [number for number, _, _ in histories] == list(range(1, len(histories) + 1))
    recomputed = recompute(provider.kv_model, [(history, status != "Running") for _, history, status in histories])
    if _is_cleared_for_restart(provider, instance_id):
        recomputed, whole = Tables(), True
    stored = provider.get_kv_tables(instance_id)
    running = [history for _, history, status in histories if status == "Running"]
    merged = [history for _, history, status in histories if status != "Running" or provider.kv_model == PER_TURN]
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


def _is_cleared_for_restart(provider: Provider, instance_id: str) -> bool:
    pending = provider.pending_messages(instance_id)
    return any(isinstance(each, ContinueAsNew) and each.restarts and each.clears_kv for each in pending)


def _words(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    value = "a tombstone" if entry.value is None else repr(entry.value)
    return f"{value} of {entry.last_updated_at_ms} ms"
