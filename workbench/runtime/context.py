"""What orchestration code may call. Same names, arguments and JSON as duroxide's SDK, plus typed KV and more.

Calls that return a task schedule nothing until the task is yielded (or awaited). The others act at once: a KV or
status write is compared with the history, or recorded, at the call. It is one class, as code that is written for the
SDK finds every name on it.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from workbench.runtime import events as ev
from workbench.runtime import payload
from workbench.runtime.actions import Action
from workbench.runtime.arguments import converter_to, decode_kv, input_text, stored_text, whole_number
from workbench.runtime.errors import InvalidTask
from workbench.runtime.journal import Journal
from workbench.runtime.key_values import FROM_SNAPSHOT, KeyValues
from workbench.runtime.tasks import (
    GET_KV_VALUE,
    NEW_GUID,
    UTC_NOW,
    ActivityTask,
    AllTask,
    ChildTask,
    ContinueAsNewTask,
    DetachedTask,
    EventTask,
    QueueTask,
    RaceTask,
    RetryTask,
    Task,
    TimerTask,
)

T = TypeVar("T")
_Task = TypeVar("_Task", bound=Task)
_CLEAR_ALL = Action((ev.KV_ALL_CLEARED,))
LONGEST_DELAY_MS = 2**53
"""Far beyond any clock, and still a number that every store and every JSON reader takes."""


class OrchestrationContext:
    """Passed to an orchestration function as its first argument; usable only inside its turn."""

    def __init__(
        self,
        journal: Journal,
        key_values: KeyValues,
        orchestration_name: str,
        orchestration_version: str,
        custom_status: str | None,
    ) -> None:
        self.instance_id = journal.instance_id
        self.execution_id = journal.execution_id
        self.orchestration_name = orchestration_name
        self.orchestration_version = orchestration_version
        self._journal = journal
        self._kv = key_values
        self._status = custom_status
        self._unscheduled: dict[int, Task] = {}

    @property
    def is_replaying(self) -> bool:
        """Whether the turn that runs now has been made before."""
        return self._journal.is_replaying

    def _made(self, task: _Task) -> _Task:
        if self._journal.enter():
            self._unscheduled[id(task)] = task
        return task

    # Activities.

    def schedule_activity(self, name: str, input: object = None, session_id: str | None = None) -> ActivityTask:  # noqa: A002
        """Run an activity; yields its result, or raises `Exception` with its error text.

        `input` is any JSON value; activities with one `session_id` run on one worker. Chain `.with_tag("gpu")` to
        route it.
        """
        return self._made(ActivityTask(name, payload.dump(f"the input of activity {name!r}", input), session_id))

    def schedule_activity_on_session(self, name: str, input: object, session_id: str) -> ActivityTask:  # noqa: A002
        """Run an activity on the worker that owns the session."""
        return self.schedule_activity(name, input, session_id)

    def schedule_activity_typed(self, name: str, input: object = None, result_type: type | None = None) -> ActivityTask:  # noqa: A002
        """Run an activity; a text `input` is passed as it is, anything else as JSON.

        With `result_type` the result is checked and converted (`msgspec.convert`), else it is plain JSON.
        """
        return self._made(ActivityTask(name, input_text(name, input), None, converter_to(result_type)))

    def schedule_activity_on_session_typed(
        self,
        name: str,
        input: object = None,  # noqa: A002
        session_id: str | None = None,
    ) -> ActivityTask:
        """`schedule_activity_typed` on a session."""
        return self._made(ActivityTask(name, input_text(name, input), session_id))

    def schedule_activity_with_retry(self, name: str, input: object, retry: dict[str, Any]) -> RetryTask:  # noqa: A002
        """Run an activity again when it fails.

        `retry` has `max_attempts` (default 3), `timeout_ms` for each attempt (`total_timeout_ms` means the same, as
        in the SDK), and `backoff`: nothing or `"exponential"` for 100, 200, 400 ms …, `"fixed"` for 1,000 ms each,
        any other text for 100, 200, 300 ms …. Raises `InvalidTask` for an attempt count below 1.
        """
        return self._retry(ActivityTask(name, payload.dump(f"the input of activity {name!r}", input)), retry)

    def schedule_activity_with_retry_on_session(
        self,
        name: str,
        input: object,  # noqa: A002
        retry: dict[str, Any],
        session_id: str,
    ) -> RetryTask:
        """`schedule_activity_with_retry` on a session."""
        text = payload.dump(f"the input of activity {name!r}", input)
        return self._retry(ActivityTask(name, text, session_id), retry)

    def schedule_activity_with_retry_typed(
        self,
        name: str,
        input: object = None,  # noqa: A002
        retry: dict[str, Any] | None = None,
    ) -> RetryTask:
        """`schedule_activity_with_retry` that passes a text `input` as it is."""
        return self._retry(ActivityTask(name, input_text(name, input)), retry or {})

    def schedule_activity_with_retry_on_session_typed(
        self,
        name: str,
        input: object = None,  # noqa: A002
        retry: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> RetryTask:
        """`schedule_activity_with_retry_typed` on a session."""
        return self._retry(ActivityTask(name, input_text(name, input), session_id), retry or {})

    def _retry(self, activity: ActivityTask, retry: dict[str, Any]) -> RetryTask:
        attempts = whole_number("max_attempts", retry.get("max_attempts", retry.get("maxAttempts", 3)), 1)
        timeouts = []
        for name, camel in (("timeout_ms", "timeoutMs"), ("total_timeout_ms", "totalTimeoutMs")):
            value = retry.get(name, retry.get(camel))
            timeouts.append(None if value is None else whole_number(name, value, 0, LONGEST_DELAY_MS))
        backoff = retry.get("backoff")
        if backoff is not None and not isinstance(backoff, str):
            raise InvalidTask(f"backoff is a text such as 'fixed', not {type(backoff).__name__} {backoff!r}")
        return self._made(RetryTask(activity, attempts, timeouts[0], timeouts[1], backoff))

    # Time, events, queues.

    def schedule_timer(self, delay_ms: int) -> TimerTask:
        """Wake up after `delay_ms` milliseconds, a whole number from 0 up; yields None."""
        return self._made(TimerTask(whole_number("delay_ms", delay_ms, 0, LONGEST_DELAY_MS)))

    def wait_for_event(self, name: str) -> EventTask:
        """Wait for an external event; one that arrived before this wait was recorded is lost."""
        return self._made(EventTask(name))

    def wait_for_event_typed(self, name: str) -> EventTask:
        """Same as `wait_for_event`: data arrives as a JSON value either way."""
        return self.wait_for_event(name)

    def dequeue_event(self, queue_name: str) -> QueueTask:
        """Take the next message of an event queue: first in, first out, buffered, kept over continue-as-new."""
        return self._made(QueueTask(queue_name))

    def dequeue_event_typed(self, queue_name: str) -> QueueTask:
        """Same as `dequeue_event`: data arrives as a JSON value either way."""
        return self.dequeue_event(queue_name)

    # Other orchestrations.

    def schedule_sub_orchestration(self, name: str, input: object = None) -> ChildTask:  # noqa: A002
        """Run a child orchestration; yields its output, or raises `Exception` with its error text."""
        return self._made(ChildTask(name, payload.dump(f"the input of {name!r}", input)))

    def schedule_sub_orchestration_with_id(self, name: str, instance_id: str, input: object = None) -> ChildTask:  # noqa: A002
        """Run a child orchestration under a given instance id."""
        return self._made(ChildTask(name, payload.dump(f"the input of {name!r}", input), instance_id))

    def schedule_sub_orchestration_versioned(
        self,
        name: str,
        version: str | None = None,
        input: object = None,  # noqa: A002
    ) -> ChildTask:
        """Run a child orchestration of a given version (None: the latest)."""
        return self._made(ChildTask(name, payload.dump(f"the input of {name!r}", input), None, version))

    def schedule_sub_orchestration_versioned_with_id(
        self,
        name: str,
        version: str | None,
        instance_id: str,
        input: object = None,  # noqa: A002
    ) -> ChildTask:
        """Run a child orchestration of a given version under a given instance id."""
        text = payload.dump(f"the input of {name!r}", input)
        return self._made(ChildTask(name, text, instance_id, version))

    def schedule_sub_orchestration_typed(
        self,
        name: str,
        input: object = None,  # noqa: A002
        result_type: type | None = None,
    ) -> ChildTask:
        """Run a child orchestration; a text `input` is passed as it is."""
        task = ChildTask(name, input_text(name, input))
        task.convert = converter_to(result_type)
        return self._made(task)

    def schedule_sub_orchestration_with_id_typed(self, name: str, instance_id: str, input: object = None) -> ChildTask:  # noqa: A002
        """`schedule_sub_orchestration_typed` under a given instance id."""
        return self._made(ChildTask(name, input_text(name, input), instance_id))

    def start_orchestration(self, name: str, instance_id: str, input: object = None) -> DetachedTask:  # noqa: A002
        """Start another orchestration and go on; yields None at once."""
        return self._made(DetachedTask(name, payload.dump(f"the input of {name!r}", input), instance_id))

    def start_orchestration_versioned(
        self,
        name: str,
        version: str | None,
        instance_id: str,
        input: object = None,  # noqa: A002
    ) -> DetachedTask:
        """Start another orchestration of a given version."""
        text = payload.dump(f"the input of {name!r}", input)
        return self._made(DetachedTask(name, text, instance_id, version))

    def start_orchestration_typed(self, name: str, instance_id: str, input: object = None) -> DetachedTask:  # noqa: A002
        """Start another orchestration; a text `input` is passed as it is."""
        return self._made(DetachedTask(name, input_text(name, input), instance_id))

    def start_orchestration_versioned_typed(
        self,
        name: str,
        version: str | None,
        instance_id: str,
        input: object = None,  # noqa: A002
    ) -> DetachedTask:
        """`start_orchestration_versioned` that passes a text `input` as it is."""
        return self._made(DetachedTask(name, input_text(name, input), instance_id, version))

    def continue_as_new(self, input: object = None) -> ContinueAsNewTask:  # noqa: A002
        """End this execution and begin the next with another input; the code after the yield never runs."""
        return self._made(ContinueAsNewTask(payload.dump("the input of the next execution", input)))

    def continue_as_new_versioned(self, input: object, version: str | None = None) -> ContinueAsNewTask:  # noqa: A002
        """Continue as new with a given version."""
        return self._made(ContinueAsNewTask(payload.dump("the input of the next execution", input), version))

    def continue_as_new_typed(self, input: object = None) -> ContinueAsNewTask:  # noqa: A002
        """Continue as new; a text `input` is passed as it is."""
        return self._made(ContinueAsNewTask(input_text("continue_as_new", input)))

    # Composites, identifiers, time.

    def all(self, tasks: list[Any]) -> AllTask:
        """Wait for all; yields a list of `{"ok": value}` or `{"err": text}` in the order of the tasks."""
        return self._made(AllTask(list(tasks)))

    def all_typed(self, tasks: list[Any]) -> AllTask:
        """Like `all`, with the bare values of those that succeeded."""
        return self._made(AllTask(list(tasks), unwrap=True))

    def race(self, *tasks: Any) -> RaceTask:
        """Wait for the first of two; yields `{"index": i, "value": value}`, or raises what the winner raises."""
        return self._made(RaceTask(list(tasks)))

    def race_typed(self, *tasks: Any) -> RaceTask:
        """Same as `race`: values arrive as JSON values either way."""
        return self.race(*tasks)

    def new_guid(self) -> ActivityTask:
        """A unique text, recorded once (a system activity)."""
        return self._made(ActivityTask(NEW_GUID, ""))

    def utc_now(self) -> ActivityTask:
        """The time in ms since 1970, recorded once (a system activity)."""
        return self._made(ActivityTask(UTC_NOW, ""))

    # Custom status.

    def set_custom_status(self, status: str) -> None:
        """Set the status text that clients see; the last one of a turn wins."""
        self._update_status(stored_text("a custom status", status))

    def reset_custom_status(self) -> None:
        """Take the status text away."""
        self._update_status(None)

    def _update_status(self, status: str | None) -> None:
        if self._journal.enter():
            self._journal.match(Action((ev.STATUS_UPDATED,), {"status": status}))
            self._status = status

    def get_custom_status(self) -> str | None:
        """The status as this code has set it, also in an earlier execution; None when there is none."""
        self._journal.enter()
        return self._status

    # Key-value store.

    def set_kv_value(self, key: str, value: str) -> None:
        """Set a key of this instance. Recorded; limits are checked at the end of the turn.

        Key and value are taken as `str(…)`. Raises `NotStorable` for half a character, and `InvalidTask` for a task
        that was not yielded.
        """
        key = stored_text("a key", key)
        value = stored_text(f"the value of key {key!r}", value)
        journal = self._journal
        if journal.enter():
            record = journal.match(Action((ev.KV_SET, key, value), {"last_updated_at_ms": journal.now_ms}))
            event = record.event
            self._kv.set(key, str(event.value), int(event.last_updated_at_ms or 0), record.event_id)
            if journal.turn is None:
                journal.measure("duroxide.kv.set", "INFO", "kv.set", {"key": key, "value_len": len(value.encode())})

    def get_kv_value(self, key: str) -> str | None:
        """The value of a key; None when it was never set or was cleared. Not recorded."""
        key = str(key)
        journal = self._journal
        live = journal.enter()
        value = self._kv.get(key)
        if live and journal.turn is None:
            journal.measure("duroxide.kv.get", "DEBUG", "kv.get", {"key": key, "found": value is not None})
        return value

    def set_kv_value_typed(self, key: str, value: object) -> None:
        """Set a key to the JSON text of a value; raises `NotJSON` at once if it has none."""
        self.set_kv_value(key, payload.dump(f"the value of key {key!r}", value))

    @overload
    def get_kv_value_typed(self, key: str) -> Any: ...

    @overload
    def get_kv_value_typed(self, key: str, type: type[T]) -> T | None: ...

    def get_kv_value_typed(self, key: str, type: Any = None) -> Any:  # noqa: A002
        """The value of a key decoded from JSON, and checked against `type` if given; None when absent.

        Raises `KVDecodeError`, the same live and on every replay.
        """
        text = self.get_kv_value(key)
        return None if text is None else decode_kv(str(key), text, type)

    def clear_kv_value(self, key: str) -> None:
        """Remove a key; recorded also when there is none."""
        key = payload.storable("a key", str(key))
        if self._journal.enter():
            self._clear(key)
            self._journal.measure("duroxide.kv.clear_value", "INFO", "kv.clear", {"key": key})

    def _clear(self, key: str) -> None:
        record = self._journal.match(Action((ev.KV_CLEARED, key)))
        self._kv.clear(key, record.event_id)

    def clear_all_kv_values(self) -> None:
        """Remove every key of this instance."""
        if self._journal.enter():
            record = self._journal.match(_CLEAR_ALL)
            self._kv.clear_all(record.event_id)
            self._journal.measure("duroxide.kv.clear_all", "INFO", "kv.clear", {})

    def get_kv_all_values(self) -> dict[str, str]:
        """All live values, in key order."""
        self._journal.enter()
        return self._kv.values()

    def get_kv_all_keys(self) -> list[str]:
        """All live keys, ascending."""
        self._journal.enter()
        return self._kv.keys()

    def get_kv_length(self) -> int:
        """How many keys are alive."""
        self._journal.enter()
        return len(self._kv.held)

    def prune_kv_values_updated_before(self, cutoff_ms: int) -> int:
        """Clear every key last written before `cutoff_ms` (ms since 1970, strictly); returns how many.

        A key's age is the recorded time of its write, so it is the same on every replay. Raises `InvalidTask` for a
        cutoff that is no whole number from 0 up.
        """
        whole_number("cutoff_ms", cutoff_ms, 0)
        if not self._journal.enter():
            return 0
        pruned = [key for key in self._kv.keys() if self._is_older(key, cutoff_ms)]  # noqa: SIM118
        return len(pruned)

    def _is_older(self, key: str, cutoff_ms: int) -> bool:
        held = self._kv.held[key]
        earliest = latest = held.at_ms
        turn = self._journal.turn
        if turn is not None and self._journal.dialect.restamps_writes and held.origin != FROM_SNAPSHOT:
            earliest, latest = turn.started_ms, turn.last_operation_ms
        older = latest < cutoff_ms
        if earliest < cutoff_ms <= latest:
            record = self._journal.next_record()
            older = record is not None and record.signature == (ev.KV_CLEARED, key)
        if older:
            self._clear(key)
        return older

    def get_kv_value_from_instance(self, instance_id: str, key: str) -> ActivityTask:
        """Read a key of another instance as it is when the activity runs (spec 001); yields the value, or None."""
        text = payload.dump("the input of a cross-instance read", {"instance_id": instance_id, "key": key})
        task = self._made(ActivityTask(GET_KV_VALUE, text))
        self._journal.measure("duroxide.kv.get_remote", None, "", {})
        return task

    def get_kv_value_from_instance_typed(
        self,
        instance_id: str,
        key: str,
        type: Any = None,  # noqa: A002
    ) -> ActivityTask:
        """Read a key of another instance as JSON; raises `KVDecodeError` at the yield if it is not as asked."""
        task = self.get_kv_value_from_instance(instance_id, key)
        opening = "Typed deserialization error: "
        task.convert = lambda text: None if text is None else decode_kv(str(key), str(text), type, opening)
        return task

    # Logging.

    def trace_info(self, message: object) -> None:
        """Log a line; never repeated by a replay."""
        self._trace("INFO", message)

    def trace_warn(self, message: object) -> None:
        """Log a warning; never repeated by a replay."""
        self._trace("WARNING", message)

    def trace_error(self, message: object) -> None:
        """Log an error; never repeated by a replay."""
        self._trace("ERROR", message)

    def trace_debug(self, message: object) -> None:
        """Log a debug line; never repeated by a replay."""
        self._trace("DEBUG", message)

    def _trace(self, level: str, message: object) -> None:
        if self._journal.enter() and not self._journal.is_replaying:
            self._journal.logs.append(("orchestration", level, _shown(message), {}))


def _shown(message: object) -> str:
    """The text of a message; a replay does not ask for it, so what goes wrong with it must not reach the code."""
    try:
        return str(message)
    except Exception as error:  # noqa: BLE001 (a text that cannot be had)
        return f"<no text: {type(error).__name__}>"
