"""The notebook's front door: a `Workbench` on a store."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from workbench.desk import Desk
from workbench.recordings.checking import check_each
from workbench.recordings.report import CheckReport
from workbench.recordings.stored import recording_from_provider
from workbench.run import Run
from workbench.runtime import kv, payload
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client import Client
from workbench.runtime.clock import Clock
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import (
    InstanceExists,
    InstanceWaiting,
    UnknownActivity,
    UnknownInstance,
    UnknownOrchestration,
)
from workbench.runtime.interrupts import held_back
from workbench.runtime.limits import Limits
from workbench.runtime.registry import DEFAULT_VERSION
from workbench.runtime.runtime import Runtime
from workbench.runtime.single_turn import SingleTurn
from workbench.runtime.trace import TracedExecution
from workbench.runtime.turn import Turn
from workbench.sharing import IN_MEMORY, give_back, share

if TYPE_CHECKING:
    import pandas as pd

    from workbench.panels.poisoning import PoisoningPanel

F = TypeVar("F", bound=Callable[..., Any])


class Started(NamedTuple):
    """A run that was started, and how many were before it in this process."""

    order: int
    run: Run


_numbers = itertools.count(1)
_open_handles: weakref.WeakValueDictionary[int, Workbench] = weakref.WeakValueDictionary()


def open_workbenches() -> list[Workbench]:
    """Every workbench of this process that is not closed, in the order in which they were made."""
    return [handle for _, handle in sorted(_open_handles.items())]


class Workbench:
    """A store with registered code, stepped by hand.

    `path` is a DuckDB file, made when it is not there, or in memory. `kv_model` is `"delta"` (the fix) or
    `"per-turn"` (the bug); without it a new store is `"delta"` and a file keeps its own. `clock` is a `ManualClock`
    unless given, at a fixed start or at the largest time in the file, so that runs are the same every time.

    Every turn replays its history from the top, which shows code that is not deterministic at once. With `warm=True`
    executions stay parked between turns made by hand and a turn costs the same however long the history is; never in
    the per-turn model, where replaying is what there is to see.

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
        warm: bool | None = None,
    ) -> None:
        self._state = share(path, kv_model, limits, clock, warm)
        self._number = next(_numbers)
        _open_handles[self._number] = self
        self.last_started: Started | None = None
        """The run that `start` gave last."""
        state = self._state
        self.provider = state.provider
        self.registry = state.registry
        self.clock = state.clock
        self.limits = state.limits
        self.client = Client(state.provider, state.clock)
        activities = ActivityRunner(state.provider, state.registry, state.clock, lambda: self.client)
        dispatcher = Dispatcher(
            state.provider, state.registry, state.clock, state.limits, TracedExecution, warm=state.parked
        )
        self._desk = Desk(
            provider=state.provider,
            registry=state.registry,
            limits=state.limits,
            client=self.client,
            activities=activities,
            single_turn=SingleTurn(
                state.provider, state.registry, state.clock, dispatcher, activities, state.turn_lock
            ),
            is_running=lambda: state.runtime is not None and state.runtime.is_running,
        )

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
        if not instance_id:
            instance_id = self._start_numbered(name, input, version)
        else:
            instance_id = payload.storable("an instance id", instance_id)
            if replace and self.provider.is_known(instance_id):
                self.provider.delete_instance(instance_id, force=True)
            self.client.start_orchestration_versioned(instance_id, name, input, version)
        run = Run(self._desk, instance_id)
        self.last_started = Started(next(_numbers), run)
        return run

    def run(self, instance_id: str) -> Run:
        """The run of an instance that exists. Raises `UnknownInstance`."""
        instance_id = payload.storable("an instance id", instance_id)
        if not self.provider.is_known(instance_id):
            raise UnknownInstance(instance_id, self.provider.known_instances())
        return Run(self._desk, instance_id)

    def _start_numbered(self, name: str, given: object, version: str | None) -> str:
        """Begin an instance under the first number that is free; its id."""
        while True:
            instance_id = self._free_id(name.lower())
            with contextlib.suppress(InstanceExists):  # another thread has taken it since
                self.client.start_orchestration_versioned(instance_id, name, given, version)
                return instance_id

    def _free_id(self, stem: str) -> str:
        number = 1
        while self.provider.is_known(f"{stem}-{number}"):
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

    # Code that changes while instances are under way.

    def instances_in_flight(self, name: str, version: str | None = None) -> tuple[str, ...]:
        """The ids of the instances of an orchestration that have begun and not ended (of one version, if given)."""
        return tuple(
            info.instance_id
            for info in self.provider.instances()
            if info.orchestration == name and info.status == "Running" and version in (None, info.version)
        )

    def dry_run(self, function: Callable[..., Any], name: str | None = None, version: str | None = None) -> CheckReport:
        """Replay the instances in flight against a function, registered or not, and commit nothing.

        They are those of the orchestration `name`: without it the one that `function` is registered as (then of that
        version), else its own name. A row each says *same*, or where it would diverge; no row when none is in flight.
        """
        if name is None:
            with contextlib.suppress(UnknownOrchestration):
                registered = self.registry.name_of(function)
                name, version = registered.name, version or registered.version
        name = name or self._name_of(function)
        ids = self.instances_in_flight(name, version)
        recordings = (recording_from_provider(self.provider, each, self.limits) for each in ids)
        return check_each(recordings, {name: function})

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
        """Give the store back; the last handle on a file ends its runtime and releases it.

        Raises `StoreError`, and stays open, inside an activity of that runtime.
        """
        with held_back():
            if _open_handles.pop(self._number, None) is None:  # closed already, or just now by another thread
                return
            try:
                give_back(self._state)
            except BaseException:
                _open_handles[self._number] = self
                raise

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = IN_MEMORY if self._state.key == IN_MEMORY else Path(self._state.key).name
        return f"Workbench({name!r}, kv_model={self.kv_model!r})"
