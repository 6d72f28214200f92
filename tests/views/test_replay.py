"""A replay: its verdict first, then its turns, then whatever differs."""

from __future__ import annotations

from pathlib import Path

from tests.views.making import ECHO, FLOW, RECORDINGS, changed, read_modify_write, recorded_once, typed
from workbench.recordings import open_source
from workbench.views.replay import html, text

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
INFERRED = "  inferred  where turns begin is told from the history: its writer does not record it"


def test_a_replay_that_lines_up() -> None:
    replay = read_modify_write().replay(typed(ECHO))
    assert repr(replay) == 'O · a · same: 6 operations in 4 turns as recorded, completed with "3"'
    assert replay.text() == (
        f"{replay!r}\n"
        "  turns        turn  woken by                            operations                keys     status\n"
        "            =  1.1   the start of O (event 1)            2 operations as recorded  n = 1\n"
        "            =  1.2   activity Echo completed (event 4)   2 operations as recorded  n 1 → 2\n"
        "            =  1.3   activity Echo completed (event 7)   2 operations as recorded  n 2 → 3\n"
        '            =  1.4   activity Echo completed (event 10)                                     completed with "3"'
        "\n  model     delta\n"
        f"{INFERRED}"
    )


def test_keys_and_status_stand_below_where_the_rows_would_be_too_wide() -> None:
    with open_source(NOTEBOOKS / "recordings" / "orders.db") as source:
        lines = source.recording("order-41").replay().text().splitlines()
    assert lines[1:10] == [
        "  turns     turn  begins with                           operations",
        "                  keys · status",
        "            1.1   the start of OrderFlow (event 1)      2 operations",
        "                  state = reserving",
        "            1.2   activity Reserve completed (event 4)  4 operations",
        "                  reservation = shelf 7: lamp, state reserving → waiting for approval",
        "            1.3   event approval (event 9)              2 operations",
        "                  state waiting for approval → charging",
        "            1.4   activity Charge completed (event 12)  1 operation",
    ]
    assert lines[10] == '                  state charging → done · completed with "receipt over 250"'


def test_a_replay_that_diverges_begins_with_the_divergence() -> None:
    replay = read_modify_write().replay(typed(ECHO), kv_model="per-turn")
    assert replay.divergence is not None
    assert replay.text() == (
        f"{replay.divergence.text()}\n"
        "  turns        turn  woken by                           operations                keys   status\n"
        "            =  1.1   the start of O (event 1)           2 operations as recorded  n = 1\n"
        "            ✗  1.2   activity Echo completed (event 4)                                   diverged\n"
        "  model     per-turn; recorded with delta\n"
        f"{INFERRED}"
    )
    assert repr(replay) == repr(replay.divergence)


def test_a_replay_without_code_shows_the_turns_and_compares_nothing() -> None:
    assert read_modify_write().replay().text() == (
        'O · a · 4 turns shown without code, completed with "3"\n'
        "  turns     turn  begins with                         operations    keys     status\n"
        "            1.1   the start of O (event 1)            2 operations  n = 1\n"
        "            1.2   activity Echo completed (event 4)   2 operations  n 1 → 2\n"
        "            1.3   activity Echo completed (event 7)   2 operations  n 2 → 3\n"
        '            1.4   activity Echo completed (event 10)                         completed with "3"\n'
        "  model     delta\n"
        f"{INFERRED}"
    )


def test_the_turn_with_another_outcome_is_marked() -> None:
    rows = changed('"done"', '"other"').text().splitlines()
    at = rows.index("            ✗  1.3   event proceed (event 7)")
    assert rows[at + 1] == '                     recorded: completed with "done", now: completed with "other"'


def test_another_outcome_says_both() -> None:
    assert repr(changed('"done"', '"other"')) == (
        "Flow · flow-1 · different outcome: 4 operations in 3 turns as recorded; "
        'recorded: completed with "done", now: completed with "other"'
    )


def test_a_strict_difference_is_listed_and_changes_no_verdict() -> None:
    source = FLOW.replace("    ctx.set_kv_value", '    ctx.set_custom_status("one")\n    ctx.set_kv_value', 1)
    replay = changed('"one"', '"two"', source=source)
    assert repr(replay).startswith("Flow · flow-1 · same: 5 operations")
    assert (
        replay.text().splitlines()[-1]
        == "  differs   turn 1, event 2, flow, line 2: custom status recorded 'one', now 'two'"
    )
    assert "custom status recorded &#x27;one&#x27;, now &#x27;two&#x27;" in html(replay)


def test_a_damaged_history_says_where_and_why() -> None:
    with open_source(RECORDINGS / "P-15_corrupt.db") as source:
        replay = source.recording("a").replay()
    assert text(replay).splitlines()[0] == "O · a · damaged history: 1 place that cannot be trusted"
    assert "  damage    execution 1, event 2: no JSON (" in text(replay)
    assert "execution 1, event 2: no JSON (" in html(replay)


def test_a_replay_s_frame_has_a_row_a_turn() -> None:
    frame = read_modify_write().replay(typed(ECHO), kv_model="per-turn").frame()
    assert frame.to_dict("list") == {
        "turn": ["1.1", "1.2"],
        "woken_by": ["the start of O (event 1)", "activity Echo completed (event 4)"],
        "operations": [2, 1],
        "changed_keys": [["n"], []],
        "keys": [1, 1],
        "largest_value_bytes": [1, 1],
        "status": ["Running", "Diverged"],
    }


def test_the_picture_has_the_strip_the_card_and_the_table() -> None:
    page = read_modify_write().replay(typed(ECHO), kv_model="per-turn")._repr_html_()
    assert '<span class="workbench-badge workbench-badge-bad">✗ diverged in turn 2</span>' in page
    _, _, body = page.partition("</style>")
    assert body.index("workbench-strip") < body.index("workbench-card-title") < body.index("<caption>Turns</caption>")
    good = recorded_once(FLOW).replay(typed(FLOW))._repr_html_()
    assert "✓ same: 4 operations in 3 turns as recorded, completed with &quot;done&quot;" in good
