"""The `retry` dictionary: delays, timeouts, numbers of attempts."""

from __future__ import annotations

from typing import Any

from tests.oracle.experiments.asking import experiment, experiment_each


@experiment_each(
    default={},
    one={"max_attempts": 1},
    two={"max_attempts": 2},
    zero={"max_attempts": 0},
    camel={"maxAttempts": 2},
    four={"max_attempts": 4, "backoff": None},
    exponential={"max_attempts": 3, "backoff": "exponential"},
    fixed={"max_attempts": 2, "backoff": "fixed"},
    linear={"max_attempts": 4, "backoff": "linear"},
    none={"max_attempts": 4, "backoff": "none"},
    blank={"max_attempts": 4, "backoff": ""},
    constant={"max_attempts": 2, "backoff": "constant"},
    capital={"max_attempts": 2, "backoff": "Fixed"},
    unknown={"max_attempts": 4, "backoff": "whatever"},
    dictionary={"max_attempts": 2, "backoff": {"type": "fixed", "delayMs": 5}},
    number={"max_attempts": 2, "backoff": 5},
    negative={"max_attempts": -1},
    fraction={"max_attempts": 1.5},
    text={"max_attempts": "2"},
    null={"max_attempts": None},
    negative_timeout={"timeout_ms": -1},
    fraction_timeout={"timeout_ms": 1.5},
    both_timeouts={"max_attempts": 2, "timeout_ms": 40, "total_timeout_ms": 250},
    both_timeouts_reversed={"max_attempts": 2, "timeout_ms": 250, "total_timeout_ms": 40},
    total_timeout={"max_attempts": 4, "total_timeout_ms": 150},
    total_timeout_short={"max_attempts": 4, "total_timeout_ms": 1},
)
def retry_that_fails(ctx: Any, given: Any) -> Any:
    try:
        got = yield ctx.schedule_activity_with_retry("Fail", "never", given)
    except Exception as error:
        got = [type(error).__name__, str(error)]
        ctx.set_kv_value("caught", repr(got))
    yield ctx.schedule_timer(1)
    return got


@experiment_each(
    succeeds={"max_attempts": 3, "timeout_ms": 60},
    zero={"max_attempts": 2, "timeout_ms": 0},
)
def retry_with_timeout(ctx: Any, given: Any) -> Any:
    got = yield ctx.schedule_activity_with_retry("Flaky", {"failures": 1}, given)
    return got


@experiment()
def retry_of_no_attempts(ctx: Any, _given: Any) -> Any:
    ctx.set_kv_value("before", "1")
    yield ctx.schedule_timer(1)
    ctx.set_kv_value("same turn", "1")
    try:
        yield ctx.schedule_activity_with_retry("Echo", 1, {"max_attempts": 0})
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
    return "done"


@experiment()
def retry_timed_out(ctx: Any, _given: Any) -> Any:
    try:
        yield ctx.schedule_activity_with_retry("Slow", {"ms": 120}, {"max_attempts": 3, "timeout_ms": 10})
    except Exception as error:
        ctx.set_kv_value("caught", str(error))
    yield ctx.schedule_timer(1)
    return "done"


@experiment()
def retry_with_tag(ctx: Any, _given: Any) -> Any:
    got = yield ctx.schedule_activity_with_retry("Flaky", {"failures": 1}, {"max_attempts": 2}).with_tag("gpu")
    return got


@experiment()
def retry_on_session(ctx: Any, _given: Any) -> Any:
    got = yield ctx.schedule_activity_with_retry_on_session("Flaky", {"failures": 1}, {"max_attempts": 2}, "s1")
    again = yield ctx.schedule_activity_with_retry_typed("Flaky", {"failures": 1, "n": 2}, {"max_attempts": 2})
    return [got, again]


@experiment()
def two_retries_at_once(ctx: Any, _given: Any) -> Any:
    retry = {"max_attempts": 3}
    got = yield ctx.all(
        [
            ctx.schedule_activity_with_retry("Flaky", {"failures": 1, "n": 1}, retry),
            ctx.schedule_activity_with_retry("Flaky", {"failures": 2, "n": 2}, retry),
        ]
    )
    return got


@experiment()
def retry_lost_in_its_delay(ctx: Any, _given: Any) -> Any:
    got = yield ctx.race(ctx.schedule_activity_with_retry("Fail", "never", {"max_attempts": 5}), ctx.schedule_timer(60))
    yield ctx.schedule_timer(1)
    return got
