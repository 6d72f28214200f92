"""Key-value calls of the context: what they see, what they record, live and on replay."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import msgspec
import pytest

from tests.runtime.driving import Driven, drive, kinds
from workbench.runtime import events as ev

Flow = Generator[Any, Any, Any]


def in_one_turn(body: Callable[[Any], object], **options: Any) -> Driven:
    """Drive code of one turn; what `body` returns is its output."""
    return drive(lambda ctx, _: body(ctx), **options)


def test_reads_see_the_snapshot_and_every_write_at_once() -> None:
    def first(ctx: Any, round_: int) -> Flow:
        if round_ == 1:
            ctx.set_kv_value("kept", "old")
            ctx.set_kv_value("gone", "old")
            yield ctx.continue_as_new(2)
        seen = [ctx.get_kv_value("kept"), ctx.get_kv_value("never")]
        ctx.set_kv_value("kept", "new")
        ctx.clear_kv_value("gone")
        return [*seen, ctx.get_kv_value("kept"), ctx.get_kv_value("gone")]

    second = drive(first, 1).next_execution()
    assert second.output == ["old", None, "new", None]
    assert second.kv == {"kept": "new"}


def test_bulk_reads_are_in_key_order() -> None:
    def body(ctx: Any) -> object:
        for key in ("b", "a", "é", "C", ""):
            ctx.set_kv_value(key, key.upper())
        return [ctx.get_kv_all_keys(), list(ctx.get_kv_all_values().items()), ctx.get_kv_length()]

    keys = ["", "C", "a", "b", "é"]
    assert in_one_turn(body).output == [keys, [[key, key.upper()] for key in keys], 5]


def test_every_write_is_an_event_also_one_that_changes_nothing() -> None:
    def body(ctx: Any) -> None:
        ctx.set_kv_value("k", "1")
        ctx.set_kv_value("k", "1")
        ctx.clear_kv_value("unknown")
        ctx.clear_all_kv_values()
        ctx.clear_all_kv_values()

    assert kinds(in_one_turn(body).events)[1:-1] == [
        ev.KV_SET,
        ev.KV_SET,
        ev.KV_CLEARED,
        ev.KV_ALL_CLEARED,
        ev.KV_ALL_CLEARED,
    ]


def test_reads_are_no_events() -> None:
    def body(ctx: Any) -> object:
        ctx.get_kv_value("k")
        ctx.get_kv_all_values()
        ctx.get_kv_all_keys()
        ctx.get_kv_value_typed("k")
        return ctx.get_kv_length()

    assert kinds(in_one_turn(body).events) == [ev.STARTED, ev.COMPLETED]


@pytest.mark.parametrize("write", ["value", "key", "status"])
def test_a_task_that_was_not_yielded_is_no_text(write: str) -> None:
    def body(ctx: Any) -> None:
        task = ctx.schedule_activity("a", 1)
        if write == "status":
            ctx.set_custom_status(task)
        else:
            ctx.set_kv_value(*(("k", task) if write == "value" else (task, "v")))

    text = str(in_one_turn(body).results[-1].output)
    assert "is a task that was not yielded, activity a(1): yield it, and store what it gives" in text


def test_keys_and_values_are_taken_as_text() -> None:
    def body(ctx: Any) -> object:
        ctx.set_kv_value(1, None)
        ctx.set_kv_value("e\u0301", "\0\n")
        return [ctx.get_kv_value(1), ctx.get_kv_value("1"), ctx.get_kv_value("\u00e9"), ctx.get_kv_value("e\u0301")]

    assert in_one_turn(body).output == ["None", "None", None, "\0\n"]


def test_a_write_carries_the_time_of_its_turn() -> None:
    driven = in_one_turn(lambda ctx: ctx.set_kv_value("k", "1"))
    assert driven.events[1].last_updated_at_ms == driven.events[1].timestamp_ms == driven.now_ms


def test_typed_values_are_json_and_come_back_as_asked() -> None:
    class Order(msgspec.Struct):
        id: int
        lines: list[str]

    def body(ctx: Any) -> object:
        ctx.set_kv_value_typed("order", {"id": 7, "lines": ["é"]})
        ctx.set_kv_value_typed("text", "5")
        order = ctx.get_kv_value_typed("order", Order)
        return [
            ctx.get_kv_value("order"),
            [order.id, order.lines],
            ctx.get_kv_value_typed("order"),
            ctx.get_kv_value_typed("text"),
            ctx.get_kv_value_typed("text", str),
            ctx.get_kv_value_typed("absent", int),
        ]

    assert in_one_turn(body).output == [
        '{"id": 7, "lines": ["\\u00e9"]}',
        [7, ["é"]],
        {"id": 7, "lines": ["é"]},
        "5",
        "5",
        None,
    ]


@pytest.mark.parametrize(
    ("stored", "wanted", "reason"),
    [
        ("{", None, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("", int, "Expecting value: line 1 column 1 (char 0)"),
        ('"5"', int, "Expected `int`, got `str`"),
        ("1.5", int, "Expected `int`, got `float`"),
        (
            "[" * 15_000,
            None,
            "maximum recursion depth exceeded while decoding a JSON array from a unicode string",
        ),
    ],
)
def test_a_value_that_is_not_as_asked_raises_the_same_live_and_on_replay(
    stored: str, wanted: type | None, reason: str
) -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", stored)
        try:
            ctx.get_kv_value_typed("k", wanted) if wanted else ctx.get_kv_value_typed("k")
        except ValueError as error:
            ctx.set_kv_value("error", f"{type(error).__name__}: {error}")
        yield ctx.schedule_timer(1)
        return ctx.get_kv_value("error")

    driven = drive(code)
    driven.turn(driven.fired(4))
    assert driven.output == f"KVDecodeError: the value of key 'k' cannot be read as asked: {reason}"


def test_metrics_are_noted_for_new_turns_only() -> None:
    def code(ctx: Any, _: object) -> Flow:
        ctx.set_kv_value("k", "é")
        ctx.get_kv_value("k")
        ctx.clear_kv_value("k")
        ctx.clear_all_kv_values()
        yield ctx.get_kv_value_from_instance("other", "k")

    driven = drive(code)
    assert driven.last.measures == (
        ("duroxide.kv.set", {"key": "k", "value_len": 2}),
        ("duroxide.kv.get", {"key": "k", "found": True}),
        ("duroxide.kv.clear_value", {"key": "k"}),
        ("duroxide.kv.clear_all", {}),
        ("duroxide.kv.get_remote", {}),
    )
    assert [(level, text) for _, level, text, _ in driven.last.logs] == [
        ("INFO", "kv.set"),
        ("DEBUG", "kv.get"),
        ("INFO", "kv.clear"),
        ("INFO", "kv.clear"),
    ]
    assert all((turn.measures, turn.logs) == ((), ()) for turn in driven.replay())
