"""Activities and child orchestrations that every program of the oracle may call.

All of them are functions of their input alone, except `Flaky`, which needs to fail first and succeed later, and
`Knock`, which calls the client.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

Program = Callable[..., Any]

holding = False
"""Set in the process of the real runtime."""

_calls: Counter[str] = Counter()
_counting = threading.Lock()


def digest(value: Any) -> str:
    """Eight hexadecimal digits that differ when the value does."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]


def hold(seconds: float) -> None:
    """Keep the turn busy, so that what arrives meanwhile becomes one batch; our engine is not made to wait."""
    if holding:
        time.sleep(seconds)


def echo(_ctx: Any, given: Any) -> Any:
    """Give the input back."""
    return given


def mix(_ctx: Any, given: Any) -> str:
    """Give a digest of the input."""
    return digest(["mix", given])


def slow(_ctx: Any, given: Any) -> str:
    """Take a few milliseconds, as many as the input says."""
    time.sleep(min(int(given["ms"]), 200) / 1000)
    return digest(["slow", given])


def fail(_ctx: Any, given: Any) -> None:
    """Raise `ValueError` with the input as its message."""
    raise ValueError(given)


def judge(_ctx: Any, given: Any) -> str:
    """Fail for about half of all inputs."""
    verdict = digest(["judge", given])
    if int(verdict, 16) % 2:
        raise RuntimeError(f"judged {verdict}")
    return verdict


def flaky(ctx: Any, given: Any) -> str:
    """Fail as often as `given["failures"]` says, then succeed; counted per instance and execution."""
    key = json.dumps([ctx.instance_id, ctx.execution_id, given], sort_keys=True)
    with _counting:
        _calls[key] += 1
        call = _calls[key]
    if call <= int(given["failures"]):
        raise RuntimeError(f"attempt {call} failed")
    return digest(["flaky", given])


def knock(ctx: Any, given: Any) -> str:
    """Send the instance its own events and messages, in the order of the list, while it waits."""
    client = ctx.get_client()
    time.sleep(int(given["ms"]) / 1000)
    for number, (call, name) in enumerate(given["calls"]):
        getattr(client, call)(ctx.instance_id, name, [name, number, given["of"]])
    return digest(["knock", given])


def child(ctx: Any, given: Any) -> Generator[Any, Any, Any]:
    """Call one activity and keep its result."""
    result = yield ctx.schedule_activity("Mix", given)
    ctx.set_kv_value("child", result)
    return [ctx.get_kv_value("child"), given]


def failing_child(ctx: Any, given: Any) -> Generator[Any, Any, Any]:
    """Call one activity, then raise."""
    result = yield ctx.schedule_activity("Mix", given)
    raise ValueError(f"child of {given} failed at {result}")


def waiting_child(ctx: Any, given: Any) -> Generator[Any, Any, Any]:
    """Wait for an event that never comes, until cancelled."""
    yield ctx.wait_for_event("never")
    return given


def renewing_child(ctx: Any, given: Any) -> Generator[Any, Any, Any]:
    """Continue as new once for each round that the input asks for."""
    yield ctx.schedule_timer(1)
    if given["rounds"] > 0:
        yield ctx.continue_as_new({**given, "rounds": given["rounds"] - 1})
    return digest(given)


ACTIVITIES: dict[str, Program] = {
    "Echo": echo,
    "Mix": mix,
    "Slow": slow,
    "Fail": fail,
    "Judge": judge,
    "Flaky": flaky,
    "Knock": knock,
}
CHILDREN: dict[str, Program] = {
    "Child": child,
    "FailingChild": failing_child,
    "WaitingChild": waiting_child,
    "RenewingChild": renewing_child,
}
