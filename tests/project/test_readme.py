"""The README's commands are the ones that CI runs."""

from __future__ import annotations

import re

from tests.conftest import GET_CHROMIUM
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
