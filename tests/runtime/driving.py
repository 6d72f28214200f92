"""An orchestration driven turn by turn without a store: messages in, events out, and a history that grows.

Every turn is made twice, by an execution that is kept (warm) and by a new one that replays the history first (cold),
and both must come to the same. Then the whole history is replayed, which must find nothing to say. So whatever a test
drives has been seen live, warm, cold and replayed. Code that counts how often it runs is driven with `checked=False`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import UNSET, structs

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime import messages as ms
from workbench.runtime.dialect import WORKBENCH, Dialect
from workbench.runtime.divergence import Divergence
from workbench.runtime.execution import Execution
from workbench.runtime.limits import Limits
from workbench.runtime.provider import History
from workbench.runtime.refusal import refuse
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn, recorded_turns

Code = Callable[..., Any]
START_MS = 1_000
TURN_MS = 1_000
"""Each turn is made this much later than the one before it, unless told."""
_NOT_SHOWN = {"fire_at_ms", "last_updated_at_ms", "version", "carry_forward_events"}


_parked: list[Execution] = []


def close_parked() -> None:
    """Close the warm executions of a test, so that no parked code is left to the garbage collector."""
    while _parked:
        _parked.pop().close()


class Driven:
    """One execution, and its next one after continue-as-new."""

    def __init__(
        self,
        code: Code,
        *,
        instance_id: str = "i",
        execution_id: int = 1,
        kv_model: kv.KVModel = kv.DELTA,
        tables: kv.Tables | None = None,
        dialect: Dialect = WORKBENCH,
        limits: Limits | None = None,
        now_ms: int = START_MS,
        checked: bool = True,
    ) -> None:
        self.code = code
        self.instance_id = instance_id
        self.execution_id = execution_id
        self.kv_model = kv_model
        self.tables = tables or kv.Tables()
        self.snapshot_at_start = kv.snapshot(self.tables)
        self.dialect = dialect
        self.limits = limits or Limits()
        self.now_ms = now_ms
        self.checked = checked
        self.turns: list[tuple[ev.Event, ...]] = []
        self.refused: set[int] = set()
        self.results: list[TurnResult] = []
        self._warm: Execution | None = None
        if checked and kv_model != kv.PER_TURN:
            self._warm = self.execution()
            _parked.append(self._warm)

    # Making turns.

    def start(self, value: object = None, message: ms.Message | None = None) -> TurnResult:
        """The first turn."""
        return self.turn(message or ms.StartOrchestration(self.instance_id, "Flow", json.dumps(value)))

    def turn(self, *messages: ms.Message, at_ms: int | None = None) -> TurnResult:
        """The next turn, made of these messages."""
        self.now_ms = self.now_ms + TURN_MS if at_ms is None else at_ms
        result = self._make_cold(messages)
        if self._warm is not None:
            assert self._warm.advance(self._new(messages), self.now_ms) == result, "warm and cold differ"
        result = refuse(result, self.limits)
        self._keep(result)
        if self.checked and result.divergence is None:
            self._check()
        return result

    def _make_cold(self, messages: Sequence[ms.Message]) -> TurnResult:
        execution = self.execution()
        wanted = len(self.turns) + 1
        with closing(execution):
            for recorded in self.recorded():
                if execution.advance(recorded, being_made=wanted).divergence is not None:
                    execution.number = wanted - 1
                    break
            return execution.advance(self._new(messages), self.now_ms)

    def _new(self, messages: Sequence[ms.Message]) -> NewTurn:
        return NewTurn(tuple(messages), self.events[-1].event_id + 1 if self.turns else 1)

    def _keep(self, result: TurnResult) -> None:
        self.results.append(result)
        if result.events:
            self.turns.append(result.events)
        if result.refused is not None:
            self.refused.add(len(self.turns))
        self.tables = kv.apply_turn(self.kv_model, self.tables, result.events, result.ended)
        if result.ended and self._warm is not None:
            self._warm.close()
            self._warm = None

    def _check(self) -> None:
        if self.kv_model == kv.PER_TURN:
            return
        for replayed in self.replay():
            assert replayed.divergence is None, replayed.divergence
            assert replayed.outcome_difference is None
            assert replayed.strict_differences == ()

    def change_code(self, code: Code) -> None:
        """From the next turn on other code is registered."""
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        self.code = code

    def next_execution(self) -> Driven:
        """The execution that the last turn's continue-as-new begins, its first turn made."""
        [message] = [each for each in self.last.messages if isinstance(each, ms.ContinueAsNew)]
        following = Driven(
            self.code,
            instance_id=self.instance_id,
            execution_id=self.execution_id + 1,
            kv_model=self.kv_model,
            tables=self.tables,
            dialect=self.dialect,
            limits=self.limits,
            now_ms=self.now_ms,
            checked=self.checked,
        )
        following.start(message=message)
        return following

    # Replaying.

    def execution(self, code: Code | None = None, kind: type[Execution] = Execution) -> Execution:
        """A new execution of this history, at its beginning."""
        seed = kv.snapshot(self.tables) if self.kv_model == kv.PER_TURN else self.snapshot_at_start
        recorded = self.recorded()
        return kind(code or self.code, self.instance_id, self.execution_id, recorded, seed, self.dialect)

    def replay(self, code: Code | None = None) -> list[TurnResult]:
        """The recorded turns against code, up to the first divergence."""
        return replay(self.execution(code), self.recorded())

    def divergence(self, code: Code) -> Divergence | None:
        """Where this code leaves the history."""
        return self.replay(code)[-1].divergence

    def recorded(self) -> list[RecordedTurn]:
        """The history as a replay takes it."""
        numbers = tuple(number for number, turn in enumerate(self.turns, 1) for _ in turn)
        texts = tuple(ev.encode_event(event) for event in self.events)
        return recorded_turns(History(tuple(self.events), texts, numbers, frozenset(self.refused)))

    # Looking.

    @property
    def last(self) -> TurnResult:
        """The result of the last turn."""
        return self.results[-1]

    @property
    def events(self) -> list[ev.Event]:
        """The history."""
        return [event for turn in self.turns for event in turn]

    @property
    def output(self) -> Any:
        """What it completed with."""
        assert self.last.status == "Completed", (self.last.status, self.last.output)
        return json.loads(self.last.output or "")

    @property
    def kv(self) -> dict[str, str | None]:
        """What a client reads."""
        return {key: row.value for key, row in kv.client_view(self.tables).items()}

    # Messages for it.

    def completed(self, event_id: int, value: object = None) -> ms.ActivityCompleted:
        """An activity returned."""
        return ms.ActivityCompleted(self.instance_id, self.execution_id, event_id, json.dumps(value))

    def failed(self, event_id: int, text: str = "it broke") -> ms.ActivityFailed:
        """An activity raised."""
        details = ev.application_error(text, "ActivityFailed")
        return ms.ActivityFailed(self.instance_id, self.execution_id, event_id, details)

    def fired(self, event_id: int, at_ms: int = 0) -> ms.TimerFired:
        """A timer is due."""
        return ms.TimerFired(self.instance_id, self.execution_id, event_id, at_ms)

    def child_completed(self, event_id: int, value: object = None) -> ms.SubOrchCompleted:
        """A child completed."""
        return ms.SubOrchCompleted(self.instance_id, self.execution_id, event_id, json.dumps(value))

    def child_failed(self, event_id: int, text: str) -> ms.SubOrchFailed:
        """A child failed."""
        return ms.SubOrchFailed(self.instance_id, self.execution_id, event_id, ev.application_error(text))

    def raised(self, name: str, data: object = None) -> ms.ExternalRaised:
        """An external event."""
        return ms.ExternalRaised(self.instance_id, name, json.dumps(data))

    def queued(self, queue: str, data: object = None) -> ms.QueueMessage:
        """A message for a queue."""
        return ms.QueueMessage(self.instance_id, queue, json.dumps(data))

    def cancel(self, reason: str = "enough") -> ms.CancelInstance:
        """A request to cancel."""
        return ms.CancelInstance(self.instance_id, reason)


def drive(code: Code, value: object = None, **options: Any) -> Driven:
    """An execution whose first turn is made."""
    driven = Driven(code, **options)
    driven.start(value)
    return driven


def replay(execution: Execution, recorded: Iterable[RecordedTurn]) -> list[TurnResult]:
    """The recorded turns against an execution, up to the first divergence; it is closed then."""
    results = []
    with closing(execution):
        for turn in recorded:
            results.append(execution.advance(turn))
            if results[-1].divergence is not None:
                break
    return results


@contextmanager
def closing(execution: Execution) -> Iterator[Execution]:
    """Close it at the end, so that no parked code is left to the garbage collector."""
    try:
        yield execution
    finally:
        execution.close()


def rows(events: Iterable[ev.Event]) -> list[str]:
    """Events in a line each, without times: `3 ActivityCompleted <2> result=5`."""
    return [_row(event) for event in events]


def _row(event: ev.Event) -> str:
    source = "" if event.source_event_id is None else f" <{event.source_event_id}>"
    fields = structs.asdict(event)
    shown = [name for name in list(fields)[7:] if name not in _NOT_SHOWN and fields[name] not in (UNSET, None)]
    return f"{event.event_id} {event.type}{source}" + "".join(f" {name}={fields[name]}" for name in shown)


def new_rows(result: TurnResult) -> list[str]:
    """What a turn wrote after its arrivals."""
    return rows(result.events[len(result.arrivals) :])


def kinds(events: Iterable[ev.Event]) -> list[str]:
    """The types of events."""
    return [event.type for event in events]
