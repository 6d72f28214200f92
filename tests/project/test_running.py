"""How the tests are run: the one script, the browser tests apart, and what is skipped without being asked for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GET_CHROMIUM
from tests.project.committed import ROOT

TOOLS = ("ruff", "mypy", "lint-imports", "pytest", "python")


def run_script(folder: Path, failing: str) -> tuple[int, list[str], str]:
    """Run a copy of tests/run over tools that only note how they were called; one of them fails with code 7."""
    tools = folder / "tools"
    (folder / "tests").mkdir()
    tools.mkdir()
    shutil.copy(ROOT / "tests" / "run", folder / "tests")
    for name in TOOLS:
        tool = tools / name
        tool.write_text(f'#!/bin/sh\ncall="{name} $*"\necho "$call" >> calls\n[ "$call" != "{failing}" ] || exit 7\n')
        tool.chmod(0o755)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run([folder / "tests" / "run"], env=environment, capture_output=True, text=True, check=False)
    return ran.returncode, [line.strip() for line in (folder / "calls").read_text().splitlines()], ran.stdout


def test_everything_is_run_in_order_and_said(tmp_path: Path) -> None:
    code, calls, said = run_script(tmp_path, failing="nothing")
    assert code == 0
    tools = "ruff ruff mypy lint-imports pytest python pytest pytest python pytest"
    assert " ".join(call.split()[0] for call in calls) == tools
    assert re.findall(r"^== (?!ok)(.+)", said, re.M) == calls


def test_the_first_step_that_fails_is_the_last_and_gives_its_exit_code(tmp_path: Path) -> None:
    code, calls, said = run_script(tmp_path, failing="pytest -m oracle")
    assert code == 7
    assert calls[-1] == "pytest -m oracle"
    assert said.strip().split("\n")[-1].startswith("== FAILED after ")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of three tests that has our conftest: a plain one, a long one, and one in the browser."""
    (tmp_path / "tests" / "browser").mkdir(parents=True)
    for name in ("conftest.py", "agreement.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers = long\n")
    (tmp_path / "tests" / "test_plain.py").write_text(
        "import pytest, time\ndef test_plain(): assert time.tzname[0] != 'UTC'\n"
        "@pytest.mark.long\ndef test_long(): pass\n"
    )
    (tmp_path / "tests" / "browser" / "test_page.py").write_text("def test_page(chromium): assert chromium\n")
    return tmp_path


def outcomes(project: Path, *arguments: str, **environment: str) -> tuple[dict[str, str], str]:
    """What became of each test, and all that was printed."""
    command = [sys.executable, "-m", "pytest", "-v", "-rs", "-p", "no:cacheprovider", *arguments]
    inherited = {name: value for name, value in os.environ.items() if name not in ("CI", "TZ")}
    inherited["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    ran = subprocess.run(command, cwd=project, env=inherited | environment, capture_output=True, text=True, check=False)
    return dict(re.findall(r"^\S+::(\w+) (PASSED|SKIPPED|FAILED|ERROR)", ran.stdout, re.M)), ran.stdout


def test_a_plain_call_leaves_the_browser_and_the_long_tests_out(project: Path) -> None:
    assert outcomes(project)[0] == {"test_plain": "PASSED", "test_long": "SKIPPED"}
    assert outcomes(project, "--long")[0] == {"test_plain": "PASSED", "test_long": "PASSED"}


@pytest.mark.parametrize("argument", ["tests/browser", "tests/browser/test_page.py::test_page"])
def test_browser_tests_without_chromium_are_skipped_and_say_how_to_get_it(project: Path, argument: str) -> None:
    found, said = outcomes(project, argument, PATH="")
    assert found == {"test_page": "SKIPPED"}
    assert GET_CHROMIUM in " ".join(said.split())


def test_browser_tests_without_chromium_fail_in_ci(project: Path) -> None:
    found, said = outcomes(project, "tests/browser", PATH="", CI="true")
    assert found == {"test_page": "ERROR"}
    assert GET_CHROMIUM in said
