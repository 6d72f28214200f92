"""Which instances a store knows: those that have begun, and those whose start waits."""

from __future__ import annotations

from tests.store.turns import nudge, run_turn, start
from workbench import DuckDBProvider


def test_an_instance_is_known_from_its_start_on() -> None:
    provider = DuckDBProvider()
    run_turn(provider, "b")
    provider.enqueue([start("a"), nudge("nobody", "x")], 0)
    assert [provider.is_known(name) for name in ("a", "b", "nobody", "nothing")] == [True, True, False, False]
    assert provider.known_instances() == ("b", "a")
