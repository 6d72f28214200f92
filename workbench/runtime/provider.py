"""The provider: what the runtime asks of a store, and the plain data that crosses that line.

One class with a body for everything that is optional: a provider without KV answers empty (spec 001, "Rolling
Upgrade Safety"). Instances, executions, turns and event ids count from 1; times are ms since 1970.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import msgspec

from workbench.runtime.errors import NoTurnYet, UnknownInstance
from workbench.runtime.events import Event
from workbench.runtime.kv import Entry, KVModel, Tables
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, Message, StartOrchestration


class Claim(msgspec.Struct, frozen=True):
    """An instance that is locked for its next turn, with everything that was waiting in its queue.

    `execution_id` and `last_event_id` say where its current execution stands in the store (0 and 0 for an instance
    that does not exist yet); `attempt_count` is how often these messages have been claimed, this time included.
    """

    instance_id: str
    lock_token: str
    messages: tuple[Message, ...]
    execution_id: int
    last_event_id: int
    attempt_count: int
    status: str = "Running"
    orchestration: str | None = None
    version: str | None = None
    continued: bool = False
    """The current execution has ended with continue-as-new, so the messages begin the next one."""


class History(msgspec.Struct, frozen=True):
    """One execution's stored history as a replay needs it.

    `turns[i]` is the number of the turn that `events[i]` was made in, `texts[i]` the stored JSON text; `refused`
    holds the numbers of turns that a limit refused.
    """

    events: tuple[Event, ...] = ()
    texts: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    refused: frozenset[int] = frozenset()


class Loaded(msgspec.Struct, frozen=True):
    """What `load` brings for a claim: the history of its execution and the KV snapshot, under the same lock."""

    history: History
    kv_snapshot: Mapping[str, Entry]


class TurnCommit(msgspec.Struct, frozen=True, kw_only=True):
    """One finished turn, to be written whole or not at all.

    `status` is `Running`, `Completed`, `Failed` or `ContinuedAsNew`; `output` the result, the error text or the
    next input. `events` are this turn's history rows, `turn` their turn number; `refused` marks a turn that a limit
    refused. `activities` go to the worker queue, `messages` to the queues of the instances they are addressed to
    (`TimerFired` is visible from its `fire_at_ms`), `cancelled_activities` (schedule ids) leave the worker queue.
    """

    claim: Claim
    execution_id: int
    turn: int
    now_ms: int
    events: tuple[Event, ...]
    status: str
    output: str | None = None
    orchestration: str
    version: str
    parent_instance: str | None = None
    refused: bool = False
    activities: tuple[ActivityExecute, ...] = ()
    messages: tuple[Message, ...] = ()
    cancelled_activities: tuple[int, ...] = ()


class ActivityClaim(msgspec.Struct, frozen=True):
    """An activity that is locked for one worker."""

    id: int
    lock_token: str
    work: ActivityExecute
    attempt_count: int


class InstanceInfo(msgspec.Struct, frozen=True):
    """One row of the instance list; `status` and `output` are those of the current execution."""

    instance_id: str
    orchestration: str
    version: str
    execution_id: int
    status: str
    output: str | None
    custom_status: str | None
    custom_status_version: int
    parent_instance: str | None
    created_at_ms: int
    updated_at_ms: int


class ExecutionInfo(msgspec.Struct, frozen=True):
    """One execution of an instance; `completed_at_ms` is None while it runs."""

    execution_id: int
    status: str
    output: str | None
    started_at_ms: int
    completed_at_ms: int | None
    event_count: int
    turn_count: int


class Provider(ABC):
    """Base class of every store.

    Turns: `claim` locks ready instances, `load` reads them, `commit` writes finished turns, `abandon` gives a claim
    back. Activities: `claim_activities`, `complete_activities`. At most one turn of an instance is in a batch.
    """

    kv_model: KVModel = "delta"

    @abstractmethod
    def claim(self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None) -> list[Claim]:
        """Lock up to `limit` instances that have visible messages, oldest message first.

        `lock_ms` is how long the lock holds. With `instance_id` only that instance. An instance without a row is
        claimed only when its messages begin it; anything else for it stays out of the way and is never returned.
        """

    @abstractmethod
    def load(self, claims: Sequence[Claim]) -> list[Loaded]:
        """History and KV snapshot of each claim's current execution, in the order of the claims.

        Raises `DamagedHistory` for a row that cannot be read.
        """

    @abstractmethod
    def commit(self, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
        """Write many turns in one transaction and release their locks; returns those refused (lost locks).

        On another database error the batch is rolled back and its turns are committed one by one; the error of a
        single turn is raised after the others were written.
        """

    @abstractmethod
    def abandon(self, claim: Claim, delay_ms: int = 0, keep_attempt: bool = True) -> None:
        """Give a claim back, its messages visible after `delay_ms`; raises `LockLost` if it is no longer ours."""

    @abstractmethod
    def renew(self, claim: Claim, now_ms: int, lock_ms: int) -> None:
        """Hold a claim for another `lock_ms` from now; raises `LockLost`."""

    @abstractmethod
    def claim_activities(
        self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None, event_id: int | None = None
    ) -> list[ActivityClaim]:
        """Lock up to `limit` waiting activities, oldest first.

        With `instance_id` only its activities, with `event_id` the one that this event scheduled, also when it is to
        be tried again later only.
        """

    @abstractmethod
    def complete_activities(self, done: Sequence[tuple[ActivityClaim, Message]], now_ms: int) -> list[ActivityClaim]:
        """Remove activities and enqueue their outcomes, atomically; returns the claims that were no longer ours."""

    @abstractmethod
    def abandon_activity(self, claim: ActivityClaim, visible_at_ms: int, keep_attempt: bool = True) -> None:
        """Give an activity back, visible from `visible_at_ms` on; `keep_attempt` says whether this try counts."""

    def abandon_activities(
        self, claims: Sequence[ActivityClaim], visible_at_ms: int, keep_attempt: bool = True
    ) -> None:
        """Give many activities back, as `abandon_activity` does one; a store may do it in one transaction."""
        for claim in claims:
            self.abandon_activity(claim, visible_at_ms, keep_attempt)

    @abstractmethod
    def enqueue(self, messages: Sequence[Message], now_ms: int, visible_at_ms: int | None = None) -> None:
        """Put messages into the queues of the instances they are addressed to."""

    def enqueue_if(self, known: bool, message: Message, now_ms: int) -> bool:
        """Enqueue a message only if its instance is known, or only if it is not; whether it was enqueued.

        A store that threads share looks and writes in one step.
        """
        if self.is_known(message.target) != known:
            return False
        self.enqueue([message], now_ms)
        return True

    @abstractmethod
    def next_visible_ms(self, instance_id: str | None = None) -> int | None:
        """When the earliest message that is not visible yet becomes so; None if there is none."""

    @abstractmethod
    def wait(self, seconds: float) -> bool:
        """Block until something was enqueued or committed by this process, at most `seconds`; whether it was."""

    # Key-value store. A provider that has none answers empty.

    def get_kv_value(self, instance_id: str, key: str) -> str | None:  # noqa: ARG002
        """What a client reads for one key: the merged view; None when absent or cleared."""
        return None

    def get_kv_snapshot(self, instance_id: str) -> dict[str, Entry]:  # noqa: ARG002
        """What the next replay of the instance is seeded with."""
        return {}

    def get_all_kv_values(self, instance_id: str) -> dict[str, str]:  # noqa: ARG002
        """What a client reads for all keys, in key order, without tombstones; one consistent view."""
        return {}

    def get_kv_tables(self, instance_id: str) -> Tables:  # noqa: ARG002
        """Both tables as they are, for showing and verifying."""
        return Tables()

    # Administration.

    @abstractmethod
    def instances(self) -> list[InstanceInfo]:
        """All instances, oldest first."""

    @abstractmethod
    def instance(self, instance_id: str) -> InstanceInfo | None:
        """One instance, or None."""

    def begun(self, instance_id: str) -> InstanceInfo:
        """One instance that has begun; raises `UnknownInstance`, or `NoTurnYet` when it only waits to begin."""
        info = self.instance(instance_id)
        if info is not None:
            return info
        if self.is_known(instance_id):
            raise NoTurnYet(instance_id)
        raise UnknownInstance(instance_id, self.known_instances())

    def is_known(self, instance_id: str) -> bool:
        """Whether an instance has begun, or a message that begins it waits."""
        if self.instance(instance_id) is not None:
            return True
        return any(isinstance(each, StartOrchestration) for each in self.pending_messages(instance_id))

    def known_instances(self) -> tuple[str, ...]:
        """The ids of all instances, oldest first; a store may name those that wait to begin behind them."""
        return tuple(info.instance_id for info in self.instances())

    @abstractmethod
    def executions(self, instance_id: str) -> list[ExecutionInfo]:
        """The executions that are still stored, in order; empty for an unknown instance."""

    @abstractmethod
    def read_history(self, instance_id: str, execution_id: int) -> History:
        """The stored history of one execution; empty when there is none."""

    @abstractmethod
    def pending_messages(self, instance_id: str) -> list[Message]:
        """The messages in an instance's queue, in order, visible or not."""

    @abstractmethod
    def pending_activities(self, instance_id: str) -> list[ActivityExecute]:
        """The activities of an instance that wait for a worker, oldest first."""

    @abstractmethod
    def delete_instance(self, instance_id: str, force: bool = False) -> None:
        """Delete an instance and its descendants with everything they have.

        Raises `UnknownInstance`, `InstanceIsChild` for a sub-orchestration whose parent is stored (the root is what
        can be deleted), and `InstanceRunning` for a running one without `force`.
        """

    @abstractmethod
    def restart(self, message: ContinueAsNew, now_ms: int) -> None:
        """Enqueue the restart of a failed instance, and empty its KV store if the message says so, in one step.

        Raises `InstanceNotFailed`, also when a restart is waiting already.
        """

    @abstractmethod
    def prune_executions(
        self, instance_id: str, keep_last: int | None = None, completed_before_ms: int | None = None
    ) -> tuple[int, ...]:
        """Delete executions that have ended, with their history; returns their numbers.

        The current execution stays, and so do the `keep_last` newest and those that ended at or after
        `completed_before_ms`. In the per-turn model the keys that they were the last to write go too (spec 001),
        in the delta model no key does (spec 000). Raises `UnknownInstance`.
        """

    def close(self) -> None:  # noqa: B027 (without a file there is nothing to do)
        """Release the file; further calls fail."""
