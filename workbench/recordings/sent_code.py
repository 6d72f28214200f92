"""A function as it is sent to a fresh process: by module where it can be imported there, else by its source text.

A notebook's functions have no module to be imported from. Their text is sent with what it needs: the functions it
calls, the modules and imported names it uses, and plain values as they are now. Values are sent as literals; nothing
is pickled.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from workbench.recordings.modules import load_module
from workbench.recordings.observed_calls import names_of

MAIN = "__main__"


class CannotBeSent(Exception):
    """Why a function cannot be tried in another process."""


class SentCode(msgspec.Struct, frozen=True):
    """What the other process makes the function of: a module (and its file), or a text; and the function's name."""

    function: str
    module: str | None = None
    file: str | None = None
    source: str | None = None


def send(function: Callable[..., Any]) -> SentCode:
    """The function ready to be sent; raises `CannotBeSent` with the reason."""
    if not isinstance(function, types.FunctionType):
        raise CannotBeSent(f"it is a {type(function).__name__}, no function")
    name = function.__qualname__
    module = sys.modules.get(function.__module__)
    if module is not None and function.__module__ != MAIN and _same(getattr(module, name, None), function):
        file = getattr(module, "__file__", None)
        if file is not None or module.__spec__ is not None:
            return SentCode(name, function.__module__, file)
    if function.__closure__:
        raise CannotBeSent(f"{name} uses variables of the function around it")
    return SentCode(function.__name__, source="\n".join(_source_of(function, {})))


def receive(sent: SentCode) -> Callable[..., Any]:
    """The function in the other process; raises whatever its module or its text raises."""
    if sent.module is not None:
        return getattr(_module(sent.module, sent.file), sent.function)  # type: ignore[no-any-return]
    namespace: dict[str, Any] = {"__name__": "sent_code"}
    exec(compile(sent.source or "", "<sent code>", "exec"), namespace)  # noqa: S102 (the user's own function)
    return namespace[sent.function]  # type: ignore[no-any-return]


def _module(name: str, file: str | None) -> types.ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        if file is None or not Path(file).is_file():
            raise
        return load_module(file)


def _same(found: object, function: types.FunctionType) -> bool:
    return getattr(inspect.unwrap(found), "__code__", None) is function.__code__ if callable(found) else False


def _source_of(function: types.FunctionType, done: dict[str, bool]) -> Iterator[str]:
    """The lines of a text that defines the function: first what it uses, then itself without its decorators."""
    done[function.__name__] = True
    try:
        text = textwrap.dedent(inspect.getsource(function))
        node = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError) as error:
        raise CannotBeSent(f"the source of {function.__name__} is not to be had") from error
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        raise CannotBeSent(f"{function.__name__} is no function with a def of its own")
    node.decorator_list = []
    outside = [*names_of(function.__code__), *(each.id for each in ast.walk(node) if isinstance(each, ast.Name))]
    for name in dict.fromkeys(outside):
        if name in function.__globals__ and name not in done:
            done[name] = True
            yield from _definition(name, function.__globals__[name], function, done)
    yield ast.unparse(node)


def _definition(name: str, value: object, user: types.FunctionType, done: dict[str, bool]) -> Iterator[str]:
    if isinstance(value, types.ModuleType):
        yield f"import {value.__name__} as {name}" if "." not in value.__name__ else _import_of(name, value.__name__)
    elif isinstance(value, types.FunctionType) and value.__globals__ is user.__globals__:
        yield from _source_of(value, done)
    elif _is_importable(value):
        yield f"from {value.__module__} import {value.__qualname__} as {name}"  # type: ignore[attr-defined]
    else:
        text = repr(value)
        try:
            same = ast.literal_eval(text) == value
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            same = False
        if not same:
            raise CannotBeSent(f"{user.__name__} uses {name!r}, a {type(value).__name__}, which cannot be sent")
        yield f"{name} = {text}"


def _import_of(name: str, module: str) -> str:
    package, _, last = module.rpartition(".")
    return f"from {package} import {last} as {name}"


def _is_importable(value: object) -> bool:
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", "")
    return module is not None and module.__name__ != MAIN and getattr(module, name, None) is value
