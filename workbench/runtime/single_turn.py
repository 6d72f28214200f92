"""Making exactly one turn of one instance, whatever it takes: its messages, an activity, a child, the clock.

The order is DESIGN §5: what is visible; else the oldest pending activity that has a function; else a child that can
move; else the clock. A batch that appends nothing is no turn.
"""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Container
from contextlib import AbstractContextManager

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.answers import answered_operations
from workbench.runtime.clock import Clock, ManualClock
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import (
    InstanceFinished,
    InstanceWaiting,
    TurnInsideItself,
    UnknownActivity,
    UnknownInstance,
    UnknownOrchestration,
)
from workbench.runtime.interrupts import is_inside_a_turn
from workbench.runtime.provider import History, Provider
from workbench.runtime.registry import Registry
from workbench.runtime.scheduling import child_instance_id
from workbench.runtime.tasks import RESERVED_PREFIX
from workbench.runtime.turn_making import MadeTurn
from workbench.runtime.turn_result import FINISHED
from workbench.runtime.turns import recorded_turns

LONGEST_NAP_S = 0.5


class SingleTurn:
    """Makes turns on the calling thread.

    One at a time, under `lock`, which all who make turns by hand on one store share: a button is pressed while a cell
    still runs an activity, and without it each would find the other's work locked and say that nothing moves.
    """

    def __init__(
        self,
        provider: Provider,
        registry: Registry,
        clock: Clock,
        dispatcher: Dispatcher,
        activities: ActivityRunner,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self._lock = threading.RLock() if lock is None else lock
        self._provider = provider
        self._registry = registry
        self._clock = clock
        self._dispatcher = dispatcher
        self._activities = activities

    def make(self, instance_id: str) -> MadeTurn:
        """Make one turn of the instance.

        Raises `InstanceFinished`, `InstanceWaiting` (it says what would move it), `UnknownActivity` when all that is
        pending is an activity without a function, `UnknownOrchestration`, `UnknownInstance`.
        """
        if not is_inside_a_turn() and self._is_making(instance_id):
            raise TurnInsideItself(instance_id)
        with self._lock:
            return self._make(instance_id)

    def _is_making(self, instance_id: str) -> bool:
        """Whether this thread is in the middle of making a turn of it, and an activity asks for another one."""
        frame: types.FrameType | None = sys._getframe(2)  # noqa: SLF001 (above `make`)
        while frame is not None:
            if frame.f_code is SingleTurn.make.__code__:
                outer = frame.f_locals
                if outer["self"]._lock is self._lock and outer["instance_id"] == instance_id:  # noqa: SLF001
                    return True
            frame = frame.f_back
        return False

    def _make(self, instance_id: str) -> MadeTurn:
        while True:
            made = self._dispatcher.make_turn(instance_id)
            if made is not None:
                return made
            self._check_unfinished(instance_id)
            stuck: dict[str, UnknownOrchestration] = {}
            if self._move(instance_id, stuck) or self._pass_time(instance_id, stuck):
                continue
            raise next(iter(stuck.values()), None) or self._waiting(instance_id)

    def _move(self, instance_id: str, stuck: dict[str, UnknownOrchestration]) -> bool:
        """Do the one thing that brings the instance nearer to a turn and takes no time; whether there was one.

        Children whose code is not registered are added to `stuck`.
        """
        if self._activities.run_one(instance_id):
            return True
        return any(self._move_child(child, stuck) for child in self._open_children(instance_id))

    def _move_child(self, child: str, stuck: dict[str, UnknownOrchestration]) -> bool:
        try:
            made = self._dispatcher.make_turn(child)
        except UnknownOrchestration as error:
            stuck[child] = error
            return False
        return made is not None or self._move(child, stuck)

    def _check_unfinished(self, instance_id: str) -> None:
        info = self._provider.instance(instance_id)
        if info is None:
            if not self._provider.is_known(instance_id):
                raise UnknownInstance(instance_id, self._provider.known_instances())
        elif info.status in FINISHED:
            raise InstanceFinished(instance_id, info.status)

    def _open_children(self, instance_id: str) -> list[str]:
        open_children: dict[int, str] = {}
        for event in self._history(instance_id).events:
            if event.type == ev.CHILD_SCHEDULED:
                open_children[event.event_id] = child_instance_id(instance_id, str(event.instance))
            elif event.type in (ev.CHILD_COMPLETED, ev.CHILD_FAILED):
                open_children.pop(event.source_event_id or 0, None)
        return list(open_children.values())

    def _history(self, instance_id: str) -> History:
        info = self._provider.instance(instance_id)
        return History() if info is None else self._provider.read_history(instance_id, info.execution_id)

    def _pass_time(self, instance_id: str, stuck: Container[str]) -> bool:
        due_ms = min(self._due_times(instance_id, stuck), default=None)
        if due_ms is None:
            return False
        if isinstance(self._clock, ManualClock):
            self._clock.advance_to(due_ms)
            return True
        while (left_ms := due_ms - self._clock.now_ms()) > 0:
            if self._provider.wait(min(left_ms / 1000, LONGEST_NAP_S)):
                break
        if left_ms > 0:
            time.sleep(0)
        return True

    def _due_times(self, instance_id: str, stuck: Container[str]) -> list[int]:
        """When something becomes visible to the instance or to what it started, ms."""
        own = self._provider.next_visible_ms(instance_id)
        children = (child for child in self._open_children(instance_id) if child not in stuck)
        below = [due for child in children for due in self._due_times(child, stuck)]
        return below if own is None else [own, *below]

    def _waiting(self, instance_id: str) -> Exception:
        """Why nothing moves, with the call that would."""
        waits = self._waits(instance_id, "run")
        unregistered = [each for each in self._provider.pending_activities(instance_id) if not self._can_run(each)]
        if unregistered and len(waits) == len(unregistered):
            work = unregistered[0]
            return UnknownActivity(work.name, self._registry.activity_names(), f"run.complete({work.id}, result)")
        return InstanceWaiting(instance_id, tuple(what for what, _ in waits), tuple(call for _, call in waits))

    def _waits(self, instance_id: str, run: str) -> list[tuple[str, str]]:
        """What the instance and its children wait for, with the call that gives it; `run` is how the run is got."""
        waits = [
            (f"{what} (event {event_id})", f"{run}.{call}") for event_id, what, call in self._open_waits(instance_id)
        ]
        for work in self._provider.pending_activities(instance_id):
            if not self._can_run(work):
                what = f"activity {work.name}({work.input}) (event {work.id}, no function is registered for it)"
                waits.append((what, f"{run}.complete({work.id}, result)"))
        for child in self._open_children(instance_id):
            waits += [
                (f"{what} of its child {child!r}", call) for what, call in self._waits(child, f"wb.run({child!r})")
            ]
        return waits

    def _open_waits(self, instance_id: str) -> list[tuple[int, str, str]]:
        return _open_waits(self._history(instance_id))

    def _can_run(self, work: ms.ActivityExecute) -> bool:
        return work.name.startswith(RESERVED_PREFIX) or work.name in self._registry.activity_names()


def _open_waits(history: History) -> list[tuple[int, str, str]]:
    """Events and queues that the execution subscribed to and has not got: event id, what, the call that sends it."""
    turns = recorded_turns(history)
    over = set(answered_operations(turns).values())
    over |= {event.source_event_id or 0 for turn in turns for event in turn.breadcrumbs}
    waits = []
    for event in (record.event for turn in turns for record in turn.operations if record.event_id not in over):
        name = str(event.name)
        if event.type == ev.EVENT_SUBSCRIBED:
            waits.append((event.event_id, f"event {name!r}", f"raise_event({name!r}, data)"))
        elif event.type == ev.QUEUE_SUBSCRIBED:
            waits.append((event.event_id, f"a message in queue {name!r}", f"enqueue_event({name!r}, data)"))
    return waits
