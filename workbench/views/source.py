"""A source of recordings: its instances, one row each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.recordings.sources.source import InstanceRow, Source
from workbench.runtime.errors import StoreError
from workbench.views import layout, page, words

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 500


def line(source: Source) -> str:
    """`prod.db: duroxide SQLite, 3 instances`."""
    try:
        return _line(source, source.listing())
    except StoreError:
        return f"{words.shown(source.name)}: {source.kind}, not readable now"


def text(source: Source) -> str:
    """The line, and the instances as aligned text."""
    listing = source.listing()
    warnings = [f"  ! {words.sentence(each)}" for each in source.warnings]
    if not listing:
        return "\n".join([_line(source, listing), *warnings])
    table = layout.table([HEAD, *map(instance_row, listing[:MOST_ROWS])], right=(3, 4))
    return "\n".join([_line(source, listing), *(f"  {each}" for each in table), *left_out(len(listing)), *warnings])


def html(source: Source) -> str:
    """The instances as a table."""
    listing = source.listing()
    name, _, what = _line(source, listing).partition(": ")
    css = ("mono", "mono", "fit", "right fit", "right fit", "mono")
    columns = [page.Column(head, each, is_head=at == 0) for at, (head, each) in enumerate(zip(HEAD, css, strict=True))]
    rows = [page.TableRow(instance_row(each)) for each in listing[:MOST_ROWS]]
    said = [
        *(each.strip() for each in left_out(len(listing))),
        *(f"! {words.sentence(each)}" for each in source.warnings),
    ]
    more = [page.sentence(each) for each in said]
    return page.rendering(page.head(name, what), page.row(page.part(page.table("Instances", columns, rows), *more)))


HEAD = ("instance", "orchestration", "version", "executions", "events", "status")


def instance_row(row: InstanceRow) -> tuple[str, str, str, str, str, str]:
    """An instance in words."""
    return (
        words.shown(row.instance_id),
        words.shown(row.orchestration),
        words.shown(row.version),
        f"{row.executions:,}",
        f"{row.events:,}",
        words.outcome_in_words(row.status or "unknown", row.output),
    )


def left_out(count: int) -> list[str]:
    """What is said when not all rows are shown."""
    return [f"  {MOST_ROWS:,} of {count:,} instances shown"] if count > MOST_ROWS else []


def frame(source: Source) -> pd.DataFrame:
    """A row an instance."""
    return source.instances


def _line(source: Source, listing: list[InstanceRow]) -> str:
    return f"{words.shown(source.name)}: {source.kind}, {words.counted(len(listing), 'instance')}"
