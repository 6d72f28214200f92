"""P-09: keys, values, instance ids and queue names are kept as they are, and told apart as Python tells them apart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.bug_reports.living import WAYS, Host, Way, living
from workbench import Workbench
from workbench.runtime.errors import NotStorable
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

NAMES = ["", "a\0b", "a\0c", "\u00e9", "e\u0301", "\U0001f600", "x" * 5_000, 'it\'s "quoted"; --', "K", "k", " k "]
KEYS = NAMES[:10]
"""As many as one instance may have."""


def sets_each(ctx: Any, names: list[str]) -> Any:
    for name in names:
        ctx.set_kv_value(name, f"value of {name!r}")
    yield ctx.schedule_activity("Echo", 1)
    seen = [ctx.get_kv_value(name) for name in names]
    ctx.clear_kv_value(names[1])
    ctx.clear_kv_value(names[8])
    yield ctx.schedule_activity("Echo", 2)
    return [seen, ctx.get_kv_all_keys(), [ctx.get_kv_value(name) for name in names]]


def takes_from_each(ctx: Any, names: list[str]) -> Any:
    taken = []
    for name in names:
        taken.append((yield ctx.dequeue_event(name)))
    for name in names:
        taken.append((yield ctx.wait_for_event(name)))
    return taken


def own_name(ctx: Any, _: None) -> Any:
    ctx.set_kv_value("k", ctx.instance_id)
    yield ctx.schedule_activity("Echo", ctx.instance_id)
    return ctx.instance_id


@pytest.mark.parametrize(
    ("way", "kv_model"), [*((way, DELTA) for way in WAYS), ("cold", PER_TURN), ("restarted", PER_TURN)]
)
def test_each_key_is_an_entry_of_its_own_with_its_own_value(tmp_path: Any, way: Way, kv_model: KVModel) -> None:
    with living(way, tmp_path, kv_model) as host:
        host.start(sets_each, KEYS)
        host.turn()
        values = {key: f"value of {key!r}" for key in KEYS}
        assert host.client.get_kv_all_values("i") == values
        assert list(host.client.get_kv_all_values("i")) == sorted(KEYS)
        assert {key: host.client.get_kv_value("i", key) for key in KEYS} == values
        for almost in ("a", "a\0", "E\u0301", "e", "it's", "k ", "x" * 4_999):
            assert host.client.get_kv_value("i", almost) is None
        host.settle()
        seen, keys, after = host.output()
        assert seen == list(values.values())
        left = {key: value for key, value in values.items() if key not in (KEYS[1], KEYS[8])}
        assert keys == sorted(left)
        assert after == [left.get(key) for key in KEYS]
        assert host.client.get_kv_all_values("i") == left


def test_each_instance_id_is_an_instance_of_its_own(host: Host) -> None:
    host.orchestration(own_name)
    for name in NAMES:
        host.client.start_orchestration(name, "own_name")
    host.settle()
    assert sorted(host.client.list_all_instances()) == sorted(NAMES)
    for name in NAMES:
        assert host.output(name) == name
        assert host.client.get_kv_value(name, "k") == name
    host.client.delete_instance("a\0b")
    host.client.delete_instance("K")
    assert [host.status(name) for name in ("a\0b", "a\0c", "K", "k")] == ["NotFound", "Completed"] * 2


def test_each_queue_and_event_name_is_one_of_its_own(host: Host) -> None:
    names = NAMES[:4] + NAMES[7:10]
    host.start(takes_from_each, names)
    host.settle()
    for name in reversed(names):
        host.client.enqueue_event("i", name, f"to {name!r}")
    host.settle()
    for name in names:
        for other in names:
            if other != name:
                host.client.raise_event("i", other, "for another")
                break
        host.client.raise_event("i", name, f"raised {name!r}")
        host.settle()
    assert host.output() == [f"to {name!r}" for name in names] + [f"raised {name!r}" for name in names]


def test_what_has_no_utf8_form_is_refused_at_the_call_with_the_reason() -> None:
    half = "\ud83d"

    def sets_half(ctx: Any, _: None) -> Any:
        refused = []
        for call, given in (
            (ctx.set_kv_value, (half, "1")),
            (ctx.set_kv_value, ("k", half)),
            (ctx.clear_kv_value, (half,)),
        ):
            try:
                call(*given)
            except NotStorable as error:
                refused.append(str(error))
        yield ctx.schedule_activity("Echo", 1)
        return refused

    with Workbench() as wb:
        wb.activity("Echo")(lambda _, given: given)
        wb.orchestration(sets_half)
        refused = wb.start(sets_half).finish().output
        assert [text.split(" ")[0:2] for text in refused] == [["a", "key"], ["the", "value"], ["a", "key"]]
        for call in (
            lambda: wb.start(sets_half, instance_id=half),
            lambda: wb.client.raise_event("sets_half-1", half),
            lambda: wb.client.enqueue_event("sets_half-1", half),
        ):
            with pytest.raises(NotStorable):
                call()
