"""The turn × key table: below a stepper, or as a panel of its own that may share a stepper's focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ipywidgets as widgets

from workbench.panels.host import Host, HostPanel
from workbench.panels.html_view import HtmlView
from workbench.panels.turn_bar import button
from workbench.showing import Steppable
from workbench.views import page, turn_key_table
from workbench.views.grid import css
from workbench.views.turn_key_table import PAGE_ROWS, TurnKeys

if TYPE_CHECKING:
    import pandas as pd


class KeyTablePart:
    """The table with the buttons of its pages; it follows the focus of its host, and a click on a cell moves that."""

    label = "turn × key table"

    def __init__(self, host: Host) -> None:
        self._host = host
        self.keys = TurnKeys((), {})
        self.rows = range(0)
        self._address = ""
        self._shown: object = None
        self.root = widgets.VBox()
        self.root.add_class("workbench-extra")

    def _build(self) -> None:
        """The widgets, when they are first needed: most steppers never show them."""
        host = self._host
        self._earlier = button("◀ Earlier turns", "Show the page of turns before")
        self._later = button("Later turns ▶", "Show the page of turns after")
        self._earlier.on_click(host.guarded(lambda _: self.turn_page(-PAGE_ROWS)))
        self._later.on_click(host.guarded(lambda _: self.turn_page(PAGE_ROWS)))
        self._pages = widgets.HBox([self._earlier, self._later])
        self._pages.add_class("workbench-controls")
        self._table = HtmlView(on_focus=host.guarded(self._follow))
        self.root.children = (self._table, self._pages)

    def show(self) -> None:
        """Follow the host: its turns, and the page that its focus stands on."""
        if not self.root.children:
            self._build()
        self.follow()
        columns = turn_key_table.columns_of(self.keys, self.rows, self._host.focus.key)
        with self._table.hold_sync():
            if self._shown != (wanted := (id(self.keys), self.rows, columns)):
                self._table.html = turn_key_table.key_grid(self.keys, self.rows, columns)
                self._shown = wanted
            self._table.current = sorted(turn_key_table.looked_at(self._host.focus.turn, self._host.focus.key))
        self._earlier.disabled = self.rows.start == 0
        self._later.disabled = self.rows.stop >= len(self.keys.turns)
        self._pages.layout.display = "none" if len(self.keys.turns) <= PAGE_ROWS else None

    def follow(self) -> None:
        """Take the host's turns and the page of its focus, where either is another one now."""
        turns, address = self._host.turns, self._host.focus.turn
        if turns is not self.keys.turns:
            self.keys = turn_key_table.turn_keys(turns)
        elif address == self._address:
            return
        self._address = address
        self.rows = turn_key_table.page_at(len(turns), turn_key_table.position_in(self.keys, address))

    def turn_page(self, by: int) -> None:
        """Show the rows so many further on; the focus stays where it is."""
        self.rows = turn_key_table.page_at(len(self.keys.turns), self.rows.start + by)
        self.show()

    def _follow(self, target: str) -> None:
        address, key = turn_key_table.target(target, self.keys.changes)
        focus = self._host.focus
        with focus.hold_trait_notifications():
            focus.address = address or focus.address
            focus.key = key or focus.key


class TurnKeyTable(HostPanel):
    """What a client reads for each key after each turn; a click on a cell goes to that turn and key.

    `turns` gives the turns as they are now. `focus` may be that of a stepper; without one it begins at the last turn.
    Pages have 500 rows; the page follows the focus.
    """

    def earlier(self) -> None:
        """Show the page before."""
        with self._lock:
            self._part.turn_page(-PAGE_ROWS)

    def later(self) -> None:
        """Show the page after."""
        with self._lock:
            self._part.turn_page(PAGE_ROWS)

    def text(self) -> str:
        """The page as aligned text, the same on every run."""
        with self._lock:
            return "\n".join(turn_key_table.table_lines(self._part.keys, self._part.rows))

    def frame(self) -> pd.DataFrame:
        """All turns and all keys: a row a turn, a column a key, None where a client reads nothing."""
        return turn_key_table.turn_key_frame(self.turns)

    def _build(self) -> list[widgets.Widget]:
        self._head = HtmlView()
        self._part = KeyTablePart(self)
        return [self._head, self._alert, self._part.root]

    def _refresh(self) -> None:
        self._part.show()
        self._head.html = turn_key_table.head(self._part.keys)

    def static_html(self) -> str:
        """The page of the turn that is looked at, with its cell marked."""
        with self._lock:
            keys, rows = self._part.keys, self._part.rows
            columns = turn_key_table.columns_of(keys, rows, self.focus.key)
            current = turn_key_table.looked_at(self.focus.turn, self.focus.key)
            grid = turn_key_table.key_grid(keys, rows, columns, current)
            return page.rendering(turn_key_table.head(keys), grid, more_css=css())

    def __repr__(self) -> str:
        return f"TurnKeyTable at {self.focus.address or 'the start'}: {turn_key_table.line(self._part.keys)}"


def open_on(source: Steppable) -> TurnKeyTable:
    """A table of something that can be stepped through: a run, a replay, a recording."""
    return TurnKeyTable(source.stepping().turns)
