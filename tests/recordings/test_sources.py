"""Opening a file for what it is, listing it, and the words for a file that is no source."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recordings.files import RECORDED, recorded
from workbench.recordings import Source, open_source
from workbench.recordings.sources.duroxide_sqlite import DuroxideSource
from workbench.recordings.sources.json_file import JSONSource
from workbench.recordings.sources.workbench_duckdb import WorkbenchSource
from workbench.runtime.errors import (
    BadRecording,
    NoSuchFile,
    NotADatabase,
    StoreError,
    UnknownInstance,
    UnreadableFile,
    WorkbenchError,
)
from workbench.store.provider import DuckDBProvider


def as_json(folder: Path, name: str, instance_id: str) -> Path:
    """A recording of duroxide, exported."""
    path = folder / f"{instance_id}.json"
    with open_source(recorded(name)) as source:
        source.recording(instance_id).to_json(path)
    return path


@pytest.mark.parametrize("name", ["run.db", "run.json", "run.duckdb", "run"])
def test_the_content_decides_what_a_file_is(tmp_path: Path, name: str) -> None:
    folders = [tmp_path / kind for kind in ("sqlite", "json", "duckdb")]
    for folder in folders:
        folder.mkdir()
    shutil.copyfile(recorded("P-01"), folders[0] / name)
    as_json(folders[1], "P-01", "a").rename(folders[1] / name)
    DuckDBProvider(folders[2] / name).close()
    assert [type(open_source(folder / name)) for folder in folders] == [DuroxideSource, JSONSource, WorkbenchSource]
    assert [repr(open_source(folder / name)) for folder in folders] == [
        f"{name}: duroxide SQLite, 1 instance",
        f"{name}: JSON recording, 1 instance",
        f"{name}: workbench DuckDB, 0 instances",
    ]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_every_recording_opens_lists_and_loads(path: Path) -> None:
    with open_source(str(path)) as source:
        listed = source.instances
        loaded = list(source.recordings())
    assert list(listed["instance_id"]) == [recording.instance_id for recording in loaded]
    assert list(listed["events"]) == [recording.event_count for recording in loaded]
    assert list(listed["status"]) == [recording.status for recording in loaded]
    assert all(recording.turn_count > 0 for recording in loaded)
    assert all(execution.turns_inferred for recording in loaded for execution in recording.executions)


def test_a_listing_is_a_table() -> None:
    with open_source(recorded("P-11")) as source:
        table = source.instances
        assert source.instance_ids == ("x",)
    assert table.to_dict("records") == [
        {
            "instance_id": "x",
            "orchestration": "O",
            "version": "1.0.0",
            "status": "Completed",
            "executions": 2,
            "events": 12,
            "output": '[["1", "1"], {"a": "2"}]',
            "custom_status": None,
            "parent_instance": None,
        }
    ]


def test_recordings_come_in_listing_order_or_in_the_order_asked_for() -> None:
    with open_source(recorded("P-07")) as source:
        assert [recording.instance_id for recording in source.recordings()] == ["a", "b"]
        assert [recording.instance_id for recording in source.recordings(["b", "a"])] == ["b", "a"]


def every_kind(folder: Path) -> list[Source]:
    """A source of each kind with nothing, or only instance `a`, in it."""
    DuckDBProvider(folder / "store.duckdb").close()
    paths = (recorded("P-01"), as_json(folder, "P-01", "a"), folder / "store.duckdb")
    return [open_source(path) for path in paths]


def test_an_unknown_instance_is_named_with_those_there_are(tmp_path: Path) -> None:
    texts = []
    for source in every_kind(tmp_path):
        with pytest.raises(UnknownInstance) as caught:
            source.recording("order-42")
        texts.append(str(caught.value))
    assert texts == [
        "there is no instance 'order-42'; instances here: 'a'",
        "there is no instance 'order-42'; instances here: 'a'",
        "there is no instance 'order-42'; instances here: none",
    ]


def test_queries_read_the_same_tables_from_every_kind(tmp_path: Path) -> None:
    query = "SELECT event_type, count(*) AS n FROM history GROUP BY event_type ORDER BY n DESC, event_type LIMIT 2"
    sqlite, json, duckdb = (source.sql(query).to_dict("list") for source in every_kind(tmp_path))
    assert sqlite == json == {"event_type": ["ActivityCompleted", "ActivityScheduled"], "n": [3, 3]}
    assert duckdb == {"event_type": [], "n": []}
    for source in every_kind(tmp_path):
        for table in ("instances", "executions", "kv_store", "kv_delta"):
            assert "instance_id" in source.sql(f"SELECT * FROM {table}").columns


WRITING = [
    "DELETE FROM history",
    "CREATE TABLE x (y INTEGER)",
    "ATTACH '{folder}/other.db' AS other",
    "VACUUM INTO '{folder}/other.db'",
    "COPY (SELECT 1) TO '{folder}/other.csv'",
    "SELECT 1; COMMIT",
    "PRAGMA user_version = 9",
    "SELECT * FROM read_text('{folder}/secret')",
    "SELECT nonsense",
]


@pytest.mark.parametrize("query", WRITING)
def test_a_query_that_would_write_or_reach_out_or_is_wrong_fails(tmp_path: Path, query: str) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    sources = every_kind(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    for source in sources:
        with pytest.raises(StoreError, match=f"^{source.name}: the query failed: "):
            source.sql(query.format(folder=tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


BAD_FILES = {
    "empty.db": (
        b"",
        NotADatabase,
        "empty.db is neither a duroxide database, nor a workbench store, nor a JSON recording: it is empty",
    ),
    "notes.txt": (
        b"dear diary",
        NotADatabase,
        "notes.txt is neither a duroxide database, nor a workbench store, nor a JSON recording: unknown content",
    ),
    "short.db": (
        b"SQLite format 3\x00",
        NotADatabase,
        "short.db is neither a duroxide database, nor a workbench store, nor a JSON recording: file is not a database",
    ),
    "nothing.json": (
        b"  {}",
        BadRecording,
        "nothing.json does not have the form of a workbench recording: Object missing required field `format`",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_something_else_is_named_with_the_reason(tmp_path: Path, name: str) -> None:
    content, kind, text = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(kind) as caught:
        open_source(tmp_path / name)
    assert str(caught.value) == text


def test_a_duckdb_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.duckdb").write_bytes(bytes(8) + b"DUCK")
    with pytest.raises(NotADatabase, match=r"^cut\.duckdb is neither a duroxide database, nor"):
        open_source(tmp_path / "cut.duckdb")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFile) as caught:
        open_source(tmp_path / "none.db")
    assert str(caught.value) == f"there is no file {str(tmp_path / 'none.db')!r}"
    assert isinstance(caught.value, WorkbenchError)
    assert isinstance(caught.value, FileNotFoundError)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as caught:
        open_source(tmp_path)
    assert str(caught.value) == f"{tmp_path.name} cannot be read: Is a directory"
    with pytest.raises(UnreadableFile) as caught:
        open_source("a\x00b")
    assert str(caught.value) == "a\x00b cannot be read: embedded null byte"


def test_reading_loads_no_pandas_until_a_table_is_asked_for() -> None:
    program = (
        "import sys\n"
        "from workbench.recordings import open_source\n"
        "with open_source(sys.argv[1]) as source:\n"
        "    list(source.recordings())\n"
        "    assert 'pandas' not in sys.modules\n"
        "    assert len(source.instances) == 1\n"
        "    assert 'pandas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(recorded("P-01"))], check=True)
