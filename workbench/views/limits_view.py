"""How near a turn is to the limits of the key-value store: two bars with words beside them."""

from __future__ import annotations

from workbench.runtime.turn import Turn
from workbench.views import page, words
from workbench.views.changes import key_count, largest_key, largest_value_bytes
from workbench.views.markup import Html, element


def limits_in_words(turn: Turn) -> str:
    """`1 of 10 keys, largest value 1 B of 16 KiB`."""
    return f"{key_count(turn)} of {turn.limits.kv_keys} keys, largest value {_largest(turn)}"


def limits_part(turn: Turn) -> Html:
    """Two bars with their numbers in words beside them."""
    columns = [page.Column("", "label", is_head=True), page.Column("", ""), page.Column("", "right")]
    keys, largest = key_count(turn), largest_value_bytes(turn)
    rows = [
        page.TableRow(("keys", bar(keys, turn.limits.kv_keys), f"{keys} of {turn.limits.kv_keys}")),
        page.TableRow(("largest value", bar(largest, turn.limits.kv_value_bytes), _largest(turn))),
    ]
    key = largest_key(turn)
    note = [page.sentence(f"the largest value is that of {words.shown(key)}")] if key is not None and keys > 1 else []
    return page.part(page.table("Limits", columns, rows, with_head=False), *note, css="narrow")


def bar(value: int, limit: int) -> Html:
    """A bar that is full at the limit; what it says stands in words beside it."""
    percent = min(100.0, 100 * value / limit) if limit > 0 else 100.0
    filled = element("span", style=f"width:{percent:.1f}%")
    return element("span", filled, css="bar bar-over" if value > limit else "bar", aria_hidden="true")


def _largest(turn: Turn) -> str:
    return f"{words.sized(largest_value_bytes(turn))} of {words.sized(turn.limits.kv_value_bytes)}"
