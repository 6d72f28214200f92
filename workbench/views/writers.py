"""Who wrote a key, before and after a turn, and who read it in between, with links to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from workbench.runtime import events as ev
from workbench.runtime.lines import user_line
from workbench.runtime.turn import Turn
from workbench.views import words
from workbench.views.addresses import position_of
from workbench.views.markup import Html, element, focusable, join, key_address
from workbench.views.operations import address_of

SHOWN = 3
READERS = 6


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
            if event.type in ev.KV_EVENTS and (event.key == key or event.type == ev.KV_ALL_CLEARED):
                yield _write(each, event)


def next_write(turns: Sequence[Turn], turn: Turn, key: str) -> Write | None:
    """The first write of a key after a turn, or None."""
    for each in _after(turns, turn):
        for event in each.events if each.divergence is None else ():
            if event.type in ev.KV_EVENTS and (event.key == key or event.type == ev.KV_ALL_CLEARED):
                return _write(each, event)
    return None


class Reader(NamedTuple):
    """A turn that read a key and where in its code; `poisoned` if what it read was."""

    turn: Turn
    place: str
    poisoned: bool


def readers(turns: Sequence[Turn], turn: Turn, key: str) -> list[Reader]:
    """Who read a key between its last write up to the end of a turn and its next write after it, in order."""
    position = position_of(turns, turn.address)
    if position is None:
        return []
    found = list(_until_written(reversed(turns[: position + 1]), key, backwards=True))[::-1]
    return found + list(_until_written(_after(turns, turn), key))


def about(turns: Sequence[Turn], turn: Turn, key: str) -> Html:
    """What is to be said of the key that is looked at: who wrote it, who writes it next, who reads it in between."""
    said = [writers(turns, turn, key), _next_in_words(turns, turn, key), _readers_in_words(turns, turn, key)]
    return join([each for each in said if each], between=Html("<br>"))


def pinned(key: str | None) -> Html:
    """The pinned key with a way to let it go."""
    if key is None:
        return element("span", "no key pinned: click one", css="quiet")
    shown = words.shown(key)
    name = element("span", shown, css="mono break")
    return join(["pinned: ", name, " ", focusable("unpin", key_address(key), f"unpin the key {shown}")])


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


def _next_in_words(turns: Sequence[Turn], turn: Turn, key: str) -> Html:
    write = next_write(turns, turn, key)
    if write is None:
        return Html()
    return join(["next written in ", focusable(_in_words(write), write.address, f"next: {_in_words(write)}")])


def _readers_in_words(turns: Sequence[Turn], turn: Turn, key: str) -> Html:
    if not turn.has_code:
        return join(["who read it is not recorded: that takes the code"])
    found = readers(turns, turn, key)
    if not found:
        return Html()
    # A loop reads a key many times in one place.
    alike = [list(each) for _, each in groupby(found, lambda each: (each.turn.address, each.place, each.poisoned))]
    links = []
    for each, *again in alike[:READERS]:
        times = f"{len(again) + 1:,} times" if again else ""
        said = ", ".join(part for part in (f"turn {each.turn.address}", each.place, times) if part)
        said += ": poisoned" if each.poisoned else ""
        links.append(focusable(said, each.turn.address, f"read in {said}"))
    more = [f" and {len(alike) - READERS:,} more"] if len(alike) > READERS else []
    return join(["read in between by ", join(links, between=" · "), *more])


def _after(turns: Sequence[Turn], turn: Turn) -> Sequence[Turn]:
    position = position_of(turns, turn.address)
    return () if position is None else turns[position + 1 :]


def _until_written(turns: Iterable[Turn], key: str, backwards: bool = False) -> Iterator[Reader]:
    for turn in turns:
        for each in reversed(turn.operations) if backwards else turn.operations:
            read, signature = each.read, each.signature
            if read is not None:
                if read.key == key:
                    line = user_line(each.chain)
                    yield Reader(turn, "" if line is None else words.short_place(line), read.poisoned)
            elif signature is not None and signature[0] in ev.KV_EVENTS:
                of_key = signature[0] == ev.KV_ALL_CLEARED or signature[1] == key
                if of_key and each.state not in ("diverged", "refused"):
                    return


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
