"""The parts that a panel is put together from: strip, code, keys, limits."""

from __future__ import annotations

import msgspec
import pytest

from tests.views.making import COUNTER, ECHO, RECORDINGS, read_modify_write, recorded, started, typed
from tests.views.pages import Page
from workbench.recordings import open_source
from workbench.runtime.kv import Entry, Tables
from workbench.runtime.turn import Turn
from workbench.views import changes
from workbench.views.code import code_part, excerpt, function_lines, hits
from workbench.views.key_table import keys_frame, keys_part
from workbench.views.limits_view import bar, limits_in_words, limits_part
from workbench.views.strip import AROUND, glyph, strip
from workbench.views.tokens import coloured

KINDS = """\
def flow(ctx, _):
    yield ctx.schedule_timer(10)
    try:
        yield ctx.schedule_activity("Fails", 1)
    except Exception:
        yield ctx.dequeue_event("inbox")
    yield ctx.wait_for_event("go")
    return (yield ctx.continue_as_new(None))
"""


def fails(_: object, __: object) -> None:
    raise ValueError("no")


def turns(kv_model: str = "delta") -> tuple[Turn, ...]:
    return read_modify_write().replay(typed(ECHO), kv_model=kv_model).turns  # type: ignore[arg-type]


def test_the_strip_has_a_glyph_for_what_woke_each_turn_and_a_badge_for_its_keys() -> None:
    strips = Page(strip(turns())).focusable()
    assert [each.text for each in strips] == ["▸ 1 +1", "◆ 2 ~1", "◆ 3 ~1", "◆ 4 ="]
    assert strips[1].attributes["aria-label"] == "turn 1.2: woken by activity Echo completed (event 4), n 1 → 2"


def test_other_arrivals_have_other_glyphs() -> None:
    run = started(KINDS, activities=["Fails"], activity=fails)
    made = [run.turn(), run.turn(), run.turn()]
    run.enqueue_event("inbox", 1)
    made.append(run.turn())
    run.raise_event("go", 1)
    made.append(run.turn())
    run.cancel("enough")
    assert [glyph(turn) for turn in made] == ["▸", "◷", "◇", "≡", "◉"]


def test_a_diverged_turn_is_marked_in_the_strip() -> None:
    last = Page(strip(turns("per-turn"), "1.2")).focusable()[-1]
    assert last.text == "✗ 2 ="
    assert last.attributes["aria-current"] == "true"
    assert "diverged" in str(last.attributes["aria-label"])


def test_a_long_strip_shows_the_turns_around_the_focus_and_counts_the_others() -> None:
    turn = turns()[0]
    many = [msgspec.structs.replace(turn, number=number) for number in range(1, 1001)]
    page = Page(strip(many, "1.500"))
    addresses = [str(each.attributes["data-focus"]) for each in page.focusable()]
    assert addresses == ["1.1", *(f"1.{n}" for n in range(500 - AROUND, 501 + AROUND)), "1.1000"]
    assert "… 486 turns …" in page.all("div")[0].text


def test_executions_are_told_apart_in_the_strip() -> None:
    with open_source(RECORDINGS / "P-11_kv_clear_set.db") as source:
        replay = source.recording("x").replay()
    assert "execution 2 " in Page(strip(replay.turns)).all("div")[0].text


def test_a_strip_without_turns_says_so() -> None:
    assert Page(strip([])).all("div")[0].text == "no turns"


def test_code_is_numbered_from_its_def_and_counts_what_each_line_made() -> None:
    turn = turns()[2]
    assert Page(code_part(turn, "")).all("pre")[0].text.splitlines() == [
        "  1     def O(ctx, _):",
        "  2         for _ in range(3):",
        '  3 ×3          n = int(ctx.get_kv_value("n") or "0")',
        '  4 ×3          ctx.set_kv_value("n", str(n + 1))',
        '▶ 5 ×3          yield ctx.schedule_activity("Echo", 1)',
        '  6         return ctx.get_kv_value("n")',
    ]


def test_a_cold_replay_counts_from_the_top_up_to_the_divergence() -> None:
    turn = turns("per-turn")[-1]
    line = turn.operations[-1].chain[0]
    assert hits(turn, line) == {line.first_line + 2: 1, line.first_line + 3: 1}
    assert "Code · diverged here" in code_part(turn, "")


def test_a_finished_turn_marks_no_line() -> None:
    page = Page(code_part(turns()[3], ""))
    assert "Code · has ended" in page.all("p")[0].text
    assert "▶" not in page.all("pre")[0].text


def test_code_without_source_says_so() -> None:
    turn = turns()[0]
    line = turn.parked[0]._replace(file="<gone>")
    gone = msgspec.structs.replace(turn, parked=(line,))
    assert "The source is not to be had." in code_part(gone, "")
    assert function_lines(line) == []
    assert excerpt(line) == []


def test_a_turn_without_code_says_so() -> None:
    turn = read_modify_write().replay().turns[0]
    assert "No code was given: the turn is shown from its events alone." in code_part(turn, "")


def test_a_long_function_is_cut_around_its_line() -> None:
    body = "".join(f'    ctx.set_kv_value("k{n % 9}", "{n}")\n' for n in range(90))
    source = f"def flow(ctx, _):\n{body}    yield ctx.schedule_activity('Work', 1)\n{body}"
    page = code_part(started(source).turn(), "")
    assert "… 71 lines above" in page
    assert "… 70 lines below" in page
    assert "▶  92" in page


def test_locals_are_shown_where_they_were_kept() -> None:
    replay = read_modify_write().replay(typed(ECHO), keep_locals=True)
    assert "locals _=0  n=0" in Page(code_part(replay.turns[0], "")).all("p")[-1].text


def test_an_indented_function_is_shown_from_the_margin() -> None:
    source = "class Flows:\n    @staticmethod\n    def flow(ctx, _):\n        return (yield ctx.schedule_timer(5))\n"
    run = started(f"{source}\nflow = Flows.flow\n")
    page = Page(code_part(run.turn(), ""))
    assert page.all("pre")[0].text.splitlines() == [
        "  1     def flow(ctx, _):",
        "▶ 2 ×1      return (yield ctx.schedule_timer(5))",
    ]


def test_colours_leave_every_character_in_its_line() -> None:
    lines = ['def f(x):  # "<b>"', '    """two', '    lines"""', "    return x < 1 and 'a'", ""]
    assert [Page(f"<p>{each}</p>").all("p")[0].text for each in coloured(lines)] == lines


def test_the_keys_show_snapshot_delta_and_client_before_and_after() -> None:
    turn = turns()[1]
    assert changes.key_changes(turn)[0].sign == "~"
    frame = keys_frame(turn)
    assert frame.drop(columns=["snapshot_before", "snapshot"]).to_dict("records") == [
        {
            "key": "n",
            "sign": "~",
            "delta_before": "1",
            "delta": "2",
            "client_before": "1",
            "client": "2",
            "bytes": 1,
        }
    ]
    assert frame["snapshot"].isna().all()


def test_only_changed_keys_are_shown_unless_all_are_asked_for() -> None:
    source = (
        "def flow(ctx, _):\n"
        '    ctx.set_kv_value("a", "1")\n'
        '    yield ctx.schedule_activity("Work", 1)\n'
        '    ctx.set_kv_value("b", "2")\n'
        '    yield ctx.schedule_activity("Work", 1)\n'
        '    yield ctx.schedule_activity("Work", 1)\n'
    )
    run = started(source)
    _, second, third = (run.turn() for _ in range(3))
    assert [each.text for each in Page(keys_part(second)).focusable()] == ["b"]
    assert "1 key unchanged" in keys_part(second)
    assert [each.text for each in Page(keys_part(second, every_key=True)).focusable()] == ["a", "b"]
    assert "no key changed; 2 keys in all" in keys_part(third)


def test_a_cut_value_stands_whole_in_its_title_while_that_is_short() -> None:
    turn = turns()[0]
    for size, titled in ((300, True), (5_000, False)):
        table = Tables({}, {"n": Entry("x" * size, 1)})
        cells = Page(keys_part(msgspec.structs.replace(turn, after=table))).all("span")
        titles = [each.attributes["title"] for each in cells if "title" in each.attributes]
        assert titles == (["x" * size] * 2 if titled else [])


def test_a_poisoned_key_says_who_wrote_it() -> None:
    part = keys_part(turns("per-turn")[-1])
    assert "Key-value store given to turn 2" in part
    assert "written by this execution" in part
    assert "delta (not in this model)" in part


def test_the_limits_are_told_in_words_beside_their_bars() -> None:
    turn = turns()[1]
    assert limits_in_words(turn) == "1 of 150 keys, largest value 1 B of 64 KiB"
    assert [each.text for each in Page(limits_part(turn)).all("td")] == ["", "1 of 150", "", "1 B of 64 KiB"]


@pytest.mark.parametrize(("value", "limit", "width"), [(0, 10, "0.0"), (5, 10, "50.0"), (12, 10, "100.0")])
def test_a_bar_is_full_at_its_limit(value: int, limit: int, width: str) -> None:
    page = Page(bar(value, limit))
    assert page.elements[1].attributes["style"] == f"width:{width}%"
    assert ("workbench-bar-over" in str(page.elements[0].attributes["class"])) == (value > limit)


def test_a_recording_s_code_may_differ_in_name_only() -> None:
    other = typed(COUNTER.replace("counter(ctx", "renamed(ctx"))
    replay = recorded(COUNTER, given=2).replay(other)
    assert "def renamed(ctx, rounds):" in Page(replay.turns[0]._repr_html_()).all("pre")[0].text
