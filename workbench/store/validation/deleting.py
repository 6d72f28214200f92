"""Keys go with their instance (spec 001, "Instance Deletion"; spec 000, `delete_instances_atomic`)."""

from __future__ import annotations

from workbench.runtime.kv import DELTA, Tables
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import SPEC_000, SPEC_001, follows
from workbench.store.validation.turns import COMPLETED, CONTINUED, clears, make_turn, read, sets


@follows(SPEC_001)
def kv_delete_with_instance(provider: Provider) -> None:
    """Provider must delete KV entries when the instance is deleted."""
    make_turn(provider, "a", sets("k", "1"), end=COMPLETED)
    provider.delete_instance("a")
    assert read(provider, "a", "k") == [None]
    assert provider.get_kv_snapshot("a") == {}


@follows(SPEC_001)
def kv_delete_instance_cascades(provider: Provider) -> None:
    """Keys of every execution go, other instances keep theirs, and the id begins anew without any."""
    make_turn(provider, "a", sets("first", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("second", "2"), clears("first"), end=COMPLETED)
    make_turn(provider, "b", sets("k", "1"))
    provider.delete_instance("a")
    assert provider.get_kv_tables("a") == Tables()
    assert read(provider, "b", "k") == ["1"]
    make_turn(provider, "a")
    assert provider.get_all_kv_values("a") == {}


@follows(SPEC_001)
def kv_delete_instance_with_children(provider: Provider) -> None:
    """A child's keys go with its parent."""
    make_turn(provider, "parent", sets("k", "1"), end=COMPLETED)
    make_turn(provider, "child", sets("k", "2"), end=COMPLETED, parent="parent")
    provider.delete_instance("parent")
    assert (read(provider, "parent", "k"), read(provider, "child", "k")) == ([None], [None])


@follows(SPEC_000, [DELTA])
def kv_delta_delete_instance_cascades(provider: Provider) -> None:
    """The rows of an execution that never ended go too, tombstones among them."""
    make_turn(provider, "a", sets("k", "1"), clears("never set"))
    assert provider.get_kv_tables("a").delta != {}
    provider.delete_instance("a", force=True)
    assert provider.get_kv_tables("a") == Tables()
