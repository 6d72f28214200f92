"""The stepper's picture: strip of turns, code, operations, keys, limits. The live panel and the saved one share it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

from workbench.runtime.turn import Turn
from workbench.views import divergence, limits_view, page, words
from workbench.views.arrivals import arrived
from workbench.views.code import code_part
from workbench.views.key_table import keys_part
from workbench.views.limits_view import limits_part
from workbench.views.look import Look, Picture
from workbench.views.markup import Html, element
from workbench.views.operations import operation_at, operations_part, waiting_in_words
from workbench.views.strip import strip
from workbench.views.turn import remarks, standing
from workbench.views.writers import writers


def opening(turns: Sequence[Turn]) -> str:
    """The address where a stepper opens: the first divergence, else the first failed turn, else the last turn."""
    for turn in turns:
        if turn.divergence is not None or turn.outcome_difference is not None:
            return turn.address
    failed = next((turn for turn in turns if turn.status == "Failed"), None)
    return failed.address if failed is not None else turns[-1].address if turns else ""


def picture(turns: Sequence[Turn], turn: Turn | None, look: Look) -> Picture:
    """All of it; `turn` is the one among `turns` that is looked at, perhaps with locals."""
    return Picture(_head(turns, turn), strip(turns, look.turn, look.key), _body(turns, turn, look))


def chart(turns: Sequence[Turn], dark: bool) -> Html:
    """Key count and largest value over the turns with both limits, as a picture that says in words what it shows."""
    limits = turns[-1].limits
    png = limits_view.png(limits_view.figure(turns, limits, dark))
    alt = f"keys and largest value over {words.counted(len(turns), 'turn')}; after the last one "
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return element("img", src=source, alt=alt + limits_view.limits_in_words(turns[-1]))


def _head(turns: Sequence[Turn], turn: Turn | None) -> Html:
    """Who this is and how it stands at the last turn."""
    if turn is None:
        return page.head("No turn yet", "run the next turn to see the first one")
    parts = [words.shown(turn.instance_id), f"execution {turn.execution_id}", f"KV model: {turn.kv_model}"]
    if turn.inferred:
        parts.append("turns inferred from the history")
    if not turn.has_code:
        parts.append("view only: no code was given")
    badge, badge_css = standing(turns[-1])
    return page.head(words.shown(turn.orchestration), " · ".join(parts), badge, badge_css)


def _body(turns: Sequence[Turn], turn: Turn | None, look: Look) -> Html:
    """The turn that is looked at."""
    if turn is None:
        return Html("")
    operation = operation_at(turn, look.operation)
    about_key = None if look.key is None else writers(turns, turn, look.key)
    card = "" if turn.divergence is None else divergence.card(turn.divergence)
    code = code_part(turn, waiting_in_words(turn), operation)
    return Html(
        card
        + page.row(code, operations_part(turn, look.operation, look.key))
        + page.row(keys_part(turn, look.every_key, look.key, about_key), limits_part(turn))
        + page.remarks([*arrived(turn)[1:], *remarks(turn)])
    )
