"""Replaying a recording: the recorded turns against code, with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import msgspec

from workbench.recordings.explain import explain
from workbench.recordings.integrity import Damage
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.tracing import exact_turns, trace_execution, turns_without_code
from workbench.runtime import kv
from workbench.runtime.dialect import dialect_of
from workbench.runtime.divergence import Divergence, OutcomeDifference, StrictDifference
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turns import recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS
from workbench.showing import Steppable, Stepping

Verdict = Literal[
    "same",
    "same, still running",
    "diverged",
    "did not come back",
    "different outcome",
    "damaged history",
    "nothing to compare",
]


class Replay(Steppable, msgspec.Struct, frozen=True, kw_only=True):
    """A recording run against code (or shown without).

    `turns` of all executions, up to the first divergence or the first whose code did not come back; `compared` is how
    many operations equalled their records.
    `unknown_events` were skipped because their type is not known here.
    """

    _view: ClassVar[str] = "replay"

    recording: Recording
    kv_model: kv.KVModel
    limits: Limits
    verdict: Verdict
    turns: tuple[Turn, ...]
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    strict_differences: tuple[StrictDifference, ...] = ()
    damage: tuple[Damage, ...] = ()
    compared: int = 0
    unknown_events: tuple[str, ...] = ()
    code: Code | None = None
    deadline_ms: int | None = DEADLINE_MS

    @property
    def has_code(self) -> bool:
        """Whether there was code to run against."""
        return self.code is not None

    def stepping(self) -> Stepping:
        """Its turns; locals come from running it again."""
        if self.code is None:
            return Stepping(lambda: self.turns)
        again: list[Replay] = []

        def with_locals(address: str) -> Turn:
            if not again:
                again.append(
                    replay(self.recording, self.code, self.kv_model, self.limits, True, deadline_ms=self.deadline_ms)
                )
            return again[0].turn(address)

        return Stepping(lambda: self.turns, None, with_locals)

    @property
    def outcome(self) -> str | None:
        """The recorded output as JSON text, or the recorded error text."""
        return self.recording.last.output

    def turn(self, address: str) -> Turn:
        """The turn at an address such as `"1.3"`; raises `LookupError` naming those there are."""
        for each in self.turns:
            if each.address == address:
                return each
        raise LookupError(f"there is no turn {address!r}; turns here: {', '.join(t.address for t in self.turns)}")

    def raise_for_verdict(self) -> None:
        """Raise `NondeterminismError` with the whole explanation unless the verdict is one of the `same` kind."""
        if self.divergence is not None:
            raise NondeterminismError(self.divergence.text())
        if not self.verdict.startswith("same"):
            raise NondeterminismError(self.text())


def replay(
    recording: Recording,
    code: Code | None = None,
    kv_model: kv.KVModel | None = None,
    limits: Limits | None = None,
    keep_locals: bool = False,
    deadline_ms: int | None = DEADLINE_MS,
) -> Replay:
    """Run a recording's turns against `code`; without code show them from the events alone.

    `kv_model` and `limits` are the recording's own unless given: `"per-turn"` shows what the first KV design would
    have done to this history. `keep_locals` keeps the locals of every operation as text. Code that takes longer than
    `deadline_ms` (ms; None: for ever) for one turn is stopped: then the verdict is `did not come back`.
    """
    model = kv_model or recording.kv_model
    limits = limits or recording.limits
    turns: list[Turn] = []
    for execution in recording.executions:
        setting = TurnSetting(
            instance_id=recording.instance_id,
            orchestration=recording.orchestration,
            execution_id=execution.execution_id,
            kv_model=model,
            limits=limits,
            start=execution.kv_snapshot or {},
            inferred=execution.turns_inferred,
        )
        turns += _turns(recording, execution, setting, code, keep_locals, deadline_ms)
        if turns and turns[-1].divergence is not None:
            divergence = _explained(recording, turns[-1], setting, code, deadline_ms)
            turns[-1] = msgspec.structs.replace(turns[-1], divergence=divergence)
            break
        if turns and turns[-1].stopped is not None:
            break
    return msgspec.structs.replace(_judge(recording, model, limits, turns, code), deadline_ms=deadline_ms)


def _turns(
    recording: Recording,
    execution: RecordedExecution,
    setting: TurnSetting,
    code: Code | None,
    keep_locals: bool,
    deadline_ms: int | None,
) -> list[Turn]:
    if code is None or execution.damage:
        return turns_without_code(setting, recorded_turns(execution.history))
    dialect = dialect_of(recording.writer)
    recorded = exact_turns(code, setting, execution.history, execution.soft_boundaries, dialect, deadline_ms)
    turns = trace_execution(code, setting, recorded, dialect, keep_locals, deadline_ms)
    if execution.kv_snapshot is None and turns and turns[-1].divergence is not None:
        # What it began with is pruned, so a read that differs proves nothing: show what the events tell.
        return turns_without_code(setting, recorded)
    return turns


def _explained(
    recording: Recording, turn: Turn, setting: TurnSetting, code: Code | None, deadline_ms: int | None
) -> Divergence | None:
    if turn.divergence is None or code is None:
        return turn.divergence
    execution = next(each for each in recording.executions if each.execution_id == turn.execution_id)
    dialect = dialect_of(recording.writer)
    recorded = exact_turns(code, setting, execution.history, execution.soft_boundaries, dialect, deadline_ms)
    return explain(turn.divergence, turn, code, setting, recorded, dialect, deadline_ms)


def _judge(recording: Recording, model: kv.KVModel, limits: Limits, turns: list[Turn], code: Code | None) -> Replay:
    divergence = turns[-1].divergence if turns else None
    outcome = next((turn.outcome_difference for turn in turns if turn.outcome_difference is not None), None)
    compared = sum(each.state == "replayed" and each.number is not None for turn in turns for each in turn.operations)
    verdict: Verdict = "same" if recording.status != "Running" else "same, still running"
    if recording.damage:
        verdict = "damaged history"
    elif not turns or code is None:
        verdict = "nothing to compare"
    elif divergence is not None:
        verdict = "damaged history" if divergence.kind == "broken history" else "diverged"
    elif turns[-1].stopped is not None:
        verdict = "did not come back"
    elif outcome is not None:
        verdict = "different outcome"
    return Replay(
        recording=recording,
        kv_model=model,
        limits=limits,
        verdict=verdict,
        turns=tuple(turns),
        divergence=divergence,
        outcome_difference=outcome,
        strict_differences=tuple(each for turn in turns for each in turn.strict_differences),
        damage=recording.damage,
        compared=compared,
        unknown_events=_unknown(recording),
        code=code,
    )


def _unknown(recording: Recording) -> tuple[str, ...]:
    unknown: Mapping[str, None] = {
        event.type: None
        for execution in recording.executions
        for turn in recorded_turns(execution.history)
        for event in turn.unknown
    }
    return tuple(unknown)
