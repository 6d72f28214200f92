"""Replaying code that does not come back: a verdict of its own, naming the line (DESIGN §3, closing rules)."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any

import pytest

from workbench import Recording, Workbench
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

SOON_MS = 50
LOOPS = r"did not come back within 50 ms; it was at loops, line [56] \(test_replay_deadline.py:\d+\)"

Code = Callable[..., Any]


def steps(ctx: Any, _: object) -> Generator[Any, Any, object]:
    ctx.set_kv_value("n", "1")
    yield ctx.schedule_activity("Noop")
    ctx.set_kv_value("n", "2")
    yield ctx.schedule_activity("Noop")
    return "done"


def loops(ctx: Any, _: object) -> Generator[Any, Any, object]:
    ctx.set_kv_value("n", "1")
    yield ctx.schedule_activity("Noop")
    ctx.set_kv_value("n", "2")
    while True:
        pass


def reads_late(ctx: Any, _: object) -> Generator[Any, Any, object]:
    """In the per-turn model turn 2 finds what turn 1 wrote, and never leaves its first line."""
    while ctx.get_kv_value("n") is not None:
        pass
    ctx.set_kv_value("n", "1")
    yield ctx.schedule_activity("Noop")
    return "done"


def never_closes(ctx: Any, _: object) -> Generator[Any, Any, object]:
    ctx.set_kv_value("n", "1")
    try:
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("another", "2")
        yield ctx.schedule_activity("Noop")
    finally:
        while True:
            pass


def recorded(code: Code, kv_model: KVModel = DELTA) -> Recording:
    """What an orchestration leaves that runs to its end."""
    with Workbench(kv_model=kv_model) as wb:
        wb.orchestration("Flow")(code)
        wb.activity("Noop")(lambda _ctx, _given: None)
        run = wb.start("Flow")
        run.finish()
        return run.recording()


@pytest.mark.parametrize("kv_model", [DELTA, PER_TURN])
def test_an_endless_loop_is_a_verdict_that_names_the_line(kv_model: KVModel) -> None:
    replay = recorded(steps).replay(loops, kv_model=kv_model, deadline_ms=SOON_MS)
    assert replay.verdict == "did not come back"
    assert replay.divergence is None
    assert [turn.address for turn in replay.turns] == ["1.1", "1.2"]
    assert replay.turns[0].stopped is None
    assert re.fullmatch(LOOPS, str(replay.turns[1].stopped))
    assert re.fullmatch(f"Flow · flow-1 · turn 1.2 {LOOPS}", repr(replay))


def test_the_turn_that_was_stopped_is_shown_as_it_was_recorded() -> None:
    turn = recorded(steps).replay(loops, deadline_ms=SOON_MS).turn("1.2")
    assert [operation.text for operation in turn.operations] == ['set n = "2"', "activity Noop(null)"]
    assert {operation.state for operation in turn.operations} == {"recorded"}
    assert not turn.has_code
    assert re.search(LOOPS, " ".join(turn.text().split()))
    assert "did not come back" in turn._repr_html_()


def test_its_text_its_table_and_its_page_say_so() -> None:
    replay = recorded(steps).replay(loops, deadline_ms=SOON_MS)
    assert "✗  1.2" in replay.text()
    assert "did not come back" in replay.text().splitlines()[-2]
    assert replay.frame()["status"].tolist() == ["Running", "Did not come back"]
    assert "✗ turn 1.2 did not come back" in replay._repr_html_()


def test_such_a_verdict_raises_when_it_is_asked_to() -> None:
    replay = recorded(steps).replay(loops, deadline_ms=SOON_MS)
    with pytest.raises(NondeterminismError, match="did not come back"):
        replay.raise_for_verdict()


def test_a_loop_on_the_way_to_a_turn_stops_that_turn() -> None:
    """Per-turn model: turn 2 is a new execution from the top, and its code hangs where turn 1's did not."""
    recording = recorded(reads_late)
    assert recording.replay(reads_late, deadline_ms=SOON_MS).verdict == "same"
    poisoned = recording.replay(reads_late, kv_model=PER_TURN, deadline_ms=SOON_MS)
    assert poisoned.verdict == "did not come back"
    assert "reads_late, line 3" in str(poisoned.turns[-1].stopped)
    assert poisoned.turns[-1].address == "1.2"


def test_cleanup_that_never_ends_leaves_the_verdict() -> None:
    """The code parts from the record, and hangs when it is closed: where it parted is what is to be seen."""
    replay = recorded(steps).replay(never_closes, deadline_ms=SOON_MS)
    assert replay.verdict in ("diverged", "did not come back")
    assert replay.turns[-1].address == "1.2"


def test_locals_are_read_from_a_replay_under_the_same_deadline() -> None:
    replay = recorded(steps).replay(loops, deadline_ms=SOON_MS)
    with_locals = replay.stepping().with_locals
    assert with_locals is not None
    assert with_locals("1.2").stopped is not None
