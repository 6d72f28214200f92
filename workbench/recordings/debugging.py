"""Standing in the user's frame: where code left its record, and at the first line of a turn.

No frame is kept beforehand. Who asks has the turn run once more, and the frames are held by nothing but the traceback
that is handed out: let go of that, and they are gone. The code is closed by then as always, so it cannot write.
"""

from __future__ import annotations

import bdb
import contextlib
import pdb  # noqa: T100 (it is what this is for)
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from workbench.recordings.recording import Recording
from workbench.recordings.tracing import exact_turns, setting_of
from workbench.runtime import kv
from workbench.runtime.actions import Action
from workbench.runtime.code import Finished, resume, start_code
from workbench.runtime.dialect import dialect_of
from workbench.runtime.divergence import Kind
from workbench.runtime.errors import DidNotComeBack, NoCodeToDebug
from workbench.runtime.execution import Code, Execution
from workbench.runtime.journal import Journal
from workbench.runtime.limits import Limits
from workbench.runtime.lines import innermost_frame, is_engine, is_library, parked_frames
from workbench.runtime.turn import Turn, fold_tables
from workbench.runtime.turns import Record, RecordedTurn
from workbench.runtime.watchdog import DEADLINE_MS, deadline

_DOORS = (start_code.__code__, resume.__code__)
"""The only two places where the engine calls the orchestration itself."""
SKIPPED = ("workbench.runtime.*", "workbench.recordings.*")
"""What a debugger steps over."""


class Place(NamedTuple):
    """A frame of user code, and where it stood."""

    frame: types.FrameType
    instruction: int
    line: int


def parted_at(
    recording: Recording,
    code: Code,
    kv_model: kv.KVModel,
    limits: Limits,
    turn: Turn,
    deadline_ms: int | None = DEADLINE_MS,
) -> types.TracebackType | None:
    """A traceback through the frames of the code where it leaves the record of `turn`, the innermost last.

    Where all lines up and the code raised instead of returning, it is where it raised. None when the code is not in
    a frame of its own there (it never began), or does otherwise this time.
    """
    execution, turns = _before(HeldExecution, recording, code, kv_model, limits, turn)
    assert isinstance(execution, HeldExecution)  # noqa: S101 (for the type checker)
    with contextlib.suppress(DidNotComeBack), deadline(deadline_ms, execution):
        for each in turns:
            execution.advance(each, being_made=turn.number)
            if execution.diverged:
                break
        execution.close()
    now, then = (
        None if each is None else (each.turn, each.recorded_turn, each.operation)  # its kind is found by `explain`
        for each in (execution.journal.divergence, turn.divergence)
    )
    return _traceback(execution.places) if now == then else None


def stop_in(
    recording: Recording,
    code: Code,
    kv_model: kv.KVModel,
    limits: Limits,
    turn: Turn,
    debugger: bdb.Bdb | None = None,
) -> None:
    """Run the code to `turn` and stop in the debugger at the first line that is resumed in it.

    If it parts from an earlier record on the way there, as it may in the per-turn model, the debugger stops where
    that earlier turn is replayed. Raises `NoCodeToDebug` when the turn runs no code.
    """
    execution, turns = _before(Execution, recording, code, kv_model, limits, turn)
    stop_at = turn.number if turn.divergence is None else turn.divergence.recorded_turn
    stopped = False
    try:
        for each in turns:
            if each.number == stop_at:
                with _stopping(debugger or _debugger(), execution) as stop:
                    execution.advance(each, being_made=turn.number)
                stopped = stop.has_stopped
                break
            execution.advance(each, being_made=turn.number)
    finally:
        execution.close()
    if not stopped:
        raise NoCodeToDebug(f"turn {turn.address} runs no line of the code; it was {turn.status.lower()} without it")


def _before(
    kind: type[Execution], recording: Recording, code: Code, kv_model: kv.KVModel, limits: Limits, turn: Turn
) -> tuple[Execution, Sequence[RecordedTurn]]:
    """A fresh execution seeded as for `turn`, and the recorded turns that lead to it, itself the last."""
    recorded = next(each for each in recording.executions if each.execution_id == turn.execution_id)
    setting = setting_of(recording, recorded, kv_model, limits)
    dialect = dialect_of(recording.writer)
    turns = exact_turns(code, setting, recorded.history, recorded.soft_boundaries, dialect)
    leading = [each for each in turns if each.number <= turn.number]
    tables = fold_tables(setting, [(each.events, each.ending is not None) for each in leading])
    seed = tables[len(leading) - 1] if kv_model == kv.PER_TURN else tables[0]
    whose = (recording.instance_id, recorded.execution_id)
    return kind(code, *whose, turns, kv.snapshot(seed), dialect), leading


# The frames where code left its record.


class HeldJournal(Journal):
    """A journal that notes the frames on the stack when code and record part."""

    places: tuple[Place, ...] = ()

    def diverge(self, kind: Kind, recorded: Record | Any | None, now: Action | None, message: str, **more: Any) -> None:
        """Note the first divergence, and where the code is that made it."""
        if self.divergence is None:
            self.places = _on_the_stack()
        super().diverge(kind, recorded, now, message, **more)


class HeldExecution(Execution):
    """An execution that knows, after a divergence or an error, in which frames of user code it was."""

    journal_class = HeldJournal

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._ended_at: tuple[Place, ...] = ()
        self._parked_at: tuple[Place, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the code was, the outermost frame first: at a call, parked at a `yield`, or where it ended."""
        assert isinstance(self.journal, HeldJournal)  # noqa: S101 (for the type checker)
        return self.journal.places or self._parked_at or self._ended_at

    def _resume(self, failed: bool, value: Any) -> Any:
        outermost = parked_frames(self._code)[:1]
        yielded = super()._resume(failed, value)
        if isinstance(yielded, Finished):
            self._ended_at = tuple(map(_place, outermost)) if yielded.error is None else _raised(yielded.error)
        return yielded

    def close(self) -> None:
        """Close the code; where it was parked is told before."""
        if self.diverged and self._code is not None:
            self._parked_at = tuple(_place(frame) for frame in parked_frames(self._code))
        super().close()


def _place(frame: types.FrameType) -> Place:
    return Place(frame, frame.f_lasti, frame.f_lineno)


def _on_the_stack() -> tuple[Place, ...]:
    """The frames of user code between here and the engine that called it; none when it is not being run."""
    found: list[Place] = []
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 (the only way to see it)
    while frame is not None and frame.f_code not in _DOORS:
        if not _is_machinery(frame):
            found.append(_place(frame))
        frame = frame.f_back
    return () if frame is None else tuple(reversed(found))


def _raised(error: BaseException) -> tuple[Place, ...]:
    found: list[Place] = []
    step = error.__traceback__
    while step is not None:
        if not _is_machinery(step.tb_frame):
            found.append(Place(step.tb_frame, step.tb_lasti, step.tb_lineno))
        step = step.tb_next
    return tuple(found)


def _is_machinery(frame: types.FrameType) -> bool:
    return is_engine(frame.f_code.co_filename) or frame.f_code.co_filename == __file__


def _traceback(places: Sequence[Place]) -> types.TracebackType | None:
    made: types.TracebackType | None = None
    for frame, instruction, line in reversed(places):
        made = types.TracebackType(made, frame, instruction, line)
    return made


# The first line of a turn.


@contextlib.contextmanager
def _stopping(debugger: bdb.Bdb, execution: Execution) -> Iterator[_Stop]:
    """Meanwhile the first line of user code stops in the debugger, which lets go at the end."""
    stop = _Stop(debugger, innermost_frame(execution._code))  # noqa: SLF001 (where it will be resumed)
    before = sys.gettrace()
    sys.settrace(stop)
    try:
        yield stop
    finally:
        sys.settrace(before)


class _Stop:
    """A trace function that waits for user code: for the frame that is parked, or for the first line of a new one."""

    def __init__(self, debugger: bdb.Bdb, parked: types.FrameType | None) -> None:
        self._debugger = debugger
        self._parked = parked
        self.has_stopped = False

    def __call__(self, frame: types.FrameType, event: str, _: object) -> Any:
        """Called by Python for each new or resumed frame."""
        if self._parked is not None:
            return self._hand_over(frame) if frame is self._parked else None
        file = frame.f_code.co_filename
        if event != "call" or _is_machinery(frame) or is_library(file) or file.startswith("<frozen"):
            return None
        return self._first_line

    def _first_line(self, frame: types.FrameType, event: str, _: object) -> Any:
        return self._hand_over(frame) if event == "line" else self._first_line

    def _hand_over(self, frame: types.FrameType) -> Any:
        """From here on the debugger traces, beginning with the line that is about to run."""
        self.has_stopped = True
        debugger = self._debugger
        debugger.reset()
        outermost = frame
        frame.f_trace = debugger.trace_dispatch
        while outermost.f_back is not None and outermost.f_back.f_code not in _DOORS:
            outermost = outermost.f_back
            outermost.f_trace = debugger.trace_dispatch
        debugger.botframe = outermost
        debugger.set_step()
        sys.settrace(debugger.trace_dispatch)
        return debugger.trace_dispatch(frame, "line", None)


def _debugger() -> bdb.Bdb:
    """The notebook's debugger where there is a notebook, else pdb; it steps over the engine."""
    shell: Any = None
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
    made = pdb.Pdb if shell is None else shell.debugger_cls
    debugger: bdb.Bdb = made(skip=SKIPPED)
    return debugger
