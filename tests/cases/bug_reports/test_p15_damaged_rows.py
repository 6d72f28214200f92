"""P-15: nothing is replayed over a history that cannot be trusted; its instance ends so marked, the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cases.bug_reports.living import MAX_ATTEMPTS, REPLAYING, Host, Way, living
from workbench import Workbench
from workbench.runtime import events as ev
from workbench.store.database import Cursor

PASSES: list[str] = []
"""Whose code has run past its first line, and saw what its activity gave."""


def flow(ctx: Any, _: None) -> Any:
    one = yield ctx.schedule_activity("Echo", "one")
    PASSES.append(f"{ctx.instance_id} one={one}")
    two = yield ctx.schedule_activity("Echo", "two")
    PASSES.append(f"{ctx.instance_id} two={two}")
    yield ctx.wait_for_event("go")
    yield ctx.schedule_activity("Echo", f"after {ctx.instance_id}")
    return [one, two]


Damage = Callable[[Cursor, str, list[ev.Event]], None]
COLUMNS = "instance_id, execution_id, event_id, event_type, event_data, turn, refused"


def put(cursor: Cursor, name: str, event_id: int, event: ev.Event, turn: int) -> None:
    """Store an event in the row of that number, in place of what is there."""
    cursor.execute("DELETE FROM history WHERE instance_id = ? AND event_id = ?", [name, event_id])
    row = [name, 1, event_id, event.type, ev.encode_event(event), turn]
    cursor.execute(f"INSERT INTO history ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, FALSE)", row)


def numbered(event: ev.Event, event_id: int, **fields: Any) -> ev.Event:
    """The event under another number."""
    return msgspec.structs.replace(event, event_id=event_id, **fields)


def cut_short(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    text = ev.encode_event(events[2])
    cursor.execute("UPDATE history SET event_data = ? WHERE instance_id = ? AND event_id = 3", [text[:-9], name])


def of_a_newer_version(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    text = ev.encode_event(events[1]).replace("ActivityScheduled", "ActivityTeleported").replace("workbench-", "newer-")
    sql = "UPDATE history SET event_data = ?, event_type = 'ActivityTeleported' WHERE instance_id = ? AND event_id = 2"
    cursor.execute(sql, [text, name])


def middle_row_gone(cursor: Cursor, name: str, _: list[ev.Event]) -> None:
    cursor.execute("DELETE FROM history WHERE instance_id = ? AND event_id = 3", [name])


def operation_gone(cursor: Cursor, name: str, _: list[ev.Event]) -> None:
    cursor.execute("DELETE FROM history WHERE instance_id = ? AND event_id = 4", [name])


def texts_swapped(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    put(cursor, name, 3, events[4], 2)
    put(cursor, name, 5, events[2], 3)


def rows_swapped(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    """Renumbered, as if they had been written in the other order."""
    put(cursor, name, 3, numbered(events[4], 3), 2)
    put(cursor, name, 5, numbered(events[2], 5), 3)


def last_row_gone(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    cursor.execute("DELETE FROM history WHERE instance_id = ? AND event_id = ?", [name, len(events)])


def outcome_of_nothing(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    put(cursor, name, 3, numbered(events[2], 3, source_event_id=99), 2)


def start_missing(cursor: Cursor, name: str, _: list[ev.Event]) -> None:
    cursor.execute("DELETE FROM history WHERE instance_id = ? AND event_id = 1", [name])


def start_is_something_else(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    put(cursor, name, 1, numbered(events[2], 1), 1)


DAMAGES: dict[str, tuple[Damage, str]] = {
    "cut short": (cut_short, "event 3"),
    "of a newer version": (of_a_newer_version, "event 2 is a ActivityTeleported of newer-"),
    "middle row gone": (middle_row_gone, "event 3: missing"),
    "operation gone": (operation_gone, "event 4: missing"),
    "last row gone": (last_row_gone, "event 6: missing"),
    "texts swapped": (texts_swapped, "event 3: its text says it is event 5"),
    "rows swapped": (rows_swapped, "event 3 is the outcome of event 4"),
    "outcome of nothing": (outcome_of_nothing, "event 3 is the outcome of event 99"),
    "start missing": (start_missing, "event 1: missing"),
    "start is something else": (start_is_something_else, "event 1: it begins with ActivityCompleted"),
}
"""Each damage, and how the error of its instance names it."""


def damage(host: Host, name: str, how: Damage) -> None:
    """Change the stored history of an instance as no worker would."""
    events = host.events(name)
    with host.provider._store.writing() as cursor:
        how(cursor, name, events)


@pytest.fixture(params=REPLAYING)
def waiting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    """Instances that have run both activities and wait: one for each damage, and one that stays whole."""
    way: Way = request.param
    with living(way, tmp_path) as host:
        host.orchestration(flow)
        for name in (*DAMAGES, "twice", "good"):
            host.client.start_orchestration(name, "flow")
        host.settle()
        PASSES.clear()
        yield host


@pytest.mark.damages("rows are cut, moved and removed")
def test_an_instance_with_a_damaged_history_is_given_up_after_a_bounded_number_of_tries_and_others_go_on(
    waiting: Host,
) -> None:
    host = waiting
    for name, (how, _) in DAMAGES.items():
        damage(host, name, how)
    for name in (*DAMAGES, "good"):
        host.client.raise_event(name, "go")
    began_ms = host.clock.now_ms()
    host.settle()
    assert host.output("good") == ["one", "two"]
    for name, (_, where) in DAMAGES.items():
        error = host.error(name)
        assert error.startswith("poison: ")
        assert f"history deserialization failed after {MAX_ATTEMPTS + 1} attempts" in error
        assert where in error
        assert host.provider.pending_messages(name) == []
    assert [given for _, given in host.ran if str(given).startswith("after")] == ["after good"]
    assert {each for each in PASSES if "two=" in each} == {"good two=two"}
    assert host.clock.now_ms() - began_ms < 60_000


def second_completion(cursor: Cursor, name: str, events: list[ev.Event]) -> None:
    """The same outcome once more, at the end of the history, as a turn of its own."""
    put(cursor, name, len(events) + 1, numbered(events[2], len(events) + 1, result='"again"'), 4)
    cursor.execute("UPDATE instances SET last_event_id = last_event_id + 1 WHERE instance_id = ?", [name])


@pytest.mark.damages("a completion is stored twice")
def test_a_second_completion_of_one_activity_is_ignored_and_delivered_to_nobody(waiting: Host) -> None:
    host = waiting
    damage(host, "twice", second_completion)
    host.client.raise_event("twice", "go")
    host.settle()
    assert host.output("twice") == ["one", "two"]
    assert set(PASSES) == {"twice one=one", "twice two=two"}


@pytest.mark.damages("a row is cut short")
def test_a_workbench_lists_a_damaged_instance_names_its_row_and_steps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Workbench(path) as wb:
        wb.activity("Echo")(lambda _, given: given)
        wb.orchestration(flow)
        for name in ("bad", "good"):
            run = wb.start(flow, instance_id=name)
            for _ in range(3):
                run.turn()
        events = list(wb.provider.read_history("bad", 1).events)
        with wb.provider._store.writing() as cursor:
            cut_short(cursor, "bad", events)
        assert list(wb.instances["instance_id"]) == ["bad", "good"]
        replay = wb.run("bad").recording().replay(flow)
        assert replay.verdict == "damaged history"
        assert [each.row for each in replay.damage] == ["event 3"]
        wb.run("good").raise_event("go")
        assert wb.run("good").finish().output == ["one", "two"]
