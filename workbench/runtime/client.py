"""The client: starting instances, talking to them, reading what they have become. Names are the SDK's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

from msgspec import UNSET

from workbench.runtime import messages as ms
from workbench.runtime import payload
from workbench.runtime.arguments import decode_kv
from workbench.runtime.client_answers import OrchestrationResult, OrchestrationStats
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.errors import InstanceExists, InstanceFinished, InstanceNotFailed, UnknownInstance
from workbench.runtime.poison import UNKNOWN_VERSION
from workbench.runtime.provider import ExecutionInfo, InstanceInfo, Provider
from workbench.runtime.turn_result import FINISHED

T = TypeVar("T")


class Client:
    """Talks to the instances of a store. Safe to use from any thread; nothing it reads is recorded."""

    def __init__(self, provider: Provider, clock: Clock | None = None) -> None:
        self._provider = provider
        self._clock = clock or SystemClock()

    # Starting and sending.

    def start_orchestration(self, instance_id: str, name: str, input: object = None) -> None:  # noqa: A002
        """Begin an instance; raises `InstanceExists` when the id is taken."""
        self.start_orchestration_versioned(instance_id, name, input, None)

    def start_orchestration_versioned(
        self,
        instance_id: str,
        name: str,
        input: object,  # noqa: A002
        version: str | None,
    ) -> None:
        """Begin an instance with a given version of its orchestration (None: the latest)."""
        instance_id = payload.storable("an instance id", instance_id)
        name = payload.storable("the name of an orchestration", name)
        version = None if version is None else payload.storable("a version", version)
        text = payload.dump(f"the input of {name!r}", input)
        start = ms.StartOrchestration(instance_id, name, text, version)
        if not self._provider.enqueue_if(False, start, self._clock.now_ms()):
            raise InstanceExists(instance_id)

    def raise_event(self, instance_id: str, event_name: str, data: object = None) -> None:
        """Send an external event; it reaches only a wait that is recorded by then. Raises `UnknownInstance`."""
        instance_id = payload.storable("an instance id", instance_id)
        event_name = payload.storable("an event name", event_name)
        self._send(ms.ExternalRaised(instance_id, event_name, payload.dump(f"the data of {event_name!r}", data)))

    def enqueue_event(self, instance_id: str, queue_name: str, data: object = None) -> None:
        """Put a message into an event queue of an instance; it is kept until taken.

        A continue-as-new carries over as many unread ones as `Limits.carried_messages` allows and logs how many were
        left behind. Raises `UnknownInstance`.
        """
        instance_id = payload.storable("an instance id", instance_id)
        queue_name = payload.storable("a queue name", queue_name)
        self._send(ms.QueueMessage(instance_id, queue_name, payload.dump(f"a message for {queue_name!r}", data)))

    def cancel_instance(self, instance_id: str, reason: str | None = None) -> None:
        """Ask an instance to end; it does with its next turn. Raises `UnknownInstance`."""
        instance_id = payload.storable("an instance id", instance_id)
        self._send(ms.CancelInstance(instance_id, payload.storable("a reason", reason or "")))

    def _send(self, message: ms.Message) -> None:
        if not self._provider.enqueue_if(True, message, self._clock.now_ms()):
            raise UnknownInstance(message.target, self._provider.known_instances())

    # Status.

    def get_status(self, instance_id: str) -> OrchestrationResult:
        """The status of an instance, its output decoded; `NotFound` when there is none."""
        info = self._provider.instance(instance_id)
        if info is None:
            return OrchestrationResult("NotFound")
        status = info.status if info.status in FINISHED else "Running"
        if status == "Failed" and self._restarts(instance_id):
            status = "Running"
        return OrchestrationResult(
            status,
            payload.load(info.output or "null") if status == "Completed" else None,
            info.output if status == "Failed" else None,
            info.custom_status,
            info.custom_status_version,
        )

    def _restarts(self, instance_id: str) -> bool:
        pending = self._provider.pending_messages(instance_id)
        return any(isinstance(each, ms.ContinueAsNew) and each.restarts for each in pending)

    def wait_for_orchestration(self, instance_id: str, timeout_ms: int = 30_000) -> OrchestrationResult:
        """Wait until an instance has ended; raises `TimeoutError` after `timeout_ms`."""
        what = f"instance {instance_id!r} to end"
        return self._wait(what, timeout_ms, lambda: _if(self.get_status(instance_id), _has_ended))

    def wait_for_status_change(
        self, instance_id: str, last_seen_version: int = 0, poll_interval_ms: int = 200, timeout_ms: int = 30_000
    ) -> OrchestrationResult:
        """Wait for a newer custom status, or the end; raises `TimeoutError` after `timeout_ms`."""
        del poll_interval_ms  # waiting here is for a change, not by polling

        def newer(result: OrchestrationResult) -> bool:
            return result.custom_status_version > last_seen_version or _has_ended(result)

        what = f"a new custom status of instance {instance_id!r}"
        return self._wait(what, timeout_ms, lambda: _if(self.get_status(instance_id), newer))

    def _wait(self, what: str, timeout_ms: int, look: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + timeout_ms / 1000
        self._provider.wait(0)  # what changes from here on ends the next wait, also between a look and that wait
        while True:
            found = look()
            if found is not None:
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"waited {timeout_ms} ms for {what}")
            self._provider.wait(min(left, 1.0))

    # Key-value store.

    def get_kv_value(self, instance_id: str, key: str) -> str | None:
        """A key of an instance as it is now; None when key or instance is unknown (spec 001, "Client")."""
        return self._provider.get_kv_value(instance_id, key)

    def get_kv_value_typed(self, instance_id: str, key: str, type: Any = None) -> Any:  # noqa: A002
        """A key decoded from JSON and checked against `type` if given; raises `KVDecodeError`."""
        text = self._provider.get_kv_value(instance_id, key)
        return None if text is None else decode_kv(key, text, type)

    def get_kv_all_values(self, instance_id: str) -> dict[str, str]:
        """All keys of an instance as they are now, in key order."""
        return self._provider.get_all_kv_values(instance_id)

    def wait_for_kv_value(
        self, instance_id: str, key: str, timeout_ms: int = 30_000, changed_from: str | None = None
    ) -> str:
        """Wait until a key is there and is not `changed_from`; an instance that has not begun yet is waited for.

        Raises `InstanceFinished` when the instance has ended and it still is not, `TimeoutError` after `timeout_ms`.
        """
        return self._wait_for_value(instance_id, key, timeout_ms, lambda value: value != changed_from)

    def wait_for_kv_value_typed(
        self,
        instance_id: str,
        key: str,
        timeout_ms: int = 30_000,
        type: Any = None,  # noqa: A002
        changed_from: object = UNSET,
    ) -> Any:
        """`wait_for_kv_value`, decoded and checked against `type` if given; raises `KVDecodeError`.

        `changed_from` is a value, not its text: one that was written with other blanks is no change.
        """
        before = None if changed_from is UNSET else payload.load(payload.dump("changed_from", changed_from))

        def is_new(text: str) -> bool:
            return changed_from is UNSET or payload.load(text) != before

        return decode_kv(key, self._wait_for_value(instance_id, key, timeout_ms, is_new), type)

    def _wait_for_value(self, instance_id: str, key: str, timeout_ms: int, is_new: Callable[[str], bool]) -> str:
        def look() -> str | None:
            status = self.get_status(instance_id).status  # read first: the end may be what sets the key
            value = self._provider.get_kv_value(instance_id, key)
            if value is not None and is_new(value):
                return value
            if status in FINISHED:
                raise InstanceFinished(instance_id, status)
            return None

        return self._wait(f"value {key!r} on instance {instance_id!r}", timeout_ms, look)

    # Administration.

    def list_all_instances(self) -> list[str]:
        """The ids of all instances, oldest first."""
        return [info.instance_id for info in self._provider.instances()]

    def list_instances_by_status(self, status: str) -> list[str]:
        """The ids of the instances whose current execution has this status."""
        return [info.instance_id for info in self._provider.instances() if info.status == status]

    def get_instance_info(self, instance_id: str) -> InstanceInfo:
        """One instance; raises `UnknownInstance`, or `NoTurnYet` when it only waits to begin."""
        return self._provider.begun(payload.storable("an instance id", instance_id))

    def get_orchestration_stats(self, instance_id: str) -> OrchestrationStats | None:
        """How large an instance is: the history of its current execution, and its keys; None when it is unknown."""
        info = self._provider.instance(instance_id)
        if info is None:
            return None
        history = self._provider.read_history(instance_id, info.execution_id)
        values = self._provider.get_all_kv_values(instance_id).values()
        carried = history.events[0].carry_forward_events if history.events else UNSET
        return OrchestrationStats(
            history_event_count=len(history.events),
            history_size_bytes=sum(len(text.encode()) for text in history.texts),
            kv_user_key_count=len(values),
            kv_total_value_bytes=sum(len(value.encode()) for value in values),
            queue_pending_count=0 if carried is UNSET else len(carried),
        )

    def list_executions(self, instance_id: str) -> list[int]:
        """The execution numbers that are stored."""
        return [info.execution_id for info in self._provider.executions(instance_id)]

    def get_execution_info(self, instance_id: str, execution_id: int) -> ExecutionInfo:
        """One execution; raises `UnknownInstance`, or `LookupError` for an unknown number."""
        self.get_instance_info(instance_id)
        for info in self._provider.executions(instance_id):
            if info.execution_id == execution_id:
                return info
        raise LookupError(f"instance {instance_id!r} has no execution {execution_id}")

    def delete_instance(self, instance_id: str, force: bool = False) -> None:
        """Delete an instance and everything below it; a running one only with `force`.

        Raises `UnknownInstance`, `InstanceRunning`, and `InstanceIsChild` for a sub-orchestration.
        """
        self._provider.delete_instance(instance_id, force)

    def delete_instance_bulk(
        self, instance_ids: Sequence[str] | None = None, completed_before_ms: int | None = None, limit: int = 1_000
    ) -> list[str]:
        """Delete ended root instances with everything they have; returns their ids.

        Of `instance_ids` (None: all) those that ended before `completed_before_ms`, at most `limit`, oldest first.
        """
        deleted: list[str] = []
        for info in self._chosen(instance_ids):
            if len(deleted) == limit:
                break
            if info.parent_instance is not None or info.status not in FINISHED:
                continue
            with suppress(UnknownInstance):  # deleted by somebody else meanwhile
                if completed_before_ms is None or self._ended_before(info.instance_id, completed_before_ms):
                    self._provider.delete_instance(info.instance_id)
                    deleted.append(info.instance_id)
        return deleted

    def _ended_before(self, instance_id: str, at_ms: int) -> bool:
        last = self._provider.executions(instance_id)[-1:]
        return any(each.completed_at_ms is not None and each.completed_at_ms < at_ms for each in last)

    def prune_executions_bulk(
        self,
        instance_ids: Sequence[str] | None = None,
        keep_last: int | None = None,
        completed_before_ms: int | None = None,
        limit: int = 1_000,
    ) -> dict[str, tuple[int, ...]]:
        """`prune_executions` for many instances (None: all), at most `limit`; what was pruned of each."""
        return {
            info.instance_id: self._provider.prune_executions(info.instance_id, keep_last, completed_before_ms)
            for info in self._chosen(instance_ids)[:limit]
        }

    def _chosen(self, instance_ids: Sequence[str] | None) -> list[InstanceInfo]:
        wanted = None if instance_ids is None else set(instance_ids)
        return [info for info in self._provider.instances() if wanted is None or info.instance_id in wanted]

    def restart_instance(self, instance_id: str, kv: Literal["keep", "clear"] = "keep") -> None:
        """Give a failed instance another execution, with its own start event and the input of the failed one.

        Spec 000 takes for granted that an instance that failed "can be restarted (which creates a new execution with
        a clean state)". *Clean* is read as: the new execution has no history, so nothing of the failed one's is
        replayed. Its KV store is kept as the failed execution left it (`kv="keep"`), as after continue-as-new, or
        emptied (`kv="clear"`). Raises `UnknownInstance`, and `InstanceNotFailed` for one that did not fail or that
        is about to restart, and `DamagedHistory` when the history with its input cannot be read.
        """
        if kv not in ("keep", "clear"):
            raise ValueError(f"kv is 'keep' or 'clear', not {kv!r}")
        info = self.get_instance_info(instance_id)
        if info.status != "Failed":
            raise InstanceNotFailed(instance_id, info.status)
        events = self._provider.read_history(instance_id, info.execution_id).events
        if not events:  # deleted, or restarted by somebody else, since it was looked up
            raise InstanceNotFailed(instance_id, self.get_instance_info(instance_id).status)
        started = events[0]
        message = ms.ContinueAsNew(
            instance_id,
            info.orchestration,
            str(started.input),
            None if info.version == UNKNOWN_VERSION else info.version,
            parent_instance=started.parent_instance or None,
            parent_id=started.parent_id or None,
            parent_execution_id=started.parent_execution_id or None,
            restarts=True,
            clears_kv=kv == "clear",
        )
        self._provider.restart(message, self._clock.now_ms())

    def prune_executions(
        self, instance_id: str, keep_last: int | None = None, completed_before_ms: int | None = None
    ) -> tuple[int, ...]:
        """Delete executions that have ended, with their history; returns their numbers.

        The current one always stays, and so do the `keep_last` newest and those that ended at or after
        `completed_before_ms`. What becomes of their keys depends on the KV model (see `Provider.prune_executions`).
        """
        return self._provider.prune_executions(instance_id, keep_last, completed_before_ms)


def _has_ended(result: OrchestrationResult) -> bool:
    return result.status in FINISHED


def _if(result: OrchestrationResult, wanted: Callable[[OrchestrationResult], bool]) -> OrchestrationResult | None:
    return result if wanted(result) else None
