"""What a history may hold beside the code's own operations: engine endings, unknown types, refusals, recorded times."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from tests.runtime.driving import drive, kinds
from tests.runtime.recorded import ACTIVITY, DONE, START, history, run, set_to
from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.dialect import DUROXIDE, WORKBENCH, dialect_of
from workbench.runtime.limits import Limits

Flow = Generator[Any, Any, Any]


# Endings that the engine wrote are no operation.


def flow(ctx: Any, _: object) -> Flow:
    yield ctx.schedule_activity("A")
    ctx.set_kv_value("k", "1")
    yield ctx.schedule_activity("B")


NONDETERMINISM = ev.nondeterminism_error("kv set mismatch: action=… vs event=…")
POISON = {"Poison": {"attempt_count": 4, "max_attempts": 3, "message_type": {}, "message": ""}}
INFRASTRUCTURE = {"Infrastructure": {"operation": "quiescence_loop", "message": "too often", "retryable": False}}
LIMIT = ev.application_error("KV value for key 'k' (70000 bytes) exceeds limit (65536 bytes)")


@pytest.mark.parametrize("details", [NONDETERMINISM, POISON, INFRASTRUCTURE, LIMIT], ids=lambda each: next(iter(each)))
def test_after_an_engines_failure_the_code_is_compared_up_to_it_and_not_further(details: dict[str, Any]) -> None:
    turns = history([START, ACTIVITY], [DONE, (ev.FAILED, {"details": details})])
    replayed = run(flow, turns)
    assert [turn.divergence for turn in replayed] == [None, None]
    assert (replayed[-1].status, replayed[-1].output) == ("Failed", ev.display_error(details))
    assert replayed[-1].outcome_difference is None


def test_operations_that_the_failing_engine_kept_are_still_compared() -> None:
    kept = set_to("1", 2_000)
    turns = history([START, ACTIVITY], [DONE, kept, (ev.FAILED, {"details": LIMIT})])
    assert run(flow, turns)[-1].divergence is None

    def other(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        ctx.set_kv_value("k", "2")

    assert run(other, turns)[-1].divergence.kind == "changed"


def test_a_limit_that_failed_a_turn_that_was_completing_leaves_two_endings_and_replays() -> None:
    def completes(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        ctx.set_kv_value("k", "1")
        return "done"

    turns = history(
        [START, ACTIVITY],
        [DONE, set_to("1", 2_000), (ev.COMPLETED, {"output": '"done"'}), (ev.FAILED, {"details": LIMIT})],
    )
    last = run(completes, turns)[-1]
    assert last.divergence is None
    assert (last.status, last.output) == ("Failed", LIMIT["Application"]["message"])


def test_an_application_failure_that_only_sounds_like_a_limit_is_the_codes_own() -> None:
    def fails(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")
        raise ValueError("KV key count is too high")

    driven = drive(fails)
    driven.turn(driven.completed(2))
    assert driven.recorded()[-1].abort is None


# A turn that a limit refused.


def test_a_refused_turn_replays_up_to_its_refusal() -> None:
    def too_much(ctx: Any, size: int) -> Flow:
        yield ctx.schedule_activity("A")
        ctx.set_kv_value("k", "x" * size)
        yield ctx.schedule_activity("B")

    driven = drive(too_much, 9, limits=Limits(kv_value_bytes=8))
    driven.turn(driven.completed(2))
    assert kinds(driven.last.events) == [ev.ACTIVITY_COMPLETED, ev.FAILED]
    replayed = driven.replay()
    assert [turn.divergence for turn in replayed] == [None, None]
    assert replayed[-1].output == "KV value for key 'k' (9 bytes) exceeds limit (8 bytes)"

    def changed_before_it(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("Other")

    assert driven.divergence(changed_before_it) is not None


# Event types that are not known here.


UNKNOWN: tuple[str, dict[str, Any]] = ("SomethingNew", {})


def test_an_unknown_event_is_skipped_and_so_is_its_completion() -> None:
    turns = history(
        [START, ACTIVITY, UNKNOWN],
        [(ev.ACTIVITY_COMPLETED, {"source": 3, "result": "null"})],
        [DONE, (ev.COMPLETED, {"output": "null"})],
    )

    def waits(ctx: Any, _: object) -> Flow:
        yield ctx.schedule_activity("A")

    replayed = run(waits, turns)
    assert [turn.divergence for turn in replayed] == [None, None, None]
    assert [turn.woken_by for turn in replayed[1:]] == [None, turns[2].arrivals[0]]


def test_code_that_makes_an_operation_where_an_unknown_event_stands_has_a_damaged_history() -> None:
    def makes_two(ctx: Any, _: object) -> Flow:
        yield ctx.all([ctx.schedule_activity("A"), ctx.schedule_activity("B")])

    [result] = run(makes_two, history([START, ACTIVITY, UNKNOWN]))
    assert (result.divergence.kind, result.divergence.recorded.type) == ("broken history", "SomethingNew")
    assert result.divergence.message == f"event 3 is a SomethingNew of {ev.WRITER}, which is not known here"


def test_an_unknown_event_between_two_operations_is_named_when_the_code_makes_one_there() -> None:
    def makes_three(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("new", "1")
        ctx.set_kv_value("b", "1")
        yield ctx.wait_for_event("e")

    turns = history(
        [
            START,
            set_to("1", 1_000, "a"),
            UNKNOWN,
            set_to("1", 1_000, "b"),
            (ev.EVENT_SUBSCRIBED, {"name": "e"}),
        ]
    )
    [result] = run(makes_three, turns)
    assert result.divergence.kind == "broken history"
    assert result.divergence.message.startswith("event 3 is a SomethingNew")


def test_a_recorded_outcome_without_a_schedule_is_a_broken_history() -> None:
    turns = history([START, ACTIVITY], [(ev.ACTIVITY_COMPLETED, {"source": 9, "result": "null"})])
    divergence = run(flow, turns)[-1].divergence
    assert (divergence.kind, divergence.message) == ("broken history", "no matching schedule for completion id=9")


# The recorded time of a KV write is restored.


def test_a_key_has_the_age_of_its_recorded_write_on_every_replay() -> None:
    def prunes(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("old", "1")
        yield ctx.schedule_activity("A")
        ctx.set_kv_value("young", "1")
        cutoff = yield ctx.schedule_activity("B")
        ctx.set_kv_value("pruned", str(ctx.prune_kv_values_updated_before(cutoff)))
        yield ctx.schedule_activity("C")
        return ctx.get_kv_all_keys()

    driven = drive(prunes)
    driven.turn(driven.completed(3), at_ms=50_000)
    driven.turn(driven.completed(6, 50_000), at_ms=90_000)
    driven.turn(driven.completed(10), at_ms=99_000)
    assert driven.output == ["pruned", "young"]
    assert [event.key for event in driven.events if event.type == ev.KV_CLEARED] == ["old"]


def test_prune_is_strict_and_in_key_order() -> None:
    def prunes(ctx: Any, cutoff: int) -> Flow:
        for key in ("b", "a", "c"):
            ctx.set_kv_value(key, "1")
        yield ctx.schedule_activity("A")
        return ctx.prune_kv_values_updated_before(cutoff)

    for cutoff, pruned in ((2_000, 0), (2_001, 3), (0, 0), (2**64 - 1, 3)):
        driven = drive(prunes, cutoff)
        driven.turn(driven.completed(5), at_ms=60_000)
        assert driven.output == pruned
        assert [e.key for e in driven.events if e.type == ev.KV_CLEARED] == ["a", "b", "c"][:pruned]


def prune_at(cutoff: int) -> Any:
    def prunes(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "1")
        yield ctx.schedule_activity("A")
        ctx.prune_kv_values_updated_before(cutoff)
        ctx.set_kv_value("after", "1")
        yield ctx.schedule_activity("B")

    return prunes


ACTIVITY_B = (ev.ACTIVITY_SCHEDULED, {"name": "B", "input": "null", "at_ms": 9_010})
DONE_LATE = (ev.ACTIVITY_COMPLETED, {"source": 3, "result": "null", "at_ms": 9_000})
CLEARED = (ev.KV_CLEARED, {"key": "k", "at_ms": 9_005})


@pytest.mark.parametrize(
    ("cutoff", "cleared", "same"),
    [
        (8_000, False, True),  # as old as the latest replay: too young for this cutoff
        (8_000, True, False),
        (9_005, False, True),  # somewhere in the turn: the record decides
        (9_005, True, True),
        (9_999, True, True),  # older than the cutoff wherever it was
        (9_999, False, False),
    ],
)
def test_in_duroxides_histories_the_age_of_a_key_is_that_of_the_latest_replay(
    cutoff: int, cleared: bool, same: bool
) -> None:
    middle = [CLEARED] if cleared else []
    turns = history(
        [START, set_to("1", 1_000), ACTIVITY], [DONE_LATE, *middle, set_to("1", 9_006, "after"), ACTIVITY_B]
    )
    found = run(prune_at(cutoff), turns, DUROXIDE)[-1].divergence
    assert (found is None) == same, found


def test_in_our_histories_it_is_that_of_the_write() -> None:
    last = [DONE_LATE, CLEARED, set_to("1", 9_006, "after"), ACTIVITY_B]
    turns = history([START, set_to("1", 1_000), ACTIVITY], last)
    assert run(prune_at(1_001), turns)[-1].divergence is None
    assert run(prune_at(1_000), turns)[-1].divergence.kind == "changed"


def test_keys_of_the_snapshot_keep_their_stored_age_in_either_dialect() -> None:
    def prunes(ctx: Any, _: object) -> Flow:
        ctx.prune_kv_values_updated_before(501)
        yield ctx.schedule_activity("A")

    turns = history([START, (ev.KV_CLEARED, {"key": "k"}), ACTIVITY])
    for dialect in (WORKBENCH, DUROXIDE):
        assert run(prunes, turns, dialect, {"k": kv.Entry("1", 500)})[-1].divergence is None
        assert run(prunes, turns, dialect, {"k": kv.Entry("1", 501)})[-1].divergence is not None


def test_who_recorded_is_told_by_the_events() -> None:
    assert dialect_of(ev.WRITER) == WORKBENCH
    assert dialect_of("0.1.32") == DUROXIDE


# What is carried, as the writer of the history did it.


def test_a_status_that_was_set_beside_a_carried_one_is_forgotten_in_duroxides_histories_only() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_custom_status("new")
        yield ctx.schedule_timer(1)
        return ctx.get_custom_status()

    start = (ev.STARTED, {**START[1], "initial_custom_status": "carried"})
    for dialect, read in ((DUROXIDE, "carried"), (WORKBENCH, "new")):
        turns = history(
            [start, (ev.STATUS_UPDATED, {"status": "new"}), (ev.TIMER_CREATED, {"fire_at_ms": 1_001})],
            [
                (ev.TIMER_FIRED, {"source": 3, "fire_at_ms": 1_001}),
                (ev.COMPLETED, {"output": f'"{read}"'}),
            ],
        )
        assert run(code, turns, dialect)[-1].outcome_difference is None
