"""Making exactly one turn of one instance, whatever it takes: its messages, an activity, a child, the clock.

The order is DESIGN §5: what is visible; else the oldest pending activity that has a function; else a child that can
move; else the clock. A batch that appends nothing is no turn.
"""

from __future__ import annotations

import time

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime.activities import ActivityRunner
from workbench.runtime.clock import Clock, ManualClock
from workbench.runtime.dispatcher import Dispatcher
from workbench.runtime.errors import InstanceFinished, InstanceWaiting, UnknownActivity, UnknownInstance
from workbench.runtime.provider import History, Provider
from workbench.runtime.registry import Registry
from workbench.runtime.tasks import RESERVED_PREFIX
from workbench.runtime.turn_making import FINISHED, MadeTurn

LONGEST_NAP_S = 0.5


class SingleTurn:
    """Makes turns on the calling thread."""

    def __init__(
        self,
        provider: Provider,
        registry: Registry,
        clock: Clock,
        dispatcher: Dispatcher,
        activities: ActivityRunner,
    ) -> None:
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
        while True:
            made = self._dispatcher.make_turn(instance_id)
            if made is not None:
                return made
            self._check_unfinished(instance_id)
            if self._move(instance_id):
                continue
            raise self._waiting(instance_id)

    def _move(self, instance_id: str) -> bool:
        """Do the one thing that brings the instance nearer to a turn; whether there was one."""
        return self._activities.run_one(instance_id) or self._child_turn(instance_id) or self._pass_time(instance_id)

    def _check_unfinished(self, instance_id: str) -> None:
        info = self._provider.instance(instance_id)
        if info is None:
            if not self._provider.pending_messages(instance_id):
                raise UnknownInstance(instance_id, tuple(each.instance_id for each in self._provider.instances()))
        elif info.status in FINISHED:
            raise InstanceFinished(instance_id, info.status)

    def _child_turn(self, instance_id: str) -> bool:
        for child in self._open_children(instance_id):
            try:
                self.make(child)
            except (InstanceFinished, InstanceWaiting, UnknownActivity, UnknownInstance):
                continue
            return True
        return False

    def _open_children(self, instance_id: str) -> list[str]:
        open_children: dict[int, str] = {}
        for event in self._history(instance_id).events:
            if event.type == ev.CHILD_SCHEDULED:
                name = str(event.instance)
                open_children[event.event_id] = f"{instance_id}::{name}" if name.startswith("sub::") else name
            elif event.type in (ev.CHILD_COMPLETED, ev.CHILD_FAILED):
                open_children.pop(event.source_event_id or 0, None)
        return list(open_children.values())

    def _history(self, instance_id: str) -> History:
        info = self._provider.instance(instance_id)
        return History() if info is None else self._provider.read_history(instance_id, info.execution_id)

    def _pass_time(self, instance_id: str) -> bool:
        due_ms = self._provider.next_visible_ms(instance_id)
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

    def _waiting(self, instance_id: str) -> Exception:
        """Why nothing moves, with the call that would."""
        pending = self._provider.pending_activities(instance_id)
        unregistered = [each for each in pending if not self._has_function(each.name)]
        history = self._history(instance_id)
        open_waits = _open_waits(history)
        if unregistered and not open_waits:
            return self._unknown_activity(unregistered[0])
        waiting = [f"{what}, event {event_id}" for event_id, what, _ in open_waits]
        calls = [call for _, _, call in open_waits]
        for work in unregistered:
            waiting.append(f"activity {work.name}({work.input}), event {work.id}, which has no function here")
            calls.append(f"run.complete({work.id}, result)")
        for child in self._open_children(instance_id):
            waiting.append(f"its child {child!r}")
            calls.append(f"wb.run({child!r}).turn()")
        return InstanceWaiting(instance_id, tuple(waiting), tuple(calls))

    def _unknown_activity(self, work: ms.ActivityExecute) -> UnknownActivity:
        return UnknownActivity(work.name, self._registry.activity_names(), f"run.complete({work.id}, result)")

    def _has_function(self, name: str) -> bool:
        return name.startswith(RESERVED_PREFIX) or name in self._registry.activity_names()


def _open_waits(history: History) -> list[tuple[int, str, str]]:
    """Events and queues that the execution subscribed to and has not got: event id, what, the call that sends it."""
    waits: dict[int, tuple[str, str, str, str]] = {}
    for event in history.events:
        name = str(event.name)
        if event.type == ev.EVENT_SUBSCRIBED:
            waits[event.event_id] = ("event", name, f"event {name!r}", f"run.raise_event({name!r}, data)")
        elif event.type == ev.QUEUE_SUBSCRIBED:
            waits[event.event_id] = ("queue", name, f"a message in {name!r}", f"run.enqueue_event({name!r}, data)")
        elif event.type in (ev.EVENT_SUBSCRIPTION_CANCELLED, ev.QUEUE_SUBSCRIPTION_CANCELLED):
            waits.pop(event.source_event_id or 0, None)
        elif event.type in (ev.EVENT_RECEIVED, ev.QUEUE_MESSAGE):
            kind = "event" if event.type == ev.EVENT_RECEIVED else "queue"
            taken = next((i for i, wait in waits.items() if wait[:2] == (kind, name)), 0)
            waits.pop(taken, None)
    return [(event_id, what, call) for event_id, (_, _, what, call) in waits.items()]
