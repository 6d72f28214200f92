"""Building `Turn`s from traces: one `Pass` through an execution, turn after turn.

In a pass every turn but the last was replayed on the way to it, so all turns of one pass share one list of
operations and each knows how far it reaches: five thousand turns cost five thousand times one, not its square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.actions import describe_signature
from workbench.runtime.divergence import Divergence, Read
from workbench.runtime.lines import translate
from workbench.runtime.operations_before import OperationsBefore, OperationsMade
from workbench.runtime.trace import TracedOperation, TracedRead, TracedTurn
from workbench.runtime.turn import Operation, State, Turn, TurnSetting, answered_by

Row = tuple[int, ev.Event]
"""An event with the number of its turn."""


class Pass:
    """One pass of an execution from the top, seeded with `snapshot`; `history` are the (turn, event) rows there are."""

    def __init__(self, setting: TurnSetting, snapshot: Mapping[str, kv.Entry], history: Sequence[Row]) -> None:
        self._setting = setting
        self._snapshot = snapshot
        self._history = history
        self._turn_of = {event.event_id: turn for turn, event in history}
        self._made = OperationsMade()
        self._traced: list[TracedTurn] = []
        self._last: tuple[Operation, ...] = ()

    def add(self, traced: TracedTurn) -> None:
        """The next turn that was advanced in this pass."""
        self._made.operations.extend(self._last)
        self._last = self._operations(traced)
        self._traced.append(traced)

    def turn(
        self,
        number: int,
        arrivals: tuple[ev.Event, ...],
        events: tuple[ev.Event, ...],
        tables: tuple[kv.Tables, kv.Tables],
        outcome: tuple[str, str | None],
    ) -> Turn:
        """The turn `number` that the pass has come to; if it diverged on the way, the turn shows where.

        `arrivals`, `events` and `outcome` (status, output) are the turn's own, `tables` those before and after it.
        """
        traced = self._traced[-1]
        setting, result = self._setting, traced.result
        on_the_way = result.number != number
        turn = Turn(
            instance_id=setting.instance_id,
            orchestration=setting.orchestration,
            execution_id=setting.execution_id,
            number=number,
            now_ms=arrivals[0].timestamp_ms if on_the_way else result.now_ms,
            kv_model=setting.kv_model,
            limits=setting.limits,
            arrivals=arrivals,
            events=events,
            operations=self._last,
            replayed=OperationsBefore(self._made, len(self._made.operations)),
            snapshot=self._snapshot,
            before=tables[0],
            after=tables[1],
            status=outcome[0],
            output=outcome[1],
            woken_by=arrivals[0] if on_the_way else result.woken_by,
            unhandled=result.unhandled,
            waiting_for=result.waiting_for,
            parked=translate(traced.parked),
            parked_locals=traced.parked_locals,
            raised=traced.raised,
            divergence=result.divergence,
            outcome_difference=result.outcome_difference,
            strict_differences=result.strict_differences,
            warnings=result.warnings,
            refused=result.refused,
            answered=answered_by(arrivals, self._history),
            inferred=setting.inferred,
        )
        if turn.divergence is None:
            return turn
        return msgspec.structs.replace(turn, divergence=_placed(turn, traced, turn.divergence))

    def _operations(self, traced: TracedTurn) -> tuple[Operation, ...]:
        """The operations and reads of a traced turn, in the order they were made, with the provenance of reads."""
        refused = traced.result.refused is not None
        made: list[Operation] = []
        number = 0
        for step in traced.steps:
            if isinstance(step, TracedRead):
                made.append(self._read(step, traced.result.number))
            else:
                number += 1
                made.append(_operation(step, number, traced.result.number, refused))
        return tuple(made)

    def _read(self, step: TracedRead, turn: int) -> Operation:
        key = step.key
        text = (
            f"keys → {step.value}" if key is None else f"get {key} → {'nothing' if step.value is None else step.value}"
        )
        written_by = None
        poisoned = False
        if key is not None and step.origin in ("snapshot", "never set"):
            given, at_start = self._snapshot.get(key), self._setting.start.get(key)
            poisoned = _content(given) != _content(at_start)
            written_by = self._writer(key, given) if poisoned else None
        read = Read(
            key=key or "",
            value=step.value,
            origin=step.origin,
            event_id=step.event_id,
            turn=None if step.event_id is None else self._turn_of.get(step.event_id, turn),
            at_ms=step.at_ms,
            chain=translate(step.chain),
            poisoned=poisoned,
            written_by=written_by,
        )
        return Operation(
            number=None,
            turn=turn,
            state="read",
            text=text,
            chain=read.chain,
            read=read if key is not None else None,
            local_values=step.local_values,
        )

    def _writer(self, key: str, given: kv.Entry | None) -> int | None:
        """The last event of this execution that wrote (or cleared) what the snapshot holds."""
        for _, event in reversed(self._history):
            if given is None and event.type in (ev.KV_ALL_CLEARED, ev.KV_CLEARED):
                if event.type == ev.KV_ALL_CLEARED or event.key == key:
                    return event.event_id
            elif given is not None and event.type == ev.KV_SET and event.key == key:
                same = event.value == given.value and event.last_updated_at_ms == given.last_updated_at_ms
                return event.event_id if same else None
        return None


def _operation(step: TracedOperation, number: int, turn: int, refused: bool) -> Operation:
    state: State = "refused" if refused and step.state == "new" else step.state
    return Operation(
        number=number,
        turn=turn,
        state=state,
        text=_step_text(step),
        signature=step.action.signature,
        event_id=None if step.record is None else step.record.event_id,
        chain=translate(step.chain),
        local_values=step.local_values,
    )


def _step_text(step: TracedOperation) -> str:
    action = step.action
    if action.kind == ev.TIMER_CREATED:
        return f"timer of {action.extra['delay_ms']} ms"
    if action.kind == ev.STATUS_UPDATED:
        status = action.extra["status"]
        return "reset custom status" if status is None else f'custom status "{status}"'
    return describe_signature(action.signature)


def _placed(turn: Turn, traced: TracedTurn, divergence: Divergence) -> Divergence:
    """The divergence with its place in the code and the reads before it."""
    last = traced.steps[-1] if traced.steps else None
    at_call = last if isinstance(last, TracedOperation) and last.state == "diverged" else None
    reads = [each.read for each in (*turn.replayed, *turn.operations) if each.read is not None]
    return msgspec.structs.replace(
        divergence,
        instance_id=turn.instance_id,
        orchestration=turn.orchestration,
        execution_id=turn.execution_id,
        chain=translate(traced.parked if at_call is None else at_call.chain),
        reads=tuple(reads),
        local_values=traced.parked_locals if at_call is None else at_call.local_values,
    )


def _content(entry: kv.Entry | None) -> tuple[str | None, int] | None:
    return None if entry is None else (entry.value, entry.last_updated_at_ms)
