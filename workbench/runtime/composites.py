"""What may stand inside `all` and `race`, and what happens at the yield when something else does.

We refuse with `InvalidTask`, before anything is scheduled. A history that duroxide wrote is replayed with what its
SDK did: an error raised at the yield, or an error result in the member's place.
"""

from __future__ import annotations

from workbench.runtime.errors import InvalidTask, NotATask
from workbench.runtime.tasks import (
    SYSTEM_READS,
    ActivityTask,
    AllTask,
    ContinueAsNewTask,
    DetachedTask,
    RaceTask,
    Task,
)


def refusal(task: Task, lenient: bool) -> Exception | None:
    """The error to raise at the yield of a composite that must not be scheduled at all.

    `lenient`: as duroxide's SDK refuses it. A member that is no task fails the instance: then it is a `NotATask`.
    """
    if not isinstance(task, AllTask | RaceTask):
        return None
    for member in task.tasks:
        if not isinstance(member, Task):
            return NotATask(member)
    if isinstance(task, RaceTask) and len(task.tasks) != 2:
        if lenient:
            return Exception("select currently supports exactly 2 tasks")
        return InvalidTask(f"race takes exactly two tasks, not {len(task.tasks)}")
    if any(isinstance(member, AllTask | RaceTask) for member in task.tasks):
        word = "join" if isinstance(task, AllTask) else "select"
        if lenient:
            return Exception(f"nested join/select inside {word} is not supported")
        return InvalidTask("all and race do not stand inside one another: yield the inner one first")
    if lenient:
        return None
    return next((error for member in task.tasks if (error := _member_refusal(member)) is not None), None)


def is_invalid_member(member: object) -> bool:
    """Whether duroxide's SDK gives an error result in this member's place."""
    return _member_refusal(member) is not None


def invalid_member_text(inside_all: bool) -> str:
    """That error result."""
    return f"unsupported task in {'join' if inside_all else 'select'}"


def _member_refusal(member: object) -> InvalidTask | None:
    if isinstance(member, DetachedTask | ContinueAsNewTask):
        return InvalidTask(f"inside all or race nothing may finish at once: yield {member.describe()} on its own")
    if isinstance(member, ActivityTask) and member.name in SYSTEM_READS:
        return InvalidTask("inside all or race ctx.utc_now() and ctx.new_guid() are not possible: yield them before")
    return None
