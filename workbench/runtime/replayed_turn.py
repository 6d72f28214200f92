"""How a recorded turn ends: what is left over, what was dropped, and whether the ending is the recorded one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.code import error_text
from workbench.runtime.divergence import OutcomeDifference
from workbench.runtime.ending import Outcome, code_outcome, describe_leaf, never_yielded
from workbench.runtime.errors import NotATask, NotJSON
from workbench.runtime.reference_text import dropped_text
from workbench.runtime.turn_result import Status, TurnResult
from workbench.runtime.turns import RecordedTurn

if TYPE_CHECKING:
    from workbench.runtime.execution import Execution

STATUS_OF: dict[str, Status] = {
    ev.COMPLETED: "Completed",
    ev.FAILED: "Failed",
    ev.CONTINUED_AS_NEW: "ContinuedAsNew",
}
_JSON_REFUSED = re.compile(r"\nTypeError: (Object of type \w+ is not JSON serializable|keys must be str[^\n]*)$")
"""How a failure ends that Python's own `json` caused."""
BREADCRUMB_KINDS = (
    ("activities", ev.ACTIVITY_CANCEL_REQUESTED, "activity"),
    ("sub-orchestrations", ev.CHILD_CANCEL_REQUESTED, "child"),
    ("external waits", ev.EVENT_SUBSCRIPTION_CANCELLED, "event"),
    ("persistent waits", ev.QUEUE_SUBSCRIPTION_CANCELLED, "queue"),
)


def end_recorded_turn(execution: Execution, turn: RecordedTurn) -> TurnResult:
    """Compare the end of a replayed turn with its record; the events of the result are the recorded ones' arrivals."""
    if not execution.diverged and turn.abort is None:
        _compare_leftovers(execution, turn)
        if not execution.diverged:
            _compare_dropped(execution, turn)
    difference = None
    if not execution.diverged and turn.abort is None and not turn.cancelled:
        difference = compare_ending(execution, turn)
    execution.release_dropped()
    ending = turn.last_ending
    status: Status = "Running" if ending is None else STATUS_OF[ending.type]
    facts = execution.turn_facts()
    if ending is not None and not execution.diverged:
        facts["warnings"] += never_yielded(execution)
    return TurnResult(
        **facts,
        replayed=True,
        arrivals=turn.arrivals,
        status=status,
        output=None if ending is None else ending_text(ending),
        details=None if ending is None else ending.details or None,
        outcome_difference=difference,
        refused=ending_text(ending) if turn.refused and ending is not None else None,
        waiting_for=tuple(describe_leaf(leaf) for leaf in execution.waiting_for()) if ending is None else (),
    )


def ending_text(event: ev.Event) -> str:
    """Output, error text or next input of an ending."""
    if event.type == ev.COMPLETED:
        return str(event.output)
    if event.type == ev.CONTINUED_AS_NEW:
        return str(event.input)
    return ev.display_error(event.details or {})


def describe_ending(outcome: Outcome) -> str:
    """How the code ended, in a few words."""
    words = {"Completed": "completed with", "Failed": "failed with", "ContinuedAsNew": "continued as new with"}
    return f"{words[outcome.status]} {outcome.output}"


def _compare_leftovers(execution: Execution, turn: RecordedTurn) -> None:
    journal = execution.journal
    outcome = code_outcome(execution)
    ended = outcome.status != "Running"
    if journal.next_record() is not None:
        action = None
        if outcome.status == "ContinuedAsNew":
            version = None if execution.continued is None else execution.continued.version
            action = Action((ev.CONTINUED_AS_NEW,), {"input": outcome.output, "version": version})
        journal.no_longer_made(ended, action, describe_ending(outcome) if ended else None)
    elif ended and turn.ending is None:
        later = next((each.events[0] for each in journal.turns if each.number > turn.number), None)
        text = f"the code {describe_ending(outcome)} in a turn after which the history goes on"
        journal.diverge("ended early", later, None, text, ending=describe_ending(outcome))
    elif not ended and turn.ending is not None and not turn.cancelled:
        journal.diverge("runs on", turn.ending, None, "the code goes on where the history ends")


def _compare_dropped(execution: Execution, turn: RecordedTurn) -> None:
    if turn.cancelled or execution.continued is not None or not (execution.dropped or turn.breadcrumbs):
        return
    now = sorted(leaf.event_id for leaf in execution.dropped)
    recorded = sorted(e.source_event_id or 0 for e in turn.breadcrumbs if e.reason == ev.DROPPED)
    if now == recorded:
        return
    message = "the code lets go of other tasks than the recorded turn did"
    for words, breadcrumb, kind in BREADCRUMB_KINDS:
        of_kind = {e.source_event_id for e in turn.breadcrumbs if e.type == breadcrumb and e.reason == ev.DROPPED}
        dropped = {leaf.event_id for leaf in execution.dropped if leaf.kind == kind}
        if not of_kind <= dropped:
            message = dropped_text(words, {each or 0 for each in of_kind}, dropped)
            break
    execution.journal.diverge(
        "race changed", None, None, message, dropped_now=tuple(now), dropped_recorded=tuple(recorded)
    )


def compare_ending(execution: Execution, turn: RecordedTurn) -> OutcomeDifference | None:
    """How the code's own ending differs from the recorded one; None when it does not, or one of them has not ended."""
    outcome = code_outcome(execution)
    if outcome.status == "Running" or turn.ending is None:
        return None
    recorded_status = STATUS_OF[turn.ending.type]
    recorded = ending_text(turn.ending)
    if recorded_status == outcome.status and _same_text(execution, outcome, recorded):
        return None
    return OutcomeDifference(
        turn=turn.number,
        recorded_status=recorded_status,
        recorded_output=recorded,
        now_status=outcome.status,
        now_output=outcome.output or "",
    )


def _same_text(execution: Execution, outcome: Outcome, recorded: str) -> bool:
    """A recorded failure may carry a traceback in front: it must end with what we would record."""
    now = outcome.output or ""
    if outcome.status != "Failed":
        return recorded == now
    error = execution.finished.error if execution.finished is not None else None
    if isinstance(error, NotATask) and recorded.startswith("Invalid generator step result"):
        return True
    if error is None or isinstance(error, NotJSON):  # Failed without an error: the result itself had no JSON form
        return recorded.rstrip().endswith(now) or _JSON_REFUSED.search(recorded.rstrip()) is not None
    return recorded.rstrip().endswith(error_text(error))
