"""When an interrupt (Ctrl-C, the kernel's stop button) may strike, so that it is about the cell and nothing else.

Python raises `KeyboardInterrupt` in the main thread between any two instructions: also between a commit and the line
that notes it, or with a lock half taken. Sections of the engine hold it back. Under `only_in_code` it strikes at once
in user code, and then whatever that code does about it, what was under way does not count (P-19). An interrupt that
came at any other moment is raised when the section is over. Other threads are never interrupted: to them all of this
is nothing.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, Final, Self

from workbench.runtime import code, trace

ENGINE_FOLDER: Final = __file__.rpartition("interrupts.py")[0]
DOORS: Final = frozenset(
    door.__code__
    for door in (
        code.start_code,
        code.resume,
        code.close_code,
        code.drive_to_end,
        code.error_text,
        code.call_activity,
        trace.locals_as_text,
    )
)
"""Where the engine calls user code: what is below one of these on the stack may be stopped at any instruction."""


ORCHESTRATION_DOORS: Final = DOORS - {code.call_activity.__code__}
"""Those below which an orchestration's code runs; an activity has no deadline and may write to the store."""


def is_inside_a_turn() -> bool:
    """Whether an orchestration's code is what calls, on this thread; not when an activity stands in between."""
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 (what is on the stack needs no book-keeping)
    while frame is not None and frame.f_code not in DOORS:
        frame = frame.f_back
    return frame is not None and frame.f_code in ORCHESTRATION_DOORS


def held_back() -> Section:
    """A section that no interrupt strikes: it is raised when the section is over, or the one around it."""
    return Section(only_in_code=False)


def only_in_code() -> Section:
    """A section in which an interrupt strikes user code only; `check` says afterwards whether it did."""
    return Section(only_in_code=True)


def check() -> None:
    """Raise `KeyboardInterrupt` if user code of this `only_in_code` section was interrupted and has swallowed it."""
    if _state.noted and is_main_thread():
        raise KeyboardInterrupt


class Section:
    """What `held_back` and `only_in_code` return; to be entered once."""

    __slots__ = ("_active", "_before", "_kept", "_only_in_code")

    def __init__(self, only_in_code: bool) -> None:
        self._only_in_code = only_in_code
        self._active = False
        self._before: Callable[..., Any] | None = None
        self._kept = (False, False, False, False)

    def __enter__(self) -> Self:
        if not is_main_thread():
            return self
        before = signal.getsignal(signal.SIGINT)
        if before is not _handler:
            if not callable(before):  # interrupts are ignored here, or end the process
                return self
            _state.shut, _state.once, _state.only_in_code, _state.noted = True, False, False, False
            _state.before = before
            signal.signal(signal.SIGINT, _handler)  # from here on nothing strikes, until `shut` is taken back
            self._before = before
            self._kept = (False, False, False, False)
        else:
            self._kept = (_state.shut, _state.once, _state.only_in_code, _state.noted)
        self._active = True
        if self._only_in_code:
            _state.noted = False
            _state.only_in_code = True
            _state.shut = self._kept[0]
        else:
            _state.shut = True
        return self

    def __exit__(self, *_: object) -> None:
        if not self._active:
            return
        _state.shut = True
        if self._before is not None:
            pending, _state.pending, _state.noted = _state.pending, False, False
            if signal.getsignal(signal.SIGINT) is _handler:
                signal.signal(signal.SIGINT, self._before)
            if pending:
                self._before(signal.SIGINT, sys._getframe())  # noqa: SLF001 (what a handler is given)
            return
        _state.shut, _state.once, _state.only_in_code, _state.noted = self._kept
        if _state.pending:
            _handler(signal.SIGINT, sys._getframe())  # noqa: SLF001

    def open(self) -> None:
        """Until `shut`, let one interrupt through where the section around this one would; what follows is held."""
        if self._active:
            _state.once = True
            _state.shut = self._kept[0]
            if _state.pending:
                _handler(signal.SIGINT, sys._getframe())  # noqa: SLF001

    def shut(self) -> None:
        """Hold interrupts back again."""
        if self._active:
            _state.shut = True


class _State:
    """What the handler goes by; only the main thread reads and writes it."""

    shut = False
    once = False
    only_in_code = False
    pending = False
    noted = False
    before: Callable[..., Any] = staticmethod(signal.default_int_handler)


_state = _State()


def _handler(number: int, frame: types.FrameType | None) -> None:
    if _state.shut or (_state.only_in_code and not _in_user_code(frame)):
        _state.pending = True
        return
    _state.pending = False
    try:
        _state.before(number, frame)
    except BaseException:
        _state.noted = True
        _state.shut = _state.once  # what is put right now must not be struck by a second one
        raise


def _in_user_code(frame: types.FrameType | None) -> bool:
    is_user = False
    while frame is not None and frame.f_code not in DOORS:
        name = frame.f_code.co_filename
        is_user = is_user or not (name.startswith(ENGINE_FOLDER) or name == contextlib.__file__)
        frame = frame.f_back
    return frame is not None and is_user


def is_main_thread() -> bool:
    """Whether this is the thread that Python interrupts."""
    return threading.get_ident() == threading.main_thread().ident
