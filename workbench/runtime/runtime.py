"""The background runtime: workers that make turns and run activities until it is shut down. Names are the SDK's."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from workbench.runtime import telemetry
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client import Client
from workbench.runtime.clock import Clock, SystemClock
from workbench.runtime.dispatcher import MAX_ATTEMPTS, Dispatcher
from workbench.runtime.errors import StoreClosed, WorkbenchError
from workbench.runtime.kv import PER_TURN
from workbench.runtime.limits import Limits
from workbench.runtime.provider import Provider
from workbench.runtime.registry import DEFAULT_VERSION, Registry
from workbench.runtime.warm import DEFAULT_SIZE, WarmExecutions
from workbench.runtime.watchdog import DEADLINE_MS

F = TypeVar("F", bound=Callable[..., Any])
AT_EXIT_MS = 2_000
"""How long a program that ends waits for its workers, ms; activities that take longer are run again by the next."""


class RuntimeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a runtime works; times are ms.

    `batch` is how many turns share a commit at the most; `warm` how many executions are kept between turns (0:
    every turn is replayed from the top); `deadline_ms` how long user code may take for one turn (None: for ever).
    """

    orchestration_concurrency: int = 2
    worker_concurrency: int = 4
    dispatcher_poll_interval_ms: int = 100
    max_attempts: int = MAX_ATTEMPTS
    batch: int = 32
    warm: int = DEFAULT_SIZE
    deadline_ms: int | None = DEADLINE_MS


class Runtime:
    """Workers on a store. Register code, `start()`, and `shutdown()` when done.

    `limits` are the released engine's unless given, as this is the face of its SDK.
    """

    def __init__(
        self,
        provider: Provider,
        options: RuntimeOptions | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        registry: Registry | None = None,
    ) -> None:
        self.options = options or RuntimeOptions()
        self.registry = registry or Registry()
        self._provider = provider
        self._clock = clock or SystemClock()
        self._limits = limits or Limits.duroxide()
        self._stopping = threading.Event()
        """That of the newest workers: those that outlived a shutdown keep their own, which stays set."""
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        keeps = self.options.warm > 0 and provider.kv_model != PER_TURN
        self._warm = WarmExecutions(self.options.warm, self.options.deadline_ms) if keeps else None

    # Registering code.

    def register_orchestration(self, name: str, fn: F | None = None) -> Any:
        """Register an orchestration; also a decorator: `@runtime.register_orchestration("Name")`."""
        return self.register_orchestration_versioned(name, DEFAULT_VERSION, fn)

    def register_orchestration_versioned(self, name: str, version: str, fn: F | None = None) -> Any:
        """Register one version of an orchestration; also a decorator."""

        def register(function: F) -> F:
            self.registry.add_orchestration(name, function, version)
            return function

        return register if fn is None else register(fn)

    def register_activity(self, name: str, fn: F | None = None) -> Any:
        """Register an activity; also a decorator: `@runtime.register_activity("Name")`."""

        def register(function: F) -> F:
            self.registry.add_activity(name, function)
            return function

        return register if fn is None else register(fn)

    register_orchestration_typed = register_orchestration
    register_orchestration_versioned_typed = register_orchestration_versioned
    register_activity_typed = register_activity

    # Running.

    @property
    def is_running(self) -> bool:
        """Whether its workers make turns."""
        return any(thread.is_alive() for thread in self._threads) and not self._stopping.is_set()

    def is_inside_a_worker(self) -> bool:
        """Whether one of its workers is what calls."""
        return threading.current_thread() in self._threads

    def start(self, block: bool = False) -> None:
        """Start the workers and return; with `block` stay until `shutdown` is called, as the SDK's does."""
        with self._lock:
            if not self.is_running:
                stopping = self._stopping = threading.Event()
                options = self.options
                loops = [(f"turns-{i}", self._turns) for i in range(1, options.orchestration_concurrency + 1)]
                loops += [(f"activities-{i}", self._activities) for i in range(1, options.worker_concurrency + 1)]
                self._threads = [
                    threading.Thread(target=loop, args=(name, stopping), name=f"workbench-{name}", daemon=True)
                    for name, loop in loops
                ]
                for thread in self._threads:
                    thread.start()
                _running.add(self)
        if block:
            self._stopping.wait()

    def shutdown(self, timeout_ms: int | None = None) -> None:
        """Stop: what is being made is finished, then every worker ends; waits at most `timeout_ms` (default 10 s).

        An activity that takes longer is left to end by itself; its outcome is still recorded if the store is open.
        """
        self._stopping.set()
        _running.discard(self)
        ends = time.monotonic() + (10_000 if timeout_ms is None else timeout_ms) / 1000
        for thread in self._threads:
            if thread is not threading.current_thread():  # an activity that ends the runtime: its worker goes last
                thread.join(max(0.0, ends - time.monotonic()))
        if self._warm is not None:
            self._warm.drop()

    def __enter__(self) -> Runtime:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    # The workers.

    def _turns(self, name: str, stopping: threading.Event) -> None:
        dispatcher = Dispatcher(
            self._provider,
            self.registry,
            self._clock,
            self._limits,
            deadline_ms=self.options.deadline_ms,
            warm=self._warm,
            max_attempts=self.options.max_attempts,
        )
        self._loop(name, stopping, lambda: dispatcher.make_turns(self.options.batch) > 0, dispatcher.give_back_owed)

    def _activities(self, name: str, stopping: threading.Event) -> None:
        runner = ActivityRunner(self._provider, self.registry, self._clock, lambda: Client(self._provider, self._clock))
        self._loop(name, stopping, lambda: runner.run_batch(self.options.max_attempts, name), runner.write_returns)

    def _loop(self, name: str, stopping: threading.Event, work: Callable[[], bool], leave: Callable[[], None]) -> None:
        """Work while there is some, else wait for a change of the store; an error is logged and the worker goes on.

        `leave` writes what the store would not take before.
        """
        idle_s = self.options.dispatcher_poll_interval_ms / 1000
        while not stopping.is_set():
            try:
                if not work():
                    self._provider.wait(idle_s)
            except StoreClosed:
                return
            except BaseException:  # noqa: BLE001 (logged; one bad moment must not end a worker)
                telemetry.log.exception("worker %s failed and goes on", name)
                stopping.wait(idle_s)
        with suppress(WorkbenchError):  # the store still fails: whoever opens it next drops the claims
            leave()


_running: weakref.WeakSet[Runtime] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """Let workers leave the database before the interpreter ends: a thread that is killed in there takes all down."""
    for runtime in list(_running):
        runtime.shutdown(AT_EXIT_MS)
