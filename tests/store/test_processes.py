"""One process has a file: a second is told, a dead one's work is kept, a forked one has no share."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.turns import run_turn, sets
from workbench.runtime.errors import StoreLocked
from workbench.store import DuckDBProvider, reading_file

HOLDER = """
import sys
from tests.store.turns import run_turn, sets
from workbench.store import DuckDBProvider
provider = DuckDBProvider(sys.argv[1])
run_turn(provider, "theirs", sets("k", "1"))
print("open", flush=True)
sys.stdin.read()
provider.close()
"""

ROOT = Path(__file__).parents[2]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A file that another process has open, and that process; it ends when its input does."""
    path = tmp_path / "flows.duckdb"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    yield path, process
    process.communicate(timeout=60)


def test_a_second_process_is_told_which_file_who_has_it_and_what_to_do(
    held: tuple[Path, subprocess.Popen[str]],
) -> None:
    path, process = held
    with pytest.raises(StoreLocked) as caught:
        DuckDBProvider(path)
    program = re.escape(Path(os.path.realpath(sys.executable)).name)
    assert re.fullmatch(
        rf"flows\.duckdb is open in {program} \(process {process.pid}\); a DuckDB file has one process at a time\. "
        r"Close it there \(wb\.close\(\), or stop that kernel\), or open a copy of the file",
        str(caught.value),
    )
    with pytest.raises(StoreLocked), reading_file(path):
        pass


def test_the_file_opens_once_the_other_process_has_closed_it(held: tuple[Path, subprocess.Popen[str]]) -> None:
    path, process = held
    process.communicate(timeout=60)
    assert process.returncode == 0
    provider = DuckDBProvider(path)
    assert provider.get_kv_value("theirs", "k") == "1"
    provider.close()


def test_what_a_killed_process_had_committed_is_there(held: tuple[Path, subprocess.Popen[str]]) -> None:
    path, process = held
    process.kill()
    process.wait(60)
    assert process.returncode == -signal.SIGKILL
    provider = DuckDBProvider(path)
    assert provider.get_kv_value("theirs", "k") == "1"
    run_turn(provider, "theirs", sets("k", "2"))
    provider.close()


def test_a_second_process_is_refused_while_this_one_works(tmp_path: Path) -> None:
    """Nothing that we do with an open file may drop DuckDB's lock on it."""
    path = tmp_path / "flows.duckdb"
    provider = DuckDBProvider(path)
    other = DuckDBProvider(path)
    run_turn(provider, "a")
    with reading_file(path):
        pass
    other.close()
    program = "import sys; from workbench.store import DuckDBProvider; DuckDBProvider(sys.argv[1])"
    second = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert "StoreLocked: flows.duckdb is open in " in second.stderr
    assert f"(process {os.getpid()})" in second.stderr
    provider.close()


FORKING = """
import os, sys
from workbench.runtime.errors import StoreLocked
from workbench.store import DuckDBProvider

def refusal(call):
    try:
        call()
    except StoreLocked as error:
        return str(error).split(";")[0]
    return "not refused"

provider = DuckDBProvider(sys.argv[1])
child = os.fork()
if child == 0:
    for call in (provider.instances, lambda: provider.enqueue([], 0), lambda: DuckDBProvider(sys.argv[1])):
        print(refusal(call), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(os.getpid(), provider.instances())
provider.close()
"""


def test_a_forked_process_has_no_share_in_the_store(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, str(tmp_path / "flows.duckdb")],
        capture_output=True, text=True, cwd=ROOT, timeout=60, check=True,
    )  # fmt: skip
    *refusals, last = done.stdout.splitlines()
    parent, instances = last.split(" ", 1)
    assert refusals == [f"flows.duckdb is open in process {parent}, from which this one was forked"] * 3
    assert instances == "[]"
