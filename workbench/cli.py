"""The command `workbench`: run the bug and its fix, print a history turn by turn, check many, open the lab."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.code_options import load_codes, load_function
from workbench.examples import counter, noop
from workbench.recordings import Recording, check, open_source
from workbench.recordings.corpus_files import files
from workbench.recordings.replay import Replay
from workbench.run import Outcome
from workbench.runtime.errors import WorkbenchError
from workbench.runtime.kv import DELTA, PER_TURN, KVModel
from workbench.runtime.turn_result import FINISHED
from workbench.session import Workbench
from workbench.views import report_files

ROUNDS = 5
DIVERGED_EXIT, USAGE_EXIT = 1, 2
CLOSED_PIPE_EXIT = 141
"""As a shell reports a program that the closed pipe has ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. A `WorkbenchError` is printed to stderr, without traceback.

    When nobody reads the rest of the output, as in `workbench repro | head`, it ends without a word.
    """
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()  # here, so that what Python would say at its end about a closed pipe is met here too
    except WorkbenchError as error:
        print(f"workbench: {error}", file=sys.stderr)
        return USAGE_EXIT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE_EXIT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbench", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    repro = commands.add_parser("repro", help="run the read-modify-write bug on both KV models, turn by turn")
    repro.set_defaults(run=_repro)
    replay = commands.add_parser("replay", help="print a recorded history turn by turn, against code if given")
    replay.add_argument("file", help="a duroxide SQLite database, a workbench DuckDB file, or a JSON recording")
    replay.add_argument("instance", nargs="?", help="the instance; without it the instances are listed")
    replay.add_argument("--code", metavar="MODULE:FUNCTION", help="the orchestration (or FILE.py:FUNCTION)")
    replay.add_argument("--kv-model", choices=[DELTA, PER_TURN], help="the KV model to replay it on")
    replay.set_defaults(run=_replay)
    check_parser(commands)
    lab = commands.add_parser("lab", help="open JupyterLab on a copy of the notebooks")
    lab.add_argument("--folder", default="workbench-notebooks", help="where the copy goes (default: %(default)s)")
    lab.add_argument("jupyter", nargs="*", help="more arguments for JupyterLab, after --, e.g. -- --no-browser")
    lab.set_defaults(run=_lab)
    return parser


# repro


def _repro(_: argparse.Namespace) -> int:
    first = _run_counter(PER_TURN, "the first design (kv_model='per-turn'): every turn writes kv_store")
    print()
    fixed = _run_counter(DELTA, "the delta design (kv_model='delta'): kv_store changes at the end only")
    diverged = first.status == "Failed" and first.divergence is not None and first.turns == 2
    completed = fixed.status == "Completed" and fixed.output == str(ROUNDS)
    print()
    if diverged and completed:
        print(f"the same code: diverged in turn 2 on the first design, completed with {fixed.output!r} on the other")
        return 0
    print("not reproduced: expected a divergence in turn 2 on the first design and '5' on the other")
    return DIVERGED_EXIT


def _run_counter(kv_model: KVModel, title: str) -> Outcome:
    print(title)
    with Workbench(kv_model=kv_model) as wb:
        wb.orchestration("Counter")(counter)
        wb.activity("Noop")(noop)
        run = wb.start("Counter", ROUNDS)
        while run.status not in FINISHED:
            print()
            print(run.turn().text())
        return run.outcome


# replay


def _replay(options: argparse.Namespace) -> int:
    with open_source(options.file) as source:
        if options.instance is None:
            print(source.text())
            return 0
        recording = source.recording(options.instance)
    code = None if options.code is None else load_function(options.code)
    replay = recording.replay(code, kv_model=options.kv_model)
    _print_replay(recording, replay)
    bad = replay.verdict in ("diverged", "did not come back", "different outcome", "damaged history")
    return DIVERGED_EXIT if bad else 0


def _print_replay(recording: Recording, replay: Replay) -> None:
    print(recording.text())
    for turn in replay.turns:
        print()
        print(turn.text())
    print()
    print(replay.text() if replay.damage else repr(replay))


# check


def check_parser(commands: Any) -> None:
    """The command `check`."""
    parser = commands.add_parser(
        "check",
        help="replay recorded histories against changed code: which instances can go on with it",
        description=(
            "Replay every recording of the sources against code. Exit code 0: all can go on with it; 1: some cannot; "
            "2: the command cannot be carried out, as without recordings."
        ),
    )
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="databases, stores, JSON recordings; also 'x/*.json'"
    )
    parser.add_argument(
        "--code",
        action="append",
        required=True,
        metavar="[NAME[@VERSION]=]CODE",
        help=(
            "MODULE:FUNCTION or FILE.py:FUNCTION for every recording; MODULE or FILE.py for its functions by name; "
            "with NAME= the code of that orchestration, with NAME@VERSION= one version of it (may be repeated)"
        ),
    )
    parser.add_argument("--strict", action="store_true", help="timer delays, status texts and child ids must be equal")
    parser.add_argument("--missing-code", action="store_true", help="recordings without code do not fail the check")
    parser.add_argument("--kv-model", choices=[DELTA, PER_TURN], help="the KV model to replay them on")
    parser.add_argument("--junit", metavar="FILE", help="write the result as JUnit XML")
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON")
    parser.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> int:
    report = check(
        files(options.sources),
        load_codes(options.code),
        strict=options.strict,
        missing_code=options.missing_code,
        kv_model=options.kv_model,
    )
    for name, content in ((options.junit, report_files.junit_xml), (options.json, report_files.report_json)):
        if name is not None:
            _write(Path(name), content(report))
    print(report.text())
    return 0 if report.passed else DIVERGED_EXIT


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"{path} cannot be written: {error.strerror or error}") from None


# lab


def _lab(options: argparse.Namespace) -> int:
    """Open JupyterLab on a copy, so that its autosave never touches the notebooks of the project."""
    folder = copy_notebooks(Path(options.folder))
    print(f"the notebooks are in {options.folder}; JupyterLab opens there")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.resolve()}", *options.jupyter]
    return subprocess.call(command)  # noqa: S603 (our own interpreter and folder)


def copy_notebooks(folder: Path) -> Path:
    """Copy the notebooks (and what they read) into a folder; those already there are kept as they are.

    Raises `WorkbenchError` when the notebooks are not beside the package, as after an install without a checkout.
    """
    source = Path(__file__).resolve().parent.parent / "notebooks"
    if not source.is_dir():
        raise WorkbenchError("the notebooks are not installed with the package; run this in a checkout of the project")
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.rglob("*")):
        target = folder / path.relative_to(source)
        if ".ipynb_checkpoints" in path.parts or target.exists():
            continue
        if path.is_dir():
            target.mkdir(parents=True)
        else:
            shutil.copy2(path, target)
    return folder


if __name__ == "__main__":
    sys.exit(main())
