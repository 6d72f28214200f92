"""P-13: a name registered again with changed code: what the registry says, and what instances under way do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases.bug_reports.living import Host, living
from tests.cases.edited import edited, fresh
from workbench import Client, DuckDBProvider, Runtime, RuntimeOptions, Workbench
from workbench.runtime import events as ev
from workbench.runtime.errors import RegistrationConflict

WAIT_S = 60.0


def flow(ctx: Any, _: None) -> Any:
    result = yield ctx.schedule_activity("Echo", "old")
    yield ctx.wait_for_event("go")
    return result


async def awaited_flow(ctx: Any, _: None) -> Any:
    result = await ctx.schedule_activity("Echo", "old")
    await ctx.wait_for_event("go")
    return result


def changed(code: Callable[..., Any]) -> Callable[..., Any]:
    """The cell after the edit."""
    return edited(code, '"old"', '"NEW"')


@pytest.mark.parametrize("code", [flow, awaited_flow])
def test_the_instance_under_way_fails_naming_old_and_new_and_a_later_one_has_the_new_code(
    host: Host, code: Callable[..., Any]
) -> None:
    host.start(code)
    host.settle()
    assert host.registry.add_orchestration(code.__name__, changed(code)) == "changed"
    host._orchestrations[code.__name__] = changed(code)
    host.client.raise_event("i", "go")
    host.client.start_orchestration("later", code.__name__)
    host.settle()
    error = host.error()
    assert error.startswith("nondeterministic: ")
    assert "old" in error
    assert "NEW" in error
    assert host.kinds()[-2:] == [ev.EVENT_RECEIVED, ev.FAILED]
    host.client.raise_event("later", "go")
    host.settle()
    assert host.output("later") == "NEW"
    assert host.ran == [("Echo", "old"), ("Echo", "NEW")]


@pytest.mark.parametrize("code", [flow, awaited_flow])
def test_the_cell_run_again_unchanged_says_so_and_changes_nothing(host: Host, code: Callable[..., Any]) -> None:
    host.start(code)
    host.settle()
    assert host.registry.add_orchestration(code.__name__, fresh(code)) == "same"
    host.client.raise_event("i", "go")
    host.settle()
    assert host.output() == "old"
    assert host.ran == [("Echo", "old")]


def test_code_that_is_changed_and_changed_back_before_the_next_turn_changes_nothing(host: Host) -> None:
    host.start(flow)
    host.settle()
    said = [host.registry.add_orchestration("flow", code) for code in (changed(flow), fresh(flow), fresh(flow))]
    assert said == ["changed", "changed", "same"]
    host.client.raise_event("i", "go")
    host.settle()
    assert host.output() == "old"


def test_a_change_behind_the_wait_is_new_work_for_the_instance_under_way(host: Host) -> None:
    host.start(flow)
    host.settle()
    tail = edited(flow, "return result", 'return (yield ctx.schedule_activity("Echo", "tail"))')
    assert host.registry.add_orchestration("flow", tail) == "changed"
    host._orchestrations["flow"] = tail
    host.client.raise_event("i", "go")
    host.settle()
    assert host.output() == "tail"


def test_another_module_is_refused_the_name_and_takes_another_version_or_name(host: Host) -> None:
    host.start(flow)
    host.settle()
    other = changed(flow)
    other.__module__ = "another_module"
    with pytest.raises(RegistrationConflict, match="another_module"):
        host.registry.add_orchestration("flow", other)
    assert host.registry.add_orchestration("flow", other, "2.0.0") == "new"
    host.client.raise_event("i", "go")
    host.client.start_orchestration_versioned("first", "flow", None, "1.0.0")
    host.settle()
    assert host.output() == "old"
    assert host.ran[-1] == ("Echo", "old")


def test_the_turn_that_a_worker_is_making_ends_with_the_code_it_began_with() -> None:
    """The old code is held in the middle of its first turn while the cell is run again."""
    inside, may_go_on = threading.Event(), threading.Event()

    def held(ctx: Any, _: None) -> Any:
        ctx.set_kv_value("first", "old")
        inside.set()
        may_go_on.wait(WAIT_S)
        ctx.set_kv_value("second", "old")
        yield ctx.wait_for_event("go")
        return "old"

    def new(ctx: Any, _: None) -> Any:
        ctx.set_kv_value("first", "NEW")
        ctx.set_kv_value("second", "NEW")
        yield ctx.wait_for_event("go")
        return "NEW"

    for warm in (0, 10):
        inside.clear()
        may_go_on.clear()
        provider = DuckDBProvider()
        runtime = Runtime(provider, RuntimeOptions(warm=warm))
        runtime.register_orchestration("Flow", held)
        client = Client(provider)
        with runtime:
            client.start_orchestration("i", "Flow")
            assert inside.wait(WAIT_S)
            assert runtime.registry.add_orchestration("Flow", new) == "changed"
            may_go_on.set()
            assert client.wait_for_kv_value("i", "second") == "old"
            assert client.get_kv_all_values("i") == {"first": "old", "second": "old"}
            client.raise_event("i", "go")
            error = str(client.wait_for_orchestration("i").error)
            assert error.startswith("nondeterministic: ")
            assert "NEW" in error
            client.start_orchestration("later", "Flow")
            client.raise_event("later", "go")
            assert client.wait_for_kv_value("later", "first") == "NEW"
        provider.close()


def test_the_activity_that_a_worker_is_running_ends_with_the_code_it_began_with() -> None:
    inside, may_go_on = threading.Event(), threading.Event()

    def held(_ctx: Any, _given: object) -> str:
        inside.set()
        may_go_on.wait(WAIT_S)
        return "old"

    def twice(ctx: Any, _: None) -> Any:
        return [(yield ctx.schedule_activity("Act")), (yield ctx.schedule_activity("Act"))]

    provider = DuckDBProvider()
    runtime = Runtime(provider)
    runtime.register_orchestration("Twice", twice)
    runtime.register_activity("Act", held)
    client = Client(provider)
    with runtime:
        client.start_orchestration("i", "Twice")
        assert inside.wait(WAIT_S)
        assert runtime.registry.add_activity("Act", lambda _ctx, _given: "NEW") == "changed"
        may_go_on.set()
        assert client.wait_for_orchestration("i").output == ["old", "NEW"]
    provider.close()


def test_a_workbench_explains_the_change_with_both_requests_and_the_line(tmp_path: Path) -> None:
    with Workbench(tmp_path / "store.duckdb") as wb:
        wb.activity("Echo")(lambda _, given: given)
        wb.orchestration("Flow")(flow)
        run = wb.start("Flow")
        run.turn()
        run.turn()
        wb.orchestration("Flow")(changed(flow))
        run.raise_event("go")
        divergence = run.turn().divergence
        assert divergence is not None
        text = divergence.text()
        assert 'recorded  activity Echo("old")' in text
        assert 'now       activity Echo("NEW")' in text
        assert "flow, line 2" in text


def test_a_warm_execution_of_the_code_before_is_closed_and_never_goes_on(tmp_path: Path) -> None:
    closed = []

    def notes(ctx: Any, _: None) -> Any:
        try:
            yield ctx.wait_for_event("go")
        finally:
            closed.append(ctx.instance_id)
        return "old"

    def notes_not(ctx: Any, _: None) -> Any:
        yield ctx.wait_for_event("go")
        return "NEW"

    with living("warm", tmp_path) as host:
        host.start(notes)
        host.settle()
        assert closed == []
        host.registry.add_orchestration("notes", notes_not)
        host.client.raise_event("i", "go")
        host.settle()
        assert host.output() == "NEW"
        assert closed == ["i"]
