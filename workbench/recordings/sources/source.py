"""What every source of recordings can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from workbench.recordings.recording import Recording
from workbench.showing import Shown

if TYPE_CHECKING:
    import pandas as pd


class InstanceRow(msgspec.Struct, frozen=True):
    """One line of a listing; `status` and `output` are those of the newest execution, the counts of all."""

    instance_id: str
    orchestration: str
    version: str
    status: str | None
    executions: int
    events: int
    output: str | None
    custom_status: str | None = None
    parent_instance: str | None = None


class Source(Shown, ABC):
    """A file with recorded instances, read and never written.

    Subclasses say how to list, to load one instance and to run a query. Also a context manager.
    """

    _view: ClassVar[str] = "source"
    kind: ClassVar[str] = "recordings"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    @abstractmethod
    def listing(self) -> list[InstanceRow]:
        """One row an instance, oldest first, by one grouped query; no history is read."""

    @abstractmethod
    def recording(self, instance_id: str) -> Recording:
        """The recording of one instance; raises `UnknownInstance`."""

    @abstractmethod
    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The column names and rows of a read-only query over the source's tables."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody who reads the file should know about it, as sentences."""
        return ()

    def close(self) -> None:
        """Release what is held; harmless a second time."""

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The ids of all instances, in listing order."""
        return tuple(row.instance_id for row in self.listing())

    @property
    def instances(self) -> pd.DataFrame:
        """All instances as a table, one row each, oldest first."""
        rows = [msgspec.structs.astuple(row) for row in self.listing()]
        return _frame(list(InstanceRow.__struct_fields__), rows)

    def sql(self, query: str) -> pd.DataFrame:
        """The result of a read-only query; what would write raises `StoreError`.

        There are views, the same for every kind of source: `instances`, `executions`, `turns`, `operations`,
        `arrivals`, `kv_writes`, `kv_by_turn`, and `events` that they are made of. Where a file does not store turns,
        they are inferred, a boundary at every gap of 1 ms or more between arrivals.

        >>> source.sql("SELECT instance_id, max(value_bytes) FROM kv_writes GROUP BY instance_id")  # doctest: +SKIP
        """
        return _frame(*self.query(query))

    def recordings(self, instance_ids: Iterable[str] | None = None) -> Iterator[Recording]:
        """All recordings, or those of the ids given, one at a time and in listing order or the order given."""
        for instance_id in self.instance_ids if instance_ids is None else instance_ids:
            yield self.recording(instance_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _frame(columns: list[str], rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd  # half a second; only who asks for a table waits for it

    frame = pd.DataFrame.from_records(rows, columns=columns)
    for place, values in enumerate(zip(*rows, strict=True)):
        if {type(value) for value in values} == {int, type(None)}:
            # Otherwise they would become floats, and an id that is not there NaN.
            frame.isetitem(place, pd.array(values, dtype="Int64"))
    return frame
