"""The import contracts in pyproject.toml hold, and break when somebody reaches upwards."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.committed import PACKAGE, ROOT

LINT_IMPORTS = Path(sys.executable).parent / "lint-imports"


def contracts(folder: Path) -> tuple[int, list[str]]:
    """Exit code, and the names of the contracts that are broken, of the package in `folder`."""
    ran = subprocess.run(
        [LINT_IMPORTS, "--no-cache", "--no-logo"], cwd=folder, capture_output=True, text=True, check=False
    )
    return ran.returncode, re.findall(r"^(.+) BROKEN(?: \(.*\))?$", ran.stdout, re.MULTILINE)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_contracts_hold() -> None:
    assert contracts(ROOT) == (0, [])


@pytest.mark.parametrize(
    ("module", "statement", "broken"),
    [
        ("store/planted.py", "import workbench.views", "imports only go down"),
        ("panels/planted.py", "from workbench.session import Workbench", "imports only go down"),
        ("utils.py", "X = 1", "imports only go down"),
        ("runtime/kv.py", "import workbench.runtime.provider", "inside runtime too"),
        ("runtime/planted.py", "import duckdb", "runtime knows no database, table, figure or widget"),
        ("runtime/planted.py", "import threading", "turns are pure: only what runs them knows threads and time"),
        ("views/planted.py", "import ipywidgets", "pictures are plain: no widgets below panels"),
        (
            "recordings/planted.py",
            "def f():\n    from anywidget import AnyWidget",
            "pictures are plain: no widgets below panels",
        ),
    ],
)
def test_a_contract_breaks(copy: Path, module: str, statement: str, broken: str) -> None:
    (copy / "workbench" / "session.py").touch()
    with (copy / "workbench" / module).open("a", encoding="utf-8") as planted:
        planted.write(f"\n{statement}\n")
    exit_code, names = contracts(copy)
    assert exit_code == 1
    assert broken in names
