"""Reading a key of another instance: a system activity (spec 001, "get_value_from_instance"); parents and children."""

from __future__ import annotations

from typing import Any

from tests.specification.running import INSTANCE, Flow, output, register, run, settle, start
from workbench import Workbench
from workbench.runtime.context import OrchestrationContext as Context
from workbench.runtime.errors import KVDecodeError


def writes(key: str, value: str) -> Flow:
    """An orchestration that sets one key and ends."""

    def writer(ctx: Context, _: None) -> Any:
        ctx.set_kv_value(key, value)
        yield ctx.schedule_activity("Noop")

    return writer


def reads(instance_id: str, key: str) -> Flow:
    """An orchestration that returns one key of an instance."""

    def reader(ctx: Context, _: None) -> Any:
        return (yield ctx.get_kv_value_from_instance(instance_id, key))

    return reader


def test_kv_get_value_from_instance(wb: Workbench) -> None:
    run(wb, writes("answer", "42"), instance_id="writer")
    assert output(wb, reads("writer", "answer")) == "42"


def test_kv_get_value_from_instance_key_missing(wb: Workbench) -> None:
    run(wb, writes("answer", "42"), instance_id="writer")
    assert output(wb, reads("writer", "question")) is None


def test_kv_get_value_from_instance_unknown_instance(wb: Workbench) -> None:
    assert output(wb, reads("nobody", "answer")) is None


def test_kv_get_value_from_instance_typed_e2e(wb: Workbench) -> None:
    def writer(ctx: Context, _: None) -> Any:
        ctx.set_kv_value_typed("numbers", [1, 2, 3])
        yield ctx.schedule_activity("Noop")

    def reader(ctx: Context, _: None) -> Any:
        numbers = yield ctx.get_kv_value_from_instance_typed("writer", "numbers", list[int])
        nothing = yield ctx.get_kv_value_from_instance_typed("writer", "nothing", list[int])
        return [sum(numbers), nothing]

    run(wb, writer, instance_id="writer")
    assert output(wb, reader) == [6, None]


def test_kv_get_value_from_instance_typed_wrong_type(wb: Workbench) -> None:
    """Spec 001: an error that begins with these words, the same live and on every replay; the code may go on."""

    def writer(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("number", "1")
        ctx.set_kv_value("broken", "{")
        yield ctx.schedule_activity("Noop")

    def reader(ctx: Context, _: None) -> Any:
        errors = []
        for key, kind in (("number", str), ("broken", None)):
            try:
                yield ctx.get_kv_value_from_instance_typed("writer", key, kind)
            except KVDecodeError as error:
                errors.append(str(error))
        ctx.set_kv_value("errors", str(errors))
        yield ctx.schedule_activity("Noop")
        return errors

    run(wb, writer, instance_id="writer")
    errors = output(wb, reader)
    begins = "Typed deserialization error: the value of key "
    assert [text[: len(begins) + 8] for text in errors] == [f"{begins}'number'", f"{begins}'broken'"]


def test_kv_get_value_from_instance_that_the_store_refuses(wb: Workbench) -> None:
    """Spec 001: "Client error"; half a character can be asked for in JSON, and no store has it."""

    def reader(ctx: Context, _: None) -> Any:
        try:
            yield ctx.get_kv_value_from_instance("writer", "\ud800")
        except Exception as error:
            return str(error)

    call = "Activity '__duroxide_syscall:get_kv_value' call failed: "
    assert str(output(wb, reader)).startswith(f"{call}StoreError: Client error: ")


def test_kv_get_value_from_instance_replay_safe(wb: Workbench) -> None:
    """The value is that of the one recorded read, although the source has changed before the next replay."""

    def source(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "then")
        yield ctx.wait_for_event("change")
        ctx.set_kv_value("k", "now")
        yield ctx.wait_for_event("never")

    def reader(ctx: Context, _: None) -> Any:
        seen = yield ctx.get_kv_value_from_instance("source", "k")
        yield ctx.wait_for_event("go")
        return (yield ctx.schedule_activity("Echo", seen))

    start(wb, source, instance_id="source")
    settle(wb)
    start(wb, reader)
    settle(wb)
    wb.client.raise_event("source", "change")
    settle(wb)
    assert wb.client.get_kv_value("source", "k") == "now"
    wb.client.raise_event(INSTANCE, "go")
    settle(wb)
    assert wb.client.get_status(INSTANCE).output == "then"


def test_kv_get_value_from_instance_after_source_update(wb: Workbench) -> None:
    def source(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        yield ctx.wait_for_event("change")
        ctx.set_kv_value("k", "2")
        yield ctx.wait_for_event("never")

    def reader(ctx: Context, _: None) -> Any:
        first = yield ctx.get_kv_value_from_instance("source", "k")
        yield ctx.wait_for_event("again")
        second = yield ctx.get_kv_value_from_instance("source", "k")
        return [first, second]

    start(wb, source, instance_id="source")
    start(wb, reader)
    settle(wb)
    wb.client.raise_event("source", "change")
    settle(wb)
    wb.client.raise_event(INSTANCE, "again")
    settle(wb)
    assert wb.client.get_status(INSTANCE).output == ["1", "2"]


def test_kv_get_value_from_instance_self(wb: Workbench) -> None:
    """A read of oneself sees what was committed with the turn that scheduled it."""

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "mine")
        return (yield ctx.get_kv_value_from_instance(ctx.instance_id, "k"))

    assert output(wb, flow) == "mine"


def test_kv_get_value_from_instance_can_race_and_join(wb: Workbench) -> None:
    """Spec 001: it can be used wherever an activity can."""

    def flow(ctx: Context, _: None) -> Any:
        read = ctx.get_kv_value_from_instance
        both = yield ctx.all([read("writer", "answer"), read("writer", "nothing")])
        won = yield ctx.race(read("writer", "answer"), ctx.schedule_timer(60_000))
        return [both, won]

    run(wb, writes("answer", "42"), instance_id="writer")
    assert output(wb, flow) == [[{"ok": "42"}, {"ok": None}], {"index": 0, "value": "42"}]


def test_kv_read_by_an_activity_through_its_client(wb: Workbench) -> None:
    """Spec 001, "Can activities read KV values?": yes, a plain read that is not recorded."""

    def look(ctx: Any, key: str) -> Any:
        return ctx.get_client().get_kv_value(ctx.instance_id, key)

    def flow(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "1")
        return (yield ctx.schedule_activity("Look", "k"))

    wb.registry.add_activity("Look", look)
    assert output(wb, flow) == "1"


def test_kv_parent_child_isolation(wb: Workbench) -> None:
    def child(ctx: Context, _: None) -> Any:
        seen = ctx.get_kv_value("k")
        ctx.set_kv_value("k", "child's")
        return seen

    def parent(ctx: Context, _: None) -> Any:
        ctx.set_kv_value("k", "parent's")
        seen_by_child = yield ctx.schedule_sub_orchestration_with_id("child", "the child")
        return [seen_by_child, ctx.get_kv_value("k")]

    register(wb, child)
    assert output(wb, parent) == [None, "parent's"]
    assert wb.client.get_kv_value(INSTANCE, "k") == "parent's"
    assert wb.client.get_kv_value("the child", "k") == "child's"
