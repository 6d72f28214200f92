"""Payloads are JSON as the SDK makes it and reads it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.runtime import payload
from workbench.runtime.errors import NotJSON, NotStorable

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        *(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            '"',
            "\\",
            "\\u",
            "d800",
            "dc00",
            "\\ud83d",
            "\\ude00",
            "e",
            "E",
            "+",
            "-",
            ".",
        ),
        *("0", "1", "00", "9" * 20, "1e400", "-0", "-0.0", "NaN", "Infinity", "-Infinity", "null", "true", "nul"),
        *(" ", "\t", "\n", "\x0b", "\x00", "\x1f", "\x7f", "\u00a0", "\ufeff", "é", "😀", '"a"', '{"a":1,"a":2}'),
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text()


def as_the_sdk_reads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def same(left: object, right: object) -> bool:
    """Equal in type and value, NaN to NaN, the signs of zeros, the order of keys."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        return (math.isnan(left) and math.isnan(right)) or (left == right and str(left) == str(right))
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@settings(max_examples=1_500, deadline=None)
@given(TEXTS)
@example("123456789012345678901234567890")
@example("18446744073709551616")
@example("-9223372036854775809")
@example("1" * 5_000)
@example("1e400")
@example("-1E-400")
@example("0.1e1")
@example('"\\ud800"')
@example('"\\ud83d\\ude00"')
@example('{"a":1,"b":2,"a":3}')
@example("\ufeff1")
@example("")
def test_any_text_is_read_as_the_sdk_reads_it(text: str) -> None:
    assert same(payload.load(text), as_the_sdk_reads(text))


@settings(max_examples=500, deadline=None)
@given(VALUES)
def test_any_value_is_written_as_the_sdk_writes_it_and_comes_back(value: object) -> None:
    text = payload.dump("a value", value)
    assert text == json.dumps(value)
    assert text.isascii()
    assert same(payload.load(text), json.loads(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": "é"}, '{"b": 1, "a": "\\u00e9"}'),
        (float("nan"), "NaN"),
        (-math.inf, "-Infinity"),
        (1e300, "1e+300"),
        ((1, 2), "[1, 2]"),
        ({None: 1, True: 2}, '{"null": 1, "true": 2}'),
        ("\ud800", '"\\ud800"'),
    ],
)
def test_what_is_written(value: object, text: str) -> None:
    assert payload.dump("a value", value) == text


def itself() -> list[Any]:
    made: list[Any] = [1]
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "set at $ has no JSON form"),
        ({"a": [0, {"b": object()}]}, "object at $.a[1].b has no JSON form"),
        ([b"x"], "bytes at $[0] has no JSON form"),
        ({"a": {(1, 2): 3}}, "the tuple key (1, 2) at $.a has no JSON form"),
        (itself(), "a value that contains itself at $[1] has no JSON form"),
        (1j, "complex at $ has no JSON form"),
    ],
)
def test_a_value_without_json_names_type_and_path(value: object, words: str) -> None:
    with pytest.raises(NotJSON) as caught:
        payload.dump("the result of activity 'Pay'", value)
    assert str(caught.value) == f"the result of activity 'Pay' is stored as JSON, and {words}"
    assert caught.value.path in words


def test_too_deep_a_value_has_no_json_either() -> None:
    with pytest.raises(NotJSON, match="too deep a nesting at"):
        payload.dump("the input", deep())


def test_too_deep_a_text_is_its_own_value() -> None:
    text = "[" * 100_000 + "]" * 100_000
    assert payload.load(text) == text


def test_text_that_is_read_strictly_must_be_json() -> None:
    assert payload.load_strict('{"a": NaN}').keys() == {"a"}
    with pytest.raises(ValueError, match="Expecting value"):
        payload.load_strict("not json")


def test_half_a_character_cannot_be_stored() -> None:
    assert payload.storable("a key", "é😀\0") == "é😀\0"
    with pytest.raises(NotStorable) as caught:
        payload.storable("a key", "ab\udc00")
    assert str(caught.value) == "a key cannot be stored as UTF-8: its character 3 is the lone surrogate U+DC00"
