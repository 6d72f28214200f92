"""Parents and children: who they are, where they stand, and how a click names them."""

from __future__ import annotations

import pytest

from tests.views.making import started
from workbench.run import Run
from workbench.session import Workbench
from workbench.views.markup import instance_address
from workbench.views.relatives import child_at, children, instance_at, parent_of, place_in_parent


@pytest.fixture(scope="module")
def family() -> tuple[Run, Run]:
    """A parent that started a child, another one by name and one that it let go of; and the first child."""
    wb = Workbench()

    @wb.orchestration("Child")
    def child(ctx, n):  # type: ignore[no-untyped-def]
        yield ctx.wait_for_event("never")

    @wb.orchestration("Parent")
    def parent(ctx, n):  # type: ignore[no-untyped-def]
        ctx.set_kv_value("a", "1")
        yield ctx.start_orchestration("Child", "let go", 1)
        one = ctx.schedule_sub_orchestration("Child", 1)
        two = ctx.schedule_sub_orchestration_with_id("Child", "by name", 2)
        yield ctx.all([one, two])

    run = wb.start("Parent", 1, "order-42")
    run.turn()
    for each in ("order-42::sub::4", "let go", "by name"):
        Run(run._desk, each).turn()
    return run, Run(run._desk, "order-42::sub::4")


def test_the_operations_of_a_turn_name_the_instances_that_they_started(family: tuple[Run, Run]) -> None:
    turn = family[0].turns[0]
    assert children(turn) == {3: "let go", 4: "order-42::sub::4", 5: "by name"}
    assert child_at(turn, "1.1.3") == "order-42::sub::4"
    assert child_at(turn, "1.1.1") is None
    assert child_at(turn) is None


def test_one_child_of_a_turn_needs_no_name() -> None:
    run = started("def flow(ctx, n):\n    yield ctx.schedule_sub_orchestration('Other', 1)\n", instance_id="one")
    run.turn()
    assert child_at(run.turns[0]) == "one::sub::2"


def test_a_child_names_its_parent_and_the_operation_that_scheduled_it(family: tuple[Run, Run]) -> None:
    run, child = family
    parent = parent_of(child.turns)
    assert parent is not None
    assert parent.instance_id == "order-42"
    assert place_in_parent(run.turns, parent) == "1.1.3"
    assert place_in_parent((), parent) == ""


def test_who_was_started_from_outside_or_let_go_of_has_no_parent(family: tuple[Run, Run]) -> None:
    assert parent_of(family[0].turns) is None
    assert parent_of(Run(family[0]._desk, "let go").turns) is None
    assert parent_of(()) is None


def test_a_click_finds_only_relatives(family: tuple[Run, Run]) -> None:
    run, child = family
    turn = run.turns[0]
    for each in children(turn).values():
        assert instance_at(instance_address(each), run.turns, turn) == each
    assert instance_at(instance_address("order-42"), child.turns, child.turns[0]) == "order-42"
    assert instance_at(instance_address("order-43"), child.turns, child.turns[0]) is None
