"""Providers in memory: one of each KV model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.runtime.kv import KVModel
from workbench.store import DuckDBProvider


@pytest.fixture(params=["delta", "per-turn"])
def provider(request: pytest.FixtureRequest) -> Iterator[DuckDBProvider]:
    """A provider in memory; the test runs once with each KV model."""
    yield from _provider(request.param)


@pytest.fixture
def delta() -> Iterator[DuckDBProvider]:
    """A provider in memory with the delta model."""
    yield from _provider("delta")


@pytest.fixture
def per_turn() -> Iterator[DuckDBProvider]:
    """A provider in memory with the per-turn model."""
    yield from _provider("per-turn")


def _provider(kv_model: KVModel) -> Iterator[DuckDBProvider]:
    made = DuckDBProvider(kv_model=kv_model)
    yield made
    made.close()
