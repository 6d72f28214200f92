"""A table in which every cell can be gone to: the arrow keys of a live panel move in it as in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.views.markup import Html, element, escape


class Cell(NamedTuple):
    """A cell's text, the address that it moves the focus to, its classes, and what stands in its title."""

    text: str
    address: str = ""
    css: str = ""
    whole: str | None = None


def grid(
    caption: str,
    heads: Sequence[Cell],
    rows: Sequence[Sequence[Cell]],
    current: frozenset[str] = frozenset(),
    is_live: bool = True,
) -> Html:
    """The grid; the first cell of a row is its head. Tab reaches one cell of it, the arrow keys all others.

    Without a panel around it, it is a plain table in a box that the keyboard can scroll.
    """

    def written(tag: str, cell: Cell, scope: str | None = None) -> Html:
        """By hand rather than by `element`: a page has thousands of cells."""
        attributes = f' scope="{scope}"' if scope else ""
        if cell.css:
            attributes += f' class="workbench-{cell.css}"'
        if cell.whole is not None:
            attributes += f' title="{escape(cell.whole)}"'
        if cell.address:
            attributes += ' tabindex="-1"' if is_live else ""
            attributes += f' data-focus="{escape(cell.address)}"'
            attributes += ' aria-current="true"' if cell.address in current else ""
        return Html(f"<{tag}{attributes}>{escape(cell.text)}</{tag}>")

    body = [
        element("tr", written("th", first, "row"), *(written("td", each) for each in others)) for first, *others in rows
    ]
    table = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *(written("th", cell, "col") for cell in heads))),
        element("tbody", Html("".join(body))),
        css="table grid",
        role="grid" if is_live else None,
    )
    if is_live:
        return element("div", table, css="scroll")
    return element("div", table, css="scroll", role="region", tabindex="0", aria_label=caption)


def css() -> str:
    """The style of grids and limits, beside that of every rendering."""
    return _RULES


_RULES = """\
.workbench .workbench-scroll{max-height:30em;overflow:auto;border:1px solid var(--workbench-line);border-radius:4px}
.workbench.workbench .workbench-grid{width:auto;min-width:40%}
.workbench.workbench .workbench-grid caption{padding:5px 10px}
.workbench.workbench .workbench-grid :is(th,td){white-space:pre;padding:2px 12px 2px 8px;
font-family:var(--workbench-mono);border-left:3px solid transparent}
.workbench.workbench .workbench-grid thead th{position:sticky;top:0;z-index:2;background:var(--workbench-ground);
white-space:pre;padding-left:calc(8px + 2ch);box-shadow:0 1px 0 var(--workbench-line);border-bottom:0}
.workbench.workbench .workbench-grid thead th:first-child{left:0;z-index:3;padding-left:8px}
.workbench.workbench .workbench-grid tbody th{position:sticky;left:0;z-index:1;background:var(--workbench-ground)}
.workbench.workbench .workbench-grid td.workbench-added{background:var(--workbench-added-tint);
border-left-color:var(--workbench-added)}
.workbench.workbench .workbench-grid td.workbench-removed{background:var(--workbench-removed-tint);
border-left-color:var(--workbench-removed)}
.workbench.workbench .workbench-grid td.workbench-changed{background:var(--workbench-changed-tint);
border-left-color:var(--workbench-changed)}
.workbench.workbench .workbench-grid :is(th,td)[aria-current]{box-shadow:inset 0 0 0 2px var(--workbench-added);
font-weight:700}
.workbench .workbench-grid :is(th,td):focus-visible{outline:2px solid var(--workbench-text);outline-offset:-3px}
.workbench-live .workbench-grid [data-focus]{cursor:pointer}
.workbench-extra .workbench-part:has(>.workbench-scroll){padding-top:0}
.workbench .workbench-verdict{margin:0 0 6px;font-weight:600}
.workbench .workbench-verdict-bad{padding:3px 10px;border-left:4px solid var(--workbench-removed);
background:var(--workbench-removed-tint)}
.workbench.workbench .workbench-table .workbench-gauge{width:16%;min-width:7em}
.workbench.workbench .workbench-table tr:is(.workbench-added,.workbench-removed,.workbench-changed)>.workbench-label{
color:var(--workbench-text)}
.workbench .workbench-legend{margin:6px 0 0;font-size:12px}
"""
