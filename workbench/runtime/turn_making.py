"""From a claim to a finished turn: replay what is recorded, make the new turn, hold it to the limits. No store here."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.errors import DamagedHistory
from workbench.runtime.execution import Execution
from workbench.runtime.limits import Limits
from workbench.runtime.provider import Claim, Loaded, TurnCommit
from workbench.runtime.refusal import refuse
from workbench.runtime.registry import Registered, Registry
from workbench.runtime.turn_result import FINISHED, TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn, recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS, deadline


class MadeTurn(msgspec.Struct, frozen=True):
    """A turn ready to be committed: its result, the execution that made it, the record it was made on top of.

    `loaded` is what the store gave (None for a warm execution, which needed nothing); `code` the function that ran.
    """

    claim: Claim
    result: TurnResult
    execution: Execution
    code: Registered
    recorded: tuple[RecordedTurn, ...] = ()
    loaded: Loaded | None = None

    def commit(self) -> TurnCommit:
        """What is to be written."""
        result = self.result
        return TurnCommit(
            claim=self.claim,
            execution_id=result.execution_id,
            turn=result.number,
            now_ms=result.now_ms,
            events=result.events,
            status=result.status,
            output=result.output,
            orchestration=self.code.name,
            version=self.code.version,
            parent_instance=result.parent_instance,
            refused=result.refused is not None,
            activities=result.activities,
            messages=(*result.messages, *rejected_starts(self.claim)),
            cancelled_activities=result.cancelled_activities,
        )


class TurnMaker:
    """Makes turns with registered code."""

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        execution_class: type[Execution] = Execution,
        deadline_ms: int | None = DEADLINE_MS,
    ) -> None:
        self._registry = registry
        self._limits = limits
        self._execution_class = execution_class
        self._deadline_ms = deadline_ms

    def cold(self, claim: Claim, loaded: Loaded, now_ms: int) -> MadeTurn:
        """Make a turn with a new execution: replay the recorded turns from the top, then the new one.

        The execution is left parked when it can go on. Raises `UnknownOrchestration`, `DidNotComeBack`, and
        `DamagedHistory` where the record contradicts itself; the execution is closed then.
        """
        start = start_message(claim)
        recorded = tuple(recorded_turns(loaded.history))
        code = self._code(claim, start, recorded)
        execution_id = claim.execution_id + 1 if start is not None else claim.execution_id
        execution = self._execution_class(code.function, claim.instance_id, execution_id, recorded, loaded.kv_snapshot)
        try:
            with deadline(self._deadline_ms, execution):
                self._replay(execution, recorded)
                result = self._advance(execution, claim, start, code.version, now_ms)
        except BaseException:
            self.close(execution)
            raise
        return MadeTurn(claim, refuse(result, self._limits), execution, code, recorded, loaded)

    def warm(self, claim: Claim, execution: Execution, code: Registered, now_ms: int) -> MadeTurn:
        """Make a turn with an execution that is parked where the store's history ends."""
        try:
            with deadline(self._deadline_ms, execution):
                result = self._advance(execution, claim, None, code.version, now_ms)
        except BaseException:
            self.close(execution)
            raise
        return MadeTurn(claim, refuse(result, self._limits), execution, code)

    def close(self, execution: Execution) -> None:
        """Close the parked code of an execution, within the deadline."""
        with deadline(self._deadline_ms, execution):
            execution.close()

    def _replay(self, execution: Execution, recorded: Sequence[RecordedTurn]) -> None:
        wanted = recorded[-1].number + 1 if recorded else 1
        for turn in recorded:
            divergence = execution.advance(turn, being_made=wanted).divergence
            if divergence is not None and divergence.kind == "broken history":
                row = "its end" if divergence.recorded is None else f"event {divergence.recorded.event_id}"
                raise DamagedHistory(execution.instance_id, execution.execution_id, row, divergence.message)
            if divergence is not None:
                execution.number = wanted - 1
                return

    def _advance(
        self, execution: Execution, claim: Claim, start: ms.Message | None, version: str, now_ms: int
    ) -> TurnResult:
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


def start_message(claim: Claim) -> ms.Message | None:
    """The message that begins an execution with this claim; a start for an instance that exists begins nothing."""
    wanted: type[ms.Message] = ms.ContinueAsNew if claim.continued else ms.StartOrchestration
    if not claim.continued and claim.execution_id != 0:
        return None
    return next((message for message in claim.messages if isinstance(message, wanted)), None)


def is_over(claim: Claim) -> bool:
    """Whether no turn can use these messages: the instance has ended, or was never begun."""
    return start_message(claim) is None and (claim.status in FINISHED or claim.execution_id == 0)


def emptied(claim: Claim, now_ms: int) -> TurnCommit:
    """A commit that only takes the claim's messages away."""
    return TurnCommit(
        claim=claim,
        execution_id=claim.execution_id,
        turn=0,
        now_ms=now_ms,
        events=(),
        status=claim.status,
        orchestration=claim.orchestration or "",
        version=claim.version or "",
        messages=tuple(rejected_starts(claim)),
    )


def rejected_starts(claim: Claim) -> list[ms.Message]:
    """What parents are told whose child could not begin, because its instance id is taken (facts §7.7)."""
    begins = start_message(claim)
    ended = " and is terminal" if claim.status in FINISHED else ""
    text = f"sub-orchestration instance id '{claim.instance_id}' already exists{ended}"
    return [
        ms.SubOrchFailed(
            message.parent_instance, message.parent_execution_id or 1, message.parent_id, ev.application_error(text)
        )
        for message in claim.messages
        if isinstance(message, ms.StartOrchestration) and message is not begins
        if message.parent_instance is not None and message.parent_id is not None
    ]


def _begins(message: ms.Message) -> bool:
    return isinstance(message, ms.StartOrchestration | ms.ContinueAsNew)
