"""A statement that fails anywhere in a commit: nothing of it is kept, the turn is made again and ends right (P-16)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.cases.bug_reports.living import Host, living
from tests.faults.conftest import Tell, sized
from tests.faults.statements import AFTER_COMMIT, before_statements_of_commits, rows
from workbench.runtime.errors import CommitFailed
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.runtime.provider import TurnCommit

FAILED = "the disk has gone"


def everything(ctx: Any, rest: int) -> Any:
    """Turns that write every table, and take away from every table."""
    ctx.set_kv_value("kept", f"before {rest}")
    ctx.clear_all_kv_values()
    ctx.set_kv_value("kept", f"after {rest}")
    ctx.set_custom_status(f"{rest} left")
    yield ctx.race(ctx.schedule_activity("Echo", rest), ctx.schedule_activity("Echo", 0))
    yield ctx.start_orchestration("child", f"{ctx.instance_id}/{rest}", rest)
    ctx.set_kv_value("child", str((yield ctx.schedule_sub_orchestration("child", rest))))
    ctx.clear_kv_value("kept")
    if rest:
        yield ctx.continue_as_new(rest - 1)
    return ctx.get_kv_all_values()


def child(_: Any, given: int) -> int:
    return given * 2


def begin(host: Host, rest: int, *names: str) -> None:
    """Register, and begin instances; no turn is made."""
    host.orchestration(child)
    for name in names:
        host.start(everything, rest, name)


def ends_right(host: Host, rest: int, *names: str) -> None:
    """What must be at the end, whatever happened on the way."""
    host.settle()
    for name in names:
        assert host.output(name) == {"child": "0"}
        assert [each.status for each in host.provider.executions(name)] == ["ContinuedAsNew"] * rest + ["Completed"]
    found = rows(host.provider)
    assert (found["orchestrator_queue"], found["worker_queue"], found.get("kv_delta", [])) == ([], [], [])
    assert host.provider.query("SELECT * FROM instance_locks")[1] == []
    assert host.provider.verify() == []


def histories(host: Host) -> list[tuple[Any, ...]]:
    """Every event of every instance."""
    return host.provider.query(
        "SELECT instance_id, execution_id, event_id, turn, event_data FROM history ORDER BY ALL"
    )[1]


class FailsAtEach:
    """Statement 1 of a commit fails; when it is tried again statement 2, until it gets through; then the next."""

    def __init__(self) -> None:
        self.number = 1
        self.failed_at: str | None = None
        self.tried = 0

    def __call__(self, number: int, statement: str, _: Sequence[TurnCommit]) -> None:
        if number != self.number or statement == "ROLLBACK":
            return
        self.failed_at = statement
        self.tried += 1
        self.number = 1 if statement == AFTER_COMMIT else number + 1
        raise duckdb.IOException(FAILED)


class FailsFor:
    """The chosen statement fails in every commit that has a turn of this instance in it."""

    def __init__(self, instance_id: str, number: int, met: list[str]) -> None:
        self.instance_id, self.number, self.met = instance_id, number, met

    def __call__(self, number: int, statement: str, turns: Sequence[TurnCommit]) -> None:
        has_it = any(turn.claim.instance_id == self.instance_id for turn in turns)
        if has_it and number == self.number and statement != AFTER_COMMIT:
            self.met.append(statement)
            raise duckdb.IOException(FAILED)


@pytest.mark.parametrize("kv_model", [DELTA, PER_TURN])
@sized(0, 9)
def test_a_failure_before_any_statement_leaves_the_store_as_it_was(
    kv_model: KVModel, tmp_path: Path, count: int, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every statement of every commit on the way to the end, each failing once; a commit has one turn."""
    monkeypatch.setattr("tests.cases.bug_reports.living.BATCH", 1)
    with living("cold", tmp_path, kv_model) as undisturbed:
        begin(undisturbed, count, "i")
        ends_right(undisturbed, count, "i")
        wanted = histories(undisturbed)
    fails = FailsAtEach()
    commits = 0
    with living("cold", tmp_path, kv_model) as host:
        begin(host, count, "i")
        with before_statements_of_commits(fails):
            while failed_or_moved(host, fails):
                commits += fails.failed_at == AFTER_COMMIT
        ends_right(host, count, "i")
        assert histories(host) == wanted
    assert fails.tried > 8 * commits > 0
    tell(f"a statement of a commit fails, {kv_model} model", fails.tried, fails.tried, f"in {commits} commits")


def failed_or_moved(host: Host, fails: FailsAtEach) -> bool:
    """Go on; if a commit fails it is told, and nothing is changed unless it failed after it was done."""
    fails.failed_at = None
    before, told = rows(host.provider), ""
    try:
        return host.work()
    except CommitFailed as error:
        told = str(error)
    assert FAILED in told
    assert (rows(host.provider) == before) is (fails.failed_at != AFTER_COMMIT)
    return True


def test_one_bad_turn_takes_no_other_with_it_wherever_it_fails(tmp_path: Path, tell: Tell) -> None:
    tried: list[str] = []
    with living("warm", tmp_path) as host:
        for number in range(2, 100):
            names = [f"{name}{number}" for name in ("a", "bad", "c")]
            begin(host, 0, *names)
            met: list[str] = []
            with before_statements_of_commits(FailsFor(names[1], number, met)):
                refused = refused_of_one_batch(host)
            if not met:
                break
            assert len(met) == 2  # with the others, and alone
            assert refused == [names[1]]
            stored = {info.instance_id for info in host.provider.instances()}
            assert stored & set(names) == {names[0], names[2]}
            host.turn()  # made again
            tried += names
        ends_right(host, 0, *tried)
    assert len(tried) > 24
    tell("a bad turn in a batch, at each statement", len(tried) // 3, len(tried) // 3)


def refused_of_one_batch(host: Host) -> list[str]:
    """Make one batch; the instances whose turns the database did not take."""
    try:
        host.turn()
    except CommitFailed as error:
        return list(error.reasons)
    return []
