"""What can be switched on below the body of a stepper: parts with widgets of their own that follow its focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import ipywidgets as widgets

from workbench.panels.html_view import HtmlView
from workbench.views import stepper

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


class LimitsChart:
    """Key count and largest value over the turns, with both limits."""

    label = "limits chart"

    def __init__(self, panel: Stepper) -> None:
        self._panel = panel
        self._drawn: tuple[object, bool] | None = None
        self.root = HtmlView()
        self.root.add_class("workbench-chart")

    def show(self) -> None:
        """Draw it again when there are other turns, or in another theme."""
        turns, dark = self._panel.turns, self._panel.dark
        if self._drawn is None or self._drawn[0] is not turns or self._drawn[1] != dark:
            self.root.html = stepper.chart(turns, dark) if turns else ""
            self._drawn = (turns, dark)


EXTRAS: tuple[Callable[[Stepper], Extra], ...] = (LimitsChart,)
"""What a stepper can show below its body, in the order of the switches."""
