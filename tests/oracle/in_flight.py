"""A recorded execution cut off after some turn, as an instance in flight that other code goes on with."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from tests.oracle.comparing import turns_of
from tests.oracle.one_more_turn import Answer, Stored
from tests.oracle.record import RecordedExecution, RecordedInstance
from workbench import Limits, Recording
from workbench.recordings.integrity import Row
from workbench.recordings.reference import ReferenceVerdict, replayed_events
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.reference_text import without_times

_SETS = re.compile(r"\{[\d, ]*\}")
_CHILD = re.compile(r"sub::pending_\d+")


class InFlight(msgspec.Struct, frozen=True):
    """The same moment twice: for the real engine, and as our recording."""

    stored: Stored
    recording: Recording


def in_flight(
    recorded: RecordedInstance, execution: RecordedExecution, turn_count: int, code: str, instance_id: str | None = None
) -> InFlight:
    """An execution after so many of its turns, to be gone on with by `code` (its last ending is left out)."""
    turns = turns_of(execution)[:turn_count]
    events = list(replayed_events(turns))
    texts = {event.event_id: execution.events[event.event_id - 1] for event in events}
    turn_of = {event.event_id: turn.number for turn in turns for event in turn.events}
    snapshot = snapshot_of(recorded, execution)
    assert recorded.case is not None
    stored = Stored(
        instance_id or recorded.instance_id,
        code,
        recorded.case.function,
        execution.execution_id,
        list(texts.values()),
        [(key, each.value, each.last_updated_at_ms) for key, each in snapshot.items() if each.value is not None],
    )
    return InFlight(stored, _recording(stored, tuple(turn_of[event.event_id] for event in events)))


def _recording(stored: Stored, turns: tuple[int, ...]) -> Recording:
    events = [ev.decode_event(text) for text in stored.events]
    instance_id = events[0].instance_id
    rows = tuple(Row(event.event_id, event.type, text) for event, text in zip(events, stored.events, strict=True))
    store = {key: kv.Entry(value, at_ms) for key, value, at_ms in stored.kv_store}
    return recording_of(
        StoredInstance(
            instance_id=instance_id,
            orchestration=str(events[0].name),
            version="1.0.0",
            executions=(StoredExecution(stored.execution_id, "Running", None, rows, turns),),
            kv_model="delta",
            kv_tables=kv.apply_turn("delta", kv.Tables(store, {}), events, ended=False),
            limits=Limits.duroxide(),
        )
    )


def with_row(moment: InFlight, instance_id: str, event_id: int, repeated: bool) -> InFlight:
    """The same moment with one more row behind `event_id`, which repeats it, or with that id left out as a hole."""
    texts, turns = list(moment.stored.events), list(moment.recording.last.history.turns)
    after = [_moved(text, event_id) for text in texts[event_id:]]
    again = [_moved(texts[event_id - 1], event_id - 1)] if repeated else []
    numbers = (*turns[:event_id], *turns[event_id - 1 : event_id][: len(again)], *turns[event_id:])
    stored = msgspec.structs.replace(moment.stored, instance_id=instance_id, events=[*texts[:event_id], *again, *after])
    return InFlight(stored, _recording(stored, numbers))


def _moved(text: str, behind: int) -> str:
    """An event with its id, and the one that it answers, one higher where they are higher than `behind`."""
    event = json.loads(text)
    for field in ("event_id", "source_event_id"):
        if event[field] is not None and event[field] > behind:
            event[field] += 1
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def snapshot_of(recorded: RecordedInstance, execution: RecordedExecution) -> kv.Table:
    tables = kv.Tables()
    for earlier in recorded.executions:
        if earlier is execution:
            break
        for turn in turns_of(earlier):
            tables = kv.apply_turn("delta", tables, turn.events, turn.ending is not None)
    return kv.snapshot(tables)


def differs(ours: ReferenceVerdict, real: Answer) -> str | None:
    """What our emulation says otherwise than the real engine did, or None."""
    if _comparable(ours.message) != _comparable(real.message):
        return f"duroxide says {real.message!r}, the emulation {ours.message!r}"
    if real.message is not None:
        return None
    same_text = real.output == ours.output
    if real.status == "Failed":  # a traceback stands in front
        same_text = (real.output or "").rstrip().endswith((ours.output or "").rstrip())
    if real.status != ours.status or not same_text:
        return f"duroxide is {real.status} with {real.output!r}, the emulation {ours.status} with {ours.output!r}"
    return None


def _comparable(message: str | None) -> str | None:
    """A message without clock figures, without running numbers, and with its sets in order."""
    if message is None:
        return None
    text = _CHILD.sub("sub::pending", without_times(message))
    return _SETS.sub(lambda found: _in_order(re.findall(r"\d+", found[0])), text)


def _in_order(numbers: Sequence[str]) -> str:
    return "{" + ", ".join(sorted(numbers, key=int)) + "}"
