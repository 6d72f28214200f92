"""Which operation an arrival answers, and where the answer to an operation arrived."""

from __future__ import annotations

from collections.abc import Callable

from tests.views.making import FLOW, RECORDINGS, changed, read_modify_write, started
from tests.views.pages import Page
from workbench.recordings import open_source
from workbench.run import Run
from workbench.runtime.errors import InstanceWaiting
from workbench.runtime.turn import Turn
from workbench.views.answers import answers, asked_in
from workbench.views.links import arrived, begun, beside, following
from workbench.views.operations import operation_addresses

Turns = tuple[Turn, ...]


def told(turns: Turns, address: str) -> list[str]:
    """What came of each operation of a turn that waits for something, in words."""
    turn = next(each for each in turns if each.address == address)
    found = answers(turns, turn)
    return [
        f"{answer.words} in {answer.turn.address}" if answer.turn is not None else answer.words
        for _, answer in sorted(found.items())
    ]


def asked(turns: Turns, address: str) -> list[str | None]:
    """The address of the operation that each arrival of a turn answers."""
    turn = next(each for each in turns if each.address == address)
    return [None if (found := asked_in(turns, turn, each)) is None else found[1] for each in turn.arrivals]


def driven(source: str, *events: Callable[[Run], object], given: object = None) -> Turns:
    """The turns of typed code; each time it waits for something from outside the next of these happens."""
    run = started(source, given=given)
    for event in (*events, None):
        try:
            run.finish()
            break
        except InstanceWaiting:
            if event is not None:
                event(run)
    return run.turns


def raised(name: str) -> Callable[[Run], object]:
    return lambda run: run.raise_event(name, 1)


def test_a_completion_answers_the_operation_that_scheduled_it() -> None:
    turns = driven(FLOW, raised("proceed"))
    assert asked(turns, "1.2") == ["1.1.2"]
    assert told(turns, "1.1") == ["completed in 1.2"]


def test_an_event_answers_the_wait_that_got_it() -> None:
    turns = driven(FLOW, raised("proceed"))
    assert asked(turns, "1.3") == ["1.2.2"]
    assert told(turns, "1.2") == ["arrived in 1.3"]


def test_what_is_not_answered_yet_is_open() -> None:
    assert told(driven(FLOW), "1.2") == ["still open"]


def test_what_is_not_answered_when_the_execution_ends_never_is() -> None:
    source = (
        "def flow(ctx, n):\n    t = ctx.schedule_timer(1_000)\n    e = ctx.wait_for_event('never')\n"
        "    yield ctx.race(t, e)\n    return n\n"
    )
    assert told(driven(source), "1.1") == ["fired in 1.2", "let go of in 1.2"]


def test_a_failure_and_two_of_the_same_name_are_told_apart() -> None:
    source = (
        "def flow(ctx, n):\n    a = ctx.schedule_activity('Work', 1)\n    b = ctx.schedule_activity('Work', 2)\n"
        "    yield ctx.all([a, b])\n    return n\n"
    )
    run = started(source)
    run.turn()
    run.complete(3, "b")
    run.turn()
    run.fail(2, "no")
    run.finish()
    assert told(run.turns, "1.1") == ["failed in 1.3", "completed in 1.2"]
    assert asked(run.turns, "1.2") == ["1.1.2"]


def test_an_event_that_came_too_early_answers_nothing() -> None:
    run = started(FLOW)
    run.raise_event("proceed", "early")
    try:
        run.finish()
    except InstanceWaiting:
        run.raise_event("proceed", "now")
    run.finish()
    early = next(each for each in run.turns if each.unhandled)
    assert asked_in(run.turns, early, early.unhandled[0]) is None
    assert told(run.turns, "1.2") == [f"arrived in {run.turns[-1].address}"]


def test_messages_of_a_queue_go_to_its_takers_in_order() -> None:
    source = (
        "def flow(ctx, n):\n    yield ctx.schedule_activity('Work', 1)\n    a = yield ctx.dequeue_event('q')\n"
        "    b = yield ctx.dequeue_event('q')\n    return n\n"
    )
    run = started(source)
    for number in (1, 2):
        run.enqueue_event("q", number)
    run.finish()
    wanted = [address for turn in run.turns for address in operation_addresses(turn)][1:]
    messages = [(turn, each) for turn in run.turns for each in turn.arrivals if each.type == "ExternalEventPersistent"]
    assert [found[1] for turn, each in messages if (found := asked_in(run.turns, turn, each))] == wanted


def test_after_a_divergence_nothing_is_said_of_what_is_open() -> None:
    replay = changed('set_kv_value("b", "2")', 'set_kv_value("b", "3")')
    assert replay.divergence is not None
    assert told(replay.turns, "1.1") == ["completed in 1.2"]
    assert all(answer == "" for answer in told(replay.turns, "1.2"))


def test_without_code_the_record_answers_too() -> None:
    turns = read_modify_write().replay().turns
    assert told(turns, "1.1") == ["completed in 1.2"]
    assert asked(turns, "1.2") == ["1.1.2"]


def test_the_title_and_the_notes_are_links() -> None:
    turns = driven(FLOW, raised("proceed"))
    links = beside(turns, turns[1], opens=True)
    title = Page(f"<p>{links.title}</p>")
    assert title.elements[0].text == " · scheduled in turn 1"
    assert [each.attributes["data-focus"] for each in title.focusable()] == ["1.1.2"]
    note = Page(f"<p>{links.notes['6']}</p>")
    assert (note.elements[0].text, note.focusable()[0].attributes["data-focus"]) == ("arrived in turn 3", "1.3")


def test_what_else_arrived_is_told_with_what_it_answers() -> None:
    source = (
        "def flow(ctx, n):\n    a = ctx.schedule_activity('Work', 1)\n    b = ctx.schedule_activity('Work', 2)\n"
        "    yield ctx.all([a, b])\n    return n\n"
    )
    run = started(source)
    run.turn()
    run.complete(2, "a")
    run.complete(3, "b")
    run.finish()
    [(label, [said])] = arrived(run.turns, run.turns[1])
    assert label == "arrived"
    assert "activity Work completed (event 4), scheduled in turn 1" in Page(f"<p>{said}</p>").elements[0].text


def test_an_execution_that_goes_on_leads_to_the_next_one() -> None:
    turns = driven(
        "def flow(ctx, n):\n    if n < 2:\n        yield ctx.continue_as_new(n + 1)\n    return n\n", given=1
    )
    [(_, [said])] = following(turns, turns[0])
    page = Page(f"<p>{said}</p>")
    assert page.elements[0].text == "continued as new with 2, in execution 2"
    assert page.focusable()[0].attributes["data-focus"] == "2.1"
    assert following(turns, turns[1]) == begun(turns, turns[0]) == []
    [(_, [said])] = begun(turns, turns[1])
    page = Page(f"<p>{said}</p>")
    assert page.elements[0].text == "with 0 keys, as execution 1 left them"
    assert page.focusable()[0].attributes["data-focus"] == "1.1"
    assert "not here" in begun(turns[1:], turns[1])[0][1][0]
    assert "not here yet" in following(turns[:1], turns[0])[0][1][0]


def test_every_completion_of_every_recording_leads_to_an_operation_whose_answer_it_is() -> None:
    count = 0
    for path in sorted(RECORDINGS.glob("*.db")):
        with open_source(path) as source:
            for recording in source.recordings():
                turns = recording.replay().turns
                for turn in turns:
                    for event in turn.arrivals:
                        found = asked_in(turns, turn, event)
                        if found is None or event.source_event_id is None:
                            continue
                        count += 1
                        came = answers(turns, found[0])[event.source_event_id]
                        assert came.turn is not None
                        assert came.turn.address <= turn.address
    assert count > 100
