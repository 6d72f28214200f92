"""What the reference engine (duroxide 0.2.2) would say: its own matching, over a dry run that nothing stops.

It is told of one more message that nobody waits for, so it runs the code again against everything that is recorded,
up to the ending (which an instance in flight does not have yet). What the code asks for is a queue; each recorded
operation takes the head of that queue, and the code goes on after each arrival. Code that has finished is compared
with nothing more, so an early return or an early exception passes (facts: semantics §3.2 and §3.3).
"""

from __future__ import annotations

import contextlib
import inspect
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast

import msgspec

from workbench.runtime import events as ev
from workbench.runtime.actions import Action, signature_of
from workbench.runtime.code import GuardedGenerators
from workbench.runtime.dialect import DUROXIDE
from workbench.runtime.ending import code_outcome
from workbench.runtime.errors import DidNotComeBack, ReplayStopped
from workbench.runtime.execution import Code, Execution
from workbench.runtime.journal import Journal
from workbench.runtime.kv import Table
from workbench.runtime.reference_text import dropped_text, mismatch_text, missing_action_text
from workbench.runtime.replayed_turn import BREADCRUMB_KINDS
from workbench.runtime.rereading import settle_with, value_for
from workbench.runtime.scheduling import action_of
from workbench.runtime.tasks import EventTask, QueueTask
from workbench.runtime.turn_result import Status
from workbench.runtime.turns import Record, RecordedTurn
from workbench.runtime.waiting import Leaf
from workbench.runtime.watchdog import DEADLINE_MS, deadline
from workbench.showing import Shown

MOST_NEW = 10_000
"""A dry run of code that asks for so much more than its history has is given up."""
ROUNDS = 100
"""How often the engine lets code go on by itself in one turn before it fails the instance."""
UNBOUNDED = "infrastructure:quiescence_loop: the code goes on by itself without end"

_DIALECT = msgspec.structs.replace(DUROXIDE, restamps_writes=False)
"""Writes of the running execution are as old as this very run; that is how `now_ms` is set here."""
_ACCEPTED_WHEN_MISSING = frozenset({ev.KV_SET, ev.KV_CLEARED, ev.KV_ALL_CLEARED, ev.STATUS_UPDATED})


class ReferenceVerdict(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """What duroxide would do with this code and this history.

    Not `accepted`: it fails the instance for nondeterminism, with `message` (as stored, without the prefix
    `nondeterministic: `), at the event `event_id` (None: at the end). Accepted: the execution is `status` afterwards,
    with `output` (JSON text, error text or next input).
    """

    _view: ClassVar[str] = "reference"

    accepted: bool
    execution_id: int
    message: str | None = None
    event_id: int | None = None
    status: Status = "Running"
    output: str | None = None


def reference_verdict(
    code: Code,
    instance_id: str,
    execution_id: int,
    turns: Sequence[RecordedTurn],
    kv_snapshot: Table,
    deadline_ms: int | None = DEADLINE_MS,
) -> ReferenceVerdict | None:
    """Run `code` against one execution's history the way the reference matches it; nothing is written anywhere.

    Limits are not looked at. None when there is no history, when the code does not come back within `deadline_ms`
    (ms; None: for ever), or when it is `async def`, which duroxide's Python SDK does not run.
    """
    if inspect.iscoroutinefunction(code):
        return None
    events = list(replayed_events(turns))
    unreadable = next((event for event in events if event.type not in ev.KNOWN_TYPES), None)
    if unreadable is not None:
        message = f"unknown variant `{unreadable.type}`: the whole history cannot be read"
        return ReferenceVerdict(
            accepted=False, execution_id=execution_id, message=message, event_id=unreadable.event_id
        )
    if not events:
        return None
    dry_run = DryRun(code, instance_id, execution_id, turns, kv_snapshot, _DIALECT)
    try:
        with deadline(deadline_ms, dry_run):
            return dry_run.verdict(events)
    except DidNotComeBack:
        return None
    finally:
        with contextlib.suppress(DidNotComeBack), deadline(deadline_ms, dry_run):
            dry_run.close()


def replayed_events(turns: Sequence[RecordedTurn]) -> Iterator[ev.Event]:
    """The history without its ending and what was written because of it; a turn in which no code ran is left out."""
    for turn in turns:
        if turn.abort == "arrival":
            return
        for event in turn.events:
            if event.type not in ev.ENDINGS and (event.type not in ev.BREADCRUMBS or event.reason == ev.DROPPED):
                yield event


class Emitted(Journal):
    """Takes everything that the code asks for, in order; what it asked for is compared when its event comes up."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.queue: deque[tuple[Action, int]] = deque()
        self.tokens = 0
        self.most = sum(len(turn.operations) for turn in self.turns) + MOST_NEW

    def match(self, action: Action) -> Record:
        """A record for now, numbered below zero until its event is known."""
        self.tokens += 1
        if self.tokens > self.most:
            self.state = "stopping"
            raise ReplayStopped
        self.queue.append((action, -self.tokens))
        fields = action.fields()
        fields.pop("delay_ms", None)
        return Record(-self.tokens, action.signature, self.event(0, action.kind, **fields))


class _Refused(Exception):
    """The reference fails the instance here."""

    def __init__(self, message: str, event_id: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.event_id = event_id


class DryRun(Execution):
    """The code, driven event by event as the reference polls it."""

    journal_class = Emitted
    journal: Emitted

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._made: dict[int, Leaf] = {}
        self._continues = False
        self._events_to: dict[str, list[Leaf]] = {}
        self._takers: dict[str, list[Leaf]] = {}
        self._messages: dict[str, deque[str]] = {}

    def verdict(self, events: Sequence[ev.Event]) -> ReferenceVerdict:
        """Run through the history and one more turn."""
        facts: dict[str, Any] = {"execution_id": self.execution_id}
        try:
            with GuardedGenerators(self.journal, self._warn):
                self._through(events)
                self._check_dropped(events)
        except _Refused as refused:
            return ReferenceVerdict(accepted=False, message=refused.message, event_id=refused.event_id, **facts)
        except ReplayStopped:
            return ReferenceVerdict(accepted=True, status="Failed", output=UNBOUNDED, **facts)
        cancel = next((event for event in events if event.type == ev.CANCEL_REQUESTED), None)
        if cancel is not None:
            text = ev.display_error(ev.cancelled_error(str(cancel.reason)))
            return ReferenceVerdict(accepted=True, status="Failed", output=text, **facts)
        outcome = code_outcome(self)
        return ReferenceVerdict(accepted=True, status=outcome.status, output=outcome.output, **facts)

    # The history.

    def _through(self, events: Sequence[ev.Event]) -> None:
        journal = self.journal
        first = self.journal.turns[0]
        journal.begin(1, first, events[-1].timestamp_ms + 1, events[-1].event_id + 1)
        self._start(events[0])
        self._note_continuing()
        for event in events[1:]:
            if self._is_over():
                break
            self._apply(event)
            self._poll(event)
        for _ in range(ROUNDS):
            if not journal.queue or self._is_over():
                return
            self._bind_new_work()
            self._poll(None)
        self.journal.state = "stopping"
        raise ReplayStopped

    def _poll(self, event: ev.Event | None) -> None:
        waiting = self._waiting
        if waiting is not None and waiting.done and not self._is_over():
            self._wake(event)
            self._note_continuing()

    def _note_continuing(self) -> None:
        """A continue-as-new is an action too, one that matches no event."""
        if self.continued is not None and not self._continues:
            self._continues = True
            action = Action((ev.CONTINUED_AS_NEW,), {"input": self.continued.input, "version": self.continued.version})
            self.journal.queue.append((action, 0))

    def _apply(self, event: ev.Event) -> None:
        if event.type in ev.OPERATIONS:
            self._take(event)
        elif event.type in ev.COMPLETIONS:
            self._complete(event)
        elif event.type == ev.EVENT_RECEIVED:
            self._raise_event(event)
        elif event.type == ev.QUEUE_MESSAGE:
            self._messages.setdefault(str(event.name), deque()).append(str(event.data))
            self._feed(str(event.name))
        elif event.type in (ev.EVENT_SUBSCRIPTION_CANCELLED, ev.QUEUE_SUBSCRIPTION_CANCELLED):
            for waiting in (self._events_to, self._takers):
                for name, leaves in waiting.items():
                    waiting[name] = [leaf for leaf in leaves if leaf.event_id != event.source_event_id]

    def _take(self, event: ev.Event) -> None:
        if not self.journal.queue:
            if event.type in _ACCEPTED_WHEN_MISSING:
                return
            raise _Refused(missing_action_text(event), event.event_id)
        action, token = self.journal.queue.popleft()
        if action.signature != signature_of(event):
            raise _Refused(mismatch_text(event, action), event.event_id)
        self._bind(token, event.event_id)

    def _bind_new_work(self) -> None:
        """What is left in the queue is new: it gets ids behind the history."""
        journal = self.journal
        while journal.queue:
            _action, token = journal.queue.popleft()
            self._bind(token, journal.next_event_id)
            journal.next_event_id += 1

    def _bind(self, token: int, event_id: int) -> None:
        """What was asked for has its event now: results and messages can reach it."""
        leaf = self._made.pop(token, None)
        if leaf is None:
            return
        leaf.event_id = event_id
        if leaf.kind == "event":
            self._events_to.setdefault(_name(leaf), []).append(leaf)
        elif leaf.kind == "queue":
            self._takers.setdefault(_name(leaf), []).append(leaf)
            self._feed(_name(leaf))
        else:
            self._open[event_id] = leaf

    def _complete(self, event: ev.Event) -> None:
        leaf = self._open.pop(event.source_event_id or 0, None)
        if leaf is None:
            raise _Refused("completion without open schedule", event.event_id)
        if event.type == ev.ACTIVITY_COMPLETED and leaf.kind != "activity":
            raise _Refused("completion kind mismatch: expected activity", event.event_id)
        if not leaf.dropped:
            settle_with(leaf, event, _DIALECT.rereads_members)

    def _raise_event(self, event: ev.Event) -> None:
        bound = self._events_to.get(str(event.name))
        if bound:
            leaf = bound.pop(0)
            if not leaf.dropped:
                leaf.settle(False, value_for(leaf, str(event.data), _DIALECT.rereads_members))

    def _feed(self, queue: str) -> None:
        messages, takers = self._messages.get(queue), self._takers.get(queue)
        while messages and takers:
            leaf = takers.pop(0)
            if not leaf.dropped:
                leaf.settle(False, value_for(leaf, messages.popleft(), _DIALECT.rereads_members))

    def _check_dropped(self, events: Sequence[ev.Event]) -> None:
        """Every loser that was recorded must have lost again; more may. One counts when its event has come up."""
        if self.continued is not None or any(event.type == ev.CANCEL_REQUESTED for event in events):
            return
        known = {event.event_id for event in events}
        for words, breadcrumb, kind in BREADCRUMB_KINDS:
            recorded = {event.source_event_id or 0 for event in events if event.type == breadcrumb}
            dropped = {leaf.event_id for leaf in self.dropped if leaf.kind == kind} & known
            if not recorded <= dropped:
                raise _Refused(dropped_text(words, recorded, dropped), None)

    # What the code asks for.

    def _schedule_leaf(self, task: Any, parent: Any, index: int) -> Leaf:
        action, kind = action_of(task, self.journal)
        record = self.journal.match(action)
        leaf = Leaf(task, parent, index, kind, record.event_id)
        self._made[record.event_id] = leaf
        return leaf


def _name(leaf: Leaf) -> str:
    return cast("EventTask | QueueTask", leaf.task).name
