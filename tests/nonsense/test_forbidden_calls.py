"""What the package never does: run text as code, unpickle, use a shell, or write a value into SQL."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "workbench"

CALLS = {"eval", "exec", "compile", "__import__"}
MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}
STATEMENTS = {"execute", "executemany", "executescript", "sql", "query", "extract_statements"}
"""Methods of a database whose first argument is SQL; `sql` and `query` are our own names for it, too."""

SANCTIONED = {
    # Running text as code.
    ("recordings/sent_code.py", "receive"): "the user's own function, whose source went to a process of ours",
    # SQL that is no constant: what a user asks for goes to a read-only connection or transaction as it is.
    ("session.py", "Workbench.sql"): "the user's SELECT",
    ("store/provider.py", "DuckDBProvider.query"): "the user's SELECT, in a read-only transaction",
    ("recordings/sources/source.py", "Source.sql"): "the user's SELECT",
    ("recordings/sources/answering_child.py", "answer"): "the user's SELECT, on its way through a process of ours",
    ("recordings/sources/sqlite_connection.py", "run_query"): "the user's SELECT, under an authorizer; and our views",
    ("recordings/sources/workbench_duckdb.py", "WorkbenchSource.query"): "the user's SELECT; and our views",
    # SQL of ours that stands elsewhere.
    ("store/versions.py", "migrate"): "a schema file of the package",
    ("store/database.py", "Database._transaction"): "the word that begins it, a constant of its two callers",
}


class Found(NamedTuple):
    file: str
    function: str
    line: int
    what: str


class Names(NamedTuple):
    """What the names of a module or a function are bound to; several times, when they are."""

    bound: dict[str, list[ast.expr]]


def names_in(body: ast.AST) -> Names:
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(bound, target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _bind(bound, node.target, node.value)
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple | ast.List | ast.Name):
            members = node.iter.elts if isinstance(node.iter, ast.Tuple | ast.List) else [node.iter]
            for member in members:
                _bind(bound, node.target, member)
    return Names(bound)


def _bind(bound: dict[str, list[ast.expr]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        bound.setdefault(target.id, []).append(value)
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for part, its in zip(target.elts, value.elts, strict=True):
            _bind(bound, part, its)


def is_constant(node: ast.expr, scopes: tuple[Names, ...]) -> bool:
    """Whether it is text that stands in the source, put together of nothing else."""
    match node:
        case ast.Constant():
            return isinstance(node.value, str)
        case ast.JoinedStr():
            return all(is_constant(part, scopes) for part in node.values)
        case ast.FormattedValue(value=value) | ast.Subscript(value=value):
            return is_constant(value, scopes)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(is_constant(part, scopes) for part in parts)
        case ast.Dict(values=parts):
            return all(is_constant(part, scopes) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_constant(left, scopes) and is_constant(right, scopes)
        case ast.Call(func=ast.Attribute(value=text, attr="format" | "replace"), args=args, keywords=named):
            given = [*args, *(each.value for each in named)]
            return is_constant(text, scopes) and all(is_constant(each, scopes) for each in given)
        case ast.Name(id=name):
            for position, scope in enumerate(scopes):
                if name in scope.bound:
                    return all(is_constant(value, scopes[position:]) for value in scope.bound[name])
    return False


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST, list[ast.AST]]]:
    """Each function (and the module itself) with its qualified name and the nodes that are its own."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        name, outer = pending.pop()
        own: list[ast.AST] = []
        below = list(ast.iter_child_nodes(outer))
        while below:
            node = below.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                pending.append((f"{name}.{node.name}".lstrip("."), node))
            else:
                own.append(node)
                below += ast.iter_child_nodes(node)
        yield name, outer, own


def found_in(source: str, file: str) -> list[Found]:
    """Every forbidden thing in a module."""
    tree = ast.parse(source)
    top = Names({})
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            top.bound.update(names_in(statement).bound)
    found = []
    for name, outer, own in functions(tree):
        scopes = (names_in(outer), top) if name else (top,)
        for node in own:
            what = _forbidden(node, scopes)
            if what is not None:
                found.append(Found(file, name, getattr(node, "lineno", 0), what))
    return found


def _forbidden(node: ast.AST, scopes: tuple[Names, ...]) -> str | None:
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        bad = [each for each in modules if each.partition(".")[0] in MODULES]
        return f"import {bad[0]}" if bad else None
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id in CALLS:
        return f"{node.func.id}(…)"
    if any(each.arg == "shell" and not _is_false(each.value) for each in node.keywords):
        return "shell=…"
    if not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in ("system", "popen") and ast.unparse(node.func.value) == "os":
        return "a shell"
    if node.func.attr in STATEMENTS and node.args and not is_constant(node.args[0], scopes):
        return f".{node.func.attr}({ast.unparse(node.args[0])})"
    return None


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@functools.cache
def everything() -> tuple[int, list[Found]]:
    files = sorted(PACKAGE.rglob("*.py"))
    found = [each for path in files for each in found_in(path.read_text(), path.relative_to(PACKAGE).as_posix())]
    return len(files), found


def test_no_text_becomes_code_nothing_is_unpickled_and_sql_is_constant() -> None:
    files, found = everything()
    print(f"{files} files, {len(found)} sanctioned places")
    assert files > 100
    assert [each for each in found if (each.file, each.function) not in SANCTIONED] == []


def test_every_sanctioned_place_is_still_there() -> None:
    _, found = everything()
    assert set(SANCTIONED) - {(each.file, each.function) for each in found} == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from marshal import loads",
        "eval('1')",
        "exec(text)",
        "__import__('os')",
        "compile(text, '', 'exec')",
        "subprocess.run('ls', shell=True)",
        "os.system('ls')",
        "def f(c, name):\n    c.execute(f'SELECT {name}')",
        "def f(c, name):\n    c.execute('SELECT ' + name)",
        "def f(c, name):\n    c.execute('SELECT %s' % name)",
        "def f(c, name):\n    c.execute('SELECT {}'.format(name))",
        "def f(c, name):\n    text = 'SELECT 1'\n    if name:\n        text = name\n    c.execute(text)",
        "def f(c, text):\n    c.executemany(text, [])",
        "A = 'SELECT'\ndef f(c, name):\n    c.execute(f'{A} {name}')",
        "class C:\n    def f(self, text):\n        self.c.query(text)",
    ],
)
def test_it_would_be_found(source: str) -> None:
    assert len(found_in(source, "file.py")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "A = 'SELECT'\nB = f'{A} 1'\ndef f(c):\n    c.execute(B, [1])",
        "A = ('SELECT 1', 'SELECT 2')\ndef f(c):\n    for each in A:\n        c.execute(each)",
        "A = {'a': 'SELECT 1'}\ndef f(c, which):\n    c.execute(A[which])",
        "def f(c):\n    for text, rows in (('SELECT 1', 1), ('SELECT 2', 2)):\n        c.execute(text, rows)",
        "def f():\n    subprocess.run(['ls'], shell=False)",
        "import re\nre.compile('a')",
    ],
)
def test_it_is_not_found_where_it_is_not(source: str) -> None:
    assert found_in(source, "file.py") == []
