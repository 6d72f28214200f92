"""A turn as one line, text, HTML and DataFrame."""

from __future__ import annotations

import pytest

from tests.views.making import ECHO, counter, read_modify_write, started, typed
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import turn as view

MIXED = """\
def flow(ctx, _):
    ctx.set_kv_value("kept", "1")
    ctx.set_kv_value("gone", "soon")
    yield ctx.schedule_activity("Work", "go")
    ctx.clear_kv_value("gone")
    ctx.set_kv_value("empty", "")
    ctx.set_custom_status("half way")
    names = ctx.get_kv_all_keys()
    missing = ctx.get_kv_value("gone")
    winner = yield ctx.race(ctx.wait_for_event("cancelled"), ctx.schedule_timer(60_000))
    ctx.set_kv_value("kept", "2")
    raise ValueError("no luck")
"""


def made(source: str, turns: int, **settings: object) -> Turn:
    """The last of this many turns of typed code."""
    run = started(source, **settings)  # type: ignore[arg-type]
    return [run.turn() for _ in range(turns)][-1]


def test_a_good_turn_in_one_line() -> None:
    run = counter("delta")
    run.turn()
    assert repr(run.turn()) == (
        "Turn 1.2 of counter-1: woken by activity Noop completed (event 4), 2 new operations, counter 1 → 2"
    )


def test_a_good_turn_as_text() -> None:
    run = counter("delta")
    run.turn()
    assert run.turn().text() == (
        "Turn 1.2 · Counter · counter-1 · delta model\n"
        "  woken by  activity Noop completed (event 4)\n"
        "  replayed  2 operations of turn 1, as recorded\n"
        "  made            get counter → 1    set in turn 1, event 2  line 3\n"
        '            +  5  set counter = "2"  new                     line 4\n'
        '            +  6  activity Noop("")  new                     line 5\n'
        '  waiting   activity Noop(""), event 6 · counter, line 5\n'
        "  keys         key      snapshot  delta  client  bytes\n"
        "            ~  counter  –         1 → 2  1 → 2       1\n"
        "  limits    1 of 10 keys, largest value 1 B of 16 KiB\n"
        "  status    running"
    )


def test_the_last_turn_shows_the_delta_merged_into_the_snapshot() -> None:
    run = counter("delta")
    run.finish()
    assert run.turns[-1].text() == (
        "Turn 1.6 · Counter · counter-1 · delta model\n"
        "  woken by  activity Noop completed (event 16)\n"
        "  replayed  10 operations of turns 1 to 5, as recorded\n"
        "  made      get counter → 5  set in turn 5, event 14  line 6\n"
        "  keys         key      snapshot  delta  client  bytes\n"
        "            =  counter  5         5 → –  5           1\n"
        "  limits    1 of 10 keys, largest value 1 B of 16 KiB\n"
        '  status    completed with "5"'
    )


def test_a_diverged_turn_shows_what_it_was_given_and_ends_with_the_divergence() -> None:
    turn = read_modify_write().replay(typed(ECHO), kv_model="per-turn").turns[-1]
    assert turn.divergence is not None
    assert turn.text() == (
        "Turn 1.2 · O · a · per-turn model · turns inferred\n"
        "  woken by  activity Echo completed (event 4)\n"
        "  made      !     get n → 1          from the snapshot: poisoned by event 2  line 3\n"
        '            ✗  2  set n = "1" → "2"  recorded → now                          line 4\n'
        "  keys         key  snapshot  delta  client  bytes\n"
        "            !  n    1         –      1           1  written by this execution\n"
        "  limits    1 of 150 keys, largest value 1 B of 64 KiB\n"
        f"{turn.divergence.text()}"
    )
    assert repr(turn) == (
        "Turn 1.2 of a: woken by activity Echo completed (event 4), "
        "diverged in turn 2: a recorded write has another value now"
    )


def test_a_turn_without_code_is_told_from_its_events() -> None:
    assert read_modify_write().replay().turns[1].text() == (
        "Turn 1.2 · O · a · delta model · turns inferred\n"
        "  arrived   activity Echo completed (event 4)\n"
        '  made      5  set n = "2"\n'
        "            6  activity Echo(1)\n"
        "  keys         key  snapshot  delta  client  bytes\n"
        "            ~  n    –         1 → 2  1 → 2       1\n"
        "  limits    1 of 150 keys, largest value 1 B of 64 KiB\n"
        "  status    running"
    )


def test_every_kind_of_operation_and_read_has_its_row() -> None:
    assert made(MIXED, 2).text() == (
        "Turn 1.2 · Flow · flow-1 · delta model\n"
        "  woken by  activity Work completed (event 5)\n"
        "  replayed  3 operations of turn 1, as recorded\n"
        "  made      +   6  clear gone                new                         line 5\n"
        '            +   7  set empty = ""            new                         line 6\n'
        '            +   8  custom status "half way"  new                         line 7\n'
        "                   keys → empty, kept                                    line 8\n"
        "                   get gone → nothing        cleared in turn 2, event 6  line 9\n"
        "            +   9  wait for event cancelled  new                         line 10\n"
        "            +  10  timer of 60000 ms         new                         line 10\n"
        "  waiting   wait for event 'cancelled', event 9, timer of 60000 ms, event 10 · flow, line 10\n"
        "  keys         key    snapshot  delta           client    bytes\n"
        '            +  empty  –         ""              ""            0\n'
        "            −  gone   –         soon → cleared  soon → –      0\n"
        "            1 key unchanged\n"
        "  limits    2 of 10 keys, largest value 1 B of 16 KiB\n"
        "  status    running"
    )


def test_a_failed_turn_says_its_error() -> None:
    assert repr(made(MIXED, 3)) == (
        "Turn 1.3 of flow-1: woken by timer fired (event 11), 1 new operation, kept 1 → 2, failed: ValueError: no luck"
    )


def test_the_text_of_a_turn_that_raised_says_where() -> None:
    source = (
        "def helper(key):\n"
        "    return {}[key]\n"
        "\n"
        "def flow(ctx, key):\n"
        "    helper(key)\n"
        "    yield ctx.schedule_timer(1)\n"
    )
    assert "  raised    helper, line 2 ← flow, line 2\n" in made(source, 1).text()


def test_a_turn_that_a_limit_refused_shows_its_operations_as_thrown_away() -> None:
    source = (
        "def flow(ctx, _):\n"
        '    ctx.set_kv_value("a", "1")\n'
        '    ctx.set_kv_value("b", "2")\n'
        '    yield ctx.schedule_activity("Work", "go")\n'
    )
    turn = made(source, 1, limits=Limits(kv_keys=1))
    assert turn.text() == (
        "Turn 1.1 · Flow · flow-1 · delta model\n"
        "  woken by  the start of Flow (event 1)\n"
        '  made      −  2  set a = "1"          refused by a limit  line 2\n'
        '            −  3  set b = "2"          refused by a limit  line 3\n'
        '            −  4  activity Work("go")  refused by a limit  line 4\n'
        "  keys      no keys\n"
        "  limits    0 of 1 keys, largest value 0 B of 16 KiB\n"
        "  status    failed: KV key count (2) exceeds limit (1)\n"
        "  refused   nothing that the code made was recorded"
    )


def test_an_arrival_that_woke_nothing_is_named() -> None:
    run = started('def flow(ctx, _):\n    yield ctx.schedule_activity("Work", 1)\n    yield ctx.wait_for_event("E")\n')
    run.turn()
    run.raise_event("E", 1)
    text = run.turn().text()
    assert "  arrived   event E (event 3); the code was not woken\n" in text
    assert text.endswith("  warnings  event E arrived, nobody waiting")


def test_an_operation_in_a_helper_is_placed_by_the_helper_s_name() -> None:
    source = (
        "def pay(ctx, amount):\n"
        '    yield ctx.schedule_activity("Work", amount)\n\n'
        "def flow(ctx, _):\n"
        '    ctx.set_kv_value("a", "1")\n'
        "    yield from pay(ctx, 2)\n"
    )
    text = made(source, 1).text()
    assert '  made      +  2  set a = "1"       new  line 2\n' in text
    assert "            +  3  activity Work(2)  new  pay, line 2\n" in text
    assert "  waiting   activity Work(2), event 3 · pay, line 2 ← flow, line 3\n" in text


@pytest.mark.parametrize(
    "words",
    [
        "Turn 1.2",
        "woken by activity Noop completed (event 4), 2 new operations",
        "2 operations of turn 1, as recorded",
        "get counter → 1",
        "set in turn 1, event 2",
        "waiting: activity Noop(&quot;&quot;), event 6",
        "<del>",
        "1 of 10",
        "1 B of 16 KiB",
        "● running",
    ],
)
def test_the_picture_has_what_the_text_has(words: str) -> None:
    run = counter("delta")
    run.turn()
    assert words in run.turn()._repr_html_()


def test_a_turn_s_frame_has_a_row_an_operation_or_read() -> None:
    frame = made(MIXED, 2).frame()
    assert list(frame["operation"]) == [
        "clear gone",
        'set empty = ""',
        'custom status "half way"',
        "keys → empty, kept",
        "get gone → nothing",
        "wait for event cancelled",
        "timer of 60000 ms",
    ]
    assert frame["event"].fillna(0).tolist() == [6, 7, 8, 0, 0, 9, 10]
    assert frame["origin"].dropna().tolist() == ["cleared"]
    assert set(frame["state"]) == {"new", "read"}
    assert frame["place"].tolist()[0] == "flow, line 5"


def test_the_same_turn_gives_the_same_picture_twice() -> None:
    first, second = (read_modify_write().replay(typed(ECHO), kv_model="per-turn").turns[-1] for _ in range(2))
    assert view.html(first) == view.html(second)
