"""Payloads: inputs, results, outputs and event data are JSON text, made and read exactly as duroxide's SDK does."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from workbench.runtime.errors import NotJSON, NotStorable, NotText

LONGEST_PATH = 60
_decode = msgspec.json.Decoder().decode


def dump(what: str, value: object) -> str:
    """The JSON text of a value (NaN and Infinity as the bare words that the SDK writes).

    `what` names the value in the error, e.g. `"the result of activity 'Pay'"`. Raises `NotJSON`, naming the type
    and the path of the part that has no JSON form.

    >>> dump("the input", {"a": [1, None]})
    '{"a": [1, null]}'
    """
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        kind, path = _first_unencodable(value, "$", ())
        raise NotJSON(what, kind, path) from None


def load(text: str) -> Any:
    """The value of a payload; a text that is no JSON is its own value, as in the SDK.

    >>> load('{"a": NaN}'), load("not json")
    ({'a': nan}, 'not json')
    """
    try:
        return load_strict(text)
    except (ValueError, RecursionError):
        return text


def load_strict(text: str) -> Any:
    """The value of a JSON text; raises `ValueError` when it is none."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return json.loads(text)


def storable(what: str, text: str) -> str:
    """The text itself; raises `NotText` if it is none, `NotStorable` if half a character in it has no UTF-8 form."""
    if not isinstance(text, str):
        raise NotText(what, text)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotStorable(what, text) from None
    return text


def _first_unencodable(value: object, path: str, above: tuple[int, ...]) -> tuple[str, str]:
    if id(value) in above or len(above) > 900:
        what = "a value that contains itself" if id(value) in above else "too deep a nesting"
        return what, path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}…"
    below = (*above, id(value))
    if isinstance(value, dict):
        for key, item in value.items():
            if key is not None and not isinstance(key, str | int | float | bool):
                return f"the {type(key).__name__} key {key!r}", path
            found = _first_unencodable(item, f"{path}.{key}", below)
            if found[0]:
                return found
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            found = _first_unencodable(item, f"{path}[{index}]", below)
            if found[0]:
                return found
    elif value is not None and not isinstance(value, str | int | float | bool):
        return type(value).__name__, path
    return "", path
