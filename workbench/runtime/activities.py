"""Running activities: what their code may call, the system activities, and what becomes of results and errors."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime import payload
from workbench.runtime.activity_batch import ActivityBatch
from workbench.runtime.activity_returns import ActivityReturns
from workbench.runtime.clock import Clock, ManualClock
from workbench.runtime.code import call_activity, type_and_message
from workbench.runtime.errors import StoreError
from workbench.runtime.interrupts import check, held_back, is_main_thread, only_in_code
from workbench.runtime.poison import poisoned_activity, retry_delay_ms
from workbench.runtime.provider import ActivityClaim, InstanceInfo, Provider
from workbench.runtime.registry import Registry
from workbench.runtime.tasks import GET_KV_VALUE, NEW_GUID, UTC_NOW
from workbench.runtime.telemetry import activity_log

if TYPE_CHECKING:
    from workbench.runtime.client import Client


ACTIVITY_LOCK_MS = 2**53
"""How long a claim holds, ms: as long as this process. A file has one process, and opening it drops all locks."""
WORKER_BATCH = 16
ACTIVITY_BATCH = 1_000
"""How many waiting activities of an instance are looked at for one that can run."""


class ActivityContext:
    """Passed to an activity function as its first argument."""

    def __init__(
        self, work: ms.ActivityExecute, provider: Provider, worker_id: str, make_client: Callable[[], Client]
    ) -> None:
        self.instance_id = work.instance
        self.execution_id = work.execution_id
        self.activity_name = work.name
        self.worker_id = worker_id
        self.session_id = work.session_id
        self._tag = work.tag
        self._id = work.id
        self._provider = provider
        self._make_client = make_client

    @cached_property
    def _instance(self) -> InstanceInfo | None:
        return self._provider.instance(self.instance_id)

    @property
    def orchestration_name(self) -> str:
        """The orchestration that asked for it; empty when it is gone."""
        return "" if self._instance is None else self._instance.orchestration

    @property
    def orchestration_version(self) -> str:
        """The version of that orchestration."""
        return "" if self._instance is None else self._instance.version

    def tag(self) -> str | None:
        """The tag that it was routed by."""
        return self._tag

    def is_cancelled(self) -> bool:
        """Whether its result is no longer wanted: it is no longer in the worker queue."""
        waiting = self._provider.pending_activities(self.instance_id)
        return not any((each.execution_id, each.id) == (self.execution_id, self._id) for each in waiting)

    def get_client(self) -> Client:
        """A client on the same store; what it reads is not recorded."""
        return self._make_client()

    def trace_info(self, message: object) -> None:
        """Log a line."""
        activity_log.info("%s instance_id=%s activity=%s", message, self.instance_id, self.activity_name)

    def trace_warn(self, message: object) -> None:
        """Log a warning."""
        activity_log.warning("%s instance_id=%s activity=%s", message, self.instance_id, self.activity_name)

    def trace_error(self, message: object) -> None:
        """Log an error."""
        activity_log.error("%s instance_id=%s activity=%s", message, self.instance_id, self.activity_name)

    def trace_debug(self, message: object) -> None:
        """Log a debug line."""
        activity_log.debug("%s instance_id=%s activity=%s", message, self.instance_id, self.activity_name)


class ActivityRunner:
    """Runs claimed activities and tells their instances."""

    def __init__(self, provider: Provider, registry: Registry, clock: Clock, make_client: Callable[[], Client]) -> None:
        self._provider = provider
        self._registry = registry
        self._clock = clock
        self._make_client = make_client
        self._returns = ActivityReturns(provider, clock)

    def write_returns(self) -> None:
        """Write what could not be written before; raises what the store raises."""
        self._returns.write()

    def run_one(self, instance_id: str | None = None, worker_id: str = "worker-1") -> bool:
        """Run the oldest waiting activity that has a function (of this instance); whether there was one.

        An interrupt is never recorded as its result: the activity stays where it was, whatever it did about it.
        """
        with only_in_code():
            return self._run_one(instance_id, worker_id)

    def _run_one(self, instance_id: str | None, worker_id: str) -> bool:
        self._returns.write()
        now_ms = self._clock.now_ms()
        claims = self._provider.claim_activities(ACTIVITY_BATCH, now_ms, ACTIVITY_LOCK_MS, instance_id)
        chosen = next((each for each in claims if self._can_run(each.work.name)), None)
        self._returns.give_back([each for each in claims if each is not chosen])
        if chosen is None:
            return False
        self._run(chosen, worker_id)
        return True

    def run_batch(self, max_attempts: int, worker_id: str) -> bool:
        """For a worker: run waiting activities of any instance, oldest first; whether there was one.

        Those that are quick share a claim and a commit. One without a function is tried later, more and more rarely,
        until it fails as poisoned.
        """
        self._returns.write()
        claims = self._provider.claim_activities(WORKER_BATCH, self._clock.now_ms(), ACTIVITY_LOCK_MS)
        with ActivityBatch(self._returns, claims) as batch:
            while (claim := batch.next()) is not None:
                try:
                    outcome = self._try(claim, max_attempts, worker_id)
                except BaseException:
                    self._returns.give_back([claim], retry_delay_ms(claim.attempt_count), keep_attempt=True)
                    raise
                if outcome is not None:
                    batch.settle(claim, outcome)
        return bool(claims)

    def _try(self, claim: ActivityClaim, max_attempts: int, worker_id: str) -> ms.Message | None:
        """The outcome of an activity, or None when it was given back because it has no function."""
        if claim.attempt_count > max_attempts:
            return poisoned_activity(claim, max_attempts)
        if self._can_run(claim.work.name):
            return self._outcome(claim, worker_id)
        activity_log.warning("activity %s has no function; tried again later", claim.work.name)
        self._returns.give_back([claim], retry_delay_ms(claim.attempt_count), keep_attempt=True)
        return None

    def _run(self, claim: ActivityClaim, worker_id: str) -> None:
        try:
            outcome = self._outcome(claim, worker_id)
        except BaseException:
            self._returns.give_back([claim])
            raise
        self._returns.complete([(claim, outcome)])

    def settle(self, instance_id: str, event_id: int, outcome: ms.Message) -> bool:
        """Give a waiting activity an outcome without running it; False if it is not waiting, or a worker runs it.

        One that was tried without a function, and is to be tried again later, is waiting.
        """
        with held_back():
            self._returns.write()
            now_ms = self._clock.now_ms()
            claims = self._provider.claim_activities(1, now_ms, ACTIVITY_LOCK_MS, instance_id, event_id)
            self._returns.complete([(claim, outcome) for claim in claims])
            return bool(claims)

    def _can_run(self, name: str) -> bool:
        return name in _SYSTEM or name in self._registry.activity_names()

    def _outcome(self, claim: ActivityClaim, worker_id: str) -> ms.Message:
        outcome = self._outcome_of(claim.work, worker_id)
        check()  # also when the interrupt was swallowed: DuckDB makes an ordinary error of it
        return outcome

    def _outcome_of(self, work: ms.ActivityExecute, worker_id: str) -> ms.Message:
        system = _SYSTEM.get(work.name)
        try:
            if system is not None:
                return _completed(work, system(self, work))
            function = self._registry.activity(work.name).function
            context = ActivityContext(work, self._provider, worker_id, self._make_client)
            value = call_activity(function, context, payload.load(work.input))
            return _completed(work, payload.dump(f"the result of activity {work.name!r}", value))
        except BaseException as error:  # an activity may raise anything; it is recorded, type and text
            if isinstance(error, KeyboardInterrupt | SystemExit) and is_main_thread():
                raise  # for whoever runs it; in a worker's thread nobody can have asked for it but the activity
            text = f"Activity '{work.name}' call failed: {type_and_message(error)}"
            details = ev.application_error(text, "ActivityFailed")
            return ms.ActivityFailed(work.instance, work.execution_id, work.id, details)

    def _new_guid(self, work: ms.ActivityExecute) -> str:
        if isinstance(self._clock, ManualClock):
            seed = f"{work.instance}/{work.execution_id}/{work.id}"
            return str(uuid.UUID(int=random.Random(seed).getrandbits(128), version=4))  # noqa: S311
        return str(uuid.uuid4())

    def _utc_now(self, work: ms.ActivityExecute) -> str:  # noqa: ARG002
        return str(self._clock.now_ms())

    def _get_kv_value(self, work: ms.ActivityExecute) -> str:
        asked = payload.load(work.input)
        if not isinstance(asked, dict) or not {"instance_id", "key"} <= asked.keys():
            raise ValueError(f"Invalid get_kv_value input: {work.input}")
        try:
            value = self._make_client().get_kv_value(str(asked["instance_id"]), str(asked["key"]))
        except Exception as error:
            raise StoreError(f"Client error: {error}") from error
        return payload.dump("a value", value)


_SYSTEM: dict[str, Callable[[ActivityRunner, ms.ActivityExecute], str]] = {
    NEW_GUID: ActivityRunner._new_guid,  # noqa: SLF001
    UTC_NOW: ActivityRunner._utc_now,  # noqa: SLF001
    GET_KV_VALUE: ActivityRunner._get_kv_value,  # noqa: SLF001
}


def _completed(work: ms.ActivityExecute, result: str) -> ms.ActivityCompleted:
    return ms.ActivityCompleted(work.instance, work.execution_id, work.id, result)
