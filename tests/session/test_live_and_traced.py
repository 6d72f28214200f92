"""The turn that was made and the same turn run again from its history are equal: one mechanism, seen twice.

Each of a dozen orchestrations is run once on each KV model, turn by turn; every test looks at the same runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pytest

from tests.session.conftest import with_activities
from tests.session.flows import SCRIPTS, child, drive
from workbench import Recording, Run, Workbench
from workbench.runtime import kv
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.runtime.turn import Turn

CASES: list[tuple[KVModel, str]] = [(model, name) for model in (DELTA, PER_TURN) for name in SCRIPTS]
every_case = pytest.mark.parametrize(("model", "name"), CASES, ids=[f"{name}, {model}" for model, name in CASES])


class Made(NamedTuple):
    """A run, its turns as they were made, and its recording."""

    run: Run
    turns: list[Turn]
    recording: Recording


Runs = dict[tuple[KVModel, str], Made]


def run_all(wb: Workbench, names: Iterable[str] = SCRIPTS) -> dict[str, Made]:
    with_activities(wb).orchestration("Child")(child)
    made = {}
    for name in names:
        run, turns = drive(wb, SCRIPTS[name])
        made[name] = Made(run, turns, run.recording())
    return made


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with Workbench(kv_model=DELTA) as delta, Workbench(kv_model=PER_TURN) as per_turn:
        by_model = {DELTA: run_all(delta), PER_TURN: run_all(per_turn)}
        yield {(model, name): by_model[model][name] for model, name in CASES}


@every_case
def test_each_turn_made_is_the_turn_run_again(runs: Runs, model: KVModel, name: str) -> None:
    made = runs[model, name]
    assert len(made.turns) == len(made.run.turns)
    for live, again in zip(made.turns, made.run.turns, strict=True):
        for field in Turn.__struct_fields__:
            one, other = getattr(live, field), getattr(again, field)
            assert one == other or list(one) == list(other), f"{live.address}: {field}"


@every_case
def test_both_tell_the_same(runs: Runs, model: KVModel, name: str) -> None:
    made = runs[model, name]
    assert [turn.text() for turn in made.turns] == [turn.text() for turn in made.run.turns]


@every_case
def test_the_events_of_the_turns_are_the_history(runs: Runs, model: KVModel, name: str) -> None:
    made = runs[model, name]
    history = [event for execution in made.recording.executions for event in execution.history.events]
    assert [event for turn in made.turns for event in turn.events] == history
    executions = [(turn.execution_id, turn.number) for turn in made.turns]
    assert executions == [(x.execution_id, n) for x in made.recording.executions for n in sorted(set(x.history.turns))]


@every_case
def test_the_tables_after_the_last_turn_are_the_stored_ones(runs: Runs, model: KVModel, name: str) -> None:
    made = runs[model, name]
    for before, after in zip(made.turns, made.turns[1:], strict=False):
        assert before.after == after.before
    assert made.turns[-1].after == made.recording.kv_tables
    assert {key: entry.value for key, entry in kv.client_view(made.turns[-1].after).items()} == made.run.kv


@every_case
def test_what_a_replay_was_seeded_with_is_what_the_store_held(runs: Runs, model: KVModel, name: str) -> None:
    for turn in runs[model, name].turns:
        if model == PER_TURN:
            assert turn.snapshot == kv.snapshot(turn.before)
        else:
            first = next(each for each in runs[model, name].turns if each.execution_id == turn.execution_id)
            assert turn.snapshot == kv.snapshot(first.before)


@every_case
def test_the_recording_survives_json_and_replays_as_the_same(runs: Runs, model: KVModel, name: str) -> None:
    made = runs[model, name]
    text = made.recording.to_json()
    again = Recording.from_json(text)
    assert again == made.recording
    assert again.to_json() == text
    assert again.kv_model == model
    replay = again.replay(SCRIPTS[name].code)
    assert replay.verdict == "same"
    assert replay.strict_differences == ()
    assert [turn.events for turn in replay.turns] == [turn.events for turn in made.turns]
    assert [turn.snapshot for turn in replay.turns] == [turn.snapshot for turn in made.turns]


@every_case
def test_no_read_of_these_is_poisoned(runs: Runs, model: KVModel, name: str) -> None:
    for turn in runs[model, name].turns:
        assert not any(each.read is not None and each.read.poisoned for each in (*turn.replayed, *turn.operations))


def test_both_models_record_the_same_events(runs: Runs) -> None:
    for name in SCRIPTS:
        one, other = runs[DELTA, name].recording, runs[PER_TURN, name].recording
        assert [x.history.texts for x in one.executions] == [x.history.texts for x in other.executions], name


def test_a_second_run_tells_the_same_word_for_word(runs: Runs) -> None:
    with Workbench() as wb:
        for name, made in run_all(wb, list(SCRIPTS)[:8]).items():
            first = runs[DELTA, name]
            assert [turn.text() for turn in made.turns] == [turn.text() for turn in first.turns]
            assert (made.run.text(), made.run.outcome) == (first.run.text(), first.run.outcome)
            assert made.recording.to_json() == first.recording.to_json()
