"""The recorded histories on the first KV design: what reads its own writes back is poisoned, and nothing else is."""

from __future__ import annotations

import pytest

from tests.cases import programs
from tests.cases.edited import Code, line_of
from tests.cases.recorded import recording
from workbench.runtime.divergence import Read
from workbench.runtime.kv import PER_TURN
from workbench.runtime.turn import Turn


def reads(turn: Turn) -> list[Read]:
    return [each.read for each in (*turn.replayed, *turn.operations) if each.read is not None]


def test_p_01_the_counter_diverges_in_turn_2_and_names_the_poisoned_read() -> None:
    replay = recording("P-01").replay(programs.read_modify_write, kv_model=PER_TURN)
    assert replay.verdict == "diverged"
    assert [turn.number for turn in replay.turns] == [1, 2]
    divergence = replay.divergence
    assert divergence is not None
    assert (divergence.kind, divergence.turn, divergence.recorded_turn) == ("changed", 2, 1)
    assert line_of(divergence) == 'ctx.set_kv_value("n", str(n + 1))'
    read = divergence.explaining_read
    assert read is not None
    assert (read.key, read.value, read.origin, read.written_by) == ("n", "1", "snapshot", 2)
    assert 'read n = "1" from the snapshot, but event 2 of this same execution wrote' in divergence.text()
    assert divergence.to_do == ('use the delta model (kv_model="delta"): the same code replays this history there',)


def test_p_01_the_counter_is_the_same_on_the_model_that_recorded_it() -> None:
    replay = recording("P-01").replay(programs.read_modify_write)
    assert (replay.kv_model, replay.verdict) == ("delta", "same")
    assert not any(read.poisoned for turn in replay.turns for read in reads(turn))


def test_p_11_a_poisoned_read_that_changes_only_the_result_is_a_different_outcome() -> None:
    replay = recording("P-11", "x").replay(programs.clear_and_set, kv_model=PER_TURN)
    assert replay.verdict == "different outcome"
    assert replay.outcome_difference is not None
    assert replay.outcome_difference.now_output == '[["2", null], {"a": "2"}]'
    poisoned = {
        turn.address: [(read.key, read.value) for read in reads(turn) if read.poisoned] for turn in replay.turns
    }
    assert poisoned == {"1.1": [], "1.2": [], "2.1": [], "2.2": [("a", "2"), ("b", None)]}
    cleared = next(read for read in reads(replay.turns[-1]) if read.key == "b")
    assert cleared.written_by == 2


def test_p_11_reads_that_were_carried_over_are_healthy() -> None:
    for model in ("delta", PER_TURN):
        first_of_second = recording("P-11", "x").replay(programs.clear_and_set, kv_model=model).turns[2]
        assert first_of_second.address == "2.1"
        carried = [read for read in reads(first_of_second) if read.origin == "snapshot"]
        assert [(read.key, read.value, read.poisoned) for read in carried] == [("a", "1", False), ("b", "1", False)]


@pytest.mark.parametrize(
    ("case", "program"),
    [
        ("P-02", programs.cleanup_in_finally),
        ("P-02b", programs.lease),
        ("P-03", programs.compensation),
        ("P-04", programs.same_task_twice),
        ("P-06", programs.timer_then_activity),
    ],
)
def test_code_that_does_not_read_what_it_wrote_is_the_same_on_both_models(case: str, program: Code) -> None:
    assert recording(case).replay(program, kv_model=PER_TURN).verdict == "same"
