"""Calls that make code impure, seen while it runs: clocks, chance, the environment, files; and state that it leaves.

Nothing is replaced: Python is asked to report calls while the code runs. What a library calls is told by the name of
the library's function that the user's own line called.
"""

from __future__ import annotations

import builtins
import datetime
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

from workbench.runtime.lines import Line, called_by_collector, describe_line, is_engine, is_library, translate

Hazard = Literal["clock", "chance", "environment", "state", "set order", "unknown"]

_CLOCKS = (
    *(getattr(time, name) for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")),
    *(getattr(time, name) for name in ("perf_counter_ns", "process_time", "localtime", "gmtime", "ctime")),
    datetime.datetime.now,
    datetime.datetime.utcnow,
    datetime.datetime.today,
    datetime.date.today,
)
_CHANCES = (random.random, random.getrandbits, os.urandom)
_ENVIRONMENT = (builtins.open, builtins.input, os.getpid, os.getcwd, os.listdir, os.stat)
_BUILT_IN: Final[dict[Any, Hazard]] = {
    **dict.fromkeys(_CLOCKS, "clock"),
    **dict.fromkeys(_CHANCES, "chance"),
    **dict.fromkeys(_ENVIRONMENT, "environment"),
}
_WRITTEN_IN_PYTHON: Final[dict[types.CodeType, Hazard]] = {type(os.environ).__getitem__.__code__: "environment"}
_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_CONTAINERS = (list, dict, set, frozenset, tuple, bytearray)
_LONGEST = 60


class Call(NamedTuple):
    """A call that gives something else each time, and the user's line that led to it."""

    hazard: Hazard
    name: str
    line: Line


class Watch:
    """Collects such calls of this thread while it is entered; nothing when a profiler is at work already."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._watches = False

    def __enter__(self) -> Watch:
        self._watches = sys.getprofile() is None
        if self._watches:
            sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        if self._watches:
            sys.setprofile(None)

    def _see(self, frame: types.FrameType, what: str, called: Any) -> None:
        if what == "c_call":
            hazard = _BUILT_IN.get(called) if isinstance(called, types.BuiltinFunctionType) else None
        elif what == "call":
            hazard = _WRITTEN_IN_PYTHON.get(frame.f_code)
        else:
            return
        if hazard is not None:
            self._keep(hazard, frame, called if what == "c_call" else None)

    def _keep(self, hazard: Hazard, frame: types.FrameType | None, called: Any) -> None:
        name = "" if called is None else _name_of(called)
        collectors = called_by_collector()
        while frame is not None and not is_engine(frame.f_code.co_filename):
            code = frame.f_code
            if code in collectors:
                return
            if not is_library(code.co_filename) and not code.co_filename.startswith("<frozen "):
                call = Call(hazard, name, translate(((code, frame.f_lasti),))[0])
                if call not in self.calls:
                    self.calls.append(call)
                return
            name = _name_of_frame(frame)
            frame = frame.f_back


def _name_of(called: Any) -> str:
    owner = called.__self__
    module = called.__module__ or (owner.__module__ if isinstance(owner, type) else type(owner).__module__)
    module = {"builtins": "", "posix": "os", "nt": "os", "_random": "random", "io": "", "_io": ""}.get(module, module)
    name = called.__name__ if isinstance(owner, random.Random) else called.__qualname__
    return f"{module}.{name}" if module else name


def _name_of_frame(frame: types.FrameType) -> str:
    if frame.f_code in _WRITTEN_IN_PYTHON or frame.f_globals.get("__name__") in ("_collections_abc", "collections.abc"):
        return "os.environ"
    return f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"


def call_in_words(call: Call) -> str:
    """`time.time() on clock, line 2`."""
    name = call.name if call.name == "os.environ" else f"{call.name}()"
    return f"{name} on {describe_line(call.line)}"


def state_of(code: Callable[..., Any]) -> dict[str, str]:
    """What outlives a call of the function, as texts: defaults, closure values, and globals that it names.

    Functions of the same namespace that it calls are looked into as well. Only plain values and containers.
    """
    return {label: _as_text(value) for label, value in _state(code, set()) if type(value) in (*_PLAIN, *_CONTAINERS)}


def _state(function: Any, seen: set[int]) -> Iterator[tuple[str, object]]:
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or id(code) in seen:
        return
    seen.add(id(code))
    name = function.__name__
    arguments = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    named = [*zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)]
    for argument, value in [*named, *(function.__kwdefaults__ or {}).items()]:
        yield f"the default {argument!r} of {name}", value
    for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # nothing was put into it yet
            continue
        yield from _inside(f"the variable {variable!r} around {name}", value, seen)
    for used in names_of(code):
        if used in function.__globals__:
            value = function.__globals__[used]
            if getattr(value, "__globals__", function.__globals__) is function.__globals__:
                yield from _inside(f"the global {used!r}", value, seen)


def _inside(label: str, value: object, seen: set[int]) -> Iterator[tuple[str, object]]:
    if isinstance(value, types.FunctionType):
        yield from _state(value, seen)
    else:
        yield label, value


def names_of(code: types.CodeType) -> list[str]:
    """The global names and attributes that code uses, nested functions too, each once."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= dict.fromkeys(names_of(constant))
    return list(found)


def _as_text(value: object) -> str:
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 (an element's repr may raise anything)
        return f"<no repr: {type(error).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters, hash {hash(text)})"
