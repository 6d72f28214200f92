"""The views that a query over a source finds, as SQL of SQLite and of DuckDB.

They are temporary views of the connection that runs the query: the file itself is only read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib import resources
from typing import Final

import msgspec

from workbench.runtime import events as ev

NAMES: Final = (
    "events",
    "instances",
    "executions",
    "turns",
    "operations",
    "arrivals",
    "kv_writes",
    "kv_by_turn",
)

# An arrival behind anything that is none, or made at another time than the arrival before it, begins a turn.
_INFERRED_TURN: Final = """1 + sum(
    CASE WHEN known AND arrives AND (NOT arrived_before OR at_ms <> before_ms) THEN 1 ELSE 0 END
) OVER (PARTITION BY instance_id, execution_id ORDER BY event_id)"""

_TEXT_FIELD: Final = re.compile(r"\{text (\w+)\}")

_OPTIONAL: Final = ("custom_status", "parent_instance_id")


def sqlite_views(instance_columns: Collection[str], *, turns_are_stored: bool = False) -> list[str]:
    """The statements that make the views in SQLite; `instance_columns` are those that the file's `instances` has."""
    names = {
        "file": "main",
        "turn": "turn" if turns_are_stored else _INFERRED_TURN,
        "bytes_of_value": "length(CAST(value AS BLOB))",
        **{column: f"i.{column}" if column in instance_columns else "NULL" for column in _OPTIONAL},
    }
    return _statements("events_sqlite.sql", names)


def text_with_nul(event_data: str, field: str) -> str | None:
    """A field of an event's JSON as text; objects as JSON text."""
    try:
        value = msgspec.json.decode(event_data).get(field)
    except (msgspec.DecodeError, AttributeError):  # no JSON, or no object
        return None
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def duckdb_views(catalog: str) -> list[str]:
    """The statements that make the views in DuckDB, over the tables of a catalog (an attached file)."""
    quoted = catalog.replace('"', '""')
    names = {
        "file": f'"{quoted}".main',
        "bytes_of_value": "strlen(value)",
        **{column: f"i.{column}" for column in _OPTIONAL},
    }
    return _statements("events_duckdb.sql", names)


def _statements(events_file: str, names: dict[str, str]) -> list[str]:
    text = _TEXT_FIELD.sub(_as_text, _text(events_file)) + "\n" + _text("views.sql")
    for name, kinds in _KINDS.items():
        text = text.replace(f"{{{name}}}", kinds)
    for name, meaning in names.items():
        text = text.replace(f"{{{name}}}", meaning)
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def _as_text(field: re.Match[str]) -> str:
    """A field as text in SQLite, whose own JSON functions cut a text at a NUL."""
    name = field[1]
    cut = rf"instr(event_data, '\u0000') > 0 THEN text_with_nul(event_data, '{name}')"
    return f"CASE WHEN NOT valid THEN NULL WHEN {cut} ELSE json_extract(event_data, '$.{name}') END"


@cache
def _text(name: str) -> str:
    text = resources.files(__package__).joinpath("sql", name).read_text(encoding="utf-8")
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(f"'{kind}'" for kind in sorted(kinds))  # our own constants, never a user's text


_KINDS: Final = {
    "known": _listed(ev.KNOWN_TYPES),
    "arrivals": _listed(ev.ARRIVALS),
    "operations": _listed(ev.OPERATIONS),
    "completions": _listed(ev.COMPLETIONS),
    "endings": _listed(ev.ENDINGS),
    "kv_events": _listed(ev.KV_EVENTS),
}
