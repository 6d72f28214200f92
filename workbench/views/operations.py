"""The operations of a turn: aligned text, a table in HTML, a DataFrame, and counted in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain as chained
from typing import TYPE_CHECKING, Final, NamedTuple

from workbench.runtime import events as ev
from workbench.runtime.divergence import Divergence, Read
from workbench.runtime.lines import Line, describe_line, user_line
from workbench.runtime.operations_before import counts_of
from workbench.runtime.turn import Operation, Turn
from workbench.views import layout, page, words
from workbench.views.arrivals import woken_in_words
from workbench.views.differences import recorded_in_words
from workbench.views.markup import Html, element, focusable, join, key_address

if TYPE_CHECKING:
    import pandas as pd

SIGNS: Final = {"replayed": "=", "new": "+", "diverged": "✗", "refused": "−", "read": "", "recorded": ""}
NOTES: Final = {"replayed": "as recorded", "new": "new", "refused": "refused by a limit"}
MOST_ROWS = 500
"""Rows of a table; more are counted, not shown."""
MOST_REPLAYED = 24
"""Rows of the fold; before the turn that is looked at there may be thousands."""

_COLUMNS = (
    page.Column("", "sign"),
    page.Column("operation", "mono half", is_head=True),
    page.Column("", "quiet note"),
    page.Column("event", "right"),
    page.Column("line", "right"),
)


class OperationRow(NamedTuple):
    """One row in words. `old` and `new` are set where a recorded value is another one now; `what` then leads to them.

    `address` is what a click moves the focus to: the operation, or the key that was read.
    """

    sign: str
    what: str
    note: str
    event: str
    place: str
    address: str | None = None
    old: str = ""
    new: str = ""

    @property
    def in_words(self) -> str:
        """The operation on one line."""
        return f"{self.what}{self.old} → {self.new}" if self.new else self.what


def operation_rows(turn: Turn) -> list[OperationRow]:
    """The operations and reads that this turn itself made, in order, and what it no longer made."""
    function = main_function(turn)
    rows = [_row(turn, operation, function) for operation in turn.operations]
    divergence = turn.divergence
    if divergence is not None and not any(each.state == "diverged" for each in turn.operations):
        rows += _missing(divergence, function)
    return rows


def main_function(turn: Turn) -> Line | None:
    """The orchestration's own function, whose name need not stand at each place."""
    chain = next((each.chain for each in chained(turn.operations, turn.replayed) if each.chain), turn.parked)
    return words.user_chain(chain)[-1] if chain else None


def operation_lines(turn: Turn) -> list[str]:
    """The turn's operations as aligned text: sign, event, what, note, line."""
    rows = operation_rows(turn)
    lines = layout.table(
        [(row.sign, row.event, row.in_words, row.note, row.place) for row in rows[:MOST_ROWS]], right=(1,)
    )
    return [*lines, *_left_out(len(rows), MOST_ROWS)]


def address_of(turn: Turn, operation: Operation) -> str | None:
    """The address of an operation that this turn made or made again: `1.2.1`; a read has none."""
    if operation.state == "diverged" and turn.divergence is not None:
        return turn.divergence.address
    return None if operation.number is None else f"{turn.execution_id}.{operation.turn}.{operation.number}"


def operation_addresses(turn: Turn) -> list[str]:
    """The addresses of the turn's own operations, in order; of a diverged turn the last one is where it did."""
    found = [address for each in turn.operations if (address := address_of(turn, each)) is not None]
    missing = turn.divergence is not None and turn.divergence.address not in found
    return [*found, turn.divergence.address] if missing and turn.divergence is not None else found


def operation_at(turn: Turn, address: str) -> Operation | None:
    """The turn's own operation with this address, or None."""
    return next((each for each in turn.operations if address and address_of(turn, each) == address), None)


class Beside(NamedTuple):
    """What else is told around a turn's operations: behind the title, and beside operations by their event's id."""

    title: Html = Html()
    notes: Mapping[str, Html] = {}


NOTHING_BESIDE: Final = Beside()


def operations_part(turn: Turn, focus: str = "", key: str | None = None, beside: Beside = NOTHING_BESIDE) -> Html:
    """The turn's operations as a table, those replayed on the way to it folded below.

    `focus` is the address of the operation that is looked at, `key` the key.
    """
    rows = operation_rows(turn)
    looked_at = frozenset({focus} if key is None else {focus, key_address(key)})
    title = ", ".join(
        part for part in (f"Turn {turn.number} · {woken_in_words(turn)}", operations_in_words(turn)) if part
    )
    caption = join([title, beside.title])
    shown = [_table_row(row, looked_at, beside.notes.get(row.event)) for row in rows[:MOST_ROWS]]
    pieces = [page.table(caption, _COLUMNS, shown)]
    if not rows:
        pieces = [page.title(caption), page.sentence("No operation in this turn.")]
    pieces += [page.sentence(each) for each in _left_out(len(rows), MOST_ROWS)]
    return page.part(*pieces, *_folded(turn))


def replayed_table(turn: Turn, number: int, key: str | None = None) -> Html:
    """What this turn made again of turn `number` on its way; `key` is the key that is looked at."""
    function = main_function(turn)
    looked_at = frozenset() if key is None else frozenset({key_address(key)})
    again = [each for each in turn.replayed if each.turn == number][:MOST_ROWS]
    rows = [_table_row(_row(turn, each, function), looked_at) for each in again]
    return page.table(f"Turn {turn.number}, replaying turn {number}", _COLUMNS, rows)


def _folded(turn: Turn) -> Iterator[Html]:
    if not turn.replayed:
        return
    function = main_function(turn)
    rows = [_table_row(_row(turn, each, function)) for each in turn.replayed[-MOST_REPLAYED:]]
    hidden = len(turn.replayed) - len(rows)
    before = [page.sentence(f"… {words.counted(hidden, 'step')} before these")] if hidden else []
    summary = element("summary", f"replayed before: {replayed_in_words(turn)}")
    yield element("details", summary, *before, page.table("", _COLUMNS, rows))


def operations_in_words(turn: Turn) -> str:
    """How many operations the turn made: `2 new operations`, `2 operations as recorded`."""
    states = Counter(each.state for each in turn.operations if each.number is not None)
    counted: list[tuple[int, str, str]] = [
        (states["new"], "new ", ""),
        (states["replayed"], "", " as recorded"),
        (states["refused"], "", " refused"),
        (states["recorded"], "", ""),
    ]
    return ", ".join(
        f"{count:,} {before}{'operation' if count == 1 else 'operations'}{after}"
        for count, before, after in counted
        if count
    )


def replayed_in_words(turn: Turn) -> str:
    """How much was made again on the way: `4 operations of turns 1 to 2, as recorded`."""
    count = counts_of(turn.replayed).numbered
    first, last = turn.replayed[0].turn, turn.replayed[-1].turn
    span = f"turn {first}" if first == last else f"turns {first} to {last}"
    return f"{words.counted(count, 'operation')} of {span}, as recorded"


def waiting_in_words(turn: Turn) -> str:
    """What the parked code waits for; empty when it waits for nothing."""
    return words.listed(map(words.sentence, turn.waiting_for), 8)


def provenance(read: Read) -> str:
    """Where a read's value came from: `from the snapshot`, `set in turn 2, event 5`, `never set`; and if poisoned."""
    if read.origin in ("snapshot", "never set"):
        if not read.poisoned:
            return "from the snapshot" if read.origin == "snapshot" else "never set"
        source = "from the snapshot" if read.origin == "snapshot" else "not in the snapshot"
        return f"{source}: poisoned{'' if read.written_by is None else f' by event {read.written_by}'}"
    turn = "" if read.turn is None else f" in turn {read.turn}"
    event = "" if read.event_id is None else f", event {read.event_id}"
    return f"{read.origin}{turn}{event}"


def operations_frame(turn: Turn) -> pd.DataFrame:
    """A row an operation or read: number (none for a read), event, state, what, value's origin, place."""
    import pandas as pd

    rows = [
        {
            "number": each.number,
            "event": each.event_id,
            "state": each.state,
            "operation": words.operation_in_words(each),
            "origin": None if each.read is None else each.read.origin,
            "poisoned": each.read is not None and each.read.poisoned,
            "place": None if (line := user_line(each.chain)) is None else describe_line(line),
        }
        for each in turn.operations
    ]
    columns = ["number", "event", "state", "operation", "origin", "poisoned", "place"]
    return pd.DataFrame(rows, columns=columns).astype({"number": "Int64", "event": "Int64"})


def _row(turn: Turn, operation: Operation, function: Line | None) -> OperationRow:
    read, divergence = operation.read, turn.divergence
    row = OperationRow(
        "!" if read is not None and read.poisoned else SIGNS[operation.state],
        words.operation_in_words(operation),
        NOTES.get(operation.state, "") if read is None else provenance(read),
        "" if operation.event_id is None else str(operation.event_id),
        words.place_in(operation.chain, function),
        address_of(turn, operation) if read is None else key_address(read.key),
    )
    if operation.state != "diverged" or divergence is None:
        return row
    recorded, now = divergence.recorded, operation.signature
    event = "" if recorded is None or divergence.kind in ("added", "moved") else str(recorded.event_id)
    row = row._replace(event=event)
    if recorded is not None and now is not None and now[:2] == (ev.KV_SET, recorded.key) and recorded.type == ev.KV_SET:
        old, new = (f'"{words.shown(str(value))}"' for value in (recorded.value, now[2]))
        return row._replace(what=f"set {words.shown(str(now[1]))} = ", note="recorded → now", old=old, new=new)
    return row._replace(note=f"recorded: {recorded_in_words(divergence)}")


def _missing(divergence: Divergence, function: Line | None) -> list[OperationRow]:
    """The recorded operation that the code did not come to."""
    event = divergence.recorded
    if event is None or event.type not in ev.OPERATIONS:
        return []
    place = words.place_in(divergence.chain, function)
    what = words.event_in_words(event, {})
    return [OperationRow("✗", what, "recorded, not made now", str(event.event_id), place, divergence.address)]


def _table_row(row: OperationRow, looked_at: frozenset[str] = frozenset(), beside: Html | None = None) -> page.TableRow:
    what: Sequence[str] = [row.what]
    if row.new:
        what = [row.what, page.before_and_after(row.old, row.new)]
    cell = join(what) if row.address is None else focusable(join(what), row.address, current=row.address in looked_at)
    tint = page.TINTS.get(row.sign, "")
    note = join([each for each in (row.note, beside) if each], between=" · ")
    return page.TableRow((row.sign, cell, note, row.event, _number(row.place)), tint)


def _number(place: str) -> str:
    """The number alone of a place in the orchestration's own function, which stands beside it: of `flow.py:37` 37."""
    return place if ", " in place else place.removeprefix("line ").rpartition(":")[2]


def _left_out(count: int, most: int) -> list[str]:
    return [f"{most:,} of {count:,} steps shown"] if count > most else []
