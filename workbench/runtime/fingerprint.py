"""Fingerprints that tell whether code changed: what it does counts, where it stands does not."""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))


def fingerprint(function: Callable[..., Any]) -> str:
    """A short hash of bytecode, constants and names, nested ones too; no file, no line numbers.

    Default arguments and closure values count too: plain values and containers of them as they are now, functions by
    their own code, anything else by its type, since nothing else of it is the same in every process. What a decorator
    or a partial has wrapped counts with it.
    """
    digest = hashlib.sha256()
    _feed_function(digest, function, set())
    return digest.hexdigest()[:12]


def _feed_function(digest: Any, function: Any, seen: set[int]) -> None:
    """Each function once: a recursive one stands in its own closure."""
    while function is not None and id(function) not in seen:
        seen.add(id(function))
        if isinstance(function, functools.partial):
            _feed_values(digest, (*function.args, function.keywords), seen)
            function = function.func
            continue
        called = function if hasattr(function, "__code__") else type(function).__call__
        code = getattr(called, "__code__", None)
        if isinstance(code, types.CodeType):
            _feed_code(digest, code)
            _feed_values(digest, (getattr(called, "__defaults__", None), getattr(called, "__kwdefaults__", None)), seen)
            _feed_values(digest, map(_content, getattr(called, "__closure__", None) or ()), seen)
        else:
            digest.update(repr(getattr(function, "__qualname__", type(function).__qualname__)).encode())
        function = getattr(function, "__wrapped__", None)


def _feed_code(digest: Any, code: types.CodeType) -> None:
    digest.update(code.co_code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _feed_code(digest, constant)
        elif isinstance(constant, frozenset):
            digest.update(repr(sorted(map(repr, constant))).encode())
        else:
            digest.update(repr(constant).encode())
    digest.update(repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount)).encode())


def _content(cell: types.CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was put into it yet
        return ...


def _feed_values(digest: Any, values: Iterable[object], seen: set[int]) -> None:
    for value in values:
        digest.update(f"{type(value).__qualname__}:".encode())
        if type(value) in _PLAIN:
            digest.update(f"{value!r},".encode())
        elif isinstance(value, types.FunctionType | types.MethodType | functools.partial):
            _feed_function(digest, value, seen)
        elif id(value) in seen:
            continue
        elif isinstance(value, Mapping):
            seen.add(id(value))
            _feed_values(digest, (each for item in value.items() for each in item), seen)
        elif isinstance(value, set | frozenset):
            digest.update(repr(sorted(repr(each) for each in value if type(each) in _PLAIN)).encode())
        elif isinstance(value, list | tuple):
            seen.add(id(value))
            _feed_values(digest, value, seen)
            digest.update(b";")
