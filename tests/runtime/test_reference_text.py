"""The reference engine's own words for what does not match (semantics §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.reference_text import mismatch_text, missing_action_text, without_times


def event(kind: str, **fields: Any) -> ev.Event:
    return ev.new_event("i", 1, 2, 0, kind, **fields)


PAIRS: dict[str, tuple[Action, str, ev.Event, str]] = {
    "activity": (
        Action((ev.ACTIVITY_SCHEDULED, "B", "1", None, "x")),
        'CallActivity { scheduling_event_id: 0, name: "B", input: "1", session_id: None, tag: Some("x") }',
        event(ev.ACTIVITY_SCHEDULED, name="A", input='"1"'),
        'ActivityScheduled { name: "A", input: "\\"1\\"", session_id: None, tag: None }',
    ),
    "timer": (
        Action((ev.TIMER_CREATED,), {"delay_ms": 5, "fire_at_ms": 7}),
        "CreateTimer { scheduling_event_id: 0, fire_at_ms: 7 }",
        event(ev.TIMER_CREATED, fire_at_ms=9),
        "TimerCreated { fire_at_ms: 9 }",
    ),
    "event": (
        Action((ev.EVENT_SUBSCRIBED, "e")),
        'WaitExternal { scheduling_event_id: 0, name: "e" }',
        event(ev.EVENT_SUBSCRIBED, name="f"),
        'ExternalSubscribed { name: "f" }',
    ),
    "queue": (
        Action((ev.QUEUE_SUBSCRIBED, "q")),
        'DequeueEvent { scheduling_event_id: 0, name: "q" }',
        event(ev.QUEUE_SUBSCRIBED, name="r"),
        'QueueSubscribed { name: "r" }',
    ),
    "child": (
        Action((ev.CHILD_SCHEDULED, "C", "1")),
        (
            'StartSubOrchestration { scheduling_event_id: 0, name: "C", version: None, instance: "sub::pending_1", '
            'input: "1" }'
        ),
        event(ev.CHILD_SCHEDULED, name="C", instance="sub::2", input="2"),
        'SubOrchestrationScheduled { name: "C", instance: "sub::2", input: "2" }',
    ),
    "detached": (
        Action((ev.DETACHED_STARTED, "D", "d", "1")),
        'StartOrchestrationDetached { scheduling_event_id: 0, name: "D", version: None, instance: "d", input: "1" }',
        event(ev.DETACHED_STARTED, name="D", instance="e", input="1"),
        'OrchestrationChained { name: "D", instance: "e", input: "1" }',
    ),
    "status": (
        Action((ev.STATUS_UPDATED,), {"status": "x"}),
        'UpdateCustomStatus { status: Some("x") }',
        event(ev.STATUS_UPDATED, status=None),
        "CustomStatusUpdated { status: None }",
    ),
    "set": (
        Action((ev.KV_SET, "k", "2"), {"last_updated_at_ms": 7}),
        'SetKeyValue { key: "k", value: "2", last_updated_at_ms: 7 }',
        event(ev.KV_SET, key="k", value="1", last_updated_at_ms=5),
        'KeyValueSet { key: "k", value: "1", last_updated_at_ms: 5 }',
    ),
    "clear": (
        Action((ev.KV_CLEARED, "j")),
        'ClearKeyValue { key: "j" }',
        event(ev.KV_CLEARED, key="k"),
        'KeyValueCleared { key: "k" }',
    ),
    "clear all": (Action((ev.KV_ALL_CLEARED,)), "ClearKeyValues", event(ev.KV_ALL_CLEARED), "KeyValuesCleared"),
    "continue as new": (
        Action((ev.CONTINUED_AS_NEW,), {"input": "1", "version": None}),
        'ContinueAsNew { input: "1", version: None }',
        event(ev.TIMER_CREATED, fire_at_ms=9),
        "TimerCreated { fire_at_ms: 9 }",
    ),
}
WORDS = {
    ev.KV_SET: "kv set mismatch",
    ev.KV_CLEARED: "kv clear mismatch",
    ev.KV_ALL_CLEARED: "kv clear_all mismatch",
    ev.STATUS_UPDATED: "custom status mismatch",
}


@pytest.mark.parametrize("name", PAIRS)
def test_action_and_event_are_rendered_as_the_reference_renders_them(name: str) -> None:
    action, now, recorded, then = PAIRS[name]
    words = WORDS.get(recorded.type, "schedule mismatch")
    assert mismatch_text(recorded, action) == f"{words}: action={now} vs event={then}"


def test_texts_are_quoted_the_debug_way() -> None:
    action = Action((ev.KV_CLEARED, 'é\n\t\0\x01"\\'))
    text = mismatch_text(event(ev.KV_CLEARED, key="k"), action)
    assert 'ClearKeyValue { key: "é\\n\\t\\0\\u{1}\\"\\\\" }' in text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ev.ACTIVITY_SCHEDULED, "history schedule but no emitted action"),
        (ev.TIMER_CREATED, "history schedule but no emitted action"),
        (ev.EVENT_SUBSCRIBED, "history schedule but no emitted action"),
        (ev.DETACHED_STARTED, "history OrchestrationChained but no emitted action"),
        (ev.KV_SET, "the recorded KeyValueSet is no longer made"),
        (ev.STATUS_UPDATED, "the recorded CustomStatusUpdated is no longer made"),
    ],
)
def test_an_event_that_is_no_longer_made_has_the_reference_text_where_it_would_refuse_too(kind: str, text: str) -> None:
    assert missing_action_text(event(kind)) == text


def test_clock_figures_can_be_left_out_so_that_a_text_is_the_same_on_every_run() -> None:
    first = without_times('SetKeyValue { key: "k", last_updated_at_ms: 7 } vs TimerCreated { fire_at_ms: 9 }')
    other = without_times('SetKeyValue { key: "k", last_updated_at_ms: 8 } vs TimerCreated { fire_at_ms: 10 }')
    assert first == other
    assert 'key: "k"' in first
