"""What the runs of a workbench work with, and a turn that was just made as it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from workbench.recordings.explain import explain
from workbench.recordings.recording import Recording
from workbench.recordings.replay import Replay, replay
from workbench.recordings.stored import recording_from_provider
from workbench.recordings.tracing import made_turn
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.client import Client
from workbench.runtime.dialect import WORKBENCH
from workbench.runtime.errors import UnknownOrchestration
from workbench.runtime.execution import Code
from workbench.runtime.kv import DELTA, Entry, Tables, apply_turn, snapshot
from workbench.runtime.limits import Limits
from workbench.runtime.provider import InstanceInfo
from workbench.runtime.registry import Registry
from workbench.runtime.single_turn import SingleTurn
from workbench.runtime.trace import TracedExecution
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turn_making import MadeTurn
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import RecordedTurn, recorded_turns
from workbench.store import DuckDBProvider


class Desk(msgspec.Struct, frozen=True):
    """What a run works with: the store, the registered code, and who makes a turn or runs an activity by hand."""

    provider: DuckDBProvider
    registry: Registry
    limits: Limits
    client: Client
    activities: ActivityRunner
    single_turn: SingleTurn
    is_running: Callable[[], bool]
    """Whether background workers make the turns."""

    def recording(self, instance_id: str) -> Recording:
        """What is stored of an instance; raises `UnknownInstance`."""
        return recording_from_provider(self.provider, instance_id, self.limits)

    def code(self, of: Recording | InstanceInfo) -> Code | None:
        """The function that is registered for it, if there is one."""
        try:
            return self.registry.orchestration(of.orchestration, of.version).function
        except UnknownOrchestration:
            return None

    def replay(self, recording: Recording, code: Code | None, keep_locals: bool = False) -> Replay:
        """Its history run again with this code, under the store's model and limits."""
        return replay(recording, code, self.provider.kv_model, self.limits, keep_locals)

    def shown(self, instance_id: str, made: MadeTurn) -> Turn:
        """The turn that was just made, from its own trace, with its divergence explained."""
        result, execution = made.result, made.execution
        assert isinstance(execution, TracedExecution)  # noqa: S101
        last = execution.traced[-1]
        execution.traced[-1] = msgspec.structs.replace(last, result=result)
        recorded, traced = made.recorded, execution.traced
        if made.loaded is None:  # it was parked: nothing was made again on the way
            recorded, traced = self._recorded_before(instance_id, result), execution.traced[-1:]
        seeded = execution.key_values.snapshot
        setting = TurnSetting(
            instance_id=instance_id,
            orchestration=made.code.name,
            execution_id=result.execution_id,
            kv_model=self.provider.kv_model,
            limits=self.limits,
            start=self._start_of(instance_id, result, seeded),
        )
        turn = made_turn(setting, traced, recorded, seeded)
        if turn.divergence is None:
            return turn
        divergence = explain(turn.divergence, turn, made.code.function, setting, recorded, WORKBENCH)
        return msgspec.structs.replace(turn, divergence=divergence)

    def _recorded_before(self, instance_id: str, result: TurnResult) -> tuple[RecordedTurn, ...]:
        history = self.provider.read_history(instance_id, result.execution_id)
        return tuple(turn for turn in recorded_turns(history) if turn.number < result.number)

    def _start_of(self, instance_id: str, result: TurnResult, seeded: Mapping[str, Entry]) -> Mapping[str, Entry]:
        """The KV state that the turn's execution began with, told from the histories before it.

        In the delta model that is what it is seeded with, unless the store was migrated in the middle of it without
        being healed; a turn that diverged is worth looking.
        """
        kv_model, tables = self.provider.kv_model, Tables()
        if kv_model == DELTA and result.divergence is None:
            return seeded
        for expected, execution in enumerate(self.recording(instance_id).executions, 1):
            if execution.execution_id != expected or execution.damage:
                return seeded  # nobody knows
            if execution.execution_id == result.execution_id:
                break
            tables = apply_turn(kv_model, tables, execution.history.events, ended=True)
        return snapshot(tables)


def as_first_made(turn: Turn) -> Turn:
    """A turn of a run as it was when it was made: what equals its record now was new then."""
    if turn.divergence is not None:
        return turn
    made = tuple(
        msgspec.structs.replace(each, state="new") if each.state == "replayed" else each for each in turn.operations
    )
    return msgspec.structs.replace(turn, operations=made)
