"""KV calls against a recorded history (spec 001, "Replay Behavior"; the reference's `tests/replay_engine/kv.rs`).

Every code here waits for an activity after its KV calls: code that ends at once is compared with nothing there.
"""

from __future__ import annotations

import json
from typing import Any

from tests.specification.replay_engine.histories import (
    completed,
    first_turn,
    kv_all_cleared,
    kv_cleared,
    kv_set,
    mismatch,
    resumed,
    scheduled,
    snapshot,
    started,
)
from workbench.runtime import events as ev
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.turn_result import TurnResult


def output(result: TurnResult) -> Any:
    """What the code returned; it must have ended without a divergence."""
    assert result.divergence is None
    assert result.strict_differences == ()
    assert result.status == "Completed"
    return json.loads(result.output or "")


def test_action_to_event_kv_variants() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        ctx.clear_kv_value("A")
        ctx.clear_all_kv_values()
        ctx.set_kv_value("B", "2")
        return ctx.get_kv_value("B")

    result = first_turn(flow)
    written = [event for event in result.events if event.type in ev.KV_EVENTS]
    assert [event.type for event in written] == [ev.KV_SET, ev.KV_CLEARED, ev.KV_ALL_CLEARED, ev.KV_SET]
    assert (written[0].key, written[0].value, written[1].key) == ("A", "1", "A")
    assert (written[3].key, written[3].value) == ("B", "2")
    assert all(event.source_event_id is None for event in written)
    assert output(result) == "2"


def test_replay_set_value_reconstructs_state() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        yield ctx.schedule_activity("Work")
        return ctx.get_kv_value("A")

    assert output(resumed(flow, [started(), kv_set("A", "1"), scheduled()])) == "1"


def test_replay_multiple_sets_last_wins() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        ctx.set_kv_value("A", "2")
        yield ctx.schedule_activity("Work")
        return ctx.get_kv_value("A")

    assert output(resumed(flow, [started(), kv_set("A", "1"), kv_set("A", "2"), scheduled()])) == "2"


def test_replay_clear_then_set() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        ctx.clear_all_kv_values()
        ctx.set_kv_value("B", "2")
        yield ctx.schedule_activity("Work")
        return [ctx.get_kv_value("A"), ctx.get_kv_value("B")]

    history = [started(), kv_set("A", "1"), kv_all_cleared(), kv_set("B", "2"), scheduled()]
    assert output(resumed(flow, history)) == [None, "2"]


def test_replay_clear_single_key() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        ctx.set_kv_value("B", "2")
        ctx.clear_kv_value("A")
        yield ctx.schedule_activity("Work")
        return [ctx.get_kv_value("A"), ctx.get_kv_value("B")]

    history = [started(), kv_set("A", "1"), kv_set("B", "2"), kv_cleared("A"), scheduled()]
    assert output(resumed(flow, history)) == [None, "2"]


def test_replay_set_value_matches_action() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        return (yield ctx.schedule_activity("Work"))

    assert output(resumed(flow, [started(), kv_set("A", "1"), scheduled()], result="done")) == "done"


def test_replay_set_value_mismatch_nondeterminism() -> None:
    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Work")

    text = mismatch(flow, [started(), kv_set("A", "1"), scheduled()])
    assert text.startswith("kv set mismatch: action=CallActivity {")
    assert 'vs event=KeyValueSet { key: "A", value: "1"' in text


def test_replay_clear_all_values_matches_action() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_all_kv_values()
        return (yield ctx.schedule_activity("Work"))

    assert output(resumed(flow, [started(), kv_all_cleared(), scheduled()], result="done")) == "done"


def test_replay_clear_value_matches_action() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_kv_value("A")
        return (yield ctx.schedule_activity("Work"))

    assert output(resumed(flow, [started(), kv_cleared("A"), scheduled()], result="done")) == "done"


def test_replay_clear_value_mismatch_nondeterminism() -> None:
    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Work")

    text = mismatch(flow, [started(), kv_cleared("A"), scheduled()])
    assert text.startswith("kv clear mismatch: action=CallActivity {")
    assert text.endswith('vs event=KeyValueCleared { key: "A" }')


def test_replay_kv_interleaved_with_activities() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        value = yield ctx.schedule_activity("Work")
        ctx.set_kv_value("A", value)
        yield ctx.schedule_activity("Work")
        return value

    history = [[started(), kv_set("A", "1"), scheduled()], [completed(3, "r"), kv_set("A", "r"), scheduled()]]
    assert output(resumed(flow, *history)) == "r"


def test_replay_kv_no_token_binding() -> None:
    """A set does not suspend the code, and takes no part in which completion belongs to which schedule."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        ctx.clear_kv_value("B")
        first = yield ctx.schedule_activity("First")
        ctx.set_kv_value("A", "2")
        second = yield ctx.schedule_activity("Second")
        return [first, second]

    history = [
        [started(), kv_set("A", "1"), kv_cleared("B"), scheduled("First")],
        [completed(4, 1), kv_set("A", "2"), scheduled("Second")],
    ]
    assert output(resumed(flow, *history, result=2)) == [1, 2]


def test_new_kv_events_after_replay() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        yield ctx.schedule_activity("Work")
        ctx.set_kv_value("B", "2")
        ctx.clear_kv_value("A")
        ctx.clear_all_kv_values()
        ctx.set_kv_value("C", "3")
        return [ctx.get_kv_value("A"), ctx.get_kv_value("B"), ctx.get_kv_value("C")]

    result = resumed(flow, [started(), kv_set("A", "1"), scheduled()])
    assert output(result) == [None, None, "3"]
    new = [(event.event_id, event.type) for event in result.events if event.type in ev.KV_EVENTS]
    assert new == [(5, ev.KV_SET), (6, ev.KV_CLEARED), (7, ev.KV_ALL_CLEARED), (8, ev.KV_SET)]


def test_kv_state_seeded_from_snapshot() -> None:
    def flow(ctx: Context, _: None) -> Any:
        before = ctx.get_kv_value("X")
        yield ctx.schedule_activity("Work")
        return [before, ctx.get_kv_value("X")]

    assert output(resumed(flow, [started(), scheduled()], seed=snapshot(X="9"))) == ["9", "9"]


def test_kv_state_snapshot_overridden_by_code() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("X", "mine")
        yield ctx.schedule_activity("Work")
        return ctx.get_kv_value("X")

    history = [started(), kv_set("X", "mine"), scheduled()]
    assert output(resumed(flow, history, seed=snapshot(X="old"))) == "mine"


def test_kv_get_value_same_turn() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        seen = ctx.get_kv_value("A")
        yield ctx.schedule_activity("Work")
        return seen

    assert output(resumed(flow, [started(), kv_set("A", "1"), scheduled()])) == "1"


def test_kv_get_value_previous_turn() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        yield ctx.schedule_activity("Work")
        yield ctx.schedule_activity("Work")
        return ctx.get_kv_value("A")

    assert output(resumed(flow, [started(), kv_set("A", "1"), scheduled()], [completed(3), scheduled()])) == "1"


def test_kv_get_value_previous_execution() -> None:
    def flow(ctx: Context, _: None) -> Any:
        yield ctx.schedule_activity("Work")
        return [ctx.get_kv_value(key) for key in ("A", "B", "unknown")]

    assert output(resumed(flow, [started(), scheduled()], seed=snapshot(A="1", B="2"))) == ["1", "2", None]


def test_kv_set_key_mismatch_nondeterminism() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        yield ctx.schedule_activity("Work")

    text = mismatch(flow, [started(), kv_set("B", "1"), scheduled()])
    assert text.startswith('kv set mismatch: action=SetKeyValue { key: "A", value: "1"')


def test_kv_set_value_mismatch_nondeterminism() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "new")
        yield ctx.schedule_activity("Work")

    text = mismatch(flow, [started(), kv_set("A", "old"), scheduled()])
    assert text.startswith('kv set mismatch: action=SetKeyValue { key: "A", value: "new"')


def test_kv_clear_key_mismatch_nondeterminism() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_kv_value("A")
        yield ctx.schedule_activity("Work")

    text = mismatch(flow, [started(), kv_cleared("B"), scheduled()])
    assert text == 'kv clear mismatch: action=ClearKeyValue { key: "A" } vs event=KeyValueCleared { key: "B" }'


def test_kv_set_timestamp_mismatch_ok() -> None:
    """The time of a write is no part of the match, and the recorded one is the one that counts."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("A", "1")
        yield ctx.schedule_activity("Work")
        return [ctx.prune_kv_values_updated_before(5), ctx.prune_kv_values_updated_before(6)]

    assert output(resumed(flow, [started(), kv_set("A", "1", at_ms=5), scheduled()])) == [0, 1]


def test_kv_read_modify_write_across_turns_replay() -> None:
    """Code that sets before it reads is safe even with a snapshot that has its own writes."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("counter", "1")
        yield ctx.schedule_activity("Work")
        yield ctx.schedule_activity("Work")
        ctx.set_kv_value("counter", str(int(ctx.get_kv_value("counter") or "0") + 1))
        return ctx.get_kv_value("counter")

    history = [[started(), kv_set("counter", "1"), scheduled()], [completed(3), scheduled()]]
    assert output(resumed(flow, *history, seed=snapshot(counter="1"))) == "2"


def read_modify_write(ctx: Context, _: None) -> Any:
    """One more in every turn: the flow of spec 000, "Reproduction"."""
    for _round in range(5):
        n = int(ctx.get_kv_value("counter") or "0")
        ctx.set_kv_value("counter", str(n + 1))
        yield ctx.schedule_activity("Noop")


THREE_TURNS = [
    [started(), kv_set("counter", "1"), scheduled("Noop")],
    [completed(3), kv_set("counter", "2"), scheduled("Noop")],
    [completed(6), kv_set("counter", "3"), scheduled("Noop")],
]


def test_kv_read_modify_write_every_turn_snapshot_poisons_replay() -> None:
    """Seeded with the end of its own turns, turn 1 reads 3 and writes 4; seeded from before them, it goes on."""
    poisoned = resumed(read_modify_write, *THREE_TURNS, seed=snapshot(counter="3"))
    assert poisoned.status == "Failed"
    assert poisoned.divergence is not None
    assert (poisoned.divergence.turn, poisoned.divergence.recorded_turn) == (4, 1)
    assert poisoned.divergence.message.startswith(
        'kv set mismatch: action=SetKeyValue { key: "counter", value: "4"',
    )
    assert 'vs event=KeyValueSet { key: "counter", value: "1"' in poisoned.divergence.message

    healthy = resumed(read_modify_write, *THREE_TURNS, seed=snapshot())
    assert (healthy.status, healthy.divergence) == ("Running", None)
    assert [event.value for event in healthy.events if event.type == ev.KV_SET] == ["4"]


def test_kv_read_modify_write_with_can_snapshot() -> None:
    def flow(ctx: Context, _: None) -> Any:
        for _round in range(2):
            ctx.set_kv_value("counter", str(int(ctx.get_kv_value("counter") or "0") + 1))
            yield ctx.schedule_activity("Noop")

    history = [started(), kv_set("counter", "6"), scheduled("Noop")]
    result = resumed(flow, history, seed=snapshot(counter="5"))
    assert [event.value for event in result.events if event.type == ev.KV_SET] == ["7"]


def test_kv_clear_all_then_set_replay() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_all_kv_values()
        ctx.set_kv_value("new", "1")
        yield ctx.schedule_activity("Work")
        return [ctx.get_kv_value("old"), ctx.get_kv_value("new"), ctx.get_kv_length()]

    history = [started(), kv_all_cleared(), kv_set("new", "1"), scheduled()]
    assert output(resumed(flow, history, seed=snapshot(old="0"))) == [None, "1", 1]


def test_kv_clear_single_snapshot_key_then_rmw() -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.clear_kv_value("gone")
        ctx.set_kv_value("counter", str(int(ctx.get_kv_value("counter") or "0") + 1))
        yield ctx.schedule_activity("Work")
        return [ctx.get_kv_value("gone"), ctx.get_kv_value("counter")]

    history = [started(), kv_cleared("gone"), kv_set("counter", "4"), scheduled()]
    assert output(resumed(flow, history, seed=snapshot(gone="x", counter="3"))) == [None, "4"]
