"""Where two long values differ: the paths of JSON, else the part of the text around the first difference."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import msgspec

from workbench.views import words

MOST_PATHS = 3


def differing_parts(name: str, one: str | None, other: str | None) -> list[tuple[str, str, str]]:
    """The name and both sides, in words, of each part that differs: `("input.who", '"me"', '"you"')`."""
    if one is None or other is None:
        return [(name, _quoted(one), _quoted(other))]
    try:
        found = list(_differing_paths(name, _container(one), _container(other)))
    except RecursionError:
        found = []
    if found:
        shown = [(words.shown(path), *_both(mine, its)) for path, mine, its in found[:MOST_PATHS]]
        more = len(found) - MOST_PATHS
        return [*shown, (f"and {more} more", "…", "…")] if more > 0 else shown
    place = _first_difference(one, other)
    return [(name, words.shown_around(one, place), words.shown_around(other, place))]


def _first_difference(one: str, other: str) -> int:
    """The length of the common beginning, by halving: values may be of megabytes."""
    lengths = range(min(len(one), len(other)))
    return bisect_left(lengths, True, key=lambda length: one[: length + 1] != other[: length + 1])


def _quoted(text: str | None) -> str:
    return "none" if text is None else f'"{words.shown(text)}"'


_NOT_THERE = object()


def _part(value: Any) -> str:
    return "not there" if value is _NOT_THERE else words.shown(msgspec.json.encode(value).decode())


def _both(mine: Any, its: Any) -> tuple[str, str]:
    """Both values in words; long ones that would look the same around the place where they differ."""
    shown = _part(mine), _part(its)
    if shown[0] != shown[1]:
        return shown
    one, other = (each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in (mine, its))
    place = _first_difference(one, other)
    return words.shown_around(one, place), words.shown_around(other, place)


def _container(text: str) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _differing_paths(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _differing_paths(f"{path}.{key}", one.get(key, _NOT_THERE), other.get(key, _NOT_THERE))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, (mine, its) in enumerate(zip(one, other, strict=True)):
            yield from _differing_paths(f"{path}[{at}]", mine, its)
    elif one is None and other is None:
        return
    elif one != other or type(one) is not type(other):
        yield path, one, other
