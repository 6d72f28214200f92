"""Everybody in one process on one store: runtime, client, panel and cell, each in threads of its own (P-17)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from workbench import Client, Run, Workbench
from workbench.runtime.errors import InstanceFinished, StoreFileGone, StoreOpenWithOtherSettings
from workbench.store import DuckDBProvider

Flow = Generator[Any, Any, Any]
SECONDS = 300


def counter(ctx: Any, given: list[Any]) -> Flow:
    """Says in every key and value whose it is."""
    name, rounds = given
    for number in range(1, rounds + 1):
        ctx.set_kv_value("who", name)
        ctx.set_kv_value("count", f"{name}:{number}")
        assert (yield ctx.schedule_activity("Echo", f"{name}:{number}")) == f"{name}:{number}"
    return name


def opened(path: Path) -> Workbench:
    wb = Workbench(path)
    wb.orchestration(counter)
    wb.activity("Echo")(lambda _, value: value)
    return wb


def together(*works: Callable[[], int]) -> list[int]:
    """Each in a thread, all at once; what each counted. Raises what one of them raised."""
    begin = threading.Barrier(len(works))

    def do(work: Callable[[], int]) -> int:
        begin.wait(SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [each.result(SECONDS) for each in [pool.submit(do, work) for work in works]]


def check_turns(wb: Workbench, names: list[str], rounds: int) -> int:
    """No turn twice, none missing, and nothing of another instance anywhere; how many turns there were."""
    for name in names:
        _, turns = wb.provider.query("SELECT DISTINCT turn FROM history WHERE instance_id = ? ORDER BY turn", [name])
        assert [turn for (turn,) in turns] == list(range(1, rounds + 2))
        _, ids = wb.provider.query("SELECT event_id FROM history WHERE instance_id = ? ORDER BY event_id", [name])
        assert [each for (each,) in ids] == list(range(1, len(ids) + 1))
        assert wb.run(name).output == name
        assert wb.run(name).kv == {"who": name, "count": f"{name}:{rounds}"}
    _, strangers = wb.provider.query(
        "SELECT count(*) FROM history WHERE event_type = 'KeyValueSet' AND NOT contains(event_data, instance_id)"
    )
    assert strangers == [(0,)]
    return len(names) * (rounds + 1)


def beside_a_runtime(path: Path, count: int, rounds: int) -> tuple[int, int]:
    """A runtime makes the turns; clients wait and poll, cells query and open handles, a panel looks. Turns, reads."""
    names = [f"counter-{number:03}" for number in range(count)]
    with opened(path) as wb:
        done = threading.Event()

        def clients() -> int:
            provider = DuckDBProvider(path)
            client = Client(provider, wb.clock)
            for name in names:
                client.start_orchestration(name, "counter", [name, rounds])
            for name in names:
                assert client.wait_for_orchestration(name, timeout_ms=SECONDS * 1_000).output == name
            done.set()
            provider.close()
            return len(names)

        def polls() -> int:
            reads = 0
            while not done.is_set():
                for name in names:
                    values = wb.client.get_kv_all_values(name)
                    assert values == {} or values["who"] == name
                    assert values == {} or values["count"].startswith(f"{name}:")
                    reads += 1
            return reads

        def cells() -> int:
            reads = 0
            while not done.is_set():
                with Workbench(path) as again:
                    found = again.sql("SELECT instance_id, key, value FROM kv_delta")
                    rows = zip(found["instance_id"], found["value"], strict=True)
                    assert all(str(name) in str(value) for name, value in rows)
                    reads += len(found)
            return reads

        def looks() -> int:
            shown = 0
            while not done.is_set():
                for info in wb.provider.instances()[-3:]:
                    with wb.run(info.instance_id).stepper() as panel:
                        assert info.instance_id in panel.static_html()
                        assert all(info.instance_id in repr(turn.after.delta) for turn in panel.turns[:-1])
                        shown += len(panel.turns)
            return shown

        with wb.runtime:
            _, *reads = together(clients, polls, cells, looks)
        return check_turns(wb, names, rounds), sum(reads)


def test_nobody_gets_anothers_row_and_no_turn_is_made_twice(tmp_path: Path) -> None:
    turns, reads = beside_a_runtime(tmp_path / "flows.duckdb", count=8, rounds=2)
    print(f"{turns} turns beside {reads} reads of 4 threads")
    assert reads > 0


@pytest.mark.long
def test_nobody_gets_anothers_row_in_hundreds_of_turns(tmp_path: Path) -> None:
    turns, reads = beside_a_runtime(tmp_path / "flows.duckdb", count=80, rounds=6)
    print(f"{turns} turns beside {reads} reads of 4 threads")
    assert turns == 560


def test_two_handles_step_the_same_instances_by_hand_and_make_each_turn_once(tmp_path: Path) -> None:
    """Two cells, or a cell and a button: each makes turns of all instances until none is left."""
    path = tmp_path / "flows.duckdb"
    names = [f"counter-{number}" for number in range(4)]
    with opened(path) as first, opened(path) as second:
        for name in names:
            first.start("counter", [name, 3], instance_id=name)

        def steps(wb: Workbench) -> Callable[[], int]:
            def work() -> int:
                made = 0
                while runs := [run for run in map(wb.run, names) if run.status not in ("Completed", "Failed")]:
                    made += sum(_made_a_turn(run) for run in runs)
                return made

            return work

        made = together(steps(first), steps(second))
        assert check_turns(first, names, 3) == sum(made)
        print(f"{made[0]} turns by one handle, {made[1]} by the other")


def _made_a_turn(run: Run) -> bool:
    try:
        run.turn()
    except InstanceFinished:  # the other one made the last turn between our look and our call
        return False
    return True


def test_a_file_that_is_open_here_is_shared_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "flows.duckdb"
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.duckdb").symlink_to(path)
    with opened(path) as wb, Workbench(tmp_path / "folder" / ".." / "flows.duckdb") as again:
        run = wb.start("counter", ["counter-1", 1])
        assert again.run(run.instance_id).finish().output == "counter-1"
        linked = DuckDBProvider(tmp_path / "link.duckdb")
        assert linked._store is wb.provider._store is again.provider._store
        linked.close()
        with pytest.raises(StoreOpenWithOtherSettings, match=r"flows\.duckdb"):
            Workbench(path, kv_model="per-turn")
    with Workbench(path) as later:
        assert later.run("counter-1").output == "counter-1"


def test_a_deleted_file_is_noticed_by_every_thread_before_anything_is_written(tmp_path: Path) -> None:
    path = tmp_path / "flows.duckdb"
    with opened(path) as wb:
        run = wb.start("counter", ["counter-1", 2])
        run.turn()
        path.unlink()

        def is_told() -> int:
            with pytest.raises(StoreFileGone, match=r"flows\.duckdb"):
                run.turn()
            with pytest.raises(StoreFileGone, match=r"flows\.duckdb"):
                wb.client.raise_event("counter-1", "go")
            with pytest.raises(StoreFileGone, match=r"flows\.duckdb"):
                wb.start("counter", ["counter-2", 1])
            return 3

        assert sum(together(is_told, is_told, is_told)) == 9
    with opened(path) as fresh:
        assert len(fresh.instances) == 0
        assert fresh.start("counter", ["counter-1", 1]).finish().output == "counter-1"


def test_a_runtime_whose_file_is_deleted_does_no_work_into_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "flows.duckdb"
    with opened(path) as wb, wb.runtime:
        wb.client.start_orchestration("counter-1", "counter", ["counter-1", 1])
        wb.client.wait_for_orchestration("counter-1", timeout_ms=SECONDS * 1_000)
        path.unlink()
        with pytest.raises(StoreFileGone):
            wb.client.start_orchestration("counter-2", "counter", ["counter-2", 1])
        until = time.monotonic() + SECONDS
        while "StoreFileGone" not in caplog.text and time.monotonic() < until:
            threading.Event().wait(0.01)
        assert "StoreFileGone: flows.duckdb" in caplog.text
        assert wb.client.list_all_instances() == ["counter-1"]
