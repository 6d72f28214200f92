"""SIGINT where it hurts: in orchestration code, a commit, an activity, a query, a wait; and twice (P-19)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any

import duckdb
import pytest

from tests.interrupts.program import facts, uninterrupted
from workbench import Workbench
from workbench.runtime.clock import SystemClock
from workbench.store import committing
from workbench.store.database import Changes

Flow = Generator[Any, Any, Any]
SECONDS = 60
ENDLESS_QUERY = "SELECT sum(a.range * b.range % 7) FROM range(10000000) AS a, range(10000000) AS b"


class Once:
    """Sends this process SIGINT the first time it is called."""

    def __init__(self, times: int = 1) -> None:
        self.left = times

    def __call__(self, *_: object) -> bool:
        struck = self.left > 0
        if struck:
            self.left -= 1
            signal.raise_signal(signal.SIGINT)
        return struck


def after(ready: Callable[[], bool]) -> threading.Thread:
    """Sends this process SIGINT from a thread as soon as something is so."""

    def send() -> None:
        until = time.monotonic() + SECONDS
        while not ready() and time.monotonic() < until:
            time.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def main_thread_waits() -> bool:
    """Whether the main thread waits for a change of its store."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    return frame is not None and frame.f_code is Changes.wait.__code__


def locks(wb: Workbench) -> list[int]:
    return [
        wb.provider.query(f"SELECT count(*) FROM {table} WHERE lock_token IS NOT NULL")[1][0][0]
        for table in ("instance_locks", "orchestrator_queue", "worker_queue")
    ]


def with_one(interrupt: Once, swallows: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The same orchestration twice, as a generator and as a coroutine; the interrupt strikes in its second turn."""

    def strike() -> str:
        if not swallows:
            interrupt()
            return "done"
        try:
            interrupt()
        except BaseException:
            return "swallowed"
        return "done"

    def flow(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("n", "1")
        yield ctx.schedule_activity("Double", 2)
        ctx.set_kv_value("n", "2")
        word = strike()
        ctx.set_kv_value("n", word)
        return word

    async def coroutine(ctx: Any, _: object) -> str:
        ctx.set_kv_value("n", "1")
        await ctx.schedule_activity("Double", 2)
        ctx.set_kv_value("n", "2")
        word = strike()
        ctx.set_kv_value("n", word)
        return word

    return flow, coroutine


@pytest.mark.parametrize("form", [0, 1], ids=["generator", "coroutine"])
@pytest.mark.parametrize("swallows", [False, True], ids=["let out", "swallowed"])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_an_interrupt_in_the_code_discards_the_turn_whatever_the_code_does_about_it(
    form: int, swallows: bool, warm: bool
) -> None:
    with Workbench(warm=warm) as wb:
        wb.activity("Double")(lambda _, number: 2 * number)
        interrupt = Once()
        run = wb.start(wb.orchestration("Flow")(with_one(interrupt, swallows)[form]))
        run.turn()
        now_ms = wb.clock.now_ms()
        with pytest.raises(KeyboardInterrupt):
            run.turn()
        assert interrupt.left == 0
        assert (run.status, run.kv, len(run.turns)) == ("Running", {"n": "1"}, 1)
        assert locks(wb) == [0, 0, 0]
        assert run.finish().output == "done"
        assert [turn.number for turn in run.turns] == [1, 2]
        assert wb.clock.now_ms() == now_ms


@pytest.mark.parametrize("swallows", [False, True], ids=["let out", "swallowed"])
def test_an_interrupt_in_an_activity_leaves_it_to_be_run_again(wb: Workbench, swallows: bool) -> None:
    interrupt = Once()

    @wb.activity("Slow")
    def slow(_: object, __: object) -> str:
        if swallows:
            with suppress(BaseException):
                interrupt()
                return "done"
            return "swallowed"
        interrupt()
        return "done"

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Slow"))

    run = wb.start(flow)
    run.turn()
    now_ms = wb.clock.now_ms()
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert [each.name for each in wb.provider.pending_activities("flow-1")] == ["Slow"]
    assert locks(wb) == [0, 0, 0]
    assert run.finish().output == "done"
    assert [turn.number for turn in run.turns] == [1, 2]
    assert wb.clock.now_ms() == now_ms


def test_a_query_that_is_interrupted_in_an_activity_is_no_failure_of_it(wb: Workbench) -> None:
    """DuckDB makes `RuntimeError: Query interrupted` of it, which looks like any error of an activity."""
    asked: list[str] = []

    @wb.activity("Query")
    def query(_: object, __: object) -> int:
        asked.append("SELECT 42" if asked else ENDLESS_QUERY)
        with duckdb.connect() as connection:
            return int(connection.execute(asked[-1]).fetchall()[0][0])

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        return (yield ctx.schedule_activity("Query"))

    run = wb.start(flow)
    run.turn()
    sender = after(lambda: bool(asked))
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    sender.join()
    assert run.finish().output == 42


def test_a_commit_that_is_interrupted_is_made_and_says_so_afterwards(
    wb: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = uninterrupted(wb, rounds=1)
    interrupt = Once()
    write_history = committing._write_history
    monkeypatch.setattr(committing, "_write_history", lambda *given: (interrupt(), write_history(*given)))
    began_ms = wb.clock.now_ms()
    run = wb.start("Flow", 1)
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert [turn.number for turn in run.turns] == [1]
    assert locks(wb) == [0, 0, 0]
    run.finish()
    assert facts(wb, run, began_ms) == wanted


def test_a_query_of_the_user_is_stopped_and_the_store_goes_on(wb: Workbench) -> None:
    run = wb.start("Flow", 1)
    run.turn()
    sender = after(lambda: bool(wb.provider._store._busy))
    with pytest.raises(KeyboardInterrupt):
        wb.sql(ENDLESS_QUERY)
    sender.join()
    assert not wb.provider._store._busy
    assert len(wb.sql("SELECT * FROM instances")) == 1
    assert run.finish().status == "Completed"


def test_an_interrupted_wait_ends_the_wait_and_the_runtime_goes_on(wb: Workbench) -> None:
    @wb.orchestration
    def waits(ctx: Any, _: object) -> Flow:
        return (yield ctx.wait_for_event("go"))

    wb.start(waits)
    with wb.runtime:
        for _ in range(3):
            sender = after(main_thread_waits)
            with pytest.raises(KeyboardInterrupt):
                wb.client.wait_for_orchestration("waits-1", timeout_ms=SECONDS * 1_000)
            sender.join()
            assert wb.runtime.is_running
        wb.client.raise_event("waits-1", "go", "still here")
        assert wb.client.wait_for_orchestration("waits-1").output == "still here"


def test_an_interrupted_wait_for_a_timer_leaves_the_instance_where_it_was() -> None:
    with Workbench(clock=SystemClock()) as wb:

        @wb.orchestration
        def sleeps(ctx: Any, _: object) -> Flow:
            yield ctx.race(ctx.schedule_timer(3_600_000), ctx.wait_for_event("go"))
            return "awake"

        run = wb.start(sleeps)
        run.turn()
        sender = after(main_thread_waits)
        with pytest.raises(KeyboardInterrupt):
            run.turn()
        sender.join()
        assert len(run.turns) == 1
        run.raise_event("go")
        assert run.finish().output == "awake"


def test_two_interrupts_in_one_turn_discard_it_once(wb: Workbench) -> None:
    interrupt = Once(2)

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        try:
            ctx.set_kv_value("n", "1")
            interrupt()
        finally:
            interrupt()
        return (yield ctx.schedule_activity("Double", 4))

    run = wb.start(flow)
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert (interrupt.left, run.status, locks(wb)) == (0, "Pending", [0, 0, 0])
    assert run.finish().output == 8


def test_an_interrupt_while_the_claim_is_given_back_does_not_keep_the_lock(
    wb: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt = Once(2)
    abandon = wb.provider.abandon
    monkeypatch.setattr(wb.provider, "abandon", lambda *given, **named: (interrupt(), abandon(*given, **named)))

    @wb.orchestration
    def flow(ctx: Any, _: object) -> str:
        interrupt()
        return "done"

    run = wb.start(flow)
    with pytest.raises(KeyboardInterrupt):
        run.turn()
    assert (interrupt.left, locks(wb)) == (0, [0, 0, 0])
    assert run.finish().output == "done"


def test_a_handler_that_raises_nothing_stops_nothing(wb: Workbench) -> None:
    """As in a program that only notes SIGINT, to stop when it likes."""
    noted: list[int] = []
    interrupt = Once(3)
    wb.activity("Notes")(lambda *_: interrupt())

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        interrupt()
        yield ctx.schedule_activity("Notes")
        interrupt()
        return "done"

    run = wb.start(flow)
    signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        assert run.finish().output == "done"
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert noted == [signal.SIGINT] * 3


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_where_interrupts_are_not_pythons_the_handler_is_left_alone(wb: Workbench, handler: signal.Handlers) -> None:
    seen: list[object] = []
    wb.activity("Looks")(lambda *_: seen.append(signal.getsignal(signal.SIGINT)))

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Looks")

    signal.signal(signal.SIGINT, handler)
    try:
        wb.start(flow).finish()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == [handler]


def test_a_handler_that_an_activity_installs_stays(wb: Workbench) -> None:
    def mine(*_: object) -> None:
        return

    wb.activity("Installs")(lambda *_: signal.signal(signal.SIGINT, mine) and None)

    @wb.orchestration
    def flow(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Installs")

    wb.start(flow).finish()
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is mine


def test_closing_a_workbench_is_finished_before_an_interrupt_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    wb = Workbench()
    interrupt = Once()
    close = wb.provider.close
    monkeypatch.setattr(wb.provider, "close", lambda: (interrupt(), close()))
    with pytest.raises(KeyboardInterrupt):
        wb.close()
    assert wb.provider._database is None
