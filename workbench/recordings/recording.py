"""A recording: one instance's recorded executions as plain data, whoever wrote them and wherever they were stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from workbench.recordings.integrity import Damage
from workbench.recordings.recorded_code import RecordedCode
from workbench.runtime.kv import Entry, KVModel, Tables
from workbench.runtime.limits import Limits
from workbench.runtime.provider import History
from workbench.runtime.watchdog import DEADLINE_MS
from workbench.showing import Steppable, Stepping

if TYPE_CHECKING:
    from workbench.recordings.replay import Replay

DUROXIDE_WRITER: Final = "duroxide-"


class RecordedExecution(msgspec.Struct, frozen=True):
    """One execution of a recording.

    `output` is the stored text: the result, the error, or the next input. `history` has every stored row, also those
    that cannot be read (events of type `integrity.UNREADABLE`). With `turns_inferred` the turn numbers are a reading
    of order and times, and `soft_boundaries` names the events whose turn begins only by a gap of 1 ms.
    `kv_snapshot` is the KV state given to the first turn, None where it is no longer known.
    """

    execution_id: int
    status: str
    output: str | None
    history: History
    turns_inferred: bool
    soft_boundaries: tuple[int, ...] = ()
    kv_snapshot: Mapping[str, Entry] | None = None
    damage: tuple[Damage, ...] = ()

    @property
    def event_count(self) -> int:
        """How many rows its history has."""
        return len(self.history.events)

    @property
    def turn_count(self) -> int:
        """How many turns wrote them."""
        return len(set(self.history.turns))


class Elsewhere:
    """Finds the recordings of other instances in the same place, for links to children and parents.

    It says nothing about a recording, so all are equal.
    """

    __slots__ = ("find",)

    def __init__(self, find: Callable[[str], Recording]) -> None:
        self.find = find

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, Elsewhere)

    def __hash__(self) -> int:
        return 0


class Recording(Steppable, msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is recorded of one instance.

    `writer` is who made the events, `duroxide-<version>` or `workbench-<version>`; `kv_tables` are the KV tables as
    they are stored. `elsewhere` finds the other instances of the file it was read from. `code` is what is remembered of
    the function that made it, None unless it was taken from a run here.
    """

    _view: ClassVar[str] = "recording"

    instance_id: str
    orchestration: str
    version: str
    writer: str
    limits: Limits
    kv_model: KVModel
    executions: tuple[RecordedExecution, ...]
    kv_tables: Tables
    custom_status: str | None = None
    custom_status_version: int = 0
    parent_instance: str | None = None
    elsewhere: Elsewhere | None = None
    code: RecordedCode | None = None

    @property
    def is_duroxide(self) -> bool:
        """Whether duroxide wrote it, so that duroxide's dialect and limits apply."""
        return self.writer.startswith(DUROXIDE_WRITER)

    @property
    def last(self) -> RecordedExecution:
        """The newest execution."""
        return self.executions[-1]

    @property
    def status(self) -> str:
        """Status of the newest execution: Running, Completed, Failed or ContinuedAsNew."""
        return self.last.status

    @property
    def output(self) -> str | None:
        """The result as JSON text, None unless it completed."""
        return self.last.output if self.status == "Completed" else None

    @property
    def error(self) -> str | None:
        """The error text, None unless it failed."""
        return self.last.output if self.status == "Failed" else None

    @property
    def event_count(self) -> int:
        """Rows in all histories."""
        return sum(execution.event_count for execution in self.executions)

    @property
    def turn_count(self) -> int:
        """Turns in all executions."""
        return sum(execution.turn_count for execution in self.executions)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What cannot be trusted, in all executions."""
        return tuple(damage for execution in self.executions for damage in execution.damage)

    def to_json(self, path: str | Path | None = None, redact: Callable[[str, str], str] | None = None) -> str:
        """The recording as JSON text, one event a line; with `path` also written there, whole or not at all.

        `redact(what, text)` returns what is written for a value: `what` is `input`, `output`, `result`, `data`,
        `value`, `status`, `error`, `reason`, `source` (of the code) or `row` (one that cannot be read). Names, keys,
        ids and times stay. Inputs and written values are compared by a replay, and results go into the code: it still
        lines up if equal texts always get equal ones and the code only passes values on; what it computes, formats
        or branches on can no longer be compared. To keep that, leave alone what it depends on.
        """
        from workbench.recordings.envelope import encode, write
        from workbench.recordings.redacting import redacted

        text = encode(self if redact is None else redacted(self, redact))
        if path is not None:
            write(text, Path(path))
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Recording:
        """The recording that `to_json` made; `source` is its text (it begins with a brace) or a file.

        Raises `BadRecording`, or `NoSuchFile`.
        """
        from workbench.recordings.envelope import decode, read

        if isinstance(source, str) and source.lstrip().startswith("{"):
            return decode(source)
        return read(Path(source))

    def stepping(self) -> Stepping:
        """Its turns as the events tell them, without code."""
        return self.replay().stepping()

    def replay(
        self,
        code: Callable[..., Any] | None = None,
        kv_model: KVModel | None = None,
        limits: Limits | None = None,
        keep_locals: bool = False,
        deadline_ms: int | None = DEADLINE_MS,
        strict: bool = False,
    ) -> Replay:
        """Run the recorded turns against `code`, or show them without; see `workbench.recordings.replay.replay`."""
        from workbench.recordings.replay import replay

        return replay(self, code, kv_model, limits, keep_locals, deadline_ms, strict)
