"""Work items have duroxide's own JSON: externally tagged, its field names (semantics §1.7)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.runtime import messages as ms

FAILURE = {"Application": {"kind": "ActivityFailed", "message": "no", "retryable": False}}
EXAMPLES: dict[str, tuple[ms.Message, str]] = {
    "StartOrchestration": (
        ms.StartOrchestration("i", "F", "1"),
        (
            '{"instance":"i","orchestration":"F","input":"1","version":null,"parent_instance":null,"parent_id":null,'
            '"execution_id":1,"parent_execution_id":null}'
        ),
    ),
    "ContinueAsNew": (
        ms.ContinueAsNew("i", "F", "2", None, [("q", "1")], "s"),
        (
            '{"instance":"i","orchestration":"F","input":"2","version":null,"carry_forward_events":[["q","1"]],'
            '"initial_custom_status":"s","parent_instance":null,"parent_id":null,"parent_execution_id":null}'
        ),
    ),
    "ActivityExecute": (
        ms.ActivityExecute("i", 1, 2, "A", "1", "s", "t"),
        '{"instance":"i","execution_id":1,"id":2,"name":"A","input":"1","session_id":"s","tag":"t"}',
    ),
    "ActivityCompleted": (
        ms.ActivityCompleted("i", 1, 2, '"é"'),
        '{"instance":"i","execution_id":1,"id":2,"result":"\\"é\\""}',
    ),
    "ActivityFailed": (
        ms.ActivityFailed("i", 1, 2, FAILURE),
        (
            '{"instance":"i","execution_id":1,"id":2,"details":{"Application":{"kind":"ActivityFailed","message":"no",'
            '"retryable":false}}}'
        ),
    ),
    "TimerFired": (ms.TimerFired("i", 1, 2, 99), '{"instance":"i","execution_id":1,"id":2,"fire_at_ms":99}'),
    "ExternalRaised": (ms.ExternalRaised("i", "e", "1"), '{"instance":"i","name":"e","data":"1"}'),
    "QueueMessage": (ms.QueueMessage("i", "q", "1"), '{"instance":"i","name":"q","data":"1"}'),
    "CancelInstance": (ms.CancelInstance("i", ""), '{"instance":"i","reason":""}'),
    "SubOrchCompleted": (
        ms.SubOrchCompleted("i", 1, 2, "3"),
        '{"parent_instance":"i","parent_execution_id":1,"parent_id":2,"result":"3"}',
    ),
    "SubOrchFailed": (
        ms.SubOrchFailed("i", 1, 2, FAILURE),
        (
            '{"parent_instance":"i","parent_execution_id":1,"parent_id":2,"details":{"Application":{"kind":'
            '"ActivityFailed","message":"no","retryable":false}}}'
        ),
    ),
}


@pytest.mark.parametrize("tag", EXAMPLES)
def test_a_work_item_is_its_tag_around_its_fields_and_comes_back(tag: str) -> None:
    """What we add stands behind the reference's own fields."""
    message, body = EXAMPLES[tag]
    text = ms.encode_message(message)
    assert text.startswith(f'{{"{tag}":{body.removesuffix("}")}')
    assert ms.decode_message(text) == message
    assert message.target == "i"


def test_every_kind_of_work_item_is_tried_here() -> None:
    kinds = {cls.__name__ for cls in vars(ms).values() if isinstance(cls, type) and issubclass(cls, ms.Message)}
    assert kinds - {"Message", "_ToInstance", "_ToParent"} == set(EXAMPLES)


def test_what_a_work_item_leaves_out_has_its_default_and_what_it_adds_is_passed_over() -> None:
    text = '{"StartOrchestration":{"instance":"i","orchestration":"F","input":"1","colour":"blue"}}'
    assert ms.decode_message(text) == ms.StartOrchestration("i", "F", "1")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "null", "{}", '"TimerFired"', '{"Weather":{}}'),
        *('{"TimerFired":{}}', '{"TimerFired":{"instance":"i"},"QueueMessage":{}}', '{"CancelInstance":[]}'),
    ],
)
def test_anything_else_is_no_work_item(text: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        ms.decode_message(text)


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_any_text_survives(name: str, data: str) -> None:
    message = ms.ExternalRaised("i", name, data)
    assert ms.decode_message(ms.encode_message(message)) == message


def test_a_message_without_an_address_says_so() -> None:
    with pytest.raises(TypeError, match="Message has no queue"):
        _ = ms.Message().target
