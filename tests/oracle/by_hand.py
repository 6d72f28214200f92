"""Orchestrations by hand, one feature each, with what happens to them from outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle.cases import Case, Outside, cancel, case_of, event, message

BY_HAND: list[Case] = []


def by_hand(given: Any = None, outside: Sequence[Outside] = ()) -> Callable[[Any], Any]:
    """Add the decorated orchestration to the cases."""

    def add(function: Any) -> Any:
        BY_HAND.append(case_of(function, f"by-hand-{function.__name__}", given, outside))
        return function

    return add


@by_hand(given=5)
def counter(ctx: Any, rounds: Any) -> Any:
    """The read-modify-write that the first KV design got wrong."""
    for _ in range(rounds):
        count = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", count + 1)
        yield ctx.schedule_activity("Echo", count)
    return int(ctx.get_kv_value("counter"))


@by_hand()
def every_kv_call(ctx: Any, given: Any) -> Any:
    """Two executions: what the first leaves is pruned by age in the second."""
    if given is None:
        for key in ("b", "a", "é", ""):
            ctx.set_kv_value(key, f"value of {key}")
        ctx.clear_kv_value("never set")
        yield ctx.schedule_timer(2)
        ctx.clear_kv_value("b")
        ctx.set_kv_value("a", "")
        yield ctx.continue_as_new(ctx.get_kv_all_keys())
    now = yield ctx.utc_now()
    ctx.set_kv_value("new", 1)
    pruned = ctx.prune_kv_values_updated_before(now)
    seen = [ctx.get_kv_value("a"), ctx.get_kv_value("new"), ctx.get_kv_length(), ctx.get_kv_all_values()]
    ctx.clear_all_kv_values()
    ctx.set_kv_value("last", "1")
    return [given, pruned, seen]


@by_hand()
def failing_activities(ctx: Any, _given: Any) -> Any:
    """One failure caught and worked on, one that ends everything after the `finally`."""
    try:
        yield ctx.schedule_activity("Fail", "first\nsecond line")
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
        yield ctx.schedule_activity("Mix", "after the failure")
    try:
        yield ctx.schedule_activity("Fail", "")
    finally:
        ctx.set_kv_value("finally", "1")


@by_hand()
def retries(ctx: Any, _given: Any) -> Any:
    """A retry that succeeds at last, one that does not, one whose time is up."""
    flaky = yield ctx.schedule_activity_with_retry("Flaky", {"failures": 2}, {"max_attempts": 3, "backoff": "linear"})
    results = [flaky]
    for name, given, retry in (
        ("Fail", "always", {"max_attempts": 2}),
        ("Slow", {"ms": 100}, {"max_attempts": 2, "timeout_ms": 5}),
    ):
        try:
            results.append((yield ctx.schedule_activity_with_retry(name, given, retry)))
        except Exception as error:
            results.append(str(error))
    return results


@by_hand(outside=[event(30, "approved", {"by": "Zoë"})])
def approval(ctx: Any, _given: Any) -> Any:
    """An event before the time is up, then none before the time is up."""
    first = yield ctx.race(ctx.wait_for_event("approved"), ctx.schedule_timer(3_000))
    second = yield ctx.race(ctx.wait_for_event("approved"), ctx.schedule_timer(5))
    return [first, second]


@by_hand(given=[], outside=[message(after_ms, "jobs", after_ms) for after_ms in (0, 0, 0, 20, 20, 60, 90)])
def work_queue(ctx: Any, done: Any) -> Any:
    """Three messages an execution; the unread ones are carried over."""
    for _ in range(3):
        job = yield ctx.race(ctx.dequeue_event("jobs"), ctx.schedule_timer(400))
        if job["index"] == 1:
            return done
        done.append((yield ctx.schedule_activity("Mix", job["value"])))
    yield ctx.continue_as_new(done)


@by_hand(outside=[event(40, "go"), event(40, "never"), *(message(41, "Q", number) for number in range(5))])
def losers_of_every_kind(ctx: Any, _given: Any) -> Any:
    """Losers in the same batch, losers in flight, and their rows in the turn that ends."""
    first = yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("never"))
    second = yield ctx.race(ctx.schedule_activity("Slow", {"ms": 80}), ctx.dequeue_event("Q"))
    third = yield ctx.race(ctx.dequeue_event("R"), ctx.dequeue_event("Q"))
    retry = ctx.schedule_activity_with_retry("Slow", {"ms": 80}, {"max_attempts": 2, "timeout_ms": 500})
    fourth = yield ctx.race(retry, ctx.dequeue_event("Q"))
    fifth = yield ctx.race(ctx.schedule_timer(300), ctx.dequeue_event("Q"))
    return [first, second, third, fourth, fifth]


@by_hand(outside=[event(20, "E", 1), message(20, "Q", 2)])
def fan_out(ctx: Any, _given: Any) -> Any:
    """One of each, some failing; an empty join between."""
    nothing = yield ctx.all([])
    everything = yield ctx.all(
        [
            ctx.schedule_activity("Mix", 1),
            ctx.schedule_activity("Fail", "no"),
            ctx.schedule_timer(1),
            ctx.wait_for_event("E"),
            ctx.dequeue_event("Q"),
            ctx.schedule_activity("Mix", 2).with_tag("gpu"),
            ctx.schedule_activity_on_session("Mix", 3, "session"),
            ctx.schedule_activity_typed("Echo", "plain text"),
        ]
    )
    typed = yield ctx.all_typed([ctx.schedule_activity("Mix", 4), ctx.schedule_activity("Fail", "too")])
    return [nothing, everything, typed]


@by_hand(given={"round": 0, "sum": 0})
def rounds(ctx: Any, given: Any) -> Any:
    """KV and custom status over three executions."""
    ctx.set_custom_status(f"round {given['round']}")
    ctx.set_kv_value(f"round {given['round']}", ctx.execution_id)
    yield ctx.schedule_activity("Echo", given["sum"])
    if given["round"] < 2:
        yield ctx.continue_as_new({"round": given["round"] + 1, "sum": given["sum"] + ctx.execution_id})
    return [given, ctx.get_kv_all_keys()]


@by_hand()
def custom_status(ctx: Any, _given: Any) -> Any:
    """Set twice in a turn, reset, set again; what the code reads back."""
    seen = [ctx.get_custom_status()]
    for statuses in (("one", "two"), (), ("three",)):
        for status in statuses:
            ctx.set_custom_status(status)
        if not statuses:
            ctx.reset_custom_status()
        seen.append(ctx.get_custom_status())
        yield ctx.schedule_timer(1)
        seen.append(ctx.get_custom_status())
    return seen


@by_hand(outside=[cancel(60, "no longer needed")])
def cancelled_while_waiting(ctx: Any, _given: Any) -> Any:
    """An activity, an event and a queue outstanding; the `finally` of parked code leaves no trace."""
    ctx.set_kv_value("before", "1")
    try:
        yield ctx.all([ctx.wait_for_event("E"), ctx.dequeue_event("Q"), ctx.schedule_activity("Slow", {"ms": 150})])
    finally:
        ctx.set_kv_value("cleaned", "1")


@by_hand()
def children_and_detached(ctx: Any, _given: Any) -> Any:
    """Children that complete, fail, go on as new and are dropped; a detached start."""
    results = [(yield ctx.schedule_sub_orchestration("Child", "one"))]
    try:
        yield ctx.schedule_sub_orchestration("FailingChild", "two")
    except Exception as error:
        results.append(str(error).splitlines()[-1])
    results.append((yield ctx.schedule_sub_orchestration_with_id("RenewingChild", "by-hand-renewing", {"rounds": 1})))
    results.append((yield ctx.race(ctx.schedule_sub_orchestration("WaitingChild", 1), ctx.schedule_timer(20))))
    results.append((yield ctx.start_orchestration("Child", "by-hand-detached", "three")))
    return results


@by_hand(given=3)
def helpers(ctx: Any, depth: Any) -> Any:
    """Generators in generators, with what they return and raise."""

    def descend(level: int) -> Any:
        ctx.set_kv_value(f"level {level}", "entered")
        if level == 0:
            yield ctx.schedule_activity("Fail", "at the bottom")
        try:
            below = yield from descend(level - 1)
        except Exception as error:
            result = yield ctx.schedule_activity("Mix", [level, str(error)])
            raise ValueError(f"{level}: {result}") from error
        return below

    try:
        return (yield from descend(depth))
    except ValueError as error:
        return str(error)


@by_hand()
def system_values(ctx: Any, _given: Any) -> Any:
    """Guid, time, and a value that another instance holds (here: itself)."""
    guid = yield ctx.new_guid()
    now = yield ctx.utc_now()
    ctx.set_kv_value("guid", guid)
    yield ctx.schedule_timer(1)
    own = yield ctx.get_kv_value_from_instance(ctx.instance_id, "guid")
    nobody = yield ctx.get_kv_value_from_instance("nobody", "guid")
    return [len(guid), type(now).__name__, own == guid, nobody]


@by_hand(given=[1, None, "é"])
def plain_function(ctx: Any, given: Any) -> Any:
    """No generator at all."""
    ctx.set_kv_value("k", given)
    return {"given": given}
