"""What a replay's verdict is called, and what it says was compared."""

from __future__ import annotations

import msgspec
import pytest

from tests.cases import programs
from tests.cases.edited import edited
from tests.cases.recorded import recording
from tests.views.making import FLOW, changed, recorded_once, typed
from workbench import Recording
from workbench.recordings.replay import KeyDifference
from workbench.recordings.stored import StoredExecution, StoredInstance, recording_of, stored_rows
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.kv import Entry, Tables

STATUS = FLOW.replace("    ctx.set_kv_value", '    ctx.set_custom_status("one")\n    ctx.set_kv_value', 1)


def with_unknown_events(count: int) -> Recording:
    """A recording whose history has events of a type that is not known, at the end of its first turn."""
    whole = recording("P-01")
    rows = list(stored_rows(whole.last))
    ended = rows.pop()
    rows = [
        *rows,
        *(
            msgspec.structs.replace(
                ended,
                event_id=ended.event_id + at,
                event_type="FutureKind",
                text=ended.text.replace("OrchestrationCompleted", "FutureKind").replace(
                    f'"event_id":{ended.event_id}', f'"event_id":{ended.event_id + at}'
                ),
            )
            for at in range(count)
        ),
        msgspec.structs.replace(
            ended,
            event_id=ended.event_id + count,
            text=ended.text.replace(f'"event_id":{ended.event_id}', f'"event_id":{ended.event_id + count}'),
        ),
    ]
    return recording_of(
        StoredInstance(
            instance_id=whole.instance_id,
            orchestration=whole.orchestration,
            version=whole.version,
            executions=(StoredExecution(1, whole.status, whole.output, tuple(rows)),),
            kv_model=whole.kv_model,
            kv_tables=whole.kv_tables,
            limits=whole.limits,
        )
    )


@pytest.mark.parametrize(
    ("count", "verdict"), [(1, "same, 1 unknown event skipped"), (2, "same, 2 unknown events skipped")]
)
def test_unknown_events_that_no_operation_meets_are_skipped_and_counted(count: int, verdict: str) -> None:
    replay = with_unknown_events(count).replay(programs.read_modify_write)
    assert replay.verdict == verdict
    assert replay.is_same
    assert replay.unknown_events == ("FutureKind",)
    assert f"· {verdict}: 6 operations" in repr(replay)
    replay.raise_for_verdict()


def test_it_counts_operations_turns_executions_and_keys() -> None:
    replay = recording("P-01").replay(programs.read_modify_write)
    assert (replay.compared, replay.compared_turns, replay.compared_executions, replay.compared_keys) == (6, 4, 1, 1)


def test_executions_before_a_continue_as_new_count_too() -> None:
    replay = recording("P-11", "x").replay(programs.clear_and_set)
    assert replay.is_same
    assert replay.compared_executions == len(replay.recording.executions)


def test_up_to_a_divergence_only_whole_turns_count() -> None:
    replay = recording("P-01").replay(edited(programs.read_modify_write, "range(3)", "range(2)"))
    assert replay.verdict == "diverged"
    assert (replay.compared_turns, replay.compared_keys) == (2, 0)


def test_a_strict_difference_is_a_verdict_only_for_who_asks() -> None:
    source = typed(STATUS.replace('"one"', '"two"'))
    recorded = recorded_once(STATUS)
    assert recorded.replay(source).verdict == "same"
    strict = recorded.replay(source, strict=True)
    assert strict.verdict == "diverged (strict)"
    assert strict.divergence is None
    assert repr(strict).endswith("diverged (strict): 5 operations in 3 turns as recorded; 1 strict difference")
    assert "reference duroxide accepts" in strict.text()
    assert "✗ diverged (strict)" in strict._repr_html_()
    with pytest.raises(NondeterminismError, match=r"custom status recorded 'one', now 'two'"):
        strict.raise_for_verdict()


def test_who_asks_for_strict_and_has_none_gets_same() -> None:
    assert recorded_once(STATUS).replay(typed(STATUS), strict=True).verdict == "same"


def test_a_divergence_and_another_outcome_come_before_strict_differences() -> None:
    other = STATUS.replace('"one"', '"two"').replace('return "done"', 'return "other"')
    assert recorded_once(STATUS).replay(typed(other), strict=True).verdict == "different outcome"


def test_a_stored_key_that_its_history_does_not_come_to_is_named() -> None:
    recorded = recording("P-01")
    tables = Tables({**recorded.kv_tables.store, "n": Entry("7", 1), "odd": Entry("x", 1)}, recorded.kv_tables.delta)
    replay = msgspec.structs.replace(recorded, kv_tables=tables).replay(programs.read_modify_write)
    assert replay.key_differences == (KeyDifference("n", "7", "3"), KeyDifference("odd", "x", None))
    assert replay.compared_keys == 2
    assert "stored    key n: 7 is stored, 3 by the history" in replay.text()


def test_what_differs_is_shown_beside_the_verdict_of_the_reference() -> None:
    text = changed('"done"', '"other"').text()
    assert 'reference duroxide accepts: completed with "other"' in text
    assert "reference" not in recorded_once(FLOW).replay(typed(FLOW)).text()


def test_it_goes_into_the_failing_turn_to_the_line_that_raised_with_its_locals() -> None:
    raising = FLOW.replace('return "done"', 'total = 6 * 7\n    raise ValueError(f"no {total}")')
    replay = recorded_once(FLOW).replay(typed(raising))
    assert replay.verdict == "different outcome"
    last = replay.turns[-1]
    assert last.raised
    assert [(line.function, line.line) for line in last.parked] == [("flow", 7)]
    show = replay.stepping().with_locals
    assert show is not None
    assert ("total", "42") in show(last.address).parked_locals
    assert "Code · raised here" in show(last.address)._repr_html_()


def test_a_raise_that_came_too_early_is_a_divergence_with_its_line_and_locals() -> None:
    raising = FLOW.replace('    ctx.set_kv_value("b", "2")', '    total = 7\n    raise ValueError(f"no {total}")')
    replay = recorded_once(FLOW).replay(typed(raising), keep_locals=True)
    assert replay.divergence is not None
    assert replay.divergence.kind == "ended early"
    assert [(line.function, line.line) for line in replay.divergence.chain] == [("flow", 5)]
    assert ("total", "7") in replay.divergence.local_values


def test_a_recorded_failure_shows_the_line_that_raised() -> None:
    raising = FLOW.replace('return "done"', 'raise ValueError("no")')
    replay = recorded_once(raising).replay(typed(raising))
    assert replay.verdict == "same"
    assert replay.turns[-1].raised
    assert replay.turns[-1].parked[0].line == 6
    assert not any(turn.raised for turn in replay.turns[:-1])
