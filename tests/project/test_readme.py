"""The README's commands are the ones that CI runs, and its code runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GET_CHROMIUM
from tests.notebooks.found import FOLDER
from tests.project.committed import ROOT
from workbench import open_source

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def own_data(tmp_path: Path) -> Path:
    """A folder with `your.db`, and `order_flow` in `flows.py`."""
    shutil.copy(FOLDER / "recordings" / "orders.db", tmp_path / "your.db")
    shutil.copy(FOLDER / "order_flow.py", tmp_path / "flows.py")
    return tmp_path


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_there_are_two_commands_to_begin_with_and_ci_runs_the_second_in_a_fresh_environment() -> None:
    first, _, second = blocks("sh")
    assert first.strip().endswith("&& .venv/bin/workbench repro")
    assert CI.strip().split("\n")[-1] == second.strip()


def test_ci_installs_what_the_browser_tests_ask_for() -> None:
    assert GET_CHROMIUM in README
    for package in GET_CHROMIUM.split()[4:]:
        assert f"missing+=({package})" in CI


def test_the_lines_for_ones_own_data_run_as_they_stand(own_data: Path) -> None:
    replay, query, _ = blocks("python")
    program = f"from flows import order_flow\n{replay}\n{query}"
    ran = run([sys.executable, "-W", "error", "-c", program], own_data)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("OrderFlow · order-42 · same, still running")


def test_the_command_that_checks_runs_as_it_stands(own_data: Path) -> None:
    _, check, _ = blocks("sh")
    program, *arguments = check.split()
    ran = run([str(Path(sys.executable).with_name(program)), *arguments], own_data)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("check of 3 recordings: all pass")


def test_the_line_for_pytest_runs_as_it_stands(own_data: Path) -> None:
    _, _, test = blocks("python")
    (own_data / "tests" / "recordings").mkdir(parents=True)
    with open_source(own_data / "your.db") as source:
        for recording in source.recordings():
            recording.to_json(own_data / "tests" / "recordings" / f"{recording.instance_id}.json")
    (own_data / "test_flows.py").write_text(test, encoding="utf-8")
    ran = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_flows.py"], own_data)
    assert "3 passed" in ran.stdout, ran.stdout + ran.stderr
