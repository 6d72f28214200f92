"""The dispatcher: claim, advance, hold to the limits, commit. One call makes the turns of a batch, all or none each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workbench.runtime import messages as ms
from workbench.runtime import telemetry
from workbench.runtime.clock import Clock
from workbench.runtime.errors import LockLost
from workbench.runtime.execution import Execution
from workbench.runtime.limits import Limits
from workbench.runtime.provider import Claim, Loaded, Provider, TurnCommit
from workbench.runtime.refusal import refuse
from workbench.runtime.registry import Registered, Registry
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn, recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS, deadline

LOCK_MS = 5_000
FINISHED = frozenset({"Completed", "Failed"})


class MadeTurn(msgspec.Struct, frozen=True):
    """A committed turn: its result, the execution that made it, the record it was made on top of, what was loaded."""

    claim: Claim
    result: TurnResult
    execution: Execution
    recorded: tuple[RecordedTurn, ...]
    loaded: Loaded


class Dispatcher:
    """Makes turns on a store with registered code."""

    def __init__(
        self,
        provider: Provider,
        registry: Registry,
        clock: Clock,
        limits: Limits,
        execution_class: type[Execution] = Execution,
        deadline_ms: int | None = DEADLINE_MS,
    ) -> None:
        self._provider = provider
        self._registry = registry
        self._clock = clock
        self._limits = limits
        self._execution_class = execution_class
        self._deadline_ms = deadline_ms

    def make_turn(self, instance_id: str) -> MadeTurn | None:
        """Make exactly one turn of an instance from what is visible in its queue, and commit it.

        Returns None when nothing was visible, or nothing that is an event (then the messages are gone: they were
        for another execution, or came twice). Raises `UnknownOrchestration` and `DidNotComeBack` with the messages
        left where they are, and `LockLost` when the turn could not be committed; it is made again then.
        """
        now_ms = self._clock.now_ms()
        claims = self._provider.claim(1, now_ms, LOCK_MS, instance_id)
        if not claims:
            return None
        claim = claims[0]
        try:
            return self._make(claim, now_ms)
        except BaseException:
            self._give_back(claim)
            raise

    def _give_back(self, claim: Claim) -> None:
        try:
            self._provider.abandon(claim, 0, keep_attempt=False)
        except LockLost:
            return

    def _make(self, claim: Claim, now_ms: int) -> MadeTurn | None:
        start = _start_message(claim)
        if start is None and (claim.status in FINISHED or claim.execution_id == 0):
            self._consume(claim, now_ms)
            return None
        loaded = self._provider.load([claim])[0]
        recorded = tuple(recorded_turns(loaded.history))
        code = self._code(claim, start, recorded)
        execution_id = claim.execution_id + 1 if start is not None else claim.execution_id
        execution = self._execution_class(code.function, claim.instance_id, execution_id, recorded, loaded.kv_snapshot)
        try:
            with deadline(self._deadline_ms, execution):
                result = self._advance(execution, recorded, claim, start, code.version, now_ms)
        finally:
            with deadline(self._deadline_ms, execution):
                execution.close()
        result = refuse(result, self._limits)
        self._commit(claim, execution_id, result, code)
        if not result.events:
            return None
        telemetry.emit(result, claim.instance_id)
        return MadeTurn(claim, result, execution, recorded, loaded)

    def _advance(
        self,
        execution: Execution,
        recorded: Sequence[RecordedTurn],
        claim: Claim,
        start: ms.Message | None,
        version: str,
        now_ms: int,
    ) -> TurnResult:
        wanted = recorded[-1].number + 1 if recorded else 1
        for turn in recorded:
            if execution.advance(turn, being_made=wanted).divergence is not None:
                execution.number = wanted - 1
                break
        messages = tuple(each for each in claim.messages if each is start or not _begins(each))
        first_id = 1 if start is not None else claim.last_event_id + 1
        return execution.advance(NewTurn(messages, first_id, version), now_ms)

    def _code(self, claim: Claim, start: ms.Message | None, recorded: Sequence[RecordedTurn]) -> Registered:
        if isinstance(start, ms.StartOrchestration | ms.ContinueAsNew):
            return self._registry.orchestration(start.orchestration, start.version)
        started = recorded[0].arrivals[0] if recorded else None
        name = claim.orchestration if started is None else str(started.name)
        version = claim.version if started is None else str(started.version)
        return self._registry.orchestration(name or "", version)

    def _commit(self, claim: Claim, execution_id: int, result: TurnResult, code: Registered) -> None:
        refused = self._provider.commit(
            [
                TurnCommit(
                    claim=claim,
                    execution_id=execution_id,
                    turn=result.number,
                    now_ms=result.now_ms,
                    events=result.events,
                    status=result.status,
                    output=result.output,
                    orchestration=code.name,
                    version=code.version,
                    parent_instance=result.parent_instance,
                    refused=result.refused is not None,
                    activities=result.activities,
                    messages=result.messages,
                    cancelled_activities=result.cancelled_activities,
                )
            ]
        )
        if refused:
            raise LockLost(claim.instance_id)

    def _consume(self, claim: Claim, now_ms: int) -> None:
        """Take away messages that no turn can use: the instance has ended."""
        empty = TurnCommit(
            claim=claim,
            execution_id=claim.execution_id,
            turn=0,
            now_ms=now_ms,
            events=(),
            status=claim.status,
            orchestration=claim.orchestration or "",
            version=claim.version or "",
        )
        self._provider.commit([empty])


def _begins(message: ms.Message) -> bool:
    return isinstance(message, ms.StartOrchestration | ms.ContinueAsNew)


def _start_message(claim: Claim) -> ms.Message | None:
    """The message that begins an execution with this claim; a start for an instance that exists begins nothing."""
    wanted: type[ms.Message] = ms.ContinueAsNew if claim.continued else ms.StartOrchestration
    if not claim.continued and claim.execution_id != 0:
        return None
    return next((message for message in claim.messages if isinstance(message, wanted)), None)
