"""The order of messages, when they are visible, and the queue of activities."""

from __future__ import annotations

from workbench.runtime.messages import ActivityCompleted, ActivityExecute, CancelInstance, TimerFired
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import CONTRACT, EVERY_STORE, follows
from workbench.store.validation.turns import (
    CONTINUED,
    LOCK_MS,
    NOW_MS,
    claim_one,
    make_turn,
    nudge,
    schedules,
    start,
)


def _with_activities(provider: Provider, *names: str) -> list[ActivityExecute]:
    works = [ActivityExecute("a", 1, event_id, name, "null") for event_id, name in enumerate(names, 2)]
    make_turn(provider, "a", *map(schedules, names), activities=works)
    return works


@follows(CONTRACT, EVERY_STORE)
def messages_keep_their_order(provider: Provider) -> None:
    """A claim has every visible message of its instance, first in first, over many calls of `enqueue`."""
    messages = [start("a"), *(nudge("a", str(number)) for number in range(20))]
    for message in messages:
        provider.enqueue([message], NOW_MS)
    assert provider.pending_messages("a") == messages
    assert claim_one(provider, "a").messages == tuple(messages)


@follows(CONTRACT, EVERY_STORE)
def oldest_message_comes_first(provider: Provider) -> None:
    """Instances are claimed in the order of their oldest message, at most as many as asked for."""
    provider.enqueue([start("c"), start("a"), start("b"), nudge("c")], NOW_MS)
    assert [claim.instance_id for claim in provider.claim(2, NOW_MS, LOCK_MS)] == ["c", "a"]
    assert [claim.instance_id for claim in provider.claim(2, NOW_MS, LOCK_MS)] == ["b"]


@follows(CONTRACT, EVERY_STORE)
def messages_are_invisible_until_their_time(provider: Provider) -> None:
    """A timer waits for its own time, any other message for the time given with it."""
    make_turn(provider, "a")
    provider.enqueue([TimerFired("a", 1, 2, NOW_MS + 500)], NOW_MS)
    provider.enqueue([nudge("a", "later")], NOW_MS, visible_at_ms=NOW_MS + 100)
    assert provider.claim(1, NOW_MS + 99, LOCK_MS) == []
    assert provider.next_visible_ms() == NOW_MS + 100
    claim = claim_one(provider, "a", NOW_MS + 100)
    assert claim.messages == (nudge("a", "later"),)
    provider.abandon(claim)
    due = claim_one(provider, "a", NOW_MS + 500)
    assert due.messages == (TimerFired("a", 1, 2, NOW_MS + 500), nudge("a", "later"))


@follows(CONTRACT, EVERY_STORE)
def messages_for_nobody_are_in_nobodys_way(provider: Provider) -> None:
    """What waits for an instance that is not there, or for the next execution, keeps no other from its turn."""
    make_turn(provider, "continued", end=CONTINUED)
    provider.enqueue([nudge("ghost"), CancelInstance("ghost", "late"), nudge("continued"), start("a")], NOW_MS)
    assert [claim.instance_id for claim in provider.claim(9, NOW_MS, LOCK_MS)] == ["a"]
    provider.enqueue([start("ghost")], NOW_MS)
    assert claim_one(provider, "ghost").messages == (nudge("ghost"), CancelInstance("ghost", "late"), start("ghost"))


@follows(CONTRACT, EVERY_STORE)
def activities_are_claimed_oldest_first(provider: Provider) -> None:
    """Each goes to one worker, and stays in the queue until it is completed."""
    works = _with_activities(provider, "One", "Two", "Three")
    claims = provider.claim_activities(2, NOW_MS, LOCK_MS)
    assert [(claim.work, claim.attempt_count) for claim in claims] == [(works[0], 1), (works[1], 1)]
    assert [claim.work for claim in provider.claim_activities(9, NOW_MS, LOCK_MS)] == [works[2]]
    assert provider.claim_activities(9, NOW_MS, LOCK_MS) == []
    assert provider.pending_activities("a") == works


@follows(CONTRACT, EVERY_STORE)
def activities_can_be_claimed_for_one_instance(provider: Provider) -> None:
    """With an instance id only its own."""
    _with_activities(provider, "One")
    other = ActivityExecute("b", 1, 2, "Two", "null")
    make_turn(provider, "b", schedules("Two"), activities=[other])
    assert [claim.work for claim in provider.claim_activities(9, NOW_MS, LOCK_MS, "b")] == [other]


@follows(CONTRACT, EVERY_STORE)
def outcome_replaces_its_activity(provider: Provider) -> None:
    """Completing takes the activity away and enqueues what came of it, in one step."""
    _with_activities(provider, "One", "Two")
    one, two = provider.claim_activities(2, NOW_MS, LOCK_MS)
    outcome = ActivityCompleted("a", 1, one.work.id, '"done"')
    assert provider.complete_activities([(one, outcome)], NOW_MS) == []
    assert provider.pending_activities("a") == [two.work]
    assert claim_one(provider, "a").messages == (outcome,)


@follows(CONTRACT, EVERY_STORE)
def late_outcome_is_refused(provider: Provider) -> None:
    """A worker whose lock has expired has lost the activity: its outcome is not delivered, the next worker's is."""
    _with_activities(provider, "One")
    [lost] = provider.claim_activities(1, NOW_MS, LOCK_MS)
    now_ms = NOW_MS + LOCK_MS
    [again] = provider.claim_activities(1, now_ms, LOCK_MS)
    assert again.attempt_count == 2
    assert provider.complete_activities([(lost, ActivityCompleted("a", 1, 2, "1"))], now_ms) == [lost]
    assert provider.pending_messages("a") == []
    assert provider.complete_activities([(again, ActivityCompleted("a", 1, 2, "2"))], now_ms) == []
    assert provider.pending_messages("a") == [ActivityCompleted("a", 1, 2, "2")]


@follows(CONTRACT, EVERY_STORE)
def cancelled_activity_delivers_nothing(provider: Provider) -> None:
    """A turn that let go of an activity takes it from the queue, also from under a worker."""
    _with_activities(provider, "One", "Two")
    one, two = provider.claim_activities(2, NOW_MS, LOCK_MS)
    make_turn(provider, "a", cancelled=[one.work.id])
    assert provider.pending_activities("a") == [two.work]
    assert provider.complete_activities([(one, ActivityCompleted("a", 1, 2, "1"))], NOW_MS) == [one]


@follows(CONTRACT, EVERY_STORE)
def abandoned_activity_comes_back(provider: Provider) -> None:
    """From the time on that is given, with its attempt counted."""
    _with_activities(provider, "One")
    [claim] = provider.claim_activities(1, NOW_MS, LOCK_MS)
    provider.abandon_activity(claim, NOW_MS + 50)
    assert provider.claim_activities(1, NOW_MS + 49, LOCK_MS) == []
    [again] = provider.claim_activities(1, NOW_MS + 50, LOCK_MS)
    assert (again.work, again.attempt_count) == (claim.work, 2)


@follows(CONTRACT, EVERY_STORE)
def abandoned_activities_come_back_together(provider: Provider) -> None:
    """In their order, the try not counted; one that is no longer ours is left with whoever has it."""
    _with_activities(provider, "One", "Two", "Three")
    claims = provider.claim_activities(3, NOW_MS, LOCK_MS)
    later_ms = NOW_MS + LOCK_MS
    [taken] = provider.claim_activities(1, later_ms, LOCK_MS)
    provider.abandon_activities(claims, later_ms, keep_attempt=False)
    again = provider.claim_activities(3, later_ms, LOCK_MS)
    assert [(each.work, each.attempt_count) for each in again] == [(each.work, 1) for each in claims[1:]]
    assert taken.attempt_count == 2
    provider.abandon_activities([], later_ms)
