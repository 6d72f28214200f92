"""Damaged files, events and JSON: none runs code, reads another file, or ends uncaught."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.recordings.fuzzing import KINDS


@pytest.mark.parametrize("count", [240, pytest.param(10_000, marks=pytest.mark.long)])
def test_damaged_files_are_read_or_refused_in_our_words(count: int) -> None:
    command = [sys.executable, "-m", "tests.recordings.fuzzing", str(count), "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = {line.split(":")[0]: line for line in done.stdout.splitlines()}
    assert set(figures) == {kind.__name__ for kind in KINDS}
    assert sum(int(line.split()[-1].replace(",", "")) for line in done.stdout.splitlines()) == count
