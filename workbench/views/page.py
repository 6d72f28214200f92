"""The frame of every rendering: one style sheet, a head, and parts beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from workbench.views.markup import Html, element, join
from workbench.views.style import css

Tint = Literal["added", "removed", "changed", ""]
TINTS: dict[str, Tint] = {"+": "added", "−": "removed", "~": "changed", "✗": "removed", "!": "removed"}
"""The tint that goes with a sign."""
ABSENT = "–"
"""What stands where there is no value."""


class Column(NamedTuple):
    """A column of a table: its head, and the classes of its cells; `is_head` makes them the rows' heads."""

    head: str
    css: str = ""
    is_head: bool = False


class TableRow(NamedTuple):
    """A row of a table and its tint."""

    cells: Sequence[str]
    tint: Tint = ""


def rendering(*pieces: str, more_css: str = "") -> str:
    """A whole rendering: the style sheet once, with what these pieces need beyond it, and the pieces in a frame."""
    return f'<div class="workbench">{element("style", Html(css() + more_css))}{join(pieces)}</div>'


def alert(text: str) -> Html:
    """An error that screen readers announce: what a panel shows when a handler failed."""
    return element("div", text, css="alert", role="alert")


def head(name: str, what: str, badge: str = "", badge_css: str = "") -> Html:
    """The head line: a name, what it is in quiet words, and how it stands at the right."""
    return element(
        "div",
        element("span", name, css="name"),
        Html(" "),
        element("span", what, css="quiet break"),
        *([Html(" "), element("span", badge, css=f"badge {badge_css}")] if badge else []),
        css="head",
    )


def row(*parts: str) -> Html:
    """Parts beside each other where there is room, under each other where not."""
    return element("div", *parts, css="row")


def part(*pieces: str, css: str = "") -> Html:
    """One part of a row."""
    return element("div", *pieces, css=f"part {css}".strip())


def title(text: str) -> Html:
    """The title of a part that has no table to caption."""
    return element("p", text, css="title")


def sentence(text: str) -> Html:
    """A sentence below a part."""
    return element("p", text, css="after break")


def table(caption: str, columns: Sequence[Column], rows: Sequence[TableRow], with_head: bool = True) -> Html:
    """A table with a caption; the heads of columns and rows are marked as such, also for screen readers.

    Columns that are empty in every row are left out.
    """
    kept = [at for at in range(len(columns)) if any(each.cells[at] for each in rows)]
    heads = element("tr", *(element("th", columns[at].head, css=columns[at].css, scope="col") for at in kept))
    body = [element("tr", *(_cell(columns[at], each.cells[at]) for at in kept), css=each.tint) for each in rows]
    return element(
        "table",
        *([element("caption", caption)] if caption else []),
        *([element("thead", heads)] if with_head else []),
        element("tbody", *body),
        css="table",
    )


def _cell(column: Column, cell: str) -> Html:
    if column.is_head:
        return element("th", cell, css=column.css, scope="row")
    return element("td", cell, css=column.css)


def remarks(labelled: Sequence[tuple[str, Sequence[str]]]) -> Html:
    """Labelled sentences, each label a row's head."""
    if not labelled:
        return Html()
    columns = [Column("", "label", is_head=True), Column("", "break")]
    rows = [TableRow((label, join(sentences, between=Html("<br>")))) for label, sentences in labelled]
    return row(part(table("", columns, rows, with_head=False)))


def before_and_after(before: str, after: str) -> Html:
    """An old value struck through, an arrow, the new value; a value that was not there before stands alone."""
    if not before:
        return element("ins", after)
    now = element("ins", after) if after else ABSENT
    return join((element("del", before), " → ", now))
