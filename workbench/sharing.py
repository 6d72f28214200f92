"""One store, registry and clock for all workbenches of this process on one file."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from workbench.runtime import kv
from workbench.runtime.clock import MANUAL_START_MS, Clock, ManualClock
from workbench.runtime.errors import StoreError, StoreOpenWithOtherSettings
from workbench.runtime.interrupts import held_back
from workbench.runtime.limits import Limits
from workbench.runtime.registry import Registry
from workbench.runtime.runtime import Runtime
from workbench.runtime.warm import WarmExecutions
from workbench.store import DuckDBProvider

IN_MEMORY = ":memory:"


class Shared(msgspec.Struct, kw_only=True):
    """What all handles on one file of this process have in common."""

    key: str
    provider: DuckDBProvider
    registry: Registry
    clock: Clock
    limits: Limits
    turn_lock: AbstractContextManager[object]
    warm: bool = False
    parked: WarmExecutions | None = None
    """Executions between turns made by hand; the runtime has its own."""
    handles: int = 0
    runtime: Runtime | None = None


_shared: dict[str, Shared] = {}
_lock = threading.RLock()


def share(
    path: str | Path,
    kv_model: kv.KVModel | None,
    limits: Limits | None,
    clock: Clock | None,
    warm: bool | None,
) -> Shared:
    """What is shared on a path; the first one opens the store.

    Raises `StoreOpenWithOtherSettings` when others opened it with other arguments, and what `DuckDBProvider` does.
    """
    key = IN_MEMORY if str(path) == IN_MEMORY else str(Path(path).resolve())
    with held_back(), _lock:
        state = _shared.get(key)
        if state is None:
            state = _opened(key, DuckDBProvider(path, kv_model), limits, clock, warm)
            if key != IN_MEMORY:
                _shared[key] = state
        else:
            asked = {"kv_model": kv_model, "limits": limits, "clock": clock, "warm": warm}
            _check_same(path, state, asked)
        state.handles += 1
        return state


def _opened(
    key: str, provider: DuckDBProvider, limits: Limits | None, clock: Clock | None, warm: bool | None
) -> Shared:
    return Shared(
        key=key,
        provider=provider,
        registry=Registry(),
        clock=clock or ManualClock(max(MANUAL_START_MS, provider.latest_ms() or 0)),
        limits=limits or Limits(),
        turn_lock=threading.RLock(),
        warm=bool(warm),
        parked=WarmExecutions() if warm and provider.kv_model != kv.PER_TURN else None,
    )


def _check_same(path: str | Path, state: Shared, asked: Mapping[str, object]) -> None:
    for name, here in asked.items():
        there = getattr(state.provider if name == "kv_model" else state, name)
        if here is not None and here != there:
            raise StoreOpenWithOtherSettings(path, name, there, here)


def give_back(state: Shared) -> None:
    """One handle less; the last one ends the workers and releases the file.

    Raises `StoreError`, and the handle stays, when the store is in use where it cannot be interrupted: also inside an
    activity that one of its workers runs.
    """
    with held_back():
        with _lock:
            if state.handles > 1:
                state.handles -= 1
                return
        if state.runtime is not None:
            if state.runtime.is_inside_a_worker():
                raise StoreError(
                    "a workbench cannot be closed by what its own runtime runs; close it when that is over"
                )
            state.runtime.shutdown()  # not under the lock: what the workers run may open another workbench
        with _lock:
            if state.handles == 1:  # nobody has opened it meanwhile
                if state.parked is not None:
                    state.parked.drop()
                state.provider.close()
                _shared.pop(state.key, None)
            state.handles -= 1
