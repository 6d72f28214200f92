"""Random orchestrations, by seed, as Python text with an outside script.

`seen` is a digest of everything that the code was given so far. It goes into inputs, KV values, statuses and the
output, so a result delivered wrongly shows as another value. Guids and times are only looked at for their type.

Left out, because one such program stops the real runtime for all the others: a child that may be dropped or
cancelled in the very turn that scheduled it (README, "The end of a turn").
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.oracle.cases import Case, Outside, cancel, event, message
from tests.oracle.random_tasks import EXACT_VALUES, VALUES, RandomTasks, pick

Lines = list[str]

HEAD = """\
import hashlib
import json


def mark(seen, value):
    return hashlib.sha256(json.dumps([seen, value], sort_keys=True).encode()).hexdigest()[:8]
"""
KEYS = ("a", "b", "c", "ключ", "")
CANCELLED = 0.15
"""Share of the programs that are cancelled from outside."""


def random_cases(seed: int, count: int) -> list[Case]:
    """`count` programs of a seed; number n is the same for every count."""
    return [RandomProgram(f"{seed}-{number}").case() for number in range(count)]


def indent(lines: Lines) -> Lines:
    """The lines, one level deeper."""
    return ["    " + line for line in lines]


class RandomProgram:
    """Writes one program; every choice comes from one generator with the program's seed."""

    def __init__(self, seed: str) -> None:
        self.name = f"random-{seed}"
        self.random = Random(seed)
        self.helpers: list[Lines] = []
        self.tasks = RandomTasks(self.random)
        self.may_have_child = self.random.random() < 0.35
        self.executions = self.random.choice((1, 1, 1, 2, 2, 3))

    def case(self) -> Case:
        """The program and what happens to it from outside."""
        body = self.block(self.random.randint(3, 8), depth=0)
        lines = ["def program(ctx, given):", *indent([*self.beginning(), *body, *self.ending()])]
        functions = ["\n".join(function) for function in (*self.helpers, lines)]
        source = "\n\n\n".join([HEAD.rstrip(), *functions]) + "\n"
        given = self.random.choice((None, 1, "text", [1, {"é": None}]))
        return Case(self.name, source, given, self.outside())

    def outside(self) -> tuple[Outside, ...]:
        """Events and messages that the program waits for, some in bursts, some late; sometimes a cancel."""
        calls: list[Outside] = []
        for kind, name in sorted(self.tasks.awaited_names):
            call = event if kind == "event" else message
            times = [self.random.randint(0, 200) for _ in range(self.random.randint(1, 3))]
            times += [times[0]] * self.random.choice((0, 0, 1, 2))
            times += [self.random.randint(low, low + 150) for low in (200, 400, 700)]
            calls += [call(at_ms, name, [name, number]) for number, at_ms in enumerate(sorted(times))]
        if not self.tasks.has_child and self.random.random() < CANCELLED:
            moments = [self.random.randint(0, 150), *(call.after_ms for call in calls)]
            calls.append(cancel(self.random.choice(moments), self.random.choice(("", "enough", "é"))))
        return tuple(sorted(calls, key=lambda call: call.after_ms))

    def beginning(self) -> Lines:
        """Start the digest; sometimes prune what earlier executions left, before anything is written."""
        lines = ['seen = mark("start", [given, ctx.execution_id])']
        if self.random.random() < 0.15:
            lines += ["now = yield ctx.utc_now()", "seen = mark(seen, ctx.prune_kv_values_updated_before(now))"]
        return lines

    def ending(self) -> Lines:
        """Return, raise, or go on as a new execution; bounded."""
        lines: Lines = []
        if self.executions > 1:
            lines += [
                f"if ctx.execution_id < {self.executions}:",
                "    yield ctx.continue_as_new([seen, ctx.execution_id])",
            ]
        last = self.random.random()
        if last < 0.1:
            return [*lines, 'raise ValueError(f"ended with {seen}")']
        if last < 0.2:
            return [*lines, 'raise RuntimeError(f"first line {seen}\\nsecond line")']
        if last < 0.6:
            return [*lines, 'return {"seen": seen, "values": sorted(ctx.get_kv_all_values().items())}']
        return [*lines, "return seen"]

    def block(self, count: int, depth: int) -> Lines:
        """Some statements in a row."""
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> Lines:
        """One statement with what it needs around it."""
        simple: list[tuple[int, Callable[[], Lines]]] = [
            (10, self.result_of_a_task),
            (8, self.race),
            (5, self.knock_and_wait),
            (6, self.all),
            (12, self.key_values),
            (4, self.read_modify_write),
            (3, self.custom_status),
            (2, self.guid_or_time),
            (2, self.own_value_as_others_see_it),
            (1, self.detached_start),
        ]
        nested: list[tuple[int, Callable[[int], Lines]]] = [
            (3, self.condition),
            (2, self.loop),
            (3, self.guarded),
            (2, self.helper),
            (1, self.early_ending),
        ]
        if depth < 2 and self.random.random() < 0.25:
            lines: Lines = pick(self.random, nested)(depth + 1)
        else:
            lines = pick(self.random, simple)()
        return lines

    def awaited(self, expression: str) -> Lines:
        """Wait for it and take in its value; failures are caught more often than not."""
        lines = [f"result = yield {expression}", "seen = mark(seen, result)"]
        if self.random.random() < 0.75:
            return ["try:", *indent(lines), "except Exception as error:", *indent(["seen = mark(seen, str(error))"])]
        return lines

    # Statements.

    def result_of_a_task(self) -> Lines:
        """One task; sometimes a child."""
        if self.may_have_child and self.random.random() < 0.3:
            return self.awaited(self.tasks.child())
        return self.awaited(self.tasks.task(self.random.random() < 0.4, (*VALUES, *EXACT_VALUES)))

    def race(self) -> Lines:
        """Two tasks; one of them nearly always ends by itself."""
        members = [self.tasks.task(), self.tasks.task(blocking=self.random.random() < 0.05)]
        if self.may_have_child and self.random.random() < 0.15:
            members = [self.tasks.child(), f"ctx.schedule_timer({self.random.choice((1, 40))})"]
        self.random.shuffle(members)
        return self.awaited(f"ctx.race({', '.join(members)})")

    def knock_and_wait(self) -> Lines:
        """A wait whose event or message comes while it stands, beside the activity that sends it."""
        waits = [self.tasks.wait() if self.random.random() < 0.6 else self.tasks.dequeue() for _ in range(2)]
        members = [self.tasks.knock(), *waits[: self.random.randint(1, 2)]]
        self.random.shuffle(members)
        if self.random.random() < 0.6 or len(members) == 2:
            return self.awaited(f"ctx.race({', '.join(members[:2])})")
        return self.awaited(f"ctx.all([{', '.join(members)}])")

    def all(self) -> Lines:
        """None to four tasks."""
        members = [self.tasks.task(blocking=self.random.random() < 0.1) for _ in range(self.random.randint(0, 4))]
        if self.may_have_child and self.random.random() < 0.3:
            members.append(self.tasks.child())
        return self.awaited(f"ctx.all([{', '.join(members)}])")

    def key_values(self) -> Lines:
        """One KV call whose outcome is taken in."""
        key = repr(self.random.choice(KEYS))
        calls: list[tuple[int, Lines]] = [
            (8, [f"ctx.set_kv_value({key}, seen)"]),
            (1, [f'ctx.set_kv_value({key}, "")']),
            (4, [f"seen = mark(seen, ctx.get_kv_value({key}))"]),
            (3, [f"ctx.clear_kv_value({key})"]),
            (1, ["ctx.clear_all_kv_values()"]),
            (1, ["seen = mark(seen, ctx.get_kv_length())"]),
            (1, ["seen = mark(seen, ctx.get_kv_all_keys())"]),
            (1, ["seen = mark(seen, sorted(ctx.get_kv_all_values().items()))"]),
            (1, [f"seen = mark(seen, ctx.prune_kv_values_updated_before({self.random.choice(('0', '2**62'))}))"]),
        ]
        lines: Lines = pick(self.random, calls)
        return lines

    def read_modify_write(self) -> Lines:
        """The counter."""
        return ['count = int(ctx.get_kv_value("count") or "0") + 1', 'ctx.set_kv_value("count", count)']

    def custom_status(self) -> Lines:
        """Set, reset or read; read in the first execution only, as later ones show defect F2."""
        return self.random.choice(
            (
                ['ctx.set_custom_status(f"at {seen}")'],
                ['ctx.set_custom_status(f"at {seen}")'],
                ["ctx.reset_custom_status()"],
                ["if ctx.execution_id == 1:", "    seen = mark(seen, ctx.get_custom_status())"],
            )
        )

    def guid_or_time(self) -> Lines:
        """A value that differs from run to run stays in a key of its own."""
        return self.random.choice(
            (
                ["guid = yield ctx.new_guid()", "seen = mark(seen, len(guid))", 'ctx.set_kv_value("guid", guid)'],
                ["now = yield ctx.utc_now()", "seen = mark(seen, type(now).__name__)"],
            )
        )

    def own_value_as_others_see_it(self) -> Lines:
        """A cross-instance read, of the instance itself: it sees what was committed."""
        key = repr(self.random.choice(KEYS))
        return self.awaited(f"ctx.get_kv_value_from_instance(ctx.instance_id, {key})")

    def detached_start(self) -> Lines:
        """Start another instance and forget it."""
        self.tasks.number += 1
        own = f'f"{{ctx.instance_id}}-detached-{{ctx.execution_id}}-{self.tasks.number}-{{seen}}"'
        return [f'result = yield ctx.start_orchestration("Child", {own}, seen)', "seen = mark(seen, result)"]

    def condition(self, depth: int) -> Lines:
        """Two ways, by what was seen."""
        return [
            "if int(seen, 16) % 2:",
            *indent(self.block(self.random.randint(1, 2), depth)),
            "else:",
            *indent(self.block(1, depth)),
        ]

    def loop(self, depth: int) -> Lines:
        """The same statements two or three times."""
        body = self.block(self.random.randint(1, 2), depth)
        return [f"for _ in range({self.random.randint(2, 3)}):", *indent(body)]

    def guarded(self, depth: int) -> Lines:
        """Statements under `try` with work in the `except` and a write in the `finally`."""
        raising = ["if int(seen, 16) % 3 == 0:", '    raise ValueError(f"inner {seen}")']
        handler = ["seen = mark(seen, str(error))", *self.block(1, depth)]
        lines = [
            "try:",
            *indent([*self.block(1, depth), *raising, *self.block(1, depth)]),
            "except Exception as error:",
            *indent(handler),
        ]
        if self.random.random() < 0.5:
            lines += ["finally:", *indent(['ctx.set_kv_value("finally", seen)'])]
        return lines

    def helper(self, depth: int) -> Lines:
        """Statements in a generator of their own."""
        body = [*self.block(self.random.randint(1, 3), depth), "return seen"]
        name = f"helper_{len(self.helpers) + 1}"
        asleep = ["if False:", "    yield"]
        self.helpers.append([f"def {name}(ctx, seen):", *indent([*asleep, *body])])
        return [f"seen = yield from {name}(ctx, seen)"]

    def early_ending(self, _depth: int) -> Lines:
        """Sometimes the end comes here."""
        end = self.random.choice(("return [seen]", 'raise LookupError(f"early {seen}")'))
        if self.executions > 1 and self.random.random() < 0.5:
            return [
                f"if int(seen, 16) % 4 == 0 and ctx.execution_id < {self.executions}:",
                "    yield ctx.continue_as_new({'early': seen})",
            ]
        return ["if int(seen, 16) % 5 == 0:", f"    {end}"]
