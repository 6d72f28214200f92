"""Events have duroxide's own JSON: key order, escapes, what is left out (semantics §1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from workbench.recordings.sources import open_source
from workbench.runtime import events as ev

RECORDINGS = sorted((Path(__file__).parents[1] / "cases" / "recordings").glob("*.db"))


def recorded_texts(path: Path) -> list[str]:
    """Every event text in a file."""
    with open_source(path) as source:
        return [
            text
            for recording in source.recordings()
            for execution in recording.executions
            for text in execution.history.texts
        ]


def is_known(text: str) -> bool:
    try:
        return json.loads(text)["type"] in ev.KNOWN_TYPES
    except (ValueError, KeyError):
        return False


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_event_that_the_real_engine_wrote_is_written_again_to_the_letter(path: Path) -> None:
    texts = [text for text in recorded_texts(path) if is_known(text)]
    assert texts
    for text in texts:
        assert ev.encode_event(ev.decode_event(text)) == text


def test_the_recordings_hold_most_kinds() -> None:
    seen = {json.loads(text)["type"] for path in RECORDINGS for text in recorded_texts(path) if is_known(text)}
    assert len(seen) >= 14, sorted(ev.KNOWN_TYPES - seen)


def made(kind: str, **fields: Any) -> str:
    return ev.encode_event(ev.new_event("i", 1, 2, 1_000, kind, **fields))


ENVELOPE = '{"event_id":2,"source_event_id":null,"instance_id":"i","execution_id":1,"timestamp_ms":1000,'
ENVELOPE += f'"duroxide_version":"{ev.WRITER}",'


@pytest.mark.parametrize(
    ("kind", "fields", "body"),
    [
        (
            ev.STARTED,
            {
                "name": "F",
                "version": "1.0.0",
                "input": "1",
                "parent_instance": None,
                "parent_id": None,
                "carry_forward_events": [("q", "1")],
                "initial_custom_status": "s",
                "parent_execution_id": 2,
            },
            (
                '"name":"F","version":"1.0.0","input":"1","parent_instance":null,"parent_id":null,'
                '"carry_forward_events":[["q","1"]],"initial_custom_status":"s","parent_execution_id":2}'
            ),
        ),
        (ev.COMPLETED, {"output": "1"}, '"output":"1"}'),
        (ev.CONTINUED_AS_NEW, {"input": "1"}, '"input":"1"}'),
        (ev.CANCEL_REQUESTED, {"reason": ""}, '"reason":""}'),
        (
            ev.ACTIVITY_SCHEDULED,
            {"name": "A", "input": "1", "session_id": "s", "tag": "t"},
            '"name":"A","input":"1","session_id":"s","tag":"t"}',
        ),
        (ev.ACTIVITY_SCHEDULED, {"name": "A", "input": "1"}, '"name":"A","input":"1"}'),
        (ev.TIMER_CREATED, {"fire_at_ms": 5}, '"fire_at_ms":5}'),
        (ev.CHILD_SCHEDULED, {"name": "C", "instance": "c", "input": "1"}, '"name":"C","instance":"c","input":"1"}'),
        (ev.DETACHED_STARTED, {"name": "D", "instance": "d", "input": "1"}, '"name":"D","instance":"d","input":"1"}'),
        (ev.EVENT_RECEIVED, {"name": "e", "data": "1"}, '"name":"e","data":"1"}'),
        (ev.STATUS_UPDATED, {"status": None}, '"status":null}'),
        (
            ev.KV_SET,
            {"key": "k", "value": "v", "last_updated_at_ms": 9},
            '"key":"k","value":"v","last_updated_at_ms":9}',
        ),
        (ev.KV_ALL_CLEARED, {}, "}"),
    ],
)
def test_fields_are_written_in_the_reference_order(kind: str, fields: dict[str, Any], body: str) -> None:
    comma = "," if body != "}" else ""
    assert made(kind, **fields) == f'{ENVELOPE}"type":"{kind}"{comma}{body}'


def test_only_quotes_backslashes_and_control_characters_are_escaped() -> None:
    text = made(ev.KV_SET, key='é😀"\\', value="\x00\x07\n\x7f\u2028", last_updated_at_ms=0)
    assert '"key":"é😀\\"\\\\","value":"\\u0000\\u0007\\n\x7f\u2028"' in text


def test_an_unknown_field_is_passed_over_and_an_unknown_type_is_kept() -> None:
    event = ev.decode_event(made(ev.KV_CLEARED, key="k").replace('"key"', '"colour":{"deep":[1]},"key"'))
    assert (event.type, event.key) == (ev.KV_CLEARED, "k")
    assert ev.decode_event(made("SomethingNew")).type == "SomethingNew"


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "{", '{"event_id":"1"}'])
def test_what_is_no_event_is_refused(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        ev.decode_event(text)


def test_our_events_say_who_wrote_them() -> None:
    assert ev.new_event("i", 1, 1, 0, ev.STARTED).duroxide_version.startswith("workbench-")


def test_every_type_is_of_one_kind() -> None:
    kinds = (ev.ARRIVALS, ev.OPERATIONS, ev.BREADCRUMBS, ev.ENDINGS)
    assert sum(map(len, kinds)) == len(ev.KNOWN_TYPES) == 26


POISON_ACTIVITY = {"Activity": {"instance": "i", "execution_id": 1, "activity_name": "A", "activity_id": 7}}
POISON_HISTORY = {"FailedDeserialization": {"instance": "i", "execution_id": 1, "error": "bad row"}}


@pytest.mark.parametrize(
    ("details", "text"),
    [
        (ev.application_error("ValueError: no"), "ValueError: no"),
        (ev.cancelled_error("why"), "canceled: why"),
        (ev.application_error("boom", "Panicked"), "orchestration panicked: boom"),
        (ev.nondeterminism_error("schedule mismatch"), "nondeterministic: schedule mismatch"),
        (
            {"Configuration": {"kind": "Nondeterminism", "resource": "flow", "message": None}},
            "nondeterministic in flow",
        ),
        (
            {"Infrastructure": {"operation": "ack", "message": "gone", "retryable": True}},
            "infrastructure:ack: gone",
        ),
        (
            {"Poison": {"attempt_count": 4, "max_attempts": 3, "message_type": POISON_ACTIVITY, "message": ""}},
            "poison: activity A#7 exceeded 4 attempts (max 3)",
        ),
        (
            {
                "Poison": {
                    "attempt_count": 4,
                    "max_attempts": 3,
                    "message_type": {"Orchestration": {"instance": "i", "execution_id": 1}},
                    "message": "",
                }
            },
            "poison: orchestration i exceeded 4 attempts (max 3)",
        ),
        (
            {"Poison": {"attempt_count": 4, "max_attempts": 3, "message_type": POISON_HISTORY, "message": ""}},
            "poison: orchestration i history deserialization failed after 4 attempts (max 3): bad row",
        ),
        ({"Weather": {}}, "unknown error Weather"),
    ],
)
def test_an_error_object_is_shown_as_status_calls_show_it(details: dict[str, Any], text: str) -> None:
    assert ev.display_error(details) == text
    assert ev.is_application_error(details) == ("Application" in details)
