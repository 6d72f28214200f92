"""A dozen orchestrations, each with what happens to it from outside, and how they are run turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from workbench import Run, Workbench
from workbench.runtime.turn import Turn

Flow = Generator[Any, Any, Any]


class Script(NamedTuple):
    """An orchestration and its calls from outside: before turn n, call n of `outside` is made (None: nothing)."""

    code: Callable[..., Any]
    input: object = None
    outside: tuple[Callable[[Run, Workbench], object] | None, ...] = ()


def drive(wb: Workbench, script: Script) -> tuple[Run, list[Turn]]:
    """Make turns until it has ended and every call was made."""
    wb.orchestration(script.code)
    run = wb.start(script.code, script.input)
    turns: list[Turn] = []
    calls = list(script.outside)
    while run.status in ("Pending", "Running"):
        call = calls.pop(0) if calls else None
        if call is not None:
            call(run, wb)
        turns.append(run.turn())
    assert not calls
    return run, turns


def greeting(ctx: Any, name: str) -> Flow:
    return (yield ctx.schedule_activity("Echo", f"hello {name}"))


def plain(ctx: Any, value: int) -> int:
    ctx.set_kv_value("plain", value)
    return value + 1


def compensating(ctx: Any, _: object) -> Flow:
    try:
        yield ctx.schedule_activity("Fail", "no stock")
    except Exception as error:
        ctx.set_kv_value("error", str(error))
        yield ctx.schedule_activity("Echo", "refund")
    finally:
        ctx.set_custom_status("cleaned up")
    raise LookupError("nothing left")


def fan_out(ctx: Any, count: int) -> Flow:
    results = yield ctx.all([ctx.schedule_activity("Echo", number) for number in range(count)])
    return [each["ok"] for each in results]


def race_with_time(ctx: Any, _: object) -> Flow:
    first = yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_timer(500))
    second = yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_timer(500))
    return [first, second]


def mailbox(ctx: Any, _: object) -> Flow:
    taken: list[object] = []
    while len(taken) < 4:
        taken.append((yield ctx.dequeue_event("mail")))
        ctx.set_kv_value("last", taken[-1])
    return taken


def retried(ctx: Any, _: object) -> Flow:
    try:
        yield ctx.schedule_activity_with_retry("Fail", "never", {"max_attempts": 2, "backoff": "fixed"})
    except Exception as error:
        return str(error)
    return "not reached"


def parent(ctx: Any, value: int) -> Flow:
    doubled = yield ctx.schedule_sub_orchestration("Child", value)
    yield ctx.start_orchestration("Child", "on-its-own", 1)
    ctx.set_kv_value("doubled", doubled)
    return doubled


def child(ctx: Any, value: int) -> Flow:
    yield ctx.schedule_timer(10)
    return value * (yield ctx.schedule_activity("Echo", 2))


def renewing(ctx: Any, rounds: int) -> Flow:
    total = int(ctx.get_kv_value("total") or "0")
    message = yield ctx.dequeue_event("mail")
    ctx.set_kv_value("total", str(total + rounds))
    ctx.set_custom_status(f"{message} in execution {ctx.execution_id}")
    if rounds > 1:
        yield ctx.continue_as_new(rounds - 1)
    return [ctx.get_custom_status(), message]


def clearing(ctx: Any, _: object) -> Flow:
    for key in ("a", "b", "c"):
        ctx.set_kv_value(key, key)
    yield ctx.schedule_timer(1)
    ctx.clear_kv_value("a")
    ctx.clear_all_kv_values()
    ctx.set_kv_value("d", "d")
    ctx.prune_kv_values_updated_before(1)
    yield ctx.schedule_timer(1)
    return ctx.get_kv_all_keys()


def system_values(ctx: Any, _: object) -> Flow:
    now = yield ctx.utc_now()
    guid = yield ctx.new_guid()
    other = yield ctx.get_kv_value_from_instance("nobody", "k")
    ctx.schedule_timer(1)
    return [now, guid, other]


def cancelled(ctx: Any, _: object) -> Flow:
    ctx.set_kv_value("k", "v")
    yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_activity("Missing"))
    yield ctx.wait_for_event("go")


async def asynchronous(ctx: Any, values: list[int]) -> int:
    total = 0
    for value in values:
        total += await ctx.schedule_activity("Echo", value)
        ctx.set_kv_value("total", total)
    return total


def two_messages(run: Run, _: object) -> None:
    run.enqueue_event("mail", "one")
    run.enqueue_event("mail", "two")


def one_message(run: Run, _: object) -> None:
    run.enqueue_event("mail", "three")


def too_early(run: Run, _: object) -> None:
    run.raise_event("go", "too early")


SCRIPTS: dict[str, Script] = {
    "activity": Script(greeting, "world"),
    "plain function": Script(plain, 1),
    "failures": Script(compensating),
    "fan-out": Script(fan_out, 3),
    "races": Script(race_with_time, None, (too_early, None, lambda run, _: run.raise_event("go", 1))),
    "queue": Script(mailbox, None, (None, two_messages, two_messages)),
    "retries": Script(retried),
    "children": Script(parent, 21),
    "continue as new": Script(renewing, 3, (None, two_messages, None, None, one_message)),
    "clears": Script(clearing),
    "system values": Script(system_values),
    "cancel": Script(cancelled, None, (None, lambda run, _: run.complete(4, 1), lambda run, _: run.cancel("enough"))),
    "coroutine": Script(asynchronous, [1, 2, 3]),
}
