"""The key-value store of an instance as it stands: snapshot | delta | what a client reads, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from workbench.runtime import kv
from workbench.showing import Shown
from workbench.views import layout, page, words
from workbench.views.changes import entry_in_words
from workbench.views.key_table import NO_KEYS
from workbench.views.markup import Html, element

if TYPE_CHECKING:
    import pandas as pd

HEADS = {kv.DELTA: ("snapshot", "delta", "client"), kv.PER_TURN: ("snapshot", "delta (not in this model)", "client")}


class KeyValuesNow(Shown, msgspec.Struct, frozen=True, kw_only=True):
    """The two tables of an instance; with `key` only that one is shown."""

    _view: ClassVar[str] = "kv_now"

    instance_id: str
    kv_model: kv.KVModel
    tables: kv.Tables
    key: str | None = None


def line(now: KeyValuesNow) -> str:
    """The table of `text`, since a notebook without HTML shows this."""
    return text(now)


def text(now: KeyValuesNow) -> str:
    """A row a key, under the name of the instance."""
    name = words.shown(now.instance_id)
    rows = _rows(now)
    if not rows:
        return f"{name}: {_nothing(now)}"
    heads = ("key", *HEADS[now.kv_model])
    return "\n".join([f"{name}, {now.kv_model} model", *("  " + each for each in layout.table([heads, *rows]))])


def html(now: KeyValuesNow) -> str:
    """The same as a table."""
    rows = _rows(now)
    caption = f"Key-value store of {words.shown(now.instance_id)} · {now.kv_model} model"
    if not rows:
        return page.rendering(page.part(page.title(caption), page.sentence(_nothing(now))))
    columns = [page.Column("key", "mono", is_head=True)]
    columns += [
        page.Column(head, "mono") for head in ("snapshot (kv_store)", "delta (kv_delta)", "what a client reads")
    ]
    shown = [page.TableRow((key, *map(_cell, cells))) for key, *cells in rows]
    return page.rendering(page.part(page.table(caption, columns, shown)))


def frame(now: KeyValuesNow) -> pd.DataFrame:
    """A row a key; None where there is no value."""
    import pandas as pd

    rows = [[key, *(None if each is None else each.value for each in entries)] for key, *entries in _entries(now)]
    return pd.DataFrame(rows, columns=["key", "snapshot", "delta", "client"])


def _rows(now: KeyValuesNow) -> list[tuple[str, ...]]:
    found = _entries(now)
    return [(words.shown(key), *(entry_in_words(each, page.ABSENT) for each in entries)) for key, *entries in found]


def _entries(now: KeyValuesNow) -> list[tuple[str, kv.Entry | None, kv.Entry | None, kv.Entry | None]]:
    store, delta, client = now.tables.store, now.tables.delta, kv.client_view(now.tables)
    keys = sorted(store.keys() | delta.keys()) if now.key is None else [now.key]
    every = [(key, store.get(key), delta.get(key), client.get(key)) for key in keys]
    return [each for each in every if each[1] is not None or each[2] is not None]


def _cell(text: str) -> Html:
    return element("span", text, css="quiet" if text == page.ABSENT else "")


def _nothing(now: KeyValuesNow) -> str:
    return NO_KEYS if now.key is None else f"no key {words.shown(now.key)}"
