"""D8–D15, D27, D32: replays that come to the same, and differences that are found."""

from __future__ import annotations

import json
from typing import Any

from tests.specification.replay_engine.histories import completed, kv_set, mismatch, resumed, scheduled, started
from tests.specification.running import INSTANCE, output, register, run, settle, start
from workbench import Workbench
from workbench.runtime import messages as ms
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.tasks import GET_KV_VALUE


def kinds(wb: Workbench, execution_id: int = 1) -> list[str]:
    """The types of the events of an execution of instance `i`."""
    return [event.type for event in wb.provider.read_history(INSTANCE, execution_id).events]


def test_d8_pruning_by_age_is_the_same_on_every_replay(delta: Workbench) -> None:
    """The reference stamps a key anew on each replay, so what was too old once is young again the next time."""

    def flow(ctx: Context, _: None) -> Any:
        now_ms = yield ctx.utc_now()
        ctx.set_kv_value("pruned at once", "1")
        pruned = [ctx.prune_kv_values_updated_before(now_ms + 400)]
        ctx.set_kv_value("aged", "1")
        yield ctx.schedule_timer(900)
        pruned.append(ctx.prune_kv_values_updated_before((yield ctx.utc_now())))
        yield ctx.schedule_timer(900)
        return pruned

    assert output(delta, flow) == [1, 1]


def test_d9_pruned_keys_are_cleared_in_key_order(delta: Workbench) -> None:
    """The reference walks a hash map, whose order is another one on the next replay."""

    def flow(ctx: Context, _: None) -> Any:
        for key in ("c", "a", "é", "b"):
            ctx.set_kv_value(key, "1")
        ctx.prune_kv_values_updated_before(2**64 - 1)
        yield ctx.schedule_activity("Noop")

    assert output(delta, flow) is None
    events = delta.provider.read_history(INSTANCE, 1).events
    assert [event.key for event in events if event.type == "KeyValueCleared"] == ["a", "b", "c", "é"]


def test_d10_a_loop_over_all_values_schedules_in_the_same_order_every_time(delta: Workbench) -> None:
    """In the reference it fails on replay, as the order is random."""

    def flow(ctx: Context, _: None) -> Any:
        for key in ("c", "a", "b"):
            ctx.set_kv_value(key, key)
        results = []
        for value in ctx.get_kv_all_values().values():
            results.append((yield ctx.schedule_activity("Echo", value)))
        return results

    assert output(delta, flow) == ["a", "b", "c"]


def test_d11_code_that_ends_where_the_history_goes_on_is_a_divergence() -> None:
    """The reference takes the early output, and appends the set that it had recorded a second time."""

    def returns_early(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        return "early"

    def raises_early(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        raise ValueError("early")

    history = [[started(), kv_set("k", "1"), scheduled()], [completed(3), kv_set("k", "2"), scheduled()]]
    for code in (returns_early, raises_early):
        result = resumed(code, *history)
        assert result.divergence is not None
        assert result.divergence.kind == "ended early"
        assert [event.type for event in result.events] == ["ActivityCompleted", "OrchestrationFailed"]


def test_d12_a_recorded_set_that_is_no_longer_made_is_a_divergence() -> None:
    """The reference accepts it in silence."""

    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Work")

    assert mismatch(flow, [started(), scheduled(), kv_set("k", "1")]) == "the recorded KeyValueSet is no longer made"


def test_d13_a_second_outcome_of_a_failed_activity_is_passed_over(wb: Workbench) -> None:
    """In the reference it kills the instance."""

    def flow(ctx: Context, _: None) -> Any:
        try:
            yield ctx.schedule_activity("Fails")
        except Exception as error:
            yield ctx.wait_for_event("go")
            return str(error)

    def fails(_ctx: object, _given: object) -> None:
        raise ValueError("once")

    wb.registry.add_activity("Fails", fails)
    start(wb, flow)
    settle(wb)
    wb.provider.enqueue([ms.ActivityCompleted(INSTANCE, 1, 2, '"late"')], wb.clock.now_ms())
    settle(wb)
    wb.client.raise_event(INSTANCE, "go")
    settle(wb)
    assert wb.client.get_status(INSTANCE).output == "Activity 'Fails' call failed: ValueError: once"
    assert "ActivityCompleted" not in kinds(wb)


def test_d14_a_detached_start_beside_continue_as_new_is_started(wb: Workbench) -> None:
    """In the reference it is recorded, and nothing ever starts."""

    def detached(_ctx: Context, given: object) -> object:
        return given

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield ctx.start_orchestration("detached", "the detached one", 7)
            yield ctx.continue_as_new(False)

    register(wb, detached)
    assert run(wb, flow, given=True).status == "Completed"
    assert "OrchestrationChained" in kinds(wb)
    assert wb.client.get_status("the detached one").output == 7


def test_d15_any_number_of_buffered_messages_can_be_read_in_one_turn(delta: Workbench) -> None:
    """The reference fails an instance for good that reads a hundred."""

    def flow(ctx: Context, count: int) -> Any:
        yield ctx.wait_for_event("go")
        read = []
        for _message in range(count):
            read.append((yield ctx.dequeue_event("numbers")))
        return read

    start(delta, flow, given=250)
    settle(delta)
    messages = [ms.QueueMessage(INSTANCE, "numbers", str(number)) for number in range(250)]
    delta.provider.enqueue(messages, delta.clock.now_ms())
    settle(delta)
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).output == list(range(250))


def test_d27_the_input_of_a_cross_instance_read_is_compared_as_json() -> None:
    """The reference's two SDKs write it differently, and neither can replay the other's history."""

    def flow(ctx: Context, _: None) -> Any:
        return (yield ctx.get_kv_value_from_instance("writer", "k"))

    for text in ('{"instance_id":"writer","key":"k"}', '{"key": "k", "instance_id": "writer"}'):
        read = ("ActivityScheduled", None, {"name": GET_KV_VALUE, "input": text})
        result = resumed(flow, [started(), read], result="42")
        assert (result.divergence, json.loads(result.output or "")) == (None, "42")
    other = ("ActivityScheduled", None, {"name": GET_KV_VALUE, "input": '{"instance_id":"writer","key":"j"}'})
    assert mismatch(flow, [started(), other]).startswith("schedule mismatch")


def test_d32_what_the_last_turn_schedules_is_recorded_and_cancelled_and_never_run(wb: Workbench) -> None:
    """As in the reference, on purpose: the history says what the code did, and that nothing came of it."""
    ran = []

    def flow(ctx: Context, first: bool) -> Any:
        if first:
            yield ctx.wait_for_event("go")
            yield ctx.race(ctx.schedule_activity("Notes"), ctx.dequeue_event("ready"))
            yield ctx.continue_as_new(False)

    wb.registry.add_activity("Notes", lambda _ctx, _given: ran.append(1))
    start(wb, flow, given=True)
    settle(wb)
    wb.client.enqueue_event(INSTANCE, "ready")
    wb.client.raise_event(INSTANCE, "go")
    settle(wb)
    assert wb.client.get_status(INSTANCE).status == "Completed"
    assert "ActivityScheduled" in kinds(wb)
    assert kinds(wb)[-2:] == ["OrchestrationContinuedAsNew", "ActivityCancelRequested"]
    assert ran == []
