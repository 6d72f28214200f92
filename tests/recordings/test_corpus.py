"""One line makes a test of every recorded history; code named on a command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cases import programs
from tests.cases.recorded import FOLDER, recording
from workbench import Recording, corpus
from workbench.code_options import load_codes
from workbench.recordings.corpus_files import files
from workbench.runtime.errors import EmptyCorpus, NoSuchFile, WorkbenchError


@pytest.mark.parametrize("recording", corpus(FOLDER / "P-01_*.db", orchestration="O"))
def test_a_corpus_is_a_parameter(recording: Recording) -> None:
    recording.replay(programs.read_modify_write).raise_for_verdict()


def test_ids_are_instance_ids_and_name_their_file_where_two_have_the_same() -> None:
    assert [each.id for each in corpus(FOLDER / "P-15_corrupt.db")] == ["a", "b", "c"]
    both = [each.id for each in corpus(FOLDER / "P-15_corrupt.db", FOLDER / "P-01_rmw.db")]
    assert both == ["P-15_corrupt.db::a", "b", "c", "P-01_rmw.db::a"]


def test_patterns_name_each_file_once_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        recording("P-01").to_json(tmp_path / f"{name}.json")
    every = tmp_path / "*.json"
    assert [path.name for path in files([every, tmp_path / "a.json"])] == ["a.json", "b.json"]
    assert [path.name for path in files([tmp_path / "**" / "*.json"])] == ["a.json", "b.json"]


@pytest.mark.parametrize("pattern", ["*.json", "nothing/**/*.db"])
def test_a_pattern_that_names_no_file_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(EmptyCorpus, match="proves nothing"):
        corpus(tmp_path / pattern)


def test_no_pattern_no_file_and_no_such_orchestration_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EmptyCorpus):
        corpus()
    with pytest.raises(NoSuchFile):
        corpus(tmp_path / "gone.json")
    with pytest.raises(EmptyCorpus, match="of 'Other'"):
        corpus(FOLDER / "P-01_rmw.db", orchestration="Other")


@pytest.fixture
def flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with functions, in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "queue.py"  # a module of Python has the same name
    path.write_text("def order_flow(ctx, order):\n    return 1\n\n\ndef Refund(ctx, order):\n    return 2\n")
    return path


def test_a_file_and_a_function_are_the_code_for_every_recording(flows: Path) -> None:
    code = load_codes(["queue.py:order_flow"])
    assert callable(code)
    assert code(None, None) == 1
    assert callable(load_codes([f"{flows}:Refund"]))


def test_a_file_alone_has_its_functions_by_name_whatever_the_letter_case(flows: Path) -> None:
    code = load_codes([flows.name])
    assert not callable(code)
    assert {name: getattr(code.get(name), "__name__", None) for name in ("OrderFlow", "refund", "Other")} == {
        "OrderFlow": "order_flow",
        "refund": "Refund",
        "Other": None,
    }


@pytest.mark.usefixtures("flows")
def test_names_and_versions_make_a_matrix() -> None:
    code = load_codes(["O@1.0.0=queue.py:order_flow", "O@1.1.0=queue.py:Refund", "P=queue.py:Refund"])
    assert not callable(code)
    versions = code["O"]
    assert not callable(versions)
    assert {version: each.__name__ for version, each in versions.items()} == {"1.0.0": "order_flow", "1.1.0": "Refund"}
    assert callable(code["P"])


@pytest.mark.usefixtures("flows")
@pytest.mark.parametrize(
    ("places", "says"),
    [
        (["queue.py:nothing"], "has no function 'nothing'"),
        (["gone.py:flow"], "there is no file 'gone.py'"),
        (["no_such_module:flow"], "cannot be imported: No module named 'no_such_module'"),
        (["queue.py:order_flow", "queue.py:Refund"], "need a name each"),
        (["A=queue.py:order_flow", "queue.py:Refund"], "has no name"),
        (["A=queue.py:order_flow", "A=queue.py:Refund"], "gives 'A' twice"),
        (["A@1.0.0=queue.py:order_flow", "A@1.0.0=queue.py:Refund"], "gives 'A' twice"),
        (["A=queue.py"], "takes MODULE:FUNCTION or FILE.py:FUNCTION"),
        (["exits.py:flow"], "cannot be imported: SystemExit: 0"),
        (["broken.py:flow"], "cannot be imported: SyntaxError"),
    ],
)
def test_what_cannot_be_loaded_is_said(places: list[str], says: str) -> None:
    Path("exits.py").write_text("raise SystemExit(0)\n")
    Path("broken.py").write_text("def flow(:\n")
    with pytest.raises(WorkbenchError) as raised:
        load_codes(places)
    assert says in str(raised.value)
