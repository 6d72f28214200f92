"""Claimed activities on their way back to the store: kept until it has taken them, whatever fails meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec

from workbench.runtime import messages as ms
from workbench.runtime.clock import Clock
from workbench.runtime.provider import ActivityClaim, Provider


class GivenBack(msgspec.Struct, frozen=True):
    """Claims to be tried again `delay_ms` later; `keep_attempt` says whether this try counts."""

    claims: Sequence[ActivityClaim]
    delay_ms: int
    keep_attempt: bool


class ActivityReturns:
    """Writes outcomes and gives claims back; what could not be written is written with the next ones.

    A store may fail for a while (a full disk, a file that was moved away and back). The activity has run then, and its
    claim holds for as long as this process lives, so nobody else would ever settle it.
    """

    def __init__(self, provider: Provider, clock: Clock) -> None:
        self._provider = provider
        self._clock = clock
        self._lock = threading.Lock()
        self._done: list[tuple[ActivityClaim, ms.Message]] = []
        self._given_back: list[GivenBack] = []

    def complete(self, done: Sequence[tuple[ActivityClaim, ms.Message]]) -> None:
        """Write the outcomes of activities."""
        with self._lock:
            self._done += done
        self.write()

    def give_back(self, claims: Sequence[ActivityClaim], delay_ms: int = 0, keep_attempt: bool = False) -> None:
        """Unlock activities that have no outcome."""
        if claims:
            with self._lock:
                self._given_back.append(GivenBack(claims, delay_ms, keep_attempt))
        self.write()

    def write(self) -> None:
        """Write all that is waiting; on an error it goes on waiting."""
        with self._lock:
            now_ms = self._clock.now_ms()
            while self._given_back:
                each = self._given_back[0]
                self._provider.abandon_activities(each.claims, now_ms + each.delay_ms, each.keep_attempt)
                self._given_back.pop(0)
            if self._done:
                self._provider.complete_activities(self._done, now_ms)
                self._done.clear()
