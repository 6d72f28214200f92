"""Which turn breaks the limits first, and when they would be reached at this rate."""

from __future__ import annotations

import msgspec
import pytest

from tests.views.making import COUNTER, ECHO, RECORDINGS, read_modify_write, started, typed
from tests.views.pages import Page
from workbench.recordings import open_source
from workbench.runtime.events import encode_event
from workbench.runtime.limits import Limits
from workbench.runtime.turn import Turn
from workbench.views import limits_over_turns as view
from workbench.views.limits_check import Bounds, bounds_of, failures, forecast, measures, parsed
from workbench.views.limits_figure import figure, png
from workbench.views.sizes import Sizes, sizes_of

GROWS = """\
def flow(ctx, count):
    for n in range(count):
        ctx.set_kv_value(f"k{n}", "x" * 10 * n)
        yield ctx.schedule_activity("Work", n)
    return "done"
"""
AGAIN = """\
def flow(ctx, n):
    ctx.set_kv_value("n", str(n))
    yield ctx.schedule_activity("Work", n)
    return (yield ctx.continue_as_new(n + 1)) if n < 3 else n
"""

LIMITS = Limits(kv_keys=10)


def made(source: str = GROWS, given: object = 6, limits: Limits = LIMITS) -> tuple[Turn, ...]:
    run = started(source, given=given, limits=limits)
    run.finish()
    return run.turns


@pytest.fixture(scope="module")
def turns() -> tuple[Turn, ...]:
    """Six turns that add a key each, and the one that ends."""
    return made()


@pytest.fixture(scope="module")
def refused() -> tuple[Turn, ...]:
    """Four turns, the last of which was refused for its fourth key."""
    return made(limits=Limits(kv_keys=3))


def told(turns: tuple[Turn, ...], bounds: Bounds, limits: Limits = LIMITS) -> list[str]:
    return [each.in_words for each in failures(turns, sizes_of(turns), limits, bounds)]


def test_the_sizes_are_counted_in_utf_8_bytes_after_each_turn() -> None:
    turns = made('def flow(ctx, _):\n    ctx.set_kv_value("ä", "€uro")\n    yield ctx.schedule_activity("Work", 1)\n')
    history = [sum(len(encode_event(event).encode()) for event in turn.events) for turn in turns]
    assert sizes_of(turns) == [Sizes(1, 6, 8, history[0]), Sizes(1, 6, 8, sum(history))]


def test_a_history_begins_anew_with_each_execution_and_the_keys_stay() -> None:
    sizes = sizes_of(made(AGAIN, 1))
    assert [each.keys for each in sizes] == [1] * 6
    assert sizes[2].history_bytes < sizes[1].history_bytes
    assert sizes[5].history_bytes > sizes[4].history_bytes


def test_a_turn_that_diverged_changes_no_size() -> None:
    turns = read_modify_write().replay(typed(ECHO), kv_model="per-turn").turns
    assert [each.value_bytes for each in sizes_of(turns)] == [1, 1]


def test_nothing_goes_over_limits_that_are_large_enough(turns: tuple[Turn, ...]) -> None:
    assert told(turns, bounds_of(LIMITS)) == []


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (Bounds(4, 16384), ["would be refused in turn 5: key count 5 of 4"]),
        (Bounds(10, 25), ["would be refused in turn 4: value of k3 30 B of 25 B"]),
        (Bounds(4, 25), ["would be refused in turn 4: value of k3 30 B of 25 B"]),
        (Bounds(0, 16384), ["would be refused in turn 1: key count 1 of 0"]),
        (
            Bounds(10, 16384, kv_bytes=40),
            ["over the limit set here in turn 4: all keys and values 68 B of 40 B"],
        ),
        (
            Bounds(3, 16384, kv_bytes=40),
            [
                "would be refused in turn 4: key count 4 of 3",
                "over the limit set here in turn 4: all keys and values 68 B of 40 B",
            ],
        ),
    ],
)
def test_the_first_turn_to_fail_is_named(turns: tuple[Turn, ...], bounds: Bounds, words: list[str]) -> None:
    assert told(turns, bounds) == words


def test_it_is_the_turn_that_the_engine_refuses_under_the_same_limits(turns: tuple[Turn, ...]) -> None:
    for keys in (1, 4):
        run = started(GROWS, given=6, limits=Limits(kv_keys=keys))
        run.finish()
        last = run.turns[-1]
        assert told(turns, Bounds(keys, 16384)) == [
            f"would be refused in turn {last.number}: key count {keys + 1} of {keys}"
        ]


def test_a_refused_turn_is_told_as_it_was(refused: tuple[Turn, ...]) -> None:
    assert told(refused, Bounds(3, 16384)) == ["was refused in turn 4: key count 4 of 3"]
    assert told(refused, Bounds(2, 16384)) == ["would be refused in turn 3: key count 3 of 2"]


def test_a_refused_turn_that_other_limits_allow_would_pass(refused: tuple[Turn, ...]) -> None:
    assert told(refused, Bounds(4, 16384)) == []
    growth = view.growth_of(refused)
    assert view.verdicts(growth, Bounds(4, 16384)) == [(refused[-1], "turn 4, refused when it was made, would pass")]


def test_without_code_a_refused_turn_stays_refused(refused: tuple[Turn, ...]) -> None:
    unknown = msgspec.structs.replace(refused[-1], operations=(), has_code=False)
    assert told((*refused[:-1], unknown), Bounds(9, 16384)) == [
        "was refused in turn 4: KV key count (4) exceeds limit (3)"
    ]


def test_a_custom_status_is_held_to_its_own_limit() -> None:
    source = 'def flow(ctx, _):\n    ctx.set_custom_status("s" * 20)\n    yield ctx.schedule_activity("Work", 1)\n'
    limits = Limits(custom_status_bytes=10)
    assert told(made(source), bounds_of(limits), limits) == ["would be refused in turn 1: custom status 20 B of 10 B"]


# At this rate.


def at_rate(turns: tuple[Turn, ...], at: int, bounds: Bounds, measure: int = 0) -> str:
    upto = turns[:at]
    return forecast(upto, measures(sizes_of(upto), bounds)[measure])


def test_growth_is_carried_on_in_a_straight_line(turns: tuple[Turn, ...]) -> None:
    assert at_rate(turns, 5, Bounds(10, 16384)) == (
        "at this rate the limit is reached in turn 10, and turn 11 breaks it (+1 a turn over the last 4 turns)"
    )
    assert at_rate(turns, 5, Bounds(10, 100), 1) == (
        "at this rate the limit is reached in turn 11, and turn 12 breaks it (+10 B a turn over the last 4 turns)"
    )


def test_what_is_forecast_is_what_happens() -> None:
    early = made(given=12, limits=Limits(kv_keys=10))
    assert early[-1].refused is not None
    assert early[-1].number == 11
    assert "reached in turn 10, and turn 11 breaks it" in at_rate(early, 4, Bounds(10, 16384))


def test_growth_in_some_turns_only_is_an_average(turns: tuple[Turn, ...]) -> None:
    mixed = (turns[0], turns[0], *turns[1:4])
    numbered = tuple(msgspec.structs.replace(turn, number=number) for number, turn in enumerate(mixed, 1))
    assert at_rate(numbered, 5, Bounds(10, 16384)) == (
        "at this rate the limit is reached in turn 13, and turn 15 breaks it (+3 over the last 4 turns)"
    )


def test_where_nothing_grows_it_says_not_at_this_rate() -> None:
    counted = made(COUNTER, 4)
    assert at_rate(counted, 4, bounds_of(LIMITS)) == "not at this rate: the same over the last 3 turns"


def test_only_recent_turns_count() -> None:
    long = made(
        GROWS.replace("return", "for _ in range(25):\n        yield ctx.schedule_activity('Work', 0)\n    return"), 3
    )
    assert at_rate(long, len(long) - 1, bounds_of(LIMITS)) == "not at this rate: the same over the last 19 turns"


def test_one_turn_tells_no_rate(turns: tuple[Turn, ...]) -> None:
    assert at_rate(turns, 1, bounds_of(LIMITS)) == "one turn tells no rate"
    again = made(AGAIN, 1)
    assert at_rate(again, 3, Bounds(10, 16384, None, 10**6), 3) == "one turn tells no rate"


def test_a_limit_that_is_reached_says_since_when(turns: tuple[Turn, ...]) -> None:
    assert at_rate(turns, 7, Bounds(6, 16384)) == "at the limit since turn 6"
    assert at_rate(turns, 7, Bounds(4, 16384)) == "over the limit since turn 5"


def test_of_what_has_ended_it_says_what_would_have_been(turns: tuple[Turn, ...]) -> None:
    assert at_rate(turns, 7, bounds_of(LIMITS)) == (
        "had it gone on at this rate, the limit would be reached in turn 12, and turn 13 would break it "
        "(+5 over the last 6 turns)"
    )


def test_without_a_limit_only_the_rate_is_told(turns: tuple[Turn, ...]) -> None:
    assert at_rate(turns, 3, Bounds(10, 16384), 2) == "+17 B a turn over the last 2 turns"


def test_a_turn_of_a_later_execution_is_named_by_its_address() -> None:
    work = "yield ctx.schedule_activity"
    again = made(AGAIN.replace(work, f"{work}('Work', 0)\n    {work}"), 1)
    assert [turn.address for turn in again[:5]] == ["1.1", "1.2", "1.3", "2.1", "2.2"]
    assert "the limit is reached in turn 2." in at_rate(again, 5, Bounds(10, 16384, None, 5000), 3)


# Boxes.


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), (" 65,536 ", 65536), ("16 KiB", 16384), ("1 mib", 1 << 20), ("7 B", 7), ("", None), ("  ", None)],
)
def test_a_size_is_read_as_it_is_written(text: str, value: int | None) -> None:
    assert parsed(text) == value


@pytest.mark.parametrize("text", ["-1", "1.5", "KiB", "1 kb", "ten", "1 2", "9" * 16, "<img src=x>"])
def test_what_is_no_size_is_refused_with_what_is_asked_for(text: str) -> None:
    with pytest.raises(ValueError, match="is no size: a number such as 12, 65,536 or 16 KiB is"):
        parsed(text)


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"kv_keys": 1}, "there is no limit"), ({"keys": None}, "always has a limit"), ({"keys": -1}, "0 or more")],
)
def test_what_can_be_no_limit_is_refused(limits: dict[str, int | None], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        view.changed(bounds_of(LIMITS), limits)


# Showing.


def test_the_text_is_aligned_and_ends_with_what_would_fail(turns: tuple[Turn, ...]) -> None:
    lines = view.lines(view.growth_of(turns), Bounds(4, 16384), "1.3")
    assert lines[0] == "after turn 3            size   limit"
    assert lines[1].startswith("keys                       3       4  at this rate the limit is reached in turn 4")
    assert lines[-1] == "would be refused in turn 5: key count 5 of 4"
    assert view.lines(view.growth_of(()), Bounds(4, 16384)) == ["no turns"]


def test_the_picture_says_the_same_and_leads_to_the_turn(turns: tuple[Turn, ...]) -> None:
    page = Page(view.picture(view.growth_of(turns), Bounds(4, 16384)))
    [link] = page.focusable()
    assert (link.text, link.attributes["data-focus"]) == ("✗ would be refused in turn 5: key count 5 of 4", "1.5")
    assert [each.text for each in page.all("th")][-4:] == ["keys", "largest value", "all keys and values", "history"]
    assert "✓ no turn goes over these limits" in view.picture(view.growth_of(turns), bounds_of(LIMITS))


def test_the_frame_has_a_row_a_turn(turns: tuple[Turn, ...]) -> None:
    frame = view.frame(view.growth_of(turns))
    assert list(frame.columns) == ["keys", "value_bytes", "kv_bytes", "history_bytes"]
    assert frame.loc["1.3", "keys"] == 3


def test_recordings_are_measured_too() -> None:
    with open_source(RECORDINGS / "P-10_kv_bytes.db") as source:
        for instance in source.instances.iloc[:, 0]:
            growth = view.growth_of(source.recording(instance).replay().turns)
            assert view.lines(growth, growth.bounds)
            assert view.line(growth, growth.bounds)


# The figure.


@pytest.mark.parametrize("dark", [False, True])
def test_the_figure_has_four_series_and_their_limits(turns: tuple[Turn, ...], dark: bool) -> None:
    bounds = Bounds(10, 16384, None, 9000)
    made_figure = figure(turns, bounds, dark=dark)
    titles = [axes.get_title(loc="left") for axes in made_figure.axes]
    assert titles == ["keys", "largest value, bytes", "all keys and values, bytes", "history, bytes"]
    assert list(made_figure.axes[0].lines[0].get_ydata()) == [1, 2, 3, 4, 5, 6, 6]  # type: ignore[arg-type]
    noted = [[text.get_text() for text in axes.texts] for axes in made_figure.axes]
    assert noted == [["limit 10"], ["limit 16 KiB"], [], ["limit 9,000 B"]]
    assert png(made_figure) == png(figure(turns, bounds, dark=dark))


def test_the_figure_takes_plain_limits_one_turn_and_none(turns: tuple[Turn, ...]) -> None:
    from matplotlib import pyplot

    assert png(figure(turns[:1], Limits()))
    assert png(figure([], Limits()))
    assert pyplot.get_fignums() == []
