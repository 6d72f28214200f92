"""Processes killed at any moment and between any two statements of a commit, and write-ahead logs that end anywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.faults.conftest import Tell, sized
from tests.faults.counting import EXECUTIONS, IDS, OUTPUTS
from tests.faults.statements import rows
from tests.store.turns import claim_one, clears, schedules, sets, turn_of, wake
from workbench import Client, DuckDBProvider
from workbench.runtime.errors import NotADatabase

ROOT = Path(__file__).parents[2]
KILLED = -9


@pytest.fixture
def lives() -> Iterator[subprocess.Popen[str]]:
    """The process that forks lives; it has no store open itself."""
    command = [sys.executable, "-m", "tests.faults.counting"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    yield process
    process.communicate(timeout=60)


def end_of_life(lives: subprocess.Popen[str], order: dict[str, Any]) -> int:
    """Live once; the exit code."""
    assert lives.stdin is not None
    assert lives.stdout is not None
    lives.stdin.write(json.dumps(order) + "\n")
    lives.stdin.flush()
    return int(lives.stdout.readline())


@sized(12, 500)
def test_counters_are_right_however_often_their_process_is_killed(
    lives: subprocess.Popen[str], tmp_path: Path, count: int, tell: Tell
) -> None:
    random = Random(count)
    kills = stores = 0
    places: Counter[int] = Counter()
    while kills < count or stores == 0:
        path = tmp_path / f"store-{stores}.duckdb"
        while True:
            order: dict[str, Any] = {"path": str(path)}
            if kills >= count:
                pass  # to the end
            elif kills % 2:
                order["at"] = [random.randint(1, 8), 1 + len(places) % 14]
            else:
                order["after_s"] = random.uniform(0, 0.8)
            code = end_of_life(lives, order)
            assert code in (0, KILLED)
            if code == 0:
                break
            kills += 1
            if "at" in order:
                places[order["at"][1]] += 1
        assert_finished(path)
        path.unlink()
        stores += 1
    assert len(places) > min(4, count)
    tell("kill -9", kills, kills, f"{places.total()} between statements, at {len(places)} places; {stores} stores")


def assert_finished(path: Path) -> None:
    """Every counter right, every history whole, nothing left over."""
    provider = DuckDBProvider(path)
    client = Client(provider)
    assert {name: client.get_status(name).output for name in IDS} == OUTPUTS
    assert len(provider.instances()) == len(IDS) + 2
    for info in provider.instances():
        executions = provider.executions(info.instance_id)
        wanted = EXECUTIONS if info.instance_id.startswith("counter") else 1
        assert [each.execution_id for each in executions] == list(range(1, wanted + 1))
        for each in executions:
            history = provider.read_history(info.instance_id, each.execution_id)
            assert [event.event_id for event in history.events] == list(range(1, len(history.events) + 1))
            assert list(dict.fromkeys(history.turns)) == list(range(1, each.turn_count + 1))
            kinds = Counter(event.type for event in history.events)
            assert kinds["ActivityScheduled"] == kinds["ActivityCompleted"]
            assert kinds["SubOrchestrationScheduled"] == kinds["SubOrchestrationCompleted"]
            answered = [event.source_event_id for event in history.events if event.source_event_id is not None]
            assert len(answered) == len(set(answered))
    assert provider.verify() == []
    for table in ("orchestrator_queue", "worker_queue", "instance_locks", "kv_delta"):
        assert provider.query(f"SELECT * FROM {table}")[1] == []
    provider.close()


@sized(10, 300)
def test_a_log_that_ends_anywhere_opens_to_its_last_commit_or_says_why_not(
    tmp_path: Path, count: int, tell: Tell
) -> None:
    path, log = tmp_path / "store.duckdb", tmp_path / "store.duckdb.wal"
    provider = DuckDBProvider(path)
    states = [(0, rows(provider))]
    for number in range(12):
        states += transactions(provider, log, number)
    shutil.copy(path, tmp_path / "whole.duckdb")
    whole = log.read_bytes()
    provider.close()
    near = {size + step for size, _ in states for step in (-1, 0, 1)} & set(range(len(whole) + 1))
    anywhere = Random(count).sample(range(len(whole) + 1), min(count // 2, len(whole)))
    places = sorted({*sorted(near)[-count // 2 :], *anywhere})
    refused = 0
    for place in places:
        shutil.copy(tmp_path / "whole.duckdb", path)
        log.write_bytes(whole[:place])
        try:
            provider = DuckDBProvider(path)
        except NotADatabase as error:
            refused += path.name in str(error)
            continue
        assert rows(provider) == next(state for size, state in reversed(states) if size <= place)
        provider.close()
    opened = len(places) - refused
    tell("a write-ahead log cut short", len(places), opened + refused, f"{opened} opened, {refused} said why not")


def transactions(provider: DuckDBProvider, log: Path, number: int) -> Iterator[tuple[int, dict[str, list[Any]]]]:
    """The transactions of a turn: the size of the log and what is stored after each of them."""
    instance_id = f"i{number % 3}"
    wake(provider, instance_id, number)
    yield log.stat().st_size, rows(provider)
    claim = claim_one(provider, instance_id, number)
    yield log.stat().st_size, rows(provider)
    ending = "ContinuedAsNew" if number % 4 == 3 else "Running"
    turn = turn_of(claim, sets("k", str(number)), clears("gone"), schedules(), now_ms=number, status=ending)
    assert provider.commit([turn]) == []
    yield log.stat().st_size, rows(provider)
