"""D1, D18–D25: queues that nothing blocks, reads that are whole, failures that can be looked at."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from tests.specification.running import INSTANCE, register, run, settle, start, values
from workbench import Workbench
from workbench.runtime import messages as ms
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import UnknownInstance, UnknownOrchestration
from workbench.runtime.kv import PER_TURN
from workbench.runtime.poison import retry_delay_ms
from workbench.store import DuckDBProvider


def waits(ctx: Context, _: None) -> Any:
    """Sets a key and waits."""
    ctx.set_kv_value("k", "1")
    yield ctx.wait_for_event("go")


def test_d1_a_message_for_nobody_blocks_nobody(wb: Workbench) -> None:
    """In the reference no instance behind it in the queue ever runs."""
    wb.provider.enqueue([ms.ExternalRaised("ghost", "go", "null")], wb.clock.now_ms())
    start(wb, waits)
    settle(wb)
    wb.client.delete_instance(INSTANCE, force=True)
    wb.provider.enqueue([ms.CancelInstance(INSTANCE, "too late")], wb.clock.now_ms())
    assert run(wb, waits, instance_id="another").status == "Running"
    with pytest.raises(UnknownInstance, match="'nobody'"):
        wb.client.raise_event("nobody", "go")


def test_d18_sizes_are_bytes(wb: Workbench) -> None:
    """The reference counts characters and calls them bytes."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("a", "é😀")
        ctx.set_kv_value("b", "12345")
        yield ctx.wait_for_event("never")

    run(wb, flow)
    stats = wb.client.get_orchestration_stats(INSTANCE)
    assert stats is not None
    assert (stats.kv_user_key_count, stats.kv_total_value_bytes) == (2, 2 + 4 + 5)
    texts = wb.provider.read_history(INSTANCE, 1).texts
    assert stats.history_size_bytes == sum(len(text.encode()) for text in texts) > sum(map(len, texts))


def test_d19_times_are_those_of_the_turns(wb: Workbench) -> None:
    """In the reference they come back as 0, and the output of a running instance as an empty text."""
    created_ms = wb.clock.now_ms()
    start(wb, waits)
    settle(wb)
    info = wb.client.get_instance_info(INSTANCE)
    assert (info.created_at_ms, info.updated_at_ms, info.output) == (created_ms, created_ms, None)
    execution = wb.client.get_execution_info(INSTANCE, 1)
    assert (execution.started_at_ms, execution.completed_at_ms, execution.output) == (created_ms, None, None)


def test_d20_a_bulk_read_is_one_moment(wb: Workbench) -> None:
    """Two keys that are written together are never seen apart, not even while the end of an execution merges them."""

    def flow(ctx: Context, execution: int) -> Any:
        ctx.set_kv_value("a", str(execution))
        ctx.set_kv_value("b", str(execution))
        if execution < 25:
            yield ctx.continue_as_new(execution + 1)

    seen: list[dict[str, str]] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.append(wb.client.get_kv_all_values(INSTANCE))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        run(wb, flow, given=1)
    finally:
        done.set()
        reader.join()
    assert [view for view in seen if view.get("a") != view.get("b")] == []
    firsts = [int(view["a"]) for view in seen if view]
    assert firsts == sorted(firsts)


def test_d22_a_tombstone_of_a_key_that_never_was_shows_nowhere(delta: Workbench) -> None:
    """Spec 000 writes one for every clear; no reader sees it, and the end of the execution takes it away."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_kv_value("never set")
        yield ctx.wait_for_event("go")
        return ctx.get_kv_all_keys()

    start(delta, flow)
    settle(delta)
    assert values(delta.provider.get_kv_tables(INSTANCE).delta) == {"never set": None}
    assert delta.client.get_kv_all_values(INSTANCE) == {}
    stats = delta.client.get_orchestration_stats(INSTANCE)
    assert stats is not None
    assert stats.kv_user_key_count == 0
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).output == []
    assert delta.provider.get_kv_tables(INSTANCE).delta == {}


@pytest.mark.damages("a history row is overwritten")
@pytest.mark.parametrize("model", ["delta", "per-turn"])
def test_d23_an_instance_with_a_damaged_history_can_be_asked_for_its_status(model: Any) -> None:
    """In the reference asking for the status of such an instance raises."""
    with Workbench(kv_model=model) as wb:
        start(wb, waits)
        settle(wb)
        with wb.provider._store.writing() as cursor:
            cursor.execute("UPDATE history SET event_data = '{' WHERE event_id = 2")
        wb.client.raise_event(INSTANCE, "go")
        settle(wb, max_attempts=1)
        status = wb.client.get_status(INSTANCE)
        assert status.status == "Failed"
        expected = f"poison: orchestration {INSTANCE} history deserialization failed after 2 attempts (max 1): "
        assert str(status.error).startswith(expected)
        assert "event 2" in str(status.error)
        assert wb.client.get_kv_all_values(INSTANCE) == {"k": "1"}
        assert values(wb.provider.get_kv_tables(INSTANCE).store) == {"k": "1"}
        assert run(wb, waits, instance_id="another").status == "Running"


def test_d25_what_is_given_back_is_free_at_once(wb: Workbench) -> None:
    """Some of the reference's error paths only seem to give a lock back, so it has to expire."""
    wb.client.start_orchestration(INSTANCE, "waits")
    with pytest.raises(UnknownOrchestration):
        wb.run(INSTANCE).turn()
    assert wb.provider.next_visible_ms() == wb.clock.now_ms()
    dispatcher = Dispatcher(wb.provider, wb.registry, wb.clock, wb.limits)
    assert dispatcher.make_turns(1) == 1
    assert wb.provider.next_visible_ms() == wb.clock.now_ms() + retry_delay_ms(1)
    register(wb, waits)
    settle(wb)
    assert wb.client.get_kv_value(INSTANCE, "k") == "1"


def test_d24_a_message_that_cannot_be_read_is_kept_and_named(
    delta: Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    """In the reference it vanishes without a trace."""
    start(delta, waits)
    settle(delta)
    delta.client.raise_event(INSTANCE, "go")
    provider: DuckDBProvider = delta.provider
    with provider._store.writing() as cursor:
        cursor.execute("UPDATE orchestrator_queue SET work_item = '{' WHERE kind = 'ExternalRaised'")
    with caplog.at_level(logging.WARNING, "workbench.store"):
        settle(delta)
    assert "cannot be read and is left there" in caplog.text
    assert provider.query("SELECT count(*) FROM orchestrator_queue WHERE problem IS NOT NULL")[1] == [(1,)]
    assert delta.client.get_status(INSTANCE).status == "Running"
    delta.client.raise_event(INSTANCE, "go")
    settle(delta)
    assert delta.client.get_status(INSTANCE).status == "Completed"


def test_d21_clears_and_sets_have_the_same_clock(wb: Workbench) -> None:
    """A tombstone carries the time of the turn that cleared, as a value that of the turn that set."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("kept", "1")
        ctx.set_kv_value("cleared", "1")
        yield ctx.schedule_timer(1_000)
        ctx.clear_kv_value("cleared")
        yield ctx.wait_for_event("never")

    first_ms = wb.clock.now_ms()
    run(wb, flow)
    tables = wb.provider.get_kv_tables(INSTANCE)
    times = {key: row.last_updated_at_ms for key, row in {**tables.store, **tables.delta}.items()}
    cleared = {} if wb.kv_model == PER_TURN else {"cleared": first_ms + 1_000}
    assert times == {"kept": first_ms} | cleared
