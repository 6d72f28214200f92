"""How often random edits of random programs are named for what they are, on histories of the real engine.

Inputs and values of these programs hash everything that was seen before, so that one edit changes all that follows:
harder than real code. Run with `-s` for the figures.

An edit whose name the record cannot tell is counted apart, by a rule that looks only at the run that was recorded
and at the operation made now (`can_be_told`): it must leave a trace that another edit would not leave as well.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.cases.random_edits import Edit, edited_at_random
from tests.oracle.cases import load
from tests.oracle.comparing import turns_of
from tests.oracle.in_flight import snapshot_of
from tests.oracle.programs import random_cases
from tests.oracle.record import RecordedInstance, record
from workbench.recordings.experiment import records_before
from workbench.recordings.explain import explain
from workbench.recordings.tracing import trace_execution
from workbench.runtime.dialect import DUROXIDE
from workbench.runtime.divergence import Divergence
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn, TurnSetting
from workbench.runtime.turns import RecordedTurn

pytestmark = pytest.mark.oracle

NAMES: dict[Edit, set[str]] = {
    "add write": {"added", "runs on"},
    "add status": {"added", "runs on"},
    "add timer": {"added", "runs on"},
    "add activity": {"added", "runs on"},
    "drop": {"removed", "ended early"},
    "swap": {"moved"},
    "change": {"changed"},
    "return": {"ended early"},
    "raise": {"ended early"},
}
"""What each edit may be called; what is added or dropped at the very end also lets the code run on or end early."""
FLOOR: dict[Edit, float] = {
    "add write": 0.98,
    "add status": 0.98,
    "add timer": 0.98,
    "add activity": 0.98,
    "drop": 0.96,
    "swap": 0.95,
    "change": 0.97,
    "return": 0.98,
    "raise": 0.98,
}
"""The least share that is named right, of those that can be told."""
SEED = 11
PROGRAMS, EDITS_OF_EACH = 30, 2
MANY_PROGRAMS, MANY_EDITS_OF_EACH = 120, 4
ENOUGH, AT_MOST_OF_EACH = 25, 20
"""Edits that can be told, before a share of them says something. How many of the first ones can be told is another
number in each recording, as the real engine runs by the clock; where they are too few, each program is edited again."""


class Recorded(NamedTuple):
    """One execution of a recorded program."""

    setting: TurnSetting
    turns: list[RecordedTurn]

    def run(self, code: Code) -> Turn:
        """The last turn that the code gets to."""
        return self.all_turns(code)[-1]

    def all_turns(self, code: Code) -> list[Turn]:
        return trace_execution(code, self.setting, self.turns, DUROXIDE)


def executions_of(recorded: RecordedInstance) -> Iterator[Recorded]:
    for execution in recorded.executions:
        setting = TurnSetting(
            instance_id=recorded.instance_id,
            orchestration=recorded.orchestration,
            execution_id=execution.execution_id,
            kv_model="delta",
            limits=Limits.duroxide(),
            start=snapshot_of(recorded, execution),
        )
        yield Recorded(setting, list(turns_of(execution)))


def named(recorded: RecordedInstance, edit: Edit, source: str) -> tuple[Divergence, bool] | None:
    """Where the edited program parts from the record, explained, and whether its name can be told.

    None when it does not part, as for a place that was never reached.
    """
    assert recorded.case is not None
    code = load(source, recorded.case.function)
    original = ast.unparse(ast.parse(recorded.case.source))
    for execution in executions_of(recorded):
        last = execution.run(code)
        if last.divergence is not None:
            found = explain(last.divergence, last, code, execution.setting, execution.turns, DUROXIDE)
            edited = edited_lines(original, source)
            statements = 2 if edit == "swap" else 1
            told = can_be_told(execution, load(original, recorded.case.function), last.divergence, edited, statements)
            return found, told
    return None


def edited_lines(original: str, source: str) -> set[int]:
    """The numbers of the original lines that are not the same any more; an added line has none."""
    before, after = original.splitlines(), source.splitlines()
    if len(before) != len(after):
        return set()
    return {number for number, (one, other) in enumerate(zip(before, after, strict=True), 1) if one != other}


def can_be_told(execution: Recorded, original: Code, divergence: Divergence, edited: set[int], statements: int) -> bool:
    """Whether the record holds what tells this edit from others.

    An added statement and an early end always do. Of a dropped, swapped or changed one the record must hold an
    operation at the place where the code parts from it (`all([])` makes none: only later values are others, as if
    they had been changed; of two swapped ones both must have one), and behind it one of another statement (with
    nothing behind it, "no longer made" and "another one in its place" are the same record). And the code must go on
    with that very statement: these programs branch by a hash of all they have seen, and one that turns another way
    has put other statements in the place.
    """
    if not edited:
        return True
    made = [
        (each.event_id, {line.line for line in each.chain})
        for turn in execution.all_turns(original)
        for each in turn.operations
        if each.number is not None
    ]
    rest = made[records_before(execution.turns, divergence.recorded_turn, divergence.operation) :]
    made_by = {min(lines & edited) for _, lines in rest if lines & edited}
    if len(made_by) < statements or not rest[0][1] & edited:
        return False
    behind = next((lines for _, lines in rest if not lines & edited), None)
    if behind is None:
        return divergence.kind == "ended early"
    now = {line.line for line in divergence.chain}
    return divergence.now is None or bool(now & edited) or now == behind


@pytest.fixture(scope="module")
def programs(request: pytest.FixtureRequest) -> list[RecordedInstance]:
    count = MANY_PROGRAMS if request.config.getoption("--long") else PROGRAMS
    return [each for each in record(random_cases(SEED, count)) if each.case is not None]


@pytest.mark.parametrize("edit", NAMES)
def test_most_edits_are_named_for_what_they_are(
    programs: list[RecordedInstance], edit: Edit, request: pytest.FixtureRequest
) -> None:
    rounds = MANY_EDITS_OF_EACH if request.config.getoption("--long") else EDITS_OF_EACH
    told: Counter[str] = Counter()
    untold: Counter[str] = Counter()
    for number in range(AT_MOST_OF_EACH):
        if number >= rounds and told.total() >= ENOUGH:
            break
        for recorded in programs:
            assert recorded.case is not None
            source = edited_at_random(recorded.case.source, edit, f"{recorded.instance_id} {edit} {number}")
            found = None if source is None else named(recorded, edit, source)
            if found is not None:
                (told if found[1] else untold)[found[0].kind] += 1
    right = sum(count for kind, count in told.items() if kind in NAMES[edit])
    print(
        f"{edit}: {right} of {told.total()} ({right / told.total():.1%}), {dict(told)}; not to be told: {dict(untold)}"
    )
    assert told.total() >= ENOUGH
    assert right / told.total() >= FLOOR[edit], told
    assert untold.total() < 2 * told.total()  # the rule does not excuse most of them
