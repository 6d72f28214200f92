"""The views that a query over a source finds, as SQL of SQLite and of DuckDB.

They are temporary views of the connection that runs the query: the file itself is only read. The SQL stands in
`sql/`; names in braces are filled in here, from constants and from the names of tables and columns only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
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

# An arrival behind anything that is none, or made at another time than the arrival before it, begins a turn; events of
# unknown type decide nothing, so that behind one of them the last known one is looked up.
_INFERRED_TURNS: Final = {
    "stored_turn": "NULL",
    "turn": "1 + sum(begins) OVER so_far",
    "begins": """CASE
        WHEN h.event_type NOT IN ({arrivals}) THEN 0
        WHEN p.event_type IN ({known}) THEN coalesce(
            p.event_type NOT IN ({arrivals}) OR {number timestamp_ms of p} <> {number timestamp_ms of h}, 0)
        ELSE coalesce((
            SELECT x.event_type NOT IN ({arrivals}) OR {number timestamp_ms of x} <> {number timestamp_ms of h}
            FROM {file}.history x
            WHERE x.instance_id = h.instance_id AND x.execution_id = h.execution_id
              AND x.event_id < h.event_id AND x.event_type IN ({known})
            ORDER BY x.event_id DESC LIMIT 1
        ), 0) END""",
}
_STORED_TURNS: Final = {"stored_turn": "h.turn", "turn": "stored_turn", "begins": "h.turn IS NOT p.turn"}

# SQLite's own JSON functions cut a text at a NUL; `text_with_nul` does not.
_SQLITE_FIELDS: Final = {
    r"\{number (\w+) of (\w)\}": r"CASE WHEN json_valid(\2.event_data)"
    r" THEN CAST(json_extract(\2.event_data, '$.\1') AS INTEGER) END",
    r"\{text (\w+)\}": r"CASE WHEN NOT json_valid(event_data) THEN NULL"
    r" WHEN instr(event_data, '\\u0000') > 0 THEN text_with_nul(event_data, '\1')"
    r" ELSE json_extract(event_data, '$.\1') END",
}
_DUCKDB_FIELDS: Final = {
    r"\{number (\w+) of (\w)\}": r"CASE WHEN json_valid(\2.event_data)"
    r" THEN try_cast(\2.event_data ->> '$.\1' AS BIGINT) END",
    r"\{text (\w+)\}": r"CASE WHEN json_valid(event_data) THEN event_data ->> '$.\1' END",
}
_OPTIONAL: Final = ("custom_status", "parent_instance_id")


def sqlite_views(instance_columns: Collection[str], *, turns_are_stored: bool = False) -> list[str]:
    """The statements that make the views in SQLite; `instance_columns` are those that the file's `instances` has.

    Their connection needs the function `text_with_nul`.
    """
    names = {
        **(_STORED_TURNS if turns_are_stored else _INFERRED_TURNS),
        **{column: f"i.{column}" if column in instance_columns else "NULL" for column in _OPTIONAL},
        "bytes_of_value": "length(CAST(value AS BLOB))",
        "file": "main",
    }
    return _statements("events_sqlite.sql", names, _SQLITE_FIELDS)


def duckdb_views(catalog: str) -> list[str]:
    """The statements that make the views in DuckDB, over the tables of a catalog (an attached file)."""
    quoted = catalog.replace('"', '""')
    names = {
        **{column: f"i.{column}" for column in _OPTIONAL},
        "bytes_of_value": "strlen(value)",
        "file": f'"{quoted}".main',
    }
    return _statements("events_duckdb.sql", names, _DUCKDB_FIELDS)


def text_with_nul(event_data: str, field: str) -> str | None:
    """A field of an event's JSON as text; objects as JSON text."""
    try:
        value = msgspec.json.decode(event_data).get(field)
    except (msgspec.DecodeError, AttributeError):  # no JSON, or no object
        return None
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()


def _statements(events_file: str, names: Mapping[str, str], fields: Mapping[str, str]) -> list[str]:
    parts = [part for file in (events_file, "views.sql") for part in _text(file).split(";")]
    return [_filled_in(part.strip(), names, fields) for part in parts if part.strip()]


def _filled_in(text: str, names: Mapping[str, str], fields: Mapping[str, str]) -> str:
    for name, meaning in {
        "fields": _text("fields.sql"),
        **names,
        **_KINDS,
    }.items():  # what a name means may hold other names, further down
        text = text.replace(f"{{{name}}}", meaning)
    for field, meaning in fields.items():
        text = re.sub(field, meaning, text)
    return text


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
