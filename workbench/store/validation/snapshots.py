"""What a replay is seeded with. Spec 000: the state at the last end of an execution; spec 001: everything."""

from __future__ import annotations

from workbench.runtime.kv import DELTA, PER_TURN, Entry
from workbench.runtime.messages import ContinueAsNew
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import SPEC_000, SPEC_001, follows
from workbench.store.validation.turns import (
    COMPLETED,
    CONTINUED,
    NOW_MS,
    claim_one,
    clears,
    clears_all,
    make_turn,
    nudge,
    sets,
    snapshot,
)


@follows(SPEC_001)
def kv_snapshot_empty(provider: Provider) -> None:
    """An instance without keys has an empty snapshot."""
    make_turn(provider, "a")
    assert provider.get_kv_snapshot("a") == {}


@follows(SPEC_001)
def kv_snapshot_complete(provider: Provider) -> None:
    """`get_kv_snapshot` returns all keys that several turns have left, with the times of their writes."""
    make_turn(provider, "a", sets("b", "1", at_ms=7))
    make_turn(provider, "a", sets("a", "1", at_ms=8), sets("gone", "1"))
    make_turn(provider, "a", sets("b", "2", at_ms=9), clears("gone"), end=COMPLETED)
    times = {key: (row.value, row.last_updated_at_ms) for key, row in provider.get_kv_snapshot("a").items()}
    assert list(times.items()) == [("a", ("1", 8)), ("b", ("2", 9))]


@follows(SPEC_001)
def kv_snapshot_in_fetch(provider: Provider) -> None:
    """What `load` brings under the instance's lock is that snapshot."""
    make_turn(provider, "a", sets("x", "1"), sets("y", "2"), end=CONTINUED)
    provider.enqueue([ContinueAsNew("a", "Flow", "null")], NOW_MS)
    [loaded] = provider.load([claim_one(provider, "a")])
    assert {key: row.value for key, row in loaded.kv_snapshot.items()} == {"x": "1", "y": "2"}
    assert dict(loaded.kv_snapshot) == provider.get_kv_snapshot("a")
    assert loaded.history.events == ()


@follows(SPEC_001)
def kv_snapshot_after_clear_single(provider: Provider) -> None:
    """A cleared key is in no later snapshot."""
    make_turn(provider, "a", sets("kept", "1"), sets("gone", "1"))
    make_turn(provider, "a", clears("gone"), end=CONTINUED)
    assert snapshot(provider, "a") == {"kept": "1"}


@follows(SPEC_001)
def kv_snapshot_after_clear_all(provider: Provider) -> None:
    """After a clear-all the next execution begins with what was set since."""
    make_turn(provider, "a", sets("earlier", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("k", "1"))
    make_turn(provider, "a", clears_all(), sets("new", "2"), end=CONTINUED)
    assert snapshot(provider, "a") == {"new": "2"}
    make_turn(provider, "a", clears_all(), end=COMPLETED)
    assert snapshot(provider, "a") == {}


@follows(SPEC_001)
def kv_snapshot_cross_execution(provider: Provider) -> None:
    """Keys of an earlier execution are in; those of the running one only in the per-turn model (spec 001)."""
    make_turn(provider, "a", sets("earlier", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("running", "2"))
    expected: dict[str, str | None] = {"earlier": "1"}
    if provider.kv_model == PER_TURN:
        expected["running"] = "2"
    assert snapshot(provider, "a") == expected


@follows(SPEC_000, [DELTA])
def kv_delta_snapshot_excludes_current_execution(provider: Provider) -> None:
    """Spec 000, "Read path: replay engine": a client sees the running execution's write, its own replay does not."""
    make_turn(provider, "a", sets("counter", "1"))
    provider.enqueue([nudge("a")], NOW_MS)
    [loaded] = provider.load([claim_one(provider, "a")])
    assert dict(loaded.kv_snapshot) == {}
    assert provider.get_kv_value("a", "counter") == "1"


@follows(SPEC_001, [PER_TURN])
def kv_per_turn_snapshot_includes_current_execution(provider: Provider) -> None:
    """Spec 001, "KV Loading Strategy": all rows of the table, and so the poison."""
    make_turn(provider, "a", sets("counter", "1"))
    provider.enqueue([nudge("a")], NOW_MS)
    [loaded] = provider.load([claim_one(provider, "a")])
    assert dict(loaded.kv_snapshot) == {"counter": Entry("1", NOW_MS, 1)}


@follows(SPEC_000, [DELTA])
def kv_delta_snapshot_includes_completed_execution(provider: Provider) -> None:
    """After continue-as-new the next execution's snapshot has what the last one left."""
    make_turn(provider, "a", sets("counter", "4"))
    make_turn(provider, "a", sets("counter", "5"), end=CONTINUED)
    assert snapshot(provider, "a") == {"counter": "5"}
