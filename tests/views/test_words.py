"""How values are put in words: cut, visible, and never able to move what stands around them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.views import characters, layout, words
from workbench.views.long_values import differing_parts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\0b", "a⟨NUL⟩b"),
        ("one\ntwo\tthree\r", "one↵two⇥three⟨CR⟩"),
        ("\x1b[31m", "⟨ESC⟩[31m"),
        ("exe\u202egnp", "exe⟨U+202E⟩gnp"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("é 日本", "é 日本"),
    ],
)
def test_every_character_is_seen(value: str, text: str) -> None:
    assert characters.visible(value) == text


def test_a_long_value_keeps_head_and_tail_with_its_bytes_between() -> None:
    assert words.shown("a" * 32_768 + "é" * 16_384) == f"{'a' * 24}…64 KiB…{'é' * 12}"


@pytest.mark.parametrize("length", [1, 42, 56])
def test_a_value_that_would_not_get_shorter_stands_whole(length: int) -> None:
    assert words.shown("x" * length) == "x" * length


def test_a_right_to_left_value_is_isolated_from_its_neighbours() -> None:
    assert words.shown("שלום") == f"{characters.ISOLATE}שלום{characters.ISOLATE_END}"
    assert layout.width(words.shown("שלום")) == 4


@pytest.mark.parametrize(
    ("value", "text"), [(None, "nothing"), ("", '""'), (" 1", '" 1"'), ("1", "1"), ("two words", "two words")]
)
def test_a_bare_value_has_quotes_only_where_it_needs_them(value: str | None, text: str) -> None:
    assert words.bare(value) == text


def test_a_traceback_is_told_by_what_stands_behind_its_frames() -> None:
    traceback = 'Traceback (most recent call last):\n  File "flow.py", line 1, in flow\n    pay()\nValueError: no\nluck'
    assert words.error_in_words(traceback) == "ValueError: no↵luck"
    assert words.error_in_words("ValueError: no") == "ValueError: no"


def test_the_engine_s_message_loses_times_and_the_middle_of_long_values_only() -> None:
    message = f'kv set mismatch: action=SetKeyValue {{ value: "{"x" * 5000}", last_updated_at_ms: 17 }} vs event=End'
    shortened = f'kv set mismatch: action=SetKeyValue {{ value: "{"x" * 24}…{"x" * 12}", … }} vs event=End'
    assert words.engine_message(message) == shortened


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1, "1 B"), (1024, "1 KiB"), (65_538, "65,538 B")])
def test_sizes_are_exact(count: int, text: str) -> None:
    assert words.sized(count) == text


@given(st.text())
def test_nothing_that_is_shown_breaks_a_line_or_turns_it_around(value: str) -> None:
    shown = words.shown(value)
    assert len(shown.splitlines()) <= 1
    assert not set(shown) & set("\0\x1b\u202a\u202b\u202d\u202e\u2066\u2067")
    assert shown.count(characters.ISOLATE) == shown.count(characters.ISOLATE_END)


@given(st.text(), st.integers(0, 5000))
def test_the_part_around_a_place_is_bounded(value: str, place: int) -> None:
    assert len(words.shown_around(value * 50, place)) < 42 * 10 + 60


def test_columns_are_aligned_by_what_a_terminal_shows() -> None:
    rows = [("key", "value"), ("日本", "1"), ("e\u0301", "2")]
    assert layout.table(rows) == ["key   value", "日本  1", "e\u0301     2"]


def test_a_column_that_is_empty_everywhere_is_left_out() -> None:
    assert layout.table([("a", "", "b"), ("c", "", "d")]) == ["a  b", "c  d"]


def test_a_labelled_row_wraps_under_its_text_and_keeps_its_blanks() -> None:
    lines = layout.labelled("now", "set a =  two  blanks " + "and so on " * 12)
    assert lines[0].startswith("  now       set a =  two  blanks and")
    assert all(line.startswith(" " * 12) for line in lines[1:])
    assert max(map(len, lines)) <= layout.WIDTH


def test_long_parts_of_an_input_that_begin_and_end_alike_are_shown_where_they_differ() -> None:
    one, other = ({"note": "a" * 80 + letter + "b" * 80, "same": 1} for letter in "XY")
    ((path, mine, its),) = differing_parts("input", json.dumps(one), json.dumps(other))
    assert path == "input.note"
    assert "aXb" in mine
    assert "aYb" in its
    assert mine.endswith(" (161 B, from character 67)")
