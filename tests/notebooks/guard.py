"""What nbval cannot see in a notebook: outputs that nobody compares, and what makes one not worth committing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat.v4

from tests.notebooks.write_outputs import WIDGET_VIEW

MAX_NOTEBOOK_BYTES = 500_000
SWITCHES_NBVAL_OFF = ("nbval_ignore_output", "nbval_skip", "nbval_raises_exception", "pytest_validate_ignore_output")


def problems(path: Path) -> list[str]:
    """Everything that is wrong with a committed notebook, one line each; empty when all is well."""
    # nbformat.read would mend some of the very things that are looked for.
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    found = list(_of_the_whole(notebook))
    if path.stat().st_size > MAX_NOTEBOOK_BYTES:
        found.append(f"{path.stat().st_size} bytes; {MAX_NOTEBOOK_BYTES} is what a reader's viewer shows quickly")
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code":
            found += [f"cell {number}: {problem}" for problem in _of_a_code_cell(cell)]
    return found


def _of_the_whole(notebook: Any) -> Iterator[str]:
    kernel = notebook.metadata.get("kernelspec", {}).get("name")
    if kernel != "python3":
        yield f"the kernel is {kernel!r}; only 'python3' is there in every environment"
    if "widgets" in notebook.metadata:
        yield "widget state is stored; code hosts refuse to show it"
    first = notebook.cells[0] if notebook.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.startswith("# "):
        yield "the first cell is no title"
    ids = [cell.get("id") for cell in notebook.cells]
    if len(set(ids)) != len(ids):
        yield "two cells have one id"
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if not counts:
        yield "there is no code cell"
    if counts != list(range(1, len(counts) + 1)):
        yield f"the cells were not run once each from the top: {counts}; nbval compares nothing in a cell never run"


def _of_a_code_cell(cell: Any) -> Iterator[str]:
    tags = cell.metadata.get("tags", [])
    if "execution" in cell.metadata:
        yield "times of execution are stored"
    if cell.source.rstrip().endswith(";"):
        yield "ends with ';', after which nbval sees other outputs than a reader; write _ = …"
    markers = [*tags, *(line.strip("# \t") for line in cell.source.split("\n") if line.lstrip().startswith("#"))]
    for marker in markers:
        if marker.lower().replace("-", "_") in SWITCHES_NBVAL_OFF:
            yield f"{marker} keeps nbval from comparing it"
    for output in cell.outputs:
        yield from _of_an_output(output, expected_error="raises-exception" in tags)


def _of_an_output(output: Any, *, expected_error: bool) -> Iterator[str]:
    data = output.get("data", {})
    if WIDGET_VIEW in data:
        yield "a live widget view is stored; it opens as an error"
    if data and "text/html" not in data and "text/plain" not in data:
        yield "an output that is neither text nor HTML is compared by nobody"
    if "image/svg+xml" in data:
        yield "an SVG output is not shown before the notebook is trusted; use PNG"
    if output.output_type == "error" and not expected_error:
        yield f"fails with {output.ename}; tag it raises-exception if that is what it shows"
    if output.get("name") == "stderr":
        yield "writes to stderr"
