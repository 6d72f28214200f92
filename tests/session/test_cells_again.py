"""Re-running any cell works: opening, registering, starting; and files that are closed and opened again."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import with_activities
from tests.session.flows import SCRIPTS, child, drive
from workbench import ManualClock, Run, Workbench
from workbench.runtime.clock import MANUAL_START_MS
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

Flow = Generator[Any, Any, Any]


def flow(ctx: Any, value: object) -> Flow:
    result = yield ctx.schedule_activity("Echo", value)
    yield ctx.wait_for_event("go")
    return result


def changed(ctx: Any, value: object) -> Flow:
    result = yield ctx.schedule_activity("Echo", [value, "changed"])
    yield ctx.wait_for_event("go")
    return result


def waiting(wb: Workbench, name: str = "flow") -> Run:
    wb.orchestration(name)(flow)
    run = wb.start(name, 1)
    run.turn()
    run.turn()
    return run


def test_decorators_give_the_function_back_with_or_without_a_name(wb: Workbench) -> None:
    assert wb.orchestration(flow) is flow
    assert wb.orchestration("Named", version="1.2.0")(flow) is flow
    assert wb.orchestration()(flow) is flow
    assert wb.activity(flow) is flow
    assert wb.activity("Named")(flow) is flow
    assert wb.start(flow).instance_id == "flow-1"
    assert wb.start("Named").turn().arrivals[0].version == "1.2.0"


def test_default_ids_are_the_name_in_lower_case_and_the_next_free_number(wb: Workbench) -> None:
    wb.orchestration("OrderFlow")(flow)
    assert [wb.start("OrderFlow").instance_id for _ in range(2)] == ["orderflow-1", "orderflow-2"]
    wb.start("OrderFlow", instance_id="orderflow-3")
    assert wb.start("OrderFlow").instance_id == "orderflow-4"
    assert wb.start("OrderFlow", instance_id="mine").instance_id == "mine"


def test_registering_the_same_code_again_changes_nothing_for_an_instance_under_way(wb: Workbench) -> None:
    run = waiting(wb)
    wb.orchestration("flow")(flow)
    run.raise_event("go")
    assert run.finish().output == 1


def test_the_turns_of_a_run_follow_what_is_registered_now(wb: Workbench) -> None:
    run = waiting(wb)
    assert [turn.divergence for turn in run.turns] == [None, None]
    wb.orchestration("flow")(changed)
    [turn] = run.turns
    assert turn.divergence is not None
    assert (turn.divergence.kind, turn.divergence.recorded_turn) == ("changed", 1)
    assert (run.status, run.output, run.outcome.turns) == ("Running", None, 2)
    wb.orchestration("flow")(flow)
    assert len(run.turns) == 2


def test_code_changed_back_after_a_divergence_leaves_the_explanation_with_the_run_that_saw_it(wb: Workbench) -> None:
    run = waiting(wb)
    wb.orchestration("flow")(changed)
    run.raise_event("go")
    explanation = run.turn().divergence
    assert explanation is not None
    wb.orchestration("flow")(flow)
    assert run.divergence_text == explanation.text()
    with pytest.raises(NondeterminismError) as raised:
        _ = wb.run(run.instance_id).output
    assert str(raised.value) == (
        f"{run.error}\nrun again, the code that is registered now follows the whole history: "
        "it was changed, or it is impure"
    )


def test_a_new_instance_begins_with_the_new_code(wb: Workbench) -> None:
    waiting(wb)
    wb.orchestration("flow")(changed)
    run = wb.start("flow", 2)
    run.turn()
    run.turn()
    run.raise_event("go")
    assert run.finish().output == [2, "changed"]


def test_versions_stand_beside_each_other_and_an_instance_keeps_its_own(wb: Workbench) -> None:
    old = waiting(wb)
    wb.orchestration("flow", version="2.0.0")(changed)
    new = wb.start("flow", 1)
    new.turn()
    new.turn()
    for run in (old, new):
        run.raise_event("go")
    assert (old.finish().output, new.finish().output) == (1, [1, "changed"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def test_opening_a_file_that_is_open_here_gives_a_handle_on_the_same_store_code_and_clock(path: Path) -> None:
    first = Workbench(path)
    run = waiting_with_echo(first)
    second = Workbench(path)
    assert (second.clock, second.registry, second.provider) == (first.clock, first.registry, first.provider)
    second.run(run.instance_id).raise_event("go")
    assert run.finish().output == 1
    first.close()
    first.close()
    assert second.run(run.instance_id).output == 1
    second.close()


def waiting_with_echo(wb: Workbench) -> Run:
    return waiting(with_activities(wb))


def test_a_path_is_the_same_file_however_it_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workbench(path) as wb:
        waiting_with_echo(wb)
        monkeypatch.chdir(path.parent)
        with Workbench("store.duckdb") as again, Workbench("./x/../store.duckdb") as third:
            assert list(again.instances["instance_id"]) == list(third.instances["instance_id"]) == ["flow-1"]


def test_two_stores_in_memory_have_nothing_in_common() -> None:
    with Workbench() as one, Workbench() as other:
        waiting_with_echo(one)
        assert len(one.instances) == 1
        assert len(other.instances) == 0
        assert one.clock is not other.clock


@pytest.mark.parametrize("model", [DELTA, PER_TURN])
def test_a_file_opened_again_keeps_its_model_its_instances_and_the_largest_time(path: Path, model: KVModel) -> None:
    with Workbench(path, kv_model=model) as wb:
        run = waiting_with_echo(wb)
        wb.clock.advance(5_000)  # type: ignore[attr-defined]
        run.raise_event("other")
        run.turn()
        wb.clock.advance(2_000)  # type: ignore[attr-defined]
        run.raise_event("go")
        before = run.recording()
    with Workbench(path) as wb:
        assert wb.kv_model == model
        assert wb.clock.now_ms() == MANUAL_START_MS + 7_000
        again = wb.run("flow-1")
        assert again.recording() == before
        assert again.turns[-1].has_code is False
        wb.orchestration(flow)
        assert again.turns[-1].has_code
        assert again.turn().now_ms == MANUAL_START_MS + 7_000
        assert again.output == 1


def test_a_clock_that_is_given_is_the_clock(path: Path) -> None:
    clock = ManualClock(1_000)
    with Workbench(path, clock=clock) as wb:
        run = waiting_with_echo(wb)
        assert run.turns[0].now_ms == 1_000
        assert wb.clock is clock


def test_closing_between_any_two_turns_changes_nothing(path: Path) -> None:
    script = SCRIPTS["continue as new"]
    with Workbench() as wb:
        through, _ = drive(register_all(wb), script)
        expected = through.recording().to_json()
    calls = list(script.outside)
    with Workbench(path) as wb:
        run = register_all(wb).start(script.code, script.input)
    finished = False
    while not finished:
        with Workbench(path) as wb:
            run = register_all(wb).run(run.instance_id)
            call = calls.pop(0) if calls else None
            if call is not None:
                call(run, wb)
            run.turn()
            finished = run.status in ("Completed", "Failed")
            text = run.recording().to_json()
    assert text == expected


def register_all(wb: Workbench) -> Workbench:
    for script in SCRIPTS.values():
        wb.orchestration(script.code)
    wb.orchestration("Child")(child)
    return with_activities(wb)
