"""A turn as one line, a few lines of text, HTML and a table of its operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.runtime.turn import Turn
from workbench.views import changes, divergence, layout, page, words
from workbench.views.arrivals import arrived, woken_in_words
from workbench.views.code import code_part
from workbench.views.differences import outcome_difference_in_words, strict_difference_in_words
from workbench.views.key_table import key_lines, keys_part
from workbench.views.limits_view import limits_in_words, limits_part
from workbench.views.operations import (
    operation_lines,
    operations_frame,
    operations_in_words,
    operations_part,
    replayed_in_words,
    waiting_in_words,
)

if TYPE_CHECKING:
    import pandas as pd


def line(turn: Turn) -> str:
    """`Turn 1.2 of counter-1: woken by activity Noop completed (event 4), 2 new operations, counter 1 → 2`."""
    parts = [woken_in_words(turn), operations_in_words(turn)]
    if turn.divergence is not None:
        parts.append(divergence.title(turn.divergence))
    else:
        parts.append(changes.changes_in_words(turn))
        if turn.status != "Running":
            parts.append(words.outcome_in_words(turn.status, turn.output))
    return f"Turn {turn.address} of {words.shown(turn.instance_id)}: {', '.join(part for part in parts if part)}"


def text(turn: Turn) -> str:
    """The turn in a few lines, the same on every run."""
    lines = [title(turn)]
    lines += layout.sentences(arrived(turn))
    if turn.replayed:
        lines += layout.labelled("replayed", replayed_in_words(turn))
    lines += layout.labelled_lines("made", operation_lines(turn) or ["no operation"])
    if turn.divergence is None and turn.waiting_for:
        where = f" · {words.chain_in_words(turn.parked)}" if turn.parked else ""
        lines += layout.labelled("waiting", f"{waiting_in_words(turn)}{where}")
    if turn.raised and turn.parked:
        lines += layout.labelled("raised", words.chain_in_words(turn.parked))
    lines += layout.labelled_lines("keys", key_lines(turn))
    lines += layout.labelled("limits", limits_in_words(turn))
    lines += layout.sentences(ending(turn))
    if turn.divergence is not None:
        lines.append(turn.divergence.text())
    return "\n".join(lines)


def title(turn: Turn) -> str:
    """Which turn of what: `Turn 1.2 · Counter · counter-1 · delta model`."""
    parts = [f"Turn {turn.address}", words.shown(turn.orchestration), words.shown(turn.instance_id)]
    return " · ".join([*parts, f"{turn.kv_model} model", *(["turns inferred"] if turn.inferred else [])])


def ending(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences that stand below the tables: how the turn ended and what else is to be said."""
    found = []
    if turn.divergence is None and turn.stopped is None:
        found.append(("status", [words.outcome_in_words(turn.status, turn.output)]))
    return found + remarks(turn)


def remarks(turn: Turn) -> list[tuple[str, list[str]]]:
    """Labelled sentences: a refusal, what differs outside the match, warnings."""
    found = []
    if turn.refused is not None:
        found.append(("refused", ["nothing that the code made was recorded"]))
    if turn.outcome_difference is not None:
        found.append(("outcome", [outcome_difference_in_words(turn.outcome_difference)]))
    if turn.strict_differences:
        found.append(("differs", [strict_difference_in_words(each) for each in turn.strict_differences]))
    if turn.warnings:
        found.append(("warnings", [words.sentence(each) for each in turn.warnings]))
    return found


def html(turn: Turn) -> str:
    """The turn as in the stepper: code and operations, keys and limits, and the divergence above them."""
    badge, badge_css = standing(turn)
    cards = [] if turn.divergence is None else [divergence.card(turn.divergence)]
    return page.rendering(
        page.head(f"Turn {turn.address}", title(turn).partition(" · ")[2], badge, badge_css),
        *cards,
        page.row(code_part(turn, waiting_in_words(turn)), operations_part(turn)),
        page.row(keys_part(turn), limits_part(turn)),
        page.remarks([*arrived(turn)[1:], *remarks(turn)]),
    )


def standing(turn: Turn) -> tuple[str, str]:
    """How the turn stands, with its sign, and the class of its badge."""
    if turn.divergence is not None:
        return f"✗ diverged in turn {turn.divergence.turn}", "badge-bad"
    if turn.stopped is not None:
        return "✗ did not come back", "badge-bad"
    words_of = words.outcome_in_words(turn.status, turn.output)
    if turn.status == "Failed":
        return f"✗ {words_of}", "badge-bad"
    return (f"✓ {words_of}", "badge-good") if turn.status != "Running" else (f"● {words_of}", "")


def frame(turn: Turn) -> pd.DataFrame:
    """A row an operation or read of the turn, in order."""
    return operations_frame(turn)
