"""The same orchestration on both KV models, turn by turn, side by side: the poisoned read beside the healthy one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.runtime.divergence import Read
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.runtime.turn import Turn
from workbench.views import divergence, layout, page, words
from workbench.views.arrivals import woken_in_words
from workbench.views.code import code_part
from workbench.views.key_table import keys_part
from workbench.views.markup import Html
from workbench.views.operations import operations_part, provenance, waiting_in_words
from workbench.views.strip import strip
from workbench.views.turn import standing

TITLES: dict[KVModel, str] = {
    PER_TURN: "First design: every turn writes kv_store",
    DELTA: "Delta design: kv_store changes when an execution ends",
}


class Pair(NamedTuple):
    """The turns of the same orchestration on the first design and on the delta design."""

    first: Sequence[Turn]
    fixed: Sequence[Turn]

    @property
    def addresses(self) -> list[str]:
        """The addresses of all turns, of whichever went further."""
        return list(dict.fromkeys(turn.address for turn in (*self.fixed, *self.first)))


def opening(pair: Pair) -> str:
    """The address where the panel opens: the first divergence, else the last turn."""
    diverged = next((turn for turn in pair.first if turn.divergence is not None), None)
    return diverged.address if diverged is not None else pair.addresses[-1] if pair.addresses else ""


def line(pair: Pair) -> str:
    """Both outcomes in one line."""
    who = words.shown(pair.fixed[-1].orchestration if pair.fixed else "")
    return f"{who}: first design {_outcome(pair.first)}; delta design {_outcome(pair.fixed)}"


def text(pair: Pair) -> str:
    """A row a turn, both models, and what explains the divergence."""
    rows = [("turn", "woken by", "first design", "delta design")]
    for address in pair.addresses:
        first, fixed = _at(pair.first, address), _at(pair.fixed, address)
        either = fixed or first
        woken = "" if either is None else woken_in_words(either).removeprefix("woken by ")
        rows.append((address, woken, _story(first), _story(fixed)))
    lines = [line(pair), *("  " + each for each in layout.table(rows))]
    diverged = next((turn.divergence for turn in pair.first if turn.divergence is not None), None)
    return "\n".join([*lines, *([] if diverged is None else [diverged.text()])])


def html(pair: Pair, address: str) -> str:
    """Both models at one turn, without a kernel."""
    return page.rendering(header(pair, address), body(pair, address))


def header(pair: Pair, address: str) -> Html:
    """Who this is, how both ended, and the strip of turns."""
    turns = pair.fixed if len(pair.fixed) >= len(pair.first) else pair.first
    name = words.shown(turns[-1].orchestration) if turns else "No turn"
    badge, badge_css = ("✗ diverged on the first design", "badge-bad") if _diverged(pair.first) else ("= same", "")
    head = page.head(name, "the same code and the same turns on both KV models", badge, badge_css)
    return Html(head + strip(turns, address))


def body(pair: Pair, address: str) -> Html:
    """The two models beside each other at one turn, the explanation above them."""
    first, fixed = _at(pair.first, address), _at(pair.fixed, address)
    card = Html("") if first is None or first.divergence is None else divergence.card(first.divergence)
    return Html(card + page.row(_side(pair.first, first, PER_TURN), _side(pair.fixed, fixed, DELTA)))


def _side(turns: Sequence[Turn], turn: Turn | None, kv_model: KVModel) -> Html:
    title = page.title(TITLES[kv_model])
    if turn is None:
        return page.part(title, page.sentence(f"There is no such turn here: it {_outcome(turns)}."), css="side")
    badge, _ = standing(turn)
    pieces = [page.sentence(f"{_read_in_words(turn)}{badge}")]
    code = code_part(turn, waiting_in_words(turn))
    return page.part(title, *pieces, code, operations_part(turn), keys_part(turn), css="side")


def _read_in_words(turn: Turn) -> str:
    reads = [each.read for each in turn.operations if each.read is not None]
    return "".join(f"{_read(read)} · " for read in reads[:1])


def _read(read: Read) -> str:
    value = "nothing" if read.value is None else words.shown(read.value)
    return f"read {words.shown(read.key)} → {value}, {provenance(read)}"


def _story(turn: Turn | None) -> str:
    """A turn in a few words: what it read, what it wrote, how it went."""
    if turn is None:
        return ""
    told = _read_in_words(turn)
    if turn.divergence is not None:
        return f"{told}diverged"
    written = [each.text for each in turn.operations if each.text.startswith(("set ", "clear "))]
    ended = "" if turn.status == "Running" else words.outcome_in_words(turn.status, turn.output)
    return told + ", ".join(part for part in (*written, ended) if part)


def _at(turns: Sequence[Turn], address: str) -> Turn | None:
    return next((turn for turn in turns if turn.address == address), None)


def _diverged(turns: Sequence[Turn]) -> bool:
    return bool(turns) and turns[-1].divergence is not None


def _outcome(turns: Sequence[Turn]) -> str:
    if not turns:
        return "made no turn"
    last = turns[-1]
    if last.divergence is not None:
        return f"diverged in turn {last.number}"
    return words.outcome_in_words(last.status, last.output)
