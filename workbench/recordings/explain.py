"""Naming a divergence by experiment: run the pure engine again under each hypothesis, count what lines up after.

*changed*: the operation made now stands for the recorded one. *added*: it is answered at once, with nothing, and
the record is still to come. *removed*: up to five records are skipped. *moved*: they are skipped and may come later
(replay-rule §7). What lines up best names the difference; the count is part of the message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.dialect import Dialect
from workbench.runtime.divergence import Divergence, Kind
from workbench.runtime.errors import ReplayStopped
from workbench.runtime.execution import Code, Execution
from workbench.runtime.journal import Journal
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turns import Record, RecordedTurn
from workbench.runtime.waiting import Leaf

SKIP_AT_MOST = 5
Name = Literal["changed", "added", "removed", "moved"]


class Hypothesis(msgspec.Struct, frozen=True):
    """One way in which the code may have been edited at the place of a divergence."""

    name: Name
    skip: int = 0


class _Experiment(Journal):
    """A journal that lets one divergence pass as its hypothesis says, and counts what matches afterwards."""

    hypothesis: Hypothesis
    place: tuple[int, int]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lined_up = 0
        self.passed = False
        self.answered: set[int] = set()
        self._skipped: list[Record] = []

    def match(self, action: Action) -> Record:
        """Match as the engine does, but for the one place."""
        if self.passed and any(record.signature == action.signature for record in self._skipped):
            record = next(each for each in self._skipped if each.signature == action.signature)
            if self.next_record() is None or self.next_record().signature != action.signature:  # type: ignore[union-attr]
                self._skipped.remove(record)
                return record
        if not self.passed and (self.number, self.cursor + 1) == self.place and self.turn is not None:
            return self._let_pass(action)
        record = super().match(action)
        if self.passed and self.turn is not None:
            self.lined_up += 1
        return record

    def _let_pass(self, action: Action) -> Record:
        record = self.next_record()
        if record is not None and record.signature == action.signature:
            return super().match(action)
        self.passed = True
        if self.hypothesis.name == "changed" and record is not None and record.signature[0] == action.signature[0]:
            self.cursor += 1
            return record
        if self.hypothesis.name == "added":
            answer = Record(-len(self.answered) - 1, action.signature, self.event(0, action.kind))
            self.answered.add(answer.event_id)
            return answer
        if self.hypothesis.name in ("removed", "moved") and self.turn is not None:
            left = self.turn.operations[self.cursor : self.cursor + self.hypothesis.skip]
            if len(left) == self.hypothesis.skip:
                self.cursor += len(left)
                if self.hypothesis.name == "moved":
                    self._skipped = list(left)
                return self.match(action)
        raise ReplayStopped


class _ExperimentalExecution(Execution):
    journal_class = _Experiment

    def _schedule_leaf(self, task: Any, parent: Any, index: int) -> Leaf:
        leaf = super()._schedule_leaf(task, parent, index)
        if leaf.event_id < 0:
            self._open.pop(leaf.event_id, None)
            self.mailbox.forget(leaf)
            leaf.done = True
        return leaf


def explain(
    divergence: Divergence,
    turn: Turn,
    code: Code,
    setting: TurnSetting,
    turns: Sequence[RecordedTurn],
    dialect: Dialect,
) -> Divergence:
    """The divergence with its name found by experiment, how much lines up after it, and what to do."""
    named = divergence
    if divergence.now is not None and divergence.kind in ("changed", "added", "moved"):
        scores = [
            (_lines_up(each, divergence, turn, code, setting, turns, dialect), each) for each in _hypotheses(divergence)
        ]
        best, hypothesis = max(scores, key=lambda pair: pair[0])
        kind: Kind = hypothesis.name if best > 0 else divergence.kind
        later = _later_operations(divergence, turns, hypothesis)
        named = msgspec.structs.replace(divergence, kind=kind, lines_up=(min(best, later), later))
    return msgspec.structs.replace(named, to_do=_to_do(named, code, setting, turns, dialect))


def _hypotheses(divergence: Divergence) -> list[Hypothesis]:
    """In the order in which an equal score decides."""
    recorded, now = divergence.recorded, divergence.now
    found = []
    if recorded is not None and now is not None and recorded.type == now.kind and divergence.kind == "changed":
        found.append(Hypothesis("changed"))
    found.append(Hypothesis("added"))
    if divergence.kind != "added":
        skips = range(1, SKIP_AT_MOST + 1)
        found += [Hypothesis("removed", n) for n in skips] + [Hypothesis("moved", n) for n in skips]
    return found


def _lines_up(
    hypothesis: Hypothesis,
    divergence: Divergence,
    turn: Turn,
    code: Code,
    setting: TurnSetting,
    turns: Sequence[RecordedTurn],
    dialect: Dialect,
) -> int:
    """How many recorded operations are made again once this hypothesis is granted."""
    execution = _ExperimentalExecution(code, setting.instance_id, setting.execution_id, turns, turn.snapshot, dialect)
    journal = execution.journal
    assert isinstance(journal, _Experiment)  # noqa: S101
    journal.hypothesis = hypothesis
    journal.place = (divergence.recorded_turn, divergence.operation)
    for recorded in turns:
        if recorded.number > divergence.turn and setting.kv_model == "per-turn":
            break
        if execution.advance(recorded).divergence is not None:
            break
    execution.close()
    return journal.lined_up


def _later_operations(divergence: Divergence, turns: Sequence[RecordedTurn], hypothesis: Hypothesis) -> int:
    """How many recorded operations stand after the place (and after what the hypothesis skips)."""
    last = divergence.turn if divergence.turn != divergence.recorded_turn else None
    left = 0
    for turn in turns:
        if last is not None and turn.number > last:
            break
        if turn.number > divergence.recorded_turn:
            left += len(turn.operations)
        elif turn.number == divergence.recorded_turn:
            taken = {"changed": 1, "added": 0}.get(hypothesis.name, hypothesis.skip)
            left += max(0, len(turn.operations) - (divergence.operation - 1) - taken)
    return left


def _to_do(
    divergence: Divergence, code: Code, setting: TurnSetting, turns: Sequence[RecordedTurn], dialect: Dialect
) -> tuple[str, ...]:
    if divergence.explaining_read is not None:
        if _replays_in_delta_model(code, setting, turns, dialect):
            return ('use the delta model (kv_model="delta"): the same code replays this history there',)
        return ('use the delta model (kv_model="delta"); this history differs there too, at another place',)
    if divergence.kind == "broken history":
        return ("restore the history from a backup: nothing was replayed over it",)
    return (
        "keep the recorded code for running instances (register it under its version) and the new code under another",
        "or let this instance end before the code changes",
    )


def _replays_in_delta_model(code: Code, setting: TurnSetting, turns: Sequence[RecordedTurn], dialect: Dialect) -> bool:
    execution = Execution(code, setting.instance_id, setting.execution_id, turns, setting.start, dialect)
    same = True
    for turn in turns:
        if turn.ending is not None and turn.ending.type == ev.FAILED and turn.abort is not None:
            break
        if execution.advance(turn).divergence is not None:
            same = False
            break
    execution.close()
    return same
