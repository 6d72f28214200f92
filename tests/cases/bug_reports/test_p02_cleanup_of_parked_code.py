"""P-02: being parked is not being finished; cleanup code that runs when parked code is closed writes nothing."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cases.bug_reports.living import Host, Way, living
from workbench import Client, DuckDBProvider, Runtime
from workbench.runtime import events as ev
from workbench.runtime.errors import ContextInactive

Cleanups = list[tuple[str, int]]
CLEANED: Cleanups = []
"""What the orchestrations' cleanup code notes outside: whose it was, and the thread that ran it."""
WAYS: tuple[Way, ...] = ("cold", "warm", "evicted", "restarted")
WAIT_MS = 60_000


def in_finally(ctx: Any, _: None) -> Any:
    try:
        yield ctx.schedule_activity("Echo", 1)
        yield ctx.schedule_activity("Echo", 2)
    finally:
        ctx.set_kv_value("cleanup", ctx.instance_id)
        CLEANED.append((ctx.instance_id, threading.get_ident()))
    return "ok"


async def awaiting_in_finally(ctx: Any, _: None) -> Any:
    try:
        await ctx.schedule_activity("Echo", 1)
        await ctx.schedule_activity("Echo", 2)
    finally:
        ctx.set_kv_value("cleanup", ctx.instance_id)
        CLEANED.append((ctx.instance_id, threading.get_ident()))
    return "ok"


class Lease:
    """Holds a key while its block runs."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx

    def __enter__(self) -> None:
        self.ctx.set_kv_value("lease", "held")

    def __exit__(self, kind: object, *_: object) -> None:
        self.ctx.clear_kv_value("lease")
        self.ctx.set_kv_value("released", "well" if kind is None else kind.__name__)  # type: ignore[attr-defined]
        CLEANED.append((self.ctx.instance_id, threading.get_ident()))

    async def __aenter__(self) -> None:
        self.__enter__()

    async def __aexit__(self, kind: object, *rest: object) -> None:
        self.__exit__(kind, *rest)


def with_lease(ctx: Any, _: None) -> Any:
    with Lease(ctx):
        yield ctx.schedule_activity("Echo", 1)
        yield ctx.schedule_timer(100)
    return "ok"


async def awaiting_with_lease(ctx: Any, _: None) -> Any:
    async with Lease(ctx):
        await ctx.schedule_activity("Echo", 1)
        await ctx.schedule_timer(100)
    return "ok"


FINALLY = {"finally-1": in_finally, "finally-2": in_finally, "await-finally": awaiting_in_finally}
WITH = {"with-1": with_lease, "with-2": with_lease, "await-with": awaiting_with_lease}


@pytest.fixture(params=WAYS)
def parking(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A host in each way, one of them with room for one parked execution."""
    CLEANED.clear()
    with living(request.param, tmp_path) as host:
        yield host


def test_nobody_sees_the_cleanup_before_the_end_and_it_is_recorded_once_by_its_own_instance(parking: Host) -> None:
    host = parking
    for name, code in {**FINALLY, **WITH}.items():
        host.orchestration(code, name)
        host.client.start_orchestration(name, name)

    def look() -> None:
        for name in FINALLY:
            ended = host.status(name) == "Completed"
            assert host.client.get_kv_all_values(name) == ({"cleanup": name} if ended else {})
        for name in WITH:
            ended = host.status(name) == "Completed"
            assert host.client.get_kv_all_values(name) == ({"released": "well"} if ended else {"lease": "held"})

    host.settle(look)
    for name in FINALLY:
        writes = [(each.type, each.instance_id, each.value) for each in host.events(name) if each.type == ev.KV_SET]
        assert writes == [(ev.KV_SET, name, name)]
        assert host.kinds(name)[-2:] == [ev.KV_SET, ev.COMPLETED]
    for name in WITH:
        assert host.kinds(name)[-4:] == [ev.TIMER_FIRED, ev.KV_CLEARED, ev.KV_SET, ev.COMPLETED]
        assert host.kinds(name).count(ev.KV_CLEARED) == 1
    assert all(host.output(name) == "ok" for name in (*FINALLY, *WITH))


@pytest.mark.parametrize(("way", "times"), [("cold", {1, 2, 3}), ("warm", {0, 1})])
def test_the_cleanup_of_parked_code_runs_when_it_is_closed_on_the_thread_that_closes_it_and_never_later(
    way: Way, times: set[int], tmp_path: Path
) -> None:
    """How often it runs differs: three times where every turn is made from the top, once where code is kept."""
    CLEANED.clear()
    counted: set[int] = set()
    gc.disable()
    try:
        with living(way, tmp_path) as host:
            host.start(in_finally)
            host.settle(lambda: counted.add(len(CLEANED)))
            host.output()
    finally:
        gc.enable()
    assert counted == times
    assert set(CLEANED) == {("i", threading.get_ident())}
    before = len(CLEANED)
    gc.collect()
    assert len(CLEANED) == before


def test_parked_code_that_is_dropped_from_the_cache_writes_nothing_and_goes_on_from_its_history(tmp_path: Path) -> None:
    CLEANED.clear()
    with living("warm", tmp_path) as host:
        host.start(with_lease)
        host.turn()
        before = host.events()
        host.warm.drop("i")
        assert [("i", threading.get_ident())] == CLEANED
        assert (host.events(), host.client.get_kv_all_values("i")) == (before, {"lease": "held"})
        host.settle()
        assert host.output() == "ok"
        assert host.client.get_kv_all_values("i") == {"released": "well"}


@pytest.mark.parametrize(
    "call",
    [
        lambda ctx: ctx.set_kv_value("late", "1"),
        lambda ctx: ctx.clear_all_kv_values(),
        lambda ctx: ctx.set_custom_status("late"),
        lambda ctx: ctx.get_kv_value("late"),
    ],
)
@pytest.mark.parametrize("way", ["cold", "warm"])
def test_a_context_that_is_kept_and_used_between_turns_or_after_the_end_refuses(
    way: Way, tmp_path: Path, call: Any
) -> None:
    kept = []

    def keeps(ctx: Any, _: None) -> Any:
        kept.append(ctx)
        yield ctx.schedule_activity("Echo", 1)
        return "ok"

    with living(way, tmp_path) as host:
        host.start(keeps)

        def look() -> None:
            for ctx in kept:
                with pytest.raises(ContextInactive):
                    call(ctx)
            assert host.client.get_kv_all_values("i") == {}

        host.settle(look)
        assert host.output() == "ok"
        assert host.kinds() == [ev.STARTED, ev.ACTIVITY_SCHEDULED, ev.ACTIVITY_COMPLETED, ev.COMPLETED]


def test_workers_of_several_threads_keep_the_instances_apart_while_activities_take_their_time() -> None:
    CLEANED.clear()
    names = [f"lease-{number}" for number in range(4)]
    may_end = threading.Event()

    def slow(_ctx: Any, _given: object) -> None:
        may_end.wait(WAIT_MS / 1000)

    def holds(ctx: Any, _: None) -> Any:
        with Lease(ctx):
            yield ctx.schedule_activity("Slow", ctx.instance_id)
        return ctx.get_kv_value("released")

    provider = DuckDBProvider()
    runtime = Runtime(provider)
    runtime.register_orchestration("Holds", holds)
    runtime.register_activity("Slow", slow)
    client = Client(provider)
    with runtime:
        for name in names:
            client.start_orchestration(name, "Holds")
        for name in names:
            assert client.wait_for_kv_value(name, "lease", WAIT_MS) == "held"
        for name in names:
            assert client.get_kv_all_values(name) == {"lease": "held"}
        may_end.set()
        for name in names:
            assert client.wait_for_orchestration(name, WAIT_MS).output == "well"
            assert client.get_kv_all_values(name) == {"released": "well"}
            writes = [each for each in provider.read_history(name, 1).events if each.type == ev.KV_SET]
            assert [(each.key, each.value) for each in writes] == [("lease", "held"), ("released", "well")]
    provider.close()
