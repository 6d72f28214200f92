"""What the code waits for: one `Leaf` for each scheduled operation, and the composites above them.

A leaf is settled by an arrival; what it stands in decides what that means. Nothing here touches history: a retry
asks for its next attempt through the callback it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from workbench.runtime.tasks import RetryTask, Task, TimerTask

LeafKind = Literal["activity", "timer", "child", "event", "queue", "invalid"]
RETRY_TIMED_OUT = "timeout: activity timed out"


class Waiting:
    """Something that is or will be done; `value` is the result, or the error (a text or an exception)."""

    __slots__ = ("done", "dropped", "failed", "index", "parent", "task", "value")

    def __init__(self, task: Task | None, parent: Composite | None, index: int) -> None:
        self.task = task
        self.parent = parent
        self.index = index
        self.done = False
        self.failed = False
        self.dropped = False
        self.value: Any = None

    def settle(self, failed: bool, value: Any) -> None:
        """Be done, and tell what it stands in."""
        convert = None if self.task is None else self.task.convert
        if convert is not None and not failed:
            try:
                value = convert(value)
            except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the code that asked)
                failed, value = True, error
        self.done, self.failed, self.value = True, failed, value
        if self.parent is not None and not self.parent.done:
            self.parent.member_settled(self)

    def leaves(self) -> list[Leaf]:
        """The operations below that are not done."""
        raise NotImplementedError


class Leaf(Waiting):
    """One scheduled operation."""

    __slots__ = ("event_id", "kind")

    def __init__(self, task: Task | None, parent: Composite | None, index: int, kind: LeafKind, event_id: int) -> None:
        super().__init__(task, parent, index)
        self.kind = kind
        self.event_id = event_id

    def leaves(self) -> list[Leaf]:
        """Itself, while it is not done."""
        return [] if self.done else [self]


def settled(failed: bool, value: Any, parent: Composite | None = None, index: int = 0) -> Leaf:
    """Something that was done the moment it was asked for."""
    leaf = Leaf(None, parent, index, "invalid", 0)
    leaf.done, leaf.failed, leaf.value = True, failed, value
    return leaf


class Composite(Waiting):
    """Base of what waits for several."""

    __slots__ = ("members",)

    def __init__(self, task: Task, parent: Composite | None, index: int) -> None:
        super().__init__(task, parent, index)
        self.members: list[Waiting] = []

    def member_settled(self, member: Waiting) -> None:
        """One member is done."""
        raise NotImplementedError

    def leaves(self) -> list[Leaf]:
        """The operations below that are not done."""
        return [] if self.done else [leaf for member in self.members for leaf in member.leaves()]


class All(Composite):
    """Done when every member is; results stand in the order of the arguments."""

    __slots__ = ("missing", "unwrap")

    def __init__(self, task: Task, parent: Composite | None, index: int, count: int, unwrap: bool) -> None:
        super().__init__(task, parent, index)
        self.missing = count
        self.unwrap = unwrap

    def member_settled(self, member: Waiting) -> None:  # noqa: ARG002 (every member counts alike)
        """One member is done."""
        self.missing -= 1
        if self.missing == 0:
            self.settle(False, [self._result(each) for each in self.members])

    def _result(self, member: Waiting) -> Any:
        if member.failed:
            return {"err": str(member.value)}
        return member.value if self.unwrap else {"ok": member.value}


class Race(Composite):
    """Done with the first member; the others are dropped."""

    __slots__ = ("drop",)

    def __init__(self, task: Task, parent: Composite | None, index: int, drop: Callable[[Waiting], None]) -> None:
        super().__init__(task, parent, index)
        self.drop = drop

    def member_settled(self, member: Waiting) -> None:
        """One member won."""
        for other in self.members:
            if other is not member and not other.done:
                self.drop(other)
        value = member.value if member.failed else {"index": member.index, "value": member.value}
        self.settle(member.failed, value)


class Retry(Composite):
    """Runs an activity again after a failure, with a timer between attempts; its operations are ordinary ones."""

    __slots__ = ("attempt", "drop", "retry", "schedule")

    def __init__(
        self,
        task: RetryTask,
        parent: Composite | None,
        index: int,
        schedule: Callable[[Task, Composite, int], Waiting],
        drop: Callable[[Waiting], None],
    ) -> None:
        super().__init__(task, parent, index)
        self.retry = task
        self.schedule = schedule
        self.drop = drop
        self.attempt = 0

    def begin(self) -> None:
        """Schedule the first attempt."""
        self._next_attempt()

    def _next_attempt(self) -> None:
        self.attempt += 1
        self.members = [self.schedule(self.retry.activity, self, 0)]
        timeout_ms = self.retry.timeout_ms if self.retry.total_timeout_ms is None else self.retry.total_timeout_ms
        if timeout_ms is not None:
            self.members.append(self.schedule(TimerTask(timeout_ms), self, 1))

    def member_settled(self, member: Waiting) -> None:
        """An attempt has an outcome, its time is up, or the wait before the next one is over."""
        for other in self.members:
            if other is not member and not other.done:
                self.drop(other)
        if member.index == 1:
            self.settle(True, RETRY_TIMED_OUT)
        elif member.index == 2:
            self._next_attempt()
        elif not member.failed or self.attempt >= self.retry.max_attempts:
            self.settle(member.failed, member.value)
        else:
            delay = TimerTask(backoff_delay_ms(self.retry.backoff, self.attempt))
            self.members = [self.schedule(delay, self, 2)]


def backoff_delay_ms(backoff: str | None, attempt: int) -> int:
    """How long to wait after failed attempt number `attempt` (from 1), ms; never more than 30,000.

    Nothing or `"exponential"`: 100, 200, 400 …; `"fixed"`: 1,000 each; any other text: 100, 200, 300 …
    """
    if backoff == "fixed":
        return 1_000
    if backoff is None or backoff == "exponential":
        return min(30_000, 100 << min(attempt - 1, 10))
    return min(30_000, 100 * attempt)
