"""Messages over continue-as-new."""

from __future__ import annotations

from typing import Any

from tests.oracle.cases import message
from tests.oracle.experiments.asking import experiment


@experiment(
    given=0,
    outside=[message(30, "Q", "a"), message(30, "Q", "b"), message(30, "R", "c"), message(30, "Q", "d")],
)
def carried_messages(ctx: Any, given: Any) -> Any:
    if given == 0:
        first = yield ctx.dequeue_event("Q")
        yield ctx.race(ctx.dequeue_event("S"), ctx.schedule_timer(20))
        yield ctx.continue_as_new([first])
    from tests.oracle.library import hold

    hold(0.02)
    one = yield ctx.dequeue_event("Q")
    two = yield ctx.dequeue_event("Q")
    three = yield ctx.dequeue_event("R")
    return [given, one, two, three]


@experiment(given=0, outside=[message(60, "Q", "a"), message(61, "Q", "b")])
def carried_past_a_dropped_taker(ctx: Any, given: Any) -> Any:
    if given == 0:
        yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(1))
        yield ctx.schedule_timer(100)
        yield ctx.continue_as_new(1)
    return (yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(50)))


@experiment(given=0, outside=[message(40, "Q", "a"), message(41, "Q", "b"), message(42, "Q", "c")])
def carried_with_a_taker_outstanding(ctx: Any, given: Any) -> Any:
    from tests.oracle.library import hold

    if given == 0:
        hold(0.08)
        got = yield ctx.race(ctx.dequeue_event("Q"), ctx.dequeue_event("Q"))
        yield ctx.continue_as_new([got])
    one = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(50))
    two = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(50))
    return [given, one, two]


@experiment(given=0, outside=[message(20, "Q", n) for n in range(6)] + [message(75, "Q", n) for n in range(6, 10)])
def carried_and_new_arrivals(ctx: Any, given: Any) -> Any:
    from tests.oracle.library import hold

    if given == 0:
        yield ctx.schedule_timer(50)
        yield ctx.dequeue_event("Q")
        ctx.set_custom_status("first")
        hold(0.05)
        yield ctx.continue_as_new(1)
    got = []
    for _ in range(9):
        got.append((yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(20))))
    return got


@experiment(given=0, outside=[message(20, "Q", n) for n in range(103)])
def more_than_can_be_carried(ctx: Any, given: Any) -> Any:
    if given == 0:
        yield ctx.schedule_timer(400)
        yield ctx.continue_as_new(1)
    yield ctx.schedule_timer(1)
    return "done"


@experiment()
def code_after_continue_as_new(ctx: Any, given: Any) -> Any:
    if given is None:
        ctx.set_kv_value("before", "1")
        try:
            got = yield ctx.continue_as_new({"n": 1})
            ctx.set_kv_value("after", repr(got))
        finally:
            ctx.set_kv_value("finally", "1")
    return given


@experiment()
def continue_as_new_typed_input(ctx: Any, given: Any) -> Any:
    if given is None:
        yield ctx.continue_as_new_typed("not json")
    return repr(given)
