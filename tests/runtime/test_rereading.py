"""Values that duroxide 0.2.2 was seen to give the members of `all` and `race` (tests/oracle, `composites`)."""

from __future__ import annotations

import json
import math

import pytest

from workbench.runtime.rereading import reread


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100000000000000000000", 1e20),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -9.223372036854776e18),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 1.8446744073709552e19),
        ("123456789.12345679", 123456789.1234568),
        ("9.49220476670526e+45", 9.492204766705259e45),
        ("0.30000000000000004", 0.30000000000000004),
        ("5e-324", 5e-324),
        ("1e+300", 1e300),
        ("NaN", "NaN"),
        ("[1, -Infinity]", "[1, -Infinity]"),
        ('"\\ud800"', '"\\ud800"'),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("1e999", "1e999"),
        ("0e999", 0.0),
        ("not json", "not json"),
    ],
)
def test_a_members_result_is_what_the_other_library_makes_of_it(text: str, value: object) -> None:
    assert reread(text) == value
    assert type(reread(text)) is type(value)


def test_minus_zero_keeps_its_sign() -> None:
    assert math.copysign(1, reread("-0.0")) == -1


def test_keys_come_sorted_at_every_depth() -> None:
    assert json.dumps(reread('{"b": {"z": 1, "y": 2}, "a": 1, "Z": 0}')) == '{"Z": 0, "a": 1, "b": {"y": 2, "z": 1}}'
