"""`Turn`: everything there is to see of one turn, built from its trace (or from its events alone, without code)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.actions import Signature, describe_signature, signature_of
from workbench.runtime.divergence import Divergence, OutcomeDifference, Read, StrictDifference
from workbench.runtime.limits import Limits
from workbench.runtime.lines import Chain, translate
from workbench.runtime.replayed_turn import STATUS_OF, ending_text
from workbench.runtime.trace import TracedOperation, TracedRead, TracedTurn
from workbench.runtime.turns import RecordedTurn
from workbench.showing import Shown

State = Literal["replayed", "new", "diverged", "refused", "read", "recorded"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation or KV read of a turn.

    `number` counts the operations of its own turn from 1 (None for a read), `turn` is that turn; `signature` says
    what it is (None for a read). `state`: `replayed` equalled its record, `new` was made for the first time,
    `diverged` equalled none, `refused` was thrown away by a limit, `recorded` is known from the history only.
    """

    number: int | None
    turn: int
    state: State
    text: str
    signature: Signature | None = None
    event_id: int | None = None
    chain: Chain = ()
    read: Read | None = None
    local_values: tuple[tuple[str, str], ...] = ()


class Turn(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """One turn: what woke it, what the code did, and the key-value store before and after.

    `replayed` are the operations of earlier turns that this one made again on its way; `snapshot` is what the
    replay was seeded with, `before` and `after` are the tables around the turn. `parked` is where the code waits
    afterwards. `answered` are the schedules that its arrivals are outcomes of. `inferred`: the turn's boundaries
    were told from the history (its writer does not record them).
    """

    _view: ClassVar[str] = "turn"

    instance_id: str
    orchestration: str
    execution_id: int
    number: int
    now_ms: int
    kv_model: kv.KVModel
    limits: Limits
    arrivals: tuple[ev.Event, ...]
    events: tuple[ev.Event, ...]
    operations: tuple[Operation, ...]
    replayed: tuple[Operation, ...]
    snapshot: Mapping[str, kv.Entry]
    before: kv.Tables
    after: kv.Tables
    status: str
    output: str | None = None
    woken_by: ev.Event | None = None
    answered: tuple[ev.Event, ...] = ()
    unhandled: tuple[ev.Event, ...] = ()
    waiting_for: tuple[str, ...] = ()
    parked: Chain = ()
    parked_locals: tuple[tuple[str, str], ...] = ()
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    strict_differences: tuple[StrictDifference, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: str | None = None
    has_code: bool = True
    inferred: bool = False

    @property
    def address(self) -> str:
        """`execution.turn`, e.g. `1.3`."""
        return f"{self.execution_id}.{self.number}"

    @property
    def changed_keys(self) -> tuple[str, ...]:
        """Keys whose value a client reads differently after the turn, in order."""
        before, after = kv.client_view(self.before), kv.client_view(self.after)
        keys = sorted(before.keys() | after.keys())
        return tuple(key for key in keys if _value(before.get(key)) != _value(after.get(key)))


class TurnSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What the turns of one execution have in common: who, which model, and the KV state it started with."""

    instance_id: str
    orchestration: str
    execution_id: int
    kv_model: kv.KVModel
    limits: Limits
    start: Mapping[str, kv.Entry]
    inferred: bool = False


def fold_tables(setting: TurnSetting, turns: Iterable[tuple[Sequence[ev.Event], bool]]) -> list[kv.Tables]:
    """The KV tables before the first turn and after each; a turn is its events and whether it ended the execution."""
    tables = [kv.Tables(setting.start, {})]
    for turn_events, ended in turns:
        tables.append(kv.apply_turn(setting.kv_model, tables[-1], turn_events, ended))
    return tables


def turn_from_trace(
    setting: TurnSetting,
    traced: TracedTurn,
    turn_events: tuple[ev.Event, ...],
    earlier: Sequence[TracedTurn],
    tables: tuple[kv.Tables, kv.Tables],
    snapshot: Mapping[str, kv.Entry],
    history: Sequence[tuple[int, ev.Event]],
) -> Turn:
    """A turn from its trace.

    `turn_events` are its own rows; `earlier` the traced turns replayed on the way to it in the same pass; `tables`
    those before and after; `snapshot` what this pass was seeded with; `history` the (turn, event) rows written
    before this turn, to tell where values came from.
    """
    result = traced.result
    describe = _Steps(setting, snapshot, history)
    return Turn(
        instance_id=setting.instance_id,
        orchestration=setting.orchestration,
        execution_id=setting.execution_id,
        number=result.number,
        now_ms=result.now_ms,
        kv_model=setting.kv_model,
        limits=setting.limits,
        arrivals=result.arrivals,
        events=turn_events,
        operations=describe.operations(traced, refused=result.refused is not None),
        replayed=tuple(each for turn in earlier for each in describe.operations(turn)),
        snapshot=snapshot,
        before=tables[0],
        after=tables[1],
        status=result.status,
        output=result.output,
        woken_by=result.woken_by,
        unhandled=result.unhandled,
        waiting_for=result.waiting_for,
        parked=translate(traced.parked),
        parked_locals=traced.parked_locals,
        divergence=result.divergence,
        outcome_difference=result.outcome_difference,
        strict_differences=result.strict_differences,
        warnings=result.warnings,
        refused=result.refused,
        inferred=setting.inferred,
    )


def turn_from_record(
    setting: TurnSetting,
    recorded: RecordedTurn,
    tables: tuple[kv.Tables, kv.Tables],
    history: Sequence[tuple[int, ev.Event]] = (),
) -> Turn:
    """A turn as the history tells it, without code: no lines, no reads; `history` as for `turn_from_trace`."""
    operations = tuple(
        Operation(
            number=position,
            turn=recorded.number,
            state="recorded",
            text=describe_operation(record.event),
            signature=record.signature,
            event_id=record.event_id,
        )
        for position, record in enumerate(recorded.operations, 1)
    )
    return Turn(
        instance_id=setting.instance_id,
        orchestration=setting.orchestration,
        execution_id=setting.execution_id,
        number=recorded.number,
        now_ms=recorded.started_ms,
        kv_model=setting.kv_model,
        limits=setting.limits,
        arrivals=recorded.arrivals,
        events=recorded.events,
        operations=operations,
        replayed=(),
        snapshot=kv.snapshot(tables[0]),
        before=tables[0],
        after=tables[1],
        status="Running" if recorded.ending is None else STATUS_OF[recorded.ending.type],
        output=None if recorded.ending is None else ending_text(recorded.ending),
        refused="a limit" if recorded.refused else None,
        has_code=False,
        answered=answered_by(recorded.arrivals, history),
        inferred=setting.inferred,
    )


def answered_by(arrivals: Iterable[ev.Event], history: Sequence[tuple[int, ev.Event]]) -> tuple[ev.Event, ...]:
    """The schedules in `history`, (turn, event) rows in the order of their ids, that these arrivals answer."""
    found = []
    for arrival in arrivals:
        source = arrival.source_event_id
        if source is not None:
            position = bisect_left(history, source, key=lambda row: row[1].event_id)
            if position < len(history) and history[position][1].event_id == source:
                found.append(history[position][1])
    return tuple(found)


def describe_operation(event: ev.Event) -> str:
    """A recorded operation in a few words, with what is not part of the match: `timer of 50 ms`."""
    if event.type == ev.TIMER_CREATED:
        return f"timer of {int(event.fire_at_ms or 0) - event.timestamp_ms} ms"
    if event.type == ev.STATUS_UPDATED:
        return "reset custom status" if event.status is None else f'custom status "{event.status}"'
    return describe_signature(signature_of(event))


class _Steps:
    """Turns traced steps into operations, with the provenance of every read."""

    def __init__(
        self, setting: TurnSetting, snapshot: Mapping[str, kv.Entry], history: Sequence[tuple[int, ev.Event]]
    ) -> None:
        self._start = setting.start
        self._snapshot = snapshot
        self._turn_of = {event.event_id: turn for turn, event in history}
        self._history = history

    def operations(self, traced: TracedTurn, refused: bool = False) -> tuple[Operation, ...]:
        """The operations and reads of a traced turn, in the order they were made."""
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
            given, at_start = self._snapshot.get(key), self._start.get(key)
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


def _value(entry: kv.Entry | None) -> str | None:
    return None if entry is None else entry.value


def _content(entry: kv.Entry | None) -> tuple[str | None, int] | None:
    return None if entry is None else (entry.value, entry.last_updated_at_ms)
