"""The reference engine's verdict is held to the real engine: it takes up the same histories with the same code.

`WORKBENCH_ORACLE_EDITS` (30) is how many random edits of random programs are tried; thousands take a minute.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import get_args

import pytest

from tests.cases.edited import line_of, typed
from tests.cases.random_edits import Edit as RandomEdit
from tests.cases.random_edits import edited_at_random
from tests.oracle.cases import load
from tests.oracle.conftest import SEED, Record
from tests.oracle.edits import CASES, EDITS, GOES_ON, PROGRAMS, Edit
from tests.oracle.in_flight import InFlight, differs, in_flight, with_row
from tests.oracle.one_more_turn import Answer, take_up
from tests.oracle.record import RecordedInstance
from workbench.recordings.replay import Replay

pytestmark = pytest.mark.oracle

EACH = [
    pytest.param(origin, number, program, edit, id=f"{origin}: {program}: {edit.after}")
    for origin, edits in EDITS.items()
    for number, (program, edit) in enumerate(edits)
]


def changed(program: str, edit: Edit) -> str:
    """The program's source with the edit made; further lines are indented as the first is."""
    source = PROGRAMS[program]
    assert source.count(edit.before) == 1
    return source.replace(edit.before, edit.after.replace("\n", "\n    "))


@pytest.fixture(scope="module")
def moments(recording: Record) -> dict[str, InFlight]:
    """Every edit, at the moment where its program waits."""
    recorded = {each.instance_id: each for each in recording(CASES)}
    found = {}
    for origin, edits in EDITS.items():
        for number, (program, edit) in enumerate(edits):
            instance = recorded[f"in flight {program}"]
            [execution] = instance.executions
            assert execution.status == "Running"
            name = f"{origin} {number}"
            found[name] = in_flight(instance, execution, len(execution.turns), changed(program, edit), name)
    behind_the_wait = next(found[f"P-14 {n}"] for n, (_, edit) in enumerate(EDITS["P-14"]) if edit.kind is None)
    found["hole"] = with_row(behind_the_wait, "hole", 2, repeated=False)
    found["twice"] = with_row(behind_the_wait, "twice", 2, repeated=True)
    return found


@pytest.fixture(scope="module")
def answers(moments: dict[str, InFlight]) -> dict[str, Answer]:
    """What the real engine does with each of them."""
    return take_up([each.stored for each in moments.values()])


@pytest.mark.parametrize(("origin", "number", "program", "edit"), EACH)
class TestEdits:
    """Verdict, event, line and kind are ours; what duroxide makes of it is its own, and we say it beforehand."""

    def replayed(self, moments: dict[str, InFlight], origin: str, number: int) -> Replay:
        moment = moments[f"{origin} {number}"]
        return moment.recording.replay(typed(moment.stored.source))

    def test_ours(self, moments: dict[str, InFlight], origin: str, number: int, program: str, edit: Edit) -> None:
        replay = self.replayed(moments, origin, number)
        divergence = replay.divergence
        if edit.kind is None:
            assert replay.verdict == "same, still running"
            assert [(each.event_id, each.what) for each in replay.strict_differences] == (
                [(edit.event, edit.line)] if edit.line else []
            )
            return
        assert replay.verdict == "diverged"
        assert divergence is not None
        event = None if divergence.recorded is None else divergence.recorded.event_id
        assert (divergence.kind, event, line_of(divergence)) == (edit.kind, edit.event, edit.line)

    def test_duroxide_s(
        self,
        moments: dict[str, InFlight],
        answers: dict[str, Answer],
        origin: str,
        number: int,
        program: str,
        edit: Edit,
    ) -> None:
        real = answers[f"{origin} {number}"]
        ours = self.replayed(moments, origin, number).reference_verdict
        assert ours is not None
        assert differs(ours, real) is None
        if edit.duroxide in (GOES_ON, "Completed", "Failed"):
            assert (real.message, real.status) == (None, "Running" if edit.duroxide == GOES_ON else edit.duroxide)
        else:
            assert real.message is not None
            assert real.message.startswith(edit.duroxide)


def test_a_hole_in_the_ids_is_damage_to_us_and_nothing_to_duroxide(
    moments: dict[str, InFlight], answers: dict[str, Answer]
) -> None:
    moment = moments["hole"]
    assert moment.recording.replay(typed(moment.stored.source)).verdict == "damaged history"
    assert answers["hole"] == Answer(None, "Running", None)


def test_a_schedule_that_is_there_twice_diverges_for_both(
    moments: dict[str, InFlight], answers: dict[str, Answer]
) -> None:
    moment = moments["twice"]
    replay = moment.recording.replay(typed(moment.stored.source))
    assert replay.verdict == "diverged"
    assert replay.reference_verdict is not None
    assert differs(replay.reference_verdict, answers["twice"]) is None
    assert answers["twice"].message is not None


def random_batches(programs: list[RecordedInstance], count: int) -> Iterator[list[InFlight]]:
    """Random programs with a random edit each, after a random turn of a random execution; ids as they were recorded."""
    for attempt in range(count):
        found: list[InFlight] = []
        for recorded in programs:
            random = Random(f"{SEED} {attempt} {recorded.instance_id}")
            assert recorded.case is not None
            source = edited_at_random(recorded.case.source, random.choice(get_args(RandomEdit)), f"{SEED} {attempt}")
            if source is None:
                continue
            execution = random.choice(recorded.executions)
            found.append(in_flight(recorded, execution, random.randint(1, len(execution.turns)), source))
            count -= 1
            if count == 0:
                yield found
                return
        yield found


def test_random_edits_of_random_programs(random_programs: list[RecordedInstance]) -> None:
    count = int(os.environ.get("WORKBENCH_ORACLE_EDITS", "30"))
    wrong = {}
    said: Counter[bool] = Counter()
    for batch in random_batches([each for each in random_programs if each.case is not None], count):
        real = take_up([each.stored for each in batch])
        for moment in batch:
            name, source = moment.stored.instance_id, moment.stored.source
            ours = moment.recording.replay(load(source, moment.stored.function)).reference_verdict
            assert ours is not None
            said[ours.accepted] += 1
            difference = differs(ours, real[name])
            if difference is not None:
                wrong[name] = f"{difference}\n{source}"
    assert not wrong, "\n\n".join([f"{len(wrong)} of {said.total()}: {', '.join(wrong)}", *list(wrong.values())[:5]])
    assert said.total() == count
    assert said[True]
    assert said[False]
