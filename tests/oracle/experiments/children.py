"""Child orchestrations and detached starts."""

from __future__ import annotations

from typing import Any

from tests.oracle.cases import cancel
from tests.oracle.experiments.asking import experiment


@experiment()
def detached_start(ctx: Any, _given: Any) -> Any:
    first = yield ctx.start_orchestration("Child", "detached-1", {"n": 1})
    second = yield ctx.start_orchestration("Child", "detached-1", {"n": 2})
    third = yield ctx.start_orchestration_versioned("Child", "1.0.0", "detached-2", "v")
    return [first, second, third]


@experiment()
def children(ctx: Any, _given: Any) -> Any:
    results = []
    for task in (
        ctx.schedule_sub_orchestration("Child", 1),
        ctx.schedule_sub_orchestration_with_id("Child", "named-child", 2),
        ctx.schedule_sub_orchestration_with_id("Child", "named-child", 3),
        ctx.schedule_sub_orchestration_versioned("Child", "1.0.0", 4),
        ctx.schedule_sub_orchestration_typed("Child", "text"),
        ctx.schedule_sub_orchestration("FailingChild", 5),
        ctx.schedule_sub_orchestration("RenewingChild", {"rounds": 2}),
    ):
        try:
            got = yield task
        except Exception as error:
            got = str(error)
        results.append(got)
        ctx.set_kv_value(f"r{len(results)}", repr(got))
    return results


@experiment()
def child_dropped(ctx: Any, _given: Any) -> Any:
    got = yield ctx.race(ctx.schedule_sub_orchestration("WaitingChild", 1), ctx.schedule_timer(20))
    yield ctx.schedule_timer(20)
    return got


@experiment(outside=[cancel(40, "enough")])
def child_of_cancelled(ctx: Any, _given: Any) -> Any:
    yield ctx.schedule_sub_orchestration("WaitingChild", 1)


@experiment()
def child_ids_in_second_execution(ctx: Any, given: Any) -> Any:
    got = yield ctx.schedule_sub_orchestration("Child", ctx.execution_id)
    if ctx.execution_id < 2:
        yield ctx.continue_as_new(got)
    return [given, got]
