"""Plain text in columns: labelled rows that wrap under themselves, and aligned tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from workbench.views.characters import columns_of

WIDTH = 100
LABEL = 12
"""Columns before a row's text: two blanks and the label."""


def labelled(label: str, text: str) -> list[str]:
    """A row such as `  because   line 3 read …`, wrapped with its later lines under the text."""
    return wrapped(text, WIDTH, f"  {label:<{LABEL - 2}}", " " * LABEL) or [f"  {label}"]


def wrapped(text: str, width: int, first: str, later: str) -> list[str]:
    """A text in lines of at most `width` columns, broken at blanks only; `first` and `later` stand before them."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=later,
        replace_whitespace=False,
        expand_tabs=False,
        break_long_words=False,
        break_on_hyphens=False,
    )


def sentences(rows: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Labelled rows of one or more sentences; the label stands before the first."""
    lines: list[str] = []
    for label, several in rows:
        for position, each in enumerate(several):
            lines += labelled(label if position == 0 else "", each)
    return lines


def labelled_lines(label: str, lines: Iterable[str]) -> list[str]:
    """Lines that stand under each other behind one label, as they are."""
    return [f"  {label if position == 0 else '':<{LABEL - 2}}{line}".rstrip() for position, line in enumerate(lines)]


def table(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Rows with their columns aligned, two blanks apart; columns named in `right` are flush right.

    Columns that are empty in every row are left out.
    """
    flush_right = set(right)
    kept = [column for column in range(max(map(len, rows), default=0)) if any(row[column] for row in rows)]
    widths = {column: max(width(row[column]) for row in rows) for column in kept}
    lines = []
    for row in rows:
        cells = []
        for column in kept:
            blanks = " " * (widths[column] - width(row[column]))
            cells.append(blanks + row[column] if column in flush_right else row[column] + blanks)
        lines.append("  ".join(cells).rstrip())
    return lines


def width(text: str) -> int:
    """The columns that a text takes in a fixed-width font."""
    return len(text) if text.isascii() else sum(map(columns_of, text))
