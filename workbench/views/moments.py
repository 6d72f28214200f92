"""A moment of an instance: its address `order-42@2.7`, and how it is told in one line."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.turn import Turn
from workbench.views import changes, divergence, words
from workbench.views.addresses import turn_at
from workbench.views.arrivals import woken_in_words
from workbench.views.characters import ISOLATE, ISOLATE_END, visible
from workbench.views.look import Look
from workbench.views.operations import operation_at, operations_in_words

LONGEST_ID = 200
"""Characters of an instance's id that its address shows; longer ones lose their middle."""


def moment(turn: Turn, operation: str = "") -> str:
    """The address of a turn, or of one of its operations, with its instance: `order-42@2.7`, `order-42@2.7.1`."""
    return address_in_words(turn.instance_id, operation or turn.address)


def address_in_words(instance_id: str, address: str) -> str:
    """The address of a moment; before the first turn only the instance."""
    shown = words.shown(instance_id, LONGEST_ID)
    return f"{shown}@{address}" if address else shown


def split_moment(address: str | int) -> tuple[str | None, str]:
    """The instance (None without one) and the address in it: of `order-42@2.7` both; a number is that of a turn.

    Raises `TypeError` for what is neither text nor a whole number.
    """
    if isinstance(address, int) and not isinstance(address, bool):
        address = str(address)
    if not isinstance(address, str):
        raise TypeError(f"an address is a text such as '2', '1.2' or 'order-42@1.2.3', not {address!r}")
    instance, found, place = address.strip().rpartition("@")
    return (instance, place.strip()) if found else (None, place)


def is_named(instance_id: str, name: str) -> bool:
    """Whether `name` is this instance, as it is or as an address shows it."""
    return name in (instance_id, visible(instance_id)) or _plain(name) == _plain(words.shown(instance_id, LONGEST_ID))


def where(turns: Sequence[Turn], look: Look) -> str:
    """One line, the same on every run: `order-42@2.1 · turn 1 of execution 2 · woken by … · 2 new operations`."""
    turn = turn_at(turns, look.turn)
    if turn is None:
        return "no turn yet"
    operation = operation_at(turn, look.operation)
    parts = [moment(turn, look.operation), f"turn {turn.number} of execution {turn.execution_id}"]
    if operation is not None:
        parts.append(f"operation {look.operation.rpartition('.')[2]}: {words.operation_in_words(operation)}")
    parts += [woken_in_words(turn), operations_in_words(turn)]
    if turn.divergence is not None:
        parts.append(divergence.title(turn.divergence))
    else:
        parts.append(changes.changes_in_words(turn) or "no key changed")
        parts.append("" if turn.status == "Running" else words.outcome_in_words(turn.status, turn.output))
    parts += ["turns inferred"] if turn.inferred else []
    parts += [] if turn.has_code else ["view only"]
    parts += [] if look.key is None else [f"pinned key {words.shown(look.key)}"]
    return " · ".join(part for part in parts if part)


def _plain(text: str) -> str:
    return text.replace(ISOLATE, "").replace(ISOLATE_END, "")
