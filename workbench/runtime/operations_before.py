"""The operations that a turn made again on its way: the first so many of its pass, without a copy of them.

All turns of a pass share one list, and what is counted over it is counted once: where each line made operations,
and which keys were read poisoned. Five thousand turns cost five thousand times one, and looking at the last of them
costs no more than looking at the first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, overload

from workbench.runtime.events import KV_EVENTS
from workbench.runtime.lines import user_line
from workbench.runtime.turn import Operation

Function = tuple[str, int]
"""A function as its file and the line of its `def`."""
Step = tuple[int, str]
"""A line of a function, and which of the steps that may stand on it."""


class Counts(NamedTuple):
    """What some operations come to: steps by function, line and kind, numbered ones, keys read poisoned."""

    steps: Mapping[Function, Mapping[Step, int]]
    numbered: int
    poisoned: frozenset[str]


class _Places:
    """Where in the operations of a pass everything stands that is counted."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.total = len(operations)
        self._steps: dict[Function, dict[Step, list[int]]] = {}
        self._numbered: list[int] = []
        self._poisoned: dict[str, int] = {}
        for place, operation in enumerate(operations):
            self._add(place, operation)

    def _add(self, place: int, operation: Operation) -> None:
        line = user_line(operation.chain)
        if line is not None:
            steps = self._steps.setdefault((line.file, line.first_line), {})
            steps.setdefault((line.line, _kind(operation)), []).append(place)
        if operation.number is not None:
            self._numbered.append(place)
        if operation.read is not None and operation.read.poisoned:
            self._poisoned.setdefault(operation.read.key, place)

    def counts(self, count: int) -> Counts:
        return Counts(
            {
                function: {step: made for step, places in steps.items() if (made := bisect_left(places, count))}
                for function, steps in self._steps.items()
            },
            bisect_left(self._numbered, count),
            frozenset(key for key, first in self._poisoned.items() if first < count),
        )


class OperationsMade:
    """The list that the turns of a pass share; it grows until the pass is over, and only then is counted."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._places: _Places | None = None

    def counts(self, count: int) -> Counts:
        """What the first `count` operations come to. Any thread may ask: at the worst two count the same."""
        places = self._places
        if places is None or places.total != len(self.operations):
            self._places = places = _Places(self.operations)
        return places.counts(count)


class OperationsBefore(Sequence[Operation]):
    """The first `count` operations of a pass."""

    __slots__ = ("_count", "_made")

    def __init__(self, made: OperationsMade, count: int) -> None:
        self._made = made
        self._count = count

    @property
    def made(self) -> OperationsMade:
        """The list that they are the beginning of."""
        return self._made

    def counts(self) -> Counts:
        """What they come to, whatever their number at the cost of the lines that made them."""
        return self._made.counts(self._count)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Operation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Operation]: ...

    def __getitem__(self, index: int | slice) -> Operation | list[Operation]:
        if isinstance(index, slice):
            return [self._made.operations[i] for i in range(*index.indices(self._count))]
        if not -self._count <= index < self._count:
            raise IndexError(index)
        return self._made.operations[index if index >= 0 else self._count + index]

    def __iter__(self) -> Iterator[Operation]:
        return (self._made.operations[i] for i in range(self._count))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _kind(operation: Operation) -> str:
    """What tells the steps on one line apart: activities and the like by name too, keys not, as a loop makes them."""
    signature = operation.signature
    if signature is None:
        return "read"
    return signature[0] if signature[0] in KV_EVENTS else str(signature[:2])


def counts_of(operations: Sequence[Operation]) -> Counts:
    """What any operations come to."""
    if isinstance(operations, OperationsBefore):
        return operations.counts()
    return _Places(operations).counts(len(operations))
