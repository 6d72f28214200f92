"""What can be switched on below the body of a stepper: parts with widgets of their own that follow its focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import ipywidgets as widgets

from workbench.panels.limits import LimitsPart
from workbench.panels.turn_key_table import KeyTablePart

if TYPE_CHECKING:
    from workbench.panels.stepper import Stepper


class Extra(Protocol):
    """A part below the body. The panel shows `root` while the switch named `label` is on, and closes it at the end.

    It reads the panel's `turns`, `focus` and `dark`, moves the focus by the panel's own methods, and wraps its
    handlers in the panel's `guarded`, so that an error appears in the panel.
    """

    @property
    def label(self) -> str:
        """The name of its switch."""
        ...

    @property
    def root(self) -> widgets.Widget:
        """What it shows."""
        ...

    def show(self) -> None:
        """Follow the panel; called after each move while it is switched on. Doing it twice is doing it once."""
        ...


EXTRAS: tuple[Callable[[Stepper], Extra], ...] = (KeyTablePart, LimitsPart)
"""What a stepper can show below its body, in the order of the switches."""
