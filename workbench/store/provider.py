"""The DuckDB provider: every call of the contract as one transaction over the modules beside this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from workbench.runtime.errors import StoreClosed, StoreError
from workbench.runtime.kv import Entry, KVModel, Tables, check_model
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, Message
from workbench.runtime.provider import (
    ActivityClaim,
    Claim,
    ExecutionInfo,
    History,
    InstanceInfo,
    Loaded,
    Provider,
    TurnCommit,
)
from workbench.store import claiming, committing, deleting, histories, queues
from workbench.store.database import Database
from workbench.store.healing import Healing
from workbench.store.kv import kv_tables
from workbench.store.opening import open_file, open_memory, release
from workbench.store.restarting import check_failed
from workbench.store.verifying import Disagreement, verify

_READS = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}


class DuckDBProvider(Provider):
    """A store in a DuckDB file, or in memory.

    `path` names the file, made if it is not there; `":memory:"` is a store of its own each time. `kv_model` is
    `"delta"` (spec 000) or `"per-turn"` (spec 001): without it a new store is `"delta"` and a file keeps its model.
    A version 1 or 2 file asked for as `"delta"` is migrated, and its instances that are mid-execution are healed from
    their histories (`healing` says which, and what could not be); with `heal=False` they keep what they have, and
    those that read a key before they write it will diverge, as spec 000 says.

    Any thread may call. Opening a path that this process has open shares the store; each provider is closed on its
    own, and the last one releases the file. Raises `NotADatabase`, `NoHistory`, `StoreTooNew`, `StoreModelMismatch`,
    `StoreLocked`, `StoreOpenWithOtherSettings` or `StoreFileGone`.

    >>> provider = DuckDBProvider()
    >>> provider.kv_model, provider.instances()
    ('delta', [])
    >>> provider.close()
    """

    def __init__(self, path: str | Path = ":memory:", kv_model: KVModel | None = None, heal: bool = True) -> None:
        check_model(kv_model)
        self._name = str(path) if str(path) == ":memory:" else Path(path).name
        self._database: Database | None = (
            open_memory(kv_model) if str(path) == ":memory:" else open_file(path, kv_model, heal)
        )
        self.path = self._database.path
        self.kv_model = self._database.kv_model
        self._kv = kv_tables(self.kv_model)

    def __repr__(self) -> str:
        return f"DuckDBProvider({self._name!r}, kv_model={self.kv_model!r})"

    # Turns.

    def claim(self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None) -> list[Claim]:
        """Lock up to `limit` instances that have visible messages, oldest message first."""
        store = self._store
        store.changes.look()
        with store.writing() as cursor:
            return claiming.claim_instances(cursor, limit, now_ms, lock_ms, instance_id)

    def load(self, claims: Sequence[Claim]) -> list[Loaded]:
        """History and KV snapshot for each claim, in their order; no history where the messages begin an execution.

        Raises `DamagedHistory` for a row that cannot be read.
        """
        with self._store.reading() as cursor:
            return histories.load(cursor, self._kv, claims)

    def commit(self, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
        """Write many turns in one transaction and release their locks; returns those refused (lost locks).

        Raises `CommitFailed`, after all others were written, for turns that the database does not take.
        """
        store = self._store
        try:
            return committing.commit(store, self._kv, turns)
        finally:
            store.changes.announce()

    def abandon(self, claim: Claim, delay_ms: int = 0, keep_attempt: bool = True) -> None:
        """Give a claim back, its messages visible `delay_ms` after it was made or last renewed; raises `LockLost`."""
        store = self._store
        with store.writing() as cursor:
            claiming.abandon(cursor, claim, delay_ms, keep_attempt)
        store.changes.announce()

    def renew(self, claim: Claim, now_ms: int, lock_ms: int) -> None:
        """Hold a claim for another `lock_ms` from now; raises `LockLost`."""
        with self._store.writing() as cursor:
            claiming.renew(cursor, claim, now_ms, lock_ms)

    # Queues.

    def claim_activities(
        self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None, event_id: int | None = None
    ) -> list[ActivityClaim]:
        """Lock up to `limit` waiting activities, oldest first; see `Provider.claim_activities`."""
        store = self._store
        store.changes.look()
        with store.writing() as cursor:
            return queues.claim_activities(cursor, limit, now_ms, lock_ms, instance_id, event_id)

    def complete_activities(self, done: Sequence[tuple[ActivityClaim, Message]], now_ms: int) -> list[ActivityClaim]:
        """Remove activities and enqueue their outcomes, atomically; returns the claims that were no longer ours."""
        store = self._store
        with store.writing() as cursor:
            lost = queues.complete_activities(cursor, done, now_ms)
        store.changes.announce()
        return lost

    def abandon_activity(self, claim: ActivityClaim, visible_at_ms: int, keep_attempt: bool = True) -> None:
        """Give an activity back, visible from `visible_at_ms` on; nothing happens when it is no longer ours."""
        self.abandon_activities([claim], visible_at_ms, keep_attempt)

    def abandon_activities(
        self, claims: Sequence[ActivityClaim], visible_at_ms: int, keep_attempt: bool = True
    ) -> None:
        """Give activities back in one transaction; those that are no longer ours are left as they are."""
        store = self._store
        if not claims:
            return
        with store.writing() as cursor:
            queues.abandon_activities(cursor, claims, visible_at_ms, keep_attempt)
        store.changes.announce()

    def enqueue(self, messages: Sequence[Message], now_ms: int, visible_at_ms: int | None = None) -> None:
        """Put messages into the queues of the instances they are addressed to.

        They are visible from `visible_at_ms` on; without it a `TimerFired` from its `fire_at_ms`, others at once.
        """
        store = self._store
        with store.writing() as cursor:
            queues.enqueue(cursor, ((message, now_ms) for message in messages), visible_at_ms)
        store.changes.announce()

    def enqueue_if(self, known: bool, message: Message, now_ms: int) -> bool:
        """Enqueue a message only if its instance is known, or only if it is not, in one transaction; whether it was."""
        store = self._store
        with store.writing() as cursor:
            if histories.is_known(cursor, message.target) != known:
                return False
            queues.enqueue(cursor, [(message, now_ms)])
        store.changes.announce()
        return True

    def next_visible_ms(self, instance_id: str | None = None) -> int | None:
        """The earliest time at which a waiting message can be claimed; None if none ever can as things stand.

        A message of a locked instance counts from the end of that lock.
        """
        with self._store.reading() as cursor:
            return claiming.next_ready_ms(cursor, instance_id)

    def wait(self, seconds: float) -> bool:
        """Block until something was enqueued or committed by this process, at most `seconds`; whether it was.

        Changes since this thread's last claim count, so none is missed between a claim and a wait.
        """
        return self._store.changes.wait(seconds)

    # Key-value store.

    def get_kv_value(self, instance_id: str, key: str) -> str | None:
        """What a client reads for one key: the merged view; None when absent or cleared."""
        with self._store.reading() as cursor:
            return self._kv.client_value(cursor, instance_id, key)

    def get_kv_snapshot(self, instance_id: str) -> dict[str, Entry]:
        """What the next replay of the instance is seeded with."""
        with self._store.reading() as cursor:
            return self._kv.snapshots(cursor, [instance_id])[instance_id]

    def get_all_kv_values(self, instance_id: str) -> dict[str, str]:
        """What a client reads for all keys, in key order, without tombstones; one consistent view."""
        with self._store.reading() as cursor:
            return self._kv.client_values(cursor, instance_id)

    def get_kv_tables(self, instance_id: str) -> Tables:
        """Both tables as they are, in key order."""
        with self._store.reading() as cursor:
            return self._kv.tables(cursor, instance_id)

    # Administration.

    def instances(self) -> list[InstanceInfo]:
        """All instances, oldest first."""
        with self._store.reading() as cursor:
            return histories.instance_infos(cursor)

    def instance(self, instance_id: str) -> InstanceInfo | None:
        """One instance, or None."""
        with self._store.reading() as cursor:
            return histories.instance_info(cursor, instance_id)

    def is_known(self, instance_id: str) -> bool:
        """Whether an instance has begun, or a message that begins it waits."""
        with self._store.reading() as cursor:
            return histories.is_known(cursor, instance_id)

    def known_instances(self) -> tuple[str, ...]:
        """The ids of all instances, oldest first, then of those that wait to begin."""
        with self._store.reading() as cursor:
            return histories.known_ids(cursor)

    def executions(self, instance_id: str) -> list[ExecutionInfo]:
        """The executions that are still stored, in order; empty for an unknown instance."""
        with self._store.reading() as cursor:
            return histories.execution_infos(cursor, instance_id)

    def read_history(self, instance_id: str, execution_id: int) -> History:
        """The stored history of one execution, empty when there is none; raises `DamagedHistory`."""
        with self._store.reading() as cursor:
            return histories.read_histories(cursor, [(instance_id, execution_id)])[0]

    def pending_messages(self, instance_id: str) -> list[Message]:
        """The messages in an instance's queue, in order, visible or not."""
        with self._store.reading() as cursor:
            return queues.pending_messages(cursor, instance_id)

    def pending_activities(self, instance_id: str) -> list[ActivityExecute]:
        """The activities of an instance that wait for a worker, oldest first."""
        with self._store.reading() as cursor:
            return queues.pending_activities(cursor, instance_id)

    def delete_instance(self, instance_id: str, force: bool = False) -> None:
        """Delete an instance and its descendants with everything they have, messages for them included.

        Raises `UnknownInstance`, `InstanceIsChild` for a sub-orchestration, and `InstanceRunning` if one of them has
        turns to come and `force` is not given.
        """
        store = self._store
        with store.writing() as cursor:
            deleting.delete_instance(cursor, self._kv, instance_id, force)
        store.changes.announce()

    def restart(self, message: ContinueAsNew, now_ms: int) -> None:
        """Enqueue the restart of a failed instance, and empty its KV store if the message says so, in one step.

        Raises `InstanceNotFailed`, also when a restart is waiting already.
        """
        store = self._store
        with store.writing() as cursor:
            check_failed(cursor, message.instance)
            if message.clears_kv:
                self._kv.delete(cursor, [message.instance])
            queues.enqueue(cursor, [(message, now_ms)])
        store.changes.announce()

    def prune_executions(
        self, instance_id: str, keep_last: int | None = None, completed_before_ms: int | None = None
    ) -> tuple[int, ...]:
        """Delete ended executions, all but the current one unless told otherwise; returns their numbers.

        `keep_last` keeps that many of the highest numbers, the current one among them; `completed_before_ms` prunes
        only what ended before. In the per-turn model the keys that they were the last to write go with them
        (spec 001), in the delta model none (spec 000). Raises `UnknownInstance`.
        """
        with self._store.writing() as cursor:
            return deleting.prune_executions(cursor, self._kv, instance_id, keep_last, completed_before_ms)

    def latest_ms(self) -> int | None:
        """The largest time (ms) at which anything in the store happened; None when it is empty."""
        with self._store.reading() as cursor:
            return histories.latest_ms(cursor)

    @property
    def healing(self) -> Healing:
        """What the migration healed when this process opened the file."""
        return self._store.healing if isinstance(self._store.healing, Healing) else Healing()

    def verify(self) -> list[Disagreement]:
        """Every row of the KV tables that is not what the histories say, times included; empty when all is well.

        An instance whose history cannot be read is named as such, and the others are judged.
        """
        with self._store.reading() as cursor:
            return verify(cursor, self._kv, self.kv_model)

    def query(
        self, sql: str, parameters: Sequence[object] | Mapping[str, object] = ()
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and rows of one SELECT over the store's tables; nothing can be changed with it.

        Raises `StoreError` for any other statement, and `StatementRefused` with DuckDB's text for a wrong one.
        """
        with self._store.reading() as cursor:
            statements = cursor.extract_statements(sql)
            if len(statements) != 1 or statements[0].type not in _READS:
                raise StoreError("query takes exactly one SELECT; the store is changed through its own calls only")
            cursor.execute(sql, parameters)
            names = [str(column[0]) for column in cursor.description or ()]
            return names, cursor.fetchall()

    def close(self) -> None:
        """Give the store back; the last provider on a file releases it. Further calls raise `StoreClosed`."""
        database, self._database = self._database, None
        if database is not None:
            try:
                release(database)
            except BaseException:
                self._database = database
                raise

    @property
    def _store(self) -> Database:
        if self._database is None:
            raise StoreClosed(self._name)
        return self._database
