"""Recordings whose last turn was made by other code than the turns before it, or by code that is not pure.

The real engine let some of these pass; replay does not. What it wrote itself at the end (its own failure) is no
operation of anybody's code, so the code is compared up to there.
"""

from __future__ import annotations

import pytest

from tests.cases import programs
from tests.cases.edited import Code, edited, fresh, line_of, typed
from tests.cases.recorded import recording
from workbench.runtime.divergence import Kind

ORIGINAL = programs.before_the_change
ECHO_1, ECHO_2, ECHO_3 = (f'yield ctx.schedule_activity("Echo", "{number}")' for number in (1, 2, 3))
WAIT = 'yield ctx.wait_for_event("go")'
SET_K = 'ctx.set_kv_value("k", "v")'
ECHO_TAIL = 'yield ctx.schedule_activity("Echo", "tail")'

# P-14: the changed code that each instance went on with, and where it parts from the first six events.
CHANGED: list[tuple[str, Code, Kind, int, tuple[int, int], str]] = [
    ("fewer", edited(ORIGINAL, ECHO_2, "pass"), "removed", 4, (1, 1), WAIT),
    ("retearly", edited(ORIGINAL, ECHO_2, 'return "early"'), "ended early", 4, (0, 1), 'return "early"'),
    ("noyield", typed('def plain(ctx, _given):\n    return "plain"'), "ended early", 2, (0, 2), 'return "plain"'),
    ("swapped", edited(ORIGINAL, f"{ECHO_1}\n    {ECHO_2}", f"{ECHO_2}\n{ECHO_1}"), "moved", 2, (2, 2), ECHO_2),
    ("renamed", edited(ORIGINAL, '"Echo", "1"', '"Slow", "1"'), "changed", 2, (2, 2), ECHO_1.replace("Echo", "Slow")),
    ("extra", edited(ORIGINAL, WAIT, f"{ECHO_3}\n{WAIT}"), "added", 6, (1, 1), ECHO_3),
    ("evname", edited(ORIGINAL, '"go"', '"GO"'), "changed", 6, (0, 0), 'yield ctx.wait_for_event("GO")'),
    ("addkv", edited(ORIGINAL, ECHO_2, f"{SET_K}\n{ECHO_2}"), "added", 4, (2, 2), SET_K),
]


@pytest.mark.parametrize(
    ("name", "code", "kind", "event", "lines_up", "line"), CHANGED, ids=[row[0] for row in CHANGED]
)
def test_p_14_no_changed_code_passes(
    name: str, code: Code, kind: Kind, event: int, lines_up: tuple[int, int], line: str
) -> None:
    divergence = recording("P-14", f"i_{name}").replay(code).divergence
    assert divergence is not None
    assert divergence.kind == kind
    assert divergence.recorded is not None
    assert divergence.recorded.event_id == event
    assert divergence.lines_up == lines_up
    assert line_of(divergence) == line


@pytest.mark.parametrize("name", ["fewer", "swapped", "renamed", "extra", "evname", "addkv"])
def test_p_14_the_original_code_follows_a_history_that_the_engine_failed(name: str) -> None:
    replay = recording("P-14", f"i_{name}").replay(ORIGINAL)
    assert replay.verdict == "same"
    assert replay.turns[-1].status == "Failed"
    assert replay.compared == 3


@pytest.mark.parametrize("name", ["retearly", "noyield"])
def test_p_14_the_original_code_ends_otherwise_than_a_history_that_the_engine_let_pass(name: str) -> None:
    replay = recording("P-14", f"i_{name}").replay(ORIGINAL)
    assert replay.verdict == "different outcome"
    assert replay.compared == 3


def test_p_14_a_step_added_behind_the_wait_is_new_work_and_was_recorded() -> None:
    with_tail = edited(ORIGINAL, 'return "done"', f'{ECHO_TAIL}\nreturn "tail"')
    assert recording("P-14", "i_tail").replay(with_tail).verdict == "same"
    divergence = recording("P-14", "i_tail").replay(ORIGINAL).divergence
    assert divergence is not None
    assert (divergence.kind, divergence.turn, line_of(divergence)) == ("ended early", 4, 'return "done"')


def test_p_05_names_in_the_recorded_order_are_the_same() -> None:
    assert recording("P-05").replay(programs.fan_out).verdict == "same"


@pytest.mark.parametrize("order", ["sorted(names)", "reversed(names)", "names[1:] + names[:1]"])
def test_p_05_another_order_is_noticed_at_the_first_name_although_all_have_one_activity(order: str) -> None:
    code = edited(programs.fan_out, "for name in names]", f"for name in {order}]")
    divergence = recording("P-05").replay(code).divergence
    assert divergence is not None
    assert divergence.recorded is not None
    assert (divergence.kind, divergence.recorded.event_id) == ("moved", 2)
    assert divergence.lines_up is not None
    assert divergence.lines_up[1] == 8


def test_p_06b_a_clock_in_an_input_parts_from_its_record_with_both_times() -> None:
    code = typed("""
        import time

        def clock(ctx, _given):
            return (yield ctx.schedule_activity("Echo", time.time_ns()))
    """)
    divergence = recording("P-06b").replay(code).divergence
    assert divergence is not None
    assert divergence.impure
    assert divergence.recorded is not None
    assert divergence.recorded.input == "1796045047385763148"
    assert line_of(divergence) == 'return (yield ctx.schedule_activity("Echo", time.time_ns()))'
    assert "the code is impure: run again on the same history it did something else" in divergence.text()


def test_p_07_a_list_that_outlives_its_call_is_the_same_once_and_impure_the_second_time() -> None:
    code = fresh(programs.mutable_default)
    assert recording("P-07").replay(code).verdict == "same"
    divergence = recording("P-07").replay(code).divergence
    assert divergence is not None
    assert divergence.impure
    assert (divergence.kind, line_of(divergence)) == ("changed", 'yield ctx.schedule_activity("Echo", len(seen))')


def test_p_07_a_result_that_counts_replays_is_a_different_outcome() -> None:
    code = fresh(programs.mutable_result)
    replay = recording("P-07", "b").replay(code)
    assert replay.verdict == "different outcome"
    assert replay.outcome_difference is not None
    assert (replay.outcome_difference.recorded_output, replay.outcome_difference.now_output) == ("3", "1")


def test_p_13_the_old_code_follows_the_instance_that_was_under_way_and_the_new_code_the_later_one() -> None:
    new = edited(programs.registered_again, '"old"', '"NEW"')
    assert recording("P-13", "a").replay(programs.registered_again).verdict == "same"
    assert recording("P-13", "b").replay(new).verdict == "same"
    for instance_id, code in (("a", new), ("b", programs.registered_again)):
        divergence = recording("P-13", instance_id).replay(code).divergence
        assert divergence is not None
        assert (divergence.kind, divergence.lines_up) == ("changed", (1, 1))


@pytest.mark.parametrize(
    ("instance_id", "row", "reason"),
    [
        ("a", "event 2", "no JSON (JSON is malformed: object keys must be strings (byte 1))"),
        ("c", "event 3", "missing"),
    ],
)
def test_p_15_nothing_is_replayed_over_damage(instance_id: str, row: str, reason: str) -> None:
    replay = recording("P-15", instance_id).replay(ORIGINAL)
    assert replay.verdict == "damaged history"
    assert [(damage.row, damage.reason) for damage in replay.damage] == [(row, reason)]
    assert not any(turn.has_code for turn in replay.turns)


def test_p_15_code_that_meets_an_unknown_event_is_told_its_type_and_version() -> None:
    replay = recording("P-15", "b").replay(ORIGINAL)
    assert replay.verdict == "damaged history"
    assert replay.unknown_events == ("FutureEventKind",)
    assert replay.divergence is not None
    assert replay.divergence.message == "event 2 is a FutureEventKind of 0.1.32, which is not known here"
