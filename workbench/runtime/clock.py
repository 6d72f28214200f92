"""Clocks: the only place where the runtime learns what time it is (milliseconds since 1970, UTC)."""

from __future__ import annotations

import threading
import time
from typing import Protocol

MANUAL_START_MS = 1_767_225_600_000
"""Where a `ManualClock` begins unless told: 2026-01-01 00:00 UTC."""


class Clock(Protocol):
    """Anything that tells the time in ms."""

    def now_ms(self) -> int:
        """The current time, ms since 1970."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        """The current time, ms since 1970."""
        return time.time_ns() // 1_000_000

    def __repr__(self) -> str:
        return "SystemClock()"


class ManualClock:
    """A clock that stands still until it is moved; with it every run is reproducible to the millisecond.

    >>> clock = ManualClock(1_000)
    >>> clock.advance(500)
    >>> clock.now_ms()
    1500
    """

    def __init__(self, start_ms: int = MANUAL_START_MS) -> None:
        self._lock = threading.Lock()
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """The current time, ms since 1970."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Move forward by `ms` milliseconds; a negative number raises `ValueError`."""
        if ms < 0:
            raise ValueError(f"a clock only goes forward, not by {ms} ms")
        with self._lock:
            self._now_ms += ms

    def advance_to(self, at_ms: int) -> None:
        """Move forward to `at_ms`; do nothing if that time has passed."""
        with self._lock:
            self._now_ms = max(self._now_ms, at_ms)

    def __repr__(self) -> str:
        return f"ManualClock({self._now_ms})"
