"""Tasks: what an orchestration yields or awaits.

A task is a description. Nothing happens when it is made; it is scheduled when it is yielded or awaited, each time
anew, also when it stands twice in one `all`. The context makes them; user code never does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Self

from workbench.runtime.errors import InvalidTask
from workbench.runtime.payload import storable

NEW_GUID = "__duroxide_syscall:new_guid"
UTC_NOW = "__duroxide_syscall:utc_now_ms"
GET_KV_VALUE = "__duroxide_syscall:get_kv_value"
SYSTEM_READS = frozenset({NEW_GUID, UTC_NOW})
RESERVED_PREFIX = "__duroxide_syscall:"

Convert = Callable[[Any], Any]


def _text(what: str, value: object) -> str:
    """The text itself; raises `InvalidTask` for anything else, and `NotStorable`."""
    if not isinstance(value, str):
        raise InvalidTask(f"{what} is a text, not {type(value).__name__} {value!r}")
    return storable(what, str.__str__(value))


def _text_or_none(what: str, value: object) -> str | None:
    return None if value is None else _text(what, value)


class Task:
    """Base of everything that may be yielded or awaited."""

    __slots__ = ("convert",)

    def __init__(self, convert: Convert | None = None) -> None:
        self.convert = convert
        """Turns the delivered value into what the code asked for; may raise."""

    def __await__(self) -> Generator[Task, Any, Any]:
        return (yield self)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.describe()}; yield it or await it>"


class ActivityTask(Task):
    """Run an activity; `input` is JSON text."""

    __slots__ = ("input", "name", "session_id", "tag")

    def __init__(
        self,
        name: str,
        input: str,  # noqa: A002
        session_id: str | None = None,
        convert: Convert | None = None,
    ) -> None:
        super().__init__(convert)
        self.name = _text("the name of an activity", name)
        self.input = input
        self.session_id = _text_or_none("a session id", session_id)
        self.tag: str | None = None

    def with_tag(self, tag: str) -> Self:
        """Route it to workers that take this tag; returns the same task."""
        self.tag = _text("a tag", tag)
        return self

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"activity {self.name}({self.input})"


class RetryTask(Task):
    """Run an activity until it succeeds, at most `max_attempts` times; waits are ms."""

    __slots__ = ("activity", "backoff", "max_attempts", "timeout_ms", "total_timeout_ms")

    def __init__(
        self,
        activity: ActivityTask,
        max_attempts: int,
        timeout_ms: int | None,
        total_timeout_ms: int | None,
        backoff: str | None,
    ) -> None:
        super().__init__()
        self.activity = activity
        self.max_attempts = max_attempts
        self.timeout_ms = timeout_ms
        self.total_timeout_ms = total_timeout_ms
        self.backoff = backoff

    def with_tag(self, tag: str) -> Self:
        """Route every attempt to workers that take this tag; returns the same task."""
        self.activity.with_tag(tag)
        return self

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"{self.activity.describe()} with up to {self.max_attempts} attempts"


class TimerTask(Task):
    """Wake up after `delay_ms`."""

    __slots__ = ("delay_ms",)

    def __init__(self, delay_ms: int) -> None:
        super().__init__()
        self.delay_ms = delay_ms

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"timer of {self.delay_ms} ms"


class EventTask(Task):
    """Wait for an external event of this name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = _text("the name of an event", name)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"wait for event {self.name!r}"


class QueueTask(Task):
    """Take the next message of this event queue."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = _text("the name of a queue", name)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"dequeue from {self.name!r}"


class ChildTask(Task):
    """Run a sub-orchestration; without `instance_id` its id is derived from the event id of the schedule."""

    __slots__ = ("input", "instance_id", "name", "version")

    def __init__(self, name: str, input: str, instance_id: str | None = None, version: str | None = None) -> None:  # noqa: A002
        super().__init__()
        self.name = _text("the name of an orchestration", name)
        self.input = input
        self.instance_id = _text_or_none("an instance id", instance_id)
        self.version = _text_or_none("a version", version)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"sub-orchestration {self.name}({self.input})"


class DetachedTask(Task):
    """Start another orchestration and do not wait for it."""

    __slots__ = ("input", "instance_id", "name", "version")

    def __init__(self, name: str, input: str, instance_id: str, version: str | None = None) -> None:  # noqa: A002
        super().__init__()
        self.name = _text("the name of an orchestration", name)
        self.input = input
        self.instance_id = _text("an instance id", instance_id)
        self.version = _text_or_none("a version", version)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"start {self.name}({self.input}) as {self.instance_id!r}"


class ContinueAsNewTask(Task):
    """End this execution and begin the next one with another input."""

    __slots__ = ("input", "version")

    def __init__(self, input: str, version: str | None = None) -> None:  # noqa: A002
        super().__init__()
        self.input = input
        self.version = _text_or_none("a version", version)

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"continue as new with {self.input}"


class AllTask(Task):
    """Wait for all members; the result is a list of `{"ok": value}` or `{"err": text}` in their order."""

    __slots__ = ("tasks", "unwrap")

    def __init__(self, tasks: list[object], unwrap: bool = False) -> None:
        super().__init__()
        self.tasks = tasks
        self.unwrap = unwrap

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"all of {len(self.tasks)} tasks"


class RaceTask(Task):
    """Wait for the first of two members; the result is `{"index": i, "value": value}`."""

    __slots__ = ("tasks",)

    def __init__(self, tasks: list[object]) -> None:
        super().__init__()
        self.tasks = tasks

    def describe(self) -> str:
        """What it asks for, in a few words."""
        return f"race of {len(self.tasks)} tasks"
