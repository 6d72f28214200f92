"""How often random edits of random programs are named for what they are, on histories of the real engine.

Inputs and values of these programs hash everything that was seen before, so that one edit changes all that follows:
harder than real code: a dropped statement may send everything after it another way. Run with `-s` for the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.cases.random_edits import Edit, edited_at_random
from tests.oracle.cases import load
from tests.oracle.comparing import turns_of
from tests.oracle.programs import random_cases
from tests.oracle.record import RecordedInstance, record
from workbench.recordings.explain import explain
from workbench.recordings.tracing import trace_execution
from workbench.runtime import kv
from workbench.runtime.dialect import DUROXIDE
from workbench.runtime.divergence import Divergence
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.turn import TurnSetting

pytestmark = [pytest.mark.oracle, pytest.mark.long]

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
    "add timer": 0.9,
    "add activity": 0.98,
    "drop": 0.85,
    "swap": 0.7,
    "change": 0.97,
    "return": 0.98,
    "raise": 0.98,
}
EDITS_OF_EACH = 4


def divergence_of(recorded: RecordedInstance, code: Code) -> Divergence | None:
    """Where the code parts from the record, explained; None when it does not, as for a place that was never reached."""
    tables = kv.Tables()
    for execution in recorded.executions:
        turns = turns_of(execution)
        setting = TurnSetting(
            instance_id=recorded.instance_id,
            orchestration=recorded.orchestration,
            execution_id=execution.execution_id,
            kv_model="delta",
            limits=Limits.duroxide(),
            start=kv.snapshot(tables),
        )
        last = trace_execution(code, setting, turns, DUROXIDE)[-1]
        if last.divergence is not None:
            return explain(last.divergence, last, code, setting, turns, DUROXIDE)
        for turn in turns:
            tables = kv.apply_turn("delta", tables, turn.events, turn.ending is not None)
    return None


@pytest.fixture(scope="module")
def programs() -> list[RecordedInstance]:
    return [each for each in record(random_cases(seed=11, count=120)) if each.case is not None]


def named(programs: list[RecordedInstance], edit: Edit) -> Iterator[str]:
    for recorded in programs:
        assert recorded.case is not None
        for number in range(EDITS_OF_EACH):
            source = edited_at_random(recorded.case.source, edit, f"{recorded.instance_id} {edit} {number}")
            if source is not None:
                divergence = divergence_of(recorded, load(source, recorded.case.function))
                if divergence is not None:
                    yield divergence.kind


@pytest.mark.parametrize("edit", NAMES)
def test_most_edits_are_named_for_what_they_are(programs: list[RecordedInstance], edit: Edit) -> None:
    kinds = Counter(named(programs, edit))
    right = sum(count for kind, count in kinds.items() if kind in NAMES[edit])
    print(f"{edit}: {right} of {kinds.total()} ({right / kinds.total():.1%}), {dict(kinds)}")
    assert kinds.total() > 20
    assert right / kinds.total() >= FLOOR[edit], kinds
