"""Which subscriptions count as outstanding when an execution ends."""

from __future__ import annotations

import textwrap
from typing import Any

from tests.oracle.cases import Case, Outside, cancel, event, message
from tests.oracle.experiments.asking import EXPERIMENTS, experiment

HEAD = """
def program(ctx, given):
    from tests.oracle.library import hold

    if ctx.execution_id > 1:
        return "over"
    hold(0.08)
"""


def outstanding(label: str, body: str, *outside: Outside) -> None:
    """Add a case for each of the two endings that look for outstanding subscriptions."""
    source = HEAD + textwrap.indent(textwrap.dedent(body), "    ")
    again = source + "    yield ctx.continue_as_new('again')\n"
    EXPERIMENTS.append(Case(f"outstanding-{label}-continued", again, None, outside))
    cancelled = source + "    return 'done'\n"
    EXPERIMENTS.append(Case(f"outstanding-{label}-cancelled", cancelled, None, (*outside, cancel(60, "stop"))))


for count in (0, 1, 2, 3):
    outstanding(
        f"two_takers_{count}_messages",
        """
        yield ctx.race(ctx.dequeue_event("Q"), ctx.dequeue_event("Q"))
        """,
        *(message(30 + number, "Q", number) for number in range(count)),
    )
    outstanding(
        f"two_waits_{count}_events",
        """
        yield ctx.race(ctx.wait_for_event("E"), ctx.wait_for_event("E"))
        """,
        *(event(30 + number, "E", number) for number in range(count)),
    )
    outstanding(
        f"wait_and_go_{count}_events_after",
        """
        yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("E"))
        """,
        event(30, "go"),
        *(event(31 + number, "E", number) for number in range(count)),
    )
    outstanding(
        f"taker_and_go_{count}_messages_after",
        """
        yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("Q"))
        """,
        event(30, "go"),
        *(message(31 + number, "Q", number) for number in range(count)),
    )
# The turn of `noise` sleeps while `go`, the activity and the cancel arrive.
EXPERIMENTS.append(
    Case(
        "outstanding-activity_completes_behind_the_end",
        HEAD
        + """    yield ctx.race(ctx.schedule_activity("Slow", {"ms": 40}), ctx.wait_for_event("go"))
    return "done"
""",
        None,
        (event(100, "noise"), event(110, "go"), cancel(170, "stop")),
    )
)
outstanding(
    "wait_after_a_lost_event",
    """
    yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_timer(1000))
    yield ctx.race(ctx.wait_for_event("E"), ctx.dequeue_event("Q"))
    """,
    event(30, "E"),
    event(31, "go"),
    message(32, "Q", 1),
)
outstanding(
    "waits_after_an_event_for_the_first",
    """
    yield ctx.wait_for_event("E")
    yield ctx.race(ctx.wait_for_event("E"), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.wait_for_event("E"), ctx.dequeue_event("Q"))
    """,
    event(30, "E", 1),
    event(31, "E", 2),
    message(32, "Q", 1),
    message(33, "Q", 2),
)
outstanding(
    "taker_dropped_in_an_earlier_turn",
    """
    yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(1))
    yield ctx.schedule_timer(1)
    yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("Q"))
    """,
    event(400, "go"),
    message(401, "Q", 1),
)


outstanding(
    "new_taker_after_a_loser",
    """
    yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("Q"))
    yield ctx.dequeue_event("Q")
    """,
    event(30, "go"),
    message(31, "Q", 1),
    message(32, "R", 2),
)
outstanding(
    "new_wait_after_a_loser",
    """
    yield ctx.race(ctx.wait_for_event("go"), ctx.wait_for_event("E"))
    yield ctx.race(ctx.wait_for_event("E"), ctx.dequeue_event("R"))
    """,
    event(30, "go"),
    event(31, "E", 1),
    message(32, "R", 2),
)


@experiment(outside=[event(40, "go"), cancel(41, "because")])
def cancel_in_the_batch_of_the_ending(ctx: Any, _given: Any) -> Any:
    from tests.oracle.library import hold

    if ctx.get_kv_value("held") is None:
        hold(0.08)
    yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("Q"))
    ctx.set_kv_value("after", "1")
    yield ctx.race(ctx.schedule_activity("Slow", {"ms": 100}), ctx.wait_for_event("later"))
    return "completed"


@experiment(outside=[cancel(30, "one"), event(31, "go", 1), cancel(32, "two"), cancel(90, "three")])
def two_cancels(ctx: Any, _given: Any) -> Any:
    from tests.oracle.library import hold

    hold(0.06)
    yield ctx.wait_for_event("go")
    return "done"


@experiment(outside=[event(40, "go"), event(41, "go"), message(42, "Q", 1)])
def dropped_and_completing_in_one_batch(ctx: Any, _given: Any) -> Any:
    from tests.oracle.library import hold

    hold(0.06)
    first = yield ctx.race(ctx.wait_for_event("go"), ctx.dequeue_event("Q"))
    second = yield ctx.race(ctx.wait_for_event("go"), ctx.schedule_timer(100))
    third = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(100))
    return [first, second, third]


@experiment(outside=[event(60, "E", 1), event(120, "E", 2), event(180, "E", 3)])
def same_event_in_two_races(ctx: Any, _given: Any) -> Any:
    first = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(10))
    second = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(1000))
    third = yield ctx.race(ctx.wait_for_event("E"), ctx.wait_for_event("E"))
    fourth = yield ctx.race(ctx.wait_for_event("E"), ctx.schedule_timer(1000))
    return [first, second, third, fourth]


@experiment(outside=[event(60, "E", 1), event(61, "E", 2)])
def same_event_twice_in_all(ctx: Any, _given: Any) -> Any:
    return (yield ctx.all([ctx.wait_for_event("E"), ctx.wait_for_event("E")]))


@experiment(outside=[message(20, "Q", 1), message(20, "Q", 2)])
def race_of_two_reads_of_one_queue(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_timer(60)
    first = yield ctx.race(ctx.dequeue_event("Q"), ctx.dequeue_event("Q"))
    second = yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(50))
    return [first, second]
