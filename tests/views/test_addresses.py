"""Turns found by their address, in several executions and among many."""

from __future__ import annotations

import msgspec
import pytest

from tests.views.making import RECORDINGS, counter
from workbench.recordings import open_source
from workbench.runtime.turn import Turn
from workbench.views.addresses import diverged_turn, position_of, turn_at


@pytest.fixture(scope="module")
def turns() -> tuple[Turn, ...]:
    with open_source(RECORDINGS / "P-11_kv_clear_set.db") as source:
        return source.recording("x").replay().turns


def test_every_turn_of_every_execution_is_found(turns: tuple[Turn, ...]) -> None:
    assert {turn.execution_id for turn in turns} >= {1, 2}
    for position, turn in enumerate(turns):
        assert position_of(turns, turn.address) == position
        assert turn_at(turns, turn.address) is turn


def test_one_among_many_is_found(turns: tuple[Turn, ...]) -> None:
    many = [msgspec.structs.replace(turns[0], number=number) for number in range(1, 5_001)]
    assert position_of(many, "1.4711") == 4710


@pytest.mark.parametrize("address", ["", "1", "1.", ".1", "1.0", "0.1", "9.9", "1.99", "1.1.1", "a.b", "1.-1", "1.²"])
def test_what_is_no_address_of_a_turn_finds_nothing(turns: tuple[Turn, ...], address: str) -> None:
    assert position_of(turns, address) is None
    assert turn_at(turns, address) is None


def test_without_turns_nothing_is_found() -> None:
    assert position_of((), "1.1") is None
    assert diverged_turn(()) is None


def test_the_turn_that_diverged_is_the_last_one() -> None:
    run = counter("per-turn")
    run.finish()
    assert diverged_turn(run.turns) is run.turns[-1]
    assert diverged_turn(run.turns[:1]) is None
