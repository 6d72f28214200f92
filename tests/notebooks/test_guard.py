"""Every committed notebook is one that nbval can check; and the guard that says so finds each planted defect."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.notebooks.found import NOTEBOOKS
from tests.notebooks.guard import MAX_NOTEBOOK_BYTES, problems
from tests.notebooks.write_outputs import NOTEBOOK_METADATA, WIDGET_VIEW


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nbval_sees_everything_in_the_notebook(path: Path) -> None:
    assert problems(path) == []


def sound() -> Any:
    cells = [
        new_markdown_cell("# A notebook"),
        new_code_cell("1", execution_count=1, outputs=[new_output("execute_result", {"text/plain": "1"})]),
        new_code_cell("2", execution_count=2, outputs=[new_output("stream", name="stdout", text="2")]),
    ]
    return new_notebook(cells=cells, metadata=nbformat.from_dict(NOTEBOOK_METADATA))


def problems_of(notebook: Any, folder: Path) -> list[str]:
    path = folder / "a.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")  # nbformat.write would mend defects
    return problems(path)


def test_a_sound_notebook_has_no_problem(tmp_path: Path) -> None:
    assert problems_of(sound(), tmp_path) == []


def strip_outputs(notebook: Any) -> None:
    for cell in notebook.cells[1:]:
        cell.outputs, cell.execution_count = [], None


def store_a_live_view(notebook: Any) -> None:
    notebook.cells[1].outputs[0].data[WIDGET_VIEW] = {"model_id": "0"}


def leave_only_a_picture(notebook: Any) -> None:
    notebook.cells[1].outputs[0].data = {"image/png": "AAAA"}


def fail(notebook: Any) -> None:
    notebook.cells[2].outputs = [new_output("error", ename="ValueError", evalue="no", traceback=[])]


DEFECTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "another kernel": (lambda n: n.metadata.kernelspec.update(name="my-env"), "the kernel is 'my-env'"),
    "widget state": (lambda n: n.metadata.update(widgets={}), "widget state is stored"),
    "no title": (lambda n: n.cells.pop(0), "the first cell is no title"),
    "equal ids": (lambda n: n.cells[1].update(id=n.cells[2].id), "two cells have one id"),
    "never run": (strip_outputs, "the cells were not run once each from the top: [None, None]"),
    "run twice": (
        lambda n: n.cells[2].update(execution_count=3),
        "the cells were not run once each from the top: [1, 3]",
    ),
    "no code": (lambda n: n.update(cells=n.cells[:1]), "there is no code cell"),
    "timing": (lambda n: n.cells[1].metadata.update(execution={}), "cell 2: times of execution"),
    "semicolon": (lambda n: n.cells[1].update(source="f();"), "cell 2: ends with ';'"),
    "switched off by a tag": (
        lambda n: n.cells[1].metadata.update(tags=["nbval-ignore-output"]),
        "cell 2: nbval-ignore-output keeps nbval from comparing it",
    ),
    "switched off by a comment": (
        lambda n: n.cells[1].update(source="1\n  # NBVAL_SKIP"),
        "cell 2: NBVAL_SKIP keeps nbval from comparing it",
    ),
    "live view": (store_a_live_view, "cell 2: a live widget view is stored"),
    "picture only": (leave_only_a_picture, "cell 2: an output that is neither text nor HTML"),
    "svg": (lambda n: n.cells[1].outputs[0].data.update({"image/svg+xml": "<svg/>"}), "cell 2: an SVG output"),
    "failed": (fail, "cell 3: fails with ValueError"),
    "stderr": (lambda n: n.cells[2].outputs[0].update(name="stderr"), "cell 3: writes to stderr"),
    "size": (lambda n: n.cells[2].outputs[0].update(text="x" * MAX_NOTEBOOK_BYTES), f"{MAX_NOTEBOOK_BYTES} is what"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_the_guard_finds_a_planted_defect(tmp_path: Path, defect: str) -> None:
    plant, said = DEFECTS[defect]
    notebook = sound()
    plant(notebook)
    assert [problem for problem in problems_of(notebook, tmp_path) if said in problem]


def test_a_failure_that_is_the_lesson_is_no_problem(tmp_path: Path) -> None:
    notebook = sound()
    fail(notebook)
    notebook.cells[2].metadata["tags"] = ["raises-exception"]
    assert problems_of(notebook, tmp_path) == []
