"""P-01: a counter that reads, adds and writes must not be seeded with what it has written itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases.bug_reports.living import REPLAYING, Host, Way, living
from tests.specification.running import values
from workbench import Workbench
from workbench.runtime import events as ev
from workbench.runtime.kv import PER_TURN

ROOT = Path(__file__).parents[3]


def counter(ctx: Any, rounds: int) -> Any:
    for _ in range(rounds):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        yield ctx.schedule_activity("Echo", n)
    return ctx.get_kv_value("n")


async def awaiting_counter(ctx: Any, rounds: int) -> Any:
    for _ in range(rounds):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        await ctx.schedule_activity("Echo", n)
    return ctx.get_kv_value("n")


def counter_over_executions(ctx: Any, left: int) -> Any:
    for _ in range(2):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        yield ctx.schedule_activity("Echo", n)
    if left > 1:
        yield ctx.continue_as_new(left - 1)
    return ctx.get_kv_value("n")


async def awaiting_counter_over_executions(ctx: Any, left: int) -> Any:
    for _ in range(2):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        await ctx.schedule_activity("Echo", n)
    if left > 1:
        await ctx.continue_as_new(left - 1)
    return ctx.get_kv_value("n")


def test_five_increments_are_five_and_no_reader_ever_sees_fewer_than_before(host: Host) -> None:
    """Instances of different length run beside one another: a seed belongs to one of them, not to the process."""
    rounds = {"generator": 5, "coroutine": 5, "shorter": 2}
    host.start(counter, 5, "generator")
    host.start(awaiting_counter, 5, "coroutine")
    host.client.start_orchestration("shorter", "counter", 2)
    seen: dict[str, list[int]] = {name: [] for name in rounds}

    def look() -> None:
        for name, reads in seen.items():
            reads.append(int(host.client.get_kv_value(name, "n") or "0"))
            assert reads[-1] == host.kinds(name).count(ev.KV_SET)
            if host.status(name) == "Running":
                assert host.provider.get_kv_snapshot(name) == {}

    host.settle(look)
    for name, total in rounds.items():
        assert host.output(name) == str(total)
        assert seen[name] == sorted(seen[name])
        assert set(seen[name]) == set(range(1, total + 1))
        tables = host.provider.get_kv_tables(name)
        assert (values(tables.store), values(tables.delta)) == ({"n": str(total)}, {})
    assert sorted(str(given) for _, given in host.ran) == [*"000", *"111", *"22", *"33", *"44"]


def test_six_increments_over_three_executions_are_six_each_seeded_with_what_the_earlier_ones_left(host: Host) -> None:
    host.start(counter_over_executions, 3, "generator")
    host.start(awaiting_counter_over_executions, 3, "coroutine")
    seen: dict[str, list[int]] = {"generator": [], "coroutine": []}
    seeds: set[tuple[str, int, str]] = set()

    def look() -> None:
        for name, reads in seen.items():
            reads.append(int(host.client.get_kv_value(name, "n") or "0"))
            info = host.provider.instance(name)
            assert info is not None
            if info.status == "Running":
                seed = values(host.provider.get_kv_snapshot(name))
                seeds.add((name, info.execution_id, str(seed.get("n"))))

    host.settle(look)
    for name, reads in seen.items():
        assert host.output(name) == "6"
        assert reads == sorted(reads)
        tables = host.provider.get_kv_tables(name)
        assert (values(tables.store), values(tables.delta)) == ({"n": "6"}, {})
    assert seeds == {(name, number, seed) for name in seen for number, seed in ((1, "None"), (2, "2"), (3, "4"))}


@pytest.mark.parametrize("way", REPLAYING)
def test_the_first_design_is_poisoned_by_its_own_write_and_says_so(way: Way, tmp_path: Path) -> None:
    """The same code, the same ways: that these tests can fail."""
    with living(way, tmp_path, PER_TURN) as host:
        host.start(counter, 5)
        host.settle()
        error = host.error()
        assert error.startswith("nondeterministic: ")
        assert '"1"' in error
        assert '"2"' in error
        assert host.ran == [("Echo", 0)]


PROCESS = """
import sys
from tests.cases.bug_reports.test_p01_snapshot_poisoning import counter
from workbench import Workbench
wb = Workbench(sys.argv[1])
wb.orchestration(counter)
wb.activity("Echo")(lambda _, given: given)
run = wb.start(counter, 5, "i")
for _ in range(3):
    run.turn()
claimed = wb.provider.claim_activities(1, wb.clock.now_ms(), 60_000)
print(run.kv["n"], len(claimed), flush=True)
sys.stdin.read()
"""


def test_a_process_that_is_killed_between_two_turns_with_an_activity_in_hand_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    command = [sys.executable, "-c", PROCESS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "3 1\n"
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
    with Workbench(path) as wb:
        wb.orchestration(counter)
        wb.activity("Echo")(lambda _, given: given)
        assert wb.client.get_kv_value("i", "n") == "3"
        run = wb.run("i")
        seen = []
        while run.status == "Running":
            run.turn()
            seen.append(run.kv["n"])
        assert (seen, run.output) == (["4", "5", "5"], "5")
