"""Real turns to look at: code that was typed rather than saved, run on a real store, recorded and replayed."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from workbench.recordings import Recording, open_source
from workbench.recordings.replay import Replay
from workbench.run import Run
from workbench.runtime.errors import InstanceWaiting
from workbench.runtime.kv import KVModel
from workbench.runtime.limits import Limits
from workbench.session import Workbench

RECORDINGS = Path(__file__).parents[1] / "cases" / "recordings"

COUNTER = """\
def counter(ctx, rounds):
    for _ in range(rounds):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop", "")
    return ctx.get_kv_value("counter")
"""

FLOW = """\
def flow(ctx, _):
    ctx.set_kv_value("a", "1")
    yield ctx.schedule_activity("Work", "go")
    ctx.set_kv_value("b", "2")
    yield ctx.wait_for_event("proceed")
    return "done"
"""


def typed(source: str, name: str = "<typed>") -> Callable[..., Any]:
    """The last function of a source that was typed: its lines count from the `def`, no file is named."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found: dict[str, Any] = {}
    exec(compile(source, name, "exec"), found)  # noqa: S102
    function: Callable[..., Any] = [each for each in found.values() if callable(each)][-1]
    return function


def started(
    source: str,
    kv_model: KVModel = "delta",
    given: object = None,
    instance_id: str | None = None,
    limits: Limits | None = None,
    activities: Iterable[str] = ("Noop", "Work", "Work2", "Extra"),
    activity: Callable[..., Any] = lambda _, value: value,
) -> Run:
    """A run of typed code on a store in memory; every activity gives back its input unless told otherwise."""
    workbench = Workbench(kv_model=kv_model, limits=limits)
    function = typed(source, f"<typed {kv_model}>")
    name = function.__name__.title()
    workbench.orchestration(name)(function)
    for each in activities:
        workbench.activity(each)(activity)
    return workbench.start(name, given, instance_id)


def recorded(source: str, events: Iterable[tuple[str, object]] = (("proceed", 1),), **settings: Any) -> Recording:
    """The recording of typed code that ran until it ended or waits for more than these events."""
    run = started(source, **settings)
    for event in (*events, None):
        try:
            run.finish()
        except InstanceWaiting:
            if event is not None:
                run.raise_event(*event)
    return run.recording()


@cache
def recorded_once(source: str) -> Recording:
    """The recording of a source, made once for all tests; nobody can change it."""
    return recorded(source)


def changed(old: str, new: str, source: str = FLOW) -> Replay:
    """The recording of `source` replayed against it with one thing changed."""
    assert old in source
    return recorded_once(source).replay(typed(source.replace(old, new), "<now>"))


def counter(kv_model: KVModel, rounds: int = 5) -> Run:
    """The specification's counter, not yet run."""
    return started(COUNTER, kv_model, rounds)


def read_modify_write() -> Recording:
    """The history of a read-modify-write that the real duroxide wrote."""
    return open_source(RECORDINGS / "P-01_rmw.db").recording("a")


ECHO = """\
def O(ctx, _):
    for _ in range(3):
        n = int(ctx.get_kv_value("n") or "0")
        ctx.set_kv_value("n", str(n + 1))
        yield ctx.schedule_activity("Echo", 1)
    return ctx.get_kv_value("n")
"""
"""The code of `read_modify_write`."""
