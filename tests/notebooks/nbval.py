"""Running nbval over folders of notebooks, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.project.committed import ROOT


def failures(folder: Path, environment: Mapping[str, str] | None = None) -> set[tuple[str, int]]:
    """Run nbval over the notebooks below `folder`; returns folder and code cell of what failed.

    `environment` are variables besides those of this process.
    """
    command = [sys.executable, "-m", "pytest", "-c", "pyproject.toml", f"--rootdir={ROOT}", "-p", "nbval.plugin"]
    command += ["-p", "no:cacheprovider", "--nbval", "--quiet", "--tb=no", "-rf", str(folder)]
    variables = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | dict(environment or {})
    ran = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return {
        (where, int(cell))
        for where, cell in re.findall(r"^FAILED .*?([^/ ]+)/[^/]+\.ipynb::Cell (\d+)", ran.stdout, re.M)
    }
