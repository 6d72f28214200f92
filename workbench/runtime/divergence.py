"""What can differ between a history and the code that runs against it, as plain data."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from workbench.runtime.actions import Action
from workbench.runtime.events import Event

Kind = Literal["changed", "added", "removed", "moved", "ended early", "runs on", "race changed", "broken history"]


class Line(NamedTuple):
    """A place in user code. `first_line` is where the function's `def` stands, so lines can be counted from it."""

    file: str
    function: str
    line: int
    first_line: int


Chain = tuple[Line, ...]
"""The lines that lead to an operation, innermost first, through every `yield from` and `await`."""


class Read(msgspec.Struct, frozen=True):
    """A KV read: what the code saw and where that came from.

    `origin` is `"snapshot"`, `"set"` (then `event_id` names the write), `"cleared"` (likewise) or `"never set"`.
    `poisoned`: the snapshot given to this turn holds another value for the key than the execution started with.
    """

    key: str
    value: str | None
    origin: Literal["snapshot", "set", "cleared", "never set"]
    event_id: int | None = None
    chain: Chain = ()
    at_ms: int | None = None


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first place where the code and the record part; it ends the turn and nothing after it is compared.

    `turn` is the turn being made, `recorded_turn` the one being replayed; `operation` counts the operations of the
    recorded turn from 1. `recorded` is the event that stood there (None: nothing), `now` what the code did (None:
    nothing). `message` is the reference engine's text where it would refuse too, else our own one-line form.
    """

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
    chain: Chain = ()
    reads: tuple[Read, ...] = ()


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
