"""Executions kept between turns: a bounded cache. What is kept costs the same at turn 10 and at turn 5,000.

An execution is only used where the store's history still ends where it stands; never with the per-turn model, whose
snapshot changes every turn.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict

import msgspec

from workbench.runtime.errors import DidNotComeBack, UnknownOrchestration
from workbench.runtime.execution import Execution
from workbench.runtime.provider import Claim
from workbench.runtime.registry import Registered, Registry
from workbench.runtime.turn_making import MadeTurn
from workbench.runtime.watchdog import DEADLINE_MS, deadline

DEFAULT_SIZE = 1_000


class Held(msgspec.Struct, frozen=True):
    """A parked execution, the code it runs, and where the history ended when it was parked."""

    execution: Execution
    code: Registered
    last_event_id: int


class WarmExecutions:
    """At most `size` parked executions; the one used longest ago goes first. Safe to use from several workers.

    Cleanup of one that is dropped may take `deadline_ms` (ms; None: for ever) and changes nothing.
    """

    def __init__(self, size: int = DEFAULT_SIZE, deadline_ms: int | None = DEADLINE_MS) -> None:
        self._size = size
        self._deadline_ms = deadline_ms
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Held] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def holds(self, claim: Claim, registry: Registry) -> bool:
        """Whether `take` would give an execution for this claim."""
        with self._lock:
            held = self._held.get(claim.instance_id)
        return held is not None and _fits(held, claim, registry)

    def take(self, claim: Claim, registry: Registry) -> Held | None:
        """The execution for this claim, no longer held; one that does not fit any more is closed and dropped."""
        with self._lock:
            held = self._held.pop(claim.instance_id, None)
        if held is None or _fits(held, claim, registry):
            return held
        self._close(held)
        return None

    def keep(self, made: MadeTurn) -> bool:
        """Hold the execution of a committed turn; False when it cannot go on (the caller closes it)."""
        result = made.result
        if result.ended or result.divergence is not None or result.refused is not None or not result.events:
            return False
        dropped: list[Held] = []
        with self._lock:
            before = self._held.pop(made.claim.instance_id, None)
            self._held[made.claim.instance_id] = Held(made.execution, made.code, result.events[-1].event_id)
            while len(self._held) > self._size:
                dropped.append(self._held.popitem(last=False)[1])
        for held in [*dropped, *([] if before is None else [before])]:
            self._close(held)
        return True

    def drop(self, instance_id: str | None = None) -> None:
        """Close and forget the execution of an instance, or all of them."""
        with self._lock:
            names = list(self._held) if instance_id is None else [instance_id]
            dropped = [held for name in names if (held := self._held.pop(name, None)) is not None]
        for held in dropped:
            self._close(held)

    def _close(self, held: Held) -> None:
        with contextlib.suppress(DidNotComeBack), deadline(self._deadline_ms, held.execution):
            held.execution.close()


def _fits(held: Held, claim: Claim, registry: Registry) -> bool:
    if claim.continued or claim.execution_id != held.execution.execution_id:
        return False
    if claim.last_event_id != held.last_event_id:
        return False
    try:
        return registry.orchestration(held.code.name, held.code.version).function is held.code.function
    except UnknownOrchestration:
        return False
