"""What the oracle runs: a case is the source of an orchestration, its input, and what happens to it from outside."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

MESSAGE_KINDS = ("raise_event", "enqueue_event", "cancel_instance")
"""The client calls that an outside script makes."""


class Outside(msgspec.Struct, frozen=True, omit_defaults=True):
    """One client call, made `after_ms` after the instance was started; for a cancel `name` is the reason."""

    after_ms: int
    call: Literal["raise_event", "enqueue_event", "cancel_instance"]
    name: str
    data: Any = None


class Case(msgspec.Struct, frozen=True, omit_defaults=True):
    """An instance to run: `name` is both its id and the name its orchestration is registered by.

    `source` is Python text that defines the generator function `function`.
    """

    name: str
    source: str
    input: Any = None
    outside: tuple[Outside, ...] = ()
    function: str = "program"


def event(after_ms: int, name: str, data: Any = None) -> Outside:
    """Raise an external event."""
    return Outside(after_ms, "raise_event", name, data)


def message(after_ms: int, queue: str, data: Any = None) -> Outside:
    """Enqueue a message."""
    return Outside(after_ms, "enqueue_event", queue, data)


def cancel(after_ms: int, reason: str) -> Outside:
    """Ask the instance to cancel."""
    return Outside(after_ms, "cancel_instance", reason)


def case_of(function: Callable[..., Any], name: str, given: Any, outside: Sequence[Outside]) -> Case:
    """The case that runs a function of a module; the function must import what it needs itself."""
    source = textwrap.dedent(inspect.getsource(function))
    lines = source.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith(("def ", "async def ")))
    return Case(name, "".join(lines[start:]), given, tuple(outside), function.__name__)


@functools.cache
def load(source: str, function: str, filename: str = "<program>") -> Callable[..., Any]:
    """The function that a case's source defines."""
    namespace: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - our own generated source is the test's input
    found: Callable[..., Any] = namespace[function]
    return found
