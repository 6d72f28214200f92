"""The command `workbench`, as its user meets it: what it prints, its exit code, its words when something is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench import cli
from workbench.runtime.errors import WorkbenchError
from workbench.store import kv_per_turn

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "tests" / "cases" / "recordings"
ORDERS = ROOT / "notebooks" / "recordings" / "orders.db"


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=60, check=False)


def test_repro_shows_the_bug_and_its_fix_and_exits_with_0() -> None:
    done = run("repro")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Counter · counter-1 · diverged in turn 2: a recorded write has another value now" in done.stdout
    assert done.stdout.rstrip().endswith(
        "the same code: diverged in turn 2 on the first design, completed with '5' on the other"
    )


def test_repro_prints_the_same_every_time() -> None:
    assert run("repro").stdout == run("repro").stdout


@pytest.mark.parametrize("lines", [0, 1, 5])
def test_repro_ends_without_a_word_when_nobody_reads_on(lines: int) -> None:
    """As in `workbench repro | head`."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "workbench.cli", "repro"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert len([running.stdout.readline() for _ in range(lines)]) == lines
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait(timeout=60) == cli.CLOSED_PIPE_EXIT


@pytest.mark.damages("the first design is replaced by one that does not write")
def test_repro_fails_when_the_first_design_does_not_poison(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The poisoned value comes out of DuckDB: without that model's writes there is no bug, and repro says so."""
    monkeypatch.setattr(kv_per_turn.PerTurnTable, "write", lambda *_: None)
    assert cli.main(["repro"]) == 1
    assert "not reproduced" in capsys.readouterr().out


def test_replay_lists_the_instances_of_a_file() -> None:
    done = run("replay", str(ORDERS))
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("order-41", "order-42", "order-43"))


def test_replay_prints_a_history_turn_by_turn_without_code() -> None:
    done = run("replay", str(RECORDINGS / "P-01_rmw.db"), "a")
    assert done.returncode == 0
    assert [line.split(" · ")[0] for line in done.stdout.splitlines() if line.startswith("Turn ")] == [
        "Turn 1.1",
        "Turn 1.2",
        "Turn 1.3",
        "Turn 1.4",
    ]


def test_replay_against_the_recorded_code_is_the_same() -> None:
    done = run("replay", str(ORDERS), "order-41", "--code", "order_flow:order_flow", cwd=ROOT / "notebooks")
    assert done.returncode == 0
    assert "OrderFlow · order-41 · same" in done.stdout


def test_replay_against_changed_code_exits_with_1_and_says_where() -> None:
    done = run("replay", str(ORDERS), "order-42", "--code", "order_flow:order_flow_next", cwd=ROOT / "notebooks")
    assert done.returncode == 1
    assert "an operation is made now that was not recorded" in done.stdout
    assert "order_flow_next, line 5 (order_flow.py:29)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["replay", "nothing.db"], "nothing.db"),
        (["replay", str(ORDERS), "nobody"], "there is no instance 'nobody'"),
        (["replay", str(ORDERS), "order-41", "--code", "order_flow"], "--code takes MODULE:FUNCTION"),
        (["replay", str(ORDERS), "order-41", "--code", "no_such_module:f"], "cannot be imported"),
        (["replay", str(ORDERS), "order-41", "--code", "json:nothing"], "has no function 'nothing'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_without_traceback(arguments: list[str], says: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("workbench: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_lab_works_on_a_copy_of_the_notebooks(tmp_path: Path) -> None:
    folder = cli.copy_notebooks(tmp_path / "copy")
    assert sorted(path.name for path in folder.glob("*.ipynb")) == sorted(
        path.name for path in (ROOT / "notebooks").glob("*.ipynb")
    )
    assert (folder / "recordings" / "orders.db").read_bytes() == ORDERS.read_bytes()


def test_a_notebook_that_was_changed_in_the_copy_is_kept(tmp_path: Path) -> None:
    folder = cli.copy_notebooks(tmp_path / "copy")
    mine = next(folder.glob("*.ipynb"))
    mine.write_text("mine")
    cli.copy_notebooks(folder)
    assert mine.read_text() == "mine"


def test_lab_outside_a_checkout_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "__file__", str(tmp_path / "site" / "workbench" / "cli.py"))
    with pytest.raises(WorkbenchError, match="run this in a checkout of the project"):
        cli.copy_notebooks(tmp_path / "copy")
