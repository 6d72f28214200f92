"""Healing what a migration to the delta design finds half-way (DESIGN §4; the specification lets such instances fail).

Under the first design `kv_store` of a running execution already holds what that execution wrote. Its own history says
which keys those are, and the earlier executions' histories say what they held when it began. Where a pruned history
would have to decide, nothing is guessed: the key is named as one that cannot be healed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from workbench.runtime.errors import DamagedHistory
from workbench.runtime.events import Event
from workbench.runtime.kv import Entry, Table, Tables, TurnChange, apply_delta, fold_turn
from workbench.store.database import Cursor, columns
from workbench.store.histories import read_histories

log = logging.getLogger("workbench.store")


class Unhealed(msgspec.Struct, frozen=True):
    """A key that cannot be healed, and why; `key` is None where it stands for keys whose names are not known."""

    instance_id: str
    key: str | None
    reason: str


class Healing(msgspec.Struct, frozen=True):
    """What a migration healed: instances that were mid-execution, and the keys among them that could not be."""

    instances: tuple[str, ...] = ()
    unhealed: tuple[Unhealed, ...] = ()


def healed_tables(
    instance_id: str, histories: Mapping[int, Sequence[Event]], current: int, stored: Table
) -> tuple[Tables, list[Unhealed]]:
    """The two tables of an instance that is mid-execution, from its histories and its one mixed table.

    A row last written by an older execution stays. A key that the running execution touched gets the last write of
    the earlier executions, or none. `histories` are those that are still stored, by execution.
    """
    change = fold_turn(histories[current])
    earlier = {number: fold_turn(events) for number, events in histories.items() if number < current}
    touched = set(change.rows)
    unhealed: list[Unhealed] = []
    if change.cleared_all_at_ms is not None:
        touched.update(stored, *(each.rows for each in earlier.values()))
        if len(earlier) < current - 1:
            reason = f"execution {current} cleared all keys, and histories of earlier executions are pruned"
            unhealed.append(Unhealed(instance_id, None, reason))
    store = {key: row for key, row in stored.items() if key not in touched}
    for key in sorted(touched):
        before, missing = _at_start(key, earlier, current)
        if missing is not None:
            reason = f"execution {current} wrote it, and execution {missing}, which would decide, is pruned"
            unhealed.append(Unhealed(instance_id, key, reason))
            if key in stored:
                store[key] = stored[key]
        elif before is not None:
            store[key] = before
    return Tables(store, apply_delta(Tables(store), change).delta), unhealed


def _at_start(key: str, earlier: Mapping[int, TurnChange], current: int) -> tuple[Entry | None, int | None]:
    """What a key held when execution `current` began; the number of a pruned execution that would have to decide."""
    for number in range(current - 1, 0, -1):
        change = earlier.get(number)
        if change is None:
            return None, number
        row = change.rows.get(key)
        if row is not None:
            return (None if row.value is None else Entry(row.value, row.last_updated_at_ms)), None
        if change.cleared_all_at_ms is not None:
            return None, None
    return None, None


def heal(cursor: Cursor) -> Healing:
    """Heal every instance with a running execution, in the caller's transaction (schema version 3)."""
    healed: list[str] = []
    unhealed: list[Unhealed] = []
    for instance_id, current in cursor.execute(_RUNNING).fetchall():
        executions = [number for (number,) in cursor.execute(_EXECUTIONS, [instance_id]).fetchall()]
        try:
            histories = read_histories(cursor, [(instance_id, number) for number in executions])
        except DamagedHistory as error:
            unhealed.append(Unhealed(instance_id, None, str(error)))
            continue
        stored = {key: Entry(value, at_ms) for key, value, at_ms in cursor.execute(_STORED, [instance_id]).fetchall()}
        by_number = {n: history.events for n, history in zip(executions, histories, strict=True)}
        tables, left = healed_tables(instance_id, by_number, current, stored)
        _write(cursor, instance_id, tables)
        healed.append(instance_id)
        unhealed += left
    for each in unhealed:
        what = "its keys" if each.key is None else f"key {each.key!r}"
        log.warning("instance %s, %s cannot be healed: %s", each.instance_id, what, each.reason)
    return Healing(tuple(healed), tuple(unhealed))


def _write(cursor: Cursor, instance_id: str, tables: Tables) -> None:
    cursor.execute("DELETE FROM kv_store WHERE instance_id = ?", [instance_id])
    for statement, table in ((_INSERT_STORE, tables.store), (_INSERT_DELTA, tables.delta)):
        rows = [(instance_id, key, row.value, row.last_updated_at_ms) for key, row in table.items()]
        if rows:
            cursor.execute(statement, columns(rows))


_RUNNING = """
SELECT instances.instance_id, current_execution_id
FROM instances
JOIN executions ON executions.instance_id = instances.instance_id AND execution_id = current_execution_id
WHERE status = 'Running'
ORDER BY instances.instance_id
"""

_EXECUTIONS = "SELECT execution_id FROM executions WHERE instance_id = ? ORDER BY execution_id"

_STORED = "SELECT key, value, last_updated_at_ms FROM kv_store WHERE instance_id = ?"

_INSERT_STORE = """
INSERT INTO kv_store (instance_id, key, value, last_updated_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[])
"""

_INSERT_DELTA = """
INSERT INTO kv_delta (instance_id, key, value, last_updated_at_ms)
SELECT unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::TEXT[]), unnest(?::BIGINT[])
"""
