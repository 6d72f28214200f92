"""`source.sql`: the views say of every kind of file what the recordings of that file say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recordings.files import FOLDER, changing, copy_of, recorded
from workbench import Workbench
from workbench.recordings import Recording, Source, open_source
from workbench.recordings.sources.query_views import NAMES
from workbench.runtime import events as ev
from workbench.runtime.errors import StoreError
from workbench.runtime.kv import Tables, apply_turn, client_view

SOUND = [recorded(name) for name in ("P-01", "P-04", "P-09", "P-11", "P-12")]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbench store with two executions of one instance, a child, and a key that is cleared."""
    path = tmp_path_factory.mktemp("made") / "store.duckdb"
    with Workbench(path) as wb:

        @wb.activity
        def double(ctx, n):  # type: ignore[no-untyped-def]
            return n * 2

        @wb.orchestration
        def child(ctx, n):  # type: ignore[no-untyped-def]
            return (yield ctx.schedule_activity("double", n))

        @wb.orchestration
        def parent(ctx, round_number):  # type: ignore[no-untyped-def]
            ctx.set_kv_value(f"round-{round_number}", "x" * round_number)
            ctx.set_kv_value("last", str(round_number))
            yield ctx.schedule_sub_orchestration("child", round_number)
            if round_number == 1:
                ctx.clear_all_kv_values()
                ctx.set_kv_value("kept", "ü")
                return (yield ctx.continue_as_new(2))
            ctx.clear_kv_value("last")
            yield ctx.schedule_timer(5_000)
            return "done"

        wb.start("parent", 1, instance_id="parent-1").finish()
    return path


@pytest.fixture(params=["duroxide SQLite", "workbench DuckDB", "JSON recording"])
def sources(request: pytest.FixtureRequest, tmp_path: Path, store: Path) -> Iterator[list[Source]]:
    """Files of one kind."""
    if request.param == "duroxide SQLite":
        paths = SOUND
    elif request.param == "workbench DuckDB":
        paths = [store]
    else:
        with open_source(store) as source:
            source.recording("parent-1").to_json(tmp_path / "parent.json")
        paths = [tmp_path / "parent.json", FOLDER / "P-08_queue.json"]
    opened = [open_source(path) for path in paths]
    assert {source.kind for source in opened} == {request.param}
    yield opened
    for source in opened:
        source.close()


def test_every_view_can_be_read_in_every_kind_of_file(sources: list[Source]) -> None:
    for source in sources:
        for name in NAMES:
            _, rows = source.query(f"SELECT * FROM {name}")
            assert rows or name.startswith("kv_")


def test_events_stand_in_the_turns_that_the_recording_has(sources: list[Source]) -> None:
    for source in sources:
        _, rows = source.query("SELECT instance_id, execution_id, event_id, turn, type, json FROM events")
        expected = [
            (recording.instance_id, execution.execution_id, event.event_id, turn, event.type, text)
            for recording in source.recordings()
            for execution in recording.executions
            for event, turn, text in zip(
                execution.history.events, execution.history.turns, execution.history.texts, strict=True
            )
        ]
        assert sorted(rows) == sorted(expected)


def test_turns_and_executions_count_what_the_recording_has(sources: list[Source]) -> None:
    for source in sources:
        _, executions = source.query("SELECT instance_id, execution_id, status, output, events, turns FROM executions")
        assert sorted(executions, key=lambda row: row[:2]) == sorted(
            (r.instance_id, e.execution_id, e.status, e.output, e.event_count, e.turn_count)
            for r in source.recordings()
            for e in r.executions
        )
        _, turns = source.query("SELECT count(*), sum(arrivals), sum(operations) FROM turns")
        events = [event for r in source.recordings() for e in r.executions for event in e.history.events]
        assert turns == [
            (
                sum(recording.turn_count for recording in source.recordings()),
                sum(event.type in ev.ARRIVALS for event in events),
                sum(event.type in ev.OPERATIONS for event in events),
            )
        ]


def test_operations_name_what_answered_them(sources: list[Source]) -> None:
    for source in sources:
        _, rows = source.query("SELECT instance_id, execution_id, event_id, answered_by, type FROM operations")
        answers = {
            (recording.instance_id, execution.execution_id, event.source_event_id): event.event_id
            for recording in source.recordings()
            for execution in recording.executions
            for event in reversed(execution.history.events)
            if event.type in ev.COMPLETIONS
        }
        assert {row[:3]: row[3] for row in rows if row[4] in ev.SCHEDULES} == {
            row[:3]: answers.get(row[:3]) for row in rows if row[4] in ev.SCHEDULES
        }


def test_a_moment_is_an_address_that_a_stepper_takes(store: Path) -> None:
    with open_source(store) as source:
        (moment,) = source.query("SELECT moment FROM operations WHERE type = 'TimerCreated'")[1][0]
        stepper = source.recording("parent-1").stepper()
        stepper.goto(moment)
        assert stepper.focus.address == "2.2.2"
        stepper.close()


def values_after_each_turn(recording: Recording) -> set[tuple[int, int, str, str]]:
    """What a client reads after every turn, by the pure functions that the store is held to."""
    found: set[tuple[int, int, str, str]] = set()
    tables = Tables()
    for execution in recording.executions:
        numbers = sorted(set(execution.history.turns))
        for number in numbers:
            events = [
                event
                for event, turn in zip(execution.history.events, execution.history.turns, strict=True)
                if turn == number
            ]
            ended = any(event.type in ev.ENDINGS for event in events)
            tables = apply_turn(recording.kv_model, tables, events, ended=ended)
            for key, entry in client_view(tables).items():
                assert entry.value is not None
                found.add((execution.execution_id, number, key, entry.value))
    return found


def test_kv_by_turn_holds_what_a_client_read_after_each_turn(sources: list[Source]) -> None:
    for source in sources:
        _, rows = source.query("SELECT instance_id, execution_id, turn, key, value FROM kv_by_turn")
        expected = [
            (recording.instance_id, *row)
            for recording in source.recordings()
            for row in values_after_each_turn(recording)
        ]
        assert sorted(rows) == sorted(expected)


def test_value_bytes_are_bytes(tmp_path: Path, store: Path) -> None:
    with open_source(store) as source:
        assert source.query("SELECT DISTINCT value_bytes FROM kv_writes WHERE key = 'kept'")[1] == [(2,)]
        source.recording("parent-1").to_json(tmp_path / "parent.json")
    with open_source(tmp_path / "parent.json") as source:
        assert source.query("SELECT DISTINCT value_bytes FROM kv_writes WHERE key = 'kept'")[1] == [(2,)]


def test_events_of_unknown_type_and_holes_decide_nothing_about_turns(tmp_path: Path) -> None:
    path = copy_of("P-12", tmp_path)
    with changing(path) as database:
        database.execute(
            "UPDATE history SET event_type = 'Unheard', event_data = replace(event_data, 'ActivityS', 'S')"
            " WHERE event_type = 'ActivityScheduled'"
        )
        database.execute("DELETE FROM history WHERE event_type = 'ExternalSubscribed'")
    with open_source(path) as source:
        expected = [
            (recording.instance_id, execution.execution_id, event.event_id, turn)
            for recording in source.recordings()
            for execution in recording.executions
            for event, turn in zip(execution.history.events, execution.history.turns, strict=True)
        ]
        _, rows = source.query("SELECT instance_id, execution_id, event_id, turn FROM events")
        assert sorted(rows) == sorted(expected)


def test_a_table_of_ids_has_whole_numbers_and_gaps(tmp_path: Path) -> None:
    with open_source(copy_of("P-12", tmp_path)) as source:
        frame = source.sql("SELECT answered_by FROM operations")
    assert str(frame.dtypes["answered_by"]) == "Int64"


def test_damaged_rows_are_there_with_what_can_be_read(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("UPDATE history SET event_data = '{' WHERE event_id = 2")
        database.execute("UPDATE history SET event_data = '[1]' WHERE event_id = 3")
        database.execute("UPDATE history SET event_data = x'ff00' WHERE event_id = 4")
    with open_source(path) as source, open_source(recorded("P-01")) as sound:
        count = "SELECT count(*) FROM events"
        assert source.query(count) == sound.query(count)
        for name in NAMES:
            source.query(f"SELECT * FROM {name}")
        assert source.query("SELECT key, at_ms FROM events WHERE event_id = 2")[1] == [(None, None)]


def test_an_old_file_without_the_newer_columns_has_the_same_views(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("DROP INDEX idx_instances_parent")
        for column in ("parent_instance_id", "custom_status"):
            database.execute(f"ALTER TABLE instances DROP COLUMN {column}")
    with open_source(path) as source:
        _, rows = source.query("SELECT custom_status, parent_instance FROM instances")
        assert set(rows) == {(None, None)}


def test_the_file_behind_the_views_is_only_read(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    before = path.read_bytes()
    with open_source(path) as source:
        for query in ("DROP VIEW events", "DELETE FROM events", "CREATE TEMP TABLE x (y)", "PRAGMA query_only = OFF"):
            with pytest.raises(StoreError, match="the query failed"):
                source.sql(query)
    assert path.read_bytes() == before


def test_json_in_events_is_what_is_stored(store: Path) -> None:
    with open_source(store) as source:
        texts = [text for (text,) in source.query("SELECT json FROM events")[1]]
        assert all(json.loads(text)["instance_id"].startswith("parent-1") for text in texts)


def test_a_query_over_a_store_that_is_open_here_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    """The views have names of the store's own tables, and were once left on its connection."""
    with Workbench(tmp_path / "open.duckdb") as wb:
        wb.orchestration("One")(lambda _, given: given)
        run = wb.start("One", 1, "o")
        with open_source(tmp_path / "open.duckdb") as source:
            for _ in range(3):
                assert list(source.sql("SELECT instance_id FROM executions")["instance_id"]) == []
                assert repr(run.outcome) != ""
            assert run.finish().output == 1
            assert list(source.sql("SELECT status FROM executions")["status"]) == ["Completed"]
            with pytest.raises(StoreError, match="nowhere"):
                source.sql("SELECT * FROM nowhere")
            assert list(wb.sql("SELECT current_execution_id FROM instances")["current_execution_id"]) == [1]
