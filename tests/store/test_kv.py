"""What a provider keeps for keys and values, in the words of both specifications.

Tests named in a specification keep that name. Where the two models differ the test says which one it is about.
"""

from __future__ import annotations

from tests.store.turns import clears, clears_all, run_turn, sets
from workbench.runtime.kv import Entry, Tables
from workbench.store import DuckDBProvider

# Spec 001, "Provider Validation Tests".


def test_kv_set_and_get(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"))
    assert provider.get_kv_value("a", "k") == "1"


def test_kv_get_nonexistent(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"))
    assert provider.get_kv_value("a", "other") is None
    assert provider.get_kv_value("nobody", "k") is None
    assert provider.get_kv_snapshot("nobody") == {}
    assert provider.get_all_kv_values("nobody") == {}
    assert provider.get_kv_tables("nobody") == Tables()


def test_kv_overwrite(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), sets("k", "2"))
    assert provider.get_kv_value("a", "k") == "2"
    run_turn(provider, "a", sets("k", "3"))
    assert provider.get_kv_value("a", "k") == "3"


def test_kv_clear(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), sets("l", "2"))
    run_turn(provider, "a", clears_all())
    assert provider.get_all_kv_values("a") == {}
    assert provider.get_kv_value("a", "k") is None


def test_kv_clear_single(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), sets("l", "2"))
    run_turn(provider, "a", clears("k"), clears("never set"))
    assert provider.get_all_kv_values("a") == {"l": "2"}


def test_kv_set_after_clear(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "old"), sets("l", "old"))
    run_turn(provider, "a", sets("k", "1"), clears("k"), sets("k", "2"), clears_all(), sets("k", "3"))
    assert provider.get_all_kv_values("a") == {"k": "3"}


def test_kv_snapshot_complete(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1", 5), sets("l", "2", 6))
    run_turn(provider, "a", sets("m", "3", 7), status="ContinuedAsNew")
    snapshot = provider.get_kv_snapshot("a")
    assert [(key, entry.value, entry.last_updated_at_ms) for key, entry in snapshot.items()] == [
        ("k", "1", 5),
        ("l", "2", 6),
        ("m", "3", 7),
    ]


def test_kv_delete_with_instance(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "1"), status="ContinuedAsNew")
    run_turn(provider, "a", sets("l", "2"))
    run_turn(provider, "b", sets("k", "1"))
    provider.delete_instance("a", force=True)
    assert provider.get_kv_tables("a") == Tables()
    assert provider.get_kv_value("b", "k") == "1"


def test_kv_execution_id_tracking(per_turn: DuckDBProvider) -> None:
    run_turn(per_turn, "a", sets("k", "1"), sets("l", "1"), status="ContinuedAsNew")
    run_turn(per_turn, "a", sets("k", "2"))
    store = per_turn.get_kv_tables("a").store
    assert {key: entry.execution_id for key, entry in store.items()} == {"k": 2, "l": 1}


def test_kv_prune_with_execution(per_turn: DuckDBProvider) -> None:
    run_turn(per_turn, "a", sets("k", "1"), sets("l", "1"), status="ContinuedAsNew")
    run_turn(per_turn, "a", sets("k", "2"))
    assert per_turn.prune_executions("a") == (1,)
    assert per_turn.get_all_kv_values("a") == {"k": "2"}


# Spec 000, "Test plan" and its sentences.


def test_kv_delta_client_reads_live_state(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", sets("old", "1"), sets("both", "1"), sets("gone", "1"), status="ContinuedAsNew")
    run_turn(delta, "a", sets("both", "2"), sets("new", "2"), clears("gone"))
    assert delta.get_all_kv_values("a") == {"both": "2", "new": "2", "old": "1"}
    assert [delta.get_kv_value("a", key) for key in ("old", "both", "new", "gone")] == ["1", "2", "2", None]


def test_kv_delta_clear_all_then_set(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", sets("k", "1"), sets("l", "1"), status="ContinuedAsNew")
    run_turn(delta, "a", sets("m", "1"))
    run_turn(delta, "a", clears_all())
    run_turn(delta, "a", sets("k", "2"))
    assert delta.get_all_kv_values("a") == {"k": "2"}
    run_turn(delta, "a", status="Completed")
    assert delta.get_kv_tables("a") == Tables({"k": Entry("2", 0)}, {})


def test_kv_delta_clear_single_with_prior_execution_value(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", sets("k", "1"), status="ContinuedAsNew")
    run_turn(delta, "a", clears("k"), now_ms=70)
    assert delta.get_kv_value("a", "k") is None
    assert delta.get_kv_tables("a") == Tables({"k": Entry("1", 0)}, {"k": Entry(None, 70)})
    assert delta.get_kv_snapshot("a") == {"k": Entry("1", 0)}


def test_kv_delta_merged_on_completion(delta: DuckDBProvider) -> None:
    assert_merged_by(delta, "Completed")


def test_kv_delta_merged_on_can(delta: DuckDBProvider) -> None:
    assert_merged_by(delta, "ContinuedAsNew")


def test_kv_delta_merged_on_failure(delta: DuckDBProvider) -> None:
    assert_merged_by(delta, "Failed")


def assert_merged_by(delta: DuckDBProvider, status: str) -> None:
    """The execution that ends this way leaves everything in `kv_store`, its last turn's writes included."""
    run_turn(delta, "a", sets("k", "1"), sets("gone", "1"), status="ContinuedAsNew")
    run_turn(delta, "a", sets("k", "2"), clears("gone"))
    run_turn(delta, "a", sets("l", "3"), status=status)
    assert delta.get_kv_tables("a") == Tables({"k": Entry("2", 0), "l": Entry("3", 0)}, {})
    assert delta.get_kv_snapshot("a") == {"k": Entry("2", 0), "l": Entry("3", 0)}


def test_while_an_execution_runs_its_writes_are_in_the_delta_only(delta: DuckDBProvider) -> None:
    for number in range(1, 4):
        run_turn(delta, "a", sets("counter", str(number)))
        assert delta.get_kv_tables("a") == Tables({}, {"counter": Entry(str(number), 0)})
        assert delta.get_kv_snapshot("a") == {}
        assert delta.get_kv_value("a", "counter") == str(number)


def test_the_snapshot_of_the_per_turn_model_has_what_this_execution_wrote(per_turn: DuckDBProvider) -> None:
    run_turn(per_turn, "a", sets("counter", "1"))
    assert per_turn.get_kv_snapshot("a") == {"counter": Entry("1", 0, 1)}  # the poison: turn 1 read nothing


def test_a_tombstone_has_the_time_of_its_event(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", sets("k", "1"), sets("l", "1"), status="ContinuedAsNew", now_ms=1)
    run_turn(delta, "a", sets("m", "1"), now_ms=2)
    run_turn(delta, "a", clears_all(), clears("never set"), now_ms=3)
    assert delta.get_kv_tables("a").delta == dict.fromkeys(("k", "l", "m", "never set"), Entry(None, 3))


def test_pruning_leaves_the_keys_of_the_delta_model_alone(delta: DuckDBProvider) -> None:
    run_turn(delta, "a", sets("k", "1"), status="ContinuedAsNew")
    run_turn(delta, "a", sets("l", "2"), status="ContinuedAsNew")
    run_turn(delta, "a", sets("m", "3"))
    assert delta.prune_executions("a") == (1, 2)
    assert delta.get_all_kv_values("a") == {"k": "1", "l": "2", "m": "3"}
    assert list(delta.get_kv_snapshot("a")) == ["k", "l"]


# Both models.


def test_an_instance_sees_no_other_ones_keys(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("k", "a"))
    run_turn(provider, "b", sets("k", "b"))
    run_turn(provider, "b", clears_all())
    assert provider.get_all_kv_values("a") == {"k": "a"}


def test_an_empty_value_is_a_value(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", sets("", ""), status="ContinuedAsNew")
    run_turn(provider, "a", sets("k", ""))
    assert provider.get_all_kv_values("a") == {"": "", "k": ""}
    assert provider.get_kv_value("a", "") == ""


def test_a_large_value_comes_back_whole(provider: DuckDBProvider) -> None:
    large = "é😀x\n" * 100_000
    run_turn(provider, "a", sets("k", large), status="ContinuedAsNew")
    assert provider.get_kv_value("a", "k") == large
    assert provider.get_kv_snapshot("a")["k"].value == large


def test_a_set_without_a_time_reads_as_0(provider: DuckDBProvider) -> None:
    run_turn(provider, "a", ("KeyValueSet", {"key": "k", "value": "1"}), status="ContinuedAsNew", now_ms=9)
    assert provider.get_kv_snapshot("a")["k"].last_updated_at_ms == 0
