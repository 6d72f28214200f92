"""Recorded events, one row each: turn, event id, kind, and what it says; no times, no writer's version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.recordings.recording import Recording
from workbench.runtime.events import Event
from workbench.runtime.turn import Turn
from workbench.views import layout, page, words
from workbench.views.markup import Html, focusable

if TYPE_CHECKING:
    import pandas as pd


MOST_ROWS = 500


class EventRow(NamedTuple):
    """An event in words, with the turn that wrote it."""

    execution_id: int
    turn: int
    event_id: int
    kind: str
    what: str
    answers: int | None

    @property
    def address(self) -> str:
        """The turn's address."""
        return f"{self.execution_id}.{self.turn}"


def event_rows(of: Recording | Sequence[Turn]) -> list[EventRow]:
    """The events of a recording, or of turns, in order."""
    rows: list[EventRow] = []
    seen: dict[int, Event] = {}
    execution = 0
    for execution_id, turn, event in _events(of):
        if execution_id != execution:
            execution, seen = execution_id, {}
        seen[event.event_id] = event
        what = words.event_in_words(event, seen)
        rows.append(EventRow(execution_id, turn, event.event_id, words.shown(event.type), what, event.source_event_id))
    return rows


def line(of: Recording | Sequence[Turn]) -> str:
    """How many events there are."""
    return words.counted(len(event_rows(of)), "event")


def text(of: Recording | Sequence[Turn]) -> str:
    """The events as aligned text; the turn stands only where it begins."""
    rows = event_rows(of)
    if not rows:
        return "no events"
    lines = [
        (row.address if first else "", str(row.event_id), row.kind, row.what)
        for row, first in zip(rows, _first_of_turn(rows), strict=True)
    ]
    return "\n".join(layout.table([("turn", "event", "kind", "what"), *lines], right=(1,)))


def html(of: Recording | Sequence[Turn]) -> str:
    """The events as a table; the newest of very many."""
    return page.rendering(page.row(history_part(of)))


def history_part(of: Recording | Sequence[Turn]) -> Html:
    """The events as a table, for a page that has the style already."""
    rows = event_rows(of)
    if not rows:
        return page.part(page.sentence("No events."))
    columns = (
        page.Column("turn", "mono fit"),
        page.Column("event", "right fit", is_head=True),
        page.Column("kind", "fit"),
        page.Column("what", "mono"),
    )
    kept = rows[-MOST_ROWS:]
    made = [
        page.TableRow(
            (
                focusable(row.address, row.address, f"turn {row.address}") if first else "",
                str(row.event_id),
                row.kind,
                row.what,
            )
        )
        for row, first in zip(kept, _first_of_turn(kept), strict=True)
    ]
    hidden = len(rows) - len(kept)
    more = [page.sentence(f"the last {len(kept):,} of {len(rows):,} events are shown")] if hidden else []
    return page.part(page.table("Events", columns, made), *more)


def _first_of_turn(rows: Sequence[EventRow]) -> list[bool]:
    return [at == 0 or rows[at - 1].address != row.address for at, row in enumerate(rows)]


def frame(of: Recording | Sequence[Turn]) -> pd.DataFrame:
    """A row an event; `answers` is the event id that an outcome answers."""
    import pandas as pd

    table = pd.DataFrame(event_rows(of), columns=["execution", "turn", "event", "kind", "what", "answers"])
    table["answers"] = table["answers"].astype("Int64")
    return table


def _events(of: Recording | Sequence[Turn]) -> Iterable[tuple[int, int, Event]]:
    if isinstance(of, Recording):
        for execution in of.executions:
            for turn, event in zip(execution.history.turns, execution.history.events, strict=True):
                yield execution.execution_id, turn, event
    else:
        for each in of:
            for event in each.events:
                yield each.execution_id, each.number, event
