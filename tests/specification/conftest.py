"""Workbenches in memory, one of each KV model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.specification.running import echo, noop
from workbench import Limits, Workbench
from workbench.runtime.kv import DELTA, PER_TURN, KVModel


@pytest.fixture(params=[DELTA, PER_TURN])
def wb(request: pytest.FixtureRequest) -> Iterator[Workbench]:
    """A workbench; the test runs once with each KV model, and behaves the same."""
    yield from _workbench(request.param)


@pytest.fixture
def delta() -> Iterator[Workbench]:
    """A workbench with the delta model, where spec 000 decides."""
    yield from _workbench(DELTA)


@pytest.fixture
def per_turn() -> Iterator[Workbench]:
    """A workbench with the per-turn model, where spec 001 decides."""
    yield from _workbench(PER_TURN)


def _workbench(kv_model: KVModel) -> Iterator[Workbench]:
    with Workbench(kv_model=kv_model, limits=Limits()) as made:
        made.registry.add_activity("Noop", noop)
        made.registry.add_activity("Echo", echo)
        yield made
