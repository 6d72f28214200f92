"""The files of the repository, as git has them, and the modules of the package."""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "workbench"


@cache
def committed_files() -> tuple[Path, ...]:
    """Every file that git tracks and that is in the checkout."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(path for name in listing.split("\0") if name and (path := ROOT / name).is_file())


@cache
def modules(*folders: str) -> dict[str, tuple[str, ast.Module]]:
    """Source and syntax tree of every module in these folders of the package (all of it if none is named), by path."""
    inside = [PACKAGE / folder for folder in folders] or [PACKAGE]
    paths = sorted(path for folder in inside for path in folder.rglob("*.py"))
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {name: (source, ast.parse(source)) for name, source in sources.items()}
