"""Setting, reading and clearing keys, and what a client sees of it (spec 001, "API Surface")."""

from __future__ import annotations

from typing import Any

import pytest

from tests.specification.running import INSTANCE, output, run
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.errors import KVDecodeError


def test_kv_set_value_visible_via_client(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("progress", "50%")
        yield ctx.schedule_activity("Noop")
        return "done"

    assert output(wb, flow) == "done"
    assert wb.client.get_kv_value(INSTANCE, "progress") == "50%"


def test_kv_get_missing_key_returns_none(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        missing = ctx.get_kv_value("nowhere")
        yield ctx.schedule_activity("Noop")
        return missing

    assert output(wb, flow) is None
    assert wb.client.get_kv_value(INSTANCE, "nowhere") is None


def test_kv_set_multiple_values_same_turn(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for key, value in (("a", "1"), ("b", "2"), ("c", "3")):
            ctx.set_kv_value(key, value)
        yield ctx.schedule_activity("Noop")

    output(wb, flow)
    assert [wb.client.get_kv_value(INSTANCE, key) for key in "abc"] == ["1", "2", "3"]


def test_kv_overwrite_same_key(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "first")
        ctx.set_kv_value("k", "second")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == "second"
    assert wb.client.get_kv_value(INSTANCE, "k") == "second"


def test_kv_clear_single_value(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        ctx.clear_kv_value("k")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) is None
    assert wb.client.get_kv_value(INSTANCE, "k") is None


def test_kv_clear_all_values(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("a", "1")
        ctx.set_kv_value("b", "2")
        ctx.clear_all_kv_values()
        yield ctx.schedule_activity("Noop")
        return [ctx.get_kv_value("a"), ctx.get_kv_value("b")]

    assert output(wb, flow) == [None, None]
    assert [wb.client.get_kv_value(INSTANCE, key) for key in "ab"] == [None, None]


def test_kv_get_value_reads_local_state(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        seen = [ctx.get_kv_value("k")]
        ctx.set_kv_value("k", "1")
        seen.append(ctx.get_kv_value("k"))
        ctx.clear_kv_value("k")
        seen.append(ctx.get_kv_value("k"))
        yield ctx.schedule_activity("Noop")
        return seen

    assert output(wb, flow) == [None, "1", None]


def test_kv_clear_value_then_set_same_key(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        ctx.clear_kv_value("k")
        ctx.set_kv_value("k", "2")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == "2"
    assert wb.client.get_kv_value(INSTANCE, "k") == "2"


def test_kv_three_sets_of_a_key_are_three_events(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        for value in ("1", "2", "2"):
            ctx.set_kv_value("k", value)
        yield ctx.schedule_activity("Noop")

    output(wb, flow)
    events = wb.provider.read_history(INSTANCE, 1).events
    assert [event.value for event in events if event.type == "KeyValueSet"] == ["1", "2", "2"]
    assert wb.client.get_kv_all_values(INSTANCE) == {"k": "2"}


def test_kv_empty_key(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("", "of the empty key")
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("")

    assert output(wb, flow) == "of the empty key"
    assert wb.client.get_kv_value(INSTANCE, "") == "of the empty key"


def test_kv_json_value(wb: Workbench) -> None:
    text = '{"b": [1, 2.50, "é"],  "a": null}'

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", text)
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value("k")

    assert output(wb, flow) == text
    assert wb.client.get_kv_value(INSTANCE, "k") == text


def test_kv_typed_round_trip(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value_typed("n", 42)
        yield ctx.schedule_activity("Noop")
        return ctx.get_kv_value_typed("n", int)

    assert output(wb, flow) == 42
    assert wb.client.get_kv_value(INSTANCE, "n") == "42"
    assert wb.client.get_kv_value_typed(INSTANCE, "n", int) == 42


def test_kv_typed_client_read_decodes_json(wb: Workbench) -> None:
    values: list[object] = [{"a": [1, None]}, "text", None, 1.5, True, []]

    def flow(ctx: Context, _: None) -> Any:
        for number, value in enumerate(values):
            ctx.set_kv_value_typed(str(number), value)
        yield ctx.schedule_activity("Noop")
        return [ctx.get_kv_value_typed(str(number)) for number in range(len(values))]

    assert output(wb, flow) == values
    assert [wb.client.get_kv_value_typed(INSTANCE, str(number)) for number in range(len(values))] == values
    assert wb.client.get_kv_value_typed(INSTANCE, "unknown") is None


def test_kv_get_value_typed_wrong_type(wb: Workbench) -> None:
    """A value of another type is an error that the code can handle, and so can a client."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "no number")
        yield ctx.schedule_activity("Noop")
        try:
            ctx.get_kv_value_typed("k", int)
        except KVDecodeError as error:
            return error.key

    assert output(wb, flow) == "k"
    with pytest.raises(KVDecodeError, match="'k'"):
        wb.client.get_kv_value_typed(INSTANCE, "k", int)


def test_kv_accessible_after_completion(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "kept")
        yield ctx.schedule_activity("Noop")

    assert run(wb, flow).status == "Completed"
    assert wb.client.get_kv_value(INSTANCE, "k") == "kept"


def test_kv_accessible_after_failure(wb: Workbench) -> None:
    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("earlier", "kept")
        yield ctx.schedule_activity("Noop")
        ctx.set_kv_value("last", "kept too")
        raise ValueError("on purpose")

    assert run(wb, flow).status == "Failed"
    assert wb.client.get_kv_all_values(INSTANCE) == {"earlier": "kept", "last": "kept too"}
