"""Setting, reading and clearing keys (spec 001, "Provider Validation Tests" and "KV Materialization")."""

from __future__ import annotations

from workbench.runtime.provider import Provider
from workbench.store.validation.suite import SPEC_001, follows
from workbench.store.validation.turns import (
    CONTINUED,
    NOW_MS,
    claim_one,
    clears,
    clears_all,
    make_turn,
    read,
    sets,
    start,
    turn_of,
)


@follows(SPEC_001)
def kv_set_and_get(provider: Provider) -> None:
    """Provider must store and retrieve KV values."""
    make_turn(provider, "a", sets("k", "1"), sets("other", "2"))
    assert read(provider, "a", "k", "other") == ["1", "2"]


@follows(SPEC_001)
def kv_overwrite(provider: Provider) -> None:
    """Provider must overwrite existing keys, in a later turn and within one."""
    make_turn(provider, "a", sets("k", "1"))
    make_turn(provider, "a", sets("k", "2"))
    assert read(provider, "a", "k") == ["2"]
    make_turn(provider, "a", sets("k", "3"), sets("k", "4"), sets("k", "5"))
    assert read(provider, "a", "k") == ["5"]


@follows(SPEC_001)
def kv_clear(provider: Provider) -> None:
    """Provider must clear all KV entries on `KeyValuesCleared`."""
    make_turn(provider, "a", sets("k", "1"), sets("other", "2"))
    make_turn(provider, "a", clears_all())
    assert read(provider, "a", "k", "other") == [None, None]
    assert provider.get_all_kv_values("a") == {}


@follows(SPEC_001)
def kv_clear_all(provider: Provider) -> None:
    """Clear-all takes the keys of earlier executions, of earlier turns and of this turn."""
    make_turn(provider, "a", sets("earlier execution", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("earlier turn", "2"))
    make_turn(provider, "a", sets("this turn", "3"), clears_all())
    assert provider.get_all_kv_values("a") == {}


@follows(SPEC_001)
def kv_clear_single(provider: Provider) -> None:
    """Provider must clear one key on `KeyValueCleared`, and leave the others."""
    make_turn(provider, "a", sets("k", "1"), sets("kept", "2"))
    make_turn(provider, "a", clears("k"))
    assert read(provider, "a", "k", "kept") == [None, "2"]
    assert provider.get_all_kv_values("a") == {"kept": "2"}


@follows(SPEC_001)
def kv_clear_nonexistent_key(provider: Provider) -> None:
    """Clearing a key that is not there is no error, and shows nowhere."""
    make_turn(provider, "a", sets("kept", "1"), clears("never set"))
    assert provider.get_all_kv_values("a") == {"kept": "1"}
    make_turn(provider, "b", clears_all())
    assert provider.get_all_kv_values("b") == {}


@follows(SPEC_001)
def kv_set_after_clear(provider: Provider) -> None:
    """What is set after a clear in the same turn stays, in the order of the events."""
    make_turn(provider, "a", sets("k", "1"), sets("gone", "1"))
    make_turn(provider, "a", clears_all(), sets("k", "2"))
    assert provider.get_all_kv_values("a") == {"k": "2"}
    make_turn(provider, "a", sets("k", "3"), clears("k"), sets("k", "4"), sets("j", "5"), clears("j"))
    assert provider.get_all_kv_values("a") == {"k": "4"}


@follows(SPEC_001)
def kv_get_nonexistent(provider: Provider) -> None:
    """`get_kv_value` returns None for a key that is not there."""
    make_turn(provider, "a", sets("k", "1"))
    assert read(provider, "a", "not there") == [None]


@follows(SPEC_001)
def kv_get_unknown_instance(provider: Provider) -> None:
    """Reads of an unknown instance are empty, not an error."""
    assert provider.get_kv_value("nobody", "k") is None
    assert provider.get_all_kv_values("nobody") == {}
    assert provider.get_kv_snapshot("nobody") == {}


@follows(SPEC_001)
def kv_empty_value(provider: Provider) -> None:
    """The empty text is a value, not the absence of one; the empty key is a key."""
    make_turn(provider, "a", sets("k", ""), sets("", "of the empty key"))
    assert read(provider, "a", "k", "") == ["", "of the empty key"]


@follows(SPEC_001)
def kv_large_value(provider: Provider) -> None:
    """Values come back whole; limits are the runtime's business, not the store's."""
    large = "é😀\n" * 50_000
    make_turn(provider, "a", sets("k", large))
    assert read(provider, "a", "k") == [large]


@follows(SPEC_001)
def kv_special_chars_in_key(provider: Provider) -> None:
    """Keys are compared exactly: blanks, dots, slashes, quotes, NUL, case, composed and decomposed characters."""
    keys = ["a b", "a.b", "a/b", "a'b", 'a"b', "a%b_", "A", "a", "\u00e9", "e\u0301", "键", "\0", "\n"]
    make_turn(provider, "a", *(sets(key, f"value of {key!r}") for key in keys))
    assert read(provider, "a", *keys) == [f"value of {key!r}" for key in keys]
    assert list(provider.get_all_kv_values("a")) == sorted(keys)


@follows(SPEC_001)
def kv_instance_isolation(provider: Provider) -> None:
    """A key of one instance is none of another's, also when both are written by one commit."""
    provider.enqueue([start("a"), start("b")], NOW_MS)
    turns = [turn_of(claim_one(provider, "a"), sets("k", "a's")), turn_of(claim_one(provider, "b"), sets("k", "b's"))]
    assert provider.commit(turns) == []
    assert (read(provider, "a", "k"), read(provider, "b", "k")) == (["a's"], ["b's"])


@follows(SPEC_001)
def kv_clear_isolation(provider: Provider) -> None:
    """Clearing everything in one instance leaves another alone, in the same commit too."""
    make_turn(provider, "a", sets("k", "1"))
    make_turn(provider, "b", sets("k", "2"))
    make_turn(provider, "a", clears_all())
    assert (read(provider, "a", "k"), read(provider, "b", "k")) == ([None], ["2"])


@follows(SPEC_001)
def kv_get_all_values(provider: Provider) -> None:
    """The bulk read: all keys, of every turn and execution, in key order, without what was cleared."""
    assert provider.get_all_kv_values("a") == {}
    make_turn(provider, "a", sets("c", "1"), sets("gone", "1"), sets("b", "1"), end=CONTINUED)
    make_turn(provider, "a", sets("b", "2"), clears("gone"))
    make_turn(provider, "a", sets("a", "3"), clears("never there"))
    assert list(provider.get_all_kv_values("a").items()) == [("a", "3"), ("b", "2"), ("c", "1")]
