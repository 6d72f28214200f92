"""The code that wrote a recording replays as the same, every operation of it on its own line."""

from __future__ import annotations

import pytest

from tests.cases import programs
from tests.cases.edited import Code, edited
from tests.cases.recorded import QUEUE_FILE, instances, recording
from workbench import Recording
from workbench.runtime.lines import source_line, user_line

RECORDED = [
    ("P-01", "a", programs.read_modify_write),
    ("P-02", "a", programs.cleanup_in_finally),
    ("P-02b", "a", programs.lease),
    ("P-03", "a", programs.compensation),
    ("P-04", "a", programs.same_task_twice),
    ("P-06", "a", programs.timer_then_activity),
    ("P-11", "x", programs.clear_and_set),
    ("P-12", "b", programs.event_twice),
    ("P-12", "d", programs.event_twice),
]


@pytest.mark.parametrize(("case", "instance_id", "program"), RECORDED)
def test_the_recorded_code_is_the_same(case: str, instance_id: str, program: Code) -> None:
    replay = recording(case, instance_id).replay(program)
    assert replay.verdict == "same"
    assert replay.strict_differences == ()
    assert replay.unknown_events == ()
    assert len(replay.turns) == replay.recording.turn_count
    replay.raise_for_verdict()


@pytest.mark.parametrize(("case", "instance_id", "program"), RECORDED)
def test_every_operation_is_compared_and_has_a_line_that_makes_it(case: str, instance_id: str, program: Code) -> None:
    replay = recording(case, instance_id).replay(program)
    operations = [each for turn in replay.turns for each in turn.operations if each.number is not None]
    recorded = [each for turn in recording(case, instance_id).replay().turns for each in turn.operations]
    assert replay.compared == len(operations) == len(recorded)
    for operation, record in zip(operations, recorded, strict=True):
        assert (operation.state, operation.event_id) == ("replayed", record.event_id)
        line = user_line(operation.chain)
        assert line is not None
        assert "ctx." in source_line(line.file, line.line) or "yield" in source_line(line.file, line.line)


def test_p_12_a_waits_for_an_event_that_came_too_early() -> None:
    replay = recording("P-12", "a").replay(programs.event_before_the_wait)
    assert replay.verdict == "same, still running"
    assert [turn.number for turn in replay.turns if turn.unhandled] == [2]
    assert replay.turns[1].warnings == ("event E arrived, nobody waiting",)
    assert replay.turns[2].waiting_for == ("wait for event 'E', event 5",)


def test_p_12_b_answers_each_wait_once_and_the_second_event_is_lost() -> None:
    replay = recording("P-12", "b").replay(programs.event_twice)
    second = replay.turns[1]
    assert [event.event_id for event in second.arrivals] == [3, 4]
    assert second.woken_by is not None
    assert second.woken_by.event_id == 3
    assert [event.event_id for event in second.unhandled] == [4]
    assert second.warnings == ("event E arrived, nobody waiting",)


def test_p_12_d_matches_names_exactly() -> None:
    replay = recording("P-12", "d").replay(programs.event_twice)
    assert replay.turns[1].warnings == ("event e arrived, nobody waiting",)
    assert replay.turns[1].woken_by is None


VALUES_OF_ACTIVITIES = [each for each in instances("P-08") if each.instance_id.startswith("a-")]
VALUES_OF_ORCHESTRATIONS = [each for each in instances("P-08") if each.instance_id.startswith("b-")]


@pytest.mark.parametrize("each", VALUES_OF_ACTIVITIES, ids=lambda each: each.instance_id)
def test_p_08_an_activity_gives_every_value_with_its_type(each: Recording) -> None:
    assert each.replay(programs.value_of_activity).verdict == "same"


@pytest.mark.parametrize("each", VALUES_OF_ORCHESTRATIONS, ids=lambda each: each.instance_id)
def test_p_08_an_orchestration_gives_every_value_and_fails_with_those_that_are_no_json(each: Recording) -> None:
    assert each.replay(programs.value_of_orchestration).verdict == "same"


def test_p_08_a_queue_gives_every_message_with_its_type_in_order() -> None:
    recording = Recording.from_json(QUEUE_FILE)
    assert recording.is_duroxide
    assert recording.replay(programs.values_of_queue).verdict == "same"
    shuffled = edited(programs.values_of_queue, "values.append(", "values.insert(0, ")
    assert recording.replay(shuffled).verdict == "different outcome"


def test_p_08_another_value_is_a_different_outcome() -> None:
    wrong = edited(programs.value_of_activity, '"v": value', '"v": value or None')
    verdicts = {each.instance_id: each.replay(wrong).verdict for each in VALUES_OF_ACTIVITIES}
    changed = {name for name, verdict in verdicts.items() if verdict == "different outcome"}
    assert changed == {"a-false", "a-zero", "a-negzero", "a-empty"}
