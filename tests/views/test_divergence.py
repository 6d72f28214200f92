"""DESIGN §7: what a divergence says, in which order, and that HTML and DataFrame say the same."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from tests.views.making import ECHO, FLOW, changed, counter, read_modify_write, recorded, recorded_once, typed
from workbench.recordings.replay import Replay
from workbench.runtime.divergence import Divergence
from workbench.runtime.errors import NondeterminismError
from workbench.views import divergence as view

POISONED = """\
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


def found(replay: Replay) -> Divergence:
    assert replay.divergence is not None
    return replay.divergence


def row(divergence: Divergence, label: str) -> str:
    """The text of one row of the message."""
    return " ".join(next(each.texts for each in view.rows(divergence) if each.label == label))


class Words(HTMLParser):
    """The words of a page, without its style."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = False

    def handle_data(self, data: str) -> None:
        if not self._style:
            self.words += data.split()


def words_of(html: str) -> list[str]:
    parser = Words()
    parser.feed(html)
    return parser.words


def test_a_poisoned_counter_is_explained_whole() -> None:
    run = counter("per-turn")
    run.turn()
    divergence = run.turn().divergence
    assert divergence is not None
    assert divergence.text() == POISONED


def test_the_exception_says_the_same_as_the_divergence() -> None:
    replay = read_modify_write().replay(typed(ECHO), kv_model="per-turn")
    with pytest.raises(NondeterminismError) as raised:
        replay.raise_for_verdict()
    assert str(raised.value) == found(replay).text()


def test_the_card_has_the_same_words_in_the_same_order_as_the_text() -> None:
    divergence = found(read_modify_write().replay(typed(ECHO), kv_model="per-turn"))
    in_html = [word for word in words_of(divergence._repr_html_()) if word != "|"]
    assert "".join(in_html) == "".join(word for word in divergence.text().split() if word != "|")


def test_code_in_a_file_is_named_by_file_and_numbered_as_in_it() -> None:
    def saved(ctx, _):  # type: ignore[no-untyped-def]
        ctx.set_kv_value("n", "one")
        yield ctx.schedule_activity("Echo", 1)

    line = saved.__code__.co_firstlineno + 1
    divergence = found(read_modify_write().replay(saved))
    assert row(divergence, "where") == f"turn 1 · event 2 · operation 1 · saved, line 2 (test_divergence.py:{line})"
    assert f'> {line} |     ctx.set_kv_value("n", "one")' in divergence.text()


@pytest.mark.parametrize(
    ("old", "new", "headline", "recorded", "now"),
    [
        ('"1"', '"9"', "a recorded write has another value now", 'set a = "1"', 'set a = "9"'),
        ('"a", ', '"c", ', "a recorded write goes to another key now", 'set a = "1"', 'set c = "1"'),
        (
            '"go"',
            '"went"',
            "a recorded activity has another input now",
            'activity Work("go")',
            'activity Work("went")',
        ),
        (
            '"Work"',
            '"Work2"',
            "a recorded activity has another name now",
            'activity Work("go")',
            'activity Work2("go")',
        ),
        (
            'schedule_activity("Work", "go")',
            "schedule_timer(50)",
            "an activity was recorded, a timer is made now",
            'activity Work("go")',
            "timer of 50 ms",
        ),
        (
            '    yield ctx.schedule_activity("Work", "go")\n',
            "",
            "a recorded operation is no longer made",
            'activity Work("go")',
            'no longer made; next is set b = "2"',
        ),
        (
            '    ctx.set_kv_value("b"',
            '    ctx.clear_kv_value("z")\n    ctx.set_kv_value("b"',
            "an operation is made now that was not recorded",
            'nothing here; next is set b = "2"',
            "clear z",
        ),
        (
            '    return "done"',
            '    yield ctx.schedule_timer(5)\n    return "done"',
            "an operation is made now that was not recorded",
            "nothing more in this turn",
            "timer of 5 ms",
        ),
        (
            'wait_for_event("proceed")',
            'wait_for_event("go")',
            "a recorded wait is for another event now",
            "wait for event proceed",
            "wait for event go",
        ),
    ],
)
def test_each_kind_of_change_has_its_phrase_and_both_sides(
    old: str, new: str, headline: str, recorded: str, now: str
) -> None:
    divergence = found(changed(old, new))
    assert repr(divergence).endswith(f": {headline}")
    assert (row(divergence, "recorded"), row(divergence, "now")) == (recorded, now)


def test_code_that_ends_where_the_record_goes_on_says_so() -> None:
    divergence = found(recorded_once(FLOW).replay(typed("def flow(ctx, _):\n    return (yield ctx.all([]))\n")))
    assert repr(divergence) == "Flow · flow-1 · diverged in turn 1: the code ends where the record goes on"
    assert row(divergence, "where") == "turn 1 · event 2 · operation 1 · flow, line 2"
    assert row(divergence, "now") == "the code completed with []"


def test_of_long_json_only_the_paths_that_differ_are_shown() -> None:
    source = FLOW.replace('"go"', '{"items": list(range(100)), "who": {"name": "Ada", "age": 36}}')
    divergence = found(changed('"Ada", "age": 36', '"Eve"', source=source))
    assert row(divergence, "recorded") == 'activity Work: input.who.age = 36, input.who.name = "Ada"'
    assert row(divergence, "now") == 'activity Work: input.who.age = not there, input.who.name = "Eve"'


def test_of_a_long_text_the_part_around_the_first_difference_is_shown() -> None:
    source = FLOW.replace('"1"', '"x" * 4000 + "A" + "y" * 4000')
    divergence = found(changed('"A"', '"B"', source=source))
    for label, letter in (("recorded", "A"), ("now", "B")):
        assert f"xx{letter}yy" in row(divergence, label)
        assert row(divergence, label).endswith("(8,001 B, from character 3,987)")
    assert max(map(len, divergence.text().splitlines())) <= 100


def test_the_calls_that_led_to_the_place_are_named() -> None:
    source = (
        "def pay(ctx, amount):\n"
        '    yield ctx.schedule_activity("Work", amount)\n\n'
        "def flow(ctx, _):\n"
        "    yield from pay(ctx, 1)\n"
    )
    divergence = found(changed("pay(ctx, 1)", "pay(ctx, 2)", source=source))
    assert row(divergence, "where") == "turn 1 · event 2 · operation 1 · pay, line 2 ← flow, line 2"


def test_a_key_cleared_under_a_running_execution_is_evidence_too() -> None:
    source = (
        "def flow(ctx, again):\n"
        "    if again:\n"
        '        ctx.set_kv_value("a", "1")\n'
        "        return (yield ctx.continue_as_new(False))\n"
        '    had = ctx.get_kv_value("a")\n'
        '    yield ctx.schedule_activity("Work", had)\n'
        '    ctx.clear_kv_value("a")\n'
        '    yield ctx.schedule_activity("Work", "again")\n'
    )
    recording = recorded(source, given=True)
    divergence = found(recording.replay(typed(source), kv_model="per-turn"))
    assert repr(divergence) == (
        "Flow · flow-1 · diverged in turn 3 of execution 2: a recorded activity has another input now"
    )
    assert row(divergence, "because") == (
        "line 5 read nothing for a, but this execution began with a value for it and event 4 of this same execution "
        "cleared it: the snapshot is poisoned"
    )


def test_no_row_has_a_clock_figure() -> None:
    divergence = found(read_modify_write().replay(typed(ECHO), kv_model="per-turn"))
    assert str(divergence.recorded.timestamp_ms) in divergence.message  # type: ignore[union-attr]
    assert str(divergence.recorded.timestamp_ms) not in divergence.text()  # type: ignore[union-attr]


def test_a_divergence_is_one_row_of_data() -> None:
    frame = found(read_modify_write().replay(typed(ECHO), kv_model="per-turn")).frame()
    assert frame.to_dict("records") == [
        {
            "instance": "a",
            "orchestration": "O",
            "execution": 1,
            "turn": 2,
            "recorded_turn": 1,
            "operation": 1,
            "event": 2,
            "kind": "changed",
            "recorded": 'set n = "1"',
            "now": 'set n = "2"',
            "place": "O, line 4",
            "poisoned_key": "n",
        }
    ]
