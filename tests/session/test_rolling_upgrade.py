"""Rolling upgrade (spec 000): what becomes of instances that an older node left in the middle of an execution."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench
from workbench.store import DuckDBProvider
from workbench.store.connecting import connect
from workbench.store.versions import schema_sql

Orchestration = Callable[[Any, Any], Any]


def reads_first(ctx: Any, _: object) -> Any:
    n = int(ctx.get_kv_value("n") or "0")
    ctx.set_kv_value("n", str(n + 1))
    yield ctx.wait_for_event("go")
    return ctx.get_kv_value("n")


def writes_first(ctx: Any, _: object) -> Any:
    ctx.set_kv_value("n", "1")
    n = int(ctx.get_kv_value("n"))
    ctx.set_kv_value("n", str(n + 1))
    yield ctx.wait_for_event("go")
    return ctx.get_kv_value("n")


CODE: dict[str, Orchestration] = {"ReadsFirst": reads_first, "WritesFirst": writes_first}


def registered(path: Path, **settings: Any) -> Workbench:
    wb = Workbench(path, **settings)
    for name, function in CODE.items():
        wb.orchestration(name)(function)
    return wb


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def old_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of the first design with one finished instance and two that wait in the middle of an execution."""
    path = tmp_path / "old.duckdb"
    with registered(path, kv_model="per-turn") as wb:
        done = wb.start("WritesFirst", instance_id="done")
        done.turn()
        done.raise_event("go")
        done.finish()
        for name in CODE:
            wb.start(name, instance_id=name).turn()
    if request.param == 1:
        _back_to_version_1(path)
    return path


def _back_to_version_1(path: Path) -> None:
    connection = connect(path, read_only=False)
    rows = connection.execute("SELECT instance_id, key, value, execution_id FROM kv_store").fetchall()
    connection.execute("DROP TABLE kv_store")
    statements = [each for each in schema_sql(1).split(";") if "kv_store" in each]
    for statement in statements:
        connection.execute(statement)
    for row in rows:
        connection.execute("INSERT INTO kv_store (instance_id, key, value, execution_id) VALUES (?, ?, ?, ?)", row)
    connection.execute("UPDATE workbench_meta SET schema_version = 1")
    connection.close()


def upgraded(path: Path, heal: bool) -> None:
    DuckDBProvider(path, "delta", heal=heal).close()


def finish(path: Path, instance_id: str) -> tuple[str, Any]:
    with registered(path) as wb:
        run = wb.run(instance_id)
        run.raise_event("go")
        outcome = run.finish()
        return outcome.status, outcome.output


@pytest.mark.damages("without healing the mixed table stays")
def test_without_healing_an_instance_that_reads_a_key_before_it_writes_it_diverges(old_file: Path) -> None:
    upgraded(old_file, heal=False)
    assert finish(old_file, "ReadsFirst")[0] == "Failed"


@pytest.mark.damages("without healing the mixed table stays")
def test_without_healing_an_instance_that_writes_first_goes_on(old_file: Path) -> None:
    upgraded(old_file, heal=False)
    assert finish(old_file, "WritesFirst") == ("Completed", "2")


@pytest.mark.damages("without healing the mixed table stays")
def test_its_divergence_is_explained_by_the_poisoned_snapshot_and_says_what_to_do(old_file: Path) -> None:
    upgraded(old_file, heal=False)
    with registered(old_file) as wb:
        run = wb.run("ReadsFirst")
        run.raise_event("go")
        turn = run.turn()
    assert turn.divergence is not None
    [read] = [each.read for each in turn.operations if each.read is not None]
    assert (read.poisoned, read.value) == (True, "1")
    assert "the snapshot is poisoned" in turn.divergence.text()
    assert "client.restart_instance" in turn.divergence.text()
    assert {key: entry.value for key, entry in turn.before.store.items()} == {"n": "1"}


@pytest.mark.damages("without healing the mixed table stays")
def test_an_instance_that_failed_by_the_upgrade_can_be_restarted_and_completes(old_file: Path) -> None:
    upgraded(old_file, heal=False)
    finish(old_file, "ReadsFirst")
    with registered(old_file) as wb:
        wb.client.restart_instance("ReadsFirst", kv="clear")
    with registered(old_file) as wb:
        run = wb.run("ReadsFirst")
        run.turn()
        run.raise_event("go")
        assert run.finish().output == "1"


@pytest.mark.damages("version 1 kept no times, and without healing the mixed table stays")
@pytest.mark.parametrize("heal", [True, False])
def test_finished_instances_are_untouched(old_file: Path, heal: bool) -> None:
    upgraded(old_file, heal)
    with registered(old_file) as wb:
        assert wb.run("done").kv == {"n": "2"}
        assert wb.run("done").status == "Completed"


@pytest.mark.damages("version 1 kept no times")
@pytest.mark.parametrize("name", list(CODE))
def test_with_healing_every_instance_goes_on(old_file: Path, name: str) -> None:
    upgraded(old_file, heal=True)
    with registered(old_file) as wb:
        wrong = [each for each in wb.provider.verify() if each.stored is None or each.stored.last_updated_at_ms != 0]
        assert wrong == []  # a version 1 file has no times, and verify names those rows
    status, output = finish(old_file, name)
    assert (status, output) == ("Completed", {"ReadsFirst": "1", "WritesFirst": "2"}[name])
