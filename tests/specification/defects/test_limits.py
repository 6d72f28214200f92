"""D2–D7: limits count what is alive, hold over turns, keep nothing of what they refuse, and tell the parent."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, output, register, run, settle, start
from workbench import Limits, Workbench
from workbench.runtime.context import OrchestrationContext as Context

MOST = Limits().kv_keys
TOO_MANY = f"KV key count ({MOST + 1}) exceeds limit ({MOST})"


def set_keys(ctx: Context, first: int, end: int) -> None:
    """Set the keys with these numbers."""
    for number in range(first, end):
        ctx.set_kv_value(f"key-{number}", "1")


def test_d2_the_key_limit_holds_over_turns(wb: Workbench) -> None:
    """One new key a turn: the reference looks at each turn alone and never counts them together."""

    def flow(ctx: Context, _: None) -> Any:
        for number in range(MOST + 1):
            ctx.set_kv_value(f"key-{number}", "1")
            yield ctx.schedule_activity("Noop")

    result = run(wb, flow)
    assert (result.status, result.error) == ("Failed", TOO_MANY)
    assert len(wb.client.get_kv_all_values(INSTANCE)) == MOST


def test_d3_an_instance_at_the_limit_goes_on_after_continue_as_new(wb: Workbench) -> None:
    """The reference lets an instance grow beyond the limit, and then no turn of its next execution passes."""

    def flow(ctx: Context, execution: int) -> Any:
        if execution == 1:
            set_keys(ctx, 0, MOST)
            yield ctx.continue_as_new(2)
        for _round in range(3):
            yield ctx.schedule_activity("Noop")
        return ctx.get_kv_length()

    assert output(wb, flow, given=1) == MOST


def test_d4_keys_that_were_cleared_do_not_count(delta: Workbench) -> None:
    """The reference counts what the snapshot has again in every turn, cleared or not."""

    def flow(ctx: Context, execution: int) -> Any:
        if execution == 1:
            set_keys(ctx, 0, MOST)
            yield ctx.continue_as_new(2)
        ctx.clear_kv_value("key-0")
        ctx.set_kv_value("instead", "1")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("instead", "2")
        yield ctx.schedule_activity("Noop")
        ctx.clear_all_kv_values()
        yield ctx.schedule_activity("Noop")
        set_keys(ctx, 100, 100 + MOST)
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_length()

    assert output(delta, flow, given=1) == MOST


def test_d5_nothing_of_a_refused_turn_is_stored(wb: Workbench) -> None:
    """The reference stores the very value that is too large, and serves it."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("kept", "1")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("fits", "2")
        ctx.set_kv_value("too large", "x" * (Limits().kv_value_bytes + 1))
        yield ctx.schedule_activity("Echo", "never run")

    assert run(wb, flow).status == "Failed"
    assert wb.client.get_kv_all_values(INSTANCE) == {"kept": "1"}
    history = wb.provider.read_history(INSTANCE, 1)
    last = [event.type for event, turn in zip(history.events, history.turns, strict=True) if turn == 2]
    assert last == ["ActivityCompleted", "OrchestrationFailed"]
    assert history.refused == {2}
    assert wb.provider.pending_activities(INSTANCE) == []


def test_d6_a_parent_is_told_when_its_child_breaks_a_limit(wb: Workbench) -> None:
    """In the reference it waits for ever."""

    def child(ctx: Context, _: None) -> Any:
        set_keys(ctx, 0, MOST + 1)
        yield ctx.schedule_activity("Noop")

    def parent(ctx: Context, _: None) -> Any:
        try:
            yield ctx.schedule_sub_orchestration("child")
        except Exception as error:
            return str(error)

    register(wb, child)
    assert output(wb, parent) == TOO_MANY


def test_d7_a_refused_turn_has_one_ending(wb: Workbench) -> None:
    """The reference writes the ending that the code asked for and the failure behind it."""

    def completes(ctx: Context, _: None) -> Any:
        set_keys(ctx, 0, MOST + 1)
        return "done"

    def continues(ctx: Context, _: None) -> Any:
        set_keys(ctx, 0, MOST + 1)
        yield ctx.continue_as_new(None)

    for flow in (completes, continues):
        name = flow.__name__
        start(wb, flow, instance_id=name)
        settle(wb)
        kinds = [event.type for event in wb.provider.read_history(name, 1).events]
        assert kinds == ["OrchestrationStarted", "OrchestrationFailed"]
        assert wb.client.list_executions(name) == [1]
        assert wb.client.get_status(name).error == TOO_MANY
