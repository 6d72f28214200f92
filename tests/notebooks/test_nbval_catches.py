"""nbval fails when one key value, one event or one status of a stored output is changed by hand.

The changes are made in different cells of one copy of each notebook, as running it takes long, and in a copy of its
own where there is no other cell; nbval must name exactly the cells that were changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.notebooks.found import NOTEBOOKS, copy_of
from tests.notebooks.nbval import failures
from tests.notebooks.write_outputs import main as write_outputs

# What a reader sees of each; it is changed to something that is no such thing.
KINDS = {
    "key-value": r"""(?<== )(?:"|&quot;)\w+(?:"|&quot;)""",
    "event": r"\bevent \d+|\b(?:Activity|Timer|Orchestration|KeyValue|Queue|External)[A-Z]\w+",
    "status": r"\b(?:[Cc]ompleted|[Ff]ailed|[Rr]unning|diverged|same)\b",
}
NOT_SEEN = r"<style.*?</style>|<[^>]*>"  # of an HTML output


def texts(cell: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Where the texts of a cell's outputs are kept, in a form that nbval compares."""
    for output in cell.outputs:
        holder, kinds = (
            (output, ["text"])
            if output.output_type == "stream"
            else (output.get("data", {}), ["text/html", "text/plain"])
        )
        yield from ((holder, kind) for kind in kinds if kind in holder)


def change(path: Path, kind: str, changed_before: Collection[int | None] = ()) -> int | None:
    """Change the first thing of a kind that is seen in a notebook; returns its code cell, numbered as nbval does.

    Cells that were changed before are left alone.
    """
    notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    code_cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells):
        if number in changed_before:
            continue
        for holder, form in texts(cell):
            if (changed := changed_text(holder[form], kind)) is not None:
                holder[form] = changed
                path.write_text(json.dumps(notebook), encoding="utf-8")
                return number
    return None


def changed_text(text: str, kind: str) -> str | None:
    for found in re.finditer(rf"{NOT_SEEN}|(?P<seen>{KINDS[kind]})", text, re.DOTALL):
        if found["seen"]:
            return f"{text[: found.start()]}changed by hand{text[found.end() :]}"
    return None


def expected_and_found(notebook: Path, scratch: Path) -> tuple[set[tuple[str, int | None]], set[tuple[str, int]]]:
    expected: set[tuple[str, int | None]] = set()
    for kind in KINDS:
        together = only_copy(notebook, scratch / "together")
        cell = change(together, kind, [number for folder, number in expected if folder == "together"])
        if cell is not None:
            expected.add(("together", cell))
        else:
            expected.add((kind, change(only_copy(notebook, scratch / kind), kind)))
    return expected, failures(scratch)


def only_copy(notebook: Path, folder: Path) -> Path:
    """A copy of a notebook's folder without the other notebooks, made once."""
    if not folder.exists():
        for other in copy_of(notebook.parent, folder).glob("*.ipynb"):
            if other.name != notebook.name:
                other.unlink()
    return folder / notebook.name


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_change_by_hand_makes_nbval_fail(notebook: Path, tmp_path: Path) -> None:
    expected, found = expected_and_found(notebook, tmp_path)
    assert found == expected


def test_what_is_compared_is_found_and_what_is_not_compared_is_not(tmp_path: Path) -> None:
    sources = ["print('counter-1 completed')", "# NBVAL_IGNORE_OUTPUT\nprint('event 2: set counter = \"1\"')"]
    notebook = tmp_path / "notebooks" / "a.ipynb"
    notebook.parent.mkdir()
    nbformat.write(new_notebook(cells=[new_markdown_cell("# A"), *map(new_code_cell, sources)]), notebook)
    assert write_outputs(["--write"], notebook.parent) == 0
    expected, found = expected_and_found(notebook, tmp_path / "changed")
    assert expected == {("together", 1), ("event", 1), ("together", 0)}
    assert found == {("together", 0)}


def test_only_what_is_seen_of_an_html_output_is_changed() -> None:
    html = "<style>.diverged{}</style><p class='failed'>same</p><p>running</p>"
    assert changed_text(html, "status") == html.replace("same", "changed by hand")
    assert changed_text("<p title='event 3'></p>", "event") is None
