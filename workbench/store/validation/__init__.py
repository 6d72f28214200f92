"""One suite of rules for every store: KV as both specifications have it, and the contract of `Provider`.

A validation is a plain function that takes an empty provider and raises `AssertionError` where the store is wrong, so
any test runner, or none, can run it:

    for validation in validations("delta"):
        provider = MyProvider()
        validation.validate(provider)
        provider.close()

What a store declares about KV decides the few rules that differ; the id of each says which specification it follows.
Needs assertions, so not `python -O`.
"""

from __future__ import annotations

from workbench.store.validation import (  # noqa: F401 (each adds its rules to the suite)
    administration,
    atomicity,
    deleting,
    delta,
    executions,
    locking,
    queues,
    snapshots,
    values,
    without_kv,
)
from workbench.store.validation.suite import NO_KV, KVSupport, Validation, registered

__all__ = ["NO_KV", "KVSupport", "Validation", "validations"]


def validations(kv: KVSupport) -> tuple[Validation, ...]:
    """The rules for a store with this KV model, or, for `"none"`, without any."""
    return tuple(each for each in registered() if kv in each.holds_for)
