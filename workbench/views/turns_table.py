"""Many turns, one row each: what woke it, what it did, which keys it changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.runtime.turn import Turn
from workbench.views import changes, layout, words
from workbench.views import turn as turn_view
from workbench.views.operations import operations_in_words

if TYPE_CHECKING:
    import pandas as pd


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
    return [
        TurnRow(
            _sign(turn),
            turn.address,
            turn_view.woken_in_words(turn).removeprefix("woken by ").removeprefix("begins with "),
            operations_in_words(turn),
            changes.changes_in_words(turn),
            "" if turn.status == "Running" else words.outcome_in_words(turn.status, turn.output),
        )
        for turn in turns
    ]


def turn_lines(turns: Sequence[Turn]) -> list[str]:
    """The rows as aligned text with their heads."""
    if not turns:
        return ["no turns"]
    head = ("", "turn", woken_head(turns), "operations", "keys", "status")
    return layout.table([head, *turn_rows(turns)])


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
            turn_view.woken_in_words(turn).removeprefix("woken by "),
            len(turn_view.made_here(turn)),
            list(turn.changed_keys) if turn.divergence is None else [],
            changes.key_count(turn),
            changes.largest_value_bytes(turn),
            "Diverged" if turn.divergence is not None else turn.status,
        )
        for turn in turns
    ]
    return pd.DataFrame(rows, columns=columns)


def _sign(turn: Turn) -> str:
    if turn.divergence is not None:
        return "✗"
    if turn.refused is not None:
        return "−"
    states = {each.state for each in turn.operations if each.number is not None}
    if "new" in states or not turn.has_code:
        return "+" if "new" in states else ""
    return "="
