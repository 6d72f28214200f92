"""Replaying a recording: the recorded turns against code, with a verdict."""

from __future__ import annotations

import bdb
import types
from typing import ClassVar

import msgspec

from workbench.recordings.debugging import parted_at, stop_in
from workbench.recordings.explain import explain
from workbench.recordings.integrity import Damage
from workbench.recordings.purity import Purity, check_purity
from workbench.recordings.recorded_code import with_line_then
from workbench.recordings.recording import RecordedExecution, Recording
from workbench.recordings.reference import ReferenceVerdict, reference_verdict
from workbench.recordings.tracing import exact_turns, setting_of, trace_execution, turns_without_code
from workbench.runtime import kv
from workbench.runtime.dialect import dialect_of
from workbench.runtime.divergence import Divergence, OutcomeDifference, StrictDifference
from workbench.runtime.errors import NoCodeToDebug, NondeterminismError, WorkbenchError
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.registry import check_function
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turns import recorded_turns
from workbench.runtime.watchdog import DEADLINE_MS
from workbench.showing import Steppable, Stepping


class KeyDifference(msgspec.Struct, frozen=True):
    """A key whose stored value is not what its history comes to; None is a key that is not there."""

    key: str
    stored: str | None
    by_history: str | None


class Replay(Steppable, msgspec.Struct, frozen=True, kw_only=True):
    """A recording run against code (or shown without).

    `verdict` is one of `same`, `same, still running`, `diverged`, `diverged (strict)`, `did not come back`,
    `different outcome`, `damaged history` and `nothing to compare`. The two of the `same` kind end in
    `, 2 unknown events skipped` when the history has events of a type that is not known here (`unknown_events` names
    the types). Strict differences never stop a replay and are listed whatever the verdict is; only who asked for
    `strict=True` gets them as a verdict, where all else is the same.

    `turns` of all executions, up to the first divergence or the first whose code did not come back. `compared` is how
    many operations equalled their records, in `compared_turns` turns of `compared_executions` executions;
    `compared_keys` keys were looked up in the stored KV state, `key_differences` are those that are stored otherwise
    than the history says.
    """

    _view: ClassVar[str] = "replay"

    recording: Recording
    kv_model: kv.KVModel
    limits: Limits
    verdict: str
    turns: tuple[Turn, ...]
    divergence: Divergence | None = None
    outcome_difference: OutcomeDifference | None = None
    strict_differences: tuple[StrictDifference, ...] = ()
    damage: tuple[Damage, ...] = ()
    compared: int = 0
    compared_turns: int = 0
    compared_executions: int = 0
    compared_keys: int = 0
    key_differences: tuple[KeyDifference, ...] = ()
    unknown_events: tuple[str, ...] = ()
    code: Code | None = None
    deadline_ms: int | None = DEADLINE_MS

    @property
    def has_code(self) -> bool:
        """Whether there was code to run against."""
        return self.code is not None

    def stepping(self) -> Stepping:
        """Its turns; locals come from running it again. Other instances of its file are found too."""
        elsewhere = None if self.recording.elsewhere is None else self._elsewhere
        if self.code is None:
            return Stepping(lambda: self.turns, elsewhere=elsewhere)
        again: list[Replay] = []

        def with_locals(address: str) -> Turn:
            if not again:
                again.append(
                    replay(self.recording, self.code, self.kv_model, self.limits, True, deadline_ms=self.deadline_ms)
                )
            return again[0].turn(address)

        return Stepping(lambda: self.turns, None, with_locals, elsewhere=elsewhere)

    def _elsewhere(self, instance_id: str) -> Stepping:
        """Another instance of the same file: replayed if it runs the same orchestration, else without code."""
        found = self.recording.elsewhere
        assert found is not None  # noqa: S101
        other = found.find(instance_id)
        code = self.code if other.orchestration == self.recording.orchestration else None
        return other.replay(code, self.kv_model, self.limits, deadline_ms=self.deadline_ms).stepping()

    @property
    def outcome(self) -> str | None:
        """The recorded output as JSON text, or the recorded error text."""
        return self.recording.last.output

    @property
    def is_same(self) -> bool:
        """Whether the verdict is one of the `same` kind."""
        return self.verdict.startswith("same")

    @property
    def reference_verdict(self) -> ReferenceVerdict | None:
        """What duroxide 0.2.2 would do with this code and history; runs the code once more.

        The first execution that it refuses, else the last. None without code, over damage, when what an execution
        began with is not known any more, and when the code does not come back.
        """
        verdict = None
        if self.code is None or self.damage:
            return None
        for execution in self.recording.executions:
            if execution.kv_snapshot is None:
                return None
            turns = recorded_turns(execution.history)
            whose = (self.recording.instance_id, execution.execution_id)
            verdict = reference_verdict(self.code, *whose, turns, execution.kv_snapshot, self.deadline_ms)
            if verdict is None or not verdict.accepted:
                break
        return verdict

    def purity(self, fresh: bool = True) -> Purity:
        """Dry runs of the code, here and (with `fresh`) in two fresh processes: what else it depends on, and where.

        Raises `WorkbenchError` when there was no code.
        """
        if self.code is None:
            raise WorkbenchError("there is no code to try: recording.replay(code).purity()")
        return check_purity(self.recording, self.code, fresh=fresh, deadline_ms=self.deadline_ms)

    def turn(self, address: str) -> Turn:
        """The turn at an address such as `"1.3"`; raises `LookupError` naming those there are."""
        for each in self.turns:
            if each.address == address:
                return each
        raise LookupError(f"there is no turn {address!r}; turns here: {', '.join(t.address for t in self.turns)}")

    def raise_for_verdict(self) -> None:
        """Raise `NondeterminismError` with the whole explanation unless the verdict is one of the `same` kind.

        Its traceback ends in the orchestration, at the line where it left the record, with the locals of that moment:
        `%debug` in the next cell, or `pdb.post_mortem()`, stands there.
        """
        if self.is_same:
            return
        text = self.text() if self.divergence is None else self.divergence.text()
        raise NondeterminismError(text).with_traceback(self._parted())

    def _parted(self) -> types.TracebackType | None:
        if self.code is None or not self.turns:
            return None
        return parted_at(self.recording, self.code, self.kv_model, self.limits, self.turns[-1], self.deadline_ms)

    def debug(self, turn: int | str, debugger: bdb.Bdb | None = None) -> None:
        """Run to a turn and stop in the debugger, at the first line of the code that this turn resumes.

        `turn` is an address such as `"1.3"`, or a number: that turn of the newest execution that has one. Step with
        the debugger's own commands; at the end of the turn it lets go. Nothing is written, whatever is done there,
        and no deadline stops the code meanwhile. `debugger` is the notebook's own, else `pdb`, unless given.

        Raises `LookupError` for a turn that there is not, and `NoCodeToDebug` when there is no code, or the turn
        runs none of it.
        """
        if self.code is None:
            raise NoCodeToDebug("the replay has no code; give it: recording.replay(order_flow).debug(turn)")
        stop_in(self.recording, self.code, self.kv_model, self.limits, self._named(turn), debugger)

    def _named(self, turn: int | str) -> Turn:
        if str(turn).isdecimal():
            numbered = [each for each in self.turns if each.number == int(turn)]
            if numbered:
                return numbered[-1]
        return self.turn(".".join(str(turn).split(".")[:2]))


def replay(
    recording: Recording,
    code: Code | None = None,
    kv_model: kv.KVModel | None = None,
    limits: Limits | None = None,
    keep_locals: bool = False,
    deadline_ms: int | None = DEADLINE_MS,
    strict: bool = False,
) -> Replay:
    """Run a recording's turns against `code`; without code show them from the events alone.

    `kv_model` and `limits` are the recording's own unless given: `"per-turn"` shows what the first KV design would
    have done to this history. `keep_locals` keeps the locals of every operation as text. Code that takes longer than
    `deadline_ms` (ms; None: for ever) for one turn is stopped: then the verdict is `did not come back`. With `strict`
    a replay in which everything lines up but for strict differences has the verdict `diverged (strict)`.

    Raises `NotAFunction`, and `ValueError` for an unknown model.
    """
    check_code(code)
    kv.check_model(kv_model)
    model = kv_model or recording.kv_model
    limits = limits or recording.limits
    turns: list[Turn] = []
    for execution in recording.executions:
        setting = setting_of(recording, execution, model, limits)
        turns += _turns(recording, execution, setting, code, keep_locals, deadline_ms)
        if turns and turns[-1].divergence is not None:
            divergence = _explained(recording, turns[-1], setting, code, deadline_ms)
            turns[-1] = msgspec.structs.replace(turns[-1], divergence=divergence)
            break
        if turns and turns[-1].stopped is not None:
            break
    judged = _judge(recording, model, limits, turns, code)
    if strict and judged.is_same and judged.strict_differences:
        judged = msgspec.structs.replace(judged, verdict="diverged (strict)")
    return msgspec.structs.replace(judged, deadline_ms=deadline_ms)


def check_code(code: object) -> None:
    """Raise `NotAFunction` for what cannot be an orchestration: its failure would look like a divergence."""
    if code is not None:
        check_function("the code to replay is an orchestration function", code)


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
    explained = explain(turn.divergence, turn, code, setting, recorded, dialect, deadline_ms)
    return explained if recording.code is None else with_line_then(explained, recording.code, code)


def _judge(recording: Recording, model: kv.KVModel, limits: Limits, turns: list[Turn], code: Code | None) -> Replay:
    outcome = next((turn.outcome_difference for turn in turns if turn.outcome_difference is not None), None)
    with_code = [turn for turn in turns if turn.has_code and turn.stopped is None]
    whole = [turn for turn in with_code if turn.divergence is None]
    unknown = _unknown(recording)
    verdict = _verdict(recording, turns, code, outcome, len(unknown))
    keys: int = 0
    key_differences: tuple[KeyDifference, ...] = ()
    if verdict.startswith(("same", "different outcome")) and model == recording.kv_model:
        keys, key_differences = _compare_keys(recording, turns[-1])
    return Replay(
        recording=recording,
        kv_model=model,
        limits=limits,
        verdict=verdict,
        turns=tuple(turns),
        divergence=turns[-1].divergence if turns else None,
        outcome_difference=outcome,
        strict_differences=tuple(each for turn in turns for each in turn.strict_differences),
        damage=recording.damage,
        compared=sum(each.state == "replayed" and each.number is not None for t in turns for each in t.operations),
        compared_turns=len(whole),
        compared_executions=len({turn.execution_id for turn in whole}),
        compared_keys=keys,
        key_differences=key_differences,
        unknown_events=tuple(dict.fromkeys(unknown)),
        code=code,
    )


def _verdict(
    recording: Recording, turns: list[Turn], code: Code | None, outcome: OutcomeDifference | None, unknown: int
) -> str:
    if recording.damage:
        return "damaged history"
    if not turns or code is None:
        return "nothing to compare"
    divergence = turns[-1].divergence
    if divergence is not None:
        return "damaged history" if divergence.kind == "broken history" else "diverged"
    if turns[-1].stopped is not None:
        return "did not come back"
    if not any(turn.has_code for turn in turns):
        return "nothing to compare"
    if outcome is not None:
        return "different outcome"
    same = "same" if recording.status != "Running" else "same, still running"
    if unknown:
        same += f", {unknown} unknown event{'' if unknown == 1 else 's'} skipped"
    return same


def _compare_keys(recording: Recording, last: Turn) -> tuple[int, tuple[KeyDifference, ...]]:
    """What a client reads in the store against what the history, which the code lines up with, comes to."""
    if recording.last.kv_snapshot is None:
        return 0, ()
    stored, told = kv.client_view(recording.kv_tables), kv.client_view(last.after)
    pairs = [KeyDifference(key, _value(stored, key), _value(told, key)) for key in sorted(stored.keys() | told.keys())]
    return len(pairs), tuple(each for each in pairs if each.stored != each.by_history)


def _value(table: kv.Table, key: str) -> str | None:
    return table[key].value if key in table else None


def _unknown(recording: Recording) -> list[str]:
    """The type of each event of unknown type."""
    return [
        event.type
        for execution in recording.executions
        for turn in recorded_turns(execution.history)
        for event in turn.unknown
    ]
