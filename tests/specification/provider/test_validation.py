"""The suite of `workbench.store.validation` over both KV models and a store without KV."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import workbench.store.validation as suite
from tests.specification.provider.plain import PlainProvider
from tests.specification.running import noop, work_through
from workbench import Limits, ManualClock
from workbench.runtime.client import Client
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.kv import DELTA, PER_TURN
from workbench.runtime.provider import Provider
from workbench.runtime.registry import Registry
from workbench.store import DuckDBProvider
from workbench.store.validation import KVSupport, Validation, validations
from workbench.store.validation.suite import registered

STORES: dict[KVSupport, Callable[[], Provider]] = {
    DELTA: lambda: DuckDBProvider(kv_model=DELTA),
    PER_TURN: lambda: DuckDBProvider(kv_model=PER_TURN),
    "none": PlainProvider,
}


@pytest.mark.parametrize(
    ("kv", "validation"),
    [pytest.param(kv, each, id=f"{kv}-{each.id}") for kv in STORES for each in validations(kv)],
)
def test_validation(kv: KVSupport, validation: Validation) -> None:
    provider = STORES[kv]()
    try:
        validation.validate(provider)
    finally:
        provider.close()


def defined() -> Iterator[tuple[str, str]]:
    """Module and name of every public function of the suite that takes a provider alone."""
    for path in sorted(Path(suite.__file__).parent.glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            if [argument.arg for argument in node.args.args] == ["provider"]:
                yield path.stem, node.name


def test_every_validation_is_in_the_suite_once() -> None:
    assert sorted(f"workbench.store.validation.{module}.{name}" for module, name in defined()) == sorted(
        f"{each.validate.__module__}.{each.validate.__name__}" for each in registered()
    )
    ids = [each.id for each in registered()]
    assert len(ids) == len(set(ids))


def test_every_kind_of_store_is_validated() -> None:
    assert set(STORES) == set(get_args(KVSupport))
    assert all(each.holds_for for each in registered())


def test_a_store_without_kv_runs_orchestrations_that_use_keys() -> None:
    """Spec 001, "Rolling Upgrade Safety": its events are recorded and matched, only nobody else can read the keys."""

    def flow(ctx: Context, first: bool) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("Noop")
        seen = ctx.get_kv_value("k")
        if first:
            yield ctx.continue_as_new(False)
        return seen

    provider, registry, clock = PlainProvider(), Registry(), ManualClock()
    registry.add_orchestration("Flow", flow)
    registry.add_activity("Noop", noop)
    client = Client(provider, clock)
    client.start_orchestration("a", "Flow", True)
    work_through(provider, registry, clock, Limits())
    assert client.get_status("a").output == "1"
    assert client.list_executions("a") == [1, 2]
    assert client.get_kv_value("a", "k") is None
    assert client.get_kv_all_values("a") == {}
