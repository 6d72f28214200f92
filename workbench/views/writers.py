"""Who wrote a key: the last writes up to a turn, with links to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.runtime import events as ev
from workbench.runtime.lines import user_line
from workbench.runtime.turn import Turn
from workbench.views import words
from workbench.views.addresses import position_of
from workbench.views.markup import Html, focusable, join
from workbench.views.operations import address_of

SHOWN = 3


class Write(NamedTuple):
    """A recorded write (or clear) of a key: its turn, its event, where it was made, and the address to look at it."""

    turn: Turn
    event: ev.Event
    place: str
    address: str


def last_writes(turns: Sequence[Turn], turn: Turn, key: str) -> Iterator[Write]:
    """The writes of a key up to the end of a turn, newest first; a turn that diverged has written nothing."""
    position = position_of(turns, turn.address)
    if position is None:
        return
    for each in reversed(turns[: position + (turn.divergence is None)]):
        for event in reversed(each.events):
            if event.type == ev.KV_ALL_CLEARED or (event.type in ev.KV_EVENTS and event.key == key):
                yield _write(each, event)


def writers(turns: Sequence[Turn], turn: Turn, key: str) -> Html:
    """One sentence: who wrote the key last, and before that."""
    found: list[Write] = []
    for write in last_writes(turns, turn, key):
        found.append(write)
        if len(found) > SHOWN:
            break
    name = words.shown(key)
    if not found:
        return join([f"{name}: {_from_before(turn, key)}"])
    links = [focusable(_in_words(write), write.address, f"{name}: {_in_words(write)}") for write in found[:SHOWN]]
    pieces: list[str] = [f"{name}: last written in ", links[0]]
    if links[1:]:
        pieces += [" · before that in ", join(links[1:], between=", ")]
    return join([*pieces, *([" and earlier"] if len(found) > SHOWN else [])])


def _in_words(write: Write) -> str:
    what = "clear all keys" if write.event.type == ev.KV_ALL_CLEARED else "clear"
    if write.event.type == ev.KV_SET:
        what = f'set to "{words.shown(str(write.event.value))}"'
    parts = [f"turn {write.turn.address}", f"event {write.event.event_id}", *([write.place] if write.place else [])]
    return f"{', '.join(parts)}: {what}"


def _from_before(turn: Turn, key: str) -> str:
    if key not in turn.snapshot:
        return "not written up to this turn"
    return "written before the turns that are recorded here"


def _write(turn: Turn, event: ev.Event) -> Write:
    for operation in turn.operations:
        if operation.event_id == event.event_id:
            line = user_line(operation.chain)
            place = "" if line is None else words.short_place(line)
            return Write(turn, event, place, address_of(turn, operation) or turn.address)
    return Write(turn, event, "", turn.address)
