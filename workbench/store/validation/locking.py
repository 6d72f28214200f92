"""Claims and their locks: who gets an instance, for how long, and what giving it back does."""

from __future__ import annotations

from collections.abc import Callable

from workbench.runtime.errors import LockLost
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import CONTRACT, EVERY_STORE, follows
from workbench.store.validation.turns import LOCK_MS, NOW_MS, claim_one, make_turn, nudge, start, turn_of


def _loses_the_lock(call: Callable[[], object]) -> bool:
    try:
        call()
    except LockLost:
        return True
    return False


@follows(CONTRACT, EVERY_STORE)
def claim_locks_an_instance(provider: Provider) -> None:
    """While it is locked nobody else gets it, not even when more messages come; others are free."""
    provider.enqueue([start("a"), start("b")], NOW_MS)
    claim_one(provider, "a")
    provider.enqueue([nudge("a")], NOW_MS)
    assert provider.claim(9, NOW_MS, LOCK_MS, "a") == []
    assert [claim.instance_id for claim in provider.claim(9, NOW_MS, LOCK_MS)] == ["b"]


@follows(CONTRACT, EVERY_STORE)
def claim_says_where_the_history_ends(provider: Provider) -> None:
    """Execution and last event id of the store; 0 and 0 for an instance that is not there yet."""
    provider.enqueue([start("a")], NOW_MS)
    claim = claim_one(provider, "a")
    assert (claim.execution_id, claim.last_event_id, claim.attempt_count) == (0, 0, 1)
    assert provider.commit([turn_of(claim)]) == []
    provider.enqueue([nudge("a")], NOW_MS)
    claim = claim_one(provider, "a")
    assert (claim.execution_id, claim.last_event_id, claim.status) == (1, 1, "Running")
    assert (claim.orchestration, claim.version) == ("Flow", "1.0.0")


@follows(CONTRACT, EVERY_STORE)
def expired_lock_goes_to_the_next_claim(provider: Provider) -> None:
    """After the lock's time the instance is claimed again, with a new token and a higher attempt count."""
    provider.enqueue([start("a")], NOW_MS)
    lost = claim_one(provider, "a")
    assert provider.claim(1, NOW_MS + LOCK_MS - 1, LOCK_MS) == []
    again = claim_one(provider, "a", NOW_MS + LOCK_MS)
    assert again.lock_token != lost.lock_token
    assert (again.messages, again.attempt_count) == (lost.messages, 2)


@follows(CONTRACT, EVERY_STORE)
def lost_lock_writes_nothing(provider: Provider) -> None:
    """A turn made under a lock that somebody else has now is refused whole; theirs is written."""
    provider.enqueue([start("a")], NOW_MS)
    lost = claim_one(provider, "a")
    now_ms = NOW_MS + LOCK_MS
    ours = claim_one(provider, "a", now_ms)
    late = turn_of(lost, end="Completed", now_ms=now_ms)
    assert provider.commit([late]) == [late]
    assert provider.instance("a") is None
    assert provider.commit([turn_of(ours, now_ms=now_ms)]) == []
    assert [event.type for event in provider.read_history("a", 1).events] == ["OrchestrationStarted"]


@follows(CONTRACT, EVERY_STORE)
def expired_lock_refuses_its_own_turn(provider: Provider) -> None:
    """An expired lock is lost even if nobody has taken it."""
    provider.enqueue([start("a")], NOW_MS)
    late = turn_of(claim_one(provider, "a"), now_ms=NOW_MS + LOCK_MS)
    assert provider.commit([late]) == [late]
    assert provider.instance("a") is None
    assert provider.pending_messages("a") == [start("a")]


@follows(CONTRACT, EVERY_STORE)
def renewed_lock_holds_longer(provider: Provider) -> None:
    """`renew` counts from its own time; an expired lock cannot be renewed."""
    provider.enqueue([start("a"), start("b")], NOW_MS)
    claim, expired = claim_one(provider, "a"), claim_one(provider, "b")
    provider.renew(claim, NOW_MS + LOCK_MS - 1, LOCK_MS)
    later_ms = NOW_MS + 2 * LOCK_MS - 2
    assert provider.claim(1, later_ms, LOCK_MS, "a") == []
    assert provider.commit([turn_of(claim, now_ms=later_ms)]) == []
    assert _loses_the_lock(lambda: provider.renew(expired, NOW_MS + LOCK_MS, LOCK_MS))


@follows(CONTRACT, EVERY_STORE)
def abandoned_claim_comes_back(provider: Provider) -> None:
    """At once, or after a delay; the attempt counts unless it is taken back."""
    provider.enqueue([start("a")], NOW_MS)
    provider.abandon(claim_one(provider, "a"))
    second = claim_one(provider, "a")
    assert second.attempt_count == 2
    provider.abandon(second, keep_attempt=False)
    third = claim_one(provider, "a")
    assert third.attempt_count == 2
    provider.abandon(third, delay_ms=50)
    assert provider.claim(1, NOW_MS + 49, LOCK_MS) == []
    assert claim_one(provider, "a", NOW_MS + 50).messages == (start("a"),)


@follows(CONTRACT, EVERY_STORE)
def lost_claim_cannot_be_abandoned(provider: Provider) -> None:
    """Giving back what somebody else has now is refused, and does not touch their lock."""
    provider.enqueue([start("a")], NOW_MS)
    lost = claim_one(provider, "a")
    now_ms = NOW_MS + LOCK_MS
    ours = claim_one(provider, "a", now_ms)
    assert _loses_the_lock(lambda: provider.abandon(lost))
    assert provider.commit([turn_of(ours, now_ms=now_ms)]) == []


@follows(CONTRACT, EVERY_STORE)
def commit_releases_the_lock(provider: Provider) -> None:
    """After its turn an instance can be claimed again at once; the token is worth nothing any more."""
    provider.enqueue([start("a")], NOW_MS)
    claim = claim_one(provider, "a")
    turn = turn_of(claim)
    assert provider.commit([turn]) == []
    assert provider.commit([turn]) == [turn]
    make_turn(provider, "a")
    assert provider.executions("a")[0].event_count == 2
