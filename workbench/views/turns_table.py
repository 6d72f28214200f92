"""Many turns, one row each: what woke it, what it did, which keys it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.runtime.turn import Turn
from workbench.views import changes, layout, page, words
from workbench.views.arrivals import woken_in_words
from workbench.views.differences import outcome_difference_in_words
from workbench.views.markup import Html, focusable
from workbench.views.operations import operations_in_words

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS = 500
ROOM = 120 - layout.LABEL
"""Columns that a row may take behind the label; a table is read across, so it may be wider than sentences."""


class TurnRow(NamedTuple):
    """A turn in words."""

    sign: str
    address: str
    woken: str
    operations: str
    keys: str
    status: str


def turn_rows(turns: Sequence[Turn]) -> list[TurnRow]:
    """A row a turn."""
    live = any(each.state == "new" for turn in turns for each in turn.operations)
    return [
        TurnRow(
            _sign(turn, live),
            turn.address,
            woken_in_words(turn).removeprefix("woken by ").removeprefix("begins with "),
            operations_in_words(turn),
            "" if turn.divergence is not None else changes.changes_in_words(turn),
            _status(turn),
        )
        for turn in turns
    ]


def turn_lines(turns: Sequence[Turn]) -> list[str]:
    """The rows as aligned text with their heads; where a row is too wide, keys and status stand below it in each."""
    if not turns:
        return ["no turns"]
    rows = [TurnRow("", "turn", woken_head(turns), "operations", "keys", "status"), *turn_rows(turns)]
    lines = layout.table(rows)
    if max(map(layout.width, lines)) <= ROOM:
        return lines
    narrow = layout.table([row[:4] for row in rows])
    indent = " " * narrow[0].index(rows[0].woken)
    return [line for row, first in zip(rows, narrow, strict=True) for line in (first, *_below(row, indent))]


def _below(row: TurnRow, indent: str) -> list[str]:
    """Which keys the turn changed and how it ended, in lines of their own."""
    told = " · ".join(part for part in (row.keys, row.status) if part)
    return layout.wrapped(told, ROOM, indent, indent + "  ")


def turns_section(turns: Sequence[Turn]) -> Html:
    """The turns as a table; each address moves the focus to its turn."""
    columns = (
        page.Column("", "sign"),
        page.Column("turn", "mono", is_head=True),
        page.Column(woken_head(turns)),
        page.Column("operations"),
        page.Column("keys", "mono"),
        page.Column("status", "break"),
    )
    shown = turns[-MOST_ROWS:]
    rows = []
    for each in turn_rows(shown):
        address = focusable(each.address, each.address, f"turn {each.address}")
        tint = "" if each.sign == "+" else page.TINTS.get(each.sign, "")
        rows.append(page.TableRow((each.sign, address, *each[2:]), tint))
    hidden = len(turns) - len(shown)
    more = [page.sentence(f"the last {len(shown):,} of {len(turns):,} turns are shown")] if hidden else []
    return page.part(page.table("Turns", columns, rows), *more) if turns else page.part(page.sentence("No turns."))


def woken_head(turns: Sequence[Turn]) -> str:
    """The head of the column: without code it is not known what woke a turn, only what it begins with."""
    return "woken by" if any(turn.has_code for turn in turns) else "begins with"


def turns_frame(turns: Sequence[Turn]) -> pd.DataFrame:
    """The turns as a table: what woke each, how many operations, which keys changed, how full the store is."""
    import pandas as pd

    columns = ["turn", "woken_by", "operations", "changed_keys", "keys", "largest_value_bytes", "status"]
    rows = [
        (
            turn.address,
            woken_in_words(turn).removeprefix("woken by "),
            sum(each.number is not None for each in turn.operations),
            list(turn.changed_keys) if turn.divergence is None else [],
            changes.key_count(turn),
            changes.largest_value_bytes(turn),
            "Diverged" if turn.divergence is not None else "Did not come back" if turn.stopped else turn.status,
        )
        for turn in turns
    ]
    return pd.DataFrame(rows, columns=columns)


def _status(turn: Turn) -> str:
    if turn.divergence is not None:
        return "diverged"
    if turn.stopped is not None:
        return "did not come back"
    if turn.outcome_difference is not None:
        return outcome_difference_in_words(turn.outcome_difference)
    return "" if turn.status == "Running" else words.outcome_in_words(turn.status, turn.output)


def _sign(turn: Turn, live: bool) -> str:
    if turn.divergence is not None or turn.stopped is not None or turn.outcome_difference is not None:
        return "✗"
    if turn.refused is not None:
        return "−"
    return "" if not turn.has_code else "+" if live else "="
