"""P-10: limits are bytes as they are stored; one byte too many ends the instance and is not stored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.bug_reports.living import WAYS, Host, Way, living
from workbench import Limits
from workbench.runtime import events as ev
from workbench.runtime.kv import DELTA, PER_TURN, KVModel

LIMITS = Limits.duroxide()
VALUE, STATUS = LIMITS.kv_value_bytes, LIMITS.custom_status_bytes
TWO_BYTES, FOUR_BYTES = "\u00e9", "\U0001f600"

FITS = {
    "one": "x" * VALUE,
    "two": TWO_BYTES * (VALUE // 2),
    "four": FOUR_BYTES * (VALUE // 4),
}
TOO_LARGE = {
    "one": ("x" * (VALUE + 1), VALUE + 1),
    "two": (TWO_BYTES * (VALUE // 2 + 1), VALUE + 2),
    "four": (FOUR_BYTES * (VALUE // 4 + 1), VALUE + 4),
    "mixed": ("x" * (VALUE - 1) + TWO_BYTES, VALUE + 1),
}
NOT_TEXT = [7, {"a": 1}, None, False]


def sets_it_later(ctx: Any, value: str) -> Any:
    ctx.set_kv_value("before", "kept")
    yield ctx.schedule_activity("Echo", 1)
    ctx.set_kv_value("k", value)
    yield ctx.schedule_activity("Echo", 2)
    return "done"


def overwrites_it(ctx: Any, value: str) -> Any:
    ctx.set_kv_value("before", "kept")
    yield ctx.schedule_activity("Echo", 1)
    ctx.set_kv_value("k", value)
    ctx.set_kv_value("k", "short")
    yield ctx.schedule_activity("Echo", 2)


def says_it(ctx: Any, status: str) -> Any:
    yield ctx.schedule_activity("Echo", 1)
    ctx.set_custom_status(status)
    yield ctx.schedule_activity("Echo", 2)


def says_it_and_then_less(ctx: Any, status: str) -> Any:
    yield ctx.schedule_activity("Echo", 1)
    ctx.set_custom_status(status)
    ctx.set_custom_status("short")
    yield ctx.schedule_activity("Echo", 2)


def sets_what_is_no_text(ctx: Any, values: list[Any]) -> Any:
    for number, value in enumerate(values):
        ctx.set_kv_value(f"k{number}", value)
    yield ctx.schedule_activity("Echo", 1)
    return list(ctx.get_kv_all_values().values())


@pytest.mark.parametrize(
    ("way", "kv_model"), [*((way, DELTA) for way in WAYS), ("cold", PER_TURN), ("restarted", PER_TURN)]
)
def test_a_value_at_the_limit_passes_and_one_over_it_ends_the_instance(
    tmp_path: Any, way: Way, kv_model: KVModel
) -> None:
    with living(way, tmp_path, kv_model, LIMITS) as host:
        host.orchestration(sets_it_later)
        host.orchestration(overwrites_it)
        for name, value in FITS.items():
            host.client.start_orchestration(f"fits {name}", "sets_it_later", value)
        for name, (value, _) in TOO_LARGE.items():
            host.client.start_orchestration(f"over {name}", "sets_it_later", value)
        host.client.start_orchestration("overwritten", "overwrites_it", TOO_LARGE["mixed"][0])
        host.settle(lambda: no_client_gets_more_than_the_limit(host))
        for name, value in FITS.items():
            assert host.output(f"fits {name}") == "done"
            assert host.client.get_kv_value(f"fits {name}", "k") == value
        over = {f"over {name}": size for name, (_, size) in TOO_LARGE.items()} | {"overwritten": VALUE + 1}
        for name, size in over.items():
            assert host.error(name) == f"KV value for key 'k' ({size} bytes) exceeds limit ({VALUE} bytes)"
            assert host.client.get_kv_all_values(name) == {"before": "kept"}
            assert host.kinds(name)[-2:] == [ev.ACTIVITY_COMPLETED, ev.FAILED]
        assert len([given for _, given in host.ran if given == 2]) == len(FITS)


def no_client_gets_more_than_the_limit(host: Host) -> None:
    """What a client reads of any instance."""
    for name in host.client.list_all_instances():
        for value in host.client.get_kv_all_values(name).values():
            assert len(value.encode()) <= VALUE


def test_a_status_at_the_limit_passes_and_one_over_it_ends_the_instance(host: Host) -> None:
    cases = {
        "fits": ("says_it", "x" * STATUS, None),
        "fits two": ("says_it", TWO_BYTES * (STATUS // 2), None),
        "over": ("says_it", "x" * (STATUS + 1), STATUS + 1),
        "over two": ("says_it", TWO_BYTES * (STATUS // 2 + 1), STATUS + 2),
    }
    host.orchestration(says_it)
    host.orchestration(says_it_and_then_less)
    for name, (flow, status, _) in cases.items():
        host.client.start_orchestration(name, flow, status)
    host.client.start_orchestration("less", "says_it_and_then_less", "x" * (STATUS + 1))
    host.settle()
    for name, (_, status, size) in cases.items():
        info = host.client.get_status(name)
        if size is None:
            assert (info.status, info.custom_status) == ("Completed", status)
        else:
            assert f"({size} bytes) exceeds limit ({STATUS} bytes)" in host.error(name)
            assert info.custom_status is None
            assert host.kinds(name)[-2:] == [ev.ACTIVITY_COMPLETED, ev.FAILED]
    less = host.client.get_status("less")
    assert (less.status, less.custom_status) == ("Completed", "short"), (
        "the last status of a turn is the one that counts"
    )


def test_what_is_no_text_is_stored_as_its_str_and_counted_as_that(host: Host) -> None:
    host.start(sets_what_is_no_text, NOT_TEXT)
    host.settle()
    assert host.output() == [str(value) for value in NOT_TEXT]
