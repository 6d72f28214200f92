"""Who wrote a key, told up to the turn that is looked at."""

from __future__ import annotations

from tests.views.making import RECORDINGS, counter, started
from tests.views.pages import Page
from workbench.recordings import open_source
from workbench.runtime.turn import Turn
from workbench.views.writers import about, next_write, pinned, readers, writers

CHANGES = """\
def changes(ctx, _):
    ctx.set_kv_value("a", "1")
    yield ctx.schedule_activity("Work", 1)
    ctx.set_kv_value("a", "2")
    ctx.clear_kv_value("a")
    yield ctx.schedule_activity("Work", 1)
    ctx.set_kv_value("b", "<b>")
    ctx.clear_all_kv_values()
    yield ctx.schedule_activity("Work", 1)
    ctx.set_kv_value("a", "3")
    ctx.set_kv_value("a", "4")
"""


def told(turns: tuple[Turn, ...], turn: Turn, key: str) -> str:
    return Page(f"<p>{writers(turns, turn, key)}</p>").elements[0].text


def changes() -> tuple[Turn, ...]:
    run = started(CHANGES)
    run.finish()
    return run.turns


def test_the_last_write_is_named_with_turn_event_and_line() -> None:
    turns = changes()
    assert told(turns, turns[0], "a") == 'a: last written in turn 1.1, event 2, line 2: set to "1"'


def test_clears_count_as_writes() -> None:
    turns = changes()
    assert told(turns, turns[1], "a") == (
        "a: last written in turn 1.2, event 6, line 5: clear · before that in "
        'turn 1.2, event 5, line 4: set to "2", turn 1.1, event 2, line 2: set to "1"'
    )
    assert told(turns, turns[2], "b") == (
        "b: last written in turn 1.3, event 10, line 8: clear all keys · before that in "
        'turn 1.3, event 9, line 7: set to "<b>"'
    )


def test_more_than_three_are_only_hinted_at() -> None:
    turns = changes()
    assert told(turns, turns[3], "a") == (
        'a: last written in turn 1.4, event 14, line 11: set to "4" · before that in '
        'turn 1.4, event 13, line 10: set to "3", turn 1.3, event 10, line 8: clear all keys and earlier'
    )


def test_each_write_leads_to_the_operation_that_made_it() -> None:
    turns = changes()
    links = Page(f"<p>{writers(turns, turns[1], 'a')}</p>").focusable()
    assert [each.attributes["data-focus"] for each in links] == ["1.2.2", "1.2.1", "1.1.1"]


def test_a_turn_that_diverged_has_written_nothing() -> None:
    run = counter("per-turn")
    run.finish()
    assert told(run.turns, run.turns[-1], "counter") == (
        'counter: last written in turn 1.1, event 2, line 4: set to "1"'
    )


def test_a_key_that_nobody_wrote_yet_is_said_to_be_so() -> None:
    turns = changes()
    assert told(turns, turns[0], "b") == "b: not written up to this turn"


def test_a_key_of_earlier_executions_is_followed_into_them() -> None:
    source = (
        "def twice(ctx, n):\n    if n == 0:\n        ctx.set_kv_value('k', 'v')\n        yield ctx.continue_as_new(1)\n"
        "    return ctx.get_kv_value('k')\n"
    )
    run = started(source, given=0)
    run.finish()
    assert told(run.turns, run.turns[-1], "k") == 'k: last written in turn 1.1, event 2, line 3: set to "v"'
    alone = run.turns[-1:]
    assert told(alone, alone[0], "k") == "k: written before the turns that are recorded here"


def test_without_code_there_is_no_line() -> None:
    with open_source(RECORDINGS / "P-01_rmw.db") as source:
        turns = source.recording("a").replay().turns
    assert told(turns, turns[0], "n") == 'n: last written in turn 1.1, event 2: set to "1"'


def test_a_turn_of_somewhere_else_tells_nothing() -> None:
    turns = changes()
    assert told(turns[:1], turns[1], "a") == "a: not written up to this turn"


READS = """\
def reads(ctx, _):
    ctx.set_kv_value("a", "1")
    ctx.get_kv_value("a")
    yield ctx.schedule_activity("Work", 1)
    ctx.get_kv_value("a")
    ctx.get_kv_value("b")
    yield ctx.schedule_activity("Work", 1)
    ctx.get_kv_value("a")
    ctx.set_kv_value("a", "2")
    ctx.get_kv_value("a")
"""


def reads() -> tuple[Turn, ...]:
    run = started(READS)
    run.finish()
    return run.turns


def test_the_readers_between_two_writers_are_named_in_order() -> None:
    turns = reads()
    places = [(each.turn.address, each.place) for each in readers(turns, turns[1], "a")]
    assert places == [("1.1", "line 3"), ("1.2", "line 5"), ("1.3", "line 8")]
    assert [each.place for each in readers(turns, turns[2], "a")] == ["line 10"]
    assert [each.place for each in readers(turns, turns[0], "b")] == ["line 6"]


def test_the_next_writer_is_named_and_leads_to_its_operation() -> None:
    turns = reads()
    write = next_write(turns, turns[0], "a")
    assert write is not None
    assert (write.address, write.place) == ("1.3.1", "line 9")
    assert next_write(turns, turns[2], "a") is None


def test_all_of_it_is_told_in_three_lines_of_links() -> None:
    turns = reads()
    page = Page(f"<p>{about(turns, turns[1], 'a')}</p>")
    assert page.elements[0].text == (
        'a: last written in turn 1.1, event 2, line 2: set to "1"'
        'next written in turn 1.3, event 7, line 9: set to "2"'
        "read in between by turn 1.1, line 3 · turn 1.2, line 5 · turn 1.3, line 8"
    )
    assert [each.attributes["data-focus"] for each in page.focusable()] == ["1.1.1", "1.3.1", "1.1", "1.2", "1.3"]
    assert len(page.all("br")) == 2


def test_a_poisoned_reader_is_said_to_be_one() -> None:
    run = counter("per-turn")
    run.finish()
    turns = run.turns
    assert "turn 1.2, line 3: poisoned" in Page(f"<p>{about(turns, turns[0], 'counter')}</p>").elements[0].text


def test_many_readers_are_counted_and_a_loop_is_one() -> None:
    source = (
        "def many(ctx, _):\n    for _ in range(9):\n        ctx.get_kv_value('k')\n        ctx.get_kv_value('k')\n"
        "        yield ctx.schedule_timer(1)\n    for _ in range(9):\n        ctx.get_kv_value('k')\n"
    )
    run = started(source)
    run.finish()
    told = told_about(run.turns, "k")
    assert told.startswith("k: not written up to this turnread in between by turn 1.1, line 3 · turn 1.1, line 4 ·")
    assert told.endswith("turn 1.3, line 4 and 13 more")
    assert told_about(run.turns[-1:], "k").endswith("turn 1.10, line 7, 9 times")


def test_the_pinned_key_can_be_let_go() -> None:
    page = Page(f"<p>{pinned('counter')}</p>")
    assert page.elements[0].text == "pinned: counter unpin"
    assert page.focusable()[0].attributes["data-focus"] == "key:counter"
    assert Page(f"<p>{pinned(None)}</p>").focusable() == []


def told_about(turns: tuple[Turn, ...], key: str) -> str:
    return Page(f"<p>{about(turns, turns[0], key)}</p>").elements[0].text
