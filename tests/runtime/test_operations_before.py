"""What is counted over the operations of a pass is the same as counting those before each turn one by one."""

from __future__ import annotations

import pytest

from tests.views.making import COUNTER, recorded_once, typed
from workbench.runtime.operations_before import OperationsBefore, counts_of
from workbench.runtime.turn import Turn

KEYS = """\
def keys(ctx, _):
    for n in range(3):
        ctx.set_kv_value(f"key-{n}", str(n))
        yield ctx.all([ctx.schedule_activity("Noop", n), ctx.schedule_activity("Work", n)])
"""


def turns(source: str) -> tuple[Turn, ...]:
    return recorded_once(source).replay(typed(source, f"<counted {len(source)}>")).turns


@pytest.mark.parametrize("source", [KEYS, COUNTER.replace("rounds", "_").replace("range(_)", "range(4)")])
def test_counts_of_a_shared_list_are_those_of_its_beginning(source: str) -> None:
    found = [turn.replayed for turn in turns(source)]
    assert [len(each) for each in found] == sorted(len(each) for each in found)
    for before in found:
        assert isinstance(before, OperationsBefore)
        shared, alone = before.counts(), counts_of(list(before))
        assert shared.numbered == alone.numbered == sum(each.number is not None for each in before)
        assert shared.poisoned == alone.poisoned
        assert {name: steps for name, steps in shared.steps.items() if steps} == alone.steps


def test_a_line_that_sets_another_key_each_time_is_counted_each_time() -> None:
    (steps,) = counts_of(turns(KEYS)[-1].replayed).steps.values()
    assert sorted(steps.values()) == [3, 3, 3]  # the set, and the two activities of the line below it


def test_a_beginning_is_read_like_any_sequence() -> None:
    before = turns(KEYS)[-1].replayed
    every = list(before)
    assert before == every
    assert (before[0], before[-1], before[1:3]) == (every[0], every[-1], every[1:3])
    for outside in (len(every), -len(every) - 1):
        with pytest.raises(IndexError):
            before[outside]
