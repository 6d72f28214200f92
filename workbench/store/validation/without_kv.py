"""A store that knows nothing of KV (spec 001, "Rolling Upgrade Safety"): empty answers, and KV events do no harm."""

from __future__ import annotations

from workbench.runtime.kv import Tables
from workbench.runtime.messages import ContinueAsNew
from workbench.runtime.provider import Provider
from workbench.store.validation.suite import NO_KV, SPEC_001, follows
from workbench.store.validation.turns import CONTINUED, NOW_MS, claim_one, clears, make_turn, sets


@follows(SPEC_001, [NO_KV])
def kv_defaults_are_empty(provider: Provider) -> None:
    """The KV methods have bodies that answer empty."""
    make_turn(provider, "a", sets("k", "1"))
    assert provider.get_kv_value("a", "k") is None
    assert provider.get_kv_snapshot("a") == {}
    assert provider.get_all_kv_values("a") == {}
    assert provider.get_kv_tables("a") == Tables()


@follows(SPEC_001, [NO_KV])
def kv_events_are_ignored(provider: Provider) -> None:
    """KV events are history like any other, and the next execution begins with an empty snapshot."""
    make_turn(provider, "a", sets("k", "1"), clears("j"), end=CONTINUED)
    kinds = [event.type for event in provider.read_history("a", 1).events]
    assert kinds[1:3] == ["KeyValueSet", "KeyValueCleared"]
    provider.enqueue([ContinueAsNew("a", "Flow", "null")], NOW_MS)
    assert dict(provider.load([claim_one(provider, "a")])[0].kv_snapshot) == {}
