"""Every recording of a bug case opens, lists its instances, and steps without code."""

from __future__ import annotations

import sqlite3

import pytest

from tests.cases.recorded import FILES, FOLDER
from workbench import open_source
from workbench.recordings.replay import Replay
from workbench.runtime import kv

DAMAGED = {"P-15_corrupt.db": ["a", "c"]}
"""The instances whose history cannot be trusted."""


def test_there_are_the_seventeen_recordings_of_the_public_cases() -> None:
    assert len(FILES) == 17


@pytest.mark.parametrize("name", FILES)
def test_it_lists_the_instances_that_the_database_has(name: str) -> None:
    with sqlite3.connect(f"file:{FOLDER / name}?mode=ro", uri=True) as database:
        stored = [row[0] for row in database.execute("SELECT instance_id FROM instances ORDER BY instance_id")]
    database.close()
    with open_source(FOLDER / name) as source:
        assert sorted(source.instances["instance_id"]) == stored
        assert sorted(each.instance_id for each in source.recordings()) == stored


@pytest.mark.parametrize("name", FILES)
def test_each_instance_steps_through_all_its_turns_without_code(name: str) -> None:
    with open_source(FOLDER / name) as source:
        for recording in source.recordings():
            replay = recording.replay()
            damaged = recording.instance_id in DAMAGED.get(name, [])
            assert replay.verdict == ("damaged history" if damaged else "nothing to compare"), recording
            assert len(replay.turns) == recording.turn_count
            assert sum(len(turn.events) for turn in replay.turns) == recording.event_count
            assert_addresses_count_up(replay)
            for turn in replay.turns:
                assert turn.address in turn.text()


@pytest.mark.parametrize("name", [name for name in FILES if name not in DAMAGED])
def test_the_events_fold_to_the_key_value_tables_that_the_engine_stored(name: str) -> None:
    with open_source(FOLDER / name) as source:
        for recording in source.recordings():
            last = recording.replay().turns[-1].after
            assert stored(last.store) == stored(recording.kv_tables.store), recording
            assert stored(last.delta) == stored(recording.kv_tables.delta), recording


def stored(table: kv.Table) -> dict[str, str | None]:
    return {key: entry.value for key, entry in table.items()}


def assert_addresses_count_up(replay: Replay) -> None:
    addresses = [(turn.execution_id, turn.number) for turn in replay.turns]
    assert addresses == sorted(set(addresses))
    for execution_id in {each[0] for each in addresses}:
        numbers = [number for execution, number in addresses if execution == execution_id]
        assert numbers == list(range(1, len(numbers) + 1))
