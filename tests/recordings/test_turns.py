"""Turns that nobody wrote down, from order and times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.recordings.files import event, recorded
from workbench.recordings import open_source
from workbench.recordings.turns import first_events, infer_turns
from workbench.runtime import events as ev

Step = tuple[str, int]


def turns_of(*steps: Step) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Infer the turns of events of these kinds and times."""
    return infer_turns([event(i, kind, at_ms=at_ms) for i, (kind, at_ms) in enumerate(steps, start=1)])


def test_nothing_has_no_turns() -> None:
    assert infer_turns([]) == ((), ())


def test_operations_belong_to_the_turn_of_the_arrival_before_them() -> None:
    assert turns_of((ev.STARTED, 10), (ev.KV_SET, 10), (ev.TIMER_CREATED, 500)) == ((1, 1, 1), ())


def test_an_arrival_behind_an_operation_begins_a_turn_even_in_the_same_millisecond() -> None:
    assert turns_of((ev.STARTED, 10), (ev.TIMER_CREATED, 10), (ev.TIMER_FIRED, 10)) == ((1, 1, 2), ())


def test_an_arrival_behind_a_breadcrumb_begins_a_turn() -> None:
    steps = ((ev.STARTED, 10), (ev.ACTIVITY_CANCEL_REQUESTED, 10), (ev.EVENT_RECEIVED, 10))
    assert turns_of(*steps) == ((1, 1, 2), ())


def test_arrivals_of_one_millisecond_are_one_batch() -> None:
    assert turns_of((ev.STARTED, 10), (ev.QUEUE_MESSAGE, 10), (ev.CANCEL_REQUESTED, 10)) == ((1, 1, 1), ())


def test_arrivals_one_millisecond_apart_are_two_turns_that_may_be_one() -> None:
    assert turns_of((ev.STARTED, 10), (ev.EVENT_RECEIVED, 11), (ev.EVENT_RECEIVED, 11)) == ((1, 2, 2), (2,))


def test_arrivals_two_milliseconds_apart_are_two_turns() -> None:
    assert turns_of((ev.STARTED, 10), (ev.EVENT_RECEIVED, 12)) == ((1, 2), ())


def test_a_clock_that_steps_back_is_a_boundary() -> None:
    assert turns_of((ev.STARTED, 10), (ev.EVENT_RECEIVED, 9)) == ((1, 2), ())


def test_an_operation_one_millisecond_earlier_makes_no_soft_boundary() -> None:
    assert turns_of((ev.STARTED, 10), (ev.KV_SET, 10), (ev.EVENT_RECEIVED, 11)) == ((1, 1, 2), ())


def test_an_event_of_unknown_type_decides_nothing() -> None:
    assert turns_of((ev.STARTED, 10), ("Later", 77), (ev.EVENT_RECEIVED, 10)) == ((1, 1, 1), ())
    assert turns_of((ev.STARTED, 10), ("Later", 10), (ev.EVENT_RECEIVED, 12)) == ((1, 1, 2), ())


def test_rows_behind_an_ending_stay_in_its_turn() -> None:
    steps = ((ev.STARTED, 10), (ev.COMPLETED, 11), (ev.ACTIVITY_CANCEL_REQUESTED, 11))
    assert turns_of(*steps) == ((1, 1, 1), ())


def test_the_turns_of_a_recorded_loop_of_three_rounds() -> None:
    with open_source(recorded("P-01")) as source:
        (execution,) = source.recording("a").executions
    kinds = [event.type for event in execution.history.events]
    assert execution.turns_inferred
    assert execution.soft_boundaries == ()
    assert list(zip(execution.history.turns, kinds, strict=True)) == [
        (1, ev.STARTED),
        (1, ev.KV_SET),
        (1, ev.ACTIVITY_SCHEDULED),
        (2, ev.ACTIVITY_COMPLETED),
        (2, ev.KV_SET),
        (2, ev.ACTIVITY_SCHEDULED),
        (3, ev.ACTIVITY_COMPLETED),
        (3, ev.KV_SET),
        (3, ev.ACTIVITY_SCHEDULED),
        (4, ev.ACTIVITY_COMPLETED),
        (4, ev.COMPLETED),
    ]
    assert first_events(execution.history.events, execution.history.turns) == (1, 4, 7, 10)


KINDS = st.sampled_from([*sorted(ev.KNOWN_TYPES - {ev.STARTED}), "Later"])
STEPS = st.lists(st.tuples(KINDS, st.integers(0, 6)), max_size=30)


@given(STEPS)
def test_every_turn_has_its_arrivals_in_front(steps: list[Step]) -> None:
    """Turn numbers count up by one, and behind anything that is no arrival no arrival follows in the same turn."""
    steps = [(ev.STARTED, 0), *steps]
    events = [event(i, kind, at_ms=at_ms) for i, (kind, at_ms) in enumerate(steps, start=1)]
    turns, soft = infer_turns(events)
    assert turns[0] == 1
    other_seen: set[int] = set()
    for before, turn, now in zip((1, *turns), turns, events, strict=False):
        assert turn - before in (0, 1)
        if turn > before:
            assert now.type in ev.ARRIVALS
        if now.type in ev.ARRIVALS:
            assert turn not in other_seen
        elif now.type in ev.KNOWN_TYPES:
            other_seen.add(turn)
    assert set(soft) <= set(first_events(events, turns))
