"""KV events as JSON (the reference's `tests/tag_serde_tests.rs`; spec 001, "Event & Action Design")."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.specification.replay_engine.histories import recorded, resumed, scheduled, started
from workbench.runtime import events as ev
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import fold_turn

KINDS: dict[str, dict[str, Any]] = {
    ev.KV_SET: {"key": 'a "quoted" é', "value": "1\n", "last_updated_at_ms": 7},
    ev.KV_CLEARED: {"key": ""},
    ev.KV_ALL_CLEARED: {},
}
ENVELOPE = {
    "event_id": 3,
    "source_event_id": None,
    "instance_id": "i",
    "execution_id": 1,
    "timestamp_ms": 5,
    "duroxide_version": "0.1.32",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kv_event_kinds_roundtrip(kind: str) -> None:
    event = ev.new_event("i", 1, 3, 5, kind, None, **KINDS[kind])
    assert ev.decode_event(ev.encode_event(event)) == event


@pytest.mark.parametrize("kind", KINDS)
def test_kv_event_kinds_backward_compat(kind: str) -> None:
    """The reference's own text: the kind is a field named `type`, in the envelope, and what we write is the same."""
    text = json.dumps({**ENVELOPE, "type": kind, **KINDS[kind]}, separators=(",", ":"), ensure_ascii=False)
    event = ev.decode_event(text)
    assert event.type == kind
    assert ev.encode_event(event) == text


def test_kv_set_without_its_time_decodes() -> None:
    """A set as spec 001 first printed it, key and value only, reads as written at 0."""
    event = ev.decode_event(json.dumps({**ENVELOPE, "type": ev.KV_SET, "key": "k", "value": "1"}))
    assert fold_turn([event]).rows["k"].last_updated_at_ms == 0


def test_kv_events_of_another_version_are_skipped() -> None:
    """Spec 001, "Rolling Upgrade Safety": an event of an unknown kind is kept and skipped, and replay goes on."""

    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Work")
        return "done"

    unknown = ("KeyValueRenamed", None, {"key": "k"})
    history = [started(), unknown, scheduled()]
    [turn] = recorded(history)
    assert [event.type for event in turn.unknown] == ["KeyValueRenamed"]
    result = resumed(flow, history)
    assert (result.status, result.output, result.divergence) == ("Completed", '"done"', None)
