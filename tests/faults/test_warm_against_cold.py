"""Executions that are kept between turns, and evicted at random, write the events that replays from the top write."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

from tests.cases.bug_reports.living import Host, Way, living
from tests.faults.conftest import Tell, sized

Plan = list[str]
STEPS = ("set", "set", "clear", "clear all", "status", "activity", "fails", "all", "race", "event", "queue", "child")
NAMES = ("a", "b", "c")
MOST_STEPS_OF_A_HOST = 400


def follows(ctx: Any, plan: Plan) -> Generator[Any, Any, Any]:
    """Does what its plan says, and takes what it saw on the way into what it does next."""
    seen: list[Any] = []
    for number, step in enumerate(plan):
        if step == "set":
            ctx.set_kv_value(f"k{number % 3}", f"{ctx.get_kv_value('k0')}"[-20:] + str(len(seen)))
        elif step == "clear":
            ctx.clear_kv_value(f"k{number % 3}")
        elif step == "clear all":
            ctx.clear_all_kv_values()
        elif step == "status":
            ctx.set_custom_status(f"{number}: {ctx.get_kv_all_keys()}")
        elif step == "again":
            yield ctx.continue_as_new(plan[number + 1 :])
        elif step == "fails":
            try:
                yield ctx.schedule_activity("Fails", len(seen))
            except Exception as error:
                seen.append(str(error))
        else:
            seen.append((yield asked(ctx, step, len(seen))))
    return seen


def asked(ctx: Any, step: str, count: int) -> Any:
    """The task of a step."""
    activity = ctx.schedule_activity("Echo", count)
    return {
        "activity": lambda: activity,
        "all": lambda: ctx.all([activity, ctx.schedule_timer(3), ctx.schedule_activity("Fails", count)]),
        "race": lambda: ctx.race(activity, ctx.schedule_timer(3)),
        "event": lambda: ctx.race(ctx.wait_for_event("go"), ctx.schedule_timer(20)),
        "queue": lambda: ctx.race(ctx.dequeue_event("mail"), ctx.schedule_timer(20)),
        "child": lambda: ctx.schedule_sub_orchestration("follows", ["set", "activity"]),
    }[step]()


def fails(_: Any, given: object) -> None:
    """An activity that fails."""
    raise ValueError(f"told to, at {given}")


@sized(2, 500)
def test_warm_executions_write_the_same_events_as_cold_ones(count: int, tmp_path: Path, tell: Tell) -> None:
    events = evictions = 0
    for seed in range(count):
        cold, _ = history(seed, "cold", tmp_path)
        warm, evicted = history(seed, "warm", tmp_path)
        assert warm == cold
        events += len(cold)
        evictions += evicted
    assert evictions > count
    tell("warm against cold", count, count, f"{events:,} events, {evictions:,} evictions")


def history(seed: int, way: Way, path: Path) -> tuple[list[tuple[Any, ...]], int]:
    """Every event of three instances that live their plan, messages from outside among it; and what was evicted."""
    random, evicting = Random(seed), Random(-seed)
    evicted = 0
    with living(way, path) as host:
        host.activity("Fails", fails)
        for name in NAMES:
            plan = [random.choice(STEPS) for _ in range(random.randint(3, 14))]
            plan.insert(random.randint(1, len(plan)), "again")
            host.start(follows, plan, name)
        for _ in range(MOST_STEPS_OF_A_HOST):
            speak(host, random)
            if not host.work():
                break
            if evicting.random() < 0.3:
                before = len(host.warm)
                host.warm.drop(evicting.choice((*NAMES, None)))
                evicted += before - len(host.warm)
        assert all(host.client.get_status(name).status in ("Completed", "Failed") for name in NAMES)
        columns = "instance_id, execution_id, event_id, turn, event_data"
        return host.provider.query(f"SELECT {columns} FROM history ORDER BY ALL")[1], evicted


def speak(host: Host, random: Random) -> None:
    """A message from outside, or none."""
    name, kind = random.choice(NAMES), random.random()
    if kind < 0.2:
        host.client.raise_event(name, "go", kind)
    elif kind < 0.4:
        host.client.enqueue_event(name, "mail", kind)
