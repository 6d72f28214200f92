"""`Panel`: what every panel is made of. It has a root widget and owns all that it must undo."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Self

import ipywidgets as widgets
import traitlets

from workbench.panels.html_view import HtmlView
from workbench.runtime.errors import WorkbenchError
from workbench.views import page

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Panel(ABC):
    """Composed of widgets, never one itself. Subclasses give `_build`, `_refresh` and `static_html`.

    Handlers run on any thread (JupyterLab runs them beside a busy cell), so one re-entrant lock stands around each.
    An error in a handler appears in the panel and leaves it usable; a call from a cell raises it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._cleanup = ExitStack()
        self._depth = 0
        self.error: str | None = None
        self.dark = False
        self._alert = HtmlView(on_drawn=self._guarded(self._drawn, clears=False))
        self.root = widgets.VBox()
        self._cleanup.callback(close_tree, self.root)
        self.root.children = self._build()
        for name in ("workbench", "workbench-panel"):
            self.root.add_class(name)
        try:
            self._refresh()
        except BaseException:
            self.close()
            raise

    @abstractmethod
    def _build(self) -> list[widgets.Widget]:
        """The widgets of the panel, from top to bottom; `self._alert` must be one of them."""

    @abstractmethod
    def _refresh(self) -> None:
        """Bring every widget to what the focus says; doing it twice is doing it once."""

    @abstractmethod
    def static_html(self) -> str:
        """The panel as it stands, without a kernel: what a code host shows and nbval compares."""

    # Owning what must be undone.

    def _watch(self, owner: traitlets.HasTraits, handler: Callable[[Any], None], *names: str) -> None:
        guarded = self._guarded(handler)
        owner.observe(guarded, list(names))
        self._cleanup.callback(owner.unobserve, guarded, list(names))

    def _on_click(self, button: widgets.Button, handler: Callable[[], None]) -> None:
        guarded = self._guarded(lambda _: handler())
        button.on_click(guarded)
        self._cleanup.callback(button.on_click, guarded, remove=True)

    def _guarded(self, handler: Callable[[Any], None], clears: bool = True) -> Callable[[Any], None]:
        """The handler under the lock; what it or a handler inside it raises is shown in the panel.

        `clears`: the error of before is over, as somebody went on.
        """

        def run(argument: Any) -> None:
            with self._lock:
                if clears and self._depth == 0:
                    self._show_error(None)
                self._depth += 1
                try:
                    handler(argument)
                except Exception as error:  # noqa: BLE001 (whatever it is, the user must see it here)
                    self._show_error(error)
                finally:
                    self._depth -= 1

        return run

    def _show_error(self, error: Exception | None) -> None:
        named = "" if isinstance(error, WorkbenchError) else f"{type(error).__name__}: "
        self.error = None if error is None else f"{named}{error}"
        self._alert.html = "" if self.error is None else page.alert(self.error)

    def _drawn(self, dark: bool) -> None:
        """A front-end shows the panel, or changed its theme.

        Each widget answers: JupyterLab hands what comes later from a widget that has answered a front-end to a
        thread of its own, so that the panel works beside a busy cell. Where that is not so, nothing is lost.
        """
        self.dark = dark
        for widget in tree(self.root):
            if isinstance(widget, widgets.DOMWidget):
                widget.send_state("_view_name")
        self._refresh()

    def close(self) -> None:
        """Undo everything: widgets, observers, handlers. May be called again."""
        with self._lock:
            self._cleanup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Showing.

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/html": self.static_html(), "text/plain": repr(self)}
        if self.root.comm is not None:
            bundle[WIDGET_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self.root.model_id}
        return bundle


def tree(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    """A widget, its children, and their layouts and styles, which are widgets too; the innermost first."""
    for child in getattr(widget, "children", ()):
        yield from tree(child)
    for part in ("layout", "style"):
        owned = getattr(widget, part, None)
        if isinstance(owned, widgets.Widget):
            yield owned
    yield widget


def close_tree(widget: widgets.Widget) -> None:
    """Close a widget with all that is in it; `Widget.close` closes only itself."""
    for each in list(tree(widget)):
        each.close()
