"""No test that a specification names is missing."""

from __future__ import annotations

import pytest

from tests.cases.inventory import INVENTORY, LISTS, NamedTest
from tests.cases.known_tests import known_tests


@pytest.mark.parametrize("named", INVENTORY, ids=[f"{each.listed.partition(',')[0]}-{each.name}" for each in INVENTORY])
def test_a_named_test_exists_or_has_a_reason(named: NamedTest) -> None:
    if named.ours is None:
        assert len(named.reason.split()) >= 5
    else:
        assert named.reason == ""
        assert named.ours in known_tests()


@pytest.mark.parametrize("listed", LISTS)
def test_each_list_is_complete_and_names_nothing_twice(listed: str) -> None:
    tests, count = LISTS[listed]
    names = [(each.listed, each.name) for each in tests]
    assert len(names) == len(set(names)) == count


def test_a_test_that_is_not_there_is_missed() -> None:
    assert "tests/specification/replay_engine/test_kv.py::test_kv_get_value_same_turn" in known_tests()
    assert "tests/specification/replay_engine/test_kv.py::test_kv_get_value_some_turn" not in known_tests()
