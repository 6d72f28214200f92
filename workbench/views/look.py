"""What a panel looks at, and the pieces of its picture."""

from __future__ import annotations

from typing import NamedTuple

from workbench.views.markup import Html

BACK = "back:"
"""What a click on *back* reports."""


class Look(NamedTuple):
    """Addresses of turn and operation, a key, and whether unchanged keys are shown.

    `opens`: other instances can be opened from here; `back` is the address that *back* leads to, empty for none.
    """

    turn: str = ""
    operation: str = ""
    key: str | None = None
    every_key: bool = False
    opens: bool = False
    back: str = ""


class Picture(NamedTuple):
    """The pieces that a live panel shows with its bar in between, and a saved one after one another."""

    head: Html
    strip: Html
    body: Html
