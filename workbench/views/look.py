"""What a panel looks at, and the pieces of its picture."""

from __future__ import annotations

from typing import NamedTuple

from workbench.views.markup import Html


class Look(NamedTuple):
    """Addresses of turn and operation, a key, and whether unchanged keys are shown."""

    turn: str = ""
    operation: str = ""
    key: str | None = None
    every_key: bool = False


class Picture(NamedTuple):
    """The pieces that a live panel shows with its bar in between, and a saved one after one another."""

    head: Html
    strip: Html
    body: Html
