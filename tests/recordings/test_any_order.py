"""The message hints at iteration in no fixed order where the two sides of a turn are permutations of each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import programs
from tests.cases.edited import edited
from tests.cases.recorded import recording
from workbench import Recording, Workbench

HINT = "keep the order, over a set with sorted(…): this turn was recorded making the same operations in another order"
NAMES = ["b", "c", "a"]


def writes(ctx: Any, _: object) -> Any:
    for name in NAMES:
        ctx.set_kv_value(name, "1")
        ctx.set_custom_status(name)
    yield ctx.schedule_activity("Work", 1)
    return None


def two_statements(ctx: Any, _: object) -> Any:
    ctx.set_kv_value("a", "1")
    ctx.set_kv_value("b", "1")
    yield ctx.schedule_activity("Work", 1)
    return None


def recorded(code: Any) -> Recording:
    with Workbench() as wb:
        wb.activity("Work")(lambda _, given: given)
        wb.orchestration(code)
        run = wb.start(code)
        run.finish()
        return run.recording()


def hint_of(rec: Recording, code: Any) -> bool:
    divergence = rec.replay(code).divergence
    assert divergence is not None
    return HINT in divergence.to_do


@pytest.mark.parametrize("order", ["sorted(NAMES)", "reversed(NAMES)"])
def test_writes_of_a_loop_in_another_order(order: str) -> None:
    assert hint_of(recorded(writes), edited(writes, "in NAMES", f"in {order}"))


@pytest.mark.parametrize("order", ["sorted(names)", "reversed(names)", "names[1:] + names[:1]"])
def test_p_05_the_members_of_a_fan_out_in_another_order(order: str) -> None:
    code = edited(programs.fan_out, "for name in names]", f"for name in {order}]")
    assert hint_of(recording("P-05"), code)


def test_another_set_of_names_is_no_permutation() -> None:
    assert not hint_of(recorded(writes), edited(writes, "in NAMES", 'in ["d", "b", "c"]'))
    assert not hint_of(recorded(writes), edited(writes, "in NAMES", 'in ["c", "b"]'))


def test_two_statements_that_changed_places_are_no_iteration() -> None:
    swapped = edited(
        two_statements,
        'ctx.set_kv_value("a", "1")\n    ctx.set_kv_value("b", "1")',
        'ctx.set_kv_value("b", "1")\nctx.set_kv_value("a", "1")',
    )
    assert not hint_of(recorded(two_statements), swapped)
