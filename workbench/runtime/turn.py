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
from workbench.runtime.lines import Chain
from workbench.runtime.replayed_turn import STATUS_OF, ending_text
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
    afterwards, or where it `raised` when that is how it ended. `answered` are the schedules that its arrivals are
    outcomes of. `inferred`: the turn's boundaries were told from the history (its writer does not record them).
    `stopped` says where the code was when it had taken too long: then all that is shown is the record.
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
    replayed: Sequence[Operation]
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
    raised: bool = False
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    strict_differences: tuple[StrictDifference, ...] = ()
    warnings: tuple[str, ...] = ()
    refused: str | None = None
    stopped: str | None = None
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


def turn_from_record(
    setting: TurnSetting,
    recorded: RecordedTurn,
    tables: tuple[kv.Tables, kv.Tables],
    history: Sequence[tuple[int, ev.Event]] = (),
) -> Turn:
    """A turn as the history tells it, without code: no lines, no reads. `history` are its (turn, event) rows."""
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
        status=outcome_of(recorded)[0],
        output=outcome_of(recorded)[1],
        refused=outcome_of(recorded)[1] if recorded.refused else None,
        has_code=False,
        answered=answered_by(recorded.arrivals, history),
        inferred=setting.inferred,
    )


def outcome_of(recorded: RecordedTurn) -> tuple[str, str | None]:
    """Status and output after a recorded turn."""
    ending = recorded.last_ending
    if ending is None:
        return "Running", None
    return STATUS_OF[ending.type], ending_text(ending)


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


def _value(entry: kv.Entry | None) -> str | None:
    return None if entry is None else entry.value
