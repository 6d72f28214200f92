"""A run, its outcome, a recording, its events, and a source of many."""

from __future__ import annotations

from tests.views.making import RECORDINGS, counter, read_modify_write
from workbench.recordings import open_source
from workbench.views import history, outcome, recording, run, source


def test_a_run_from_its_start_to_its_end() -> None:
    made = counter("delta", rounds=2)
    assert run.line(made).endswith("counter-1 · not started: no turn has been made")
    made.turn()
    assert made.text() == (
        "Counter · counter-1 · running after 1 turn\n"
        "  turns        turn  woken by                        operations        keys         status\n"
        "            +  1.1   the start of Counter (event 1)  2 new operations  counter = 1\n"
        "  keys      counter = 1\n"
        '  waiting   activity Noop(""), event 3'
    )
    made.finish()
    assert made.text() == (
        'Counter · counter-1 · completed with "2" after 3 turns\n'
        "  turns        turn  woken by                           operations        keys           status\n"
        "            +  1.1   the start of Counter (event 1)     2 new operations  counter = 1\n"
        "            +  1.2   activity Noop completed (event 4)  2 new operations  counter 1 → 2\n"
        '            +  1.3   activity Noop completed (event 7)                                   completed with "2"\n'
        "  keys      counter = 2"
    )


def test_a_diverged_run_begins_with_its_divergence() -> None:
    made = counter("per-turn")
    made.turn()
    divergence = made.turn().divergence
    assert divergence is not None
    assert made.text().startswith(divergence.text())
    assert repr(made) == "Counter · counter-1 · diverged in turn 1.2"
    assert "✗ diverged in turn 1.2" in made._repr_html_()


def test_an_outcome_is_one_line_and_the_divergence_if_there_is_one() -> None:
    assert repr(counter("delta").finish()) == 'counter-1 completed with "5" after 6 turns'
    diverged = counter("per-turn").finish()
    assert diverged.text() == f"counter-1 diverged after 2 turns\n{diverged.divergence}"
    assert "a recorded write has another value now" in outcome.html(diverged)
    assert outcome.frame(diverged)["status"].tolist() == ["Failed"]


def test_a_recording_says_who_recorded_what() -> None:
    assert recording.text(read_modify_write()) == (
        'O 1.0.0 · a · recording by duroxide-0.1.32: 1 execution, 4 turns, 11 events, completed with "3"\n'
        "  history   execution  turns  events  status\n"
        '            1              4      11  completed with "3"  turns inferred\n'
        "  model     delta"
    )


def test_events_are_told_by_turn_without_times() -> None:
    assert history.text(read_modify_write()) == (
        "turn  event  kind                    what\n"
        "1.1       1  OrchestrationStarted    start of O 1.0.0 with null\n"
        '          2  KeyValueSet             set n = "1"\n'
        "          3  ActivityScheduled       activity Echo(1)\n"
        "1.2       4  ActivityCompleted       activity Echo completed: 1\n"
        '          5  KeyValueSet             set n = "2"\n'
        "          6  ActivityScheduled       activity Echo(1)\n"
        "1.3       7  ActivityCompleted       activity Echo completed: 1\n"
        '          8  KeyValueSet             set n = "3"\n'
        "          9  ActivityScheduled       activity Echo(1)\n"
        "1.4      10  ActivityCompleted       activity Echo completed: 1\n"
        '         11  OrchestrationCompleted  completed with "3"'
    )


def test_the_events_of_turns_are_those_of_their_recording() -> None:
    recorded = read_modify_write()
    assert history.event_rows(recorded.replay().turns) == history.event_rows(recorded)


def test_a_recording_s_frame_has_a_row_an_event() -> None:
    frame = recording.frame(read_modify_write())
    assert list(frame.columns) == ["execution", "turn", "event", "kind", "what", "answers"]
    assert len(frame) == 11
    assert frame["answers"].dropna().tolist() == [3, 6, 9]


def test_every_recorded_history_has_its_text_and_picture() -> None:
    for path in sorted(RECORDINGS.glob("*.db")):
        with open_source(path) as opened:
            for each in opened.recordings():
                replay = each.replay()
                shown = [recording.text(each), history.text(each), replay.text(), *map(repr, replay.turns)]
                pages = [recording.html(each), history.html(each), replay._repr_html_()]
                assert all(shown)
                assert all(page.startswith('<div class="workbench">') for page in pages)
                assert not any(str(path.parent) in text for text in (*shown, *pages))


def test_a_source_lists_its_instances() -> None:
    outcome_of_race = 'completed with ["one", {"index": 1, "value": null}]'
    with open_source(RECORDINGS / "P-12_event_early.db") as opened:
        assert source.text(opened) == (
            "P-12_event_early.db: duroxide SQLite, 3 instances\n"
            "  instance  orchestration  version  executions  events  status\n"
            "  a         O              1.0.0             1       5  running\n"
            f"  b         O2             1.0.0             1       9  {outcome_of_race}\n"
            f"  d         O2             1.0.0             1       9  {outcome_of_race}"
        )
        assert source.html(opened).count("<tr") == 4
        assert source.frame(opened)["instance_id"].tolist() == ["a", "b", "d"]
