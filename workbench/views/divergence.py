"""A divergence in words: the one author of what exception, command, notebook and panel show (DESIGN §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from workbench.runtime.divergence import Divergence, Read
from workbench.runtime.lines import describe_line, source_line, user_line
from workbench.views import layout, page, words
from workbench.views.code import ExcerptLine, excerpt, source_lines
from workbench.views.differences import headline, now_in_words, recorded_in_words
from workbench.views.markup import Html, element, join

if TYPE_CHECKING:
    import pandas as pd


class Row(NamedTuple):
    """A labelled row of the message; `kind` is how its texts are set; `source` stands below them."""

    label: str
    texts: tuple[str, ...]
    kind: Literal["words", "code"] = "words"
    source: tuple[ExcerptLine, ...] = ()


def line(divergence: Divergence) -> str:
    """Who diverged, in which turn, and how: `Counter · counter-1 · diverged in turn 2: …`."""
    who = [words.shown(each) for each in (divergence.orchestration, divergence.instance_id) if each]
    return " · ".join([*who, title(divergence)])


def title(divergence: Divergence) -> str:
    """In which turn, and how."""
    execution = f" of execution {divergence.execution_id}" if divergence.execution_id != 1 else ""
    return f"diverged in turn {divergence.turn}{execution}: {headline(divergence)}"


def text(divergence: Divergence) -> str:
    """The whole message, in the order that DESIGN §7 fixes."""
    lines = [line(divergence)]
    for row in rows(divergence):
        lines += layout.sentences([(row.label, row.texts)])
        lines += [" " * layout.LABEL + each for each in excerpt_lines(row.source)]
    return "\n".join(lines)


def excerpt_lines(source: tuple[ExcerptLine, ...]) -> list[str]:
    """Source with its numbers, `>` at the line itself."""
    digits = max((len(str(each.number)) for each in source), default=0)
    return [f"{'>' if each.current else ' '} {each.number:>{digits}} | {each.text}".rstrip() for each in source]


def rows(divergence: Divergence) -> list[Row]:
    """What there is to say, row by row; a row without evidence is left out."""
    line_now = user_line(divergence.chain)
    source = () if line_now is None else tuple(excerpt(line_now))
    found = [Row("where", (_where(divergence),), source=source)]
    found.append(Row("recorded", (recorded_in_words(divergence),), "code"))
    found.append(Row("now", (now_in_words(divergence),), "code"))
    then = _line_then(divergence)
    if then:
        found.append(Row("then", then))
    read = divergence.explaining_read
    if read is not None:
        found.append(Row("because", (_because(divergence, read),)))
    elif divergence.impure:
        found.append(Row("because", ("the code is impure: run again on the same history it did something else",)))
    if divergence.lines_up is not None:
        found.append(Row("after", (_after(*divergence.lines_up),)))
    if divergence.to_do:
        found.append(Row("to do", divergence.to_do))
    found.append(Row("engine", (f"nondeterministic: {words.engine_message(divergence.message)}",), "code"))
    return found


def html(divergence: Divergence) -> str:
    """The same words in the orange card."""
    return page.rendering(card(divergence))


def card(divergence: Divergence) -> Html:
    """The card alone, for a page that has the style already."""
    columns = [page.Column("", "label", is_head=True), page.Column("", "break")]
    table = [page.TableRow((row.label, _content(row))) for row in rows(divergence)]
    return element(
        "div",
        element("p", line(divergence), css="card-title"),
        page.table("", columns, table, with_head=False),
        css="card",
        role="group",
        aria_label="divergence",
    )


def _content(row: Row) -> Html:
    texts = [element("span", each, css="mono") for each in row.texts] if row.kind == "code" else row.texts
    source = [source_lines(row.source, {}, "diverged", mark=">", edge="|")] if row.source else []
    return join([join(texts, between=Html("<br>")), *source])


def frame(divergence: Divergence) -> pd.DataFrame:
    """One row: who, where, what kind, and both sides in words."""
    import pandas as pd

    place = user_line(divergence.chain)
    return pd.DataFrame(
        [
            {
                "instance": divergence.instance_id,
                "orchestration": divergence.orchestration,
                "execution": divergence.execution_id,
                "turn": divergence.turn,
                "recorded_turn": divergence.recorded_turn,
                "operation": divergence.operation,
                "event": None if divergence.recorded is None else divergence.recorded.event_id,
                "kind": divergence.kind,
                "recorded": recorded_in_words(divergence),
                "now": now_in_words(divergence),
                "place": None if place is None else describe_line(place),
                "poisoned_key": None if divergence.explaining_read is None else divergence.explaining_read.key,
            }
        ]
    )


def _where(divergence: Divergence) -> str:
    turn = f"turn {divergence.turn}"
    if divergence.recorded_turn != divergence.turn:
        turn += f", replaying turn {divergence.recorded_turn}"
    parts = [turn]
    if divergence.execution_id != 1:
        parts.insert(0, f"execution {divergence.execution_id}")
    if divergence.recorded is not None:
        parts.append(f"event {divergence.recorded.event_id}")
    parts.append(f"operation {divergence.operation}")
    if divergence.chain:
        parts.append(words.chain_in_words(divergence.chain))
    elif divergence.kind != "broken history":
        parts.append("after the last line of the code")
    return " · ".join(parts)


def _line_then(divergence: Divergence) -> tuple[str, ...]:
    """The line that made what was recorded, as far as it is another one now, and whether the source has changed."""
    found: list[str] = []
    then, now = divergence.line_then, user_line(divergence.chain)
    if then is not None:
        place = f"{then.function}, line {then.number}"
        if then.file is not None:
            place += f" ({then.file}:{then.file_line})"
        source_now = "" if now is None else source_line(now.file, now.line).strip()
        if (place, then.text) != (None if now is None else describe_line(now), source_now):
            found.append(f"recorded at {place}: `{words.shown(then.text)}`")
    if divergence.source_changed:
        found.append("the source of the orchestration has changed since")
    return tuple(found)


def _because(divergence: Divergence, read: Read) -> str:
    place = words.place_in(read.chain, user_line(divergence.chain)) or "the code"
    key = words.shown(read.key)
    if read.value is None:
        gone = (
            "it is no longer in the store (pruned)"
            if read.written_by is None
            else f"event {read.written_by} of this same execution cleared it"
        )
        return (
            f"{place} read nothing for {key}, but this execution began with a value for it and {gone}: "
            "the snapshot is poisoned"
        )
    seen = f'{place} read {key} = "{words.shown(read.value)}" from the snapshot'
    if read.written_by is None:
        return f"{seen}, but this execution did not begin with that value: the snapshot is poisoned"
    return f"{seen}, but event {read.written_by} of this same execution wrote that value: the snapshot is poisoned"


def _after(lined_up: int, later: int) -> str:
    if later == 0:
        return "no later operation is recorded"
    noun = "operation" if later == 1 else "operations"
    verb = "lines up" if 1 in (lined_up, later) else "line up"
    return f"{lined_up} of {later} later {noun} {verb}"
