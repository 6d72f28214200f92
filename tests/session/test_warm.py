"""`Workbench(warm=True)`: executions stay parked between turns, and nothing else is different (DESIGN §5, §8)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.session.conftest import with_activities
from tests.session.flows import SCRIPTS, Flow, child, drive
from workbench import Workbench
from workbench.runtime.errors import LockLost, StoreOpenWithOtherSettings
from workbench.runtime.kv import PER_TURN
from workbench.runtime.provider import Claim
from workbench.runtime.turn import Turn


@pytest.fixture
def warm() -> Iterator[Workbench]:
    """A new store whose executions are kept warm."""
    with Workbench(warm=True) as workbench:
        yield with_activities(workbench)


class Seen:
    """An orchestration of three turns that counts how often its first line runs."""

    def __init__(self) -> None:
        self.starts = 0

    def code(self, ctx: Any, _: object) -> Flow:
        self.starts += 1
        ctx.set_kv_value("n", "1")
        yield ctx.schedule_activity("Echo")
        ctx.set_kv_value("n", str(int(ctx.get_kv_value("n")) + 1))
        yield ctx.schedule_activity("Echo")
        return ctx.get_kv_value("n")


@pytest.mark.parametrize(("is_warm", "starts"), [(False, 3), (None, 3), (True, 1)])
def test_by_default_every_turn_replays_and_warm_code_runs_once(is_warm: bool | None, starts: int) -> None:
    seen = Seen()
    with Workbench(warm=is_warm) as wb:
        with_activities(wb).orchestration("Flow")(seen.code)
        assert wb.start("Flow").finish().output == "2"
    assert seen.starts == starts


def test_the_per_turn_model_is_never_warm() -> None:
    """Its snapshot changes with every turn: the read of turn 1 is poisoned when turn 2 replays it."""
    seen = Seen()
    with Workbench(kv_model=PER_TURN, warm=True) as wb:
        with_activities(wb).orchestration("Flow")(seen.code)
        assert wb.start("Flow").finish().status == "Completed"
    assert seen.starts == 3


def histories(wb: Workbench, instance_id: str) -> list[tuple[str, ...]]:
    return [
        wb.provider.read_history(instance_id, each.execution_id).texts for each in wb.provider.executions(instance_id)
    ]


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_warm_run_records_what_a_cold_one_does_and_shows_the_same_turns(warm: Workbench, name: str) -> None:
    with Workbench() as cold:
        for wb in (warm, cold):
            with_activities(wb).orchestration("Child")(child)
        run, turns = drive(warm, SCRIPTS[name])
        other, expected = drive(cold, SCRIPTS[name])
        assert histories(warm, run.instance_id) == histories(cold, other.instance_id)
    for live, again in zip(turns, expected, strict=True):
        for field in set(Turn.__struct_fields__) - {"replayed"}:
            assert getattr(live, field) == getattr(again, field), f"{live.address}: {field}"


def test_a_warm_turn_made_nothing_again(warm: Workbench) -> None:
    warm.orchestration("Flow")(Seen().code)
    run = warm.start("Flow")
    assert [len(run.turn().replayed) for _ in range(3)] == [0, 0, 0]
    assert [len(turn.replayed) for turn in run.turns] == [0, 2, 5]


def test_code_that_is_registered_anew_runs_from_the_top(warm: Workbench) -> None:
    before, after = Seen(), Seen()
    warm.orchestration("Flow")(before.code)
    run = warm.start("Flow")
    run.turn()
    warm.orchestration("Flow")(after.code)
    assert run.finish().output == "2"
    assert (before.starts, after.starts) == (1, 1)


def test_an_instance_that_is_replaced_or_restarted_begins_anew(warm: Workbench) -> None:
    seen = Seen()
    warm.orchestration("Flow")(seen.code)
    warm.start("Flow", instance_id="i").turn()
    run = warm.start("Flow", instance_id="i", replace=True)
    run.turn()
    run.cancel("enough")
    assert run.finish().status == "Failed"
    warm.client.restart_instance("i", kv="clear")
    assert run.finish().output == "2"
    assert seen.starts == 3


def test_a_turn_that_background_workers_made_is_not_missed(warm: Workbench) -> None:
    def waits(ctx: Any, _: object) -> Flow:
        first = yield ctx.wait_for_event("go")
        ctx.set_kv_value("first", str(first))
        return [first, (yield ctx.wait_for_event("go"))]

    warm.orchestration(waits)
    run = warm.start(waits)
    run.turn()
    with warm.runtime:
        run.raise_event("go", 1)
        warm.client.wait_for_kv_value(run.instance_id, "first")
    run.raise_event("go", 2)
    assert run.turn().status == "Completed"
    assert run.output == [1, 2]


def test_a_turn_that_was_not_committed_is_made_again_from_the_record(warm: Workbench) -> None:
    taken: list[list[Claim]] = []

    def slow(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("n", "1")
        yield ctx.wait_for_event("go")
        if not taken:
            long_after = warm.clock.now_ms() + 60_000
            with ThreadPoolExecutor(1) as somebody_else:
                taken.append(somebody_else.submit(warm.provider.claim, 1, long_after, 1_000, "i").result(30))
        ctx.set_kv_value("n", "2")
        yield ctx.wait_for_event("go")

    warm.orchestration(slow)
    run = warm.start(slow, instance_id="i")
    run.turn()
    run.raise_event("go")
    with pytest.raises(LockLost):
        run.turn()
    assert run.kv == {"n": "1"}
    warm.provider.abandon(taken[0][0])
    assert [operation.text for operation in run.turn().operations] == ['set n = "2"', "wait for event go"]


def test_parked_code_is_closed_with_the_store() -> None:
    def parked(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.wait_for_event("go")
        finally:
            cleaned.append(True)

    cleaned: list[bool] = []
    with Workbench(warm=True) as wb:
        wb.orchestration(parked)
        wb.start(parked).turn()
        assert cleaned == []
    assert cleaned == [True]


def test_an_open_file_keeps_its_setting(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Workbench(path, warm=True):
        Workbench(path).close()
        Workbench(path, warm=True).close()
        with pytest.raises(StoreOpenWithOtherSettings, match="warm=True, not False"):
            Workbench(path, warm=False)
    with Workbench(path), pytest.raises(StoreOpenWithOtherSettings, match="warm=False, not True"):
        Workbench(path, warm=True)


def test_impure_code_is_seen_when_its_turns_are_run_again(warm: Workbench) -> None:
    """Warm code hides impurity from the run itself; the record and the code part when the history is shown."""
    number = iter(range(10))

    def impure(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("n", str(next(number)))
        yield ctx.schedule_activity("Echo")
        return "done"

    warm.orchestration(impure)
    run = warm.start(impure)
    assert run.finish().status == "Completed"
    assert run.turns[-1].divergence is not None
