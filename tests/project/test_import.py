"""`import workbench` is light: tables, figures and widgets are loaded when something is shown."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ["pandas", "numpy", "matplotlib", "ipywidgets", "anywidget", "IPython", "traitlets", "opentelemetry.sdk"]


def loaded_by(statement: str) -> list[str]:
    program = f"{statement}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert ran.stderr == ""
    return ran.stdout.split()


def test_import_workbench_loads_no_table_figure_or_widget() -> None:
    assert loaded_by("import workbench") == []


def test_importing_every_public_name_loads_none_either() -> None:
    assert loaded_by("from workbench import *") == []


def test_the_list_is_of_names_that_show_when_loaded() -> None:
    assert loaded_by("import ipywidgets, pandas") == ["pandas", "numpy", "ipywidgets", "IPython", "traitlets"]
