"""Retries are ordinary activities and timers, as the SDK makes them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import drive, kinds, new_rows, rows
from workbench.runtime import events as ev
from workbench.runtime.waiting import RETRY_TIMED_OUT, backoff_delay_ms

Flow = Generator[Any, Any, Any]


def yields(make: Callable[[Any], Any]) -> Callable[..., Flow]:
    """Code that yields one thing and returns what it gets, or the error it gets as `["Type", text]`."""

    def code(ctx: Any, _: object) -> Flow:
        try:
            return (yield make(ctx))
        except Exception as error:
            return [type(error).__name__, str(error)]

    return code


def retries(ctx: Any, retry: Any) -> Flow:
    try:
        return (yield ctx.schedule_activity_with_retry("A", "x", retry))
    except Exception as error:
        return ["gave up", str(error)]


def delays_of(retry: dict[str, Any], attempts: int) -> list[int]:
    """Fail every attempt; the delays that were waited."""
    driven = drive(retries, retry)
    for number in range(attempts):
        driven.turn(driven.failed(driven.events[-1].event_id, f"attempt {number + 1}"))
        if number < attempts - 1:
            driven.turn(driven.fired(driven.events[-1].event_id))
    assert driven.output == ["gave up", f"attempt {attempts}"]
    assert kinds(driven.events).count(ev.ACTIVITY_SCHEDULED) == attempts
    return [int(e.fire_at_ms or 0) - e.timestamp_ms for e in driven.events if e.type == ev.TIMER_CREATED]


@pytest.mark.parametrize(
    ("retry", "delays"),
    [
        ({}, [100, 200]),
        ({"max_attempts": 1}, []),
        ({"maxAttempts": 2}, [100]),
        ({"max_attempts": 5}, [100, 200, 400, 800]),
        ({"max_attempts": 4, "backoff": "exponential"}, [100, 200, 400]),
        ({"max_attempts": 3, "backoff": None}, [100, 200]),
        ({"max_attempts": 3, "backoff": "fixed"}, [1_000, 1_000]),
        ({"max_attempts": 4, "backoff": "linear"}, [100, 200, 300]),
        ({"max_attempts": 3, "backoff": "whatever"}, [100, 200]),
        ({"max_attempts": 3, "backoff": ""}, [100, 200]),
    ],
)
def test_attempts_and_delays_are_those_of_the_sdk(retry: dict[str, Any], delays: list[int]) -> None:
    assert delays_of(retry, len(delays) + 1) == delays


@pytest.mark.parametrize(
    ("backoff", "attempt", "delay"),
    [(None, 9, 25_600), (None, 10, 30_000), (None, 5_000, 30_000), ("linear", 300, 30_000), ("linear", 301, 30_000)],
)
def test_no_delay_is_longer_than_half_a_minute(backoff: str | None, attempt: int, delay: int) -> None:
    assert backoff_delay_ms(backoff, attempt) == delay


def test_a_retry_that_succeeds_gives_the_value() -> None:
    driven = drive(retries, {})
    driven.turn(driven.failed(2))
    driven.turn(driven.fired(4))
    driven.turn(driven.completed(6, "at last"))
    assert driven.output == "at last"
    assert rows(driven.events)[5] == '6 ActivityScheduled name=A input="x"'


@pytest.mark.parametrize(
    ("retry", "limit"),
    [
        ({"timeout_ms": 50}, 50),
        ({"timeoutMs": 0}, 0),
        ({"total_timeout_ms": 70}, 70),
        ({"totalTimeoutMs": 70, "timeout_ms": 5}, 70),
    ],
)
def test_a_time_limit_is_a_timer_beside_each_attempt(retry: dict[str, Any], limit: int) -> None:
    driven = drive(retries, retry)
    assert kinds(driven.events)[1:] == [ev.ACTIVITY_SCHEDULED, ev.TIMER_CREATED]
    assert int(driven.events[2].fire_at_ms or 0) - driven.events[2].timestamp_ms == limit
    driven.turn(driven.fired(3))
    assert driven.output == ["gave up", RETRY_TIMED_OUT]
    assert kinds(driven.last.events) == [ev.TIMER_FIRED, ev.ACTIVITY_CANCEL_REQUESTED, ev.COMPLETED]


def test_each_attempt_has_its_own_time_limit_and_the_old_timer_has_no_effect() -> None:
    driven = drive(retries, {"max_attempts": 2, "timeout_ms": 500})
    driven.turn(driven.failed(2))
    driven.turn(driven.fired(5))
    assert kinds(driven.last.events) == [ev.TIMER_FIRED, ev.ACTIVITY_SCHEDULED, ev.TIMER_CREATED]
    assert kinds(driven.turn(driven.fired(3)).events) == [ev.TIMER_FIRED]
    driven.turn(driven.completed(7, "in time"))
    assert driven.output == "in time"


def test_retries_work_inside_all_and_emit_in_the_order_of_the_arrivals() -> None:
    driven = drive(
        yields(
            lambda ctx: ctx.all(
                [
                    ctx.schedule_activity_with_retry("A", 1, {"max_attempts": 2}),
                    ctx.schedule_activity_with_retry("B", 2, {"max_attempts": 2}),
                ]
            )
        )
    )
    result = driven.turn(driven.failed(3), driven.failed(2))
    assert kinds(result.events) == [ev.ACTIVITY_FAILED, ev.ACTIVITY_FAILED, ev.TIMER_CREATED, ev.TIMER_CREATED]
    assert result.woken_by is None
    driven.turn(driven.fired(6), driven.fired(7))
    assert new_rows(driven.last) == [
        "10 ActivityScheduled name=B input=2",
        "11 ActivityScheduled name=A input=1",
    ]
    driven.turn(driven.completed(10, "b"), driven.failed(11, "no a"))
    assert driven.output == [{"err": "no a"}, {"ok": "b"}]


def test_a_retry_that_lost_a_race_is_dropped_where_it_stands() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.schedule_activity_with_retry("A", 1, {}), ctx.wait_for_event("stop"))
        yield ctx.wait_for_event("end")

    in_an_attempt = drive(code)
    in_an_attempt.turn(in_an_attempt.raised("stop"))
    assert kinds(in_an_attempt.last.events)[-1] == ev.ACTIVITY_CANCEL_REQUESTED

    in_its_delay = drive(code)
    in_its_delay.turn(in_its_delay.failed(2))
    in_its_delay.turn(in_its_delay.raised("stop"))
    assert new_rows(in_its_delay.last) == ["7 ExternalSubscribed name=end"]
    assert kinds(in_its_delay.turn(in_its_delay.fired(5)).events) == [ev.TIMER_FIRED]
