"""Turn × key table: a row a turn, a column a key, each cell what a client reads after that turn."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.runtime import kv
from workbench.runtime.turn import Turn
from workbench.views import layout, page, words
from workbench.views.addresses import position_of
from workbench.views.changes import Sign, tables_after
from workbench.views.grid import Cell, grid
from workbench.views.key_table import LONGEST_TITLE, poisoned_keys
from workbench.views.markup import Html, element, focusable, join, key_address, key_at
from workbench.views.strip import glyph

if TYPE_CHECKING:
    import pandas as pd

PAGE_ROWS = 500
MOST_KEYS = 12
"""Columns of a page; the other keys are named and can be clicked."""
MOST_NAMED = 24
LONGEST_CELL = 12
"""Characters of a value that a cell shows when it has to be cut."""
NOTHING = "·"
CLEARED = "cleared"


class TurnKeys(NamedTuple):
    """Turns in order, and for each key that any of them knows where those stand that changed it."""

    turns: Sequence[Turn]
    changes: Mapping[str, Sequence[int]]


class KeyColumns(NamedTuple):
    """The keys that a page shows, in key order, and those it leaves out, changed most recently first."""

    shown: tuple[str, ...]
    left_out: tuple[str, ...]


def turn_keys(turns: Sequence[Turn]) -> TurnKeys:
    """The keys of some turns; made once, as it looks at every turn."""
    changes: dict[str, list[int]] = {}
    for position, turn in enumerate(turns):
        before, after = turn.before, tables_after(turn)
        if position == 0 or turn.execution_id != turns[position - 1].execution_id:
            for key in (*before.store, *before.delta):
                changes.setdefault(key, [])
        if after is before:
            continue
        for key in {*before.store, *before.delta, *after.store, *after.delta}:
            found = changes.setdefault(key, [])
            if value_in(before, key) != value_in(after, key):
                found.append(position)
    return TurnKeys(turns, {key: changes[key] for key in sorted(changes)})


def page_at(count: int, position: int) -> range:
    """The page of rows that the turn at `position` stands on, of `count` turns."""
    first = max(0, min(position, count - 1)) // PAGE_ROWS * PAGE_ROWS
    return range(first, min(count, first + PAGE_ROWS))


def columns_of(keys: TurnKeys, rows: range, pinned: str | None = None) -> KeyColumns:
    """The keys to show on a page: the one that is looked at, then those changed most recently up to its end."""

    def recency(key: str) -> tuple[bool, int, str]:
        positions = keys.changes[key]
        before = bisect_left(positions, rows.stop)
        return key != pinned, -positions[before - 1] if before else len(keys.turns), key

    ranked = sorted(keys.changes, key=recency)
    return KeyColumns(tuple(sorted(ranked[:MOST_KEYS])), tuple(ranked[MOST_KEYS:]))


def value_in(tables: kv.Tables, key: str) -> str | None:
    """What a client reads for a key, None when there is nothing."""
    entry = tables.delta.get(key) or tables.store.get(key)
    return None if entry is None else entry.value


def row_cells(turn: Turn, shown: Iterable[str]) -> Iterator[tuple[Sign, str | None]]:
    """Each key's sign around the turn, and its value after it."""
    before, after = turn.before, tables_after(turn)
    for key in shown:
        was, value = value_in(before, key), value_in(after, key)
        yield "=" if was == value else "+" if was is None else "−" if value is None else "~", value


def target(address: str, keys: Iterable[str]) -> tuple[str | None, str | None]:
    """The turn and the key that a click names: `1.3`, `key:a`, or a cell's `1.3/key:a`; None for what it does not.

    Raises `LookupError` for a key that is not there.
    """
    turn, _, key = address.rpartition("/") if "/" in address else ("", "", address)
    if not key.startswith("key:"):
        return address, None
    named = key_at(key, keys)
    if named is None:
        raise LookupError(f"there is no key {key.removeprefix('key:')!r} in these turns")
    return turn or None, named


# Showing.


def table_lines(keys: TurnKeys, rows: range) -> list[str]:
    """A page as aligned text; the sign before a value says what the turn did to it."""
    if not keys.turns:
        return ["no turns"]
    if not keys.changes:
        return [f"{words.counted(len(keys.turns), 'turn')}, {_NO_KEYS}"]
    columns = columns_of(keys, rows)
    head = ("", "turn", *(f"  {words.shown(key)}" for key in columns.shown))
    lines = [head]
    for position in rows:
        turn = keys.turns[position]
        lines.append((_mark(turn), turn.address, *(cell.text for cell in _cells(turn, columns.shown))))
    return [*layout.table(lines), *_left_out_in_words(keys, rows, columns)]


def key_grid(
    keys: TurnKeys, rows: range, columns: KeyColumns, current: frozenset[str] = frozenset(), is_live: bool = True
) -> Html:
    """A page as HTML; `current` are the addresses that are looked at. In what is not live no key moves around."""
    caption = f"What a client reads after each turn · {_extent(keys, rows)}"
    if not keys.changes:
        return page.part(page.title(caption), page.sentence(f"{_NO_KEYS[0].upper()}{_NO_KEYS[1:]}."))
    heads = [Cell("turn"), *(Cell(words.shown(key, LONGEST_CELL), key_address(key)) for key in columns.shown)]
    body = [_grid_row(keys.turns[position], columns.shown) for position in rows]
    return page.part(grid(caption, heads, body, current, is_live), legend(), *_more_keys(columns.left_out))


def looked_at(turn: str, key: str | None) -> frozenset[str]:
    """The addresses that are marked when a turn and perhaps a key are looked at."""
    if key is None:
        return frozenset({turn})
    return frozenset({turn, key_address(key), f"{turn}/{key_address(key)}"})


def turn_key_frame(turns: Sequence[Turn]) -> pd.DataFrame:
    """What a client reads after each turn: a row a turn, a column a key; None where there is nothing."""
    import pandas as pd

    keys = turn_keys(turns)
    rows = [[value_in(tables_after(turn), key) for key in keys.changes] for turn in turns]
    index = pd.Index([turn.address for turn in turns], name="turn", dtype="str")
    return pd.DataFrame(rows, index=index, columns=list(keys.changes), dtype=object)


def head(keys: TurnKeys) -> Html:
    """Whose turns these are, how many turns and keys."""
    if not keys.turns:
        return page.head("No turn yet", "")
    last = keys.turns[-1]
    return page.head(words.shown(last.orchestration), f"{words.shown(last.instance_id)} · {_counts(keys)}")


def line(keys: TurnKeys) -> str:
    """`Counter · counter-1 · 6 turns × 1 key`."""
    who = (keys.turns[-1].orchestration, keys.turns[-1].instance_id) if keys.turns else ()
    return " · ".join([*(words.shown(each) for each in who), _counts(keys)])


def position_in(keys: TurnKeys, address: str) -> int:
    """Where a turn stands, the last one if there is none of that address."""
    position = position_of(keys.turns, address)
    return len(keys.turns) - 1 if position is None else position


def _counts(keys: TurnKeys) -> str:
    return f"{words.counted(len(keys.turns), 'turn')} × {words.counted(len(keys.changes), 'key')}"


_NO_KEYS = "no key is written in these turns"


def _cells(turn: Turn, shown: Iterable[str]) -> Iterator[Cell]:
    poisoned = poisoned_keys(turn)
    for key, (sign, value) in zip(shown, row_cells(turn, shown), strict=True):
        mark = "!" if key in poisoned else "" if turn.divergence is not None or sign == "=" else sign
        text = (CLEARED if sign == "−" else NOTHING) if value is None else _short(value)
        whole = value if value is not None and len(text) < len(value) <= LONGEST_TITLE else None
        yield Cell(f"{mark or ' '} {text}", "", page.TINTS.get(mark, "") or "quiet", whole)


def _short(value: str) -> str:
    text = words.shown(value, LONGEST_CELL)
    return text if value and value == value.strip() else f'"{text}"'


def _grid_row(turn: Turn, shown: Sequence[str]) -> list[Cell]:
    address = turn.address
    cells = (
        cell._replace(address=f"{address}/{key_address(key)}")
        for key, cell in zip(shown, _cells(turn, shown), strict=True)
    )
    return [Cell(f"{_mark(turn) or glyph(turn)} {address}", address), *cells]


def _mark(turn: Turn) -> str:
    return "✗" if turn.divergence is not None else "−" if turn.refused is not None else ""


def _extent(keys: TurnKeys, rows: range) -> str:
    if len(rows) == len(keys.turns):
        return words.counted(len(keys.turns), "turn")
    return f"rows {rows.start + 1:,} to {rows.stop:,} of {len(keys.turns):,} turns"


def _more_keys(left_out: Sequence[str]) -> list[Html]:
    if not left_out:
        return []
    links = [focusable(words.shown(key, LONGEST_CELL), key_address(key)) for key in left_out[:MOST_NAMED]]
    more = f" and {len(left_out) - MOST_NAMED:,} more" if len(left_out) > MOST_NAMED else ""
    return [page.sentence(join([f"{words.counted(len(left_out), 'more key')}: ", join(links, between=", "), more]))]


def _left_out_in_words(keys: TurnKeys, rows: range, columns: KeyColumns) -> list[str]:
    notes = [] if len(rows) == len(keys.turns) else [_extent(keys, rows)]
    if columns.left_out:
        named = words.listed((words.shown(key, LONGEST_CELL) for key in columns.left_out), 6)
        notes.append(f"{words.counted(len(columns.left_out), 'more key')}: {named}")
    return notes


def legend() -> Html:
    """What the signs say."""
    return element("p", "+ came · ~ changed · − cleared · ! a poisoned value was read", css="quiet legend")
