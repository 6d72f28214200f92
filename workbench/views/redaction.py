"""Turns without the values of their users, for pages that leave the house.

Everything that is text is taken away unless it is known to be code or a name: what a later version adds to a turn is
hidden until somebody says that it may be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeVar

import msgspec

from workbench.runtime import events as ev
from workbench.runtime import kv
from workbench.runtime.actions import MATCHED_FIELDS, Action, Signature
from workbench.runtime.divergence import Divergence, OutcomeDifference, Read, StrictDifference
from workbench.runtime.operations_before import OperationsBefore, OperationsMade
from workbench.runtime.turn import Operation, Turn
from workbench.views import words
from workbench.views.masked import Masked

Redact = Callable[[str, str], str | None] | Literal["values"]
"""What to show for a value, given what it is (a key of the store, `input`, a local's name …) and the value."""

S = TypeVar("S", bound=msgspec.Struct)

_SEEN: Final[dict[type, frozenset[str]]] = {
    Turn: frozenset({"orchestration", "kv_model", "status", "stopped", "parked"}),
    ev.Event: frozenset({"type", "name", "version", "key", "tag", "duroxide_version"}),
    Operation: frozenset({"state", "chain"}),
    Read: frozenset({"key", "origin", "chain"}),
    Divergence: frozenset({"kind", "orchestration", "to_do", "chain", "line_then", "source_changed"}),
    StrictDifference: frozenset({"what", "chain"}),
    OutcomeDifference: frozenset({"recorded_status", "now_status"}),
}
"""The fields that are shown as they are: code, names, kinds, keys."""
_NAMES: Final = frozenset({"name", "key", "tag"})
_SAFE: Final = re.compile(
    r"a second outcome for event \d+ was ignored"
    r"|an outcome for execution \d+, event \d+, came too late"
    r"|the code refuses to be closed: it yields again in its own cleanup"
    r"|timer of \d+ ms(, event \d+)?"
    r"|reset custom status"
    r"|event [^\n]* arrived, (nobody waiting|its wait had just lost a race)"
)
"""Texts of the engine that hold no value."""
_WAITS: Final = re.compile(
    r"(activity|sub-orchestration) ([^(]*)\((.*)\)( with up to \d+ attempts)?(, event \d+)", re.DOTALL
)
_WAITS_FOR_NAME: Final = re.compile(r"(wait for event|dequeue from) .*, event \d+", re.DOTALL)


def redacted(turns: Iterable[Turn], redact: Redact) -> list[Turn]:
    """The turns with every value replaced: `"values"` by its size, a callable by what it returns.

    The callable gets what the value is and the value; returning the value keeps it, `None` shows only its size. Keys,
    code, and the names of orchestrations, activities, events and queues stay; ids of instances do not. Signs and
    sizes are still those of the values themselves.
    """
    redaction = _Redaction(redact)
    return [redaction.struct(turn) for turn in turns]


def size_only(value: str) -> str:
    """What stands for a value of which only the size is shown: `‹6 B›`."""
    return f"‹{words.sized(words.byte_count(value))}›"


class _Redaction:
    """One pass over turns; what several of them share is replaced once and shared again."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._done: dict[tuple[int, str], tuple[object, Any]] = {}

    def text(self, name: str, value: str) -> str:
        asked = None if self._redact == "values" else self._redact(name, value)
        return value if asked == value else Masked(size_only(value) if asked is None else asked, value)

    def struct(self, value: S, name: str = "") -> S:
        key = (id(value), name)
        if key not in self._done:
            seen = _SEEN.get(type(value), frozenset())
            fields = {field: getattr(value, field) for field in value.__struct_fields__ if field not in seen}
            special = _SPECIAL.get(type(value))
            replaced = {} if special is None else special(self, value)
            replaced |= {
                field: self.any(each, name or field) for field, each in fields.items() if field not in replaced
            }
            self._done[key] = (value, msgspec.structs.replace(value, **replaced))
        made: S = self._done[key][1]
        return made

    def any(self, value: Any, name: str) -> Any:
        """Whatever it is, without its texts; what has none stays."""
        if isinstance(value, str):
            return self.text(name, value)
        if isinstance(value, msgspec.Struct):
            return self.struct(value, name if isinstance(value, kv.Entry) else "")
        if isinstance(value, OperationsBefore):
            return OperationsBefore(self._made(value.made), len(value))
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, tuple | list):
            return type(value)(self._sequence(value, name))
        return value

    def _mapping(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """A table of the store, or the fields of an error: their names stay."""
        key = (id(value), "")
        if key not in self._done:
            self._done[key] = (value, {name: self.any(each, name) for name, each in value.items()})
        made: Mapping[str, Any] = self._done[key][1]
        return made

    def _sequence(self, value: Sequence[Any], name: str) -> list[Any]:
        """Pairs of texts are a name and a value: locals, and messages that are carried over."""
        return [
            (each[0], self.text(*each))
            if isinstance(each, tuple) and len(each) == 2 and all(isinstance(part, str) for part in each)
            else self.any(each, name)
            for each in value
        ]

    def _made(self, made: OperationsMade) -> OperationsMade:
        key = (id(made), "")
        if key not in self._done:
            again = OperationsMade()
            again.operations = [self.struct(each) for each in made.operations]
            self._done[key] = (made, again)
        done: OperationsMade = self._done[key][1]
        return done

    # Where the name of a value, or what of a text is a value, stands elsewhere.

    def turn(self, turn: Turn) -> dict[str, Any]:
        return {
            "waiting_for": tuple(map(self._waits, turn.waiting_for)),
            "warnings": tuple(each if _SAFE.fullmatch(each) else self.text("warning", each) for each in turn.warnings),
            "refused": None if turn.refused is None else self.text("error", turn.refused),
        }

    def event(self, event: ev.Event) -> dict[str, Any]:
        return {"value": self.text(str(event.key), event.value)} if isinstance(event.value, str) else {}

    def operation(self, operation: Operation) -> dict[str, Any]:
        signature = operation.signature
        text = operation.text
        if signature is not None and signature[0] == ev.STATUS_UPDATED:
            status = text.removeprefix('custom status "').removesuffix('"')
            text = text if _SAFE.fullmatch(text) else f'custom status "{self.text("status", status)}"'
        elif not _SAFE.fullmatch(text):
            text = self.text("operation", text)
        return {"text": text, "signature": self._signature(signature)}

    def action(self, action: Action) -> dict[str, Any]:
        return {"signature": self._signature(action.signature)}

    def read(self, read: Read) -> dict[str, Any]:
        return {"value": None if read.value is None else self.text(read.key, read.value)}

    def _signature(self, signature: Signature | None) -> Signature | None:
        if signature is None:
            return None
        kind, *fields = signature
        names = MATCHED_FIELDS.get(str(kind), ())
        made = []
        for position, each in enumerate(fields):
            name = names[position] if position < len(names) else ""
            named = str(fields[0]) if kind == ev.KV_SET and name == "value" else name or "operation"
            made.append(each if each is None or name in _NAMES else self.text(named, each))
        return (kind, *made)

    def _waits(self, text: str) -> str:
        if _SAFE.fullmatch(text) or _WAITS_FOR_NAME.fullmatch(text):
            return text
        found = _WAITS.fullmatch(text)
        if found is None:
            return self.text("waiting", text)
        kind, name, given, attempts, event = found.groups()
        return f"{kind} {name}({self.text('input', given)}){attempts or ''}{event}"


_SPECIAL: Final[dict[type, Callable[[_Redaction, Any], dict[str, Any]]]] = {
    Turn: _Redaction.turn,
    ev.Event: _Redaction.event,
    Operation: _Redaction.operation,
    Action: _Redaction.action,
    Read: _Redaction.read,
}
