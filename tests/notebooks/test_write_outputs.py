"""Outputs are a function of the sources, and `--check` names the cell that is not."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from tests.notebooks.write_outputs import WIDGET_VIEW, canonical, differences, main


def write(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# A notebook"), *(new_code_cell(source) for source in sources)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def with_output(data: dict[str, str]) -> nbformat.NotebookNode:
    cell = new_code_cell("x", execution_count=1, outputs=[new_output("display_data", data)])
    notebook: nbformat.NotebookNode = new_notebook(cells=[cell])
    return notebook


def test_what_was_written_passes_the_check_and_is_not_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.ipynb", "print('one')\nprint('two')", "import ipywidgets\nipywidgets.IntSlider()")
    assert main(["--write"], tmp_path) == 0
    first = path.read_bytes()
    assert main(["--check"], tmp_path) == 0
    assert main(["--write"], tmp_path) == 0
    assert path.read_bytes() == first
    assert capsys.readouterr().out.splitlines() == [
        "a.ipynb: written",
        "a.ipynb: outputs are what a run gives",
        "a.ipynb: unchanged",
    ]
    outputs = [cell.outputs for cell in nbformat.read(path, as_version=4).cells[1:]]
    assert [[output.get("text") for output in outputs[0]], list(outputs[1][0].data)] == [["one\ntwo\n"], ["text/plain"]]


def test_a_check_names_notebook_and_cell_of_a_changed_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.ipynb", "'the value is ' + str(2 + 2)", "3")
    main(["--write"], tmp_path)
    path.write_text(path.read_text().replace("value is 4", "value is 5"))
    capsys.readouterr()
    assert main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out == (
        "a.ipynb: cell 2: outputs[0] data text/plain[0]: "
        """committed "'the value is 5'", a run gives "'the value is 4'"\n"""
    )


@pytest.mark.parametrize("source", ["hash('word')", "import time\ntime.strftime('%z', time.gmtime(0)), time.tzname[0]"])
def test_an_output_that_leans_on_hash_seed_or_time_zone_fails_the_check(tmp_path: Path, source: str) -> None:
    write(tmp_path / "a.ipynb", source)
    assert main(["--write"], tmp_path) == 0
    assert main(["--check"], tmp_path) == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "cell 3 (1 / 0) raises ZeroDivisionError: division by zero"),
        (
            "class Shown:\n    def _repr_html_(self): raise ValueError('cannot be shown')\nShown()",
            "cell 3 (class Shown:) raises ValueError: cannot be shown",
        ),
        ("import os\nos._exit(3)", "cell 3 (import os) ends the kernel"),
    ],
)
def test_a_notebook_that_does_not_run_is_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, said: str
) -> None:
    path = write(tmp_path / "a.ipynb", "1", source)
    before = path.read_bytes()
    assert main(["--write"], tmp_path) == 1
    assert path.read_bytes() == before
    assert main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [f"a.ipynb: {said}; nothing was written", f"a.ipynb: {said}"]


def test_running_leaves_nothing_beside_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("given")
    write(tmp_path / "a.ipynb", "print(open('given.txt').read())\nprint('new', file=open('made.txt', 'w'))")
    assert main(["--write", "a.ipynb"], tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ipynb", "given.txt"]


def test_no_notebooks_is_no_success(tmp_path: Path) -> None:
    assert main(["--check"], tmp_path) == 1


def test_canonical_text_has_no_random_id_no_timing_and_no_live_view() -> None:
    notebook = with_output({WIDGET_VIEW: "{}", "text/plain": "Slider()"})
    notebook.metadata = {"widgets": {}, "kernelspec": {"name": "my-kernel", "display_name": "Mine"}}
    notebook.cells[0].metadata = {"execution": {"started": "now"}, "scrolled": True, "tags": ["raises-exception"]}
    again = json.loads(canonical(notebook))
    assert again["metadata"]["kernelspec"]["name"] == "python3"
    assert "widgets" not in again["metadata"]
    assert again["cells"][0]["id"] == "cell-01"
    assert again["cells"][0]["metadata"] == {"tags": ["raises-exception"]}
    assert list(again["cells"][0]["outputs"][0]["data"]) == ["text/plain"]


def test_a_live_view_without_a_picture_is_left_for_the_guard_to_name() -> None:
    assert WIDGET_VIEW in canonical(with_output({WIDGET_VIEW: "{}"}))


def png(colour: str, level: int) -> str:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(buffer, "png", compress_level=level)
    return base64.b64encode(buffer.getvalue()).decode()


def test_pictures_are_compared_by_their_pixels() -> None:
    blue, smaller, red = (
        canonical(with_output({"image/png": png(*how)})) for how in (("blue", 0), ("blue", 9), ("red", 0))
    )
    assert blue != smaller
    assert list(differences(blue, smaller)) == []
    assert [line.split(":")[0] for line in differences(blue, red)] == ["cell 1"]


def test_differences_see_metadata_and_missing_cells() -> None:
    one = canonical(with_output({"text/plain": "1"}))
    assert list(differences(one.replace("(ipykernel)", ""), one)) == [
        "metadata or formatting are not as write_outputs makes them"
    ]
    shorter = json.loads(one) | {"cells": []}
    assert [line.split(":")[0] for line in differences(json.dumps(shorter), one)] == ["cell 1"]


def test_of_a_long_text_the_part_that_differs_is_shown() -> None:
    one, other = (canonical(with_output({"text/plain": "a" * 500 + end + "b" * 500})) for end in ("1", "2"))
    (line,) = differences(one, other)
    shown = [f"… {'a' * 40}{end}{'b' * 79} …" for end in ("1", "2")]
    assert line == f"cell 1: outputs[0] data text/plain[0]: committed {shown[0]}, a run gives {shown[1]}"
