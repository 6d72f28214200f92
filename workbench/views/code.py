"""The code of an orchestration: an excerpt around a line, and the whole function with its current line marked."""

from __future__ import annotations

from typing import NamedTuple

from workbench.runtime.lines import Line, function_source
from workbench.views import words

LONGEST_SOURCE_LINE = 84


class ExcerptLine(NamedTuple):
    """A line of source with the number it is shown under."""

    number: int
    text: str
    current: bool = False


def function_lines(line: Line) -> list[ExcerptLine]:
    """The function that a place is in, from its `def`, without the indentation of the `def`.

    Empty when the source is not to be had.
    """
    source = function_source(line)
    if not source or line.line - line.first_line >= len(source):
        return []
    indent = len(source[0]) - len(source[0].lstrip())
    first = words.line_number(line) - (line.line - line.first_line)
    return [
        ExcerptLine(first + offset, _dedented(text, indent), line.first_line + offset == line.line)
        for offset, text in enumerate(source)
    ]


def excerpt(line: Line, around: int = 1) -> list[ExcerptLine]:
    """A line of a function with `around` lines above and below it."""
    lines = function_lines(line)
    current = next((position for position, each in enumerate(lines) if each.current), 0)
    return lines[max(0, current - around) : current + around + 1]


def _dedented(text: str, indent: int) -> str:
    text = text.expandtabs(4)
    text = text[indent:] if not text[:indent].strip() else text.lstrip()
    if len(text) > LONGEST_SOURCE_LINE:
        text = text[: LONGEST_SOURCE_LINE - 1] + "…"
    return words.visible(text).rstrip()
