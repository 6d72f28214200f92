"""`all` and `race`: what they schedule, what they give back, what may not stand in them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.runtime.driving import Driven, drive, kinds, new_rows
from workbench.runtime import events as ev
from workbench.runtime.dialect import DUROXIDE, WORKBENCH

Flow = Generator[Any, Any, Any]


def yields(make: Callable[[Any], Any]) -> Callable[..., Flow]:
    """Code that yields one thing and returns what it gets, or the error it gets as `["Type", text]`."""

    def code(ctx: Any, _: object) -> Flow:
        try:
            return (yield make(ctx))
        except Exception as error:
            return [type(error).__name__, str(error)]

    return code


# all


def test_all_gives_results_in_the_order_of_its_members() -> None:
    driven = drive(
        yields(
            lambda ctx: ctx.all(
                [
                    ctx.schedule_activity("A"),
                    ctx.schedule_timer(1),
                    ctx.schedule_activity("B"),
                    ctx.wait_for_event("e"),
                    ctx.dequeue_event("q"),
                    ctx.schedule_sub_orchestration("C"),
                ]
            )
        )
    )
    assert [event.event_id for event in driven.events] == [1, 2, 3, 4, 5, 6, 7]
    driven.turn(driven.child_failed(7, "no child"), driven.queued("q", "m"))
    driven.turn(driven.raised("e", "x"), driven.failed(4, "no b"), driven.fired(3))
    driven.turn(driven.completed(2, "a"))
    assert driven.output == [
        {"ok": "a"},
        {"ok": None},
        {"err": "no b"},
        {"ok": "x"},
        {"ok": "m"},
        {"err": "no child"},
    ]


def test_all_of_nothing_is_done_at_once() -> None:
    driven = drive(yields(lambda ctx: ctx.all([])))
    assert (driven.output, kinds(driven.events)) == ([], [ev.STARTED, ev.COMPLETED])


@pytest.mark.parametrize("shape", [tuple, iter, list])
def test_all_takes_any_iterable(shape: Callable[[Any], Any]) -> None:
    driven = drive(yields(lambda ctx: ctx.all(shape([ctx.schedule_activity("A")]))))
    driven.turn(driven.completed(2, 1))
    assert driven.output == [{"ok": 1}]


def test_all_typed_unwraps_what_succeeded() -> None:
    driven = drive(yields(lambda ctx: ctx.all_typed([ctx.schedule_activity("A"), ctx.schedule_activity("B")])))
    driven.turn(driven.failed(3, "no"), driven.completed(2, 1))
    assert driven.output == [1, {"err": "no"}]


def test_a_member_of_a_wrong_type_is_an_error_in_its_place() -> None:
    driven = drive(
        yields(
            lambda ctx: ctx.all([ctx.schedule_activity_typed("A", 1, int), ctx.schedule_activity_typed("B", 1, int)])
        )
    )
    driven.turn(driven.completed(2, "text"), driven.completed(3, 5))
    assert driven.output == [{"err": "Expected `int`, got `str`"}, {"ok": 5}]


# race


@pytest.mark.parametrize(("event_id", "index"), [(2, 0), (3, 1)])
def test_race_gives_the_index_and_value_of_the_first(event_id: int, index: int) -> None:
    driven = drive(yields(lambda ctx: ctx.race(ctx.schedule_activity("A"), ctx.schedule_activity("B"))))
    driven.turn(driven.completed(event_id, "won"))
    assert driven.output == {"index": index, "value": "won"}


def test_race_typed_is_race() -> None:
    driven = drive(yields(lambda ctx: ctx.race_typed(ctx.schedule_activity("A"), ctx.schedule_timer(1))))
    driven.turn(driven.fired(3))
    assert driven.output == {"index": 1, "value": None}


def test_a_race_raises_what_its_winner_raises() -> None:
    driven = drive(yields(lambda ctx: ctx.race(ctx.schedule_activity("A"), ctx.schedule_timer(1))))
    driven.turn(driven.failed(2, "boom"))
    assert driven.output == ["Exception", "boom"]


def test_a_timer_that_lost_leaves_no_row_and_fires_later_without_effect() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_timer(1))
        return (yield ctx.schedule_activity("B"))

    driven = drive(code)
    assert new_rows(driven.turn(driven.completed(2))) == ["5 ActivityScheduled name=B input=null"]
    assert kinds(driven.turn(driven.fired(3)).events) == [ev.TIMER_FIRED]
    driven.turn(driven.completed(5, "b"))
    assert driven.output == "b"


def test_an_activity_that_lost_leaves_the_worker_queue_and_its_late_result_has_no_effect() -> None:
    def code(ctx: Any, _: object) -> Flow:
        yield ctx.race(ctx.schedule_activity("A"), ctx.schedule_timer(1))
        return (yield ctx.wait_for_event("e"))

    driven = drive(code)
    assert driven.turn(driven.fired(3)).cancelled_activities == (2,)
    assert kinds(driven.turn(driven.completed(2, "late")).events) == [ev.ACTIVITY_COMPLETED]
    driven.turn(driven.raised("e", 1))
    assert driven.output == 1


def test_a_race_inside_a_loop_reads_as_it_is_written() -> None:
    def code(ctx: Any, _: object) -> Flow:
        got: list[int] = []
        while True:
            won = yield ctx.race(ctx.dequeue_event("work"), ctx.wait_for_event("stop"))
            if won["index"] == 1:
                return got
            got.append(won["value"])

    driven = drive(code)
    driven.turn(driven.queued("work", 1), driven.queued("work", 2))
    driven.turn(driven.queued("work", 3))
    driven.turn(driven.raised("stop"))
    assert driven.output == [1, 2, 3]


# What may not stand in them: refused at the yield, before anything is scheduled.


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "race of one": (
        lambda ctx: ctx.race(ctx.schedule_timer(1)),
        "race takes exactly two tasks, not 1",
    ),
    "race of none": (lambda ctx: ctx.race(), "race takes exactly two tasks, not 0"),
    "race of three": (
        lambda ctx: ctx.race(*(ctx.schedule_timer(n) for n in range(3))),
        "race takes exactly two tasks, not 3",
    ),
    "all in all": (
        lambda ctx: ctx.all([ctx.schedule_timer(1), ctx.all([])]),
        "all and race do not stand inside one another: yield the inner one first",
    ),
    "race in all": (
        lambda ctx: ctx.all([ctx.race(ctx.schedule_timer(1), ctx.schedule_timer(2))]),
        "all and race do not stand inside one another: yield the inner one first",
    ),
    "all in race": (
        lambda ctx: ctx.race(ctx.schedule_timer(1), ctx.all([])),
        "all and race do not stand inside one another: yield the inner one first",
    ),
    "guid in all": (
        lambda ctx: ctx.all([ctx.schedule_timer(1), ctx.new_guid()]),
        "inside all or race ctx.utc_now() and ctx.new_guid() are not possible: yield them before",
    ),
    "time in race": (
        lambda ctx: ctx.race(ctx.utc_now(), ctx.schedule_timer(1)),
        "inside all or race ctx.utc_now() and ctx.new_guid() are not possible: yield them before",
    ),
    "detached start in all": (
        lambda ctx: ctx.all([ctx.start_orchestration("D", "d")]),
        "inside all or race nothing may finish at once: yield start D(null) as 'd' on its own",
    ),
    "continue-as-new in race": (
        lambda ctx: ctx.race(ctx.schedule_timer(1), ctx.continue_as_new(1)),
        "inside all or race nothing may finish at once: yield continue as new with 1 on its own",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_composite_that_cannot_be_is_an_error_at_the_yield_and_nothing_is_scheduled(name: str) -> None:
    make, text = REFUSED[name]
    driven = drive(yields(make))
    assert driven.output == ["InvalidTask", text]
    assert kinds(driven.events) == [ev.STARTED, ev.COMPLETED]


def test_the_code_goes_on_after_a_refusal() -> None:
    def code(ctx: Any, _: object) -> Flow:
        try:
            yield ctx.race(ctx.schedule_timer(1))
        except TypeError:
            yield ctx.schedule_activity("Instead")

    driven = drive(code)
    assert new_rows(driven.last) == ["2 ActivityScheduled name=Instead input=null"]


NOT_TASKS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda ctx: 5, "int 5"),
    (lambda ctx: None, "None"),
    (lambda ctx: "x", "str 'x'"),
    (lambda ctx: [ctx.schedule_timer(1)], "list [<timer of 1 ms; yield it or await it>]"),
    (lambda ctx: {"type": "timer"}, "dict {'type': 'timer'}"),
    (lambda ctx: ctx.all([ctx.schedule_timer(1), 5]), "int 5"),
    (lambda ctx: ctx.race(ctx.schedule_timer(1), None), "None"),
    (lambda ctx: list(range(99)), f"list {str(list(range(99)))[:57]}..."),
]


@pytest.mark.parametrize(("make", "shown"), NOT_TASKS)
def test_a_yield_that_is_no_task_fails_the_instance_and_cannot_be_caught(
    make: Callable[[Any], Any], shown: str
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("before", "1")
        try:
            yield make(ctx)
        except BaseException:
            ctx.set_kv_value("after", "1")
            raise

    driven = drive(code)
    assert driven.last.status == "Failed"
    assert driven.last.output == (
        "NotATask: an orchestration may only yield what its context returns, such as ctx.schedule_activity(...); "
        f"it yielded {shown}"
    )
    assert driven.kv == {"before": "1"}
    assert kinds(driven.events) == [ev.STARTED, ev.KV_SET, ev.FAILED]


def test_awaiting_what_asyncio_makes_is_no_task_or_has_no_loop() -> None:
    async def sleeps_a_moment(ctx: Any, _: object) -> None:
        await asyncio.sleep(0)

    async def sleeps(ctx: Any, _: object) -> None:
        await asyncio.sleep(1)

    assert "it yielded None" in str(drive(sleeps_a_moment).last.output)
    assert drive(sleeps).last.output == "RuntimeError: no running event loop"


# duroxide's histories are replayed with what its SDK did.


def lenient(make: Callable[[Any], Any]) -> Driven:
    return drive(yields(make), dialect=DUROXIDE)


@pytest.mark.parametrize("name", [name for name in REFUSED if name.split()[0] in ("race", "all")])
def test_the_sdk_refuses_numbers_and_nesting_with_its_own_words(name: str) -> None:
    word = "join" if name.endswith("in all") else "select"
    text = (
        f"nested join/select inside {word} is not supported"
        if " in " in name
        else "select currently supports exactly 2 tasks"
    )
    driven = lenient(REFUSED[name][0])
    assert driven.output == ["Exception", text]
    assert kinds(driven.events) == [ev.STARTED, ev.COMPLETED]


def test_in_the_sdks_all_an_impossible_member_is_an_error_in_its_place() -> None:
    driven = lenient(lambda ctx: ctx.all([ctx.schedule_activity("A"), ctx.utc_now(), ctx.continue_as_new()]))
    driven.turn(driven.completed(2, 1))
    assert driven.output == [{"ok": 1}, {"err": "unsupported task in join"}, {"err": "unsupported task in join"}]


def test_in_the_sdks_race_an_impossible_first_keeps_the_second_from_being_scheduled() -> None:
    driven = lenient(lambda ctx: ctx.race(ctx.utc_now(), ctx.schedule_activity("A")))
    assert driven.output == ["Exception", "unsupported task in select"]
    assert kinds(driven.events) == [ev.STARTED, ev.COMPLETED]


def test_in_the_sdks_race_an_impossible_second_drops_the_first() -> None:
    driven = lenient(lambda ctx: ctx.race(ctx.schedule_activity("A"), ctx.utc_now()))
    assert driven.output == ["Exception", "unsupported task in select"]
    assert kinds(driven.events) == [ev.STARTED, ev.ACTIVITY_SCHEDULED, ev.ACTIVITY_CANCEL_REQUESTED, ev.COMPLETED]


def test_nothing_of_that_happens_in_our_own_dialect() -> None:
    driven = drive(yields(lambda ctx: ctx.all([ctx.utc_now()])), dialect=WORKBENCH)
    assert driven.output[0] == "InvalidTask"
