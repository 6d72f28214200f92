"""The orchestrations that wrote the recordings, from the scenarios of the public bug cases and their histories."""

from __future__ import annotations


def read_modify_write(ctx, _given):
    """P-01: what is read is what was written, one round earlier."""
    for _ in range(3):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        yield ctx.schedule_activity("Echo", 1)
    return ctx.get_kv_value("n")


def cleanup_in_finally(ctx, _given):
    """P-02: the `finally` block writes a key; being parked is not being finished."""
    try:
        yield ctx.schedule_activity("Slow", 1)
        yield ctx.schedule_activity("Echo", 2)
    finally:
        ctx.set_kv_value("cleanup", "ran")
    return "ok"


class Lease:
    """Holds a key while its block runs, and notes what ended it."""

    def __init__(self, ctx):
        self.ctx = ctx

    def __enter__(self):
        self.ctx.set_kv_value("lease", "held")

    def __exit__(self, kind, _error, _traceback):
        self.ctx.clear_kv_value("lease")
        self.ctx.set_kv_value("released", kind)


def lease(ctx, _given):
    """P-02b: the same through a `with` block."""
    with Lease(ctx):
        yield ctx.schedule_activity("Slow", 1)
        yield ctx.wait_for_event("go")
    return ctx.get_kv_value("released")


def compensation(ctx, _given):
    """P-03: work scheduled inside `except`."""
    done = []
    for number in range(3):
        try:
            if number == 1:
                done.append((yield ctx.schedule_activity("Echo", number)))
            else:
                done.append((yield ctx.schedule_activity("Boom", number)))
        except Exception as error:
            done.append(f"E:{error}")
            done.append((yield ctx.schedule_activity("Echo", f"comp{number}")))
    return done


def same_task_twice(ctx, _given):
    """P-04: a task is a description, scheduled anew each time it is yielded; an empty join is done at once."""
    task = ctx.schedule_activity("Echo", 1)
    first = yield task
    second = yield task
    member = ctx.schedule_activity("Echo", 2)
    both = yield ctx.all([member, member])
    yield ctx.all([])
    return [first, second, both]


def timer_then_activity(ctx, _given):
    """P-06: the delay of the first pass, the input of the second, the output of the third."""
    yield ctx.schedule_timer(100)
    yield ctx.schedule_activity("Echo", 2)
    return 3


def value_of_activity(ctx, name):
    """P-08, ids beginning with `a-`: a value as an activity gives it."""
    value = yield ctx.schedule_activity("Val", name)
    yield ctx.schedule_activity("Echo", 1)
    return {"t": type(value).__name__, "v": value}


def clear_and_set(ctx, given):
    """P-11: an execution that leaves two keys, and one that clears all and sets one again."""
    if given == 0:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.schedule_activity("Echo", 1)
        yield ctx.continue_as_new(1)
    seen = [ctx.get_kv_value("a"), ctx.get_kv_value("b")]
    ctx.clear_all_kv_values()
    ctx.set_kv_value("a", "2")
    left = ctx.get_kv_all_values()
    yield ctx.wait_for_event("go")
    return [seen, left]


def event_before_the_wait(ctx, _given):
    """P-12 a: the event comes while the activity runs."""
    yield ctx.schedule_activity("Slow", 1)
    return (yield ctx.wait_for_event("E"))


def event_twice(ctx, _given):
    """P-12 b and d: the second wait has a timer beside it."""
    first = yield ctx.wait_for_event("E")
    second = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(700))
    return [first, second]


VALUES = {
    "nan": float("nan"),
    "inf": float("inf"),
    "big": 2**70,
    "bytes": b"x",
    "set": {1},
    "tuple": (1, 2),
    "intkey": {1: "a"},
    "surr": "\ud83d",
    "nul": "a\0b",
    "false": False,
    "zero": 0,
    "empty": "",
    "none": None,
    "strnum": "123",
    "strjson": '{"a":1}',
    "float": 0.1 + 0.2,
    "bigfloat": 1e308,
    "negzero": -0.0,
}


def value_of_orchestration(ctx, name):
    """P-08, ids beginning with `b-`: a value as the orchestration itself gives it."""
    yield ctx.schedule_activity("Echo", 1)
    return VALUES[name]


MESSAGES = [False, 0, "", None, [], {}, -0.0, 0.1 + 0.2, 2**70, float("nan"), float("inf"), "123", '{"a":1}']


def values_of_queue(ctx, count):
    """P-08, one with a queue: every message with its type, in the order it was sent."""
    values = []
    for _ in range(count):
        value = yield ctx.dequeue_event("values")
        values.append([type(value).__name__, value])
    return values


def fan_out(ctx, _given):
    """P-05: one activity for each name of a set, in the order in which the recording process met them."""
    names = ["zeta", "beta", "eps", "theta", "delta", "alpha", "gamma", "eta"]
    yield ctx.all([ctx.schedule_activity("Echo", name) for name in names])
    yield ctx.wait_for_event("go")
    return names


def mutable_default(ctx, _given, seen=[]):  # noqa: B006 (that is the case)
    """P-07 a: the default list lives longer than the call."""
    seen.append(1)
    yield ctx.schedule_activity("Echo", len(seen))
    return len(seen)


def mutable_result(ctx, _given, seen=[]):  # noqa: B006 (that is the case)
    """P-07 b: only the result shows it."""
    seen.append(1)
    yield ctx.schedule_activity("Echo", "x")
    yield ctx.schedule_activity("Echo", "y")
    return len(seen)


def registered_again(ctx, _given):
    """P-13: the code that the instances began with."""
    result = yield ctx.schedule_activity("Echo", "old")
    yield ctx.wait_for_event("go")
    return result


def before_the_change(ctx, _given):
    """P-14: the code that wrote the first six events of every instance."""
    yield ctx.schedule_activity("Echo", "1")
    yield ctx.schedule_activity("Echo", "2")
    yield ctx.wait_for_event("go")
    return "done"
