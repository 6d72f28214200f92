"""Activities that one worker has claimed together. While they are quick they share a claim and a commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from workbench.runtime import messages as ms
from workbench.runtime.activity_returns import ActivityReturns
from workbench.runtime.errors import WorkbenchError
from workbench.runtime.provider import ActivityClaim

QUICK_MS = 20
"""How long the activities of one claim may hold each other up, ms."""


class ActivityBatch:
    """Hands out claimed activities one by one, and commits their outcomes together.

    After `QUICK_MS` the rest is given back for other workers and what is done is committed, by another thread when
    an activity is still running then: one that blocks holds up neither those that wait behind it nor the outcomes of
    those that came before it.
    """

    def __init__(self, returns: ActivityReturns, claims: Sequence[ActivityClaim]) -> None:
        self._returns = returns
        self._waiting = list(claims)
        self._done: list[tuple[ActivityClaim, ms.Message]] = []
        self._lock = threading.Lock()
        self._ends = time.monotonic() + QUICK_MS / 1000
        self._timer = threading.Timer(QUICK_MS / 1000, self._release_early)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if len(self._waiting) > 1:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._release()

    def next(self) -> ActivityClaim | None:
        """The next activity to run; None when there is none, or the time is over."""
        with self._lock:
            return self._waiting.pop(0) if self._waiting and time.monotonic() < self._ends else None

    def settle(self, claim: ActivityClaim, outcome: ms.Message) -> None:
        """The outcome of one that was handed out."""
        with self._lock:
            self._done.append((claim, outcome))

    def _release(self) -> None:
        """Give back what was not tried, which does not count as a try, and commit what is done."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            done, self._done = self._done, []
            try:
                self._returns.give_back(waiting)
            finally:
                self._returns.complete(done)

    def _release_early(self) -> None:
        with suppress(WorkbenchError):  # nothing is lost: it is written with what comes next
            self._release()
