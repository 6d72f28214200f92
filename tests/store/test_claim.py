"""Claims: which instances are ready, what a claim holds, and when its lock ends."""

from __future__ import annotations

import logging

import pytest

from tests.store.turns import LOCK_MS, claim_one, nudge, run_turn, start, turn_of
from workbench.runtime.errors import LockLost
from workbench.runtime.messages import CancelInstance, ContinueAsNew, TimerFired
from workbench.store import DuckDBProvider


def test_nothing_is_ready_in_an_empty_store(provider: DuckDBProvider) -> None:
    assert provider.claim(10, 0, LOCK_MS) == []
    assert provider.next_visible_ms() is None


def test_a_claim_of_a_new_instance_stands_at_execution_0(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 1_000)
    claim = claim_one(provider, "a", 1_000)
    assert (claim.execution_id, claim.last_event_id, claim.attempt_count, claim.continued) == (0, 0, 1, False)
    assert claim.messages == (start("a"),)
    assert claim.orchestration is None


def test_a_claim_of_a_running_instance_says_where_its_history_ends(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    provider.enqueue([nudge("a")], 1_000)
    claim = claim_one(provider, "a", 1_000)
    assert (claim.execution_id, claim.last_event_id, claim.status) == (1, 1, "Running")
    assert (claim.orchestration, claim.version) == ("Flow", "1.0.0")


def test_a_claim_after_continue_as_new_stands_at_the_ended_execution(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", status="ContinuedAsNew")
    provider.enqueue([nudge("a"), ContinueAsNew("a", "Flow", "2")], 0)
    claim = claim_one(provider, "a")
    assert claim.continued
    assert (claim.execution_id, claim.last_event_id) == (1, 2)
    assert len(claim.messages) == 2
    provider.commit([turn_of(claim)])
    assert [execution.status for execution in provider.executions("a")] == ["ContinuedAsNew", "Running"]
    assert [event.event_id for event in provider.read_history("a", 2).events] == [1]


def test_a_continued_instance_waits_for_the_message_that_begins_its_next_execution(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", status="ContinuedAsNew")
    provider.enqueue([nudge("a")], 0)
    assert provider.claim(10, 0, LOCK_MS) == []
    assert provider.next_visible_ms("a") is None
    provider.enqueue([ContinueAsNew("a", "Flow", "2")], 0)
    assert claim_one(provider, "a").messages == (nudge("a"), ContinueAsNew("a", "Flow", "2"))


def test_all_visible_messages_are_in_the_claim_in_queue_order(provider: DuckDBProvider) -> None:
    messages = [start("a"), *(nudge("a", str(number)) for number in range(30))]
    for message in messages:
        provider.enqueue([message], 0)
    assert claim_one(provider, "a").messages == tuple(messages)


def test_a_long_batch_of_messages_keeps_its_order(provider: DuckDBProvider) -> None:
    messages = [start("a"), *(nudge("a", str(number)) for number in range(5_000))]
    provider.enqueue(messages, 0)
    assert claim_one(provider, "a").messages == tuple(messages)


def test_messages_that_are_not_visible_yet_stay_in_the_queue(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    provider.enqueue([TimerFired("a", 1, 2, 700)], 100)
    provider.enqueue([nudge("a", "late")], 100, visible_at_ms=300)
    provider.enqueue([nudge("a", "now")], 100)
    assert claim_one(provider, "a", 299).messages == (nudge("a", "now"),)
    assert len(provider.pending_messages("a")) == 3


def test_a_timer_is_visible_from_its_due_time_on(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    provider.enqueue([TimerFired("a", 1, 2, 700)], 100)
    assert provider.next_visible_ms("a") == 700
    assert provider.claim(1, 699, LOCK_MS) == []
    assert claim_one(provider, "a", 700).messages == (TimerFired("a", 1, 2, 700),)


def test_the_oldest_message_decides_who_comes_first(provider: DuckDBProvider) -> None:
    provider.enqueue([start("c"), start("a"), start("b"), nudge("c")], 0)
    assert [claim.instance_id for claim in provider.claim(2, 0, LOCK_MS)] == ["c", "a"]
    assert [claim.instance_id for claim in provider.claim(2, 0, LOCK_MS)] == ["b"]


def test_a_claim_can_be_asked_for_one_instance(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a"), start("b")], 0)
    assert [claim.instance_id for claim in provider.claim(5, 0, LOCK_MS, "b")] == ["b"]
    assert [claim.instance_id for claim in provider.claim(5, 0, LOCK_MS, "nobody")] == []


def test_messages_for_an_instance_that_does_not_exist_block_nobody(provider: DuckDBProvider) -> None:
    provider.enqueue([nudge("ghost"), CancelInstance("ghost", "x"), start("a")], 0)
    assert [claim.instance_id for claim in provider.claim(1, 0, LOCK_MS)] == ["a"]
    assert provider.claim(10, 0, LOCK_MS, "ghost") == []
    assert provider.next_visible_ms("ghost") is None
    assert len(provider.pending_messages("ghost")) == 2


def test_messages_sent_before_the_start_are_delivered_with_it(provider: DuckDBProvider) -> None:
    provider.enqueue([nudge("a"), start("a")], 0)
    assert claim_one(provider, "a").messages == (nudge("a"), start("a"))


def test_a_locked_instance_is_nobody_elses(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    first = claim_one(provider, "a", 0)
    provider.enqueue([nudge("a")], 1)
    assert provider.claim(10, LOCK_MS - 1, LOCK_MS) == []
    assert provider.next_visible_ms("a") == LOCK_MS
    second = claim_one(provider, "a", LOCK_MS)
    assert second.lock_token != first.lock_token
    assert second.messages == (start("a"), nudge("a"))


def test_the_attempt_count_is_the_highest_of_the_messages(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    claim_one(provider, "a", 0)
    assert claim_one(provider, "a", LOCK_MS).attempt_count == 2
    provider.enqueue([nudge("a")], 0)
    assert claim_one(provider, "a", 2 * LOCK_MS).attempt_count == 3


def test_every_claim_has_a_token_of_its_own(provider: DuckDBProvider) -> None:
    provider.enqueue([start(f"i{number}") for number in range(50)], 0)
    claims = provider.claim(50, 0, LOCK_MS)
    assert len({claim.lock_token for claim in claims}) == 50


def test_an_abandoned_claim_can_be_made_again_at_once(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    provider.abandon(claim_one(provider, "a"))
    again = claim_one(provider, "a")
    assert again.attempt_count == 2
    provider.abandon(again, keep_attempt=False)
    assert claim_one(provider, "a").attempt_count == 2


def test_an_abandoned_claim_with_a_delay_is_invisible_for_that_long(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    provider.abandon(claim_one(provider, "a", 100), delay_ms=50)
    assert provider.next_visible_ms("a") == 150
    assert provider.claim(1, 149, LOCK_MS) == []
    assert claim_one(provider, "a", 150).messages == (start("a"),)


def test_abandoning_leaves_messages_alone_that_came_later(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    provider.enqueue([nudge("a", "1")], 0)
    claim = claim_one(provider, "a")
    provider.enqueue([nudge("a", "2")], 0)
    provider.abandon(claim, delay_ms=1_000)
    later = claim_one(provider, "a")
    assert (later.messages, later.attempt_count) == ((nudge("a", "2"),), 1)


def test_a_lost_claim_cannot_be_abandoned_or_renewed(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    lost = claim_one(provider, "a", 0)
    claim_one(provider, "a", LOCK_MS)
    with pytest.raises(LockLost, match="'a'"):
        provider.abandon(lost)
    with pytest.raises(LockLost, match="'a'"):
        provider.renew(lost, LOCK_MS, LOCK_MS)


def test_a_renewed_claim_holds_from_then_on(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    claim = claim_one(provider, "a", 0)
    provider.renew(claim, LOCK_MS - 1, LOCK_MS)
    assert provider.claim(1, 2 * LOCK_MS - 2, LOCK_MS) == []
    assert provider.commit([turn_of(claim, now_ms=2 * LOCK_MS - 2)]) == []


def test_an_expired_claim_cannot_be_renewed(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    claim = claim_one(provider, "a", 0)
    with pytest.raises(LockLost):
        provider.renew(claim, LOCK_MS, LOCK_MS)


def test_a_message_that_cannot_be_read_is_kept_marked_and_passed_over(
    provider: DuckDBProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.enqueue([start("bad"), start("good"), nudge("good")], 0)
    damage(provider, "UPDATE orchestrator_queue SET work_item = '{\"Nonsense\": {}}' WHERE instance_id = 'bad'")
    damage(provider, "UPDATE orchestrator_queue SET work_item = '{' WHERE kind = 'ExternalRaised'")
    with caplog.at_level(logging.WARNING, "workbench.store"):
        claims = provider.claim(1, 0, LOCK_MS)
        assert provider.claim(1, 0, LOCK_MS, "bad") == []
    assert [(claim.instance_id, claim.messages) for claim in claims] == [("good", (start("good"),))]
    assert len(caplog.records) == 2  # once for each row, however often the queue is looked at
    _, rows = provider.query("SELECT instance_id, problem IS NOT NULL FROM orchestrator_queue ORDER BY id")
    assert rows == [("bad", True), ("good", False), ("good", True)]
    assert provider.pending_messages("bad") == []


def damage(provider: DuckDBProvider, sql: str) -> None:
    """Change a row behind the provider's back."""
    with provider._store.writing() as cursor:
        cursor.execute(sql)
