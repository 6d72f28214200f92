"""Work items: the messages that wait in an instance's queue, and the activities that wait for a worker.

Their JSON is duroxide's: externally tagged, `{"TimerFired": {…}}`.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Message(msgspec.Struct, frozen=True):
    """Base of all work items; the class name is the tag."""

    @property
    def target(self) -> str:
        """The instance whose queue it belongs to."""
        raise TypeError(f"{type(self).__name__} has no queue")


class _ToInstance(Message, frozen=True):
    instance: str

    @property
    def target(self) -> str:
        """The instance whose queue it belongs to."""
        return self.instance


class StartOrchestration(_ToInstance, frozen=True):
    """Begin execution 1 of an instance."""

    orchestration: str
    input: str
    version: str | None = None
    parent_instance: str | None = None
    parent_id: int | None = None
    execution_id: int = 1
    parent_execution_id: int | None = None


class ContinueAsNew(_ToInstance, frozen=True):
    """Begin the next execution of an instance.

    `restarts`: the last one has failed, and somebody asked for another; `clears_kv`: with an empty KV store.
    """

    orchestration: str
    input: str
    version: str | None = None
    carry_forward_events: list[tuple[str, str]] = []
    initial_custom_status: str | None = None
    parent_instance: str | None = None
    parent_id: int | None = None
    parent_execution_id: int | None = None
    restarts: bool = False
    clears_kv: bool = False


class ActivityExecute(_ToInstance, frozen=True):
    """Run an activity (worker queue); `id` is the event id of its schedule."""

    execution_id: int
    id: int
    name: str
    input: str
    session_id: str | None = None
    tag: str | None = None


class ActivityCompleted(_ToInstance, frozen=True):
    """An activity returned; `result` is JSON text."""

    execution_id: int
    id: int
    result: str


class ActivityFailed(_ToInstance, frozen=True):
    """An activity raised; `details` is the error object."""

    execution_id: int
    id: int
    details: dict[str, Any]


class TimerFired(_ToInstance, frozen=True):
    """A timer is due; visible from `fire_at_ms` on."""

    execution_id: int
    id: int
    fire_at_ms: int


class ExternalRaised(_ToInstance, frozen=True):
    """An external event; `data` is JSON text."""

    name: str
    data: str


class QueueMessage(_ToInstance, frozen=True):
    """A message for one of the instance's event queues; `data` is JSON text."""

    name: str
    data: str


class CancelInstance(_ToInstance, frozen=True):
    """A request to cancel."""

    reason: str


class _ToParent(Message, frozen=True):
    parent_instance: str
    parent_execution_id: int
    parent_id: int

    @property
    def target(self) -> str:
        """The instance whose queue it belongs to."""
        return self.parent_instance


class SubOrchCompleted(_ToParent, frozen=True):
    """A child completed; `result` is JSON text."""

    result: str


class SubOrchFailed(_ToParent, frozen=True):
    """A child failed; `details` is the error object."""

    details: dict[str, Any]


_CLASSES: dict[str, type[Message]] = {
    cls.__name__: cls
    for cls in (
        StartOrchestration,
        ContinueAsNew,
        ActivityExecute,
        ActivityCompleted,
        ActivityFailed,
        TimerFired,
        ExternalRaised,
        QueueMessage,
        CancelInstance,
        SubOrchCompleted,
        SubOrchFailed,
    )
}
_envelope = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode_message(message: Message) -> str:
    """The work item as JSON text."""
    return msgspec.json.encode({type(message).__name__: message}).decode()


def decode_message(text: str | bytes) -> Message:
    """The work item that JSON text holds; raises `msgspec.DecodeError` for anything else."""
    envelope = _envelope.decode(text)
    if len(envelope) != 1:
        raise msgspec.ValidationError("a work item is an object with one key, its kind")
    tag, body = next(iter(envelope.items()))
    cls = _CLASSES.get(tag)
    if cls is None:
        raise msgspec.ValidationError(f"unknown kind of work item {tag!r}")
    return msgspec.json.decode(body, type=cls)
