"""The worker queue, enqueueing, due times, and waiting for news."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.store.turns import LOCK_MS, claim_one, nudge, run_turn, schedules, start, turn_of
from workbench.runtime.messages import ActivityCompleted, ActivityExecute, TimerFired
from workbench.store import DuckDBProvider


def works(*names: str, instance_id: str = "a") -> list[ActivityExecute]:
    """Activities of execution 1, with schedule ids from 2."""
    return [ActivityExecute(instance_id, 1, number, name, "") for number, name in enumerate(names, 2)]


def with_activities(provider: DuckDBProvider, *names: str, instance_id: str = "a", now_ms: int = 0) -> None:
    """An instance whose first turn scheduled these activities."""
    scheduled = [schedules(name) for name in names]
    run_turn(provider, instance_id, *scheduled, activities=works(*names, instance_id=instance_id), now_ms=now_ms)


def test_activities_are_claimed_oldest_first(provider: DuckDBProvider) -> None:
    with_activities(provider, "One", "Two", "Three")
    claims = provider.claim_activities(2, 0, LOCK_MS)
    assert [(claim.work.name, claim.attempt_count) for claim in claims] == [("One", 1), ("Two", 1)]
    assert [claim.work.name for claim in provider.claim_activities(9, 0, LOCK_MS)] == ["Three"]
    assert provider.claim_activities(9, 0, LOCK_MS) == []
    assert len(provider.pending_activities("a")) == 3  # they stay until they are completed


def test_activities_can_be_claimed_for_one_instance(provider: DuckDBProvider) -> None:
    with_activities(provider, "One")
    with_activities(provider, "Two", instance_id="b")
    assert [claim.work.name for claim in provider.claim_activities(9, 0, LOCK_MS, "b")] == ["Two"]


def test_activities_wait_until_they_are_scheduled(provider: DuckDBProvider) -> None:
    with_activities(provider, "One", now_ms=100)
    assert provider.claim_activities(1, 99, LOCK_MS) == []
    assert len(provider.claim_activities(1, 100, LOCK_MS)) == 1


def test_an_activity_whose_worker_is_gone_is_claimed_again(provider: DuckDBProvider) -> None:
    with_activities(provider, "One")
    [lost] = provider.claim_activities(1, 0, LOCK_MS)
    assert provider.claim_activities(1, LOCK_MS - 1, LOCK_MS) == []
    [again] = provider.claim_activities(1, LOCK_MS, LOCK_MS)
    assert (again.id, again.attempt_count) == (lost.id, 2)
    late = (lost, ActivityCompleted("a", 1, 2, "1"))
    assert provider.complete_activities([late], LOCK_MS) == [lost]
    assert provider.pending_messages("a") == []


def test_completing_removes_the_activity_and_enqueues_its_outcome(provider: DuckDBProvider) -> None:
    with_activities(provider, "One", "Two")
    claims = provider.claim_activities(2, 0, LOCK_MS)
    outcomes = [ActivityCompleted("a", 1, claim.work.id, "null") for claim in claims]
    assert provider.complete_activities(list(zip(claims, outcomes, strict=True)), 7) == []
    assert provider.pending_activities("a") == []
    assert claim_one(provider, "a", 7).messages == tuple(outcomes)
    assert provider.complete_activities([], 7) == []


def test_an_outcome_that_comes_too_late_takes_no_other_with_it(provider: DuckDBProvider) -> None:
    with_activities(provider, "One", "Two")
    [one] = provider.claim_activities(1, 0, 10)
    [two] = provider.claim_activities(1, 0, LOCK_MS)
    done = [(one, ActivityCompleted("a", 1, 2, "1")), (two, ActivityCompleted("a", 1, 3, "2"))]
    assert provider.complete_activities(done, 10) == [one]
    assert provider.pending_messages("a") == [ActivityCompleted("a", 1, 3, "2")]


def test_the_outcome_of_a_cancelled_activity_is_not_delivered(provider: DuckDBProvider) -> None:
    with_activities(provider, "One")
    [claim] = provider.claim_activities(1, 0, LOCK_MS)
    run_turn(provider, "a", cancelled=[2])
    assert provider.complete_activities([(claim, ActivityCompleted("a", 1, 2, "1"))], 0) == [claim]


def test_an_abandoned_activity_comes_back_when_told(provider: DuckDBProvider) -> None:
    with_activities(provider, "One")
    [claim] = provider.claim_activities(1, 0, LOCK_MS)
    provider.abandon_activity(claim, 50)
    assert provider.claim_activities(1, 49, LOCK_MS) == []
    [again] = provider.claim_activities(1, 50, LOCK_MS)
    assert again.attempt_count == 2
    provider.abandon_activity(claim, 60)  # no longer ours: nothing happens
    assert provider.claim_activities(1, 60, LOCK_MS) == []


def test_an_activity_that_cannot_be_read_is_kept_marked_and_passed_over(
    provider: DuckDBProvider, caplog: pytest.LogCaptureFixture
) -> None:
    with_activities(provider, "One", "Two")
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE worker_queue SET work_item = '[]' WHERE activity_id = 2")
    with caplog.at_level(logging.WARNING, "workbench.store"):
        assert [claim.work.name for claim in provider.claim_activities(1, 0, LOCK_MS)] == ["Two"]
        assert provider.claim_activities(1, 0, LOCK_MS) == []
    assert len(caplog.records) == 1
    assert provider.query("SELECT count(*) FROM worker_queue WHERE problem IS NOT NULL")[1] == [(1,)]


def test_the_next_due_time_is_that_of_the_first_message_that_can_be_claimed(provider: DuckDBProvider) -> None:
    run_turn(provider, "a")
    run_turn(provider, "b")
    provider.enqueue([TimerFired("a", 1, 2, 900), TimerFired("a", 1, 3, 800), TimerFired("b", 1, 2, 700)], 0)
    provider.enqueue([nudge("ghost")], 0, visible_at_ms=10)
    assert provider.next_visible_ms() == 700
    assert provider.next_visible_ms("a") == 800
    assert provider.next_visible_ms("ghost") is None


def test_the_latest_time_is_that_of_the_last_thing_that_happened(provider: DuckDBProvider) -> None:
    assert provider.latest_ms() is None
    run_turn(provider, "a", now_ms=50)
    assert provider.latest_ms() == 50
    provider.enqueue([TimerFired("a", 1, 2, 9_000)], 60)
    assert provider.latest_ms() == 60


def test_a_wait_ends_at_once_when_something_came_after_the_last_look(provider: DuckDBProvider) -> None:
    assert provider.claim(1, 0, LOCK_MS) == []
    provider.enqueue([start("a")], 0)
    assert provider.wait(60)


def test_a_wait_for_nothing_ends_after_its_time(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    claim_one(provider, "a")
    assert not provider.wait(0)


def test_every_waiting_thread_is_woken_by_a_commit(provider: DuckDBProvider) -> None:
    provider.enqueue([start("a")], 0)
    claim = claim_one(provider, "a")
    looked = threading.Barrier(3)

    def worker() -> bool:
        provider.claim_activities(1, 0, LOCK_MS)
        looked.wait(30)
        return provider.wait(60)

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(worker) for _ in range(2)]
        looked.wait(30)
        provider.commit([turn_of(claim)])
        assert [each.result(30) for each in waiting] == [True, True]


def test_closing_wakes_everybody_who_waits() -> None:
    provider = DuckDBProvider()
    looked = threading.Event()

    def worker() -> bool:
        provider.claim(1, 0, LOCK_MS)
        looked.set()
        return provider.wait(60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(worker)
        assert looked.wait(30)
        provider.close()
        assert waiting.result(30)
