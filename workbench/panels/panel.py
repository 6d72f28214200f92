"""`Panel`: what every panel is made of. It has a root widget and owns all that it must undo."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import ipywidgets as widgets
import traitlets

from workbench.panels.html_view import HtmlView
from workbench.views import page

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Panel:
    """Composed of widgets, never one itself. Subclasses give `_build`, `_refresh` and `static_html`.

    Handlers run on any thread (JupyterLab runs them beside a busy cell), so one re-entrant lock stands around each.
    An error in a handler appears in the panel and leaves it usable.
    """

    name = "Panel"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._cleanup = ExitStack()
        self.error: str | None = None
        self._status = HtmlView()
        content = self._build()
        self.root = widgets.VBox([*content, self._status])
        self.root.add_class("workbench-panel")
        self._cleanup.callback(close_tree, self.root)
        self._refresh()

    def _build(self) -> list[widgets.Widget]:
        raise NotImplementedError

    def _refresh(self) -> None:
        raise NotImplementedError

    def static_html(self) -> str:
        """The panel as it stands, without a kernel: what a code host shows and nbval compares."""
        raise NotImplementedError

    # Owning what must be undone.

    def _watch(self, owner: traitlets.HasTraits, handler: Callable[[Any], None], *names: str) -> None:
        guarded = self._guarded(handler)
        owner.observe(guarded, list(names))
        self._cleanup.callback(owner.unobserve, guarded, list(names))

    def _button(self, label: str, handler: Callable[[], None], tooltip: str = "") -> widgets.Button:
        button = widgets.Button(description=label, tooltip=tooltip or label)
        guarded = self._guarded(lambda _: handler())
        button.on_click(guarded)
        self._cleanup.callback(button.on_click, guarded, remove=True)
        return button

    def _guarded(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        """The handler under the lock; what it raises is shown in the panel."""

        def run(argument: Any) -> None:
            with self._lock:
                try:
                    handler(argument)
                    self._show_error(None)
                except Exception as error:  # noqa: BLE001 (whatever it is, the user must see it here)
                    self._show_error(error)

        return run

    def _show_error(self, error: Exception | None) -> None:
        self.error = None if error is None else f"{type(error).__name__}: {error}"
        self._status.html = "" if self.error is None else page.alert(self.error)

    def close(self) -> None:
        """Undo everything: widgets, observers, handlers. May be called again."""
        self._cleanup.close()

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Showing.

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        view = {"version_major": 2, "version_minor": 0, "model_id": self.root.model_id}
        return {WIDGET_VIEW: view, "text/html": self.static_html(), "text/plain": repr(self)}


def close_tree(widget: widgets.Widget) -> None:
    """Close a widget with its children, layout and style; `Widget.close` closes only itself."""
    for child in getattr(widget, "children", ()):
        close_tree(child)
    for part in ("layout", "style"):
        owned = getattr(widget, part, None)
        if isinstance(owned, widgets.Widget):
            owned.close()
    widget.close()
