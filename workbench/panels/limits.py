"""The limits panel: sizes over turns against limits that can be changed by hand, to see which turn would fail first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ipywidgets as widgets

from workbench.panels.host import Host, HostPanel
from workbench.panels.html_view import HtmlView
from workbench.panels.turn_bar import button
from workbench.showing import Steppable
from workbench.views import limits_figure, limits_over_turns, page
from workbench.views.grid import css
from workbench.views.limits_check import Bounds, parsed
from workbench.views.limits_over_turns import Growth

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BOXES = (
    ("keys", "Keys", "The most keys; the engine refuses a turn that leaves more"),
    ("value_bytes", "Value", "The most UTF-8 bytes of one value, such as 16 KiB; the engine refuses more"),
    ("kv_bytes", "All values", "A limit of your own for all keys and values, in bytes; empty is none"),
    ("history_bytes", "History", "A limit of your own for the history of one execution, in bytes; empty is none"),
)
"""The fields of `Bounds`, the labels of their boxes and what is said about them."""


class LimitsPart:
    """Boxes for four limits, what the sizes come to after the turn that is looked at, and a chart of all turns."""

    label = "limits"

    def __init__(self, host: Host) -> None:
        self._host = host
        self.growth: Growth = limits_over_turns.growth_of(())
        self.bounds = self.growth.bounds
        self._charted: object = None
        self.root = widgets.VBox()
        self.root.add_class("workbench-extra")

    def _build(self) -> None:
        """The widgets, when they are first needed: most steppers never show them."""
        host = self._host
        self._boxes = {name: _box(label, about) for name, label, about in BOXES}
        for name, box in self._boxes.items():
            box.observe(host.guarded(self._typed(name)), "value")
        self._reset = button("As recorded", "Back to the limits that the turns were made under")
        self._reset.on_click(host.guarded(lambda _: self.set_bounds(self.growth.bounds)))
        controls = widgets.HBox([*self._boxes.values(), self._reset])
        controls.add_class("workbench-controls")
        self._body = HtmlView(on_focus=host.guarded(self._follow))
        self._chart = HtmlView()
        self._chart.add_class("workbench-chart")
        self.root.children = (controls, self._body, self._chart)

    def show(self) -> None:
        """Follow the host: its turns, the one that is looked at, its theme."""
        if not self.root.children:
            self._build()
        if self._host.turns is not self.growth.turns:
            kept, self.growth = self.growth, limits_over_turns.growth_of(self._host.turns)
            self.bounds = self.growth.bounds if self.bounds == kept.bounds else self.bounds
        self._body.html = limits_over_turns.picture(self.growth, self.bounds, self._host.focus.turn)
        self._show_bounds()
        if self._charted != (wanted := (id(self.growth), self.bounds, self._host.dark)):
            self._chart.html = limits_over_turns.chart(self.growth, self.bounds, self._host.dark)
            self._charted = wanted

    def set_bounds(self, bounds: Bounds) -> None:
        """Hold the turns against these."""
        self.bounds = bounds
        self.show()

    def _typed(self, name: str) -> Callable[[Any], None]:
        def handler(change: Any) -> None:
            try:
                asked = parsed(change["new"])
                if asked != getattr(self.bounds, name):
                    self.set_bounds(limits_over_turns.changed(self.bounds, {name: asked}))
            finally:
                self._show_bounds()

        return handler

    def _show_bounds(self) -> None:
        for name, box in self._boxes.items():
            limit = getattr(self.bounds, name)
            box.value = "" if limit is None else f"{limit:,}"
        self._reset.disabled = self.bounds == self.growth.bounds

    def _follow(self, target: str) -> None:
        self._host.focus.address = target


class LimitsPanel(HostPanel):
    """Keys, largest value, all values and history after each turn, against limits that can be changed.

    `turns` gives the turns as they are now. `focus` may be that of a stepper; without one it begins at the last turn.
    """

    def set(self, **limits: int | None) -> None:
        """Hold the turns against other limits: `keys`, `value_bytes`, `kv_bytes`, `history_bytes` (None: no limit).

        Raises `ValueError` for another name, for a limit below nothing, and for one of the engine's two as None.
        """
        with self._lock:
            self._part.set_bounds(limits_over_turns.changed(self._part.bounds, limits))

    def reset(self) -> None:
        """Back to the limits that the turns were made under."""
        with self._lock:
            self._part.set_bounds(self._part.growth.bounds)

    def text(self) -> str:
        """The sizes, what becomes of them at this rate, and what would fail first, the same on every run."""
        with self._lock:
            return "\n".join(limits_over_turns.lines(self._part.growth, self._part.bounds, self.focus.turn))

    def frame(self) -> pd.DataFrame:
        """A row a turn: keys, and bytes of the largest value, of all keys and values, and of the history."""
        with self._lock:
            return limits_over_turns.frame(self._part.growth)

    def figure(self, dark: bool = False) -> Figure:
        """The four sizes over the turns with these limits, for a report; it is not pyplot's."""
        with self._lock:
            return limits_figure.figure(self._part.growth.turns, self._part.bounds, dark)

    def _build(self) -> list[widgets.Widget]:
        self._head = HtmlView()
        self._part = LimitsPart(self)
        return [self._head, self._alert, self._part.root]

    def _refresh(self) -> None:
        self._part.show()
        self._head.html = limits_over_turns.head(self._part.growth)

    def static_html(self) -> str:
        """The sizes and what would fail first, without the chart."""
        with self._lock:
            growth, bounds = self._part.growth, self._part.bounds
            body = limits_over_turns.picture(growth, bounds, self.focus.turn)
            return page.rendering(limits_over_turns.head(growth), body, more_css=css())

    def __repr__(self) -> str:
        return f"LimitsPanel: {limits_over_turns.line(self._part.growth, self._part.bounds)}"


def _box(label: str, about: str) -> widgets.Text:
    made = widgets.Text(description=label, tooltip=about, placeholder="no limit", continuous_update=False)
    made.style.description_width = "initial"
    made.add_class("workbench-number")
    made.add_class("workbench-limit")
    return made


def open_on(source: Steppable) -> LimitsPanel:
    """A limits panel on something that can be stepped through: a run, a replay, a recording."""
    return LimitsPanel(source.stepping().turns)
