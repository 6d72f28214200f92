"""Watching every store that a test opens: its tables must agree with its histories, at its close or the test's end.

A store is checked when it is given back, the last moment at which one in memory can be, and those still open when the
test ends. Nothing is committed by this process meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps

import pytest

from workbench.runtime.errors import WorkbenchError
from workbench.store import DuckDBProvider


def disagreements(provider: DuckDBProvider) -> list[str]:
    """Every row of a store that is not what its histories say, or why the store cannot be read; a line each."""
    try:
        with provider._store._write_lock:
            return [f"{provider!r}: {each}" for each in provider.verify()]
    except WorkbenchError as error:
        return [f"{provider!r}: {type(error).__name__}: {error}"]


class Watch:
    """The stores that are open, and what was found in those that were closed."""

    def __init__(self) -> None:
        self._open: dict[int, DuckDBProvider] = {}
        self._found: list[str] = []
        self._agreed: dict[int, int] = {}

    def opened(self, provider: DuckDBProvider) -> None:
        """Remember it, also when nobody else does."""
        self._open[id(provider)] = provider

    def closing(self, provider: DuckDBProvider) -> None:
        """Check it and let it go; the second close of a provider is nothing."""
        if self._open.pop(id(provider), None) is not None:
            self._found += self._check(provider)
            self._agreed.pop(id(provider), None)

    def take_found(self) -> list[str]:
        """What was found since the last call, in closed stores and in those that are open now."""
        found = [*self._found, *(line for each in list(self._open.values()) for line in self._check(each))]
        self._found = []
        return found

    def _check(self, provider: DuckDBProvider) -> list[str]:
        """What is wrong with it; nothing is read again of a store in which nothing has happened since."""
        count = provider._store.changes._count
        if self._agreed.get(id(provider)) == count:
            return []
        found = disagreements(provider)
        self._agreed[id(provider)] = count
        return found


def reason_to_disagree(test: pytest.Item) -> str | None:
    """Why this test leaves a store that is wrong, or None: it must not."""
    marker = test.get_closest_marker("damages")
    if marker is None:
        return None
    [reason] = marker.args
    return str(reason)


@contextmanager
def watched() -> Iterator[Watch]:
    """Tell a watch of every store that this process opens or closes."""
    watch = Watch()
    begin, end = DuckDBProvider.__init__, DuckDBProvider.close

    @wraps(begin)
    def opens(self: DuckDBProvider, *given: object, **named: object) -> None:
        begin(self, *given, **named)  # type: ignore[arg-type]
        watch.opened(self)

    @wraps(end)
    def closes(self: DuckDBProvider) -> None:
        watch.closing(self)
        end(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDBProvider, "__init__", opens)
        patch.setattr(DuckDBProvider, "close", closes)
        yield watch
