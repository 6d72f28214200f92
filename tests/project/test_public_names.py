"""`workbench` offers a curated list of names, each of them documented."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module

import pytest

import workbench
from tests.project.committed import modules
from tests.project.test_environment import project
from tests.project.test_readme import blocks

NAMES = workbench.__all__


def test_the_list_is_sorted_and_complete() -> None:
    assert sorted(NAMES) == NAMES
    assert set(NAMES) == set(declared())
    assert set(dir(workbench)) == {*NAMES, "__version__"}


def test_type_checkers_are_told_what_is_loaded() -> None:
    for name, module in declared().items():
        assert getattr(workbench, name) is getattr(import_module(module), name)


def declared() -> dict[str, str]:
    """The names that `workbench/__init__.py` imports for type checkers alone, each with its module."""
    block = next(node for node in modules()["workbench/__init__.py"][1].body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_the_version_is_that_of_the_distribution() -> None:
    assert workbench.__version__ == project()["version"]


def test_the_names_of_the_design_are_there() -> None:
    session = {"Workbench", "Recording", "Limits", "ManualClock", "open_source"}
    faces = {"Client", "DuckDBProvider"}
    assert set(NAMES) >= session | faces


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_what_it_is(name: str) -> None:
    offered = getattr(workbench, name)
    if isinstance(offered, str):
        return
    assert written_doc(offered)


@pytest.mark.parametrize("name", NAMES)
def test_its_public_methods_say_what_they_do(name: str) -> None:
    offered = getattr(workbench, name)
    if not inspect.isclass(offered):
        return
    methods = {key: value for key, value in vars(offered).items() if not key.startswith("_") and is_method(value)}
    assert [key for key, value in methods.items() if not written_doc(value)] == []


def is_method(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def written_doc(thing: object) -> str | None:
    """The docstring that somebody wrote; not the signature that dataclasses put in its place, nor an inherited one."""
    doc = thing.__doc__ if not isinstance(thing, property) else thing.fget and thing.fget.__doc__
    return None if doc is None or doc.startswith(f"{getattr(thing, '__name__', '')}(") else doc.strip()


def test_the_python_of_the_readme_imports_public_names() -> None:
    names = {
        alias.name
        for block in blocks("python")
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and node.module == "workbench"
        for alias in node.names
    }
    assert names
    assert names <= set(NAMES)
