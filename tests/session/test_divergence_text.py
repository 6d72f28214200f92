"""The explanation of the bug that the workbench is for: whole, and the same wherever it shows."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from tests.cases.edited import edited
from workbench import Run, Workbench, cli
from workbench.examples import counter, noop
from workbench.recordings import Recording
from workbench.runtime.errors import NondeterminismError
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

EXPLANATION = """\
Counter · counter-1 · diverged in turn 2: a recorded write has another value now
  where     turn 2, replaying turn 1 · event 2 · operation 1 · counter, line 4
              3 |         n = int(ctx.get_kv_value("counter") or "0")
            > 4 |         ctx.set_kv_value("counter", str(n + 1))
              5 |         yield ctx.schedule_activity("Noop", "")
  recorded  set counter = "1"
  now       set counter = "2"
  because   line 3 read counter = "1" from the snapshot, but event 2 of this same execution wrote
            that value: the snapshot is poisoned
  after     1 of 1 later operation lines up
  to do     use the delta model (kv_model="delta"): the same code replays this history there
  engine    nondeterministic: kv set mismatch: action=SetKeyValue { key: "counter", value: "2", … }
            vs event=KeyValueSet { key: "counter", value: "1", … }"""


def started(wb: Workbench) -> Run:
    wb.orchestration("Counter")(counter)
    wb.activity("Noop")(noop)
    return wb.start("Counter", 5)


@pytest.fixture
def first_design() -> Iterator[Workbench]:
    with Workbench(kv_model=PER_TURN) as wb:
        yield wb


@pytest.fixture
def diverged(first_design: Workbench) -> Run:
    run = started(first_design)
    run.turn()
    run.turn()
    return run


def test_the_turn_that_diverged_explains_itself(first_design: Workbench) -> None:
    run = started(first_design)
    assert run.turn().divergence is None
    turn = run.turn()
    assert turn.divergence is not None
    assert turn.divergence.text() == EXPLANATION
    assert turn.text().endswith(EXPLANATION)


def test_the_output_of_the_run_raises_it(diverged: Run) -> None:
    with pytest.raises(NondeterminismError) as raised:
        _ = diverged.output
    assert str(raised.value) == EXPLANATION


def test_the_turns_of_the_run_and_another_handle_on_it_say_the_same(first_design: Workbench, diverged: Run) -> None:
    assert diverged.divergence_text == EXPLANATION
    again = diverged.turns[-1].divergence
    assert again is not None
    assert again.text() == EXPLANATION
    with pytest.raises(NondeterminismError) as raised:
        _ = Run(diverged._desk, diverged.instance_id).output
    assert str(raised.value) == EXPLANATION


def test_its_recording_says_the_same_where_nothing_but_the_recording_is_left(diverged: Run) -> None:
    replay = Recording.from_json(diverged.recording().to_json()).replay(counter)
    assert replay.verdict == "diverged"
    with pytest.raises(NondeterminismError) as raised:
        replay.raise_for_verdict()
    assert str(raised.value) == EXPLANATION


def test_the_command_prints_it(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["repro"]) == 0
    assert EXPLANATION in capfd.readouterr().out


def test_history_keeps_the_text_of_the_reference_engine(diverged: Run) -> None:
    assert diverged.error is not None
    assert diverged.error.startswith(
        'nondeterministic: kv set mismatch: action=SetKeyValue { key: "counter", value: "2", last_updated_at_ms: '
    )


def test_the_same_code_completes_on_the_delta_model() -> None:
    with Workbench(kv_model=DELTA) as wb:
        run = started(wb)
        assert run.finish().output == "5"
        assert run.kv == {"counter": "5"}
        assert run.divergence_text is None


@pytest.mark.parametrize("kv_model", [DELTA, PER_TURN])
def test_two_runs_tell_the_same_word_for_word(kv_model: KVModel) -> None:
    told = []
    for _ in range(2):
        with Workbench(kv_model=kv_model) as wb:
            run = started(wb)
            texts = [run.turn().text() for _ in range(2)]
            told.append([*texts, run.text(), run.outcome.text(), run.recording().to_json()])
    assert told[0] == told[1]


def test_a_poisoned_read_is_not_blamed_for_what_changed_code_does(first_design: Workbench) -> None:
    run = started(first_design)
    run.turn()
    read_and_renamed = edited(counter, '"Noop", ""', '"Nope", ""')
    keeps_value = edited(read_and_renamed, "str(n + 1)", '"1"')
    first_design.orchestration("Counter")(keeps_value)
    divergence = run.turn().divergence
    assert divergence is not None
    assert divergence.explaining_read is None
    assert "poisoned" not in divergence.text()
    assert divergence.to_do[0].startswith("keep the recorded code for running instances")


def test_code_that_is_not_pure_is_told_so_and_the_first_explanation_stays(wb: Workbench) -> None:
    @wb.orchestration("Impure")
    def impure(ctx: Any, _: object, calls: list[int] = []) -> Generator[Any, Any, None]:  # noqa: B006 (that is it)
        calls.append(1)
        yield ctx.schedule_activity("Echo", len(calls))

    run = wb.start("Impure")
    run.turn()
    divergence = run.turn().divergence
    assert divergence is not None
    assert divergence.impure
    assert (divergence.now and divergence.now.signature[2], divergence.recorded and divergence.recorded.input) == (
        "2",
        "1",
    )
    assert "because   the code is impure: run again on the same history it did something else" in divergence.text()
    with pytest.raises(NondeterminismError) as raised:
        _ = run.output
    assert str(raised.value) == divergence.text()


def test_the_poison_comes_out_of_the_database(diverged: Run) -> None:
    _, rows = diverged._desk.provider.query("SELECT key, value, execution_id FROM kv_store")
    assert rows == [("counter", "1", 1)]
    assert diverged.turns[-1].snapshot["counter"].value == "1"
