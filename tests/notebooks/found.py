"""The notebooks that there are: the one list that every test of notebooks runs over."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = tuple(sorted(FOLDER.glob("*.ipynb")))


def copy_of(folder: Path, to: Path) -> Path:
    """Copy a folder of notebooks with all that lies beside them, so that running one leaves no trace in `folder`."""
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")))
