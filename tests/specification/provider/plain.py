"""A provider in plain dictionaries that knows nothing of KV: what a store looked like before either specification.

It is small and slow on purpose: the contract in its plainest form, so that the suite is not held by one store only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from workbench.runtime import events as ev
from workbench.runtime.errors import (
    CommitFailed,
    InstanceIsChild,
    InstanceNotFailed,
    InstanceRunning,
    LockLost,
    UnknownInstance,
)
from workbench.runtime.messages import ActivityExecute, ContinueAsNew, Message, StartOrchestration, TimerFired
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

GOING_ON = ("Running", "ContinuedAsNew")


@dataclass
class Waiting:
    """A message or an activity in its queue."""

    id: int
    work: Message
    visible_at_ms: int
    token: str | None = None
    locked_until_ms: int = 0
    attempts: int = 0


@dataclass
class Execution:
    """One execution: its turns, and how it ended."""

    started_at_ms: int
    status: str = "Running"
    output: str | None = None
    completed_at_ms: int | None = None
    turns: list[TurnCommit] = field(default_factory=list)

    @property
    def history(self) -> History:
        """Its events with their turn numbers."""
        rows = [(event, turn.turn) for turn in self.turns for event in turn.events]
        texts = tuple(ev.encode_event(event) for event, _ in rows)
        refused = frozenset(turn.turn for turn in self.turns if turn.refused)
        return History(tuple(event for event, _ in rows), texts, tuple(number for _, number in rows), refused)


@dataclass
class Instance:
    """One instance: the commit of its last turn, and its executions by number."""

    created_at_ms: int
    parent: str | None
    last: TurnCommit
    executions: dict[int, Execution] = field(default_factory=dict)


@dataclass
class Lock:
    """Who has an instance, and until when."""

    token: str
    locked_at_ms: int
    until_ms: int


class PlainProvider(Provider):
    """Instances, queues and locks in memory; no KV at all, so that its answers are the base class's."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._instances: dict[str, Instance] = {}
        self._messages: list[Waiting] = []
        self._activities: list[Waiting] = []
        self._locks: dict[str, Lock] = {}

    # Turns.

    def claim(self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None) -> list[Claim]:
        claims: list[Claim] = []
        for name in dict.fromkeys(each.work.target for each in self._messages):
            visible = [each for each in self._messages if each.work.target == name and each.visible_at_ms <= now_ms]
            wanted = name == instance_id or instance_id is None
            if len(claims) < limit and wanted and self._is_ready(name, visible, now_ms):
                claims.append(self._lock(name, visible, now_ms, lock_ms))
        return claims

    def _is_ready(self, name: str, visible: Sequence[Waiting], now_ms: int) -> bool:
        lock = self._locks.get(name)
        if not visible or (lock is not None and lock.until_ms > now_ms):
            return False
        instance = self._instances.get(name)
        if instance is None:
            return any(isinstance(each.work, StartOrchestration | ContinueAsNew) for each in visible)
        continued = instance.last.status == "ContinuedAsNew"
        return not continued or any(isinstance(each.work, ContinueAsNew) for each in visible)

    def _lock(self, name: str, visible: Sequence[Waiting], now_ms: int, lock_ms: int) -> Claim:
        token = f"token-{next(self._ids)}"
        self._locks[name] = Lock(token, now_ms, now_ms + lock_ms)
        for each in visible:
            each.token = token
            each.attempts += 1
        instance = self._instances.get(name)
        last = None if instance is None else instance.last
        return Claim(
            instance_id=name,
            lock_token=token,
            messages=tuple(each.work for each in visible),
            execution_id=0 if last is None else last.execution_id,
            last_event_id=0 if last is None else last.events[-1].event_id,
            attempt_count=max(each.attempts for each in visible),
            status="Running" if last is None else last.status,
            orchestration=None if last is None else last.orchestration,
            version=None if last is None else last.version,
            continued=last is not None
            and (last.status == "ContinuedAsNew" or (last.status == "Failed" and _restarts(visible))),
        )

    def load(self, claims: Sequence[Claim]) -> list[Loaded]:
        return [
            Loaded(self.read_history(claim.instance_id, 0 if claim.continued else claim.execution_id), {})
            for claim in claims
        ]

    def commit(self, turns: Sequence[TurnCommit]) -> list[TurnCommit]:
        refused: list[TurnCommit] = []
        reasons: dict[str, str] = {}
        for turn in turns:
            name = turn.claim.instance_id
            lock = self._locks.get(name)
            stored = {event.event_id for event in self.read_history(name, turn.execution_id).events}
            if lock is None or lock.token != turn.claim.lock_token or lock.until_ms <= turn.now_ms:
                refused.append(turn)
            elif stored & {event.event_id for event in turn.events}:
                reasons[name] = "an event id is taken"
            else:
                self._write(turn)
        if reasons:
            raise CommitFailed(reasons, tuple(turn.claim.instance_id for turn in refused))
        return refused

    def _write(self, turn: TurnCommit) -> None:
        name = turn.claim.instance_id
        del self._locks[name]
        self._messages = [each for each in self._messages if each.token != turn.claim.lock_token]
        if turn.events:
            instance = self._instances.setdefault(name, Instance(turn.now_ms, turn.parent_instance, turn))
            instance.last = turn
            execution = instance.executions.setdefault(turn.execution_id, Execution(turn.now_ms))
            execution.turns.append(turn)
            if execution.status == "Running" and turn.status != "Running":
                execution.status, execution.output = turn.status, turn.output
                execution.completed_at_ms = turn.now_ms
        self._activities += [Waiting(next(self._ids), work, turn.now_ms) for work in turn.activities]
        cancelled = {(name, turn.execution_id, event_id) for event_id in turn.cancelled_activities}
        self._activities = [each for each in self._activities if _schedule_of(each) not in cancelled]
        self.enqueue(turn.messages, turn.now_ms)

    def abandon(self, claim: Claim, delay_ms: int = 0, keep_attempt: bool = True) -> None:
        lock = self._locks.get(claim.instance_id)
        if lock is None or lock.token != claim.lock_token:
            raise LockLost(claim.instance_id)
        del self._locks[claim.instance_id]
        for each in self._messages:
            if each.token == claim.lock_token:
                each.token = None
                each.attempts -= 0 if keep_attempt else 1
                each.visible_at_ms = lock.locked_at_ms + delay_ms if delay_ms else each.visible_at_ms

    def renew(self, claim: Claim, now_ms: int, lock_ms: int) -> None:
        lock = self._locks.get(claim.instance_id)
        if lock is None or lock.token != claim.lock_token or lock.until_ms <= now_ms:
            raise LockLost(claim.instance_id)
        lock.locked_at_ms, lock.until_ms = now_ms, now_ms + lock_ms

    # Queues.

    def enqueue(self, messages: Sequence[Message], now_ms: int, visible_at_ms: int | None = None) -> None:
        for message in messages:
            due_ms = message.fire_at_ms if isinstance(message, TimerFired) else now_ms
            at_ms = due_ms if visible_at_ms is None else visible_at_ms
            self._messages.append(Waiting(next(self._ids), message, at_ms))

    def claim_activities(
        self, limit: int, now_ms: int, lock_ms: int, instance_id: str | None = None, event_id: int | None = None
    ) -> list[ActivityClaim]:
        claims: list[ActivityClaim] = []
        for each in self._activities:
            assert isinstance(each.work, ActivityExecute)
            visible = each.work.id == event_id if event_id is not None else each.visible_at_ms <= now_ms
            free = visible and each.locked_until_ms <= now_ms
            if free and instance_id in (None, each.work.target) and len(claims) < limit:
                each.token, each.locked_until_ms = f"token-{next(self._ids)}", now_ms + lock_ms
                each.attempts += 1
                claims.append(ActivityClaim(each.id, each.token, each.work, each.attempts))
        return claims

    def complete_activities(self, done: Sequence[tuple[ActivityClaim, Message]], now_ms: int) -> list[ActivityClaim]:
        held = {each.token for each in self._activities if each.locked_until_ms > now_ms}
        ours = [(claim, outcome) for claim, outcome in done if claim.lock_token in held]
        tokens = {claim.lock_token for claim, _ in ours}
        self._activities = [each for each in self._activities if each.token not in tokens]
        self.enqueue([outcome for _, outcome in ours], now_ms)
        return [claim for claim, _ in done if claim.lock_token not in held]

    def abandon_activity(self, claim: ActivityClaim, visible_at_ms: int, keep_attempt: bool = True) -> None:
        for each in self._activities:
            if each.token == claim.lock_token:
                each.token, each.locked_until_ms, each.visible_at_ms = None, 0, visible_at_ms
                each.attempts -= not keep_attempt

    def next_visible_ms(self, instance_id: str | None = None) -> int | None:
        times = [each.visible_at_ms for each in self._messages if instance_id in (None, each.work.target)]
        return min(times, default=None)

    def pending_messages(self, instance_id: str) -> list[Message]:
        return [each.work for each in self._messages if each.work.target == instance_id]

    def pending_activities(self, instance_id: str) -> list[ActivityExecute]:
        works = [each.work for each in self._activities if each.work.target == instance_id]
        return [work for work in works if isinstance(work, ActivityExecute)]

    # Administration.

    def instances(self) -> list[InstanceInfo]:
        return [info for name in self._instances if (info := self.instance(name)) is not None]

    def instance(self, instance_id: str) -> InstanceInfo | None:
        instance = self._instances.get(instance_id)
        if instance is None:
            return None
        last = instance.last
        return InstanceInfo(
            instance_id=instance_id,
            orchestration=last.orchestration,
            version=last.version,
            execution_id=last.execution_id,
            status=instance.executions[last.execution_id].status,
            output=instance.executions[last.execution_id].output,
            custom_status=None,
            custom_status_version=0,
            parent_instance=instance.parent,
            created_at_ms=instance.created_at_ms,
            updated_at_ms=last.now_ms,
        )

    def executions(self, instance_id: str) -> list[ExecutionInfo]:
        instance = self._instances.get(instance_id)
        return [
            ExecutionInfo(
                number,
                each.status,
                each.output,
                each.started_at_ms,
                each.completed_at_ms,
                len(each.history.events),
                each.turns[-1].turn,
            )
            for number, each in (instance.executions.items() if instance is not None else ())
        ]

    def read_history(self, instance_id: str, execution_id: int) -> History:
        instance = self._instances.get(instance_id)
        execution = None if instance is None else instance.executions.get(execution_id)
        return History() if execution is None else execution.history

    def delete_instance(self, instance_id: str, force: bool = False) -> None:
        if instance_id not in self._instances and not self.pending_messages(instance_id):
            raise UnknownInstance(instance_id, tuple(self._instances))
        above = [instance_id]
        while (stored := self._instances.get(above[-1])) is not None and stored.parent in self._instances:
            above.append(stored.parent)
        if len(above) > 1:
            raise InstanceIsChild(instance_id, above[1], above[-1])
        tree = [instance_id]
        for name in tree:
            tree += [child for child, instance in self._instances.items() if instance.parent == name]
        running = tuple(name for name in tree if (info := self.instance(name)) and info.status in GOING_ON)
        if running and not force:
            raise InstanceRunning(instance_id, running)
        self._messages = [each for each in self._messages if each.work.target not in tree]
        self._activities = [each for each in self._activities if each.work.target not in tree]
        for name in tree:
            self._instances.pop(name, None)
            self._locks.pop(name, None)

    def restart(self, message: ContinueAsNew, now_ms: int) -> None:
        info = self.instance(message.instance)
        restarts = _restarts([each for each in self._messages if each.work.target == message.instance])
        if info is None or info.status != "Failed" or restarts:
            raise InstanceNotFailed(message.instance, "about to restart" if restarts else "not failed")
        self.enqueue([message], now_ms)

    def prune_executions(
        self, instance_id: str, keep_last: int | None = None, completed_before_ms: int | None = None
    ) -> tuple[int, ...]:
        instance = self._instances.get(instance_id)
        if instance is None:
            raise UnknownInstance(instance_id, tuple(self._instances))
        kept = list(instance.executions)[-max(keep_last or 1, 1) :]
        pruned = [
            number
            for number, each in instance.executions.items()
            if number not in kept and each.completed_at_ms is not None
            if completed_before_ms is None or each.completed_at_ms < completed_before_ms
        ]
        for number in pruned:
            del instance.executions[number]
        return tuple(pruned)

    def wait(self, seconds: float) -> bool:
        return False

    def close(self) -> None:
        self._instances.clear()


def _restarts(visible: Sequence[Waiting]) -> bool:
    return any(isinstance(each.work, ContinueAsNew) and each.work.restarts for each in visible)


def _schedule_of(waiting: Waiting) -> tuple[str, int, int] | None:
    work = waiting.work
    return (work.instance, work.execution_id, work.id) if isinstance(work, ActivityExecute) else None
