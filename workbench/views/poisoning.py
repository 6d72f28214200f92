"""The same orchestration on both KV models, turn by turn, side by side: the poisoned read beside the healthy one."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.divergence import Read
from workbench.runtime.events import KV_EVENTS
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.runtime.turn import Operation, Turn
from workbench.views import divergence, layout, page, words
from workbench.views.addresses import diverged_turn, turn_at
from workbench.views.arrivals import woken_in_words
from workbench.views.code import code_part
from workbench.views.key_table import keys_part
from workbench.views.look import Look, Picture
from workbench.views.markup import Html, element
from workbench.views.operations import operation_at, operations_part, provenance, replayed_table, waiting_in_words
from workbench.views.strip import strip
from workbench.views.turn import standing
from workbench.views.writers import writers

TITLES: dict[KVModel, str] = {
    PER_TURN: "First design: every turn writes kv_store",
    DELTA: "Delta design: kv_store changes when an execution ends",
}


class Pair:
    """The turns of the same orchestration on the first design and on the delta design.

    `both` are the turns of whichever went further, with the one that diverged on the first design in its place.
    """

    def __init__(self, first: Sequence[Turn], fixed: Sequence[Turn]) -> None:
        self.first = tuple(first)
        self.fixed = tuple(fixed)
        merged = {turn.address: turn for turn in (*first, *fixed)}
        merged |= {turn.address: turn for turn in first if turn.divergence is not None}
        self.both = tuple(sorted(merged.values(), key=lambda turn: (turn.execution_id, turn.number)))


def opening(pair: Pair) -> str:
    """The address where the panel opens: the first divergence, else the last turn."""
    turn = diverged_turn(pair.first) or (pair.both[-1] if pair.both else None)
    return "" if turn is None else turn.address


def line(pair: Pair) -> str:
    """Both outcomes in one line."""
    who = words.shown(pair.both[-1].orchestration if pair.both else "")
    return f"{who}: first design {_outcome(pair.first)}; delta design {_outcome(pair.fixed)}"


def text(pair: Pair) -> str:
    """Each turn, what both models or either did in it, and what explains the divergence."""
    lines = [line(pair)]
    for turn in pair.both:
        lines += layout.labelled(turn.address, woken_in_words(turn_at(pair.fixed, turn.address) or turn))
        lines += layout.sentences((label, [story]) for label, story in _stories(pair, turn.address))
    diverged = diverged_turn(pair.first)
    if diverged is not None and diverged.divergence is not None:
        lines.append(diverged.divergence.text())
    return "\n".join(lines)


def picture(pair: Pair, look: Look) -> Picture:
    """Both models at one turn; in the strip the turn that diverged on the first design is marked."""
    return Picture(_head(pair), strip(pair.both, look.turn, look.key), _body(pair, look))


def _head(pair: Pair) -> Html:
    """Who this is, and how both ended."""
    name = words.shown(pair.both[-1].orchestration) if pair.both else "No turn"
    diverged = diverged_turn(pair.first)
    badge = ("= same", "") if diverged is None else (f"✗ first design {_outcome(pair.first)}", "badge-bad")
    return page.head(name, "the same code and the same turns on both KV models", *badge)


def _body(pair: Pair, look: Look) -> Html:
    """The two models beside each other at one turn, the explanation above them."""
    first = turn_at(pair.first, look.turn)
    if first is None or first.divergence is None:
        card, there = Html(""), 0
    else:
        card, there = divergence.card(first.divergence), first.divergence.recorded_turn
    sides = (_side(pair.first, look, PER_TURN), _side(pair.fixed, look, DELTA, there))
    return Html(card + element("div", *sides, css="sides"))


def _side(turns: Sequence[Turn], look: Look, kv_model: KVModel, there: int = 0) -> Html:
    """One model: what its turn read and made, its code, its keys; five parts that stand beside those of the other.

    `there` is the turn in whose replay the other model diverged: what this one made in it stands beside that.
    """
    turn = turn_at(turns, look.turn)
    title = page.title(TITLES[kv_model])
    if turn is None:
        gone = page.sentence(f"There is no such turn here: it {_outcome(turns)}.")
        return element("div", page.part(title, gone), css="side")
    made = operations_part(turn, look.operation, look.key)
    again = [each for each in turn.replayed if each.turn == there]
    steps = [page.part(replayed_table(turn, there, look.key)), made] if again else [made, page.part(css="empty")]
    about_key = None if look.key is None else writers(turns, turn, look.key)
    return element(
        "div",
        page.part(title, page.sentence(f"{_read_in_words(again or turn.operations)}{standing(turn)[0]}")),
        *steps,
        code_part(turn, waiting_in_words(turn), operation_at(turn, look.operation)),
        keys_part(turn, look.every_key, look.key, about_key),
        css="side",
    )


def _read_in_words(operations: Sequence[Operation]) -> str:
    reads = [each.read for each in operations if each.read is not None]
    return "".join(f"{_read(read)} · " for read in reads[:1])


def _read(read: Read) -> str:
    value = "nothing" if read.value is None else words.shown(read.value)
    return f"read {words.shown(read.key)} → {value}, {provenance(read)}"


def _stories(pair: Pair, address: str) -> list[tuple[str, str]]:
    """What the turn did, behind the name of the model; told once where it is the same on both."""
    sides = [("first", turn_at(pair.first, address)), ("delta", turn_at(pair.fixed, address))]
    stories = [(label, _story(turn)) for label, turn in sides if turn is not None]
    told = {story for _, story in stories}
    return [("both", told.pop())] if len(stories) == 2 and len(told) == 1 else stories


def _story(turn: Turn) -> str:
    """A turn in a few words: what it read, what it wrote, how it went."""
    told = _read_in_words(turn.operations)
    if turn.divergence is not None:
        return f"{told}diverged"
    written = [words.operation_in_words(each) for each in turn.operations if _writes(each)]
    ended = "" if turn.status == "Running" else words.outcome_in_words(turn.status, turn.output)
    return told + ", ".join(part for part in (*written, ended) if part) or "no key read or written"


def _writes(operation: Operation) -> bool:
    return operation.signature is not None and operation.signature[0] in KV_EVENTS


def _outcome(turns: Sequence[Turn]) -> str:
    if not turns:
        return "made no turn"
    last = turns[-1]
    if last.divergence is not None:
        return f"diverged in turn {last.number}"
    return words.outcome_in_words(last.status, last.output)
