"""Code as it is typed into a cell, and the same code changed, so that a test can say which line was touched."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping
from itertools import count
from types import FunctionType
from typing import Any

from workbench.runtime.divergence import Divergence
from workbench.runtime.lines import source_line, user_line

Code = Callable[..., Any]
_cells = count(1)


def typed(source: str, names: Mapping[str, Any] | None = None) -> Code:
    """The last function of this source, as if it had been typed into a cell; `names` are what it may use."""
    source = textwrap.dedent(source).lstrip("\n")
    cell = f"<cell {next(_cells)}>"
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    namespace: dict[str, Any] = dict(names or {})
    exec(compile(source, cell, "exec"), namespace)  # noqa: S102 - our own source is the test's input
    functions = [each for each in namespace.values() if isinstance(each, FunctionType)]
    return next(each for each in reversed(functions) if each.__code__.co_filename == cell)


def edited(function: Code, before: str, after: str) -> Code:
    """The function with one stretch of its text replaced; further lines of `after` are indented as the first is."""
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(before) == 1, f"{before!r} is {source.count(before)} times in {function.__name__}"
    line = source[source.rfind("\n", 0, source.index(before)) + 1 :]
    indent = line[: len(line) - len(line.lstrip())]
    return typed(source.replace(before, after.replace("\n", f"\n{indent}")), function.__globals__)


def fresh(function: Code) -> Code:
    """The function as if its cell had just been run: with new defaults, and no state from earlier calls."""
    return typed(inspect.getsource(function), function.__globals__)


def line_of(divergence: Divergence) -> str:
    """The source of the line that the divergence points at, without its indentation."""
    line = user_line(divergence.chain)
    return "" if line is None else source_line(line.file, line.line).strip()
