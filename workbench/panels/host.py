"""What a part of a panel asks of the panel that shows it: a stepper, or a panel of its own around that part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from workbench.panels.focus import Focus
from workbench.panels.panel import Panel
from workbench.runtime.turn import Turn


class Host(Protocol):
    """Turns, a focus, a theme; and `guarded`, which runs a handler so that its error appears in the panel."""

    turns: tuple[Turn, ...]
    focus: Focus
    dark: bool

    def guarded(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        """The handler under the panel's lock, its errors shown in the panel."""
        ...


class HostPanel(Panel):
    """A panel around one part. `turns` gives the turns as they are now; the focus begins at the last of them."""

    def __init__(self, turns: Callable[[], Sequence[Turn]], focus: Focus | None = None) -> None:
        self._get_turns = turns
        self.turns: tuple[Turn, ...] = tuple(turns())
        self.focus = Focus(address=self.turns[-1].address if self.turns else "") if focus is None else focus
        super().__init__()
        self._watch(self.focus, lambda _: self._refresh(), "address", "key")

    def refresh(self) -> None:
        """Show the turns that have been made since."""
        with self._lock:
            turns = self._get_turns()
            if turns is not self.turns:
                self.turns = tuple(turns)  # the same tuple where it is one
            self._refresh()

    def guarded(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        """The handler under the panel's lock, its errors shown in the panel."""
        return self._guarded(handler)
