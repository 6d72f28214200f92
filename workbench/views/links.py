"""What stands beside a turn's operations and arrivals: links to what they answer, what answered them, and children."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime import events as ev
from workbench.runtime.turn import Turn
from workbench.views import words
from workbench.views.addresses import first_turn, position_of
from workbench.views.answers import answers, asked_in
from workbench.views.arrivals import arrival_with_id
from workbench.views.markup import Html, focusable, instance_address, join
from workbench.views.operations import Beside
from workbench.views.relatives import children

_SHOWN = 8
_TITLE = 3


def beside(turns: Sequence[Turn], turn: Turn, opens: bool) -> Beside:
    """The links of a turn; `opens`: a child's id is one too."""
    woken = turn.arrivals[:_TITLE] if turn.woken_by is None else (turn.woken_by,)
    asked = [link for each in woken if (link := asked_link(turns, turn, each))]
    notes = {str(event_id): [_answer(*answer)] for event_id, answer in answers(turns, turn).items() if answer.words}
    for event_id, child in children(turn).items():
        notes.setdefault(str(event_id), []).insert(0, _child(child, opens))
    title = join([" · ", join(asked, between=", ")]) if asked else Html()
    return Beside(title, {event: join(pieces, between=" · ") for event, pieces in notes.items()})


def asked_link(turns: Sequence[Turn], turn: Turn, arrival: ev.Event) -> Html | None:
    """A link to the operation that an arrival answers: `scheduled in turn 2`; None where there is none."""
    found = asked_in(turns, turn, arrival)
    if found is None:
        return None
    asked = "scheduled in" if arrival.type in ev.COMPLETIONS else "waited for since"
    said = f"{asked} turn {found[0].number}"
    return focusable(said, found[1], f"{arrival_with_id(turn, arrival)}: {said}")


def arrived(turns: Sequence[Turn], turn: Turn) -> list[tuple[str, list[str]]]:
    """What arrived beside what woke the turn, each with its link."""
    others = [each for each in turn.arrivals if each != turn.woken_by]
    if not others or turn.woken_by is None:
        return []  # nothing else, or the title of the operations has said it
    told = []
    for each in others[:_SHOWN]:
        link = asked_link(turns, turn, each)
        lost = " (nobody was waiting for it)" if each in turn.unhandled else ""
        told.append(join([arrival_with_id(turn, each) + lost, *([", ", link] if link else [])]))
    more = [f"and {len(others) - _SHOWN:,} more"] if len(others) > _SHOWN else []
    return [("arrived", [join([*told, *more], between=" · ")])]


def begun(turns: Sequence[Turn], turn: Turn) -> list[tuple[str, list[str]]]:
    """What a later execution began with, and a link to the end of the one before."""
    if turn.number != 1 or turn.execution_id == 1:
        return []
    said = f"with {words.counted(len(turn.before.store), 'key')}"
    position = position_of(turns, turn.address)
    if not position:
        return [("begins", [f"{said}; the execution before is not here"])]
    before = turns[position - 1]
    where = f"execution {before.execution_id}"
    return [("begins", [join([f"{said}, as ", focusable(where, before.address, f"the end of {where}"), " left them"])])]


def following(turns: Sequence[Turn], turn: Turn) -> list[tuple[str, list[str]]]:
    """Where a turn that ended its execution goes on: in the first turn of the next one."""
    if turn.status != "ContinuedAsNew":
        return []
    after = first_turn(turns, turn.execution_id + 1)
    said = words.outcome_in_words(turn.status, turn.output)
    if after is None:
        return [("goes on", [f"{said}; that execution is not here yet"])]
    where = f"execution {after.execution_id}"
    return [("goes on", [join([f"{said}, in ", focusable(where, after.address, f"go on in {where}")])])]


def _answer(said: str, turn: Turn | None) -> Html:
    if turn is None:
        return join([said])
    return focusable(f"{said} in turn {turn.number}", turn.address, f"{said} in turn {turn.address}: go there")


def _child(instance_id: str, opens: bool) -> Html:
    shown = words.shown(instance_id)
    return focusable(shown, instance_address(instance_id), f"open {shown}") if opens else join([shown])
