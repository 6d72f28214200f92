"""How public objects show themselves: the renderers in `views` are found by name when they are called.

The one sanctioned link upwards, so that a `Turn` of the runtime floor has `.text()` although the renderers stand
above it, and so that nothing of pandas or widgets is loaded before it is needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple


class Shown:
    """Gives a class `repr`, `.text()`, `_repr_html_()` and `.frame()` from the module `workbench.views.<view>`."""

    _view: ClassVar[str]

    def _renderer(self) -> Any:
        return importlib.import_module(f"workbench.views.{self._view}")

    def text(self) -> str:
        """A few lines of plain text, the same on every run."""
        return str(self._renderer().text(self))

    def frame(self) -> Any:
        """The same content as a pandas DataFrame."""
        return self._renderer().frame(self)

    def __repr__(self) -> str:
        return str(self._renderer().line(self))

    def _repr_html_(self) -> str:
        return str(self._renderer().html(self))


class Stepping(NamedTuple):
    """What a stepper steps through: the turns as they are now, how to make one more, a turn with its locals.

    `stamp` is another value whenever `turns` would be others, at less cost. `elsewhere` gives the stepping of another
    instance of the same store or file, for links to children and parents; it raises `LookupError` for an unknown one.
    """

    turns: Callable[[], Sequence[Any]]
    run_next: Callable[[], object] | None = None
    with_locals: Callable[[str], Any] | None = None
    stamp: Callable[[], object] | None = None
    elsewhere: Callable[[str], Stepping] | None = None


class Steppable(Shown):
    """Gives a class `.stepper()` and the other panels of its turns; the class says in `stepping` what there is."""

    def stepping(self) -> Stepping:
        """What a stepper steps through."""
        raise NotImplementedError

    def stepper(self) -> Any:
        """A panel that steps through its turns, forwards and backwards; needs a running notebook to be moved."""
        return importlib.import_module("workbench.panels.stepper").open_on(self)

    def key_table(self) -> Any:
        """A panel with a row a turn and a column a key; `.text()` and `.frame()` give the same without a notebook."""
        return importlib.import_module("workbench.panels.turn_key_table").open_on(self)

    def limits_panel(self) -> Any:
        """A panel of its sizes over turns against the limits, which can be changed by hand to see what would fail."""
        return importlib.import_module("workbench.panels.limits").open_on(self)
