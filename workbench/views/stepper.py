"""The stepper's picture: strip of turns, code, operations, keys, limits. The live panel and the saved one share it."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.turn import Turn
from workbench.views import divergence, page, words
from workbench.views.addresses import first_turn
from workbench.views.code import code_part
from workbench.views.key_table import keys_part
from workbench.views.limits_view import limits_part
from workbench.views.links import arrived, begun, beside, following
from workbench.views.look import BACK, Look, Picture
from workbench.views.markup import Html, element, focusable, instance_address, join
from workbench.views.moments import moment
from workbench.views.operations import operation_at, operations_part, waiting_in_words
from workbench.views.relatives import parent_of
from workbench.views.strip import strip
from workbench.views.turn import remarks, standing
from workbench.views.writers import about

NEIGHBOURS = 2
"""Executions that are named on each side of the one that is looked at, beside the first and the last."""


def opening(turns: Sequence[Turn]) -> str:
    """The address where a stepper opens: the first divergence, else the first failed turn, else the last turn."""
    for turn in turns:
        if turn.divergence is not None or turn.outcome_difference is not None:
            return turn.address
    failed = next((turn for turn in turns if turn.status == "Failed"), None)
    return failed.address if failed is not None else turns[-1].address if turns else ""


def picture(turns: Sequence[Turn], turn: Turn | None, look: Look) -> Picture:
    """All of it; `turn` is the one among `turns` that is looked at, perhaps with locals."""
    return Picture(_head(turns, turn, look), strip(turns, look.turn, look.key), _body(turns, turn, look))


def _head(turns: Sequence[Turn], turn: Turn | None, look: Look) -> Html:
    """Who this is, where in it one is, and how it stands at the last turn."""
    back = [join([focusable("← back", BACK, f"back to {look.back}"), f" to {look.back}"])] if look.back else []
    if turn is None:
        return page.head("No turn yet", join(["run the next turn to see the first one", *back], between=" · "))
    address = element("span", moment(turn, look.operation), css="address mono")
    parts = [address, executions(turns, turn), f"KV model: {turn.kv_model}", *_parent(turns, look)]
    if turn.inferred:
        parts.append(element("span", "turns inferred from the history", css="mark"))
    if not turn.has_code:
        parts.append(element("span", "view only: no code was given", css="mark"))
    parts += back
    badge, badge_css = standing(turns[-1])
    return page.head(words.shown(turn.orchestration), join(parts, between=" · "), badge, badge_css)


def executions(turns: Sequence[Turn], turn: Turn) -> Html:
    """The chain of executions, each a link to its first turn: `execution 1 → 2 → 3`.

    Of a long one the ends and the neighbours of the one that is looked at.
    """
    firsts = {turns[0].execution_id: turns[0], turns[-1].execution_id: first_turn(turns, turns[-1].execution_id)}
    for number in range(turn.execution_id - NEIGHBOURS, turn.execution_id + NEIGHBOURS + 1):
        found = first_turn(turns, number)
        firsts |= {} if found is None else {number: found}
    numbers = sorted(firsts)
    if len(numbers) == 1:
        return join([f"execution {turn.execution_id}"])
    pieces: list[str] = ["execution "]
    for at, number in enumerate(numbers):
        pieces += [] if at == 0 else [" → "] if number == numbers[at - 1] + 1 else [" → … → "]
        first, current = firsts[number], number == turn.execution_id
        label = f"execution {number}"
        pieces.append(focusable(str(number), first.address if first else "", label, current))
    return join(pieces)


def _parent(turns: Sequence[Turn], look: Look) -> list[Html]:
    parent = parent_of(turns)
    if parent is None:
        return []
    shown = words.shown(parent.instance_id)
    if not look.opens:
        return [join([f"child of {shown}"])]
    return [join(["child of ", focusable(shown, instance_address(parent.instance_id), f"open the parent {shown}")])]


def _body(turns: Sequence[Turn], turn: Turn | None, look: Look) -> Html:
    """The turn that is looked at."""
    if turn is None:
        return Html("")
    operation = operation_at(turn, look.operation)
    about_key = None if look.key is None else about(turns, turn, look.key)
    card = "" if turn.divergence is None else divergence.card(turn.divergence)
    code = code_part(turn, waiting_in_words(turn), operation)
    return Html(
        card
        + page.row(code, operations_part(turn, look.operation, look.key, beside(turns, turn, look.opens)))
        + page.row(keys_part(turn, look.every_key, look.key, about_key), limits_part(turn))
        + page.remarks([*begun(turns, turn), *arrived(turns, turn), *remarks(turn), *following(turns, turn)])
    )
