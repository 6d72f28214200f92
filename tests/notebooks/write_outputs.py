"""Run the notebooks and write their outputs, or check that the committed ones are what a run gives.

python -m tests.notebooks.write_outputs --check | --write [NAME …]

This is the only way outputs get into a notebook. JupyterLab's Save button leaves random cell ids, timings and widget
models behind; here every cell is run in a new kernel, and what is written depends on nothing but the sources.
A check runs under another time zone and hash seed than a write did, so an output that leans on one is found.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from PIL import Image

from tests.notebooks.found import FOLDER, copy_of

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WRITING = {"TZ": "UTC", "PYTHONHASHSEED": "0"}
CHECKING = {"TZ": "Pacific/Chatham", "PYTHONHASHSEED": "1"}
CELL_SECONDS = 60
NOTEBOOK_METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"},
    "language_info": {"name": "python"},
}


class DoesNotRun(Exception):
    """A cell of a notebook fails, hangs, or takes the kernel with it."""


def main(arguments: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Check or write; returns the exit code: 0 when every notebook is as a run makes it, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebooks.write_outputs", description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare with the committed outputs; write nothing")
    what.add_argument("--write", action="store_true", help="write the outputs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these notebooks, such as 01_first.ipynb")
    options = parser.parse_args(arguments)

    paths = [folder / name for name in options.names] or sorted(folder.glob("*.ipynb"))
    if not paths:
        print(f"no notebooks in {folder.name}/")
        return 1
    return max([_write(path) if options.write else _check(path) for path in paths])


def _check(path: Path) -> int:
    committed = path.read_text(encoding="utf-8")
    try:
        problems = list(differences(committed, canonical(run(path, CHECKING))))
    except DoesNotRun as problem:
        problems = [str(problem)]
    print("\n".join(f"{path.name}: {line}" for line in problems or ["outputs are what a run gives"]))
    return 1 if problems else 0


def _write(path: Path) -> int:
    committed = path.read_text(encoding="utf-8")
    try:
        fresh = canonical(run(path, WRITING))
    except DoesNotRun as problem:
        print(f"{path.name}: {problem}; nothing was written")
        return 1
    changed = any(differences(committed, fresh))
    if changed:
        path.write_text(fresh, encoding="utf-8", newline="\n")
    print(f"{path.name}: {'written' if changed else 'unchanged'}")
    return 0


def run(path: Path, environment: dict[str, str]) -> nbformat.NotebookNode:
    """Run a notebook from the top in a new kernel, in a copy of its folder.

    Raises:
        DoesNotRun: names the cell that fails, or takes longer than `CELL_SECONDS`.
    """
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as scratch:
        beside = copy_of(path.parent, Path(scratch) / path.parent.name)
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=CELL_SECONDS,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(beside)}},
        )
        last = 0

        def count(cell: nbformat.NotebookNode, cell_index: int) -> None:
            nonlocal last
            last = cell_index

        client.on_cell_start = count
        variables = os.environ | environment | {"IPYTHONDIR": str(Path(scratch) / "ipython")}
        try:
            client.execute(env=variables, stderr=subprocess.DEVNULL)  # of the kernel itself, not of cells
        except CellExecutionError:
            # The exception itself has no name when an object fails to show itself.
            error = next(output for output in notebook.cells[last].outputs if output.output_type == "error")
            raise DoesNotRun(f"{_place(notebook, last)} raises {error.ename}: {error.evalue}") from None
        except CellTimeoutError:
            raise DoesNotRun(f"{_place(notebook, last)} takes longer than {CELL_SECONDS} s") from None
        except DeadKernelError:
            raise DoesNotRun(f"{_place(notebook, last)} ends the kernel") from None
    return notebook


def _place(notebook: nbformat.NotebookNode, index: int) -> str:
    first_line = notebook.cells[index].source.split("\n")[0]
    return f"cell {index + 1} ({first_line})"


def canonical(notebook: nbformat.NotebookNode) -> str:
    """Write a notebook as text that depends on its sources and outputs only."""
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number:02d}"
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            # A live view without its kernel opens as an error, even beside the static picture.
            if "text/html" in data or "text/plain" in data:
                data.pop(WIDGET_VIEW, None)
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def differences(committed: str, fresh: str) -> Iterator[str]:
    """One line for each cell that is not as it should be, with the first line that differs; nothing for equal texts."""
    committed, fresh = _with_pixels(committed), _with_pixels(fresh)
    if committed == fresh:
        return
    before, after = json.loads(committed), json.loads(fresh)
    found = False
    for number, (old, new) in enumerate(zip_longest(before["cells"], after["cells"]), start=1):
        if old != new:
            found = True
            yield f"cell {number}: {_first_difference(old, new)}"
    if not found:
        yield "metadata or formatting are not as write_outputs makes them"


def _first_difference(old: Any, new: Any, where: str = "") -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        key = next(key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key))
        return _first_difference(old.get(key), new.get(key), f"{where} {key}".lstrip())
    if isinstance(old, list) and isinstance(new, list):
        number, (one, other) = next((n, pair) for n, pair in enumerate(zip_longest(old, new)) if pair[0] != pair[1])
        return _first_difference(one, other, f"{where}[{number}]")
    before, after = (("nothing" if value is None else json.dumps(value, ensure_ascii=False)) for value in (old, new))
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    start = max(0, alike - 40)
    return f"{where}: committed {_part(before, start)}, a run gives {_part(after, start)}"


def _part(text: str, start: int) -> str:
    return ("… " if start else "") + text[start : start + 120] + (" …" if len(text) > start + 120 else "")


def _with_pixels(text: str) -> str:
    """Put a digest of its pixels in place of every PNG: how one is compressed differs between releases."""
    notebook = json.loads(text)
    pictures = [
        output["data"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    if not pictures:
        return text
    for data in pictures:
        encoded = data["image/png"]
        picture = Image.open(io.BytesIO(base64.b64decode(encoded if isinstance(encoded, str) else "".join(encoded))))
        data["image/png"] = f"{picture.size} {hashlib.sha256(picture.convert('RGBA').tobytes()).hexdigest()}"
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
