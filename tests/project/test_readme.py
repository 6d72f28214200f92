"""The README's commands are the ones that CI runs, and its code runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import GET_CHROMIUM
from tests.notebooks.found import FOLDER
from tests.project.committed import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_there_are_two_commands_and_ci_runs_the_second_in_a_fresh_environment() -> None:
    first, second = blocks("sh")
    assert first.strip().endswith("&& .venv/bin/workbench repro")
    assert CI.strip().split("\n")[-1] == second.strip()


def test_ci_installs_what_the_browser_tests_ask_for() -> None:
    assert GET_CHROMIUM in README
    for package in GET_CHROMIUM.split()[4:]:
        assert f"missing+=({package})" in CI


def test_the_lines_for_ones_own_data_run_as_they_stand(tmp_path: Path) -> None:
    (block,) = blocks("python")
    shutil.copy(FOLDER / "recordings" / "orders.db", tmp_path / "your.db")
    shutil.copy(FOLDER / "order_flow.py", tmp_path)
    program = f"from order_flow import order_flow\n{block}"
    command = [sys.executable, "-W", "error", "-c", program]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("OrderFlow · order-42 · same, still running")
