"""The operations of a turn: as aligned text, and counted in words."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from workbench.runtime.lines import Line, user_line
from workbench.runtime.turn import Operation, Turn
from workbench.views import layout, words
from workbench.views.provenance import provenance

SIGNS = {"replayed": "=", "new": "+", "diverged": "✗", "refused": "−", "read": "", "recorded": ""}
STATES = {
    "replayed": "as recorded",
    "new": "new",
    "diverged": "not as recorded",
    "refused": "refused by a limit",
    "recorded": "",
}


class OperationRow(NamedTuple):
    """One row of the table: everything in words, and the address that a click moves the focus to."""

    operation: Operation
    sign: str
    what: str
    note: str
    event: str
    place: str
    address: str | None


def operation_rows(turn: Turn) -> list[OperationRow]:
    """The operations and reads that this turn itself made, in order."""
    function = main_function(turn)
    return [_row(turn, operation, function) for operation in turn.operations]


def replayed_rows(turn: Turn) -> list[OperationRow]:
    """The operations and reads of earlier turns that were made again on the way to this one."""
    function = main_function(turn)
    return [_row(turn, operation, function) for operation in turn.replayed]


def main_function(turn: Turn) -> Line | None:
    """The function that most places are in, so that its name need not stand at each."""
    lines = [user_line(each.chain) for each in turn.operations]
    found = Counter((line.file, line.first_line) for line in lines if line is not None)
    if not found:
        return None
    most = found.most_common(1)[0][0]
    return next(line for line in lines if line is not None and (line.file, line.first_line) == most)


def operation_lines(turn: Turn) -> list[str]:
    """The turn's operations as aligned text: sign, event, what, note, line."""
    rows = operation_rows(turn)
    return layout.table([(row.sign, row.event, row.what, row.note, row.place) for row in rows], right=(1,))


def operations_in_words(turn: Turn) -> str:
    """How many operations the turn made: `2 new operations`, `2 operations as recorded`."""
    states = Counter(each.state for each in turn.operations if each.number is not None and each.state != "diverged")
    words_of = {"new": "{} new {}", "replayed": "{} {} as recorded", "refused": "{} {} refused", "recorded": "{} {}"}
    return ", ".join(
        pattern.format(states[state], "operation" if states[state] == 1 else "operations")  # type: ignore[index]
        for state, pattern in words_of.items()
        if state in states
    )


def replayed_in_words(turn: Turn) -> str:
    """How much was made again on the way: `4 operations of turns 1 to 2`."""
    operations = [each for each in turn.replayed if each.number is not None]
    turns = sorted({each.turn for each in turn.replayed})
    span = f"turn {turns[0]}" if len(turns) == 1 else f"turns {turns[0]} to {turns[-1]}"
    return f"{words.counted(len(operations), 'operation')} of {span}, as recorded"


def waiting_in_words(turn: Turn) -> list[str]:
    """What the parked code waits for, and where it stands."""
    if not turn.waiting_for:
        return []
    where = words.chain_in_words(turn.parked)
    return [f"{words.listed(map(words.sentence, turn.waiting_for), 8)}{f' · {where}' if where else ''}"]


def _row(turn: Turn, operation: Operation, function: Line | None) -> OperationRow:
    read = operation.read
    poisoned = read is not None and read.poisoned
    address = None if operation.number is None else f"{turn.execution_id}.{operation.turn}.{operation.number}"
    return OperationRow(
        operation,
        "!" if poisoned else SIGNS[operation.state],
        words.operation_in_words(operation),
        STATES.get(operation.state, "") if read is None else provenance(read),
        "" if operation.event_id is None else str(operation.event_id),
        words.place_in(operation.chain, function),
        address,
    )
