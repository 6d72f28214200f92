"""`Execution.advance`: the one mechanism. It runs one turn, recorded or new; no database, thread, clock or widget.

Live is advancing through the recorded turns, then a new one; a stepper is one pass through all recorded turns; a
check is advancing a recording with other code. Follows the pseudo-code of replay-rule §1.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime import payload
from workbench.runtime.actions import Action
from workbench.runtime.batch import read_batch
from workbench.runtime.code import (
    Finished,
    GuardedGenerators,
    Running,
    close_code,
    resume,
    start_code,
)
from workbench.runtime.composites import invalid_member_text, is_invalid_member, refusal
from workbench.runtime.context import OrchestrationContext
from workbench.runtime.dialect import WORKBENCH, Dialect
from workbench.runtime.divergence import Divergence
from workbench.runtime.ending import (
    cancelled_in_history,
    end_new_turn,
    schedules_in_history,
    subscriptions_in_history,
)
from workbench.runtime.errors import InvalidTask, NotATask, ReplayStopped
from workbench.runtime.journal import Journal
from workbench.runtime.key_values import KeyValues
from workbench.runtime.kv import Entry
from workbench.runtime.mailbox import Mailbox
from workbench.runtime.replayed_turn import end_recorded_turn
from workbench.runtime.rereading import settle_with
from workbench.runtime.scheduling import action_of, check_fields, child_instance_id
from workbench.runtime.tasks import (
    AllTask,
    ChildTask,
    ContinueAsNewTask,
    DetachedTask,
    RaceTask,
    RetryTask,
    Task,
)
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import NewTurn, RecordedTurn
from workbench.runtime.waiting import All, Composite, Leaf, Race, Retry, Waiting, settled

Code = Callable[..., Any]


class Execution:
    """One execution of an instance: the suspended code and its journal.

    `turns` are its recorded turns, `kv_snapshot` the KV state that its replay is seeded with. Advance through the
    recorded turns in order, then through new ones. Close it when done: parked code must not be left to the
    garbage collector.
    """

    journal_class: type[Journal] = Journal
    key_values_class: type[KeyValues] = KeyValues

    def __init__(
        self,
        code: Code,
        instance_id: str,
        execution_id: int,
        turns: Sequence[RecordedTurn] = (),
        kv_snapshot: Mapping[str, Entry] | None = None,
        dialect: Dialect = WORKBENCH,
    ) -> None:
        self.instance_id = instance_id
        self.execution_id = execution_id
        self.started: ev.Event | None = None
        self.key_values = self.key_values_class(kv_snapshot or {})
        self.journal = self.journal_class(instance_id, execution_id, turns, dialect)
        self.number = 0
        self.finished: Finished | None = None
        self.continued: ContinueAsNewTask | None = None
        self.last_event_id = 0
        # What the ending of a turn looks at (see `ending`).
        self.schedules: dict[int, str] = {}
        self.outcomes: set[int] = set()
        self.children: dict[int, str] = {}
        self.versions: dict[int, str | None] = {}
        self.dropped_activities: set[int] = set()
        self.dropped: list[Leaf] = []
        self.mailbox = Mailbox(dialect.rereads_members)
        self._code_function = code
        self._code: Running | None = None
        self._context: OrchestrationContext | None = None
        self._waiting: Waiting | None = None
        self._open: dict[int, Leaf] = {}
        self._warnings: list[str] = []
        self._unhandled: list[ev.Event] = []
        self._woken_by: ev.Event | None = None

    # The one call.

    def advance(self, turn: RecordedTurn | NewTurn, now_ms: int = 0, being_made: int = 0) -> TurnResult:
        """Run one turn. `now_ms` is the time of a new turn; a recorded one has its own.

        `being_made` is the number of the turn that is wanted in the end, when this one is replayed on the way to
        it. Returns the result; a divergence is in it, never raised. After an ending or a divergence the code is
        closed; a new turn after a divergence records the failure.
        """
        self._warnings, self._unhandled, self.dropped = [], [], []
        self._woken_by = None
        result = self._replay(turn, being_made) if isinstance(turn, RecordedTurn) else self._make(turn, now_ms)
        if self._code is not None and (self.journal.divergence is not None or result.ended):
            before = len(self._warnings)
            self.close()
            closing = tuple(self._warnings[before:])
            result = msgspec.structs.replace(result, warnings=result.warnings + closing) if closing else result
        self.journal.leave()
        return result

    def _replay(self, turn: RecordedTurn, being_made: int) -> TurnResult:
        journal = self.journal
        self.number = turn.number
        journal.being_made = being_made or turn.number
        made = [*turn.arrivals, *(record.event for record in turn.operations)] or turn.events
        journal.begin(turn.number, turn, turn.started_ms, made[-1].event_id + 1)
        self.last_event_id = turn.events[-1].event_id
        if turn.abort != "arrival":
            self._run(turn.arrivals)
        return end_recorded_turn(self, turn)

    def _make(self, turn: NewTurn, now_ms: int) -> TurnResult:
        journal = self.journal
        recorded = [e for each in journal.turns for e in each.events] if self.diverged else []
        if self.diverged:
            self.schedules, self.outcomes = schedules_in_history(recorded)
        batch = read_batch(turn.messages, self.execution_id, turn.version, self.schedules, self.outcomes)
        if batch.arrivals or batch.doom or self.diverged:  # a batch that appends nothing is no turn
            self.number += 1
        journal.being_made = self.number
        journal.begin(self.number, None, now_ms, turn.next_event_id)
        for arrival in batch.arrivals:
            journal.append(arrival.kind, arrival.source_event_id, **arrival.fields)
        self._warnings.extend(batch.notes)
        arrivals = tuple(journal.new_events)
        failure = _failure_that_no_code_sees(arrivals, batch.doom, journal.divergence)
        if failure is None and arrivals:
            self._run(arrivals)
        elif failure is not None:
            self._let_no_code_see(arrivals, recorded)
        return end_new_turn(self, arrivals, failure)

    def close(self) -> None:
        """Close the parked code; the context is inert from here on. May be called again."""
        self.journal.close()
        code, self._code = self._code, None
        if code is not None:
            self._warnings.extend(close_code(code, self.journal))
        self.journal.leave()

    # Facts that the ending of a turn and the trace read.

    @property
    def diverged(self) -> bool:
        """Whether code and record have parted."""
        return self.journal.divergence is not None

    @property
    def custom_status(self) -> str | None:
        """The custom status as the code has left it."""
        return None if self._context is None else self._context._status  # noqa: SLF001

    def waiting_for(self) -> tuple[Leaf, ...]:
        """The operations that the parked code waits for."""
        return () if self._waiting is None else tuple(self._waiting.leaves())

    def turn_facts(self) -> dict[str, Any]:
        """What every `TurnResult` of this execution has in common."""
        keys, largest = self.key_values.sizes()
        started = self.started
        return {
            "number": self.number,
            "now_ms": self.journal.now_ms,
            "execution_id": self.execution_id,
            "woken_by": self._woken_by,
            "unhandled": tuple(self._unhandled),
            "divergence": self.journal.divergence,
            "strict_differences": tuple(self.journal.strict_differences),
            "warnings": tuple(self._warnings),
            "key_count": keys,
            "largest_value_bytes": largest,
            "orchestration": "" if started is None else str(started.name),
            "version": "" if started is None else str(started.version),
            "parent_instance": None if started is None else cast("str | None", started.parent_instance),
            "started": started,
            "logs": tuple(self.journal.logs),
            "measures": tuple(self.journal.measures),
        }

    def unscheduled(self) -> list[str]:
        """Tasks that were made and never yielded, described."""
        if self._context is None:
            return []
        return [task.describe() for task in self._context._unscheduled.values()]  # noqa: SLF001

    # Running a turn.

    def _run(self, arrivals: Sequence[ev.Event]) -> None:
        try:
            with GuardedGenerators(self.journal, self._warn):
                self._deliver_all(arrivals)
        except ReplayStopped:
            pass

    def _deliver_all(self, arrivals: Sequence[ev.Event]) -> None:
        if self.started is None:
            self._start(arrivals[0])
            arrivals = arrivals[1:]
        for position, event in enumerate(arrivals):
            if self._is_over():
                self._count(arrivals[position:])
                break
            self._deliver(event)
        while not self._is_over() and self.mailbox.bind():
            self._wake(None)

    def _warn(self, text: str) -> None:
        self._warnings.append(text)

    def _is_over(self) -> bool:
        return self.journal.divergence is not None or (self.finished is not None and self.continued is None)

    def _start(self, event: ev.Event) -> None:
        self.started = event
        self._woken_by = event
        carried_status = None if event.initial_custom_status is UNSET else event.initial_custom_status
        self._context = OrchestrationContext(
            self.journal, self.key_values, str(event.name), str(event.version), carried_status
        )
        value = payload.load(str(event.input)) if event.input else None
        made = start_code(self._code_function, self._context, value)
        if isinstance(made, Finished):
            self._finish(made)
            return
        self._code = made
        self._advance_code(False, None)
        if carried_status is not None and self.journal.dialect.forgets_status:
            self._context._status = carried_status  # noqa: SLF001 (the context's own engine)

    def _deliver(self, event: ev.Event) -> None:
        kind = event.type
        if kind in ev.COMPLETIONS:
            self._deliver_outcome(event)
        elif kind == ev.EVENT_RECEIVED:
            lost = self.mailbox.deliver_event(event)
            if lost is not None:
                self._unhandled.append(event)
                self._warnings.append(lost)
        elif kind == ev.QUEUE_MESSAGE:
            self.mailbox.deliver_message(event)
        self._wake(event)

    def _wake(self, event: ev.Event | None) -> None:
        waiting = self._waiting
        if waiting is not None and waiting.done and not self._is_over():
            self._woken_by = self._woken_by or event
            self._advance_code(waiting.failed, waiting.value)

    def _deliver_outcome(self, event: ev.Event) -> None:
        source = event.source_event_id or 0
        leaf = self._open.pop(source, None)
        if leaf is None:
            if source in self.outcomes:
                self._warnings.append(f"a second outcome for event {source} was ignored")
            elif self.journal.unknown_event(source) is None:
                text = f"no matching schedule for completion id={source}"
                self.journal.diverge("broken history", event, None, text)
            return
        self.outcomes.add(source)
        self.children.pop(source, None)
        if not leaf.dropped:
            settle_with(leaf, event, self.journal.dialect.rereads_members)

    # Running the code.

    def _advance_code(self, failed: bool, value: Any) -> None:
        """Resume the code until it waits for something that is not done, or ends."""
        while self._code is not None:
            self._waiting = None
            yielded = self._resume(failed, value)
            if self.journal.state != "live":
                return
            if isinstance(yielded, Finished):
                self._finish(yielded)
                return
            if isinstance(yielded, ContinueAsNewTask) and isinstance(yielded.input, str):
                self._forget(yielded)
                self.continued = yielded
                self.finished = Finished(yielded.input, None)
                return
            if not isinstance(yielded, Task):
                self._finish(Finished(None, NotATask(yielded)))
                return
            waiting = self._schedule_yielded(yielded)
            if isinstance(waiting.value, NotATask):
                self._finish(Finished(None, waiting.value))
                return
            if not waiting.done:
                self._waiting = waiting
                return
            failed, value = waiting.failed, waiting.value

    def _resume(self, failed: bool, value: Any) -> Any:
        return resume(cast("Running", self._code), failed, value)

    def _finish(self, finished: Finished) -> None:
        if isinstance(finished.error, SystemExit) and not self.journal.is_replaying:
            raise finished.error  # for whoever runs the turn; only a history that recorded one is compared with it
        if self.journal.state == "live":
            self.finished = finished

    # Scheduling what is yielded.

    def _schedule_yielded(self, task: Task) -> Waiting:
        error = refusal(task, self.journal.dialect.lenient_composites)
        if error is not None:
            self._forget(task)
            return settled(True, error)
        try:
            return self._schedule(task, None, 0)
        except (InvalidTask, NotATask) as unusable:
            return settled(True, unusable)

    def _schedule(self, task: Any, parent: Composite | None, index: int) -> Waiting:
        self._forget(task)
        if isinstance(task, AllTask):
            every = All(task, parent, index, len(task.tasks), task.unwrap)
            every.members = [self._schedule_member(member, every, i) for i, member in enumerate(task.tasks)]
            for member in [each for each in every.members if each.done]:
                every.member_settled(member)
            if not task.tasks:
                every.settle(False, [])
            return every
        if isinstance(task, RaceTask):
            return self._schedule_race(task, parent, index)
        if isinstance(task, RetryTask):
            retry = Retry(task, parent, index, self._schedule, self._drop)
            retry.begin()
            return retry
        if isinstance(task, DetachedTask):
            self._start_detached(task)
            return settled(False, None)
        return self._schedule_leaf(task, parent, index)

    def _schedule_race(self, task: RaceTask, parent: Composite | None, index: int) -> Waiting:
        race = Race(task, parent, index, self._drop)
        for i, member in enumerate(task.tasks):
            race.members.append(self._schedule_member(member, race, i))
            if race.members[-1].done:
                race.member_settled(race.members[-1])
                break
        return race

    def _schedule_member(self, member: Any, parent: Composite, index: int) -> Waiting:
        if self.journal.dialect.lenient_composites and is_invalid_member(member):
            return settled(True, invalid_member_text(isinstance(parent, All)), parent, index)
        return self._schedule(member, parent, index)

    def _schedule_leaf(self, task: Task, parent: Composite | None, index: int) -> Leaf:
        action, kind = action_of(task, self.journal)
        record = self.journal.match(action)
        leaf = Leaf(task, parent, index, kind, record.event_id)
        if kind in ("event", "queue"):
            self.mailbox.subscribe(leaf)
        else:
            self._open[record.event_id] = leaf
            self.schedules[record.event_id] = kind
            if isinstance(task, ChildTask):
                self.children[record.event_id] = child_instance_id(self.instance_id, str(record.event.instance))
                self.versions[record.event_id] = task.version
        return leaf

    def _start_detached(self, task: DetachedTask) -> None:
        check_fields(task)
        record = self.journal.match(Action((ev.DETACHED_STARTED, task.name, task.instance_id, task.input)))
        self.versions[record.event_id] = task.version

    def _drop(self, waiting: Waiting) -> None:
        """Let go of a race's loser: its operations get a breadcrumb at the end of the turn (timers do not)."""
        for leaf in waiting.leaves():
            leaf.dropped = True
            if leaf.kind != "timer":
                self.dropped.append(leaf)
        if isinstance(waiting, Composite):
            waiting.done = True

    def _forget(self, task: object) -> None:
        context = self._context
        if context is not None and context._unscheduled.pop(id(task), None) is not None:  # noqa: SLF001
            if isinstance(task, RetryTask):
                context._unscheduled.pop(id(task.activity), None)  # noqa: SLF001
            elif isinstance(task, AllTask | RaceTask):
                for member in task.tasks:
                    self._forget(member)

    def _count(self, arrivals: Sequence[ev.Event]) -> None:
        """Arrivals behind the end of the code: nobody gets them, yet the rows of the ending are counted with them."""
        for source in (event.source_event_id for event in arrivals if event.source_event_id is not None):
            self.outcomes.add(source)
            self.children.pop(source, None)
        self.mailbox.received += subscriptions_in_history(arrivals)[1]

    def _let_no_code_see(self, arrivals: Sequence[ev.Event], recorded: Sequence[ev.Event]) -> None:
        """The code is not run for these arrivals; after a divergence what is under way is told from the events."""
        self.started = self.started or next(iter([*recorded, *arrivals]), None)
        self.outcomes.update(event.source_event_id or 0 for event in arrivals)
        if self.diverged:
            self.mailbox.subscriptions, self.mailbox.received = subscriptions_in_history(recorded)
            self.dropped_activities = cancelled_in_history(recorded)
        self.mailbox.received += subscriptions_in_history(arrivals)[1]

    def release_dropped(self) -> None:
        """At the end of a turn what was dropped in it lets go of its place (until then it holds it)."""
        if self.dropped:
            self.mailbox.release(self.dropped)
            self.dropped_activities.update(leaf.event_id for leaf in self.dropped if leaf.kind == "activity")


def _failure_that_no_code_sees(
    arrivals: Sequence[ev.Event], doom: str | None, divergence: Divergence | None
) -> dict[str, Any] | None:
    if divergence is not None:
        return ev.nondeterminism_error(divergence.message)
    if doom is not None:
        return ev.nondeterminism_error(doom)
    for event in arrivals:
        if event.details is not UNSET and not ev.is_application_error(event.details):
            return event.details
    return None
