"""What ends at a bad moment: a program, a workbench, a worker, a file that is away for a while. Nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from workbench import ManualClock, SystemClock, Workbench
from workbench.runtime.errors import ActivityNotWaiting, InstanceExists, StoreClosed, StoreError

Flow = Generator[Any, Any, Any]
SECONDS = 60
MS = 1000 * SECONDS


def one_activity(ctx: Any, given: Any) -> Flow:
    return (yield ctx.schedule_activity("Work", given))


@pytest.fixture
def wb(tmp_path: Path) -> Generator[Workbench, None, None]:
    with Workbench(tmp_path / "ends.duckdb", clock=SystemClock()) as opened:
        opened.orchestration("Flow")(one_activity)
        yield opened


def when_refused(wb: Workbench, call: str, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the store has refused such a call."""
    refused, real = threading.Event(), getattr(wb.provider, call)

    def noticed(*given: Any, **named: Any) -> Any:
        try:
            return real(*given, **named)
        except StoreError:
            refused.set()
            raise

    monkeypatch.setattr(wb.provider, call, noticed)
    return refused


@contextmanager
def moved_away(path: Path) -> Iterator[None]:
    """While this holds, the store's file is elsewhere."""
    elsewhere = path.with_stem("elsewhere")
    path.rename(elsewhere)
    yield
    elsewhere.rename(path)


def test_an_outcome_is_kept_until_the_store_takes_it(
    wb: Workbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is moved away while an activity works, and back; the activity is not run a second time."""
    working, go_on = threading.Event(), threading.Event()
    ran: list[int] = []

    @wb.activity("Work")
    def work(_: Any, given: int) -> int:
        ran.append(given)
        working.set()
        assert go_on.wait(SECONDS)
        return given

    path = tmp_path / "ends.duckdb"
    refused = when_refused(wb, "complete_activities", monkeypatch)
    with wb.runtime:
        run = wb.start("Flow", 7)
        assert working.wait(SECONDS)
        with moved_away(path):
            go_on.set()
            assert refused.wait(SECONDS)
        assert wb.client.wait_for_orchestration(run.instance_id, MS).output == 7
    assert ran == [7]


def test_a_turn_that_could_not_be_committed_is_made_again_also_when_no_time_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is moved away during the turn, so neither its commit nor giving back its claim comes through."""
    making, go_on = threading.Event(), threading.Event()
    path = tmp_path / "ends.duckdb"
    with Workbench(path) as wb:  # by a manual clock

        @wb.orchestration
        def slow(ctx: Any, given: int) -> Flow:
            making.set()
            assert go_on.wait(5)
            return given
            yield ctx

        refused = when_refused(wb, "abandon", monkeypatch)
        with wb.runtime:
            run = wb.start(slow, 7)
            assert making.wait(SECONDS)
            with moved_away(path):
                go_on.set()
                assert refused.wait(SECONDS)
            assert wb.client.wait_for_orchestration(run.instance_id, MS).output == 7


@pytest.mark.parametrize("hours", [1, 100])
def test_an_activity_that_lets_time_pass_is_run_once(hours: int) -> None:
    ran: list[int] = []
    clock = ManualClock()
    with Workbench(clock=clock) as wb:

        @wb.activity("Work")
        def work(_: Any, given: int) -> int:
            ran.append(given)
            assert len(ran) < 3
            clock.advance(hours * 3_600_000)
            return given

        wb.orchestration("Flow")(one_activity)
        assert wb.start("Flow", 7).finish().output == 7
    assert ran == [7]


def test_an_activity_that_a_worker_found_no_function_for_can_be_completed_by_hand(wb: Workbench) -> None:
    with wb.runtime:
        run = wb.start("Flow", 7)
        while not wb.provider.query("SELECT 1 FROM worker_queue WHERE visible_at_ms > enqueued_at_ms")[1]:
            wb.provider.wait(0.01)
        run.complete(2, "by hand")
        assert wb.client.wait_for_orchestration(run.instance_id, MS).output == "by hand"


def test_an_activity_that_is_being_run_cannot_be_completed_by_hand(wb: Workbench) -> None:
    working, go_on = threading.Event(), threading.Event()

    @wb.activity("Work")
    def work(_: Any, given: int) -> int:
        working.set()
        assert go_on.wait(SECONDS)
        return given

    with wb.runtime:
        run = wb.start("Flow", 7)
        assert working.wait(SECONDS)
        with pytest.raises(ActivityNotWaiting, match=r"event 2 .*is being run just now: its own result counts"):
            run.complete(2, "by hand")
        go_on.set()
        assert wb.client.wait_for_orchestration(run.instance_id, MS).output == 7


def test_any_of_many_activities_can_be_completed_by_hand() -> None:
    with Workbench() as wb:

        @wb.orchestration
        def many(ctx: Any, count: int) -> Flow:
            return (yield ctx.all([ctx.schedule_activity("Work", n) for n in range(count)]))

        run = wb.start(many, 1_200)
        run.turn()
        run.complete(1_201, "the last")
        assert len(wb.provider.pending_activities(run.instance_id)) == 1_199


def test_an_id_is_taken_once_however_many_start_at_a_time(wb: Workbench) -> None:
    barrier = threading.Barrier(4)
    refused: list[str] = []
    ids: list[str] = []

    def start() -> None:
        for number in range(20):
            barrier.wait(SECONDS)
            try:
                wb.client.start_orchestration(f"mine-{number}", "Flow", 1)
            except InstanceExists:
                refused.append(f"mine-{number}")
            ids.append(wb.start("Flow", number).instance_id)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(refused) == sorted(f"mine-{number}" for number in range(20) for _ in range(3))
    assert sorted(ids) == sorted(f"flow-{number}" for number in range(1, 81))


def test_a_worker_outlives_code_that_raises_what_ends_programs(wb: Workbench) -> None:
    @wb.activity("Work")
    def work(_: Any, given: str) -> str:
        if given == "ctrl-c":
            raise KeyboardInterrupt
        if given == "exit":
            sys.exit(3)
        return given

    @wb.orchestration
    def ends(ctx: Any, _: None) -> Flow:
        raise KeyboardInterrupt
        yield ctx

    with wb.runtime:
        bad = [wb.start("Flow", each) for each in ("ctrl-c", "exit") for _ in range(5)]
        for _ in range(5):
            wb.start(ends)
        for run in bad:
            assert wb.client.wait_for_orchestration(run.instance_id, MS).status == "Failed"
        assert wb.client.wait_for_orchestration(wb.start("Flow", "good").instance_id, MS).output == "good"
        assert {run.error for run in bad} == {
            "Exception: Activity 'Work' call failed: KeyboardInterrupt:",
            "Exception: Activity 'Work' call failed: SystemExit: 3",
        }


def test_a_workbench_cannot_be_closed_by_its_own_activity(wb: Workbench) -> None:
    wb.activity("Work")(lambda *_: wb.close())
    with wb.runtime:
        ended = wb.client.wait_for_orchestration(wb.start("Flow", 1).instance_id, MS)
        assert "a workbench cannot be closed by what its own runtime runs" in str(ended.error)
        assert wb.runtime.is_running


def test_an_activity_may_open_others_while_the_workbench_is_closed(tmp_path: Path) -> None:
    """Closing waits for the activity, and the activity must not wait for the closing."""
    working = threading.Event()
    opened: list[str] = []
    wb = Workbench(tmp_path / "a.duckdb", clock=SystemClock())

    @wb.activity("Work")
    def work(_: Any, given: int) -> int:
        working.set()
        assert wb.runtime._stopping.wait(SECONDS)
        with Workbench(tmp_path / "b.duckdb") as other:
            opened.append(repr(other))
        return given

    wb.orchestration("Flow")(one_activity)
    wb.runtime.start()
    run = wb.start("Flow", 1)
    assert working.wait(SECONDS)
    wb.close()
    assert len(opened) == 1
    with Workbench(tmp_path / "a.duckdb") as again:  # its outcome was written before the store was closed
        assert again.provider.pending_activities(run.instance_id) == []


def test_a_workbench_that_is_closed_from_many_threads_is_closed_once(tmp_path: Path) -> None:
    with Workbench(tmp_path / "a.duckdb") as other:
        for _ in range(20):
            wb = Workbench(tmp_path / "a.duckdb")
            barrier = threading.Barrier(4)

            def close(wb: Workbench = wb, barrier: threading.Barrier = barrier) -> None:
                barrier.wait(SECONDS)
                wb.close()

            threads = [threading.Thread(target=close) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert other.instances.empty


def test_a_store_that_is_read_further_up_on_the_same_thread_stays_open_and_usable(tmp_path: Path) -> None:
    """As when a signal handler closes it."""
    path = tmp_path / "read.duckdb"
    wb = Workbench(path)
    with (
        wb.provider._store.reading(),
        pytest.raises(StoreError, match=r"read\.duckdb is being used .* this very thread"),
    ):
        wb.close()
    assert wb.instances.empty
    wb.close()
    with pytest.raises(StoreClosed):
        _ = wb.instances
    with Workbench(path) as again:
        assert again.instances.empty


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "1 / 0"])
def test_a_program_that_ends_with_its_runtime_running_ends_as_it_would_without(ending: str, tmp_path: Path) -> None:
    program = """
        import sys, time
        from workbench import SystemClock, Workbench

        wb = Workbench(sys.argv[1], clock=SystemClock())
        wb.activity("Work")(lambda _, n: n)

        @wb.orchestration
        def busy(ctx, n):
            while True:
                yield ctx.schedule_activity("Work", n)

        wb.runtime.start()
        runs = [wb.start(busy, n) for n in range(20)]
        while wb.provider.query("SELECT count(*) FROM history WHERE instance_id = 'busy-20'")[1][0][0] < 10:
            time.sleep(0.01)
    """
    for number in range(2):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program) + ending, str(tmp_path / f"{number}.duckdb")],
            check=False,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == {"": 0, "1 / 0": 1}.get(ending, 3), done.stderr
        assert done.stderr.strip().endswith("ZeroDivisionError: division by zero" if "/" in ending else "")
        with Workbench(tmp_path / f"{number}.duckdb") as again:
            assert len(again.instances) == 20
