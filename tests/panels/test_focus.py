"""The focus: addresses are ids, anything else is refused, and who watches is told once."""

from __future__ import annotations

import pytest
import traitlets

from workbench.panels.focus import Focus


def test_the_address_of_a_turn_has_no_operation() -> None:
    focus = Focus(address="1.2")
    assert (focus.turn, focus.operation) == ("1.2", "")


def test_the_address_of_an_operation_has_its_turn() -> None:
    focus = Focus(address="2.13.1")
    assert (focus.turn, focus.operation) == ("2.13", "2.13.1")


def test_before_there_is_a_turn_the_address_is_empty() -> None:
    assert (Focus().address, Focus().turn, Focus().operation) == ("", "", "")


@pytest.mark.parametrize("wrong", ["1", "1.", "1.2.3.4", "a.b", "1.2 ", "-1.2", "1.٢", "<script>", "1." + "9" * 10])
def test_anything_else_is_refused_and_moves_nothing(wrong: str) -> None:
    focus = Focus(address="1.2")
    with pytest.raises(traitlets.TraitError, match=r"is no address: a turn is 1\.2, an operation of it 1\.2\.3"):
        focus.address = wrong
    assert focus.address == "1.2"


def test_who_watches_is_told_once_when_turn_and_operation_change_together() -> None:
    focus = Focus(address="1.2.1")
    told: list[str] = []
    focus.observe(lambda change: told.append(change["new"]), ["address", "key"])
    focus.address = "1.3.2"
    focus.address = "1.3.2"
    assert told == ["1.3.2"]


def test_a_focus_names_what_it_looks_at() -> None:
    assert repr(Focus(address="1.2.3")) == "Focus('1.2.3')"
    assert repr(Focus(address="1.2", key="counter")) == "Focus('1.2', key='counter')"
