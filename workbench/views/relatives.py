"""Parents and children of an instance, and how their ids stand in a panel's targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.runtime import events as ev
from workbench.runtime.scheduling import child_instance_id
from workbench.runtime.turn import Turn
from workbench.views.answers import made_by
from workbench.views.markup import instance_address
from workbench.views.operations import address_of


class Parent(NamedTuple):
    """Who started an instance and waits for it: its id, and the execution and event of the schedule."""

    instance_id: str
    execution_id: int
    event_id: int


def parent_of(turns: Sequence[Turn]) -> Parent | None:
    """The parent that the first event names, None for an instance that somebody started from outside."""
    start = next((each for each in (turns[0].events if turns else ()) if each.type == ev.STARTED), None)
    if start is None or not isinstance(start.parent_instance, str) or not start.parent_instance:
        return None
    execution = start.parent_execution_id if isinstance(start.parent_execution_id, int) else 1
    return Parent(start.parent_instance, execution, start.parent_id if isinstance(start.parent_id, int) else 0)


def place_in_parent(turns: Sequence[Turn], parent: Parent) -> str:
    """The address, among the parent's turns, of the operation that scheduled the child; empty if it is not here."""
    found = made_by(turns, parent.execution_id, parent.event_id)
    return "" if found is None else found[1]


def children(turn: Turn) -> dict[int, str]:
    """The instances that a turn's operations started, by the id of the event: children, and those let go of."""
    made = {each.event_id for each in turn.operations if each.event_id is not None and each.state != "refused"}
    return {
        event.event_id: child_instance_id(turn.instance_id, str(event.instance))
        for event in turn.events
        if event.type in (ev.CHILD_SCHEDULED, ev.DETACHED_STARTED) and event.event_id in made
    }


def child_at(turn: Turn, operation: str = "") -> str | None:
    """The instance that the operation at an address started; without one, that the turn started if it is only one."""
    started = children(turn)
    if not operation:
        return next(iter(started.values())) if len(started) == 1 else None
    made = next((each for each in turn.operations if address_of(turn, each) == operation), None)
    return None if made is None or made.event_id is None else started.get(made.event_id)


def instance_at(target: str, turns: Sequence[Turn], turn: Turn) -> str | None:
    """The id that a target names, among the turn's children and the parent."""
    parent = parent_of(turns)
    known = [*children(turn).values(), *([] if parent is None else [parent.instance_id])]
    return next((each for each in known if instance_address(each) == target), None)
