"""Where a read's value came from, in words."""

from __future__ import annotations

from workbench.runtime.divergence import Read


def provenance(read: Read) -> str:
    """`from the snapshot`, `set in turn 2, event 5`, `cleared in turn 2, event 6`, `never set`; and if poisoned."""
    if read.origin == "snapshot":
        return f"from the snapshot{_poison(read)}"
    if read.origin == "never set":
        return f"never set{_poison(read)}" if not read.poisoned else f"not in the snapshot{_poison(read)}"
    turn = "" if read.turn is None else f" in turn {read.turn}"
    event = "" if read.event_id is None else f", event {read.event_id}"
    return f"{read.origin}{turn}{event}"


def _poison(read: Read) -> str:
    if not read.poisoned:
        return ""
    if read.written_by is None:
        return ": poisoned, it was not so when this execution began"
    verb = "wrote" if read.value is not None else "cleared"
    return f": poisoned, event {read.written_by} of this execution {verb} it"
