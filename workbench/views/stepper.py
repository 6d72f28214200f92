"""The stepper's picture: strip of turns, code, operations, keys, limits. The live panel and the saved one share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.runtime.turn import Turn
from workbench.views import divergence, page, words
from workbench.views.arrivals import arrived
from workbench.views.code import code_part
from workbench.views.key_table import keys_part
from workbench.views.limits_view import limits_part
from workbench.views.markup import Html
from workbench.views.operations import operations_part, waiting_in_words
from workbench.views.strip import strip
from workbench.views.turn import remarks, standing


class Look(NamedTuple):
    """What a stepper looks at: addresses of turn and operation, a key, and what is switched on."""

    turn: str = ""
    operation: str = ""
    key: str | None = None
    every_key: bool = False


def opening(turns: Sequence[Turn]) -> str:
    """The address where a stepper opens: the first divergence, else the first failed turn, else the last turn."""
    for turn in turns:
        if turn.divergence is not None or turn.outcome_difference is not None:
            return turn.address
    failed = next((turn for turn in turns if turn.status == "Failed"), None)
    return failed.address if failed is not None else turns[-1].address if turns else ""


def at(turns: Sequence[Turn], address: str) -> Turn | None:
    """The turn at an address, or None."""
    return next((turn for turn in turns if turn.address == address), None)


def header(turns: Sequence[Turn], look: Look) -> Html:
    """Who this is and how it stands at the last turn, and the strip of turns."""
    if not turns:
        return Html(page.head("No turn yet", "run the next turn to see the first one") + strip(turns))
    turn = at(turns, look.turn) or turns[-1]
    parts = [words.shown(turn.instance_id), f"execution {turn.execution_id}", f"KV model: {turn.kv_model}"]
    if turn.inferred:
        parts.append("turns inferred from the history")
    if not turn.has_code:
        parts.append("view only: no code was given")
    badge, badge_css = standing(turns[-1])
    name = words.shown(turn.orchestration)
    return Html(page.head(name, " · ".join(parts), badge, badge_css) + strip(turns, look.turn))


def body(turn: Turn | None, look: Look) -> Html:
    """The turn that is looked at."""
    if turn is None:
        return Html("")
    card = "" if turn.divergence is None else divergence.card(turn.divergence)
    return Html(
        card
        + page.row(code_part(turn, waiting_in_words(turn)), operations_part(turn, look.operation))
        + page.row(keys_part(turn, look.every_key, look.key), limits_part(turn))
        + page.remarks([*arrived(turn)[1:], *remarks(turn)])
    )


def html(turns: Sequence[Turn], look: Look) -> str:
    """The whole picture, without a kernel."""
    return page.rendering(header(turns, look), body(at(turns, look.turn), look))
