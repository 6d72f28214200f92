"""Files that cannot be used, for a workbench and for a source: each with its own error, and left as they are."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.session.contents import contents
from workbench import Limits, ManualClock, Workbench, open_source
from workbench.runtime.errors import (
    BadRecording,
    DamagedHistory,
    NoHistory,
    NoSuchFile,
    NotADatabase,
    NotAStore,
    StoreClosed,
    StoreFileGone,
    StoreLocked,
    StoreModelMismatch,
    StoreOpenWithOtherSettings,
    WorkbenchError,
)

ROOT = Path(__file__).parents[2]


def text_file(path: Path) -> None:
    path.write_text("not a database at all\n" * 100, encoding="utf-8")


def empty_file(path: Path) -> None:
    path.write_bytes(b"")


def json_file(path: Path) -> None:
    path.write_text('{"a": 1}', encoding="utf-8")


def sqlite_file(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id INTEGER)")
    connection.close()


def duckdb_file(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")


NEITHER = "is neither a duroxide database, nor a workbench store, nor a JSON recording: "
WITHOUT_HISTORY = "is a database without orchestration history: it has no table 'history'; its tables: 'orders'"
NOT_A_STORE = (
    "not a workbench store, and nothing was written to it; look at it with open_source(path), or name another file"
)
FILES: list[tuple[Callable[[Path], None], type[WorkbenchError], str, type[WorkbenchError], str]] = [
    # What makes it, what a source says of it, what a workbench says.
    (text_file, NotADatabase, f"{NEITHER}unknown content", NotADatabase, NEITHER),
    (empty_file, NotADatabase, f"{NEITHER}it is empty", NotADatabase, NEITHER),
    (
        json_file,
        BadRecording,
        "does not have the form of a workbench recording",
        NotAStore,
        f"is a JSON file, {NOT_A_STORE}",
    ),
    (sqlite_file, NoHistory, WITHOUT_HISTORY, NotAStore, f"is a SQLite database, {NOT_A_STORE}"),
    (duckdb_file, NoHistory, WITHOUT_HISTORY, NoHistory, WITHOUT_HISTORY),
]


@pytest.mark.parametrize(
    ("make", "of_source", "says", "of_workbench", "writes"), FILES, ids=[f[0].__name__ for f in FILES]
)
def test_a_file_of_another_kind_is_named_as_what_it_is_and_left_alone(
    tmp_path: Path,
    make: Callable[[Path], None],
    of_source: type[WorkbenchError],
    says: str,
    of_workbench: type[WorkbenchError],
    writes: str,
) -> None:
    path = tmp_path / "file.db"
    make(path)
    before = path.read_bytes()
    for call, kind, text in ((open_source, of_source, says), (Workbench, of_workbench, writes)):
        with pytest.raises(kind) as raised:
            call(path)
        assert type(raised.value) is kind
        assert str(raised.value).startswith(f"file.db {text}")
        assert str(tmp_path) not in str(raised.value)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["file.db"]


def test_a_source_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "missing.db"
    with pytest.raises(NoSuchFile) as raised:
        open_source(path)
    assert str(raised.value) == f"there is no file {str(path)!r}"
    assert not path.exists()


def flow(ctx: Any, value: object) -> Generator[Any, Any, object]:
    ctx.set_kv_value("k", "v")
    yield ctx.schedule_activity("Echo", value)
    return (yield ctx.wait_for_event("go"))


def registered(wb: Workbench) -> Workbench:
    wb.orchestration(flow)

    @wb.activity("Echo")
    def echo(ctx: object, value: object) -> object:
        return value

    return wb


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with two instances, `one` and `two`, each one turn old."""
    file = tmp_path / "store.duckdb"
    with registered(Workbench(file)) as wb:
        for name in ("one", "two"):
            wb.start(flow, 1, instance_id=name).turn()
    return file


@pytest.fixture
def wb(path: Path) -> Iterator[Workbench]:
    with registered(Workbench(path)) as workbench:
        yield workbench


@pytest.mark.damages("a history row is overwritten")
def test_a_damaged_row_stops_its_instance_and_no_other(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE history SET event_data = '{oops' WHERE instance_id = 'one' AND event_id = 2")
    with registered(Workbench(path)) as wb:
        run = wb.run("one")
        run.raise_event("go")
        before = contents(wb)
        for call in (run.turn, run.finish):
            with pytest.raises(DamagedHistory) as raised:
                call()
            assert str(raised.value) == (
                "the history of 'one', execution 1, is damaged at event 2: "
                "JSON is malformed: object keys must be strings (byte 1)"
            )
        assert repr(contents(wb)["history"]) == repr(before["history"])
        assert repr(contents(wb)["orchestrator_queue"]) == repr(before["orchestrator_queue"])
        assert (run.status, run.turns, run.kv) == ("Running", (), {"k": "v"})
        assert repr(run) == "flow · one · its history cannot be read"
        assert run.recording().replay(flow).verdict == "damaged history"

        other = wb.run("two")
        other.turn()
        other.raise_event("go", 7)
        assert other.finish().output == 7


HOLD = """
import sys
from workbench import Workbench
wb = Workbench(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
wb.close()
"""
TRY = """
import json, os, sys
from workbench import Workbench, open_source
texts = []
for call in (Workbench, open_source):
    try:
        call(sys.argv[1]).close()
        texts.append("opened")
    except Exception as error:
        texts.append(f"{type(error).__name__}: {error}")
print(json.dumps(texts))
"""


def in_another_process(code: str, path: Path, **more: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env=environment, text=True, stdout=subprocess.PIPE, **more
    )


def test_a_file_that_another_process_holds_is_named_with_its_holder(path: Path) -> None:
    with in_another_process(HOLD, path, stdin=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "open\n"
        for call in (Workbench, open_source):
            with pytest.raises(StoreLocked) as raised:
                call(path)
            assert str(raised.value) == (
                f"store.duckdb is open in {Path(sys.executable).resolve().name} (process {holder.pid}); "
                "a DuckDB file has one process at a time. "
                "Close it there (wb.close(), or stop that kernel), or open a copy of the file"
            )
        holder.stdin.write("\n")
        holder.stdin.flush()
        holder.wait(10)
    with Workbench(path) as wb:
        assert list(wb.instances["instance_id"]) == ["one", "two"]


def test_a_file_that_this_process_holds_is_refused_to_another_one_until_it_is_closed(wb: Workbench, path: Path) -> None:
    with in_another_process(TRY, path) as other:
        said = json.loads(other.communicate(timeout=30)[0])
    assert all(
        text.startswith(
            f"StoreLocked: store.duckdb is open in {Path(sys.executable).resolve().name} (process {os.getpid()}); "
        )
        for text in said
    )
    wb.close()
    with in_another_process(TRY, path) as other:
        assert json.loads(other.communicate(timeout=30)[0]) == ["opened", "opened"]


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"kv_model": "per-turn"}, "kv_model='delta', not 'per-turn'"),
        ({"limits": Limits(kv_keys=3)}, f"limits={Limits()!r}, not {Limits(kv_keys=3)!r}"),
        ({"clock": ManualClock(5)}, "clock=ManualClock(1767225600000), not ManualClock(5)"),
    ],
    ids=["model", "limits", "clock"],
)
def test_an_open_file_keeps_its_settings(wb: Workbench, path: Path, other: dict[str, Any], text: str) -> None:
    with pytest.raises(StoreOpenWithOtherSettings) as raised:
        Workbench(path, **other)
    assert str(raised.value) == (
        f"store.duckdb is open in this process with {text}; use the same arguments, or close it first with wb.close()"
    )
    Workbench(path, kv_model="delta", limits=Limits(), clock=wb.clock).close()
    assert wb.run("one").turn().number == 2


def test_a_file_of_the_delta_model_does_not_open_as_the_first_design(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreModelMismatch) as raised:
        Workbench(path, kv_model="per-turn")
    assert str(raised.value) == (
        "store.duckdb has the two tables of the delta model (schema version 3) and cannot be opened with "
        "kv_model='per-turn': which execution wrote a key is no longer known. "
        "Leave kv_model out, or start a new file"
    )
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="kv_model is 'delta' or 'per-turn', not 'both'"):
        Workbench(kv_model="both")  # type: ignore[arg-type]


def test_a_closed_workbench_says_so_to_every_call(wb: Workbench, path: Path) -> None:
    run = wb.run("one")
    wb.close()
    for call in (
        run.turn,
        lambda: run.status,
        lambda: wb.start(flow),
        lambda: wb.instances,
        lambda: run.raise_event("go"),
    ):
        with pytest.raises(StoreClosed) as raised:
            call()
        assert str(raised.value) == "the store store.duckdb is closed; open it again with Workbench(path)"
    wb.close()


def test_nothing_is_written_into_a_file_that_was_deleted_under_it(wb: Workbench, path: Path) -> None:
    run = wb.run("one")
    path.unlink()
    with pytest.raises(StoreFileGone) as raised:
        run.turn()
    assert str(raised.value) == (
        "store.duckdb was deleted or replaced while it is open here, so nothing more is written to it; "
        "close it with wb.close(), then open the path again"
    )
    wb.close()
    with registered(Workbench(path)) as again:
        assert len(again.instances) == 0


def test_a_query_only_looks(wb: Workbench) -> None:
    before = contents(wb)
    for statement in ("DELETE FROM history", "SELECT 1; DELETE FROM history", "COPY history TO 'x.csv'"):
        with pytest.raises(WorkbenchError):
            wb.sql(statement)
    assert repr(contents(wb)) == repr(before)
