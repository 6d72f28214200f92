"""Everything that makes turns by hand, assembled on a store in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.runtime import kv
from workbench.runtime import messages as ms
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client import Client
from workbench.runtime.clock import Clock, ManualClock
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.events import Event
from workbench.runtime.limits import Limits
from workbench.runtime.provider import InstanceInfo
from workbench.runtime.registry import Registry
from workbench.runtime.single_turn import SingleTurn
from workbench.runtime.turn_making import MadeTurn
from workbench.runtime.turn_result import TurnResult
from workbench.store import DuckDBProvider

START_MS = 1_000_000


class Instances:
    """A store, a registry, a clock, and what moves instances on them."""

    def __init__(
        self, kv_model: kv.KVModel = kv.DELTA, limits: Limits | None = None, clock: Clock | None = None
    ) -> None:
        self.provider = DuckDBProvider(kv_model=kv_model)
        self.registry = Registry()
        self.clock: Clock = clock or ManualClock(START_MS)
        self.client = Client(self.provider, self.clock)
        self.dispatcher = Dispatcher(self.provider, self.registry, self.clock, limits or Limits())
        self.activities = ActivityRunner(self.provider, self.registry, self.clock, lambda: self.client)
        self.single_turn = SingleTurn(self.provider, self.registry, self.clock, self.dispatcher, self.activities)

    def orchestration(self, name: str, code: Callable[..., Any], version: str = "1.0.0") -> None:
        """Register an orchestration."""
        self.registry.add_orchestration(name, code, version)

    def activity(self, name: str, code: Callable[..., Any]) -> None:
        """Register an activity."""
        self.registry.add_activity(name, code)

    def start(self, name: str, value: object = None, instance_id: str = "i") -> str:
        """Begin an instance."""
        self.client.start_orchestration(instance_id, name, value)
        return instance_id

    def send(self, *messages: ms.Message) -> None:
        """Put messages into queues as they are."""
        self.provider.enqueue(messages, self.clock.now_ms())

    def batch(self, instance_id: str = "i") -> TurnResult | None:
        """One turn of what is visible, nothing else."""
        made = self.dispatcher.make_turn(instance_id)
        return None if made is None else made.result

    def turn(self, instance_id: str = "i") -> TurnResult:
        """Exactly one turn, whatever it takes."""
        made: MadeTurn = self.single_turn.make(instance_id)
        return made.result

    def finish(self, instance_id: str = "i") -> Any:
        """Turns to the end; the output."""
        while self.info(instance_id).status not in ("Completed", "Failed"):
            self.turn(instance_id)
        return self.client.get_status(instance_id).output

    def info(self, instance_id: str = "i") -> InstanceInfo:
        """The instance as it is stored."""
        info = self.provider.instance(instance_id)
        return info or InstanceInfo(instance_id, "", "", 0, "Pending", None, None, 0, None, 0, 0)

    def history(self, instance_id: str = "i", execution_id: int | None = None) -> list[Event]:
        """The stored events of an execution (None: the current one)."""
        wanted = self.info(instance_id).execution_id if execution_id is None else execution_id
        return list(self.provider.read_history(instance_id, wanted).events)
