"""A deadline for user code, outside the pure engine: code that does not come back is stopped (replay-rule §6, 8).

One thread, started by the first deadline, looks at whoever is overdue; a turn that ends in time costs it nothing.
On Python 3.11 an exception is put into the thread, again and again, since code may catch it: what gets through is a
loop with two catch-alls around one another, or one around a blocking call. From 3.12 on `sys.monitoring` raises at
every line and gets through to all. Neither ends a call that blocks inside C: it is stopped when it returns.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import sys
import threading
import time
import types
from typing import TYPE_CHECKING, Any, Final

from workbench.runtime.errors import DidNotComeBack
from workbench.runtime.interrupts import ENGINE_FOLDER, ORCHESTRATION_DOORS
from workbench.runtime.lines import RawChain, called_by_collector, describe_line, translate, user_line

if TYPE_CHECKING:
    from workbench.runtime.execution import Execution

DEADLINE_MS: Final = 10_000
"""How long user code may take for one turn (and what is replayed on the way to it), ms."""
_AGAIN_S = 0.0005
_LATER_S = 0.01


class Overdue(BaseException):
    """Raised inside user code that is past its deadline; callers of `deadline` see `DidNotComeBack`."""


def deadline(ms: int | None, execution: Execution) -> contextlib.AbstractContextManager[None]:
    """Around `advance` and `close`: stop the code of `execution` when it takes longer than `ms` milliseconds.

    Raises `DidNotComeBack` on the way out, whatever the code did about being stopped; the execution is then of no
    use and its turn must be discarded. `None` switches it off, and so does a debugger.
    """
    if ms is None or _is_debugged():
        return contextlib.nullcontext()
    return _Section(ms, execution)


def _is_debugged() -> bool:
    if sys.version_info >= (3, 12) and sys.monitoring.get_tool(sys.monitoring.DEBUGGER_ID) is not None:
        return True
    return sys.gettrace() is not None


class _Section:
    """One thread between `advance` and its return."""

    __slots__ = ("due", "execution", "left", "ms", "outer", "seen_at", "stopped", "thread")

    def __init__(self, ms: int, execution: Execution) -> None:
        self.ms = ms
        self.execution = execution
        self.thread = threading.get_ident()
        self.due = 0.0
        self.outer: _Section | None = None
        self.stopped = False
        self.left = False
        self.seen_at: RawChain = ()

    def __enter__(self) -> None:
        self.due = time.monotonic() + self.ms / 1000
        _watch.add(self)

    def __exit__(self, *_: object) -> None:
        while True:
            try:
                _watch.remove(self)
                break
            except Overdue:  # it was under way when the code came back after all
                continue
        if self.stopped:
            journal = self.execution.journal
            line = user_line(translate(self.seen_at))
            where = None if line is None else describe_line(line)
            raise DidNotComeBack(journal.instance_id, journal.being_made, self.ms, where) from None

    def look(self, now: float) -> None:
        """Stop the code if the deadline has passed and user code is what the thread is in (watching thread).

        The first time only the garbage collector is paused: an exception inside a finaliser that it runs would be
        printed and lost.
        """
        if now < self.due:
            return
        chain = _user_frames(sys._current_frames().get(self.thread))  # noqa: SLF001 (the only way to see it)
        if chain and self.seen_at:
            self.stopped = True
            self.due = now + _AGAIN_S
            _stop(self.thread)
            return
        self.due = now + _LATER_S
        if chain:
            self.seen_at = chain
            _collector.pause()


def _user_frames(frame: types.FrameType | None) -> RawChain:
    """The frames of user code that a thread is in, innermost first.

    None when it is in none, is being debugged, or is just then in what somebody has the garbage collector call: what
    is raised in there is printed and lost.
    """
    found: list[tuple[types.CodeType, int]] = []
    collectors = called_by_collector()
    while frame is not None and frame.f_code not in ORCHESTRATION_DOORS:
        if frame.f_trace is not None or frame.f_code in collectors:
            return ()
        if not frame.f_code.co_filename.startswith(ENGINE_FOLDER):
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return () if frame is None else tuple(found)


class _Collector:
    """The garbage collector, paused while some thread is being stopped."""

    def __init__(self) -> None:
        self._pauses = 0
        self._was_enabled = False

    def pause(self) -> None:
        if self._pauses == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._pauses += 1

    def resume(self) -> None:
        self._pauses -= 1
        if self._pauses == 0 and self._was_enabled:
            gc.enable()


class _Watch:
    """The thread that watches, and whom."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sections: dict[int, _Section] = {}
        self._next_look = math.inf
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, section: _Section) -> None:
        with self._lock:
            section.outer = self._sections.get(section.thread)
            self._sections[section.thread] = section
            is_next = section.due < self._next_look
        if is_next:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="workbench-watchdog", daemon=True)
                self._thread.start()
            self._wake.set()

    def remove(self, section: _Section) -> None:
        with self._lock:
            if section.outer is None:
                self._sections.pop(section.thread, None)
            else:
                self._sections[section.thread] = section.outer
            if section.stopped:
                _let_go(section.thread)
            if section.seen_at and not section.left:
                section.left = True
                _collector.resume()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._wake.clear()
                now = time.monotonic()
                for section in self._sections.values():
                    section.look(now)
                self._next_look = min((each.due for each in self._sections.values()), default=math.inf)
                sleep_s = None if self._next_look == math.inf else max(0.0, self._next_look - now)
            self._wake.wait(sleep_s)


_collector = _Collector()
_watch = _Watch()


if sys.version_info >= (3, 12):
    _TOOL = 4  # one of the two numbers that sys.monitoring has for tools of no fixed kind
    _EVENTS = sys.monitoring.events
    _KINDS = (_EVENTS.LINE, _EVENTS.JUMP, _EVENTS.PY_START, _EVENTS.PY_RESUME, _EVENTS.CALL)
    _stopped: set[int] = set()

    def _raise_overdue(*_: Any) -> None:
        if threading.get_ident() in _stopped and _user_frames(sys._getframe(1)):  # noqa: SLF001
            raise Overdue

    def _stop(thread: int) -> None:
        """Raise at every line, jump and call of user code in this thread, until `_let_go`."""
        if not _stopped:
            sys.monitoring.use_tool_id(_TOOL, "workbench watchdog")
            for kind in _KINDS:
                sys.monitoring.register_callback(_TOOL, kind, _raise_overdue)
            sys.monitoring.set_events(_TOOL, sum(_KINDS))
        _stopped.add(thread)

    def _let_go(thread: int) -> None:
        _stopped.discard(thread)
        if not _stopped:
            sys.monitoring.set_events(_TOOL, 0)
            sys.monitoring.free_tool_id(_TOOL)

else:

    def _stop(thread: int) -> None:
        """Raise at the next instruction of this thread; code that catches it is stopped again."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overdue))

    def _let_go(thread: int) -> None:
        """Let what is still under way to this thread come out here (called by the thread itself).

        Taking it back instead would leave this Python looking for it at every step, and hanging under a debugger.
        """
        try:
            _stop(thread)
            while True:
                pass
        except Overdue:
            return
