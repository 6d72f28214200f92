"""Importing a module by name, or a file of code by its path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from workbench.runtime.errors import WorkbenchError


def load_module(name: str) -> ModuleType:
    """Import a module, or a file whose name ends in `.py`; the current folder, or the file's, is on the path.

    A file is that file, whatever else has its name. Raises `WorkbenchError` when it is not there or does not run.
    """
    path = Path(name).resolve() if name.endswith(".py") else None
    if path is not None and not path.is_file():
        raise WorkbenchError(f"there is no file {name!r}")
    folder = str(Path.cwd() if path is None else path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name) if path is None else _run_file(path)
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise WorkbenchError(f"module {name!r} cannot be imported: {reason}") from error


def _run_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("Python has no loader for it")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # dataclasses and the like look their module up
    spec.loader.exec_module(module)
    return module
