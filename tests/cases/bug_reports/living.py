"""The ways in which an instance lives between its turns, and a host that lets it live in each of them.

*cold*: one process, every turn replayed from the top. *warm*: the execution is kept. *evicted*: kept, in a cache that
holds one. *restarted*: after every turn the store file is closed and opened again, by a registry and with functions
that know of nothing; only the store, the clock and what activities did outside go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.cases.edited import fresh
from workbench import Client, DuckDBProvider, Limits, ManualClock
from workbench.recordings.replay import Replay
from workbench.recordings.stored import recording_from_provider
from workbench.runtime import events as ev
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.kv import DELTA, KVModel
from workbench.runtime.registry import Registry
from workbench.runtime.warm import WarmExecutions

Code = Callable[..., Any]
Way = Literal["cold", "warm", "evicted", "restarted"]
REPLAYING: tuple[Way, ...] = ("cold", "restarted")
"""The ways in which every turn runs the code again from the top."""
WAYS: tuple[Way, ...] = ("cold", "warm", "restarted")

START_MS = 1_000_000
BATCH = 32
MAX_ATTEMPTS = 3


class Host:
    """A store, code, and a worker on the test's own thread; `ran` is every activity that was run, in order."""

    def __init__(self, way: Way, path: Path, kv_model: KVModel = DELTA, limits: Limits | None = None) -> None:
        self.way = way
        self.clock = ManualClock(START_MS)
        self.ran: list[tuple[str, object]] = []
        self._path: str | Path = path if way == "restarted" else ":memory:"
        self._kv_model = kv_model
        self._limits = limits or Limits()
        self._orchestrations: dict[str, Code] = {}
        self._activities: dict[str, Code] = {}
        self._open()
        self.activity("Echo", lambda _, given: given)

    def _open(self) -> None:
        self.provider = DuckDBProvider(self._path, self._kv_model)
        self.registry = Registry()
        for name, code in self._orchestrations.items():
            self.registry.add_orchestration(name, fresh(code))
        for name, code in self._activities.items():
            self.registry.add_activity(name, code)
        self.client = Client(self.provider, self.clock)
        self.warm = WarmExecutions(1 if self.way == "evicted" else 100)
        kept = self.warm if self.way in ("warm", "evicted") else None
        self._turns = Dispatcher(
            self.provider, self.registry, self.clock, self._limits, warm=kept, max_attempts=MAX_ATTEMPTS
        )
        self._runner = ActivityRunner(self.provider, self.registry, self.clock, lambda: self.client)

    def close(self) -> None:
        """Let go of what is parked, and of the store."""
        self.warm.drop()
        self.provider.close()

    def restart(self) -> None:
        """What is left when the process is gone, and a new one."""
        self.close()
        self._open()

    # Code and instances.

    def orchestration(self, code: Code, name: str | None = None) -> str:
        """Register an orchestration, under its function's name unless told."""
        name = name or code.__name__
        self._orchestrations[name] = code
        self.registry.add_orchestration(name, code)
        return name

    def activity(self, name: str, code: Code) -> None:
        """Register an activity; that it ran is noted before it does anything."""

        def noted(ctx: Any, given: object) -> object:
            self.ran.append((name, given))
            return code(ctx, given)

        self._activities[name] = noted
        self.registry.add_activity(name, noted)

    def start(self, code: Code, given: object = None, instance_id: str = "i") -> None:
        """Register an orchestration and begin an instance of it; no turn is made yet."""
        self.client.start_orchestration(instance_id, self.orchestration(code), given)

    # Moving.

    def work(self) -> bool:
        """The next turn of every instance that can move; else activities; else time. Whether there was anything."""
        if self._turns.make_turns(BATCH):
            if self.way == "restarted":
                self.restart()
            return True
        ran = False
        while self._runner.run_batch(MAX_ATTEMPTS, "worker-1"):
            ran = True
        if ran:
            return True
        due_ms = self.provider.next_visible_ms()
        if due_ms is None:
            return False
        self.clock.advance_to(due_ms)
        return True

    def settle(self, look: Callable[[], object] = lambda: None) -> None:
        """Work until only calls from outside are waited for; `look` is called after each step."""
        while self.work():
            look()

    def turn(self) -> None:
        """The next turns of what can move, and no activity."""
        assert self._turns.make_turns(BATCH)
        if self.way == "restarted":
            self.restart()

    # Looking.

    def events(self, instance_id: str = "i", execution_id: int = 1) -> list[ev.Event]:
        """The history of an execution."""
        return list(self.provider.read_history(instance_id, execution_id).events)

    def kinds(self, instance_id: str = "i", execution_id: int = 1) -> list[str]:
        """The types of its events."""
        return [event.type for event in self.events(instance_id, execution_id)]

    def replay(self, instance_id: str = "i", code: Code | None = None) -> Replay:
        """The whole history against the registered code, or other code."""
        recording = recording_from_provider(self.provider, instance_id, self._limits)
        return recording.replay(code or self.registry.orchestration(recording.orchestration).function)

    def status(self, instance_id: str = "i") -> str:
        """How an instance stands."""
        return self.client.get_status(instance_id).status

    def output(self, instance_id: str = "i") -> Any:
        """What it returned; it must have completed."""
        result = self.client.get_status(instance_id)
        assert (result.status, result.error) == ("Completed", None)
        return result.output

    def error(self, instance_id: str = "i") -> str:
        """What it failed with; it must have failed."""
        result = self.client.get_status(instance_id)
        assert result.status == "Failed", result
        return str(result.error)


@contextmanager
def living(way: Way, folder: Path, kv_model: KVModel = DELTA, limits: Limits | None = None) -> Iterator[Host]:
    """A host whose store is closed at the end."""
    host = Host(way, folder / "store.duckdb", kv_model, limits)
    try:
        yield host
    finally:
        host.close()
