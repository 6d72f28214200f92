"""The two KV models as pure functions (spec 000 "Write path", spec 001)."""

from __future__ import annotations

from typing import Any

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.kv import Entry, Tables


def event(kind: str, at_ms: int = 5, **fields: Any) -> ev.Event:
    return ev.new_event("i", 2, 1, at_ms, kind, **fields)


def sets(key: str, value: str, at_ms: int = 5) -> ev.Event:
    return event(ev.KV_SET, at_ms, key=key, value=value, last_updated_at_ms=at_ms)


def clears(key: str, at_ms: int = 5) -> ev.Event:
    return event(ev.KV_CLEARED, at_ms, key=key)


def clears_all(at_ms: int = 5) -> ev.Event:
    return event(ev.KV_ALL_CLEARED, at_ms)


STORE = Tables({"a": Entry("old", 1), "b": Entry("old", 1)})


def test_a_turn_comes_to_one_row_a_key_the_last_write_wins() -> None:
    change = kv.fold_turn([sets("k", "1"), clears("k"), sets("k", "2", 9), sets("other", "x")])
    assert change.cleared_all_at_ms is None
    assert change.rows == {"k": Entry("2", 9, 2), "other": Entry("x", 5, 2)}
    assert not kv.fold_turn([event(ev.TIMER_CREATED, fire_at_ms=1)])


def test_a_key_set_before_a_clear_all_is_a_tombstone_and_one_set_behind_it_lives() -> None:
    change = kv.fold_turn([sets("before", "1"), clears_all(7), sets("behind", "1")])
    assert change.cleared_all_at_ms == 7
    assert change.rows == {"before": Entry(None, 7, 2), "behind": Entry("1", 5, 2)}


def test_a_time_that_is_missing_reads_as_zero() -> None:
    assert kv.fold_turn([event(ev.KV_SET, key="k", value="1")]).rows["k"].last_updated_at_ms == 0


def test_in_the_delta_model_a_running_execution_writes_beside_the_store() -> None:
    after = kv.apply_turn(kv.DELTA, STORE, [sets("a", "new"), clears("b", 8), clears("never")], ended=False)
    assert after.store == STORE.store
    assert after.delta == {"a": Entry("new", 5), "b": Entry(None, 8), "never": Entry(None, 5)}
    assert kv.snapshot(after) == STORE.store
    assert kv.client_view(after) == {"a": Entry("new", 5)}


def test_in_the_delta_model_a_clear_all_leaves_a_tombstone_for_every_key() -> None:
    running = kv.apply_turn(kv.DELTA, STORE, [sets("c", "1")], ended=False)
    after = kv.apply_turn(kv.DELTA, running, [clears_all(9), sets("d", "1")], ended=False)
    assert after.delta == {"c": Entry(None, 9), "a": Entry(None, 9), "b": Entry(None, 9), "d": Entry("1", 5)}
    assert list(kv.client_view(after)) == ["d"]


def test_in_the_delta_model_an_end_merges_whatever_it_is() -> None:
    running = kv.apply_turn(kv.DELTA, STORE, [sets("a", "new"), clears("b")], ended=False)
    ended = kv.apply_turn(kv.DELTA, running, [], ended=True)
    assert ended == Tables({"a": Entry("new", 5)}, {})
    assert kv.apply_turn(kv.DELTA, STORE, [], ended=True) is STORE


def test_in_the_per_turn_model_every_turn_writes_the_store_itself() -> None:
    after = kv.apply_turn(kv.PER_TURN, STORE, [sets("a", "new"), clears("b")], ended=False)
    assert after == Tables({"a": Entry("new", 5, 2)}, {})
    assert kv.snapshot(after)["a"].value == "new", "the next replay is seeded with what this execution wrote"
    assert kv.apply_turn(kv.PER_TURN, after, [clears_all(), sets("z", "1")], ended=False).store == {
        "z": Entry("1", 5, 2)
    }


def test_in_the_per_turn_model_pruning_an_execution_takes_the_keys_it_wrote_last() -> None:
    table = Tables({"a": Entry("1", 1, 1), "b": Entry("1", 1, 2)})
    assert kv.prune_per_turn(table, [1]).store == {"b": Entry("1", 1, 2)}


def test_what_is_read_is_in_key_order() -> None:
    tables = Tables({"b": Entry("1", 1), "A": Entry("1", 1)}, {"é": Entry("1", 1), "a": Entry("1", 1)})
    assert list(kv.client_view(tables)) == ["A", "a", "b", "é"]
    assert list(kv.snapshot(tables)) == ["A", "b"]
