"""Claim, advance, hold to the limits, commit: on a real store in memory."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.runtime.driving import kinds
from tests.runtime.instances import START_MS, Instances
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime import messages as ms
from workbench.runtime.dispatcher import LOCK_MS
from workbench.runtime.errors import DamagedHistory, LockLost, UnknownOrchestration
from workbench.runtime.limits import Limits

Flow = Generator[Any, Any, Any]


def counter(ctx: Any, rounds: int) -> Flow:
    for _round in range(rounds):
        ctx.set_kv_value("n", str(int(ctx.get_kv_value("n") or 0) + 1))
        yield ctx.schedule_activity("Noop")
    return int(ctx.get_kv_value("n"))


def waits(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("k", "1")
    return (yield ctx.wait_for_event("go"))


@pytest.fixture
def with_code(instances: Instances) -> Instances:
    instances.orchestration("Counter", counter)
    instances.orchestration("Waits", waits)
    instances.activity("Noop", lambda ctx, value: value)
    return instances


def test_a_turn_is_committed_whole(with_code: Instances) -> None:
    with_code.start("Counter", 2)
    result = with_code.batch()
    assert result is not None
    assert kinds(with_code.history()) == [ev.STARTED, ev.KV_SET, ev.ACTIVITY_SCHEDULED]
    assert with_code.provider.get_all_kv_values("i") == {"n": "1"}
    assert [work.name for work in with_code.provider.pending_activities("i")] == ["Noop"]
    assert with_code.provider.pending_messages("i") == []
    assert (with_code.info().status, with_code.info().orchestration) == ("Running", "Counter")


def test_every_time_in_a_turn_is_that_of_its_one_look_at_the_clock(with_code: Instances) -> None:
    with_code.start("Counter", 2)
    with_code.batch()
    assert {event.timestamp_ms for event in with_code.history()} == {START_MS}
    assert with_code.history()[1].last_updated_at_ms == START_MS


def test_nothing_visible_is_no_turn(with_code: Instances) -> None:
    assert with_code.batch() is None
    with_code.start("Waits")
    with_code.batch()
    assert with_code.batch() is None


def test_a_batch_that_appends_nothing_is_consumed_and_is_no_turn(with_code: Instances) -> None:
    with_code.start("Waits")
    with_code.batch()
    with_code.send(ms.ActivityCompleted("i", 7, 2, "null"))
    assert with_code.batch() is None
    assert with_code.provider.pending_messages("i") == []
    with_code.client.raise_event("i", "go", 5)
    result = with_code.batch()
    assert result is not None
    assert (result.number, result.output) == (2, "5")


def test_a_second_start_of_a_running_instance_is_consumed_without_a_trace(with_code: Instances) -> None:
    with_code.start("Waits")
    with_code.batch()
    with_code.send(ms.StartOrchestration("i", "Counter", "9"))
    assert with_code.batch() is None
    with_code.send(ms.StartOrchestration("i", "Counter", "9"), ms.ExternalRaised("i", "go", "1"))
    with_code.batch()
    assert kinds(with_code.history()).count(ev.STARTED) == 1
    assert with_code.info().status == "Completed"


def test_a_start_of_a_finished_instance_does_not_begin_it_again(with_code: Instances) -> None:
    with_code.orchestration("Once", lambda ctx, _: "done")
    with_code.start("Once")
    with_code.batch()
    before = with_code.history()
    with_code.send(ms.StartOrchestration("i", "Once", "1"))
    assert with_code.batch() is None
    assert with_code.history() == before
    assert with_code.provider.pending_messages("i") == []


def test_messages_for_a_finished_instance_are_consumed(with_code: Instances) -> None:
    with_code.orchestration("Once", lambda ctx, _: "done")
    with_code.start("Once")
    with_code.batch()
    before = with_code.history()
    with_code.send(
        ms.ExternalRaised("i", "late", "1"),
        ms.QueueMessage("i", "late", "1"),
        ms.CancelInstance("i", "late"),
        ms.TimerFired("i", 1, 9, 0),
    )
    assert with_code.batch() is None
    assert with_code.provider.pending_messages("i") == []
    assert with_code.history() == before
    assert with_code.info().status == "Completed"


def test_code_that_is_not_registered_leaves_the_messages_where_they_are(with_code: Instances) -> None:
    with_code.start("Nowhere")
    with pytest.raises(UnknownOrchestration, match="'Nowhere'"):
        with_code.batch()
    assert [type(message) for message in with_code.provider.pending_messages("i")] == [ms.StartOrchestration]
    with_code.orchestration("Nowhere", lambda ctx, _: "here")
    assert with_code.batch() is not None
    assert with_code.info().status == "Completed"


# Versions.


def test_an_instance_keeps_the_version_it_began_with(instances: Instances) -> None:
    instances.orchestration("Flow", waits, "1.0.0")
    instances.start("Flow")
    instances.batch()
    instances.orchestration("Flow", lambda ctx, _: "another", "2.0.0")
    instances.client.raise_event("i", "go", "old")
    instances.batch()
    assert (instances.info().version, instances.info().output) == ("1.0.0", '"old"')
    instances.start("Flow", None, "j")
    instances.batch("j")
    assert (instances.info("j").version, instances.info("j").output) == ("2.0.0", '"another"')


def test_continue_as_new_takes_the_newest_version_unless_told(instances: Instances) -> None:
    def again(ctx: Any, told: str | None) -> Flow:
        yield ctx.continue_as_new_versioned(None, told)

    def last(ctx: Any, _: object) -> Flow:
        return [ctx.orchestration_version, (yield ctx.schedule_timer(0))]

    for version, code in (("1.0.0", again), ("1.5.0", last), ("2.0.0", last)):
        instances.orchestration("Flow", code, version)
    for told, found in ((None, "2.0.0"), ("1.5.0", "1.5.0")):
        instance_id = f"to-{found}"
        instances.client.start_orchestration_versioned(instance_id, "Flow", told, "1.0.0")
        assert instances.finish(instance_id) == [found, None]
        assert instances.info(instance_id).execution_id == 2


# The code changes under way.


def test_changed_code_fails_the_instance_and_its_record_stays(with_code: Instances) -> None:
    with_code.start("Counter", 2)
    with_code.batch()

    def changed(ctx: Any, rounds: int) -> Flow:
        ctx.set_kv_value("n", "5")
        yield ctx.schedule_activity("Noop")

    with_code.orchestration("Counter", changed)
    result = with_code.turn()
    assert result.divergence is not None
    assert (result.divergence.turn, result.divergence.recorded_turn) == (2, 1)
    assert kinds(with_code.history())[3:] == [ev.ACTIVITY_COMPLETED, ev.FAILED]
    assert with_code.info().status == "Failed"
    assert with_code.provider.get_all_kv_values("i") == {"n": "1"}


def test_the_per_turn_model_poisons_its_own_snapshot_and_the_delta_model_does_not() -> None:
    outcomes = {}
    for model in (kv.DELTA, kv.PER_TURN):
        instances = Instances(kv_model=model)
        instances.orchestration("Counter", counter)
        instances.activity("Noop", lambda ctx, value: value)
        instances.start("Counter", 5)
        output = instances.finish()
        outcomes[model] = (instances.info().status, output, len(instances.history()))
        instances.provider.close()
    assert outcomes[kv.DELTA][:2] == ("Completed", 5)
    assert outcomes[kv.PER_TURN] == ("Failed", None, 5)


# Limits.


def test_a_refused_turn_is_marked_and_its_writes_are_nowhere() -> None:
    instances = Instances(limits=Limits(kv_value_bytes=3))

    def large(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("small", "x")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("small", "y")
        ctx.set_kv_value("large", "xxxx")

    instances.orchestration("Large", large)
    instances.activity("Noop", lambda ctx, value: value)
    instances.start("Large")
    instances.finish()
    assert instances.info().output == "KV value for key 'large' (4 bytes) exceeds limit (3 bytes)"
    assert instances.provider.get_all_kv_values("i") == {"small": "x"}
    assert instances.provider.read_history("i", 1).refused == frozenset({2})
    instances.provider.close()


# Interrupts and lost locks: nothing of the turn, and the next one works.


def test_a_keyboard_interrupt_in_the_code_leaves_nothing_and_the_next_turn_works(with_code: Instances) -> None:
    presses = [True]

    def interrupted(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "1")
        yield ctx.start_orchestration("Counter", "other", 1)
        if presses:
            presses.pop()
            raise KeyboardInterrupt
        return "done"

    with_code.orchestration("Interrupted", interrupted)
    with_code.start("Interrupted")
    with pytest.raises(KeyboardInterrupt):
        with_code.batch()
    assert with_code.provider.instance("i") is None
    assert with_code.provider.get_all_kv_values("i") == {}
    assert with_code.provider.pending_messages("other") == []
    made = with_code.dispatcher.make_turn("i")
    assert made is not None
    assert (made.result.output, made.claim.attempt_count) == ('"done"', 1)


def test_an_interrupt_while_parked_code_is_closed_leaves_nothing(with_code: Instances) -> None:
    presses = [True]

    def cleans_up(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.wait_for_event("go")
        finally:
            if presses:
                presses.pop()
                raise KeyboardInterrupt

    with_code.orchestration("Cleans", cleans_up)
    with_code.start("Cleans")
    with pytest.raises(KeyboardInterrupt):
        with_code.batch()
    assert with_code.provider.instance("i") is None
    assert with_code.batch() is not None


def test_a_turn_whose_lock_went_to_somebody_else_is_not_committed(with_code: Instances) -> None:
    def so_slow_that_another_takes_it(ctx: Any, _: object) -> str:
        long_after = START_MS + 10 * LOCK_MS
        with ThreadPoolExecutor(1) as somebody_else:
            taken = somebody_else.submit(with_code.provider.claim, 1, long_after, LOCK_MS, "i")
            assert len(taken.result(30)) == 1
        return "done"

    with_code.orchestration("Slow", so_slow_that_another_takes_it)
    with_code.start("Slow")
    with pytest.raises(LockLost, match="'i'"):
        with_code.batch()
    assert with_code.provider.instance("i") is None
    assert len(with_code.provider.pending_messages("i")) == 1


@pytest.mark.damages("a history row is overwritten")
def test_a_damaged_history_makes_no_turn_and_is_named(with_code: Instances) -> None:
    with_code.start("Waits")
    with_code.batch()
    with with_code.provider._store.writing() as cursor:
        cursor.execute("UPDATE history SET event_data = '{' WHERE event_id = 2")
    with_code.client.raise_event("i", "go", 1)
    with pytest.raises(DamagedHistory, match="the history of 'i', execution 1, is damaged at "):
        with_code.batch()
    assert len(with_code.provider.pending_messages("i")) == 1


# Many at once.


def test_the_turns_of_many_instances_are_made_in_one_commit(with_code: Instances) -> None:
    commits: list[int] = []
    commit = with_code.provider.commit

    def counted(turns: Any) -> Any:
        commits.append(len(turns))
        return commit(turns)

    with_code.provider.commit = counted  # type: ignore[method-assign]
    for number in range(5):
        with_code.start("Waits", None, f"i-{number}")
    assert with_code.dispatcher.make_turns(10) == 5
    assert commits == [5]
    assert {with_code.info(f"i-{number}").status for number in range(5)} == {"Running"}


def test_what_cannot_be_made_does_not_hold_up_the_others(with_code: Instances) -> None:
    with_code.start("Nowhere", None, "bad")
    with_code.start("Waits", None, "good")
    assert with_code.dispatcher.make_turns(10) == 2
    assert with_code.info("good").status == "Running"
    assert len(with_code.provider.pending_messages("bad")) == 1
