"""The stepper's longer ways: across turns, along a key, to children and parents, by the address of a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.panels.conftest import Live
from tests.panels.reading import buttons, click, current, words
from tests.views.making import COUNTER, RECORDINGS, read_modify_write, started
from tests.views.pages import Page
from workbench.panels.stepper import Stepper
from workbench.recordings import Recording, open_source
from workbench.run import Run
from workbench.runtime.errors import UnknownInstance
from workbench.session import Workbench
from workbench.views.look import BACK
from workbench.views.markup import instance_address, key_address

Open = Callable[..., Live]


@pytest.fixture(scope="module")
def order() -> Run:
    """A parent of three executions; each writes a key, has a child and waits two hours for it."""
    wb = Workbench()

    @wb.orchestration("Payment")
    def payment(ctx, attempt):  # type: ignore[no-untyped-def]
        ctx.set_kv_value("attempt", str(attempt))
        yield ctx.schedule_timer(7_500_000)
        return attempt

    @wb.orchestration("Order")
    def order(ctx, attempt):  # type: ignore[no-untyped-def]
        ctx.get_kv_value("state")
        ctx.set_kv_value("state", f"paying {attempt}")
        yield ctx.schedule_sub_orchestration("Payment", attempt)
        if attempt < 3:
            yield ctx.continue_as_new(attempt + 1)
        return attempt

    run = wb.start("Order", 1, "order-42")
    run.finish()
    return run


@pytest.fixture
def stepper(order: Run) -> Iterator[Stepper]:
    with order.stepper() as opened:
        opened.first()
        yield opened


CHILD = "order-42::sub::3"


# Operations and executions.


def test_the_operation_buttons_cross_the_borders_of_turns_and_executions(stepper: Stepper) -> None:
    seen = []
    while buttons(stepper)["Operation ›"]:
        stepper._bar.next_operation.click()
        seen.append(stepper.focus.address)
    assert seen == ["1.1.1", "1.1.2", "2.1.1", "2.1.2", "3.1.1", "3.1.2"]
    stepper.goto("2.1")
    stepper.previous_operation()
    assert stepper.focus.address == "1.1.2"
    stepper.first()
    assert not buttons(stepper)["‹ Operation"]


def test_no_move_but_next_makes_a_turn(live: Open) -> None:
    at = live(2)
    stepper = at.stepper
    stepper.pin("counter")
    for move in (
        stepper.last,
        stepper.next_operation,
        stepper.next_operation,
        stepper.next_operation,
        stepper.next_change,
        stepper.next_change,
        stepper.previous_operation,
        stepper.where,
    ):
        move()
        assert len(at.run.turns) == 2
    stepper.last()
    stepper.next()
    assert len(at.run.turns) == 3


def test_the_executions_are_a_chain_of_links(stepper: Stepper) -> None:
    assert "order-42@1.1 · execution 1 → 2 → 3 · KV model: delta" in words(stepper)
    stepper._head._receive(stepper._head, {"focus": "2.1"}, [])
    assert current(stepper)[:2] == ["2.1", "2.1"]  # in the chain and in the strip


def test_a_long_chain_is_shortened_around_the_one_that_is_looked_at() -> None:
    run = started(
        "def many(ctx, n):\n    if n < 12:\n        yield ctx.continue_as_new(n + 1)\n    return n\n", given=1
    )
    run.finish()
    with run.stepper() as at:
        at.goto("6.1")
        assert "execution 1 → … → 4 → 5 → 6 → 7 → 8 → … → 12 ·" in words(at)


def test_a_pause_is_folded_and_an_execution_leads_to_the_next(stepper: Stepper) -> None:
    assert words(stepper).count("⋯ 2 h 5 min idle") == 3
    stepper.next()
    assert "goes oncontinued as new with 2, in execution 2" in words(stepper)


# A pinned key.


def test_the_changes_of_a_pinned_key_are_gone_through(stepper: Stepper) -> None:
    assert (buttons(stepper)["‹ Change"], buttons(stepper)["Change ›"]) == (False, False)
    stepper.pin("state")
    assert (buttons(stepper)["‹ Change"], buttons(stepper)["Change ›"]) == (False, True)
    stepper._bar.next_change.click()
    stepper._bar.next_change.click()
    assert stepper.focus.address == "3.1"
    assert (buttons(stepper)["‹ Change"], buttons(stepper)["Change ›"]) == (True, False)
    stepper.next_change()
    assert stepper.focus.address == "3.1"
    stepper.previous_change()
    assert stepper.focus.address == "2.1"
    stepper.unpin()
    with pytest.raises(LookupError, match=r"no key is pinned: click one, or call \.pin\(key\)"):
        stepper.next_change()


def test_what_happened_to_a_pinned_key_is_told_with_links(stepper: Stepper) -> None:
    click(stepper, key_address("state"))
    assert "pinned: state unpin" in Page(f"<p>{stepper._pin_view.html}</p>").elements[0].text
    assert "state: last written in turn 1.1, event 2, test_stepper_moves.py:" in words(stepper)
    assert "next written in turn 2.1, event 2" in words(stepper)
    assert "read in between by turn 2.1" in words(stepper)
    click(stepper, "2.1.1")
    assert stepper.focus.key == "state"
    stepper._pin_view._receive(stepper._pin_view, {"focus": key_address("state")}, [])
    assert stepper.focus.key is None
    assert "no key pinned" in stepper._pin_view.html


def test_a_key_may_be_pinned_before_it_is_written(live: Open) -> None:
    at = live(0)
    at.stepper.pin("counter")
    at.stepper.next()
    assert 'counter: last written in turn 1.1, event 2, line 4: set to "1"' in words(at.stepper)


def test_who_read_a_key_is_not_known_without_code() -> None:
    with read_modify_write().stepper() as at:
        at.pin("n")
        assert "who read it is not recorded: that takes the code" in words(at)


# Children and parents.


def test_a_child_opens_where_it_was_scheduled_and_back_leads_there_again(stepper: Stepper) -> None:
    stepper.goto("1.1.2")
    stepper.pin("state")
    assert f"new · {CHILD} · completed in turn 2" in words(stepper)
    click(stepper, instance_address(CHILD))
    assert stepper.where().startswith(f"{CHILD}@1.2 · turn 2 of execution 1 · woken by timer fired (event 4)")
    assert "child of order-42 · ← back to order-42@1.1.2" in words(stepper)
    stepper._head._receive(stepper._head, {"focus": BACK}, [])
    assert (stepper.focus.address, stepper.focus.key) == ("1.1.2", "state")
    assert "← back" not in words(stepper)
    with pytest.raises(LookupError, match="nothing to go back to"):
        stepper.back()


def test_a_child_is_opened_by_name_by_its_operation_or_as_the_only_one(stepper: Stepper) -> None:
    for given in (None, CHILD):
        stepper.open_child(given)
        assert stepper.turns[0].instance_id == CHILD
        stepper.back()
    stepper.goto("1.1.1")
    with pytest.raises(LookupError, match=r"operation 1\.1\.1 does not name one child"):
        stepper.open_child()


def test_the_parent_opens_at_the_operation_that_scheduled_the_child(order: Run) -> None:
    with Run(order._desk, "order-42::sub::2_3").stepper() as at:
        click(at, instance_address("order-42"))
        assert at.where().startswith(
            "order-42@2.1.2 · turn 1 of execution 2 · operation 2: sub-orchestration Payment(2)"
        )
        assert "← back to order-42::sub::2_3@1.2" in words(at)
        at.open_child()
        at.open_parent()  # where one came from: no chain of visits that grows
        at.back()
        with pytest.raises(LookupError, match="nothing to go back to"):
            at.back()
    with order.stepper() as at, pytest.raises(LookupError, match="'order-42' has no parent"):
        at.open_parent()


def test_a_child_that_has_not_run_yet_can_be_run_from_here() -> None:
    wb = Workbench()
    wb.orchestration("Child")(lambda ctx, n: n)
    wb.orchestration("Parent")(_parent)
    run = wb.start("Parent", 1, "p")
    run.turn()
    with run.stepper() as at:
        at.open_child()
        assert "run the next turn to see the first one · ← back to p@1.1" in words(at)
        at.next()
        assert at.turns[-1].status == "Completed"
        at.back()
        assert [turn.address for turn in at.turns] == ["1.1"]
        at.next()
        assert at.turns[-1].status == "Completed"


def _parent(ctx, n):  # type: ignore[no-untyped-def]
    return (yield ctx.schedule_sub_orchestration("Child", n))


def test_an_instance_that_is_not_there_is_named_and_nothing_moves(stepper: Stepper) -> None:
    before = stepper.static_html()
    with pytest.raises(UnknownInstance, match="there is no instance 'nobody'"):
        stepper.open_child("nobody")
    with pytest.raises(LookupError, match=r"there is no turn '1\.9'"):
        stepper.goto(f"{CHILD}@1.9")
    assert stepper.static_html() == before


def test_a_recording_alone_reaches_no_other_instance() -> None:
    with read_modify_write().replay().stepper() as at:
        at.goto("a@1.1")
        turns = at.turns
    message = r"'b' is another instance, and only 'a' is to be had here"
    with Stepper(lambda: turns) as alone, pytest.raises(LookupError, match=message):
        alone.goto("b@1.1")


# Addresses.


def test_where_is_an_address_that_goto_takes(stepper: Stepper) -> None:
    for turn in (*stepper.turns,):
        stepper.goto(f"order-42@{turn.address}")
        said = stepper.where()
        stepper.first()
        stepper.goto(said.partition(" · ")[0])
        assert stepper.where() == said


def test_the_box_follows_the_address_of_another_instance(stepper: Stepper) -> None:
    stepper._bar.number.set_state({"value": f"{CHILD}@1.1"})
    assert stepper.error is None
    assert (stepper.turns[0].instance_id, stepper._bar.number.value) == (CHILD, "1")
    stepper._bar.number.set_state({"value": "order-42@3.1.2"})
    assert stepper.where().startswith("order-42@3.1.2 · ")
    stepper._bar.number.set_state({"value": "nobody@1.1"})
    assert stepper.error is not None
    assert stepper.error.startswith("there is no instance 'nobody'")


def test_the_address_stands_in_the_panel_as_text(stepper: Stepper) -> None:
    stepper.goto("2.1.1")
    spans = Page(stepper.static_html()).all("span")
    [address] = [each.text for each in spans if "workbench-address" in str(each.attributes.get("class"))]
    assert address == "order-42@2.1.1"


def test_marks_say_what_is_inferred_and_what_has_no_code() -> None:
    with open_source(RECORDINGS / "P-01_rmw.db") as source, source.recording("a").stepper() as at:
        spans = Page(at.static_html()).all("span")
        marks = [each.text for each in spans if each.attributes.get("class") == "workbench-mark"]
        assert marks == ["turns inferred from the history", "view only: no code was given"]


def test_an_event_that_nobody_waited_for_is_told_and_marked() -> None:
    run = started(COUNTER, given=2)
    run.turn()
    run.raise_event("early", 1)
    run.turn()
    with run.stepper() as at:
        assert "warningsevent early arrived, nobody waiting" in words(at)
        assert ", with remarks" in at._strip.html


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a parent and its child."""
    path = tmp_path_factory.mktemp("family") / "store.duckdb"
    with Workbench(path) as wb:
        wb.orchestration("Child")(lambda ctx, n: n)
        wb.orchestration("Parent")(_parent)
        wb.start("Parent", 1, "p").finish()
    return path


def test_in_a_file_children_and_parents_are_reached_without_code_where_there_is_none(stored: Path) -> None:
    with open_source(stored) as source, source.recording("p").replay(_parent).stepper() as at:
        at.first()
        at.open_child()
        assert at.where().startswith("p::sub::2@1.1 · turn 1 of execution 1 · begins with the start of Child (event 1)")
        assert "view only" in words(at)
        at.open_parent()
        assert at.where().startswith("p@1.1 · turn 1 of execution 1 · woken by the start of Parent (event 1)")
        with pytest.raises(UnknownInstance):
            at.goto("nobody@1.1")


def test_where_the_other_instances_are_makes_no_recording_another_one(stored: Path) -> None:
    with open_source(stored) as source:
        recording = source.recording("p")
    assert Recording.from_json(recording.to_json()) == recording
