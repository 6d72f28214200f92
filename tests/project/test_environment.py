"""environment.yml, for conda, says what pyproject.toml says; and pyproject.toml names what the code imports."""

from __future__ import annotations

import ast
import sys
import tomllib
from fnmatch import fnmatchcase
from importlib.metadata import packages_distributions
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.committed import PACKAGE, ROOT, committed_files, modules

PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
CONDA_NAMES = {"duckdb": "python-duckdb", "matplotlib": "matplotlib-base"}


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(PYPROJECT)["project"]
    return table


def environment() -> list[Any]:
    document = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    dependencies: list[Any] = document["dependencies"]
    return dependencies


def bounds(lines: list[str]) -> dict[str, str]:
    return {canonicalize_name((found := Requirement(line)).name): str(found.specifier) for line in lines}


def test_conda_and_pip_install_the_same_ranges() -> None:
    pip = bounds(project()["dependencies"])
    wanted = {"python": str(Requirement("python" + project()["requires-python"]).specifier)}
    wanted |= {CONDA_NAMES.get(name, name): specifier for name, specifier in pip.items()}
    assert bounds([line for line in environment() if isinstance(line, str) and line != "pip"]) == wanted


def test_the_package_itself_comes_from_the_checkout_last() -> None:
    assert "pip" in environment()
    assert environment()[-1] == {"pip": ["-e ."]}


def imported(tree: ast.Module) -> set[str]:
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def test_every_import_of_the_package_is_a_declared_dependency() -> None:
    declared = set(bounds(project()["dependencies"]))
    distributions = packages_distributions()
    missing = {
        f"{path} imports {name}"
        for path, (_, tree) in modules().items()
        for name in imported(tree) - sys.stdlib_module_names - {"workbench"}
        if not declared & {canonicalize_name(distribution) for distribution in distributions.get(name, [name])}
    }
    assert missing == set()


def test_what_is_no_code_is_installed_with_the_package() -> None:
    patterns = tomllib.loads(PYPROJECT)["tool"]["setuptools"]["package-data"]["workbench"]
    data = [path.relative_to(PACKAGE) for path in committed_files() if path.is_relative_to(PACKAGE)]
    others = [path for path in data if path.suffix != ".py"]
    assert others
    assert [str(path) for path in others if not any(fnmatchcase(str(path), pattern) for pattern in patterns)] == []
