"""Random edits of random programs are found on histories of the real engine, at the operation where they begin.

What the truth is, is told by another way than matching: the edited code is run over the history and what it asks for
is written down, up to the first thing that is not what the history has next.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any, get_args

import pytest

from tests.cases.random_edits import Edit, edited_at_random
from tests.oracle.cases import load
from tests.oracle.comparing import turns_of
from tests.oracle.conftest import SEED
from tests.oracle.in_flight import snapshot_of
from tests.oracle.record import RecordedInstance
from workbench.recordings.experiment import records_before
from workbench.recordings.reference import DryRun, Emitted, replayed_events
from workbench.recordings.tracing import trace_execution
from workbench.runtime import kv
from workbench.runtime.actions import Action, Signature
from workbench.runtime.dialect import DUROXIDE
from workbench.runtime.execution import Code
from workbench.runtime.limits import Limits
from workbench.runtime.turn import TurnSetting
from workbench.runtime.turns import Record, RecordedTurn

pytestmark = pytest.mark.oracle


class Listing(Emitted):
    """Also keeps what was asked for."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[Signature] = []

    def match(self, action: Action) -> Record:
        self.asked.append(action.signature)
        return super().match(action)


class ListingRun(DryRun):
    journal_class = Listing
    journal: Listing


def asked_for(code: Code, instance_id: str, execution_id: int, turns: list[RecordedTurn], start: kv.Table) -> list[Any]:
    """What the code asks for, in order; it is not followed beyond the first difference."""
    run = ListingRun(code, instance_id, execution_id, turns, start, DUROXIDE)
    run.verdict(list(replayed_events(turns)))
    run.close()
    return run.journal.asked


def first_difference(asked: list[Signature], recorded: list[Signature]) -> int | None:
    """The index of the first operation that is another one, or is there on one side only."""
    pairs = enumerate(zip_longest(asked, recorded))
    return next((index for index, (one, other) in pairs if one != other), None)


def test_every_edit_that_changes_what_is_asked_for_is_found_there(
    random_programs: list[RecordedInstance], request: pytest.FixtureRequest
) -> None:
    """Code that does as recorded, only earlier, may be noticed before; that is the one other place."""
    programs = [each for each in random_programs if each.case is not None]
    rounds = 10
    if not request.config.getoption("--long"):
        rounds, programs = 1, programs[::3]
    outcomes: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for number in range(rounds):
        for at, recorded in enumerate(programs):
            edit = get_args(Edit)[(at + number) % len(get_args(Edit))]
            outcome = compared(recorded, edit, f"{SEED} {number}")
            outcomes[outcome.partition(":")[0]] += 1
            if outcome.startswith("wrong"):
                wrong[f"{recorded.instance_id} {edit} {number}"] = outcome
    print(outcomes)
    assert not wrong, f"{len(wrong)}: {list(wrong.items())[:5]}"
    assert outcomes["found there"] > 0.3 * outcomes.total()


def compared(recorded: RecordedInstance, edit: Edit, seed: str) -> str:
    """How the replay of the edited program compares with the truth, in the first execution that differs."""
    assert recorded.case is not None
    source = edited_at_random(recorded.case.source, edit, seed)
    if source is None:
        return "no place for it"
    original, code = (load(each, recorded.case.function) for each in (recorded.case.source, source))
    for execution in recorded.executions:
        turns = [turn for turn in turns_of(execution) if turn.abort is None]
        start = snapshot_of(recorded, execution)
        whose = (recorded.instance_id, execution.execution_id, turns, start)
        records = [record.signature for turn in turns for record in turn.operations]
        if asked_for(original, *whose)[: len(records)] != records:
            return "not to be told"  # a prune by age
        index = first_difference(asked_for(code, *whose), records)
        setting = TurnSetting(
            instance_id=recorded.instance_id,
            orchestration=recorded.orchestration,
            execution_id=execution.execution_id,
            kv_model="delta",
            limits=Limits.duroxide(),
            start=start,
        )
        last = trace_execution(code, setting, turns, DUROXIDE)[-1]
        if last.divergence is not None:
            found = records_before(turns, last.divergence.recorded_turn, last.divergence.operation)
            if index is None or found < index:
                return "found earlier" if last.divergence.kind in EARLIER else f"wrong: {found} before {index}"
            return "found there" if found == index else f"wrong: {found}, not {index}"
        if last.outcome_difference is not None:
            return "another outcome"
        if index is not None and index < len(records):
            return f"wrong: missed at {index}"
    return "never reached"


EARLIER = ("moved", "race changed", "ended early", "runs on", "removed")
"""What code does that asks for the same things in the same order, in other turns."""
