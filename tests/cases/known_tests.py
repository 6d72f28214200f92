"""Which tests there are, read from the source, without importing or running any."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITE = ROOT / "workbench" / "store" / "validation"


@cache
def known_tests() -> frozenset[str]:
    """The node ids, without parameters, of every test, and of every KV rule of the provider validation suite."""
    files = dict.fromkeys((ROOT / "tests").rglob("test_*.py"), "test_")
    files |= dict.fromkeys(SUITE.glob("*.py"), "kv_")
    return frozenset(
        f"{path.relative_to(ROOT).as_posix()}::{node.name}"
        for path, prefix in files.items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith(prefix)
    )
