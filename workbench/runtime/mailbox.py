"""External events and queue messages of one execution: who waits, what is buffered, what is lost.

An event reaches only a subscription that was bound before its batch, else it is lost for good; a subscription that
lost a race holds its place until the end of the turn. A queue is the opposite: messages are buffered, and a dropped
taker takes nothing (replay-rule §1.3).
"""

from __future__ import annotations

from collections import deque
from typing import cast

from workbench.runtime import events as ev
from workbench.runtime.rereading import value_for
from workbench.runtime.tasks import EventTask, QueueTask
from workbench.runtime.waiting import Leaf


class QueuedMessage:
    """A queue message; `taken` once the code has got it."""

    __slots__ = ("data", "name", "taken")

    def __init__(self, name: str, data: str) -> None:
        self.name = name
        self.data = data
        self.taken = False


class Mailbox:
    """The subscriptions of an execution and what arrived for them.

    `subscriptions` (event id to kind and name) and `received` (kind, name, event id) are the rows as an ending
    counts them; `messages` are all queue messages in order of arrival.
    """

    def __init__(self, rereads_members: bool) -> None:
        self._rereads_members = rereads_members
        self.subscriptions: dict[int, tuple[str, str]] = {}
        self.received: list[tuple[str, str, int]] = []
        self.messages: list[QueuedMessage] = []
        self._unbound: list[Leaf] = []
        self._bound: dict[str, list[Leaf]] = {}
        self._takers: dict[str, list[Leaf]] = {}
        self._buffers: dict[str, deque[QueuedMessage]] = {}

    def subscribe(self, leaf: Leaf) -> None:
        """A subscription was made; it counts from the end of this batch on."""
        self._unbound.append(leaf)
        self.subscriptions[leaf.event_id] = (leaf.kind, _name(leaf))

    def forget(self, leaf: Leaf) -> None:
        """A subscription was never really made."""
        self._unbound = [each for each in self._unbound if each is not leaf]
        self.subscriptions.pop(leaf.event_id, None)

    def deliver_event(self, event: ev.Event) -> str | None:
        """Give an external event to the first subscription of its name; the reason if it is lost."""
        name = str(event.name)
        self.received.append(("event", name, event.event_id))
        bound = self._bound.get(name)
        if not bound:
            return f"event {name} arrived, nobody waiting"
        leaf = bound.pop(0)
        if leaf.dropped:
            return f"event {name} arrived, its wait had just lost a race"
        leaf.settle(False, value_for(leaf, str(event.data), self._rereads_members))
        return None

    def deliver_message(self, event: ev.Event) -> None:
        """Buffer a queue message, and give it away if somebody takes it."""
        message = QueuedMessage(str(event.name), str(event.data))
        self.messages.append(message)
        self.received.append(("queue", message.name, event.event_id))
        self._buffers.setdefault(message.name, deque()).append(message)
        self._feed(message.name)

    def bind(self) -> bool:
        """Let the subscriptions made since the last call count, and feed their queues; False if there were none."""
        made = self._unbound
        if not made:
            return False
        self._unbound = []
        for leaf in made:
            waiting = self._bound if leaf.kind == "event" else self._takers
            waiting.setdefault(_name(leaf), []).append(leaf)
        for name in dict.fromkeys(_name(leaf) for leaf in made if leaf.kind == "queue"):
            self._feed(name)
        return True

    def release(self, dropped: list[Leaf]) -> None:
        """At the end of a turn dropped subscriptions lose their place."""
        for name, leaves in self._bound.items():
            self._bound[name] = [leaf for leaf in leaves if not leaf.dropped]
        for leaf in dropped:
            self.subscriptions.pop(leaf.event_id, None)

    def unread(self) -> list[tuple[str, str]]:
        """The queue messages that nobody took, oldest first: what continue-as-new carries over."""
        return [(message.name, message.data) for message in self.messages if not message.taken]

    def _feed(self, name: str) -> None:
        buffer, takers = self._buffers.get(name), self._takers.get(name)
        while buffer and takers:
            leaf = takers.pop(0)
            if leaf.dropped:
                continue
            message = buffer.popleft()
            message.taken = True
            leaf.settle(False, value_for(leaf, message.data, self._rereads_members))


def _name(leaf: Leaf) -> str:
    return cast("EventTask | QueueTask", leaf.task).name
