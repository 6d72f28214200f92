"""How a new turn ends: its breadcrumbs, its ending, its cancel rows, and what leaves for other queues.

The order on disk is the reference's (facts §1.6, §3.5, §7.5–7.7): breadcrumbs of what the code let go of,
subscriptions that the end leaves open, the ending, cancel rows of activities in flight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import messages as ms
from workbench.runtime import payload
from workbench.runtime.code import error_text
from workbench.runtime.errors import NotJSON
from workbench.runtime.turn_result import Status, TurnResult

if TYPE_CHECKING:
    from workbench.runtime.execution import Execution

_CANCEL_ROW = {
    "Completed": "orchestration_terminal_completed",
    "Failed": "orchestration_terminal_failed",
    "ContinuedAsNew": "orchestration_terminal_continued_as_new",
}
_BREADCRUMB = {
    "activity": ev.ACTIVITY_CANCEL_REQUESTED,
    "child": ev.CHILD_CANCEL_REQUESTED,
    "event": ev.EVENT_SUBSCRIPTION_CANCELLED,
    "queue": ev.QUEUE_SUBSCRIPTION_CANCELLED,
}
_KIND_ORDER = {kind: position for position, kind in enumerate(_BREADCRUMB)}
DROPPED_CHILD = "parent dropped sub-orchestration future"
CANCELLED_PARENT = "parent canceled"


class Outcome(msgspec.Struct, frozen=True):
    """How the code left the turn; `cancelled` when that decided it, `aborted` when the engine did."""

    status: Status
    output: str | None = None
    details: dict[str, Any] | None = None
    cancelled: bool = False
    aborted: bool = False


def end_new_turn(execution: Execution, arrivals: Sequence[ev.Event], failure: dict[str, Any] | None) -> TurnResult:
    """The result of a new turn whose code has run as far as it goes; `failure` decides it before any code did."""
    outcome = _outcome(execution, arrivals, failure)
    if outcome.aborted:
        _discard_operations(execution, arrivals)
    operations = execution.journal.new_events[len(arrivals) :]
    first_new_id = arrivals[-1].event_id + 1 if arrivals else 0
    in_flight = tuple(event_id for event_id in activities_in_flight(execution) if event_id < first_new_id)
    cancelled_activities = []
    messages: list[ms.Message] = []
    if not outcome.aborted and not outcome.cancelled and outcome.status != "ContinuedAsNew":
        dropped, notices = _write_dropped(execution, first_new_id)
        cancelled_activities += dropped
        messages += notices
    if outcome.status != "Running":
        cancelled_activities += _write_ending(execution, outcome)
        messages += _notices(execution, outcome, first_new_id)
    execution.release_dropped()
    started = () if outcome.aborted or outcome.cancelled else tuple(_starts(execution, operations, outcome.status))
    running = outcome.status == "Running"
    execution.last_event_id = execution.journal.next_event_id - 1
    facts = execution.turn_facts()
    if not running:
        facts["warnings"] += never_yielded(execution)
    return TurnResult(
        **facts,
        replayed=False,
        arrivals=tuple(arrivals),
        status=outcome.status,
        events=tuple(execution.journal.new_events),
        output=outcome.output,
        details=outcome.details,
        activities=tuple(_activities(execution, operations)) if running else (),
        messages=(*started, *messages),
        cancelled_activities=tuple(cancelled_activities),
        in_flight=in_flight,
        waiting_for=tuple(describe_leaf(leaf) for leaf in execution.waiting_for()) if running else (),
    )


def never_yielded(execution: Execution) -> tuple[str, ...]:
    """A warning for each task that the code made and never scheduled."""
    return tuple(f"{what} was made and never yielded" for what in execution.unscheduled())


def describe_leaf(leaf: Any) -> str:
    """What a parked operation waits for: `activity Noop(""), event 9`."""
    what = "nothing" if leaf.task is None else leaf.task.describe()
    return f"{what}, event {leaf.event_id}"


def code_outcome(execution: Execution) -> Outcome:
    """How the code itself has ended, or `Running`."""
    finished = execution.finished
    if execution.continued is not None:
        return Outcome("ContinuedAsNew", execution.continued.input)
    if finished is None:
        return Outcome("Running")
    error = finished.error
    if error is None:
        try:
            name = "" if execution.started is None else f" {execution.started.name}"
            return Outcome("Completed", payload.dump(f"the result of orchestration{name}", finished.value))
        except NotJSON as not_json:
            error = not_json
    text = error_text(error)
    return Outcome("Failed", text, ev.application_error(text))


def _outcome(execution: Execution, arrivals: Sequence[ev.Event], failure: dict[str, Any] | None) -> Outcome:
    if failure is not None:
        return Outcome("Failed", ev.display_error(failure), failure, aborted=True)
    for event in arrivals:
        if event.type == ev.CANCEL_REQUESTED:
            details = ev.cancelled_error(str(event.reason))
            return Outcome("Failed", ev.display_error(details), details, cancelled=True)
    return code_outcome(execution)


def _discard_operations(execution: Execution, arrivals: Sequence[ev.Event]) -> None:
    journal = execution.journal
    for event in journal.new_events[len(arrivals) :]:
        execution.schedules.pop(event.event_id, None)
        execution.mailbox.subscriptions.pop(event.event_id, None)
        journal.next_event_id -= 1
    journal.new_events = list(arrivals)


def _write_dropped(execution: Execution, first_new_id: int) -> tuple[list[int], list[ms.Message]]:
    """Breadcrumbs of the losers; a child that was scheduled in this very turn was never started and is not told."""
    activities: list[int] = []
    notices: list[ms.Message] = []
    ordered = sorted(execution.dropped, key=lambda leaf: (_KIND_ORDER[leaf.kind], leaf.event_id))
    for leaf in ordered:
        execution.journal.append(_BREADCRUMB[leaf.kind], leaf.event_id, reason=ev.DROPPED)
        if leaf.kind == "activity":
            activities.append(leaf.event_id)
            execution.dropped_activities.add(leaf.event_id)
        elif leaf.kind == "child" and leaf.event_id in execution.children:
            if leaf.event_id < first_new_id:
                notices.append(ms.CancelInstance(execution.children[leaf.event_id], DROPPED_CHILD))
        else:
            execution.mailbox.subscriptions.pop(leaf.event_id, None)
    return activities, notices


def _write_ending(execution: Execution, outcome: Outcome) -> list[int]:
    journal = execution.journal
    in_flight = activities_in_flight(execution)
    for event_id, kind in open_subscriptions(execution):
        journal.append(_BREADCRUMB[kind], event_id, reason=ev.ORCHESTRATION_TERMINAL)
    if outcome.status == "Completed":
        journal.append(ev.COMPLETED, output=outcome.output)
    elif outcome.status == "ContinuedAsNew":
        journal.append(ev.CONTINUED_AS_NEW, input=outcome.output)
    else:
        journal.append(ev.FAILED, details=outcome.details)
    for event_id in in_flight:
        journal.append(ev.ACTIVITY_CANCEL_REQUESTED, event_id, reason=_CANCEL_ROW[outcome.status])
    return list(in_flight)


def activities_in_flight(execution: Execution) -> tuple[int, ...]:
    """The scheduled activities without outcome and without cancel row, by event id."""
    return tuple(
        sorted(
            event_id
            for event_id, kind in execution.schedules.items()
            if kind == "activity"
            and event_id not in execution.outcomes
            and event_id not in execution.dropped_activities
        )
    )


def open_subscriptions(execution: Execution) -> list[tuple[int, str]]:
    """The subscriptions that an ending leaves open, events first, in the order of their rows.

    As the reference counts them, in the rows and not in what the code got: each queue message takes the lowest
    subscription of its name, each event the lowest that was there before it.
    """
    left = dict(sorted(execution.mailbox.subscriptions.items()))
    for kind, name, event_id in execution.mailbox.received:
        taken = next(
            (i for i, each in left.items() if each == (kind, name) and (kind == "queue" or i < event_id)), None
        )
        if taken is not None:
            del left[taken]
    return sorted(((i, kind) for i, (kind, _) in left.items()), key=lambda each: (_KIND_ORDER[each[1]], each[0]))


def _activities(execution: Execution, operations: Iterable[ev.Event]) -> Iterable[ms.ActivityExecute]:
    for event in operations:
        if event.type == ev.ACTIVITY_SCHEDULED and event.event_id not in execution.dropped_activities:
            yield ms.ActivityExecute(
                execution.instance_id,
                execution.execution_id,
                event.event_id,
                str(event.name),
                str(event.input),
                event.session_id or None,
                event.tag or None,
            )


def _starts(execution: Execution, operations: Iterable[ev.Event], status: Status) -> Iterable[ms.Message]:
    """Timers and children begin only while the execution runs; detached starts also when it ends (facts D14)."""
    running = status == "Running"
    dropped = {leaf.event_id for leaf in execution.dropped}
    for event in operations:
        if event.type == ev.TIMER_CREATED and running:
            yield ms.TimerFired(
                execution.instance_id, execution.execution_id, event.event_id, int(event.fire_at_ms or 0)
            )
        elif event.type == ev.CHILD_SCHEDULED and running and event.event_id not in dropped:
            yield ms.StartOrchestration(
                execution.children[event.event_id],
                str(event.name),
                str(event.input),
                execution.versions.get(event.event_id),
                execution.instance_id,
                event.event_id,
                1,
                execution.execution_id,
            )
        elif event.type == ev.DETACHED_STARTED:
            version = execution.versions.get(event.event_id)
            yield ms.StartOrchestration(str(event.instance), str(event.name), str(event.input), version)


def _notices(execution: Execution, outcome: Outcome, first_new_id: int) -> list[ms.Message]:
    notices: list[ms.Message] = []
    if outcome.cancelled:
        started = [child for event_id, child in execution.children.items() if event_id < first_new_id]
        notices += [ms.CancelInstance(child, CANCELLED_PARENT) for child in started]
    start = execution.started
    if start is None:
        return notices
    if outcome.status == "ContinuedAsNew" and execution.continued is not None:
        notices.append(_continue_as_new(execution, start))
    elif start.parent_instance and start.parent_id:
        notices.append(parent_notice(start, outcome.output or "null", outcome.details))
    return notices


def parent_notice(started: ev.Event, output: str, details: dict[str, Any] | None) -> ms.Message:
    """What a parent is told when this child has ended; `details` is the error object of a failure."""
    to_parent = (str(started.parent_instance), started.parent_execution_id or 1, int(started.parent_id or 0))
    if details is not None:
        return ms.SubOrchFailed(*to_parent, details)
    return ms.SubOrchCompleted(*to_parent, output)


def _continue_as_new(execution: Execution, started: ev.Event) -> ms.ContinueAsNew:
    continued = execution.continued
    assert continued is not None  # noqa: S101
    return ms.ContinueAsNew(
        execution.instance_id,
        str(started.name),
        continued.input,
        continued.version,
        execution.mailbox.unread(),
        execution.custom_status,
        started.parent_instance or None,
        started.parent_id or None,
        started.parent_execution_id or None,
    )


def subscriptions_in_history(
    events: Iterable[ev.Event],
) -> tuple[dict[int, tuple[str, str]], list[tuple[str, str, int]]]:
    """Subscriptions without a dropped row (kind, name), and what was received (kind, name, event id)."""
    kinds = {ev.EVENT_SUBSCRIBED: "event", ev.QUEUE_SUBSCRIBED: "queue"}
    arrivals = {ev.EVENT_RECEIVED: "event", ev.QUEUE_MESSAGE: "queue"}
    subscriptions: dict[int, tuple[str, str]] = {}
    received: list[tuple[str, str, int]] = []
    for event in events:
        if event.type in kinds:
            subscriptions[event.event_id] = (kinds[event.type], str(event.name))
        elif event.type in arrivals:
            received.append((arrivals[event.type], str(event.name), event.event_id))
        elif event.type in (ev.EVENT_SUBSCRIPTION_CANCELLED, ev.QUEUE_SUBSCRIPTION_CANCELLED):
            subscriptions.pop(event.source_event_id or 0, None)
    return subscriptions, received


def cancelled_in_history(events: Iterable[ev.Event]) -> set[int]:
    """The activities that have a cancel row."""
    return {event.source_event_id or 0 for event in events if event.type == ev.ACTIVITY_CANCEL_REQUESTED}


def schedules_in_history(events: Iterable[ev.Event]) -> tuple[dict[int, str], set[int]]:
    """The scheduled activities, timers and children by event id, and which of them have an outcome."""
    kinds = {ev.ACTIVITY_SCHEDULED: "activity", ev.TIMER_CREATED: "timer", ev.CHILD_SCHEDULED: "child"}
    every = list(events)
    schedules = {event.event_id: kinds[event.type] for event in every if event.type in kinds}
    return schedules, {event.source_event_id or 0 for event in every if event.type in ev.COMPLETIONS}
