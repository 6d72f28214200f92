"""The two tables of spec 000: what every turn writes, what a client reads, what the end of an execution merges."""

from __future__ import annotations

from workbench.runtime.kv import DELTA, Entry, Tables
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import SPEC_000, follows
from workbench.store.validation.turns import (
    COMPLETED,
    CONTINUED,
    FAILED,
    NOW_MS,
    clears,
    clears_all,
    make_turn,
    read,
    rows_of,
    sets,
    snapshot,
)


@follows(SPEC_000, [DELTA])
def kv_delta_written_every_turn(provider: Provider) -> None:
    """Spec 000, "Two-table model": one row per key in `kv_delta`, nothing in `kv_store` before the end."""
    for value in ("1", "2", "3"):
        make_turn(provider, "a", sets("counter", value))
        assert provider.get_kv_tables("a") == Tables({}, {"counter": Entry(value, NOW_MS)})


@follows(SPEC_000, [DELTA])
def kv_delta_client_reads_merged(provider: Provider) -> None:
    """A client reads an overridden, an untouched and a new key."""
    make_turn(provider, "a", sets("overridden", "1"), sets("untouched", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("overridden", "2"), sets("new", "2"))
    assert read(provider, "a", "overridden", "untouched", "new") == ["2", "1", "2"]
    assert provider.get_all_kv_values("a") == {"new": "2", "overridden": "2", "untouched": "1"}


@follows(SPEC_000, [DELTA])
def kv_delta_tombstone_overrides_store(provider: Provider) -> None:
    """A key that this execution cleared reads as absent, although `kv_store` still has it."""
    make_turn(provider, "a", sets("k", "1"), end=CONTINUED)
    make_turn(provider, "a", clears("k"))
    assert read(provider, "a", "k") == [None]
    assert provider.get_all_kv_values("a") == {}
    assert snapshot(provider, "a") == {"k": "1"}
    tables = provider.get_kv_tables("a")
    assert (rows_of(tables.store), rows_of(tables.delta)) == ({"k": "1"}, {"k": None})


@follows(SPEC_000, [DELTA])
def kv_delta_clear_all_tombstones_store(provider: Provider) -> None:
    """Clear-all hides every key of `kv_store`; what is set after it is seen."""
    make_turn(provider, "a", sets("x", "1"), sets("y", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("z", "2"), clears_all(), sets("y", "3"))
    assert provider.get_all_kv_values("a") == {"y": "3"}
    assert rows_of(provider.get_kv_tables("a").delta) == {"x": None, "y": "3", "z": None}


@follows(SPEC_000, [DELTA])
def kv_delta_clear_is_dated_by_its_event(provider: Provider) -> None:
    """A tombstone carries the time of the event that made it, so the table can be recomputed from the history."""
    make_turn(provider, "a", sets("k", "1"), sets("j", "1"), end=CONTINUED)
    make_turn(provider, "a", clears("k"), now_ms=NOW_MS + 5)
    assert provider.get_kv_tables("a").delta == {"k": Entry(None, NOW_MS + 5)}
    make_turn(provider, "a", clears_all(), now_ms=NOW_MS + 9)
    assert provider.get_kv_tables("a").delta == {"j": Entry(None, NOW_MS + 9), "k": Entry(None, NOW_MS + 9)}


def _merges(provider: Provider, end: str) -> None:
    make_turn(provider, "a", sets("kept", "1"), sets("cleared", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("k", "1"), clears("cleared"), clears("never set"))
    make_turn(provider, "a", sets("k", "2", at_ms=NOW_MS + 1), end=end)
    merged = {"k": Entry("2", NOW_MS + 1), "kept": Entry("1", NOW_MS)}
    assert provider.get_kv_tables("a") == Tables(merged, {})
    assert provider.get_kv_snapshot("a") == merged
    assert provider.get_all_kv_values("a") == {"k": "2", "kept": "1"}


@follows(SPEC_000, [DELTA])
def kv_delta_merged_on_completion(provider: Provider) -> None:
    """Spec 000, "Write path: execution completion": `kv_store` has the merged state, `kv_delta` is empty."""
    _merges(provider, COMPLETED)


@follows(SPEC_000, [DELTA])
def kv_delta_merged_on_can(provider: Provider) -> None:
    """The same for continue-as-new."""
    _merges(provider, CONTINUED)


@follows(SPEC_000, [DELTA])
def kv_delta_merged_on_failure(provider: Provider) -> None:
    """The same for a failure."""
    _merges(provider, FAILED)


@follows(SPEC_000, [DELTA])
def kv_delta_merge_leaves_other_instances_alone(provider: Provider) -> None:
    """The end of one instance's execution merges none of another's rows."""
    make_turn(provider, "b", sets("k", "b's"))
    make_turn(provider, "a", sets("k", "a's"), end=COMPLETED)
    assert rows_of(provider.get_kv_tables("b").delta) == {"k": "b's"}
    assert snapshot(provider, "b") == {}
