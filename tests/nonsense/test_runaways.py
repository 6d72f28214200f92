"""Orchestrations that never come back: stopped, recorded nowhere, and their neighbours go on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from workbench import RuntimeOptions, Workbench
from workbench.runtime.runtime import Runtime

Flow = Generator[Any, Any, Any]
SOON_MS = 100


@pytest.fixture(autouse=True)
def finalisers_may_be_struck(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand generators are dropped here at once; what stops them may strike a finaliser, which can raise nothing.

    It is sent again until the code has come back. pytest would take note of each, and be struck while it does.
    """
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


def never_yields(ctx: Any, _: object) -> Flow:
    while True:
        ctx.set_kv_value("n", "1")
    yield


def swallows_in_a_loop(ctx: Any, _: object) -> Flow:
    while True:
        try:
            ctx.get_kv_length()
        except BaseException:  # noqa: S112 (what is tested)
            continue
    yield


def yields_without_end(ctx: Any, _: object) -> Flow:
    while True:
        yield ctx.start_orchestration("good", "never-started")


def recurses_without_end(ctx: Any, depth: object) -> Flow:
    while True:
        try:
            yield from recurses_without_end(ctx, depth)
        except RecursionError:
            continue


async def awaits_without_end(ctx: Any, _: object) -> None:
    while True:
        await ctx.start_orchestration("good", "never-started")


def cleans_up_without_end(ctx: Any, _: object) -> Flow:
    try:
        yield ctx.schedule_activity("Echo", 1)
    finally:
        while True:
            pass


def good(ctx: Any, _: object) -> Flow:
    first = yield ctx.schedule_activity("Echo", 1)
    second = yield ctx.schedule_activity("Echo", 2)
    return first + second


RUNAWAYS: list[Callable[..., Any]] = [
    never_yields,
    swallows_in_a_loop,
    yields_without_end,
    recurses_without_end,
    awaits_without_end,
    cleans_up_without_end,
]


def test_runaways_are_stopped_and_their_neighbours_end_well() -> None:
    with Workbench() as wb:
        wb.activity("Echo")(lambda _, value: value)
        wb.orchestration(good)
        for code in RUNAWAYS:
            wb.orchestration(code)
            wb.start(code, instance_id=code.__name__)
        runs = [wb.start(good) for _ in range(4)]
        options = RuntimeOptions(deadline_ms=SOON_MS, max_attempts=1, warm=0)
        with Runtime(wb.provider, options, wb.limits, wb.clock, wb.registry):
            for run in runs:
                assert wb.client.wait_for_orchestration(run.instance_id, timeout_ms=60_000).output == 3
        assert wb.provider.instance("never-started") is None
        assert wb.provider.pending_messages("never-started") == []
        made = {info.instance_id: info for info in wb.provider.instances()}
        for code in RUNAWAYS:
            info = made.get(code.__name__)
            assert info is None or info.output is None or "poison" in info.output  # tried often enough by now
        assert wb.provider.query("SELECT count(*) FROM kv_delta")[1] == [(0,)]
    print(f"{len(RUNAWAYS)} runaways beside {len(runs)} good instances")
