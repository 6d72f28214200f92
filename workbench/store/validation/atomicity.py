"""A commit is whole or it is not: history, keys, queues and locks of a turn, and of many turns together."""

from __future__ import annotations

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.errors import StoreError
from workbench.runtime.messages import ActivityExecute, SubOrchCompleted
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import CONTRACT, EVERY_STORE, SPEC_001, follows
from workbench.store.validation.turns import (
    LOCK_MS,
    NOW_MS,
    claim_one,
    make_turn,
    nudge,
    read,
    schedules,
    sets,
    start,
    turn_of,
)


@follows(CONTRACT, EVERY_STORE)
def commit_writes_everything_of_a_turn(provider: Provider) -> None:
    """History, activities, messages for others, and the claim's own messages are gone."""
    make_turn(provider, "parent")
    provider.enqueue([start("a")], NOW_MS)
    work = ActivityExecute("a", 1, 2, "Work", "null")
    told = SubOrchCompleted("parent", 1, 7, "null")
    turn = turn_of(claim_one(provider, "a"), schedules("Work"), activities=[work], messages=[told])
    assert provider.commit([turn]) == []
    assert list(provider.read_history("a", 1).events) == list(turn.events)
    assert provider.pending_activities("a") == [work]
    assert provider.pending_messages("parent") == [told]
    assert provider.pending_messages("a") == []


@follows(CONTRACT, EVERY_STORE)
def commit_takes_only_the_claimed_messages(provider: Provider) -> None:
    """What came in while the turn was made waits for the next one."""
    provider.enqueue([start("a")], NOW_MS)
    claim = claim_one(provider, "a")
    provider.enqueue([nudge("a", "1")], NOW_MS)
    assert provider.commit([turn_of(claim)]) == []
    assert claim_one(provider, "a").messages == (nudge("a", "1"),)


@follows(CONTRACT, EVERY_STORE)
def lost_lock_in_a_batch_holds_nobody_back(provider: Provider) -> None:
    """Only the turn whose lock is lost is refused, and it is returned."""
    provider.enqueue([start("lost"), start("a"), start("b")], NOW_MS)
    stale = claim_one(provider, "lost")
    now_ms = NOW_MS + LOCK_MS
    claim_one(provider, "lost", now_ms)
    late = turn_of(stale, now_ms=now_ms)
    good = [turn_of(claim_one(provider, name, now_ms), now_ms=now_ms) for name in "ab"]
    assert provider.commit([good[0], late, good[1]]) == [late]
    assert [info.instance_id for info in provider.instances()] == ["a", "b"]


@follows(CONTRACT, EVERY_STORE)
def impossible_turn_in_a_batch_holds_nobody_back(provider: Provider) -> None:
    """A turn that repeats an event id is not written at all, and raises; the others of its batch are written."""
    make_turn(provider, "bad", sets("k", "1"))
    before = provider.read_history("bad", 1)
    provider.enqueue([nudge("bad"), start("good")], NOW_MS)
    claim = claim_one(provider, "bad")
    again = ev.new_event("bad", 1, 1, NOW_MS, ev.EVENT_RECEIVED, name="go", data="null")
    turn = turn_of(claim, sets("k", "2"), messages=[nudge("good")], number=2)
    bad = msgspec.structs.replace(turn, events=(again, *turn.events))
    raised = False
    try:
        provider.commit([bad, turn_of(claim_one(provider, "good"))])
    except StoreError:
        raised = True
    assert raised
    assert provider.read_history("bad", 1) == before
    assert provider.instance("good") is not None
    assert provider.pending_messages("good") == []
    assert provider.pending_messages("bad") == [nudge("bad")]


@follows(SPEC_001)
def kv_is_committed_with_its_turn(provider: Provider) -> None:
    """No key is seen before the commit of the turn that wrote it, none of a turn that lost its lock."""
    provider.enqueue([start("a")], NOW_MS)
    turn = turn_of(claim_one(provider, "a"), sets("k", "1"))
    assert read(provider, "a", "k") == [None]
    assert provider.commit([turn]) == []
    assert read(provider, "a", "k") == ["1"]
    provider.enqueue([nudge("a")], NOW_MS)
    late = turn_of(claim_one(provider, "a"), sets("k", "2"), sets("j", "2"), number=2, now_ms=NOW_MS + LOCK_MS)
    assert provider.commit([late]) == [late]
    assert read(provider, "a", "k", "j") == ["1", None]


@follows(CONTRACT, EVERY_STORE)
def many_instances_share_a_commit(provider: Provider) -> None:
    """Thirty turns in one commit are thirty turns."""
    names = [f"i{number:02}" for number in range(30)]
    provider.enqueue([start(name) for name in names], NOW_MS)
    claims = provider.claim(30, NOW_MS, LOCK_MS)
    assert [claim.instance_id for claim in claims] == names
    assert provider.commit([turn_of(claim, schedules(claim.instance_id)) for claim in claims]) == []
    for name in names:
        assert [str(event.name) for event in provider.read_history(name, 1).events] == ["Flow", name]
