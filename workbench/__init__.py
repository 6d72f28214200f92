"""A time-travel workbench for durable orchestrations, inside Jupyter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.runtime.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from workbench.recordings import Recording, check, corpus, open_source
    from workbench.run import Run
    from workbench.runtime.client import Client
    from workbench.runtime.clock import ManualClock, SystemClock
    from workbench.runtime.errors import NondeterminismError, WorkbenchError
    from workbench.runtime.limits import Limits
    from workbench.runtime.runtime import Runtime, RuntimeOptions
    from workbench.session import Workbench
    from workbench.store import DuckDBProvider

_HOMES = {
    "Client": "workbench.runtime.client",
    "DuckDBProvider": "workbench.store",
    "Limits": "workbench.runtime.limits",
    "ManualClock": "workbench.runtime.clock",
    "Recording": "workbench.recordings",
    "NondeterminismError": "workbench.runtime.errors",
    "Run": "workbench.run",
    "Runtime": "workbench.runtime.runtime",
    "RuntimeOptions": "workbench.runtime.runtime",
    "SystemClock": "workbench.runtime.clock",
    "Workbench": "workbench.session",
    "WorkbenchError": "workbench.runtime.errors",
    "check": "workbench.recordings",
    "corpus": "workbench.recordings",
    "open_source": "workbench.recordings",
}

__all__ = [
    "Client",
    "DuckDBProvider",
    "Limits",
    "ManualClock",
    "NondeterminismError",
    "Recording",
    "Run",
    "Runtime",
    "RuntimeOptions",
    "SystemClock",
    "Workbench",
    "WorkbenchError",
    "check",
    "corpus",
    "open_source",
]


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that `import workbench` costs nothing."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(home), name)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext workbench`: the magics `%%orchestration`, `%%activity`, `%turn` and `%kv`."""
    import importlib

    importlib.import_module("workbench.magics").load_ipython_extension(shell)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
