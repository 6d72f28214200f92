"""P-20: nbval passes again and again, with another hash seed, in another time zone, side by side, in a moved folder.

Twice here, for a notebook that has everything which usually flickers and for one of the committed ones; with `--long`
twenty times, and all committed notebooks.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.notebooks.found import FOLDER, NOTEBOOKS, copy_of
from tests.notebooks.nbval import failures
from tests.notebooks.write_outputs import main as write_outputs

ELSEWHERE = ("America/St_Johns", "Asia/Kathmandu")
SIDE_BY_SIDE = 2
SOME = ("02_snapshot_poisoning.ipynb",)

FLICKERING = [
    """import logging, pathlib, sys, tempfile, time
from workbench import Workbench

logging.getLogger("workbench").setLevel(logging.DEBUG)
folder = tempfile.TemporaryDirectory()
wb = Workbench(pathlib.Path(folder.name) / "store.duckdb")
wb""",
    """@wb.orchestration("Order")
def order(ctx, given):
    ctx.trace_info(f"order {given}")
    ctx.set_kv_value("guid", (yield ctx.new_guid()))
    ctx.set_kv_value("at", str((yield ctx.utc_now())))
    yield ctx.all([ctx.schedule_activity("Work", n) for n in range(2)])
    yield ctx.schedule_timer(60_000)
    return given


@wb.activity("Work")
def work(ctx, n):
    ctx.trace_info(f"work {n}")
    return n


runs = [wb.start(order, n) for n in range(3)]
for run in runs:
    print(run.finish())""",
    "panel = runs[0].stepper()\npanel",
    "panel",
    "runs[0].history",
    "print(runs[0].turns[-1].text())\nprint(sorted({run.instance_id for run in runs}))\nwb.instances",
    "wb.sql('select instance_id, key, value, last_updated_at_ms from kv_store order by instance_id, key')",
    """@wb.orchestration("Quick")
def quick(ctx, n):
    ctx.trace_warn("in a thread")
    return (yield ctx.schedule_activity("Work", n))


wb.runtime.start()
for n in range(20):
    wb.client.start_orchestration(f"quick-{n}", "Quick", n)
print("other cells run meanwhile")""",
    "panel.previous()\npanel",
    "[wb.client.wait_for_orchestration(f'quick-{n}').output for n in range(20)]",
    "print({name: run.kv['at'] for name, run in zip('abc', runs)})",
    "runs[0].limits_panel()",
    "wb.runtime.shutdown()\nwb.close()\nfolder.cleanup()",
]


def environment(number: int) -> dict[str, str]:
    return {"PYTHONHASHSEED": str(1000 + 37 * number), "TZ": ELSEWHERE[number % len(ELSEWHERE)]}


def failed(notebooks: Path, scratch: Path, times: int) -> list[set[tuple[str, int]]]:
    """What nbval finds wrong in each of so many copies of a folder, each in another place, some side by side."""
    folders = [copy_of(notebooks, scratch / f"moved {number}" / notebooks.name) for number in range(times)]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return list(pool.map(failures, folders, map(environment, range(times))))


@pytest.fixture(scope="module")
def flickering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the notebook of the report, its outputs written as those of the committed ones are."""
    folder = tmp_path_factory.mktemp("p20") / "notebooks"
    folder.mkdir()
    cells = [new_markdown_cell("# What flickers"), *map(new_code_cell, FLICKERING)]
    nbformat.write(new_notebook(cells=cells), folder / "flickering.ipynb")
    assert write_outputs(["--write"], folder) == 0
    return folder


def only(names: tuple[str, ...], scratch: Path) -> Path:
    folder = copy_of(FOLDER, scratch / "some")
    for path in folder.glob("*.ipynb"):
        if path.name not in names:
            path.unlink()
    return folder


def test_what_flickers_elsewhere_passes_twice(flickering: Path, tmp_path: Path) -> None:
    assert failed(flickering, tmp_path, 2) == [set(), set()]


def test_nothing_of_it_is_written_to_stderr_and_nothing_shows_where_or_when_it_ran(flickering: Path) -> None:
    text = (flickering / "flickering.ipynb").read_text(encoding="utf-8")
    assert '"stderr"' not in text
    assert str(Path(tempfile.gettempdir())) not in text
    assert "NBVAL" not in text


def test_committed_notebooks_pass_elsewhere(tmp_path: Path) -> None:
    assert failed(only(SOME, tmp_path), tmp_path, 1) == [set()]


@pytest.mark.long
def test_what_flickers_elsewhere_passes_twenty_times(flickering: Path, tmp_path: Path) -> None:
    assert failed(flickering, tmp_path, 20) == [set()] * 20


@pytest.mark.long
def test_all_committed_notebooks_pass_in_both_places(tmp_path: Path) -> None:
    assert len(NOTEBOOKS) > len(SOME)
    assert failed(FOLDER, tmp_path, 2) == [set(), set()]
