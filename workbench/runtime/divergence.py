"""What can differ between a history and the code that runs against it, as plain data."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from workbench.runtime.actions import Action
from workbench.runtime.events import Event
from workbench.runtime.lines import Chain
from workbench.showing import Shown

Kind = Literal["changed", "added", "removed", "moved", "ended early", "runs on", "race changed", "broken history"]


Origin = Literal["snapshot", "set", "cleared", "never set"]


class Read(msgspec.Struct, frozen=True):
    """A KV read: what the code saw and where that came from.

    `origin` is `"snapshot"`, `"set"` (then `event_id` names the write), `"cleared"` (likewise) or `"never set"`;
    `turn` is the turn of that event. `at_ms` is the time that the value carries. `poisoned`: the snapshot given to
    this turn differs, for this key, from the state at the start of this execution; `written_by` is then the event
    of this same execution that wrote (or cleared) what the snapshot holds, if one did.
    """

    key: str
    value: str | None
    origin: Origin
    event_id: int | None = None
    turn: int | None = None
    at_ms: int | None = None
    chain: Chain = ()
    poisoned: bool = False
    written_by: int | None = None


class LineThen(msgspec.Struct, frozen=True):
    """Where an operation was made when it was recorded.

    `number` counts from the function's `def` as 1; code in a file adds the file's name and the line in it.
    """

    function: str
    number: int
    text: str
    file: str | None = None
    file_line: int | None = None


class Divergence(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The first place where the code and the record part; it ends the turn and nothing after it is compared.

    `turn` is the turn being made, `recorded_turn` the one being replayed; `operation` counts the operations of the
    recorded turn from 1. `recorded` is the event that stood there (None: nothing), `now` what the code did (None:
    nothing). `message` is the reference engine's text where it would refuse too, else our own one-line form.

    The engine fills in what it knows; whoever traced the turn adds where it was, the `chain` of lines and the `reads`
    before it, and `explain` adds `lines_up` (how many later operations equal their records if this one is allowed
    for, and how many there are), whether the code is `impure` (run again, it parts from the record elsewhere or
    otherwise) and what to do. A recording that remembers its code adds `line_then`, where the recorded operation was
    made, and `source_changed`.
    """

    _view: ClassVar[str] = "divergence"

    kind: Kind
    turn: int
    recorded_turn: int
    operation: int
    recorded: Event | None
    now: Action | None
    message: str
    dropped_now: tuple[int, ...] = ()
    dropped_recorded: tuple[int, ...] = ()
    ending: str | None = None
    instance_id: str = ""
    orchestration: str = ""
    execution_id: int = 1
    chain: Chain = ()
    reads: tuple[Read, ...] = ()
    lines_up: tuple[int, int] | None = None
    impure: bool = False
    to_do: tuple[str, ...] = ()
    local_values: tuple[tuple[str, str], ...] = ()
    line_then: LineThen | None = None
    source_changed: bool | None = None

    @property
    def address(self) -> str:
        """`execution.turn.operation`, e.g. `1.2.1`."""
        return f"{self.execution_id}.{self.turn}.{self.operation}"

    @property
    def explaining_read(self) -> Read | None:
        """The last poisoned read before it: the code saw what it was about to write."""
        return next((read for read in reversed(self.reads) if read.poisoned), None)


class StrictDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is not part of the match but differs; it never stops a replay."""

    turn: int
    event_id: int
    what: str
    recorded: str
    now: str
    chain: Chain = ()


class OutcomeDifference(msgspec.Struct, frozen=True, kw_only=True):
    """All operations lined up, and the ending is another one."""

    turn: int
    recorded_status: str
    recorded_output: str
    now_status: str
    now_output: str
