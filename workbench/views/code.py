"""The code of an orchestration: an excerpt around a line, and the whole function with its current line marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain as chained
from typing import Literal, NamedTuple

from workbench.runtime.lines import Chain, Line, function_source, user_line
from workbench.runtime.operations_before import counts_of
from workbench.runtime.turn import Operation, Turn
from workbench.views import page, words
from workbench.views.characters import visible
from workbench.views.markup import Html, element
from workbench.views.tokens import coloured

LONGEST_SOURCE_LINE = 84
MOST_LINES = 41
"""Lines of a longer function that are shown around the current one."""

LOOKED_AT = "→"
State = Literal["here", "diverged"]
Hits = Mapping[int, int]
"""How often operations were made on a line of the file."""


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


def hits(turn: Turn, function: Line) -> dict[int, int]:
    """How often each line of a function made an operation or read, from the top of this replay to the turn's end.

    A line that makes several different ones counts as often as the commonest of them.
    """
    name = (function.file, function.first_line)
    counts: Counter[tuple[int, str]] = Counter()
    for part in (turn.replayed, turn.operations):
        counts.update(counts_of(part).steps.get(name, {}))
    found: dict[int, int] = {}
    for (number, _), count in counts.items():
        found[number] = max(found.get(number, 0), count)
    return found


def code_part(turn: Turn, waiting: str, operation: Operation | None = None) -> Html:
    """The function that the turn's code stands in, its line marked, with what it waits for and its locals.

    With an operation that is looked at, its line is marked too, and the locals are those of that moment.
    """
    if not turn.has_code:
        return page.part(
            page.title("Code"), page.sentence("No code was given: the turn is shown from its events alone.")
        )
    diverged = turn.divergence is not None
    chain = turn.divergence.chain if turn.divergence is not None else turn.parked
    last = next((each.chain for each in chained(reversed(turn.operations), reversed(turn.replayed)) if each.chain), ())
    here = "diverged" if diverged else "raised" if turn.raised else "parked"
    stands = f"{here} here" if chain else "has ended"
    local_values = turn.divergence.local_values if turn.divergence is not None else turn.parked_locals
    looked_at = None if operation is None else user_line(operation.chain)
    if operation is not None and looked_at is not None:
        stands += f" · looking at line {words.line_number(looked_at)}"
        made_here = operation.chain == chain  # at the yield itself, where the code is parked now
        local_values = operation.local_values or (local_values if made_here else ())
        if not _same_function(looked_at, user_line(chain or last)):
            chain = last = ()
    source = code_view(chain or last, turn, "diverged" if diverged else "here", bool(chain), looked_at)
    pieces = [source]
    pieces += [page.sentence(f"waiting: {waiting}")] if waiting and not diverged else []
    called = chain if operation is None else operation.chain
    if len(words.user_chain(called)) > 1:
        pieces.append(page.sentence(words.chain_in_words(called)))
    if local_values:
        named = "  ".join(f"{words.shown(name)}={words.shown(value)}" for name, value in local_values)
        pieces.append(element("p", "locals ", element("span", named, css="mono"), css="after break"))
    return page.part(page.title(f"Code · {stands}"), *pieces)


def _same_function(line: Line, other: Line | None) -> bool:
    return other is not None and (line.file, line.first_line) == (other.file, other.first_line)


def code_view(chain: Chain, turn: Turn, state: State, marked: bool = True, looked_at: Line | None = None) -> Html:
    """The function of a chain's innermost line, numbered, with hit counts; the line itself is marked.

    So is the line that is looked at; without a chain it is the function of that line.
    """
    line = user_line(chain) or looked_at
    lines = [] if line is None else function_lines(line)
    if line is None or not lines:
        return page.sentence("The source is not to be had.")
    first = next((position for position, each in enumerate(lines) if each.current), 0)
    start = 0 if len(lines) <= MOST_LINES else max(0, min(first - MOST_LINES // 2, len(lines) - MOST_LINES))
    shown = lines[start : start + MOST_LINES]
    counts = hits(turn, line)
    offset = line.line - words.line_number(line)
    numbered = {each.number: counts.get(each.number + offset, 0) for each in shown}
    also = 0 if looked_at is None else looked_at.line - offset
    source = source_lines(shown, numbered, state, marked, looked_at=also)
    above, below = start, len(lines) - start - len(shown)
    return Html(
        "".join(
            [
                *([page.sentence(f"… {words.counted(above, 'line')} above")] if above else []),
                source,
                *([page.sentence(f"… {words.counted(below, 'line')} below")] if below else []),
            ]
        )
    )


def source_lines(
    lines: Sequence[ExcerptLine],
    counts: Hits,
    state: State,
    marked: bool = True,
    mark: str = "▶",
    edge: str = "",
    looked_at: int = 0,
) -> Html:
    """Source as `pre`, one line each: mark, number, hit count, code; it reads the same without its style.

    `looked_at` is the number of a line that is marked beside the one where the code stands (0: none).
    """
    digits = max(len(str(each.number)) for each in lines)
    most = max(map(len, (f"×{count}" for count in counts.values() if count)), default=0)
    written = []
    for each, code in zip(lines, coloured([each.text for each in lines]), strict=True):
        here = each.current and marked
        hit = f"×{counts[each.number]}" if counts.get(each.number) else ""
        sign = mark if here else LOOKED_AT if each.number == looked_at else " "
        gutter = f"{sign} {each.number:>{digits}} {hit:<{most}}{' ' if most else ''}{edge} "
        css = f"{state if here else ''} {'looked-at' if each.number == looked_at else ''}".strip()
        current = "true" if here else None
        number = element("span", gutter, css="number")
        written.append(element("span", number, code, Html("\n"), css=css, aria_current=current))
    return element("pre", *written, css="code")


def _dedented(text: str, indent: int) -> str:
    text = text.expandtabs(4)
    text = text[indent:] if not text[:indent].strip() else text.lstrip()
    if len(text) > LONGEST_SOURCE_LINE:
        text = text[: LONGEST_SOURCE_LINE - 1] + "…"
    return visible(text).rstrip()
