"""The pure engine run under a guess: one edit of the code is allowed for, and what lines up after it is counted.

The records of all turns are one list here, whatever turn they stand in, so that code which no longer waits for
something can be followed further. An operation that stands for another record gets that record's result
(replay-rule §7).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from workbench.runtime import events as ev
from workbench.runtime.actions import Action, Signature
from workbench.runtime.answers import answered_operations
from workbench.runtime.dialect import Dialect
from workbench.runtime.errors import ReplayStopped
from workbench.runtime.execution import Execution
from workbench.runtime.journal import Journal
from workbench.runtime.mailbox import Mailbox
from workbench.runtime.replayed_turn import compare_ending
from workbench.runtime.rereading import value_for
from workbench.runtime.scheduling import action_of
from workbench.runtime.turn_result import TurnResult
from workbench.runtime.turns import Record, RecordedTurn
from workbench.runtime.waiting import Leaf, Retry, Waiting

Name = Literal["changed", "added", "removed", "moved"]
IN_A_ROW = 5
"""How often an edit may recur before something equals its record again."""
SAME_ENDING = 2.0
"""What the recorded ending is worth beside an operation that equals its record, which is worth 1."""


ALL_USED = 0.5
"""What it is worth that no record is left over where the code goes on further than the recording."""


class Hypothesis(msgspec.Struct, frozen=True):
    """A guess at how the code was edited at one place; `skip` records are no longer made there (or made later).

    With `back` the edit is the last operation before the place, though it equals its record: two timers are alike.
    """

    name: Name
    skip: int = 0
    back: bool = False


class ExperimentJournal(Journal):
    """Matches operations with the list of all records, and lets differences pass as the hypothesis says."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.records: tuple[Record, ...] = tuple(record for turn in self.turns for record in turn.operations)
        self.hypothesis: Hypothesis | None = None
        self.place = 0
        """The index of the record at which code and history part."""
        self.position = 0
        self.equal = 0
        """How many operations from the place on equal their records."""
        self.alike = 0.0
        """What those are worth that are of the record's kind and name, with other contents."""
        self.enough: int | None = None
        self._missed: list[Record] = []
        self._first: tuple[Action, Record | None] | None = None
        self._in_a_row = 0
        self._answers = 0

    @property
    def all_matched(self) -> bool:
        """Whether no record is left over."""
        return self.position >= len(self.records)

    def match(self, action: Action) -> Record:
        """The record that the operation equals, or stands for."""
        record = self._next()
        if record is not None and record.signature == action.signature and not self._is_edit_before_place():
            self.position += 1
            return self._equal(record)
        missed = next((each for each in self._missed if each.signature == action.signature), None)
        if missed is not None:
            self._missed.remove(missed)
            return self._equal(missed)
        if self.position < self.place or self.hypothesis is None or self._in_a_row == IN_A_ROW:
            raise self.stop()
        if record is None and self.turn is not None and self.turn.abort == "engine":
            return self._answer(action)
        self._in_a_row += 1
        if self._first is None:
            self._first = (action, record)
            return self._edit(action, record)
        return self._differ_again(action, record)

    def stop(self) -> ReplayStopped:
        """Follow the code no further: raise what this returns."""
        self.state = "stopping"
        return ReplayStopped()

    @property
    def edited(self) -> Action | None:
        """The operation at which the hypothesis was first needed."""
        return None if self._first is None else self._first[0]

    @property
    def never_made(self) -> int:
        """How many records were guessed to come later and did not."""
        return len(self._missed)

    def _is_edit_before_place(self) -> bool:
        back = self.hypothesis is not None and self.hypothesis.back
        return back and self._first is None and self.position == self.place

    def skip_leftovers(self, turn: RecordedTurn) -> None:
        """At the end of a turn: pass over its records that were not made."""
        left = [record for record in self.records[self.position :] if record.event_id <= turn.events[-1].event_id]
        self.position += len(left)
        if self.hypothesis is not None and self.hypothesis.name == "moved":
            self._missed += left

    def _next(self, ahead: int = 0) -> Record | None:
        index = self.position + ahead
        return self.records[index] if index < len(self.records) else None

    def _equal(self, record: Record) -> Record:
        if self.position > self.place:
            self.equal += 1
            self._in_a_row = 0
            if self.enough is not None and self.equal >= self.enough:
                raise self.stop()
        return record

    def _edit(self, action: Action, record: Record | None) -> Record:
        """Allow for the edit that the hypothesis names."""
        assert self.hypothesis is not None  # noqa: S101 (for the type checker)
        name, skip = self.hypothesis.name, self.hypothesis.skip
        if name == "added":
            return self._answer(action)
        if name == "changed" and record is not None:
            if may_stand_for(action, record):
                return self._stand_for(action, record)
            self.position += 1
            return self._answer(action)
        following = self._next(skip)
        if name in ("removed", "moved") and following is not None:
            exact = following.signature == action.signature
            if exact or likeness(action.signature, following.signature):
                if name == "moved":
                    self._missed += self.records[self.position : self.position + skip]
                self.position += skip
                if not exact:
                    return self._stand_for(action, following)
                self.position += 1
                return self._equal(following)
        raise self.stop()

    def _differ_again(self, action: Action, record: Record | None) -> Record:
        """After the edit: the same line runs once more, or what follows from other values."""
        assert self._first is not None  # noqa: S101 (for the type checker)
        first_action, first_record = self._first
        if record is None and self.hypothesis == Hypothesis("added"):
            return self._answer(action)
        again = first_action.signature == action.signature and (
            first_record is None or record is None or first_record.signature[:2] == record.signature[:2]
        )
        if not again and record is not None and likeness(action.signature, record.signature):
            return self._stand_for(action, record)
        missed = max(self._missed, key=lambda each: likeness(action.signature, each.signature), default=None)
        if missed is not None and likeness(action.signature, missed.signature):
            self._missed.remove(missed)
            self.position -= 1
            return self._stand_for(action, missed)
        if again or first_action.signature[:2] == action.signature[:2]:
            return self._edit(action, record)
        raise self.stop()

    def _stand_for(self, action: Action, record: Record) -> Record:
        self.position += 1
        self.alike += likeness(action.signature, record.signature)
        if action.kind == ev.KV_SET and record.signature[:2] != action.signature[:2]:
            return Record(
                record.event_id, action.signature, self.event(record.event_id, action.kind, **action.fields())
            )
        return record

    def _answer(self, action: Action) -> Record:
        """An operation without a record: it is done at once, with nothing."""
        self._answers += 1
        fields = action.fields()
        fields.pop("delay_ms", None)
        return Record(-self._answers, action.signature, self.event(0, action.kind, **fields))


def likeness(now: Signature, recorded: Signature) -> float:
    """How much an operation is like a record of the same kind and name (or key), from 0 to under 1."""
    if now[:2] != recorded[:2]:
        return 0.0
    pairs = list(zip(now[2:], recorded[2:], strict=True))
    shares = [_common(one or "", other or "") for one, other in pairs]
    return 0.4 + 0.5 * (sum(shares) / len(shares) if shares else 1.0)


def _common(one: str, other: str) -> float:
    """The share of two texts that their beginnings and ends have in common."""
    shorter, longer = sorted((len(one), len(other)))
    if longer == 0:
        return 1.0
    head = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    tail = next((i for i in range(shorter - head) if one[-1 - i] != other[-1 - i]), shorter - head)
    return (head + tail) / longer


def may_stand_for(action: Action, record: Record) -> bool:
    """Whether code that did the one may do the other in its place: both are waited for, or both are done at once."""
    return (action.kind in _AT_ONCE) == (record.event.type in _AT_ONCE)


_AT_ONCE = frozenset({ev.KV_SET, ev.KV_CLEARED, ev.KV_ALL_CLEARED, ev.STATUS_UPDATED, ev.DETACHED_STARTED})


class _Answers(Mailbox):
    """Gives arrivals to the operations that they answered when they were recorded, however early or late these are."""

    def __init__(self, turns: Sequence[RecordedTurn], dialect: Dialect) -> None:
        super().__init__(dialect.rereads_members)
        self._dialect = dialect
        self._answered = answered_operations(turns)
        self._open: dict[int, Leaf] = {}
        self._early: dict[int, ev.Event] = {}
        self._made: list[Leaf] = []

    def expect(self, leaf: Leaf, from_next_batch: bool) -> None:
        """An operation was made; a subscription gets nothing before its turn's batch is over."""
        if from_next_batch or leaf.event_id in self._early:
            self._made.append(leaf)
        else:
            self._open[leaf.event_id] = leaf

    def deliver(self, event: ev.Event) -> None:
        """Give an arrival to its operation, or keep it for one that is still to be made."""
        answered = self._answered.get(event.event_id)
        if answered is None:
            return
        leaf = self._open.pop(answered, None)
        if leaf is None:
            self._early[answered] = event
        elif not leaf.dropped:
            self._settle(leaf, event)

    def bind(self) -> bool:
        """The batch is over: what was made in it gets what is already there."""
        made, self._made = self._made, []
        for leaf in made:
            event = self._early.pop(leaf.event_id, None)
            if event is None:
                self._open[leaf.event_id] = leaf
            elif not leaf.dropped:
                self._settle(leaf, event)
        return bool(made)

    def _settle(self, leaf: Leaf, event: ev.Event) -> None:
        if event.details is not UNSET:
            leaf.settle(True, ev.display_error(event.details))
        elif event.type == ev.TIMER_FIRED:
            leaf.settle(False, None)
        else:
            text = str(event.data if event.result is UNSET else event.result)
            leaf.settle(False, value_for(leaf, text, self._dialect.rereads_members))


class Experiment(Execution):
    """An execution that follows its code as far as the hypothesis allows; nothing in it is a verdict."""

    journal_class = ExperimentJournal
    journal: ExperimentJournal

    def under(
        self, hypothesis: Hypothesis | None, place: int, at_end_of: int | None = None, enough: int | None = None
    ) -> float:
        """Run all turns and return what lines up from the record `place` on.

        `at_end_of` is the turn at whose end records were left over, when that was the difference. The count stops at
        `enough` equal operations.
        """
        journal = self.journal
        journal.hypothesis, journal.place, journal.enough = hypothesis, place, enough
        self.mailbox = self._answers = _Answers(journal.turns, journal.dialect)
        for turn in journal.turns:
            self.advance(turn)
            if turn.number == at_end_of:
                journal.skip_leftovers(turn)
            if journal.state == "stopping" or self.finished is not None:
                break
        worth = journal.equal + journal.alike - journal.never_made
        if journal.all_matched and journal.edited is not None:
            worth += ALL_USED
        if journal.turns and journal.all_matched and journal.state != "stopping":
            last = journal.turns[-1]
            ended = self.finished is not None
            if ended == (last.ending is not None) and compare_ending(self, last) is None:
                worth += SAME_ENDING
        self.close()
        return worth

    def _replay(self, turn: RecordedTurn, being_made: int) -> TurnResult:  # noqa: ARG002 (no turn is being made)
        self.number = turn.number
        self.journal.begin(turn.number, turn, turn.started_ms, turn.events[-1].event_id + 1)
        if turn.abort != "arrival":
            self._run(turn.arrivals)
        return TurnResult(**self.turn_facts(), replayed=True, arrivals=turn.arrivals, status="Running")

    def _deliver(self, event: ev.Event) -> None:
        self._answers.deliver(event)
        self._wake(event)

    def _schedule(self, task: Any, parent: Any, index: int) -> Waiting:
        waiting = super()._schedule(task, parent, index)
        if isinstance(waiting, Retry) and parent is None:
            while not waiting.done and waiting.members[0].done:
                waiting.member_settled(waiting.members[0])
        return waiting

    def _schedule_leaf(self, task: Any, parent: Any, index: int) -> Leaf:
        action, kind = action_of(task, self.journal)
        record = self.journal.match(action)
        leaf = Leaf(task, parent, index, kind, record.event_id)
        if record.event_id < 0:
            leaf.done = True
        else:
            self._answers.expect(leaf, record.event.type in (ev.EVENT_SUBSCRIBED, ev.QUEUE_SUBSCRIBED))
        return leaf


def records_before(turns: Sequence[RecordedTurn], turn: int, operation: int) -> int:
    """How many records stand before an operation of a turn, both counted from 1."""
    return sum(len(each.operations) for each in turns if each.number < turn) + operation - 1
