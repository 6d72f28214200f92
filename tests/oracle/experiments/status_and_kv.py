"""Custom status, KV, and values that differ from run to run."""

from __future__ import annotations

from typing import Any

from tests.oracle.experiments.asking import experiment, experiment_each


@experiment()
def guid_and_time(ctx: Any, _given: Any) -> Any:
    guid = yield ctx.new_guid()
    now = yield ctx.utc_now()
    return [repr(guid), repr(now)]


@experiment()
def custom_status(ctx: Any, given: Any) -> Any:
    seen = [ctx.get_custom_status()]
    if given is None:
        ctx.set_custom_status("one")
        ctx.set_custom_status("two")
        seen.append(ctx.get_custom_status())
        yield ctx.schedule_timer(1)
        seen.append(ctx.get_custom_status())
        ctx.reset_custom_status()
        seen.append(ctx.get_custom_status())
        yield ctx.schedule_timer(1)
        ctx.set_custom_status(5)
        seen.append(ctx.get_custom_status())
        yield ctx.continue_as_new(seen)
    ctx.set_custom_status("new")
    seen.append(ctx.get_custom_status())
    yield ctx.schedule_timer(1)
    seen.append(ctx.get_custom_status())
    yield ctx.schedule_timer(1)
    seen.append(ctx.get_custom_status())
    ctx.set_custom_status("newer")
    seen.append(ctx.get_custom_status())
    yield ctx.schedule_timer(1)
    seen.append(ctx.get_custom_status())
    return [given, seen]


@experiment()
def custom_status_reset_over_continue_as_new(ctx: Any, given: Any) -> Any:
    if given is None:
        ctx.set_custom_status("one")
        yield ctx.schedule_timer(1)
        ctx.reset_custom_status()
        yield ctx.continue_as_new(1)
    first = ctx.get_custom_status()
    if given == 1:
        ctx.set_custom_status("two")
        ctx.reset_custom_status()
        ctx.set_custom_status("three")
        yield ctx.continue_as_new(2)
    ctx.reset_custom_status()
    yield ctx.schedule_timer(1)
    second = ctx.get_custom_status()
    if given == 2:
        yield ctx.continue_as_new(3)
    return [first, second, ctx.get_custom_status()]


@experiment()
def custom_status_texts(ctx: Any, _given: Any) -> Any:
    seen = []
    for status in (None, "", 1.5, {"a": 1}, "é"):
        ctx.set_custom_status(status)
        seen.append(ctx.get_custom_status())
    yield ctx.schedule_timer(1)
    return seen


@experiment()
def kv_calls(ctx: Any, given: Any) -> Any:
    seen: list[Any] = []
    if given is None:
        ctx.set_kv_value("b", "1")
        ctx.set_kv_value("a", 2)
        ctx.set_kv_value("a", "3")
        ctx.clear_kv_value("missing")
        seen += [ctx.get_kv_all_keys(), ctx.get_kv_length(), sorted(ctx.get_kv_all_values().items())]
        ctx.clear_kv_value("b")
        yield ctx.schedule_timer(1)
        seen += [ctx.get_kv_value("a"), ctx.get_kv_value("b"), ctx.get_kv_value("missing")]
        seen.append(ctx.prune_kv_values_updated_before(0))
        yield ctx.continue_as_new(seen)
    seen.append(ctx.get_kv_all_keys())
    now = yield ctx.utc_now()
    ctx.set_kv_value("z", "late")
    ctx.set_kv_value("c", "late")
    seen.append(ctx.prune_kv_values_updated_before(now))
    seen.append(ctx.get_kv_all_keys())
    seen.append(ctx.prune_kv_values_updated_before(2**62))
    seen.append(ctx.get_kv_length())
    ctx.set_kv_value("again", "1")
    ctx.clear_all_kv_values()
    ctx.clear_all_kv_values()
    ctx.set_kv_value("last", "é")
    yield ctx.schedule_timer(1)
    own = yield ctx.get_kv_value_from_instance("kv_calls", "last")
    missing = yield ctx.get_kv_value_from_instance("nobody", "last")
    return [given, seen, own, missing]


@experiment_each(negative=-1, fraction=1.5, text="5", none=None)
def prune_cutoff(ctx: Any, given: Any) -> Any:
    ctx.set_kv_value("k", "1")
    try:
        got = ctx.prune_kv_values_updated_before(given)
    except BaseException as error:
        got = f"{type(error).__name__}: {error}"
    yield ctx.schedule_timer(1)
    return got
