"""A clone on any machine is the same: no committed file knows where it was written."""

from __future__ import annotations

import re

import pytest

from tests.project.committed import ROOT, committed_files

# Checkouts, root's home and scratch folders; preceded by nothing that would make it a relative path or an address.
MACHINE_PATH = re.compile(rb"(?<![\w.~-])/(?:work|root|farm)/[\w.]|/tmp/(?:bash_jobs|pytest-|tmp\w|w/)")


def test_no_committed_file_holds_a_path_of_a_machine() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group().decode(errors='replace')}"
        for path in committed_files()
        for match in MACHINE_PATH.finditer(path.read_bytes())
    }
    assert found == set()


@pytest.mark.parametrize("text", ["open('/work{}main/a.py')", "/root{}.ipython", "file:///tmp{}bash_jobs{}0"])
def test_the_search_finds_a_path_of_a_machine(text: str) -> None:
    assert MACHINE_PATH.search(text.replace("{}", "/").encode())


@pytest.mark.parametrize(
    "text", ["notebooks/work{}a", "https://example.org/root{}x", "the /work{} folder", "/usr/bin{}env"]
)
def test_the_search_leaves_other_paths_alone(text: str) -> None:
    assert not MACHINE_PATH.search(text.replace("{}", "/").encode())


def test_the_notes_of_checking_and_running_are_not_committed() -> None:
    ignored = {".ipynb_checkpoints", "__pycache__", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
    assert [path for path in committed_files() if ignored & set(path.relative_to(ROOT).parts)] == []
