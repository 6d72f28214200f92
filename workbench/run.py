"""A `Run`: one instance of a workbench, turn by turn."""

from __future__ import annotations

import bdb
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from workbench.desk import Desk, as_first_made
from workbench.recordings.debugging import parted_at
from workbench.recordings.recorded_code import CodeLine, lines_of, operations_of, remember
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.replay import Replay
from workbench.runtime import messages as ms
from workbench.runtime import payload
from workbench.runtime.errors import (
    ActivityNotWaiting,
    InstanceFinished,
    NondeterminismError,
    RuntimeIsRunning,
    UnknownInstance,
)
from workbench.runtime.events import application_error
from workbench.runtime.turn import Turn
from workbench.runtime.turn_result import FINISHED
from workbench.showing import Shown, Steppable, Stepping
from workbench.store import DuckDBProvider

if TYPE_CHECKING:
    import pandas as pd

NONDETERMINISTIC = "nondeterministic: "
"""How the error text of an instance begins whose code left its history."""
NOT_AGAIN = "run again, the code that is registered now follows the whole history: it was changed, or it is impure"
NO_CODE = "its orchestration is not registered here, so where the code left the history cannot be shown"


class Outcome(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """How an instance stands: `status`, decoded `output` or `error` text, and the divergence if there was one."""

    _view: ClassVar[str] = "outcome"

    instance_id: str
    status: str
    output: Any = None
    error: str | None = None
    turns: int = 0
    divergence: str | None = None


class _Stamp(NamedTuple):
    """How many events each execution has, and the code that is registered for them."""

    events: tuple[tuple[int, int], ...]
    code: Callable[..., Any] | None


class Run(Steppable):
    """One instance of a workbench, turn by turn."""

    _view: ClassVar[str] = "run"

    def __init__(self, desk: Desk, instance_id: str) -> None:
        self._desk = desk
        self.instance_id = instance_id
        self._turns: tuple[object, tuple[Turn, ...]] | None = None
        self._last: Turn | None = None
        self._made_by: Callable[..., Any] | None = None
        self._lines: dict[tuple[int, int], CodeLine] = {}
        self._located: tuple[_Stamp | None, Replay] | None = None

    def is_on(self, provider: DuckDBProvider) -> bool:
        """Whether it is an instance of this store."""
        return self._desk.provider is provider

    # Moving it.

    def turn(self) -> Turn:
        """Make exactly one turn, on the calling thread, and return it.

        Runs at most one activity and moves a manual clock when that is what it takes. Raises `InstanceFinished`,
        `InstanceWaiting` (it says which call would move it), `UnknownActivity`, `UnknownOrchestration`.
        """
        if self._desk.is_running():
            raise RuntimeIsRunning
        made = self._desk.single_turn.make(self.instance_id)
        turn = self._last = self._desk.shown(self.instance_id, made)
        if turn.divergence is None:
            self._made_by = made.code.function
            self._lines |= {each.key: each for each in lines_of(turn)}
        return turn

    def finish(self) -> Outcome:
        """Make turns until the instance has ended, and say how.

        Returns also when it diverges. Raises `InstanceWaiting` when it needs a call from outside.
        """
        while self.status not in FINISHED:
            self.turn()
        return self.outcome

    def complete(self, event_id: int, result: object = None) -> None:
        """Give the waiting activity that event `event_id` scheduled a result, without running it.

        Raises `ActivityNotWaiting`, `InstanceFinished`, and `NotJSON` for a result that has no JSON form.
        """
        text = payload.dump(f"the result for event {event_id}", result)
        self._settle(event_id, lambda execution: ms.ActivityCompleted(self.instance_id, execution, event_id, text))

    def fail(self, event_id: int, message: str) -> None:
        """Let the waiting activity that event `event_id` scheduled fail with a message, without running it.

        Raises `ActivityNotWaiting` or `InstanceFinished`.
        """
        details = application_error(payload.storable("the message", message), "ActivityFailed")
        self._settle(event_id, lambda execution: ms.ActivityFailed(self.instance_id, execution, event_id, details))

    def _settle(self, event_id: int, outcome: Callable[[int], ms.Message]) -> None:
        self._check_unfinished()
        pending = self._desk.provider.pending_activities(self.instance_id)
        work = next((each for each in pending if each.id == event_id), None)
        if work is None or not self._desk.activities.settle(self.instance_id, event_id, outcome(work.execution_id)):
            waiting = tuple(f"{each.name}({each.input}) (event {each.id})" for each in pending)
            raise ActivityNotWaiting(self.instance_id, event_id, waiting, is_run=work is not None)

    def raise_event(self, name: str, data: object = None) -> None:
        """Send it an external event. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._desk.client.raise_event(self.instance_id, name, data)

    def enqueue_event(self, queue: str, data: object = None) -> None:
        """Put a message into one of its event queues. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._desk.client.enqueue_event(self.instance_id, queue, data)

    def cancel(self, reason: str | None = None) -> None:
        """Ask it to end; it does with its next turn. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._desk.client.cancel_instance(self.instance_id, reason)

    def _check_unfinished(self) -> None:
        if self.status in FINISHED:
            raise InstanceFinished(self.instance_id, self.status)

    # Looking at it.

    @property
    def orchestration(self) -> str:
        """The name of its orchestration; empty before the first turn."""
        info = self._desk.provider.instance(self.instance_id)
        return "" if info is None else info.orchestration

    @property
    def status(self) -> str:
        """`Pending` before the first turn, then Running, Completed or Failed."""
        status = self._desk.client.get_status(self.instance_id).status
        return "Pending" if status == "NotFound" else status

    @property
    def output(self) -> Any:
        """The decoded result, None unless it completed; raises `NondeterminismError` if it diverged.

        The traceback of that error ends in the orchestration where it diverged, so that `%debug` stands there.
        """
        divergence = self.divergence_text
        if divergence is not None:
            raise NondeterminismError(divergence).with_traceback(self._parted())
        return self._desk.client.get_status(self.instance_id).output

    def _parted(self) -> types.TracebackType | None:
        recording, desk = self.recording(), self._desk
        code, last = desk.code(recording), self.turns[-1]
        if code is None or last.divergence is None:
            return None
        return parted_at(recording, code, desk.provider.kv_model, desk.limits, last)

    @property
    def error(self) -> str | None:
        """The error text as it is stored, None unless it failed."""
        return self._desk.client.get_status(self.instance_id).error

    @property
    def custom_status(self) -> str | None:
        """The custom status that clients see."""
        info = self._desk.provider.instance(self.instance_id)
        return None if info is None else info.custom_status

    @property
    def kv(self) -> dict[str, str]:
        """What a client reads now: all keys, in order."""
        return self._desk.provider.get_all_kv_values(self.instance_id)

    @property
    def outcome(self) -> Outcome:
        """How it stands."""
        result = self._desk.client.get_status(self.instance_id)
        return Outcome(
            instance_id=self.instance_id,
            status=self.status,
            output=result.output,
            error=result.error,
            turns=sum(each.turn_count for each in self._recorded_executions()),
            divergence=self.divergence_text,
        )

    @property
    def divergence_text(self) -> str | None:
        """The whole explanation if it diverged when its last turn was made; None when it did not."""
        error = self.error
        if error is None or not error.startswith(NONDETERMINISTIC):
            return None
        made = self._last if self._last is not None and self._last.divergence is not None else self.turns[-1]
        if made.divergence is not None:
            return made.divergence.text()
        return f"{error}\n{NOT_AGAIN if made.has_code else NO_CODE}"

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All its turns, of all executions, run again from its history with the code that is registered now."""
        stamp = self._stamp()
        if stamp is None:
            return ()
        if self._turns is None or self._turns[0] != stamp:
            again = self._desk.replay(self._desk.recording(self.instance_id), stamp.code).turns
            made = [as_first_made(turn) for turn in again]
            last = self._last
            if last is not None and not made[-1].has_code and made[-1].address == last.address:
                made[-1] = last  # nobody can make this turn again, but it was seen
            self._turns = (stamp, tuple(made))
        return self._turns[1]

    def _stamp(self) -> _Stamp | None:
        """What changes when a turn is made, by whomever, or the code is registered anew; None before the first turn."""
        info = self._desk.provider.instance(self.instance_id)
        if info is None:
            return None
        executions = self._desk.provider.executions(self.instance_id)
        return _Stamp(tuple((each.execution_id, each.event_count) for each in executions), self._desk.code(info))

    @property
    def history(self) -> pd.DataFrame:
        """The recorded events of all executions, a row each."""
        from workbench.views import history

        return history.frame(self._desk.recording(self.instance_id))

    def stepping(self) -> Stepping:
        """Its turns, one more on demand, locals from running the history again, and other instances of the store."""
        return Stepping(lambda: self.turns, self.turn, self._with_locals, self._stamp, self._elsewhere)

    def debug(self, turn: int | str, debugger: bdb.Bdb | None = None) -> None:
        """Run its history to a turn and stop in the debugger, with the code that is registered (see `Replay.debug`)."""
        recording = self.recording()
        self._desk.replay(recording, self._desk.code(recording)).debug(turn, debugger)

    def _elsewhere(self, instance_id: str) -> Stepping:
        provider = self._desk.provider
        if not provider.is_known(instance_id):
            raise UnknownInstance(instance_id, provider.known_instances())
        return Run(self._desk, instance_id).stepping()

    def _with_locals(self, address: str) -> Turn:
        stamp = self._stamp()
        if self._located is None or self._located[0] != stamp:
            recording = self.recording()
            again = self._desk.replay(recording, self._desk.code(recording), keep_locals=True)
            self._located = (stamp, again)
        return as_first_made(self._located[1].turn(address))

    def _recorded_executions(self) -> tuple[RecordedExecution, ...]:
        return () if self.status == "Pending" else self._desk.recording(self.instance_id).executions

    def recording(self) -> Recording:
        """Everything recorded of it, as plain data that can be kept as JSON and replayed.

        It remembers the code: the function that made the last turn, and the line of each operation. What was not made
        through this object is looked up by running the registered code again; nothing is remembered where it parts.
        """
        recording = self._desk.recording(self.instance_id)
        code, lines = self._made_by, dict(self._lines)
        if not recording.damage and not operations_of(recording) <= lines.keys():
            stamp = self._stamp()
            turns = () if stamp is None or stamp.code is None else self.turns
            if turns and all(turn.has_code and turn.divergence is None for turn in turns):
                code = code or (None if stamp is None else stamp.code)
                lines = {each.key: each for turn in turns for each in lines_of(turn)} | lines
        if code is None:
            return recording
        return msgspec.structs.replace(recording, code=remember(code, tuple(lines[key] for key in sorted(lines))))
