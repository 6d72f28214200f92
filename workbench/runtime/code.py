"""User code under the engine's hand: starting it, resuming it, and closing it so that parked code cannot write.

Generators and coroutines are driven by the same three calls. The closing rules are replay-rule §6: the verdict is
taken first, then the context is inert, then the code is closed, on the thread that ran it, never by the collector.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from workbench.runtime.errors import InvalidTask, ReplayStopped, WorkbenchError
from workbench.runtime.journal import Journal

CLOSE_ATTEMPTS = 8
PASS_THROUGH = (ReplayStopped, KeyboardInterrupt)


class Finished(NamedTuple):
    """The code returned, or raised: then `error` is set."""

    value: Any
    error: BaseException | None


Running = Generator[Any, Any, Any]


def start_code(code: Callable[..., Any], context: object, value: Any) -> Running | Finished:
    """Call the orchestration function; a plain function is finished when it returns.

    An async generator cannot be resumed with results and is refused with `InvalidTask`.
    """
    try:
        made = code(context, value)
    except PASS_THROUGH:
        raise
    except BaseException as error:  # noqa: BLE001 (user code may raise anything; it is the instance's failure)
        return Finished(None, error)
    if inspect.isgenerator(made) or inspect.iscoroutine(made):
        return made  # type: ignore[return-value]
    if inspect.isasyncgen(made):
        name = getattr(code, "__qualname__", "the orchestration")
        return Finished(None, InvalidTask(f"{name} is an async generator; await its tasks instead of yielding them"))
    return Finished(made, None)


def call_activity(function: Callable[..., Any], context: object, value: Any) -> Any:
    """Call an activity function."""
    return function(context, value)


def resume(code: Running, failed: bool, value: Any) -> Any | Finished:
    """Send a value (or throw an error) into the code: what it yields next, or how it finished.

    `ReplayStopped` and `KeyboardInterrupt` pass through: neither is a result. All else that is raised is how the code
    finished; whether a `SystemExit` counts is the execution's to say.
    """
    try:
        if failed:
            return code.throw(value if isinstance(value, BaseException) else Exception(value))
        return code.send(value)
    except StopIteration as stop:
        return Finished(stop.value, None)
    except PASS_THROUGH:
        raise
    except BaseException as error:  # noqa: BLE001
        return Finished(None, error)


def error_text(error: BaseException) -> str:
    """A failure as it is recorded: `Type: message`, without traceback; half a character is written as its escape."""
    if isinstance(error, WorkbenchError):
        return type_and_message(error)
    return _storable("".join(traceback.format_exception_only(error)).strip())


def type_and_message(error: BaseException) -> str:
    """An activity's failure as it is recorded: the type's own name and the text, even when it is empty."""
    try:
        text = str(error)
    except Exception as odd:  # noqa: BLE001 (a text that cannot be had must not hide that there was an error)
        text = f"<no text: {type(odd).__name__}>"
    return _storable(f"{type(error).__name__}: {text}")


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


class GuardedGenerators:
    """While user code runs, async generators that it abandons are closed inert instead of with a live context.

    Python remembers with each of them who was to finalise it when it began: that may be turns ago.
    """

    __slots__ = ("_before", "_journal", "_warn")

    def __init__(self, journal: Journal, warn: Callable[[str], None]) -> None:
        self._journal = journal
        self._warn = warn
        self._before = sys.get_asyncgen_hooks()

    def __enter__(self) -> None:
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._finalize)

    def __exit__(self, *_: object) -> None:
        sys.set_asyncgen_hooks(*self._before)

    def _finalize(self, abandoned: Any) -> None:
        journal = self._journal
        state = journal.state
        journal.state = "inert"
        try:
            drive_to_end(abandoned.aclose())
        finally:
            journal.state = state
        name = getattr(abandoned, "__qualname__", "an async generator")
        self._warn(f"{name} was left unfinished; wrap it in contextlib.aclosing")


def drive_to_end(closing: Any) -> None:
    """Run an `aclose()` to its end, giving it nothing to wait for."""
    with contextlib.suppress(BaseException):
        for _ in range(CLOSE_ATTEMPTS):
            closing.send(None)


def close_code(code: Running, journal: Journal) -> list[str]:
    """Close parked code with an inert context; returns what is worth a warning.

    Code that yields again in its cleanup is closed again, up to eight times; what still refuses is kept alive for
    good, so that no finaliser ever runs later. `KeyboardInterrupt` passes through.
    """
    journal.state = "inert"
    warnings: list[str] = []
    with GuardedGenerators(journal, warnings.append):
        for _ in range(CLOSE_ATTEMPTS):
            try:
                code.close()
            except KeyboardInterrupt:
                raise
            except RuntimeError as error:
                if "ignored GeneratorExit" in str(error):
                    continue
                warnings.append(f"cleanup raised {error_text(error)}")
            except BaseException as error:  # noqa: BLE001 (cleanup may raise anything; the verdict stands)
                warnings.append(f"cleanup raised {error_text(error)}")
            if not _is_suspended(code):
                return warnings
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(code))
    warnings.append("the code refuses to be closed: it yields again in its own cleanup")
    return warnings


def _is_suspended(code: Running) -> bool:
    if isinstance(code, types.CoroutineType):
        return code.cr_frame is not None
    return getattr(code, "gi_frame", None) is not None
