"""A recording as data: what it says of itself, the KV state each execution began with, and live stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings.files import RECORDED, changing, copy_of, event_text, recorded, started
from workbench.recordings import Recording, open_source, recording_from_provider
from workbench.recordings.integrity import Row
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of
from workbench.runtime import events as ev
from workbench.runtime.errors import UnknownInstance
from workbench.runtime.kv import DELTA, PER_TURN, Entry, KVModel, Tables
from workbench.runtime.limits import Limits
from workbench.runtime.messages import StartOrchestration
from workbench.runtime.provider import History, TurnCommit
from workbench.store.provider import DuckDBProvider


def load(name: str, instance_id: str) -> Recording:
    """One instance of a recorded file."""
    with open_source(recorded(name)) as source:
        return source.recording(instance_id)


def test_a_completed_recording_has_an_output_and_no_error() -> None:
    recording = load("P-01", "a")
    assert (recording.orchestration, recording.version) == ("O", "1.0.0")
    assert (recording.status, recording.output, recording.error) == ("Completed", '"3"', None)
    assert (len(recording.executions), recording.turn_count, recording.event_count) == (1, 4, 11)
    assert recording.kv_tables == Tables({"n": Entry("3", recording.executions[0].history.events[7].timestamp_ms)}, {})
    assert "4 turns, 11 events" in repr(recording)


def test_a_failed_recording_has_an_error_and_no_output() -> None:
    recording = load("P-10", "e2-32769")
    assert (recording.status, recording.output) == ("Failed", None)
    assert recording.error == "KV value for key 'k' (65538 bytes) exceeds limit (65536 bytes)"


def test_a_running_recording_has_neither() -> None:
    recording = load("P-12", "a")
    assert (recording.status, recording.output, recording.error) == ("Running", None, None)


def test_a_damaged_recording_says_so() -> None:
    recording = load("P-15", "a")
    assert [damage.row for damage in recording.damage] == ["event 2"]
    assert "damaged" in repr(recording)
    assert "event 2" in recording.text()


def test_duroxides_recordings_are_held_to_its_limits() -> None:
    recording = load("P-01", "a")
    assert recording.is_duroxide
    assert recording.limits == Limits.duroxide()


def test_a_recording_replays_itself_with_and_without_code() -> None:
    recording = load("P-06_timer", "a")
    assert recording.replay().turns
    assert recording.replay(kv_model=PER_TURN).kv_model == PER_TURN
    assert recording.replay(limits=Limits(kv_keys=1)).limits == Limits(kv_keys=1)


# The KV state that an execution began with.


def kv_set(event_id: int, key: str, value: str, execution_id: int = 1) -> str:
    text = event_text(event_id, ev.KV_SET, key=key, value=value, last_updated_at_ms=1000)
    return text.replace('"execution_id":1', f'"execution_id":{execution_id}')


def execution_of(execution_id: int, status: str, *writes: tuple[str, str | None]) -> StoredExecution:
    """An execution that sets these keys, or clears those without a value, and then ends or goes on."""
    texts = [started()]
    for event_id, (key, value) in enumerate(writes, start=2):
        cleared = event_text(event_id, ev.KV_CLEARED, key=key)
        texts.append(cleared if value is None else kv_set(event_id, key, value))
    last = len(texts) + 1
    if status == "ContinuedAsNew":
        texts.append(event_text(last, ev.CONTINUED_AS_NEW, input="1"))
    elif status == "Completed":
        texts.append(event_text(last, ev.COMPLETED, output="1"))
    texts = [text.replace('"execution_id":1', f'"execution_id":{execution_id}') for text in texts]
    events = [ev.decode_event(text) for text in texts]
    rows = tuple(Row(event.event_id, event.type, text) for event, text in zip(events, texts, strict=True))
    return StoredExecution(execution_id, status, None, rows)


def snapshots(
    *executions: StoredExecution, model: KVModel = DELTA, store: dict[str, Entry] | None = None
) -> list[object]:
    """The values that each execution's first turn was given."""
    stored = StoredInstance(
        instance_id="a",
        orchestration="O",
        version="1.0.0",
        executions=executions,
        kv_model=model,
        kv_tables=Tables(store or {}, {}),
        limits=Limits(),
    )
    recording = recording_of(stored)
    assert [damage for damage in recording.damage if damage.row != "event 2"] == []
    return [
        None if execution.kv_snapshot is None else {key: entry.value for key, entry in execution.kv_snapshot.items()}
        for execution in recording.executions
    ]


FIRST = execution_of(1, "ContinuedAsNew", ("a", "1"), ("b", "1"))
SECOND = execution_of(2, "ContinuedAsNew", ("b", None), ("c", "2"))


@pytest.mark.parametrize("model", [DELTA, PER_TURN])
def test_an_execution_begins_with_what_the_earlier_ones_left(model: KVModel) -> None:
    third = execution_of(3, "Completed", ("a", "9"))
    assert snapshots(FIRST, SECOND, third, model=model) == [{}, {"a": "1", "b": "1"}, {"a": "1", "c": "2"}]


def test_in_the_delta_model_a_running_execution_began_with_the_stored_table() -> None:
    running = execution_of(3, "Running", ("a", "9"))
    store = {"a": Entry("1", 1000), "kept from pruned executions": Entry("0", 1000)}
    assert snapshots(SECOND, running, store=store) == [None, {"a": "1", "kept from pruned executions": "0"}]


def test_in_the_per_turn_model_the_stored_table_has_the_running_executions_own_writes() -> None:
    running = execution_of(3, "Running", ("a", "9"))
    assert snapshots(SECOND, running, model=PER_TURN, store={"a": Entry("9", 1000, 3)}) == [None, None]


def test_what_pruned_executions_left_is_not_known() -> None:
    assert snapshots(SECOND, execution_of(3, "Completed", ("a", "9"))) == [None, None]
    assert snapshots(FIRST, execution_of(3, "Completed", ("a", "9"))) == [{}, None]


def test_a_last_execution_that_never_wrote_began_with_what_is_stored_now() -> None:
    store = {"a": Entry("1", 1000)}
    assert snapshots(SECOND, execution_of(3, "Completed"), store=store) == [None, {"a": "1"}]
    assert snapshots(SECOND, execution_of(3, "Completed"), model=PER_TURN, store=store) == [None, None]


def test_what_a_damaged_execution_left_is_not_known() -> None:
    broken = StoredExecution(1, "ContinuedAsNew", None, (FIRST.rows[0], Row(2, ev.KV_SET, "{"), *FIRST.rows[2:]))
    assert snapshots(broken, execution_of(2, "Completed", ("a", "9"))) == [{}, None]


def test_the_snapshots_of_a_recorded_continue_as_new_follow_the_real_tables() -> None:
    recording = load("P-11", "x")
    first, second = recording.executions
    assert first.kv_snapshot == {}
    assert second.kv_snapshot is not None
    assert {key: entry.value for key, entry in second.kv_snapshot.items()} == {"a": "1", "b": "1"}


def test_the_end_of_every_recording_folds_to_the_tables_that_duroxide_stored(tmp_path: Path) -> None:
    """A further execution would begin with exactly what is in `kv_store`."""
    checked = 0
    for path in RECORDED:
        with open_source(path) as source:
            for recording in source.recordings():
                if recording.damage or recording.status == "Running":
                    continue
                following = execution_of(recording.last.execution_id + 1, "Completed")
                again = recording_of(_stored_again(recording, following))
                assert again.last.kv_snapshot == recording.kv_tables.store
                checked += 1
    assert checked > 60


def _stored_again(recording: Recording, following: StoredExecution) -> StoredInstance:
    executions = [
        StoredExecution(
            execution.execution_id,
            execution.status,
            None,
            tuple(
                Row(event.event_id, event.type, text)
                for event, text in zip(execution.history.events, execution.history.texts, strict=True)
            ),
        )
        for execution in recording.executions
    ]
    return StoredInstance(
        instance_id=recording.instance_id,
        orchestration=recording.orchestration,
        version=recording.version,
        executions=[*executions, following],
        kv_model=recording.kv_model,
        kv_tables=recording.kv_tables,
        limits=recording.limits,
    )


# Live stores.


def one_turn(provider: DuckDBProvider) -> tuple[ev.Event, ...]:
    """Commit the first turn of instance `a`, which sets a key."""
    provider.enqueue([StartOrchestration("a", "O", "null")], 1000)
    (claim,) = provider.claim(1, 1000, 5000)
    events = (
        ev.new_event("a", 1, 1, 1000, ev.STARTED, name="O", version="1.0.0", input="null"),
        ev.new_event("a", 1, 2, 1000, ev.KV_SET, key="n", value="1", last_updated_at_ms=1000),
        ev.new_event("a", 1, 3, 1000, ev.EVENT_SUBSCRIBED, name="go"),
    )
    turn = TurnCommit(
        claim=claim,
        execution_id=1,
        turn=1,
        now_ms=1000,
        events=events,
        status="Running",
        orchestration="O",
        version="1.0.0",
    )
    assert provider.commit([turn]) == []
    return events


def test_a_live_store_is_recorded_with_its_own_turns() -> None:
    provider = DuckDBProvider()
    events = one_turn(provider)
    recording = recording_from_provider(provider, "a", Limits(kv_keys=3))
    provider.close()
    (execution,) = recording.executions
    texts = tuple(ev.encode_event(event) for event in events)
    assert execution.history == History(events, texts, (1, 1, 1))
    assert not execution.turns_inferred
    assert execution.kv_snapshot == {}
    assert (recording.writer, recording.is_duroxide) == (ev.WRITER, False)
    assert (recording.limits, recording.kv_model) == (Limits(kv_keys=3), DELTA)
    assert recording.kv_tables == Tables({}, {"n": Entry("1", 1000)})
    assert Recording.from_json(recording.to_json()) == recording


def test_an_unknown_instance_of_a_live_store_is_named_with_those_there_are() -> None:
    provider = DuckDBProvider()
    one_turn(provider)
    with pytest.raises(UnknownInstance) as caught:
        recording_from_provider(provider, "b", Limits())
    provider.close()
    assert str(caught.value) == "there is no instance 'b'; instances here: 'a'"


@pytest.mark.damages("a history row is overwritten")
def test_a_history_that_a_live_store_refuses_is_recorded_as_damaged(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "store.duckdb"
    provider = DuckDBProvider(path)
    one_turn(provider)
    provider.close()
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE history SET event_data = '{' WHERE event_id = 2")
    provider = DuckDBProvider(path)
    recording = recording_from_provider(provider, "a", Limits())
    provider.close()
    assert [(damage.row, damage.reason) for damage in recording.damage] == [("event 2", "Input data was truncated")]
    assert Recording.from_json(recording.to_json()) == recording


def test_an_instance_that_lost_all_its_executions_is_recorded_as_damaged(tmp_path: Path) -> None:
    path = copy_of("P-01", tmp_path)
    with changing(path) as database:
        database.execute("DELETE FROM history")
        database.execute("DELETE FROM executions")
    with open_source(path) as source:
        recording = source.recording("a")
        assert source.listing()[0].status is None
    assert recording.status == "Unknown"
    assert recording.writer == "unknown"
    assert [damage.reason for damage in recording.damage] == [
        "missing: the history is empty",
        "'Unknown' is none of Running, Completed, Failed, ContinuedAsNew",
    ]
    assert Recording.from_json(recording.to_json()) == recording
