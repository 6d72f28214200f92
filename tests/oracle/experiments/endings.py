"""How a turn ends in which losers of every kind were dropped.

Messages that wait in a queue decide the races, so that all of them are over in one turn; the first turn sleeps, so
that everything from outside is in one batch.
"""

from __future__ import annotations

from tests.oracle.cases import Case, cancel, event, message
from tests.oracle.experiments.asking import EXPERIMENTS


def _ending_source(ending: str) -> str:
    return f"""
def program(ctx, given):
    from tests.oracle.library import hold

    if ctx.execution_id > 1:
        return (yield ctx.race(ctx.dequeue_event("Q"), ctx.schedule_timer(30)))
    hold(0.08)
    yield ctx.race(ctx.schedule_sub_orchestration("WaitingChild", 1), ctx.wait_for_event("go"))
    yield ctx.race(ctx.wait_for_event("never"), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.dequeue_event("R"), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.schedule_activity("Slow", {{"ms": 200, "n": 1}}), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.schedule_timer(100), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.schedule_activity_with_retry("Slow", {{"ms": 200, "n": 2}}, {{}}), ctx.dequeue_event("Q"))
    yield ctx.race(ctx.wait_for_event("never"), ctx.dequeue_event("Q"))
    {ending}
"""


ENDINGS = {
    "going_on": "yield ctx.schedule_timer(150)",
    "completed": "return 'done'",
    "failed": "raise ValueError('bad')",
    "cancelled": "return 'done'",
    "cancelled_waiting": "yield ctx.all([ctx.wait_for_event('never'), ctx.dequeue_event('R'), ctx.schedule_timer(1),"
    " ctx.schedule_activity('Slow', {'ms': 200, 'n': 3}), ctx.schedule_sub_orchestration('WaitingChild', 2)])",
    "continued_as_new": "yield ctx.continue_as_new('again')",
    "detached_completed": "yield ctx.start_orchestration('Child', 'ending-detached', 1)",
    "detached_cancelled": "yield ctx.start_orchestration('Child', 'ending-detached-cancelled', 1)",
    "child_of_this_turn_dropped": "yield ctx.race(ctx.schedule_sub_orchestration('WaitingChild', 2),"
    " ctx.dequeue_event('Q'))",
}
ALONE = (
    "ending-cancelled",
    "ending-cancelled_waiting",
    "ending-detached_cancelled",
    "ending-child_of_this_turn_dropped",
    "child_of_cancelled",
)
"""Cases that may block the queue for everybody after them: a cancel is sent to a child that was never started."""


for label, ending in ENDINGS.items():
    outside = [event(29, "go"), *(message(30, "Q", number) for number in range(8))]
    if "cancelled" in label:
        outside.append(cancel(40, "stop now"))
    EXPERIMENTS.append(Case(f"ending-{label}", _ending_source(ending), None, tuple(outside)))
