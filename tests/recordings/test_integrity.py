"""Which histories cannot be trusted, and why; and which oddities are none."""

from __future__ import annotations

import json

import pytest

from tests.recordings.files import RECORDED, event_text, recorded, started
from workbench.recordings import open_source
from workbench.recordings.integrity import UNREADABLE, Damage, Row
from workbench.recordings.recording import RecordedExecution
from workbench.recordings.stored import StoredExecution, read_execution, stored_rows
from workbench.runtime import events as ev

SCHEDULED = event_text(2, ev.ACTIVITY_SCHEDULED, name="Echo", input="1")
COMPLETED = event_text(3, ev.ACTIVITY_COMPLETED, source=2, result="1")
WAITS = event_text(4, ev.EVENT_SUBSCRIBED, name="go")
GOOD = (started(), SCHEDULED, COMPLETED, WAITS)


def rows_of(*texts: str) -> tuple[Row, ...]:
    """Rows whose columns say what their texts say."""
    events = [json.loads(text) for text in texts]
    return tuple(Row(event["event_id"], event["type"], text) for event, text in zip(events, texts, strict=True))


def damage_of(*rows: Row, status: str = "Running") -> list[tuple[str, str]]:
    """Row and reason of each damage in a history of instance `a`, execution 1."""
    read = read_execution("a", StoredExecution(1, status, None, rows))
    assert all((damage.instance_id, damage.execution_id) == ("a", 1) for damage in read.damage)
    return [(damage.row, damage.reason) for damage in read.damage]


def damage_in(*texts: str, status: str = "Running") -> list[tuple[str, str]]:
    """The same, for rows whose columns say what their texts say."""
    return damage_of(*rows_of(*texts), status=status)


def test_a_sound_history_has_no_damage() -> None:
    assert damage_in(*GOOD) == []


# Rows.


def test_a_row_that_is_no_json_is_damaged_and_stays_in_its_place() -> None:
    rows = (*rows_of(started()), Row(2, ev.ACTIVITY_SCHEDULED, "{not json"), *rows_of(COMPLETED, WAITS))
    read = read_execution("a", StoredExecution(1, "Running", None, rows))
    assert read.damage == (
        Damage("a", 1, "event 2", "no JSON (JSON is malformed: object keys must be strings (byte 1))"),
    )
    assert [event.type for event in read.history.events] == [
        ev.STARTED,
        UNREADABLE,
        ev.ACTIVITY_COMPLETED,
        ev.EVENT_SUBSCRIBED,
    ]
    assert read.history.texts[1] == "{not json"
    assert stored_rows(read) == rows


@pytest.mark.parametrize("text", ["", "null", "[1]", "[" * 100_000, '{"event_id":', "\ud800", "not UTF-8: {}"])
def test_no_text_gets_past_the_check(text: str) -> None:
    ((row, _),) = damage_of(*rows_of(started()), Row(2, ev.KV_SET, text))
    assert row == "event 2"


def test_a_field_of_another_type_is_damage() -> None:
    wrong = event_text(2, ev.ACTIVITY_SCHEDULED, name=7, input="1")
    assert damage_in(started(), wrong) == [
        ("event 2", "a field is missing or has another type (Expected `str`, got `int` - at `$.name`)")
    ]


def test_a_missing_field_is_damage() -> None:
    assert damage_in(started(), event_text(2, ev.KV_SET, key="n")) == [("event 2", "KeyValueSet has no field 'value'")]


def test_a_kv_set_without_a_time_is_none() -> None:
    assert damage_in(started(), event_text(2, ev.KV_SET, key="n", value="1")) == []


def test_an_error_object_of_no_known_kind_is_damage() -> None:
    failed = event_text(2, ev.FAILED, details={"Mystery": {}})
    assert damage_in(started(), failed, status="Failed") == [
        ("event 2", "the details of OrchestrationFailed are no error of a known kind")
    ]


def test_columns_that_contradict_the_json_are_damage() -> None:
    first, second, third, fourth = rows_of(*GOOD)
    swapped = (first, Row(2, third.event_type, third.text), Row(3, second.event_type, second.text), fourth)
    assert damage_of(*swapped) == [
        ("event 2", "its JSON says event_id 3, the row 2"),
        ("event 3", "its JSON says event_id 2, the row 3"),
    ]
    assert damage_of(first, Row(2, ev.KV_SET, second.text)) == [
        ("event 2", "its JSON says type 'ActivityScheduled', the row 'KeyValueSet'")
    ]


def test_an_event_of_another_instance_or_execution_is_damage() -> None:
    texts = (started().replace('"a"', '"b"'), SCHEDULED.replace('"execution_id":1', '"execution_id":2'))
    assert damage_in(*texts) == [
        ("event 1", "its JSON says instance_id 'b', the row 'a'"),
        ("event 2", "its JSON says execution_id 2, the row 1"),
    ]


def test_failures_of_older_engines_may_leave_instance_and_execution_empty() -> None:
    failed = event_text(2, ev.FAILED, details=ev.application_error("boom"))
    older = failed.replace('"instance_id":"a","execution_id":1', '"instance_id":"","execution_id":0')
    assert damage_in(started(), older, status="Failed") == []


def test_an_event_of_unknown_type_is_no_damage_whatever_its_fields_hold() -> None:
    later = event_text(2, "FutureEventKind", name=["not", "a", "text"], depth={"a": 1})
    read = read_execution("a", StoredExecution(1, "Running", None, rows_of(started(), later, COMPLETED, WAITS)))
    assert read.damage == ()
    assert read.history.events[1].type == "FutureEventKind"
    assert read.history.texts[1] == later


def test_no_event_can_pass_itself_off_as_one_that_was_found_unreadable() -> None:
    assert damage_in(started(), event_text(2, UNREADABLE)) == [("event 2", "its type is 'unreadable'")]


# Sequences.


def test_an_empty_history_is_damage() -> None:
    assert damage_of() == [("event 1", "missing: the history is empty")]


def test_a_missing_start_is_damage() -> None:
    assert damage_in(*GOOD[1:]) == [("event 1", "missing: a history begins with OrchestrationStarted")]


def test_another_first_event_is_damage() -> None:
    assert damage_in(event_text(1, ev.KV_ALL_CLEARED)) == [
        ("event 1", "a history begins with OrchestrationStarted, this one with KeyValuesCleared")
    ]


def test_a_second_start_is_damage() -> None:
    assert damage_in(started(), started(2)) == [("event 2", "a second OrchestrationStarted")]


def test_ids_that_are_there_twice_are_damage() -> None:
    assert damage_in(started(), SCHEDULED, SCHEDULED) == [("event 2", "this id is there twice")]


def test_ids_out_of_order_are_damage() -> None:
    cleared = event_text(3, ev.KV_ALL_CLEARED)
    assert damage_in(started(), cleared, SCHEDULED) == [("event 2", "stands behind event 3")]


def test_ids_below_one_are_damage() -> None:
    assert damage_in(started(), event_text(0, ev.KV_ALL_CLEARED)) == [("event 0", "event ids count from 1")]


def test_holes_are_damage() -> None:
    cleared = event_text(9, ev.KV_ALL_CLEARED)
    assert damage_in(*GOOD[:2], WAITS, cleared) == [("event 3", "missing"), ("events 5 to 8", "missing")]


NONDETERMINISM = ev.nondeterminism_error("schedule mismatch")
POISON = {"Poison": {"attempt_count": 4, "max_attempts": 3, "message_type": {}, "message": ""}}
LOOP = {"Infrastructure": {"operation": "quiescence_loop", "message": "", "retryable": False}}
LIMIT = ev.application_error("KV key count (151) exceeds limit (150)")


@pytest.mark.parametrize("details", [NONDETERMINISM, POISON, LOOP, LIMIT, ev.cancelled_error("stop")])
def test_a_hole_before_an_ending_that_the_engine_wrote_is_none(details: dict[str, object]) -> None:
    ended = event_text(99_999, ev.FAILED, details=details)
    dropped = event_text(7, ev.EVENT_SUBSCRIPTION_CANCELLED, source=4, reason=ev.ORCHESTRATION_TERMINAL)
    assert damage_in(*GOOD, ended, status="Failed") == []
    assert damage_in(*GOOD, dropped, ended, status="Failed") == []


def test_a_hole_before_an_ending_of_the_code_is_damage() -> None:
    failed = event_text(6, ev.FAILED, details=ev.application_error("ValueError: boom"))
    completed = event_text(6, ev.COMPLETED, output="1")
    assert damage_in(*GOOD, failed, status="Failed") == [("event 5", "missing")]
    assert damage_in(*GOOD, completed, status="Completed") == [("event 5", "missing")]


def test_a_hole_before_an_operation_is_damage_also_when_the_engine_ends_it_later() -> None:
    texts = (*GOOD[:2], WAITS, event_text(5, ev.FAILED, details=NONDETERMINISM))
    assert damage_in(*texts, status="Failed") == [("event 3", "missing")]


def test_continue_as_new_takes_an_id_without_an_event() -> None:
    after = event_text(6, ev.KV_ALL_CLEARED)
    continued = event_text(7, ev.CONTINUED_AS_NEW, input="1")
    assert damage_in(*GOOD, after, continued, status="ContinuedAsNew") == []


def test_continue_as_new_takes_one_id_and_in_its_own_turn_only() -> None:
    two_missing = (event_text(7, ev.KV_ALL_CLEARED), event_text(8, ev.CONTINUED_AS_NEW, input="1"))
    assert damage_in(*GOOD, *two_missing, status="ContinuedAsNew") == [("events 5 to 6", "missing")]
    next_turn = (
        event_text(6, ev.KV_ALL_CLEARED),
        event_text(7, ev.EVENT_RECEIVED, name="go", data="1"),
        event_text(8, ev.CONTINUED_AS_NEW, input="1"),
    )
    assert damage_in(*GOOD, *next_turn, status="ContinuedAsNew") == [("event 5", "missing")]
    nothing_after = event_text(6, ev.CONTINUED_AS_NEW, input="1")
    assert damage_in(*GOOD, nothing_after, status="ContinuedAsNew") == [("event 5", "missing")]


def test_an_answer_to_nothing_is_damage() -> None:
    assert damage_in(started(), event_text(2, ev.TIMER_FIRED, source=9, fire_at_ms=1)) == [
        ("event 2", "TimerFired answers event 9, which is not there before it")
    ]
    assert damage_in(started(), event_text(2, ev.TIMER_FIRED, fire_at_ms=1)) == [
        ("event 2", "TimerFired names no event that it answers")
    ]


def test_an_answer_to_another_kind_of_schedule_is_damage() -> None:
    assert damage_in(*GOOD[:2], event_text(3, ev.TIMER_FIRED, source=2, fire_at_ms=1)) == [
        ("event 3", "TimerFired answers event 2, which is ActivityScheduled")
    ]


def test_an_answer_to_a_later_event_is_damage() -> None:
    answer = event_text(2, ev.ACTIVITY_COMPLETED, source=3, result="1")
    assert damage_in(started(), answer, event_text(3, ev.ACTIVITY_SCHEDULED, name="Echo", input="1")) == [
        ("event 2", "ActivityCompleted answers event 3, which is not there before it")
    ]


def test_an_answer_to_an_event_of_unknown_type_is_none() -> None:
    assert damage_in(started(), event_text(2, "FutureEventKind"), COMPLETED) == []


def test_a_second_outcome_is_no_damage() -> None:
    again = event_text(4, ev.ACTIVITY_COMPLETED, source=2, result="1")
    assert damage_in(*GOOD[:3], again) == []


def test_an_ended_execution_without_an_ending_is_damage() -> None:
    assert damage_in(*GOOD, status="Completed") == [
        ("ending", "missing: the execution is Completed, its history has no ending")
    ]


def test_a_status_that_does_not_exist_is_damage() -> None:
    assert damage_in(*GOOD, status="Dreaming") == [
        ("status", "'Dreaming' is none of Running, Completed, Failed, ContinuedAsNew")
    ]


def test_stored_turn_numbers_that_do_not_count_are_damage_and_replaced() -> None:
    read = read_execution("a", StoredExecution(1, "Running", None, rows_of(*GOOD), (1, 1, 4, 3)))
    assert read.damage == (Damage("a", 1, "turns", "their stored numbers are 1, 1, 4, 3 and do not count 1, 2, 3 …"),)
    assert read.history.turns == (1, 1, 2, 2)
    assert read.turns_inferred


# What duroxide wrote.


def all_recorded() -> list[tuple[str, RecordedExecution]]:
    """Every execution of the recordings but the one that was damaged on purpose."""
    executions = []
    for path in RECORDED:
        if not path.name.startswith("P-15"):
            with open_source(path) as source:
                executions += [(r.instance_id, execution) for r in source.recordings() for execution in r.executions]
    return executions


def test_no_recording_of_the_real_engine_is_called_damaged() -> None:
    executions = all_recorded()
    assert len(executions) > 70
    assert [damage for _, execution in executions for damage in execution.damage] == []


def test_a_row_taken_out_of_a_recording_is_missed_at_its_place() -> None:
    tried = 0
    for instance_id, execution in all_recorded():
        if execution.status == "Failed":
            continue  # in front of an ending of the engine's own ids may be missing
        rows = stored_rows(execution)
        for index, row in enumerate(rows[:-1]):
            broken = StoredExecution(execution.execution_id, execution.status, None, rows[:index] + rows[index + 1 :])
            damage = read_execution(instance_id, broken).damage
            assert f"event {row.event_id}" in [found.row for found in damage]
            tried += 1
    assert tried > 250


def test_the_damaged_recording_says_row_and_reason() -> None:
    with open_source(recorded("P-15")) as source:
        damage = {
            recording.instance_id: [str(found) for found in recording.damage] for recording in source.recordings()
        }
    assert damage == {
        "a": ["'a', execution 1, event 2: no JSON (JSON is malformed: object keys must be strings (byte 1))"],
        "b": [],
        "c": ["'c', execution 1, event 3: missing"],
    }
