"""The address of a moment, told and read back; pauses; the way from operation to operation and change to change."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from tests.views.making import FLOW, counter, read_modify_write, recorded_once, started, typed
from tests.views.pages import Page
from workbench.runtime.turn import Turn
from workbench.views.addresses import find_address
from workbench.views.idle import idle_in_words
from workbench.views.look import Look
from workbench.views.moments import is_named, moment, split_moment, where
from workbench.views.moves import change_after, change_before, operation_after, operation_before
from workbench.views.strip import strip


@cache
def three() -> tuple[Turn, ...]:
    run = counter("delta")
    for _ in range(3):
        run.turn()
    return run.turns


def test_a_moment_is_told_in_one_line() -> None:
    turns = three()
    assert where(turns, Look("1.3")) == (
        "counter-1@1.3 · turn 3 of execution 1 · woken by activity Noop completed (event 7) · 2 new operations · "
        "counter 2 → 3"
    )
    assert where(turns, Look("1.3", "1.3.1", "counter")) == (
        'counter-1@1.3.1 · turn 3 of execution 1 · operation 1: set counter = "3" · '
        "woken by activity Noop completed (event 7) · 2 new operations · counter 2 → 3 · pinned key counter"
    )
    assert where((), Look()) == "no turn yet"


def test_what_is_inferred_and_what_has_no_code_is_said() -> None:
    turns = read_modify_write().replay().turns
    assert where(turns, Look("1.1")).endswith("n = 1 · turns inferred · view only")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("order-42@2.7", ("order-42", "2.7")),
        ("a@b@2.7.1", ("a@b", "2.7.1")),
        (" 2.7 ", (None, "2.7")),
        ("@1.1", ("", "1.1")),
    ],
)
def test_an_address_is_read_at_its_last_sign(written: str, read: tuple[str | None, str]) -> None:
    assert split_moment(written) == read


@pytest.mark.parametrize("name", ["order-42", "a@b", "nul\u200bwidth", "\u202egnp.exe", "שלום", "x" * 1_000_000, "<b>"])
def test_the_address_that_is_shown_names_the_instance(name: str) -> None:
    turn = msgspec.structs.replace(three()[0], instance_id=name)
    shown, address = split_moment(moment(turn))
    assert address == "1.1"
    assert shown is not None
    assert is_named(name, shown)
    assert is_named(name, name)
    assert not is_named(name, shown + "x")


def test_an_address_that_is_not_there_is_refused_with_those_that_are() -> None:
    turns = three()
    assert find_address(turns, "2") == "1.2"
    assert find_address(turns, "1.2.1") == "1.2.1"
    with pytest.raises(LookupError, match=r"there is no turn '1\.9'; the last ones are 1\.1, 1\.2, 1\.3"):
        find_address(turns, "1.9")
    with pytest.raises(LookupError, match=r"there is no operation '1\.2\.3'; turn 1\.2 made 1\.2\.1, 1\.2\.2"):
        find_address(turns, "1.2.3")


def test_operations_go_on_across_the_borders_of_turns() -> None:
    turns = three()
    there: list[str] = []
    position = 0
    while (at := operation_after(turns, position, there[-1] if there else "")) is not None:
        there.append(at)
        position = int(at.split(".")[1]) - 1
    assert there == ["1.1.1", "1.1.2", "1.2.1", "1.2.2", "1.3.1", "1.3.2"]
    assert operation_before(turns, 2, "1.3.1") == "1.2.2"
    assert operation_before(turns, 2, "") == "1.2.2"
    assert operation_before(turns, 0, "1.1.1") is None
    assert operation_after((), 0, "") is operation_before((), 0, "") is None


def test_a_turn_without_operations_is_passed_over() -> None:
    run = started(FLOW)
    run.turn()
    run.raise_event("proceed", "early")
    run.turn()
    run.turn()
    empty = [turn.number for turn in run.turns if not turn.operations]
    assert empty == [2]
    assert operation_after(run.turns, 0, "1.1.2") == "1.3.1"
    assert operation_before(run.turns, 2, "1.3.1") == "1.1.2"


def test_changes_of_a_key_are_the_turns_after_which_clients_read_another_value() -> None:
    run = started(FLOW)
    run.turn()
    run.turn()
    assert [change_after(run.turns, 0, key) for key in ("a", "b")] == [None, "1.2"]
    assert [change_before(run.turns, 1, key) for key in ("a", "b")] == ["1.1", None]


def test_the_end_of_an_execution_moves_the_keys_and_changes_none() -> None:
    replay = recorded_once(FLOW).replay(typed(FLOW))
    assert replay.turns[-1].status == "Completed"
    assert change_after(replay.turns, 1, "a") is None


def test_a_turn_that_diverged_changes_nothing() -> None:
    run = counter("per-turn")
    run.finish()
    assert change_after(run.turns, 0, "counter") is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (9, ""),
        (10, "⋯ 10 s idle"),
        (7500, "⋯ 2 h 5 min idle"),
        (7200, "⋯ 2 h idle"),
        (90_061, "⋯ 1 d 1 h idle"),
        (86_400 * 4_000, "⋯ 4,000 d idle"),
    ],
)
def test_a_pause_is_told_by_its_two_largest_units(seconds: int, said: str) -> None:
    one, other = three()[:2]  # no time passes between them
    assert idle_in_words(one, other) == ""
    events = tuple(
        msgspec.structs.replace(each, timestamp_ms=each.timestamp_ms + 1000 * seconds) for each in other.events
    )
    later = msgspec.structs.replace(other, events=events)
    assert idle_in_words(one, later) == said
    assert idle_in_words(later, one) == ""
    assert ("idle" in Page(strip((one, later))).elements[0].text) is bool(said)


def test_turns_with_something_to_remark_carry_a_sign() -> None:
    run = started(FLOW)
    run.turn()
    run.raise_event("proceed", "early")
    run.turn()
    label = Page(strip(run.turns)).focusable()[1].attributes["aria-label"]
    assert str(label).endswith("no key changed, with remarks")
    assert "remarks" not in strip(three())
