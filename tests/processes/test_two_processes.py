"""A second process on a file that another one has: told which file, which process, what to do; nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench import Workbench, open_source
from workbench.runtime.errors import StoreLocked

ROOT = Path(__file__).parents[2]
WORKING = """
import sys
from tests.processes.test_one_process import opened
wb = opened(sys.argv[1])
wb.runtime.start()
wb.start("counter", ["first", 2], instance_id="first")
wb.client.wait_for_orchestration("first")
print("working", flush=True)
for number in range(10_000):
    name = f"more-{number}"
    wb.client.start_orchestration(name, "counter", [name, 2])
    wb.client.wait_for_orchestration(name)
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A file that a runtime in another process works on, until that is killed."""
    path = tmp_path / "flows.duckdb"
    process = subprocess.Popen(
        [sys.executable, "-c", WORKING, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    yield path, process
    process.kill()
    process.communicate(timeout=60)


def test_a_second_process_is_refused_every_way_in_and_gets_the_file_when_the_first_is_gone(
    held: tuple[Path, subprocess.Popen[str]],
) -> None:
    path, process = held
    told = rf"flows\.duckdb is open in .* \(process {process.pid}\); .*[Cc]lose it there .*or open a copy of the file"
    refused = 0
    for _ in range(5):
        for way_in in (Workbench, open_source):
            with pytest.raises(StoreLocked, match=told):
                way_in(path)
            refused += 1
    assert process.poll() is None
    print(f"{refused} times refused, for writing and for reading")
    process.kill()
    process.wait(60)
    with open_source(path) as source:
        assert "first" in list(source.instances["instance_id"])
    with Workbench(path) as wb:
        assert wb.run("first").output == "first"
        assert wb.run("first").kv == {"who": "first", "count": "first:2"}
