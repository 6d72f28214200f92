"""Where the buttons of a panel lead: operations across the borders of turns, turns that changed a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.runtime import kv
from workbench.runtime.turn import Turn
from workbench.views.operations import operation_addresses


def operation_after(turns: Sequence[Turn], position: int, operation: str) -> str | None:
    """The address of the operation after the one at an address (empty: none is looked at), in this turn or later."""
    if not turns:
        return None
    here = operation_addresses(turns[position])
    at = here.index(operation) + 1 if operation in here else 0
    if at < len(here):
        return here[at]
    return next((found[0] for each in _turns(turns, range(position + 1, len(turns))) if (found := each)), None)


def operation_before(turns: Sequence[Turn], position: int, operation: str) -> str | None:
    """The address of the operation before, in this turn or an earlier one; before all of this turn's if none is."""
    if not turns:
        return None
    here = operation_addresses(turns[position])
    at = here.index(operation) if operation in here else 0
    if at > 0:
        return here[at - 1]
    return next((found[-1] for each in _turns(turns, range(position - 1, -1, -1)) if (found := each)), None)


def _turns(turns: Sequence[Turn], positions: Iterable[int]) -> Iterable[list[str]]:
    return (operation_addresses(turns[at]) for at in positions)


def change_after(turns: Sequence[Turn], position: int, key: str) -> str | None:
    """The address of the next turn after which clients read another value of the key."""
    return next((turns[at].address for at in range(position + 1, len(turns)) if changed(turns[at], key)), None)


def change_before(turns: Sequence[Turn], position: int, key: str) -> str | None:
    """The address of the nearest earlier turn after which clients read another value of the key."""
    return next((turns[at].address for at in range(position - 1, -1, -1) if changed(turns[at], key)), None)


def changed(turn: Turn, key: str) -> bool:
    """Whether clients read another value of the key after the turn; a turn that diverged changed nothing."""
    return turn.divergence is None and _read(turn.before, key) != _read(turn.after, key)


def _read(tables: kv.Tables, key: str) -> str | None:
    entry = tables.delta.get(key) or tables.store.get(key)
    return None if entry is None else entry.value
