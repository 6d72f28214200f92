"""Random tasks: expressions that a program of `programs` yields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

QUEUES = ("Q", "R")
EVENTS = ("E", "F")
VALUES = ("None", "0", "False", '""', '"é\\u2028"', "[1, 2.5, None]", '{"a": {}, "b": True}', '"42"', "-0.0")
EXACT_VALUES = ('{"b": True, "a": {}}', "10**20", "123456789.12345679", 'float("nan")')
"""The SDK does not give these back as they were inside `all` and `race` (README)."""


def pick(random: Random, choices: Sequence[tuple[int, Any]]) -> Any:
    """One of the choices, by weight."""
    return random.choices([choice for _, choice in choices], [weight for weight, _ in choices])[0]


class RandomTasks:
    """Makes task expressions and remembers what they ask of the outside script."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.number = 0
        self.awaited_names: set[tuple[str, str]] = set()
        self.has_child = False

    def fresh(self) -> str:
        """An input that is different at each place and for each past."""
        self.number += 1
        return f"[{self.number}, seen]"

    def task(self, blocking: bool = True, values: Sequence[str] = VALUES) -> str:
        """An expression for a task; without `blocking` only such as end by themselves."""
        choices: list[tuple[int, Callable[[], str]]] = [
            (6, lambda: f'ctx.schedule_activity("Mix", {self.fresh()})'),
            (3, lambda: f'ctx.schedule_activity("Echo", {self.random.choice(values)})'),
            (3, lambda: f'ctx.schedule_activity("Judge", {self.fresh()})'),
            (1, lambda: 'ctx.schedule_activity("Fail", f"{seen}\\nmore")'),
            (2, self.slow),
            (3, self.knock),
            (1, lambda: 'ctx.schedule_activity_typed("Echo", f"raw {seen}")'),
            (1, lambda: f'ctx.schedule_activity("Mix", {self.fresh()}).with_tag("gpu")'),
            (1, lambda: f'ctx.schedule_activity_on_session("Mix", {self.fresh()}, "session")'),
            (1, self.retry),
            (5, lambda: f"ctx.schedule_timer({self.random.choice((0, 1, 1, 2, 5, 10, 30))})"),
        ]
        if blocking:
            choices += [
                (8, self.wait),
                (12, self.dequeue),
            ]
        text: str = pick(self.random, choices)()
        return text

    def wait(self) -> str:
        """An external event."""
        name = self.random.choice(EVENTS)
        self.awaited_names.add(("event", name))
        return f'ctx.wait_for_event("{name}")'

    def dequeue(self) -> str:
        """A message of a queue."""
        name = self.random.choice(QUEUES)
        self.awaited_names.add(("message", name))
        return f'ctx.dequeue_event("{name}")'

    def slow(self) -> str:
        """An activity that is often still running when its race is over."""
        self.number += 1
        return f'ctx.schedule_activity("Slow", {{"ms": {self.random.choice((5, 20, 60))}, "of": {self.fresh()}}})'

    def knock(self) -> str:
        """An activity that sends the instance what it may be waiting for."""
        names = [*(("raise_event", name) for name in EVENTS), *(("enqueue_event", name) for name in QUEUES)]
        calls = self.random.choices(names, k=self.random.randint(1, 3))
        given = (
            f'{{"ms": {self.random.choice((0, 0, 5, 30))}, "calls": {[list(c) for c in calls]}, "of": {self.fresh()}}}'
        )
        return f'ctx.schedule_activity("Knock", {given})'

    def retry(self) -> str:
        """An activity that fails first; its delays are 100 ms and more, so there are few."""
        failures, attempts = self.random.choice(((0, 2), (1, 2), (1, 3), (1, 1)))
        options: dict[str, Any] = {"max_attempts": attempts}
        if self.random.random() < 0.3:
            options["timeout_ms"] = self.random.choice((5, 300))
        if self.random.random() < 0.3:
            options["backoff"] = self.random.choice(("exponential", "linear"))
        given = f'{{"failures": {failures}, "of": {self.fresh()}}}'
        return f'ctx.schedule_activity_with_retry("Flaky", {given}, {options!r})'

    def child(self) -> str:
        """A child orchestration; such a program is never cancelled."""
        self.has_child = True
        name = self.random.choice(("Child", "Child", "FailingChild", "RenewingChild"))
        given = '{"rounds": 1, "of": seen}' if name == "RenewingChild" else self.fresh()
        if self.random.random() < 0.3:
            self.number += 1
            own = f'f"{{ctx.instance_id}}-child-{{ctx.execution_id}}-{self.number}-{{seen}}"'
            return f'ctx.schedule_sub_orchestration_with_id("{name}", {own}, {given})'
        return f'ctx.schedule_sub_orchestration("{name}", {given})'
