"""A workbench in memory, on each KV model where the model must not matter, with a few activities."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench import Workbench
from workbench.runtime.kv import DELTA, PER_TURN, KVModel


def with_activities(wb: Workbench) -> Workbench:
    """Register what the tests' orchestrations call."""

    @wb.activity("Echo")
    def echo(ctx: object, value: object) -> object:
        return value

    @wb.activity("Fail")
    def fail(ctx: object, text: str) -> None:
        raise ValueError(text)

    return wb


@pytest.fixture
def wb() -> Iterator[Workbench]:
    """A new store in memory, on the delta model."""
    with Workbench() as workbench:
        yield with_activities(workbench)


@pytest.fixture(params=[DELTA, PER_TURN])
def kv_model(request: pytest.FixtureRequest) -> KVModel:
    """Both KV models, one after the other."""
    model: KVModel = request.param
    return model


@pytest.fixture
def either(kv_model: KVModel) -> Iterator[Workbench]:
    """A new store in memory, on each model in turn."""
    with Workbench(kv_model=kv_model) as workbench:
        yield with_activities(workbench)


@pytest.fixture(autouse=True)
def nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Using workbench writes nothing to stderr."""
    yield
    assert capfd.readouterr().err == ""
