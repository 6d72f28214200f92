"""The store against plain models, over random sequences of what can happen to it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.faults.conftest import Tell, sized
from tests.faults.kv_machine import KVMachine, PerTurnMachine


def run(machine: type[RuleBasedStateMachine], count: int, is_long: bool) -> None:
    """Try so many sequences: the same ones each time, other ones in the long form."""
    chosen = settings(
        max_examples=count,
        stateful_step_count=50 if is_long else 30,
        deadline=None,
        database=None,
        derandomize=not is_long,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink] if is_long else [Phase.generate],
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=chosen)


@sized(5, 1_000)
@pytest.mark.parametrize("machine", [KVMachine, PerTurnMachine])
def test_keys_are_those_of_a_dict_through_every_kind_of_end(
    machine: type[KVMachine], count: int, tell: Tell, request: pytest.FixtureRequest
) -> None:
    machine.sequences = machine.steps = 0
    run(machine, count, bool(request.config.getoption("--long")))
    tell(
        f"sequences of turns, {machine.kv_model} model",
        machine.sequences,
        machine.sequences,
        f"{machine.steps:,} turns",
    )
    assert machine.steps > count
