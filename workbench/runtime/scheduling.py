"""What a yielded leaf task asks for: its action, ready to be matched, and what kind of thing is waited for."""

from __future__ import annotations

from typing import Any

from workbench.runtime import events as ev
from workbench.runtime.actions import Action, activity_signature
from workbench.runtime.errors import InvalidTask, NotATask
from workbench.runtime.journal import Journal
from workbench.runtime.tasks import ActivityTask, ChildTask, DetachedTask, EventTask, QueueTask, Task, TimerTask
from workbench.runtime.waiting import LeafKind

AUTOMATIC_CHILD = "sub::"


def action_of(task: Task, journal: Journal) -> tuple[Action, LeafKind]:
    """The action of an activity, timer, event, queue or sub-orchestration task.

    Raises `NotATask` for a task of the code's own making, `InvalidTask` for one that it has written into.
    """
    check_fields(task)
    if isinstance(task, ActivityTask):
        signature = activity_signature(task.name, task.input, task.session_id, task.tag)
        return Action(signature, {} if signature[2] == task.input else {"input": task.input}), "activity"
    if isinstance(task, TimerTask):
        delay = {"delay_ms": task.delay_ms, "fire_at_ms": journal.now_ms + task.delay_ms}
        return Action((ev.TIMER_CREATED,), delay), "timer"
    if isinstance(task, EventTask):
        return Action((ev.EVENT_SUBSCRIBED, task.name)), "event"
    if isinstance(task, QueueTask):
        return Action((ev.QUEUE_SUBSCRIBED, task.name)), "queue"
    if isinstance(task, ChildTask):
        return Action((ev.CHILD_SCHEDULED, task.name, task.input), _child_instance(task, journal)), "child"
    raise NotATask(task)


def check_fields(task: Task) -> None:
    """Raise `InvalidTask` for a task whose fields are no longer what they were made: it could not be stored."""
    texts: tuple[object, ...] = ()
    if isinstance(task, ActivityTask):
        texts = (task.name, task.input, task.session_id or "", task.tag or "")
    elif isinstance(task, EventTask | QueueTask):
        texts = (task.name,)
    elif isinstance(task, ChildTask | DetachedTask):
        texts = (task.name, task.input, task.instance_id or "", task.version or "")
    if not all(isinstance(text, str) for text in texts):
        raise InvalidTask(f"{type(task).__name__}: one of its fields was set to what is no text; make another task")
    if isinstance(task, TimerTask) and not isinstance(task.delay_ms, int):
        raise InvalidTask("TimerTask: its delay_ms was set to what is no whole number; make another task")


def _child_instance(task: ChildTask, journal: Journal) -> dict[str, Any]:
    """The instance id that is recorded: the one given, or one made of the event id (facts F1)."""
    if task.instance_id is not None and not task.instance_id.startswith(AUTOMATIC_CHILD):
        return {"instance": task.instance_id}
    if journal.turn is not None:
        return {}
    execution = "" if journal.execution_id == 1 else f"{journal.execution_id}_"
    return {"instance": f"{AUTOMATIC_CHILD}{execution}{journal.next_event_id}"}


def child_instance_id(parent: str, recorded: str) -> str:
    """The full instance id of a child from what its schedule recorded."""
    return f"{parent}::{recorded}" if recorded.startswith(AUTOMATIC_CHILD) else recorded
