"""What a turn changed in the key-value store: one row a key, with the sign and both tables before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from workbench.runtime import kv
from workbench.runtime.turn import Turn
from workbench.views import words

Sign = Literal["+", "−", "~", "="]


class Cell(NamedTuple):
    """A value before and after the turn; `None` is no row, a tombstone is an entry without value."""

    before: kv.Entry | None
    after: kv.Entry | None

    @property
    def changed(self) -> bool:
        """Whether the value is another one."""
        return _content(self.before) != _content(self.after)


class KeyChange(NamedTuple):
    """One key around a turn; `sign` says what a client sees happen to it."""

    key: str
    sign: Sign
    snapshot: Cell
    delta: Cell
    client: Cell

    @property
    def changed(self) -> bool:
        """Whether anything about the key changed, be it only the table that holds it."""
        return self.snapshot.changed or self.delta.changed or self.client.changed

    @property
    def byte_count(self) -> int:
        """UTF-8 bytes of the value that a client reads after the turn, 0 without one."""
        return _bytes(self.client.after)


def key_changes(turn: Turn) -> list[KeyChange]:
    """Every key that is in one of the tables before or after the turn, in key order.

    Of a turn that diverged only what it was given is shown: it changed nothing.
    """
    before, after = turn.before, tables_after(turn)
    client_before, client_after = kv.client_view(before), kv.client_view(after)
    tables: list[Mapping[str, kv.Entry]] = [before.store, after.store, before.delta, after.delta]
    return [
        KeyChange(
            key,
            _sign(client_before.get(key), client_after.get(key)),
            Cell(before.store.get(key), after.store.get(key)),
            Cell(before.delta.get(key), after.delta.get(key)),
            Cell(client_before.get(key), client_after.get(key)),
        )
        for key in sorted(set().union(*tables))
    ]


def changes_in_words(turn: Turn, at_most: int = 3) -> str:
    """The changed keys on one line: `counter 1 → 2`, `a = 1, b cleared and 4 more`; empty when none changed."""
    return words.listed((_in_words(each) for each in key_changes(turn) if each.sign != "="), at_most)


def badge(turn: Turn) -> str:
    """How many keys came, changed and went: `+1 ~2 −1`, or `=`."""
    signs = [each.sign for each in key_changes(turn)]
    return " ".join(f"{sign}{signs.count(sign)}" for sign in ("+", "~", "−") if sign in signs) or "="


def tables_after(turn: Turn) -> kv.Tables:
    """The tables after the turn; a turn that diverged changed nothing, whatever its record says."""
    return turn.before if turn.divergence is not None else turn.after


def key_count(turn: Turn) -> int:
    """Keys alive after the turn: what the key limit looks at."""
    return len(kv.client_view(tables_after(turn)))


def largest_value_bytes(turn: Turn) -> int:
    """UTF-8 bytes of the largest value after the turn, 0 without keys."""
    return max((_bytes(entry) for entry in kv.client_view(tables_after(turn)).values()), default=0)


def largest_key(turn: Turn) -> str | None:
    """The key with the largest value after the turn, None without keys."""
    alive = kv.client_view(tables_after(turn))
    return max(alive, key=lambda key: _bytes(alive[key]), default=None)


def entry_in_words(entry: kv.Entry | None, nothing: str = "") -> str:
    """A stored row: its value, `cleared` for a tombstone, `nothing` for no row."""
    if entry is None:
        return nothing
    return words.bare(entry.value, "cleared")


def _in_words(change: KeyChange) -> str:
    key = words.shown(change.key)
    if change.sign == "−":
        return f"{key} cleared"
    if change.sign == "+":
        return f"{key} = {entry_in_words(change.client.after)}"
    return f"{key} {entry_in_words(change.client.before)} → {entry_in_words(change.client.after)}"


def _sign(before: kv.Entry | None, after: kv.Entry | None) -> Sign:
    if before is None:
        return "=" if after is None else "+"
    if after is None:
        return "−"
    return "=" if before.value == after.value else "~"


def _content(entry: kv.Entry | None) -> tuple[str | None] | None:
    return None if entry is None else (entry.value,)


def _bytes(entry: kv.Entry | None) -> int:
    return 0 if entry is None or entry.value is None else words.byte_count(entry.value)
