"""`HtmlView`: the one widget of ours. It shows HTML that a view made and reports what is clicked in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from workbench.views.grid import css as grid_css
from workbench.views.question import css as question_css
from workbench.views.style import css

_HERE = Path(__file__).parent
# As text and not as files: anywidget would watch files, and keep every view alive for it.
_ESM = (_HERE / "html_view.js").read_text("utf-8")
_CSS = css() + grid_css() + question_css() + (_HERE / "panel.css").read_text("utf-8")


class HtmlView(anywidget.AnyWidget):
    """HTML made by a view.

    `on_focus` is told the `data-focus` of what was clicked or entered, `on_step` ±1 for an arrow key on such an
    element, `on_drawn` whether the theme is dark: when the view is first drawn and when that has changed.
    `current` are the addresses that are looked at, where the HTML does not mark them itself: moving in a large table
    then sends two words and not the table.
    """

    _esm = _ESM
    _css = _CSS
    html = traitlets.Unicode("").tag(sync=True)
    current = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        on_focus: Callable[[str], None] | None = None,
        on_step: Callable[[int], None] | None = None,
        on_drawn: Callable[[bool], None] | None = None,
    ) -> None:
        super().__init__()
        self._on_focus = on_focus
        self._on_step = on_step
        self._on_drawn = on_drawn
        self.on_msg(self._receive)

    def _receive(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        if "focus" in content and self._on_focus is not None:
            self._on_focus(str(content["focus"]))
        elif "step" in content and self._on_step is not None:
            self._on_step(int(content["step"]))
        elif "dark" in content and self._on_drawn is not None:
            self._on_drawn(bool(content["dark"]))

    def __repr__(self) -> str:
        return f"HtmlView({len(self.html)} characters)"
