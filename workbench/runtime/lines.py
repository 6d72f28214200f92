"""Lines of user code: where an operation was made, through every `yield from` and `await`.

While tracing only `(code, f_lasti)` is kept: `f_lineno` is linear in the function's length. Translation comes later.
"""

from __future__ import annotations

import gc
import inspect
import linecache
import sys
import sysconfig
import types
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from workbench.runtime.tasks import Task

RawChain = tuple[tuple[types.CodeType, int], ...]
"""Innermost first: a code object and the instruction it stands at."""


class Line(NamedTuple):
    """A place in user code; `first_line` is where the function's `def` stands."""

    file: str
    function: str
    line: int
    first_line: int


Chain = tuple[Line, ...]
"""The lines that lead to an operation, innermost first."""

_PACKAGE_FOLDER = Path(__file__).parents[1]
_ENGINE_FOLDERS = tuple(str(_PACKAGE_FOLDER / name / "_").removesuffix("_") for name in ("runtime", "recordings"))
"""Recordings are replayed by subclasses of the engine's own classes."""
_LIBRARY_FOLDERS = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_AWAIT_OF_TASK = Task.__await__.__code__


def running_chain(limit: int = 64) -> RawChain:
    """The user frames between here and the engine, for a call that user code has just made."""
    frame = sys._getframe(1)  # noqa: SLF001 (the only way to see the caller)
    found: list[tuple[types.CodeType, int]] = []
    inside = False
    walked: types.FrameType | None = frame
    while walked is not None and len(found) < limit:
        engine = is_engine(walked.f_code.co_filename)
        if engine and inside:
            break
        if not engine:
            inside = True
            found.append((walked.f_code, walked.f_lasti))
        walked = walked.f_back
    return tuple(found)


def parked_chain(code: Any) -> RawChain:
    """The user frames of suspended code, followed inwards through what each frame waits for."""
    return tuple((frame.f_code, frame.f_lasti) for frame in reversed(parked_frames(code)))


def parked_frames(code: Any) -> list[types.FrameType]:
    """The frames of suspended code, the outermost first."""
    found: list[types.FrameType] = []
    seen: set[int] = set()
    current: Any = code
    while current is not None and id(current) not in seen and len(found) < 64:
        seen.add(id(current))
        frame = frame_of(current)
        if frame is not None and frame.f_code is not _AWAIT_OF_TASK:
            found.append(frame)
        current = _delegate(current)
    return found


def frame_of(code: Any) -> types.FrameType | None:
    """The frame of a suspended generator, coroutine or async generator."""
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        frame = getattr(code, name, None)
        if isinstance(frame, types.FrameType):
            return frame
    return None


def _delegate(code: Any) -> Any:
    for name in ("gi_yieldfrom", "cr_await", "ag_await"):
        inner = getattr(code, name, None)
        if inner is not None:
            return inner
    if frame_of(code) is not None:
        return None
    # `async for`, `asynccontextmanager` and hand-written awaitables put an object without a frame in between.
    for inner in gc.get_referents(code):
        if isinstance(inner, types.GeneratorType | types.CoroutineType | types.AsyncGeneratorType):
            return inner
        if isinstance(inner, dict):
            for value in inner.values():
                if isinstance(value, types.GeneratorType | types.CoroutineType | types.AsyncGeneratorType):
                    return value
    return None


def innermost_frame(code: Any) -> types.FrameType | None:
    """The innermost user frame of suspended code, for its locals."""
    frames = reversed(parked_frames(code))
    return next((frame for frame in frames if not is_library(frame.f_code.co_filename)), None)


def raised_frames(error: BaseException) -> list[tuple[types.FrameType, int]]:
    """The frames of user code that an error came through, innermost first, each with where it stood."""
    found: list[tuple[types.FrameType, int]] = []
    traceback = error.__traceback__
    while traceback is not None:
        if not is_engine(traceback.tb_frame.f_code.co_filename):
            found.append((traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found[::-1]


def called_by_collector() -> frozenset[types.CodeType]:
    """What somebody has the garbage collector call: it may run inside any line, and no line has called it."""
    codes = (getattr(each, "__code__", None) for each in gc.callbacks)
    return frozenset(code for code in codes if code is not None)


def translate(raw: RawChain) -> Chain:
    """The lines of a raw chain."""
    return tuple(
        Line(code.co_filename, code.co_name, _line_numbers(code)[lasti // 2], def_line(code)) for code, lasti in raw
    )


@lru_cache(maxsize=4096)
def _line_numbers(code: types.CodeType) -> tuple[int, ...]:
    last = code.co_firstlineno
    numbers = []
    for line, *_ in code.co_positions():
        last = last if line is None else line
        numbers.append(last)
    return tuple(numbers)


@lru_cache(maxsize=4096)
def def_line(code: types.CodeType) -> int:
    """The line of a function's `def`, below its decorators."""
    first = code.co_firstlineno
    if code.co_name.startswith("<"):  # a lambda or a comprehension: it has none
        return first
    lines = linecache.getlines(code.co_filename)
    for number in range(first, min(first + 50, len(lines) + 1)):
        if lines[number - 1].lstrip().startswith((f"def {code.co_name}", f"async def {code.co_name}")):
            return number
    return first


def is_engine(file: str) -> bool:
    """Whether a file belongs to the engine that runs user code."""
    return file.startswith(_ENGINE_FOLDERS)


def is_library(file: str) -> bool:
    """Whether a file belongs to Python or an installed package rather than to the user."""
    return file.startswith(_LIBRARY_FOLDERS) and "ipykernel_" not in file


def user_line(chain: Chain) -> Line | None:
    """The innermost line that is the user's own."""
    return next((line for line in chain if not is_library(line.file)), chain[0] if chain else None)


def is_notebook_file(file: str) -> bool:
    """Whether code of this file was typed rather than saved: a notebook cell, a prompt, an example."""
    return file.startswith("<") or "ipykernel_" in file


def describe_line(line: Line) -> str:
    """A place in words: `counter, line 4`, counted from the `def`; code in files adds `(flow.py:37)`."""
    words = f"{line.function}, line {line.line - line.first_line + 1}"
    if is_notebook_file(line.file):
        return words
    name = line.file.replace("\\", "/").rpartition("/")[2]
    return f"{words} ({name}:{line.line})"


def source_line(file: str, line: int) -> str:
    """The text of one line, without its end; empty when the source is not to be had."""
    return linecache.getline(file, line).rstrip("\n")


def function_source(line: Line) -> list[str]:
    """The lines of the function that a place is in, from its `def`; empty when the source is not to be had."""
    lines = linecache.getlines(line.file)[line.first_line - 1 :]
    return [text.rstrip("\n") for text in inspect.getblock(lines)] if lines else []
