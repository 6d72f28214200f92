"""`workbench check`, as its user meets it: exit codes, words, files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from workbench import cli

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ORDERS = NOTEBOOKS / "recordings" / "orders.db"
FLOWS = NOTEBOOKS / "order_flow.py"


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports of a command do not outlive it here."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_the_recorded_code_passes_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(ORDERS), "--code", str(FLOWS)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("check of 3 recordings: all pass; 1 of 1 instance in flight can take the new code\n")
    assert printed.err == ""


def test_changed_code_ends_with_1_says_where_and_how_to_pin(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(ORDERS), "--code", f"{FLOWS}:order_flow_next"]) == 1
    printed = capsys.readouterr().out
    assert "0 of 1 instance in flight can take the new code, 1 must stay on 1.0.0" in printed
    assert "order_flow_next, line 5 (order_flow.py:29)" in printed
    assert 'runtime.register_orchestration_versioned("OrderFlow", "1.1.0", order_flow_next)' in printed


def test_both_versions_together_pass(capsys: pytest.CaptureFixture[str]) -> None:
    both = ["--code", f"OrderFlow@1.0.0={FLOWS}:order_flow", "--code", f"OrderFlow@1.1.0={FLOWS}:order_flow_next"]
    assert cli.main(["check", str(ORDERS), *both]) == 0
    assert "all pass; 0 of 1 instance in flight can take 1.1.0, 1 must stay on 1.0.0" in capsys.readouterr().out


def test_junit_and_json_are_written(tmp_path: Path) -> None:
    junit, result = tmp_path / "check.xml", tmp_path / "check.json"
    command = ["check", str(ORDERS), "--code", f"{FLOWS}:order_flow_next", "--junit", str(junit), "--json", str(result)]
    assert cli.main(command) == 1
    [suite] = ET.parse(junit).getroot()  # noqa: S314 - our own file
    assert [case.get("name") for case in suite] == ["order-42", "order-41", "order-43"]
    assert suite.get("failures") == "3"
    content = json.loads(result.read_text(encoding="utf-8"))
    assert content["must_stay"] == ["order-42"]


def test_code_that_is_missing_fails_unless_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["check", str(ORDERS), "--code", f"Other={FLOWS}:order_flow"]
    assert cli.main(command) == 1
    assert "OrderFlow 1.0.0 · no code given" in capsys.readouterr().out
    assert cli.main([*command, "--missing-code"]) == 2  # it would compare nothing
    assert "no recording is of 'Other', so nothing would be compared" in capsys.readouterr().err
    week = str(ORDERS.with_name("week.db"))
    assert cli.main(["check", week, "--code", f"OrderFlow={FLOWS}:order_flow", "--missing-code"]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing/*.json", "--code", str(FLOWS)], "there is nothing in nothing/*.json"),
        (["gone.db", "--code", str(FLOWS)], "gone.db"),
        ([str(FLOWS), "--code", str(FLOWS)], "order_flow.py"),
        ([str(ORDERS), "--code", "gone.py"], "there is no file 'gone.py'"),
        ([str(ORDERS), "--code", str(FLOWS), "--junit", "no folder/x.xml"], "no folder/x.xml cannot be written"),
    ],
)
def test_what_cannot_be_carried_out_ends_with_2(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["check", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err


def test_as_a_process_of_its_own_from_the_folder_of_the_code() -> None:
    command = [sys.executable, "-m", "workbench.cli", "check", "recordings/orders*.db", "--code"]
    command += ["order_flow:order_flow"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=NOTEBOOKS, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
