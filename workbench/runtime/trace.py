"""Tracing: the same engine, with every operation and read kept together with the line that made it.

A subclass does it, so that an untraced execution has no test for tracing anywhere (DESIGN §3, "Lines are cheap").
"""

from __future__ import annotations

import sys
import types
from typing import Any, Literal

import msgspec

from workbench.runtime.actions import Action
from workbench.runtime.code import Finished
from workbench.runtime.divergence import Origin
from workbench.runtime.errors import ReplayStopped
from workbench.runtime.execution import Execution
from workbench.runtime.journal import Journal
from workbench.runtime.key_values import FROM_SNAPSHOT, KeyValues
from workbench.runtime.lines import (
    RawChain,
    innermost_frame,
    is_library,
    parked_chain,
    raised_frames,
    running_chain,
    translate,
)
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, Record, RecordedTurn

OperationState = Literal["replayed", "new", "diverged", "refused"]
LOCAL_TEXT_CHARACTERS = 80


class TracedOperation(msgspec.Struct):
    """An operation as it was made: its record (None where it diverged), state, line and locals."""

    action: Action
    record: Record | None
    state: OperationState
    chain: RawChain
    local_values: tuple[tuple[str, str], ...] = ()


class TracedRead(msgspec.Struct):
    """A KV read as it was made; `key` is None for a read of all keys."""

    key: str | None
    value: str | None
    origin: Origin
    event_id: int | None
    at_ms: int | None
    chain: RawChain
    local_values: tuple[tuple[str, str], ...] = ()


class TracedTurn(msgspec.Struct):
    """One advanced turn with its steps, and where the code stands, with its locals there if they were asked for.

    It stands where it is parked; where it raised, when that is how it ended (`raised`).
    """

    result: TurnResult
    steps: list[TracedOperation | TracedRead]
    parked: RawChain
    parked_locals: tuple[tuple[str, str], ...] = ()
    raised: bool = False


class TracedJournal(Journal):
    """A journal that keeps every operation with its line."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.steps: list[TracedOperation | TracedRead] = []
        self.parked: RawChain | None = None
        self.keep_locals = False

    def begin(self, number: int, turn: RecordedTurn | None, now_ms: int, next_event_id: int) -> None:
        """Open a turn."""
        super().begin(number, turn, now_ms, next_event_id)
        self.steps = []

    def chain(self) -> RawChain:
        """The line of the call that is being made, or of the yield where the code is parked."""
        return running_chain() if self.parked is None else self.parked

    def locals_now(self) -> tuple[tuple[str, str], ...]:
        """The caller's locals as text, when they are kept."""
        if not self.keep_locals or self.parked is not None:
            return ()
        frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None and (_is_engine(frame) or is_library(frame.f_code.co_filename)):
            frame = frame.f_back
        return () if frame is None else locals_as_text(frame)

    def match(self, action: Action) -> Record:
        """Match, and keep what was asked for."""
        step = TracedOperation(action, None, "diverged", self.chain(), self.locals_now())
        self.steps.append(step)
        written, differed = len(self.new_events), len(self.strict_differences)
        record = super().match(action)
        for position in range(differed, len(self.strict_differences)):
            placed = msgspec.structs.replace(self.strict_differences[position], chain=translate(step.chain))
            self.strict_differences[position] = placed
        step.record = record
        step.state = "replayed"
        if len(self.new_events) > written:
            step.state = "new" if self.turn is None else "refused"
        return record


class TracedKeyValues(KeyValues):
    """Key-values that keep every read with where its value came from."""

    journal: TracedJournal

    def get(self, key: str) -> str | None:
        """Read, and keep it."""
        held = self.held.get(key)
        origin: Origin = "never set"
        event_id, at_ms = self.cleared.get(key), None
        if held is not None:
            origin = "snapshot" if held.origin == FROM_SNAPSHOT else "set"
            event_id, at_ms = held.origin or None, held.at_ms
        elif event_id is not None:
            origin = "cleared"
        value = None if held is None else held.value
        self._keep(key, value, origin, event_id, at_ms)
        return value

    def keys(self) -> list[str]:
        """Read all keys, and keep it."""
        found = super().keys()
        self._keep(None, ", ".join(found), "set", None, None)
        return found

    def values(self) -> dict[str, str]:
        """Read all values, and keep each."""
        for key in sorted(self.held):
            self.get(key)
        return super().values()

    def _keep(
        self, key: str | None, value: str | None, origin: Origin, event_id: int | None, at_ms: int | None
    ) -> None:
        journal = self.journal
        if journal.state == "live":
            step = TracedRead(key, value, origin, event_id, at_ms, journal.chain(), journal.locals_now())
            journal.steps.append(step)


class TracedExecution(Execution):
    """An execution whose turns can be shown; `keep_locals` also keeps locals as text, which costs more."""

    journal_class = TracedJournal
    key_values_class = TracedKeyValues

    def __init__(self, *arguments: Any, keep_locals: bool = False, **named: Any) -> None:
        super().__init__(*arguments, **named)
        assert isinstance(self.journal, TracedJournal)  # noqa: S101 (for the type checker)
        assert isinstance(self.key_values, TracedKeyValues)  # noqa: S101
        self.traced_journal = self.journal
        self.traced_journal.keep_locals = keep_locals
        self.key_values.journal = self.traced_journal
        self.traced: list[TracedTurn] = []

    def _replay(self, turn: RecordedTurn, being_made: int) -> TurnResult:
        return self._traced(super()._replay(turn, being_made))

    def _make(self, turn: NewTurn, now_ms: int) -> TurnResult:
        return self._traced(super()._make(turn, now_ms))

    def _traced(self, result: TurnResult) -> TurnResult:
        journal = self.traced_journal
        kept: tuple[tuple[str, str], ...] = ()
        if journal.keep_locals and self._code is not None:
            frame = innermost_frame(self._code)
            kept = () if frame is None else locals_as_text(frame)
        parked = journal.parked or ()
        error = None if self.finished is None else self.finished.error
        raised = error is not None and not parked
        if error is not None and raised:
            frames = raised_frames(error)
            parked = tuple((frame.f_code, place) for frame, place in frames)
            own = next((frame for frame, _ in frames if not is_library(frame.f_code.co_filename)), None)
            kept = locals_as_text(own) if journal.keep_locals and own is not None else ()
        self.traced.append(TracedTurn(result, journal.steps, parked, kept, raised and bool(parked)))
        return result

    def _resume(self, failed: bool, value: Any) -> Any:
        journal = self.traced_journal
        journal.parked = None
        try:
            yielded = super()._resume(failed, value)
        except ReplayStopped:
            journal.parked = ()
            raise
        journal.parked = () if isinstance(yielded, Finished) else parked_chain(self._code)
        return yielded


def locals_as_text(frame: types.FrameType) -> tuple[tuple[str, str], ...]:
    """A frame's locals as short texts, in the order of their names; the context is left out."""
    kept = []
    for name, value in sorted(frame.f_locals.items()):
        if type(value).__name__ == "OrchestrationContext" or name.startswith("__"):
            continue
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001 (a repr may raise anything)
            text = f"<no repr: {type(error).__name__}>"
        kept.append((name, text if len(text) <= LOCAL_TEXT_CHARACTERS else text[: LOCAL_TEXT_CHARACTERS - 1] + "…"))
    return tuple(kept)


def _is_engine(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("workbench.runtime")
