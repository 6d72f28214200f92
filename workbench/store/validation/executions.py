"""Keys over several executions, and what pruning executions does to them.

Spec 001 removes the keys that a pruned execution was the last to write; spec 000 touches none.
"""

from __future__ import annotations

from workbench.runtime.kv import DELTA, PER_TURN
from workbench.runtime.messages import ContinueAsNew
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import SPEC_000, SPEC_001, follows
from workbench.store.validation.turns import (
    COMPLETED,
    CONTINUED,
    FAILED,
    NOW_MS,
    claim_one,
    clears,
    make_turn,
    read,
    sets,
    snapshot,
    turn_of,
)


@follows(SPEC_001)
def kv_execution_id_tracking(provider: Provider) -> None:
    """Provider must track the last writer per key: the value is its, and so is, in the per-turn model, the key."""
    make_turn(provider, "a", sets("k", "1"), sets("first", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("k", "2"), end=COMPLETED)
    assert read(provider, "a", "k", "first") == ["2", "1"]
    writers = {key: row.execution_id for key, row in provider.get_kv_snapshot("a").items()}
    assert writers == ({"first": 1, "k": 2} if provider.kv_model == PER_TURN else {"first": 0, "k": 0})
    assert provider.prune_executions("a") == (1,)
    assert read(provider, "a", "k") == ["2"]


@follows(SPEC_001)
def kv_cross_execution_overwrite(provider: Provider) -> None:
    """A later execution overwrites what an earlier one left."""
    make_turn(provider, "a", sets("k", "v1"), end=CONTINUED)
    assert read(provider, "a", "k") == ["v1"]
    make_turn(provider, "a", sets("k", "v2"))
    assert read(provider, "a", "k") == ["v2"]
    make_turn(provider, "a", end=COMPLETED)
    assert snapshot(provider, "a") == {"k": "v2"}


@follows(SPEC_001)
def kv_cross_execution_remove_readd(provider: Provider) -> None:
    """Set, cleared and set again by three executions."""
    make_turn(provider, "a", sets("k", "1"), end=CONTINUED)
    make_turn(provider, "a", clears("k"), end=CONTINUED)
    assert read(provider, "a", "k") == [None]
    make_turn(provider, "a", sets("k", "3"), end=COMPLETED)
    assert read(provider, "a", "k") == ["3"]


@follows(SPEC_001, [PER_TURN])
def kv_prune_with_execution(provider: Provider) -> None:
    """Provider must prune KV entries when the execution is pruned that was the last to write them."""
    make_turn(provider, "a", sets("only first", "1"), sets("both", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("both", "2"))
    assert provider.prune_executions("a") == (1,)
    assert provider.get_all_kv_values("a") == {"both": "2"}
    assert snapshot(provider, "a") == {"both": "2"}


@follows(SPEC_001)
def kv_prune_preserves_overwritten(provider: Provider) -> None:
    """A key that a later execution has written survives the pruning of the earlier one."""
    make_turn(provider, "a", sets("k", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("k", "2"), end=CONTINUED)
    make_turn(provider, "a")
    assert provider.prune_executions("a", keep_last=2) == (1,)
    assert read(provider, "a", "k") == ["2"]


@follows(SPEC_000, [DELTA])
def kv_prune_preserves_all_keys(provider: Provider) -> None:
    """Spec 000, "Execution pruning": it never touches `kv_store`, overwritten keys and untouched ones alike."""
    make_turn(provider, "a", sets("overwritten", "1"), sets("untouched", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("overwritten", "2"), end=CONTINUED)
    make_turn(provider, "a")
    assert provider.prune_executions("a") == (1, 2)
    assert provider.get_all_kv_values("a") == {"overwritten": "2", "untouched": "1"}


@follows(SPEC_000, [DELTA])
def kv_delta_prune_untouched_key_survives(provider: Provider) -> None:
    """Three executions, two pruned: the first one's key is still there for clients and for replay."""
    make_turn(provider, "a", sets("first", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("second", "2"), end=CONTINUED)
    make_turn(provider, "a", sets("third", "3"))
    provider.prune_executions("a", keep_last=1)
    assert provider.get_all_kv_values("a") == {"first": "1", "second": "2", "third": "3"}
    assert snapshot(provider, "a") == {"first": "1", "second": "2"}


@follows(SPEC_001)
def kv_prune_current_execution_protected(provider: Provider) -> None:
    """The current execution is never pruned, and so its keys stay."""
    make_turn(provider, "a", sets("k", "1"))
    make_turn(provider, "a", sets("j", "2"), end=COMPLETED)
    assert provider.prune_executions("a", keep_last=1) == ()
    assert provider.get_all_kv_values("a") == {"j": "2", "k": "1"}


@follows(SPEC_000)
def kv_restart_keeps_or_clears_keys(provider: Provider) -> None:
    """A restart keeps the keys that the failed execution left, or begins without any."""
    make_turn(provider, "a", sets("k", "1"), end=FAILED)
    provider.restart(ContinueAsNew("a", "Flow", "null", restarts=True), NOW_MS)
    assert provider.commit([turn_of(claim_one(provider, "a"), end=FAILED)]) == []
    assert read(provider, "a", "k") == ["1"]
    provider.restart(ContinueAsNew("a", "Flow", "null", restarts=True, clears_kv=True), NOW_MS)
    assert read(provider, "a", "k") == [None]
    assert snapshot(provider, "a") == {}
