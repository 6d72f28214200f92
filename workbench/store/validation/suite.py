"""What a validation is, which specification it follows, and which stores it holds for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from workbench.runtime.kv import DELTA, PER_TURN
from workbench.runtime.provider import Provider

Validate = Callable[[Provider], None]
KVSupport = Literal["delta", "per-turn", "none"]
"""What a store does about KV: one of the two models, or nothing at all."""
NO_KV: Final = "none"
WITH_KV: Final[tuple[KVSupport, ...]] = (DELTA, PER_TURN)
EVERY_STORE: Final[tuple[KVSupport, ...]] = (DELTA, PER_TURN, NO_KV)

SPEC_000: Final = "spec-000"
"""The delta design, the later one."""
SPEC_001: Final = "spec-001"
"""The first design, and what both designs share."""
CONTRACT: Final = "contract"
"""What the runtime asks of every store, as the methods of `Provider` say it."""


class Validation(NamedTuple):
    """One rule that a store must keep: a function that is given an empty store and raises `AssertionError`."""

    validate: Validate
    follows: str
    holds_for: tuple[KVSupport, ...]

    @property
    def id(self) -> str:
        """Specification and name, e.g. `spec-001-kv_set_and_get`."""
        return f"{self.follows}-{self.validate.__name__}"


_all: list[Validation] = []


def follows(specification: str, holds_for: Iterable[KVSupport] = WITH_KV) -> Callable[[Validate], Validate]:
    """Make a function part of the suite, unchanged: the rule of a specification, for these kinds of store."""

    def add(validate: Validate) -> Validate:
        _all.append(Validation(validate, specification, tuple(holds_for)))
        return validate

    return add


def registered() -> tuple[Validation, ...]:
    """Every validation whose module has been imported, in the order of the modules."""
    return tuple(_all)
