"""The keys around a turn, snapshot | delta | what a client reads side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.runtime import kv
from workbench.runtime.operations_before import counts_of
from workbench.runtime.turn import Turn
from workbench.views import layout, page, words
from workbench.views.changes import Cell, KeyChange, entry_in_words, key_changes
from workbench.views.markup import Html, element, focusable, join, key_address

if TYPE_CHECKING:
    import pandas as pd

NO_KEYS = "no keys"
MOST_ROWS = 500
LONGEST_TITLE = 400
"""Characters up to which a value that is cut stands whole in its title."""

_DELTA_HEADS = {kv.DELTA: "delta (kv_delta)", kv.PER_TURN: "delta (not in this model)"}


def shown_keys(turn: Turn, every_key: bool = False, focus: str | None = None) -> tuple[list[KeyChange], int]:
    """The keys to show, and how many are left out: those that changed, or all that a diverged turn was given.

    The key that is looked at is always among them, if there is one of that name.
    """
    every = key_changes(turn)
    if every_key or turn.divergence is not None:
        return every[:MOST_ROWS], max(0, len(every) - MOST_ROWS)
    changed = [each for each in every if each.changed or each.key == focus]
    return changed[:MOST_ROWS], len(every) - len(changed[:MOST_ROWS])


def key_lines(turn: Turn) -> list[str]:
    """The changed keys as aligned text, or all that a diverged turn was given; the others are counted."""
    kept, left_out = shown_keys(turn)
    if not kept:
        return [none_changed(left_out)]
    poisoned = poisoned_keys(turn)
    rows = [
        (
            _sign(turn, each, poisoned),
            words.shown(each.key),
            _cell_in_words(each.snapshot),
            _cell_in_words(each.delta),
            _cell_in_words(each.client),
            f"{each.byte_count:,}",
            _note(turn, each, poisoned),
        )
        for each in kept
    ]
    lines = layout.table([("", "key", "snapshot", "delta", "client", "bytes", ""), *rows], right=(5,))
    return [*lines, f"{words.counted(left_out, 'key')} unchanged"] if left_out else lines


def none_changed(count: int) -> str:
    """What is said when no key changed."""
    return f"no key changed; {words.counted(count, 'key')} in all" if count else NO_KEYS


def keys_part(turn: Turn, every_key: bool = False, focus: str | None = None, about_focus: Html | None = None) -> Html:
    """The keys as a table; each key moves the focus to it, and `focus` is the key that has it.

    `about_focus` is what there is to say about that key.
    """
    kept, left_out = shown_keys(turn, every_key, focus)
    about = [] if about_focus is None else [page.sentence(about_focus)]
    if turn.divergence is not None:
        caption = f"Key-value store given to turn {turn.divergence.turn}"
    else:
        caption = f"Key-value store after turn {turn.number}{'' if every_key else ' · changed keys'}"
    if not kept:
        return page.part(page.title(caption), page.sentence(none_changed(left_out)), *about, css="wide")
    poisoned = poisoned_keys(turn)
    rows = [_table_row(turn, each, poisoned, each.key == focus) for each in kept]
    more = [page.sentence(f"{words.counted(left_out, 'key')} unchanged")] if left_out else []
    return page.part(page.table(caption, _columns(turn), rows), *more, *about, css="wide")


def poisoned_keys(turn: Turn) -> frozenset[str]:
    """The keys of which a poisoned value was read on the way to the end of this turn."""
    return counts_of(turn.replayed).poisoned | counts_of(turn.operations).poisoned


def keys_frame(turn: Turn) -> pd.DataFrame:
    """A row a key: sign, and its value in both tables and for a client, before and after the turn."""
    import pandas as pd

    columns = [
        "key",
        "sign",
        "snapshot_before",
        "snapshot",
        "delta_before",
        "delta",
        "client_before",
        "client",
        "bytes",
    ]
    rows = [
        [each.key, each.sign, *map(_value, (*each.snapshot, *each.delta, *each.client)), each.byte_count]
        for each in key_changes(turn)
    ]
    return pd.DataFrame(rows, columns=columns)


def _columns(turn: Turn) -> tuple[page.Column, ...]:
    return (
        page.Column("", "sign"),
        page.Column("key", "mono", is_head=True),
        page.Column("snapshot (kv_store)", "mono"),
        page.Column(_DELTA_HEADS[turn.kv_model], "mono"),
        page.Column("what a client reads", "mono"),
        page.Column("bytes", "right optional"),
    )


def _table_row(turn: Turn, change: KeyChange, poisoned: frozenset[str], current: bool) -> page.TableRow:
    sign = _sign(turn, change, poisoned)
    key = focusable(words.shown(change.key), key_address(change.key), f"key {words.shown(change.key)}", current)
    note = _note(turn, change, poisoned)
    snapshot: Sequence[str] = [_cell(change.snapshot)]
    if note:
        snapshot = [*snapshot, element("span", f" · {note}", css="quiet")]
    cells = (sign, key, join(snapshot), _cell(change.delta), _cell(change.client), f"{change.byte_count:,}")
    return page.TableRow(cells, page.TINTS.get(sign, ""))


def _sign(turn: Turn, change: KeyChange, poisoned: frozenset[str]) -> str:
    if change.key in poisoned:
        return "!"
    return "" if turn.divergence is not None else change.sign


def _note(turn: Turn, change: KeyChange, poisoned: frozenset[str]) -> str:
    """Of a poisoned key, who wrote what the snapshot holds."""
    if change.key not in poisoned:
        return ""
    given = turn.snapshot.get(change.key)
    if given is not None and given.execution_id == turn.execution_id:
        return "written by this execution"
    return "not what this execution began with"


def _cell_in_words(cell: Cell) -> str:
    if not cell.changed or cell.before is None:
        return entry_in_words(cell.after, page.ABSENT)
    return f"{entry_in_words(cell.before, page.ABSENT)} → {entry_in_words(cell.after, page.ABSENT)}"


def _cell(cell: Cell) -> Html:
    if not cell.changed:
        return _entry(cell.after)
    before = "" if cell.before is None else _entry(cell.before)
    after = "" if cell.after is None else _entry(cell.after)
    return page.before_and_after(before, after)


def _entry(entry: kv.Entry | None) -> Html:
    text = entry_in_words(entry, page.ABSENT)
    value = None if entry is None else entry.value
    cut = value is not None and words.is_cut(value)
    whole = value if cut and value is not None and len(value) <= LONGEST_TITLE else None
    return element("span", text, title=whole, css="quiet" if value is None else "")


def _value(entry: kv.Entry | None) -> str | None:
    return None if entry is None else entry.value
