"""Both sides of a difference in words: what was recorded, what the code does now, and what that is called."""

from __future__ import annotations

from workbench.runtime import events as ev
from workbench.runtime.actions import MATCHED_FIELDS, Signature, signature_of
from workbench.runtime.divergence import Divergence, OutcomeDifference, StrictDifference
from workbench.views import words
from workbench.views.long_values import differing_parts

LONGEST_OPERATION = 72
"""Characters up to which both operations are shown whole; beyond that only the fields that differ."""

_NOUNS = {
    ev.ACTIVITY_SCHEDULED: "an activity",
    ev.TIMER_CREATED: "a timer",
    ev.EVENT_SUBSCRIBED: "a wait for an event",
    ev.QUEUE_SUBSCRIBED: "a dequeue",
    ev.CHILD_SCHEDULED: "a sub-orchestration",
    ev.DETACHED_STARTED: "a detached start",
    ev.STATUS_UPDATED: "a custom status",
    ev.KV_SET: "a write",
    ev.KV_CLEARED: "a clear",
    ev.KV_ALL_CLEARED: "a clear of all keys",
    ev.CONTINUED_AS_NEW: "a continue-as-new",
}
_CHANGED = {
    (ev.KV_SET, "value"): "a recorded write has another value now",
    (ev.KV_SET, "key"): "a recorded write goes to another key now",
    (ev.KV_CLEARED, "key"): "a recorded clear is of another key now",
    (ev.ACTIVITY_SCHEDULED, "name"): "a recorded activity has another name now",
    (ev.ACTIVITY_SCHEDULED, "input"): "a recorded activity has another input now",
    (ev.ACTIVITY_SCHEDULED, "session_id"): "a recorded activity runs in another session now",
    (ev.ACTIVITY_SCHEDULED, "tag"): "a recorded activity has another tag now",
    (ev.CHILD_SCHEDULED, "name"): "a recorded sub-orchestration has another name now",
    (ev.CHILD_SCHEDULED, "input"): "a recorded sub-orchestration has another input now",
    (ev.DETACHED_STARTED, "name"): "a recorded detached start is of another orchestration now",
    (ev.DETACHED_STARTED, "instance"): "a recorded detached start has another instance id now",
    (ev.DETACHED_STARTED, "input"): "a recorded detached start has another input now",
    (ev.EVENT_SUBSCRIBED, "name"): "a recorded wait is for another event now",
    (ev.QUEUE_SUBSCRIBED, "name"): "a recorded dequeue is from another queue now",
}
_HEADLINES = {
    "added": "an operation is made now that was not recorded",
    "removed": "a recorded operation is no longer made",
    "moved": "an operation is made earlier than it was recorded",
    "ended early": "the code ends where the record goes on",
    "runs on": "the code goes on where the record ends",
    "race changed": "a race lets go of other tasks now",
    "broken history": "the history cannot be replayed",
}


def headline(divergence: Divergence) -> str:
    """What differs, in one phrase."""
    if divergence.kind == "moved" and divergence.now is None:
        return "a recorded operation is made later now"
    if divergence.recorded is not None and divergence.recorded.type not in ev.KNOWN_TYPES:
        return divergence.message  # names type and version
    if divergence.kind != "changed":
        return _HEADLINES[divergence.kind]
    recorded, now = _signatures(divergence)
    if recorded is None or now is None:
        return "a recorded operation is another one now"
    if recorded[0] != now[0]:
        return f"{_NOUNS.get(str(recorded[0]), 'an operation')} was recorded, {_NOUNS[str(now[0])]} is made now"
    fields = differing_fields(recorded, now)
    return _CHANGED.get((str(recorded[0]), fields[0]), "a recorded operation is another one now")


def differing_fields(recorded: Signature, now: Signature) -> list[str]:
    """The names of the matched fields in which two operations of one kind differ."""
    names = MATCHED_FIELDS[str(recorded[0])]
    return [name for name, one, other in zip(names, recorded[1:], now[1:], strict=True) if one != other]


def recorded_in_words(divergence: Divergence) -> str:
    """What stood there in the history."""
    event = divergence.recorded
    if divergence.kind == "race changed":
        return _let_go(divergence.dropped_recorded)
    if event is None:
        return "nothing more in this turn"
    what = words.event_in_words(event, {})
    if event.type in ev.ARRIVALS and divergence.kind == "ended early":
        return f"goes on with {what}"
    if divergence.kind == "added":
        return f"nothing here; next is {what}"
    if (
        divergence.kind == "moved"
        and divergence.now is not None
        and _signatures(divergence)[0] == (divergence.now.signature)
    ):
        return f"{what}, in a later turn"
    return _sides(divergence)[0] or what


def now_in_words(divergence: Divergence) -> str:
    """What the code does there now."""
    if divergence.kind == "race changed":
        return _let_go(divergence.dropped_now)
    if divergence.kind == "runs on" and divergence.now is None:
        return "the code waits for more" if divergence.chain else "the code goes on"
    if divergence.ending is not None:
        return f"the code {words.sentence(divergence.ending)}"
    if divergence.now is None:
        return "the code was not run any further" if divergence.kind == "broken history" else "nothing: the code waits"
    what = words.action_in_words(divergence.now)
    if divergence.kind == "removed":
        return f"no longer made; next is {what}"
    if divergence.kind == "moved":
        return f"{what}, here already"
    return _sides(divergence)[1] or what


def _let_go(event_ids: tuple[int, ...]) -> str:
    if not event_ids:
        return "lets go of nothing"
    return f"lets go of event{'s' if len(event_ids) > 1 else ''} {words.listed(map(str, event_ids))}"


def _signatures(divergence: Divergence) -> tuple[Signature | None, Signature | None]:
    event, now = divergence.recorded, divergence.now
    recorded = signature_of(event) if event is not None and event.type in ev.OPERATIONS else None
    return recorded, None if now is None else now.signature


def _sides(divergence: Divergence) -> tuple[str | None, str | None]:
    """Only the fields that differ, where both operations are of one kind and one of them is long."""
    recorded, now = _signatures(divergence)
    if divergence.kind != "changed" or recorded is None or now is None or recorded[0] != now[0]:
        return None, None
    longest = max(sum(len(str(each or "")) for each in side[1:]) for side in (recorded, now))
    if longest <= LONGEST_OPERATION:
        return None, None
    names = MATCHED_FIELDS[str(recorded[0])]
    fields = [
        each
        for name, one, other in zip(names, recorded[1:], now[1:], strict=True)
        if one != other
        for each in differing_parts(name, one, other)
    ]
    subject = _subject(recorded, now)
    sides = (", ".join(f"{name} = {side[at]}" for name, *side in fields) for at in (0, 1))
    return tuple(f"{subject}{side}" for side in sides)  # type: ignore[return-value]


def _subject(recorded: Signature, now: Signature) -> str:
    """The kind, and its name or key where both have the same: `set counter: `, `activity Pay: `."""
    kind = {ev.KV_SET: "set", ev.KV_CLEARED: "clear", ev.ACTIVITY_SCHEDULED: "activity"}.get(str(recorded[0]), "")
    kind = kind or _NOUNS[str(recorded[0])].split(" ", 1)[1]
    name = f" {words.shown(str(recorded[1]))}" if len(recorded) > 1 and recorded[1] == now[1] else ""
    return f"{kind}{name}: "


def outcome_difference_in_words(difference: OutcomeDifference) -> str:
    """Both endings: `recorded: completed with 3, now: completed with 4`."""
    recorded = words.outcome_in_words(difference.recorded_status, difference.recorded_output)
    now = words.outcome_in_words(difference.now_status, difference.now_output)
    return f"recorded: {recorded}, now: {now}"


def strict_difference_in_words(difference: StrictDifference) -> str:
    """Something outside the match that differs: `turn 1, event 2: timer delay recorded 50 ms, now 60 ms`."""
    place = words.place_in(difference.chain, None)
    where = f"turn {difference.turn}, event {difference.event_id}{f', {place}' if place else ''}"
    recorded, now = words.shown(difference.recorded), words.shown(difference.now)
    return f"{where}: {words.shown(difference.what)} recorded {recorded}, now {now}"
