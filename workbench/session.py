"""The notebook's front door: a `Workbench` on a store, and a `Run` for each instance."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, overload

import msgspec

from workbench.recordings.explain import explain
from workbench.recordings.recording import RecordedExecution, Recording, recording_from_provider
from workbench.recordings.replay import replay
from workbench.recordings.tracing import made_turn
from workbench.runtime import kv, payload
from workbench.runtime import messages as ms
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client import Client
from workbench.runtime.clock import MANUAL_START_MS, Clock, ManualClock
from workbench.runtime.dialect import WORKBENCH
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import (
    ActivityNotWaiting,
    InstanceExists,
    InstanceFinished,
    InstanceWaiting,
    NondeterminismError,
    RuntimeIsRunning,
    StoreOpenWithOtherSettings,
    UnknownActivity,
    UnknownInstance,
    UnknownOrchestration,
)
from workbench.runtime.events import application_error
from workbench.runtime.limits import Limits
from workbench.runtime.registry import DEFAULT_VERSION, Registry
from workbench.runtime.runtime import Runtime
from workbench.runtime.single_turn import SingleTurn
from workbench.runtime.trace import TracedExecution
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turn_making import FINISHED, MadeTurn
from workbench.showing import Shown, Steppable, Stepping
from workbench.store import DuckDBProvider

if TYPE_CHECKING:
    import pandas as pd

    from workbench.panels.poisoning import PoisoningPanel

F = TypeVar("F", bound=Callable[..., Any])
IN_MEMORY = ":memory:"
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


class _Shared(msgspec.Struct):
    """What all handles on one file of this process have in common."""

    provider: DuckDBProvider
    registry: Registry
    clock: Clock
    limits: Limits
    handles: int = 0
    runtime: Runtime | None = None


_shared: dict[str, _Shared] = {}
_shared_lock = threading.RLock()


class Workbench:
    """A store with registered code, stepped by hand.

    `path` is a DuckDB file, made when it is not there, or in memory. `kv_model` is `"delta"` (the fix) or
    `"per-turn"` (the bug); without it a new store is `"delta"` and a file keeps its own. `clock` is a `ManualClock`
    unless given, at a fixed start or at the largest time in the file, so that runs are the same every time.

    Opening a file that this process has open gives another handle on the same store and the same registered code;
    other arguments than the first time raise `StoreOpenWithOtherSettings`.

    >>> wb = Workbench()
    >>> @wb.orchestration
    ... def hello(ctx, name):
    ...     return (yield ctx.schedule_activity("Greet", name))
    >>> @wb.activity("Greet")
    ... def greet(ctx, name):
    ...     return f"hello {name}"
    >>> wb.start(hello, "world").finish().output
    'hello world'
    >>> wb.close()
    """

    def __init__(
        self,
        path: str | Path = IN_MEMORY,
        kv_model: kv.KVModel | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._key = IN_MEMORY if str(path) == IN_MEMORY else str(Path(path).resolve())
        self._state = _open(self._key, path, kv_model, limits, clock)
        self._closed = False
        state = self._state
        self.provider = state.provider
        self.registry = state.registry
        self.clock = state.clock
        self.limits = state.limits
        self.client = Client(state.provider, state.clock)
        self._activities = ActivityRunner(state.provider, state.registry, state.clock, lambda: self.client)
        dispatcher = Dispatcher(state.provider, state.registry, state.clock, state.limits, TracedExecution)
        self._single_turn = SingleTurn(state.provider, state.registry, state.clock, dispatcher, self._activities)

    @property
    def runtime(self) -> Runtime:
        """Background workers on this store, code and clock: `wb.runtime.start()`, `wb.runtime.shutdown()`.

        While they run, turns cannot be made by hand. With a `ManualClock`, timers fire when the clock is advanced.
        """
        state = self._state
        if state.runtime is None:
            state.runtime = Runtime(state.provider, None, state.limits, state.clock, state.registry)
        return state.runtime

    @property
    def kv_model(self) -> kv.KVModel:
        """The KV model of the store."""
        return self.provider.kv_model

    # Registering code.

    @overload
    def orchestration(self, name: F) -> F: ...

    @overload
    def orchestration(self, name: str | None = None, version: str = DEFAULT_VERSION) -> Callable[[F], F]: ...

    def orchestration(self, name: Any = None, version: str = DEFAULT_VERSION) -> Any:
        """Register an orchestration: `@wb.orchestration`, or `@wb.orchestration("Name", version="1.0.0")`.

        Running the cell again replaces the function. Raises `RegistrationConflict` when another module has the name.
        """
        if callable(name):
            self.registry.add_orchestration(name.__name__, name)
            return name

        def register(function: F) -> F:
            self.registry.add_orchestration(name or function.__name__, function, version)
            return function

        return register

    @overload
    def activity(self, name: F) -> F: ...

    @overload
    def activity(self, name: str | None = None) -> Callable[[F], F]: ...

    def activity(self, name: Any = None) -> Any:
        """Register an activity: `@wb.activity`, or `@wb.activity("Name")`."""
        if callable(name):
            self.registry.add_activity(name.__name__, name)
            return name

        def register(function: F) -> F:
            self.registry.add_activity(name or function.__name__, function)
            return function

        return register

    # Instances.

    def start(
        self,
        orchestration: str | Callable[..., Any],
        input: object = None,  # noqa: A002
        instance_id: str | None = None,
        version: str | None = None,
        replace: bool = False,
    ) -> Run:
        """Begin an instance of a registered orchestration (its name or its function); no turn is made yet.

        Without `instance_id` it is the name in lower case with the next free number: `counter-1`. Raises
        `UnknownOrchestration`, and `InstanceExists` unless `replace=True`, which deletes the old one first.
        """
        if callable(orchestration):
            registered = self.registry.name_of(orchestration)
            name, version = registered.name, version or registered.version
        else:
            name = orchestration
            self.registry.orchestration(name, version)
        payload.dump(f"the input of {name!r}", input)  # refused before an old instance is deleted
        instance_id = payload.storable("an instance id", instance_id or self._free_id(name.lower()))
        if self._exists(instance_id):
            if not replace:
                raise InstanceExists(instance_id)
            self.provider.delete_instance(instance_id, force=True)
        self.client.start_orchestration_versioned(instance_id, name, input, version)
        return Run(self, instance_id)

    def run(self, instance_id: str) -> Run:
        """The run of an instance that exists. Raises `UnknownInstance`."""
        instance_id = payload.storable("an instance id", instance_id)
        if not self._exists(instance_id):
            _, begun = self.provider.query("SELECT instance_id FROM instances ORDER BY created_at_ms, instance_id")
            _, waiting = self.provider.query(
                "SELECT instance_id FROM orchestrator_queue WHERE kind = 'StartOrchestration' ORDER BY id"
            )
            raise UnknownInstance(instance_id, tuple(dict.fromkeys(str(row[0]) for row in (*begun, *waiting))))
        return Run(self, instance_id)

    def _exists(self, instance_id: str) -> bool:
        if self.provider.instance(instance_id) is not None:
            return True
        return any(isinstance(each, ms.StartOrchestration) for each in self.provider.pending_messages(instance_id))

    def _free_id(self, stem: str) -> str:
        number = 1
        while self._exists(f"{stem}-{number}"):
            number += 1
        return f"{stem}-{number}"

    def poisoning(self, orchestration: Callable[..., Any], input: object = None) -> PoisoningPanel:  # noqa: A002
        """Run an orchestration on both KV models, side by side, with the activities registered here.

        Each model gets a store of its own, in memory; nothing happens in this one. Runs until it ends, diverges or
        waits for a call from outside.
        """
        from workbench.panels.poisoning import PoisoningPanel

        first, fixed = (self._turns_on(model, orchestration, input) for model in (kv.PER_TURN, kv.DELTA))
        return PoisoningPanel(first, fixed)

    def _turns_on(self, kv_model: kv.KVModel, function: Callable[..., Any], input: object) -> tuple[Turn, ...]:  # noqa: A002
        with Workbench(kv_model=kv_model, limits=self.limits) as other:
            for name in self.registry.activity_names():
                other.registry.add_activity(name, self.registry.activity(name).function)
            name = self._name_of(function)
            other.registry.add_orchestration(name, function)
            run = other.start(name, input)
            with contextlib.suppress(InstanceWaiting, UnknownActivity):
                run.finish()
            return run.turns

    def _name_of(self, function: Callable[..., Any]) -> str:
        try:
            return self.registry.name_of(function).name
        except UnknownOrchestration:
            return str(getattr(function, "__name__", "orchestration"))

    @property
    def instances(self) -> pd.DataFrame:
        """All instances of the store, oldest first, as a DataFrame."""
        import pandas as pd

        columns = ["instance_id", "orchestration", "version", "execution_id", "status", "output"]
        rows = [[getattr(info, name) for name in columns] for info in self.provider.instances()]
        return pd.DataFrame(rows, columns=columns)

    def sql(self, query: str) -> pd.DataFrame:
        """A SELECT over the store's own tables, as a DataFrame; nothing can be changed with it."""
        import pandas as pd

        columns, rows = self.provider.query(query)
        return pd.DataFrame(rows, columns=columns)

    def close(self) -> None:
        """Give the store back; the last handle on a file releases it."""
        if self._closed:
            return
        self._closed = True
        with _shared_lock:
            self._state.handles -= 1
            if self._state.handles == 0:
                if self._state.runtime is not None:
                    self._state.runtime.shutdown()
                _shared.pop(self._key, None)
                self._state.provider.close()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = IN_MEMORY if self._key == IN_MEMORY else Path(self._key).name
        return f"Workbench({name!r}, kv_model={self.kv_model!r})"


def _open(
    key: str, path: str | Path, kv_model: kv.KVModel | None, limits: Limits | None, clock: Clock | None
) -> _Shared:
    with _shared_lock:
        state = _shared.get(key) if key != IN_MEMORY else None
        if state is None:
            provider = DuckDBProvider(path, kv_model)
            start_ms = max(MANUAL_START_MS, _largest_time(provider))
            state = _Shared(provider, Registry(), clock or ManualClock(start_ms), limits or Limits())
            if key != IN_MEMORY:
                _shared[key] = state
        else:
            asked = {"kv_model": kv_model, "limits": limits, "clock": clock}
            there = {"kv_model": state.provider.kv_model, "limits": state.limits, "clock": state.clock}
            for name, here in asked.items():
                if here is not None and here != there[name]:
                    raise StoreOpenWithOtherSettings(path, name, there[name], here)
        state.handles += 1
        return state


def _largest_time(provider: DuckDBProvider) -> int:
    _, rows = provider.query(
        "SELECT max(updated_at_ms) FROM instances UNION ALL SELECT max(enqueued_at_ms) FROM orchestrator_queue"
        " UNION ALL SELECT max(enqueued_at_ms) FROM worker_queue"
    )
    return max(int(row[0] or 0) for row in rows)


class Run(Steppable):
    """One instance of a workbench, turn by turn."""

    _view: ClassVar[str] = "run"

    def __init__(self, wb: Workbench, instance_id: str) -> None:
        self._wb = wb
        self.instance_id = instance_id
        self._turns: tuple[object, tuple[Turn, ...]] | None = None
        self._last: Turn | None = None

    # Moving it.

    def turn(self) -> Turn:
        """Make exactly one turn, on the calling thread, and return it.

        Runs at most one activity and moves a manual clock when that is what it takes. Raises `InstanceFinished`,
        `InstanceWaiting` (it says which call would move it), `UnknownActivity`, `UnknownOrchestration`.
        """
        runtime = self._wb._state.runtime  # noqa: SLF001 (one file, one front door)
        if runtime is not None and runtime.is_running:
            raise RuntimeIsRunning
        self._last = self._as_turn(self._wb._single_turn.make(self.instance_id))  # noqa: SLF001
        return self._last

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
        pending = self._wb.provider.pending_activities(self.instance_id)
        work = next((each for each in pending if each.id == event_id), None)
        if work is None:
            waiting = tuple(f"{each.name}({each.input}) (event {each.id})" for each in pending)
            raise ActivityNotWaiting(self.instance_id, event_id, waiting)
        self._wb._activities.settle(self.instance_id, event_id, outcome(work.execution_id))  # noqa: SLF001

    def raise_event(self, name: str, data: object = None) -> None:
        """Send it an external event. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._wb.client.raise_event(self.instance_id, name, data)

    def enqueue_event(self, queue: str, data: object = None) -> None:
        """Put a message into one of its event queues. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._wb.client.enqueue_event(self.instance_id, queue, data)

    def cancel(self, reason: str | None = None) -> None:
        """Ask it to end; it does with its next turn. Raises `InstanceFinished`."""
        self._check_unfinished()
        self._wb.client.cancel_instance(self.instance_id, reason)

    def _check_unfinished(self) -> None:
        if self.status in FINISHED:
            raise InstanceFinished(self.instance_id, self.status)

    # Looking at it.

    @property
    def orchestration(self) -> str:
        """The name of its orchestration; empty before the first turn."""
        info = self._wb.provider.instance(self.instance_id)
        return "" if info is None else info.orchestration

    @property
    def status(self) -> str:
        """`Pending` before the first turn, then Running, Completed or Failed."""
        status = self._wb.client.get_status(self.instance_id).status
        return "Pending" if status == "NotFound" else status

    @property
    def output(self) -> Any:
        """The decoded result, None unless it completed; raises `NondeterminismError` if it diverged."""
        divergence = self.divergence_text
        if divergence is not None:
            raise NondeterminismError(divergence)
        return self._wb.client.get_status(self.instance_id).output

    @property
    def error(self) -> str | None:
        """The error text as it is stored, None unless it failed."""
        return self._wb.client.get_status(self.instance_id).error

    @property
    def custom_status(self) -> str | None:
        """The custom status that clients see."""
        info = self._wb.provider.instance(self.instance_id)
        return None if info is None else info.custom_status

    @property
    def kv(self) -> dict[str, str]:
        """What a client reads now: all keys, in order."""
        return self._wb.provider.get_all_kv_values(self.instance_id)

    @property
    def outcome(self) -> Outcome:
        """How it stands."""
        result = self._wb.client.get_status(self.instance_id)
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
        info = self._wb.provider.instance(self.instance_id)
        if info is None:
            return ()
        recording = self.recording()
        code = self._code(recording)
        stamp = (info.execution_id, recording.event_count, code)
        if self._turns is None or self._turns[0] != stamp:
            again = replay(recording, code, self._wb.kv_model, self._wb.limits).turns
            made = [_as_first_made(turn) for turn in again]
            last = self._last
            if last is not None and not made[-1].has_code and made[-1].address == last.address:
                made[-1] = last  # nobody can make this turn again, but it was seen
            self._turns = (stamp, tuple(made))
        return self._turns[1]

    @property
    def history(self) -> pd.DataFrame:
        """The recorded events of all executions, a row each."""
        from workbench.views import history

        return history.frame(self.recording())

    def stepping(self) -> Stepping:
        """Its turns, one more on demand, and locals from running the history again."""
        return Stepping(lambda: self.turns, self.turn, self._with_locals)

    def _with_locals(self, address: str) -> Turn:
        recording = self.recording()
        code = self._code(recording)
        again = replay(recording, code, self._wb.kv_model, self._wb.limits, keep_locals=True)
        return _as_first_made(again.turn(address))

    def _recorded_executions(self) -> tuple[RecordedExecution, ...]:
        return () if self.status == "Pending" else self.recording().executions

    def recording(self) -> Recording:
        """Everything recorded of it, as plain data that can be kept as JSON and replayed."""
        return recording_from_provider(self._wb.provider, self.instance_id, self._wb.limits)

    def _code(self, recording: Recording) -> Callable[..., Any] | None:
        try:
            return self._wb.registry.orchestration(recording.orchestration, recording.version).function
        except UnknownOrchestration:
            return None

    def _as_turn(self, made: MadeTurn) -> Turn:
        """The turn that was just made, from its own trace, with its divergence explained."""
        result, execution = made.result, made.execution
        assert isinstance(execution, TracedExecution)  # noqa: S101
        last = execution.traced[-1]
        execution.traced[-1] = msgspec.structs.replace(last, result=result)
        recording = self.recording()
        of_execution = next(each for each in recording.executions if each.execution_id == result.execution_id)
        setting = TurnSetting(
            instance_id=self.instance_id,
            orchestration=recording.orchestration,
            execution_id=result.execution_id,
            kv_model=self._wb.kv_model,
            limits=self._wb.limits,
            start=of_execution.kv_snapshot or {},
        )
        seeded = {} if made.loaded is None else made.loaded.kv_snapshot
        turn = made_turn(setting, execution.traced, made.recorded, seeded)
        code = self._code(recording)
        if turn.divergence is None or code is None:
            return turn
        divergence = explain(turn.divergence, turn, code, setting, made.recorded, WORKBENCH)
        return msgspec.structs.replace(turn, divergence=divergence)


def _as_first_made(turn: Turn) -> Turn:
    """A turn of a run as it was when it was made: what equals its record now was new then."""
    if turn.divergence is not None:
        return turn
    made = tuple(
        msgspec.structs.replace(each, state="new") if each.state == "replayed" else each for each in turn.operations
    )
    return msgspec.structs.replace(turn, operations=made)
