"""Whether a turn makes the recorded operations in another order, as code does that iterates over a set.

The code is run again and each operation takes whichever record of its turn it equals. When all of them find one and
none is left, the two sides are permutations of each other. It is iteration, and not two statements that changed
places, when one line made several of the operations that stand elsewhere now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from workbench.runtime import events as ev
from workbench.runtime.actions import Action
from workbench.runtime.errors import ReplayStopped
from workbench.runtime.trace import TracedExecution, TracedJournal, TracedOperation
from workbench.runtime.turns import Record, RecordedTurn


class AnyOrderJournal(TracedJournal):
    """Matches an operation with any record of its turn that it equals."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.left: list[Record] = []

    def begin(self, number: int, turn: RecordedTurn | None, now_ms: int, next_event_id: int) -> None:
        """Open a turn: all its records are left."""
        super().begin(number, turn, now_ms, next_event_id)
        self.left = [] if turn is None else list(turn.operations)

    def match(self, action: Action) -> Record:
        """The first record left that the operation equals; without one the code is followed no further."""
        record = next((each for each in self.left if each.signature == action.signature), None)
        if record is None:
            self.state = "stopping"
            raise ReplayStopped
        self.left.remove(record)
        self.cursor += 1
        self.steps.append(TracedOperation(action, record, "replayed", self.chain()))
        return record


class AnyOrder(TracedExecution):
    """An execution in which the order of the operations within a turn does not count."""

    journal_class = AnyOrderJournal
    journal: AnyOrderJournal


def is_iteration(execution: AnyOrder, turns: Sequence[RecordedTurn], number: int) -> bool:
    """Whether turn `number` is a permutation of its record that one line makes; `execution` is closed afterwards."""
    journal = execution.journal
    for turn in turns:
        execution.advance(turn)
        if turn.number == number or journal.state == "stopping" or execution.diverged:
            break
    whole = journal.state != "stopping" and not journal.left and execution.number == number
    made = [step for step in journal.steps if isinstance(step, TracedOperation) and step.record is not None]
    execution.close()
    return whole and max(Counter(_sorts(made)).values(), default=0) > 1


def _sorts(made: list[TracedOperation]) -> list[object]:
    """Of what stands elsewhere now: its line, kind, and name (a write is to another key each time)."""
    recorded = sorted(step.record.event_id for step in made if step.record is not None)
    found: list[object] = []
    for step, event_id in zip(made, recorded, strict=True):
        if step.record is not None and step.record.event_id != event_id:
            name = step.action.signature[1:2] if step.action.kind in ev.SCHEDULES else ()
            found.append((step.chain, step.action.kind, name))
    return found
