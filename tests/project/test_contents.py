"""What no module of the package may hold: SQL made of values, and code made of data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.project.committed import modules

ALLOWED = "# identifiers only"  # on the line where a name of a table or column, and nothing else, goes into SQL
SQL = re.compile(
    r"\s*(select|insert|update|delete|create|drop|alter|with|attach|copy|merge|pragma|values|where|from|set)\b\s",
    re.IGNORECASE,
)
RUNS_SQL = {"execute", "executemany", "executescript", "sql", "query"}
CODE_FROM_DATA = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "jsonpickle"}


def assembled(node: ast.AST) -> str | None:
    """The constant text of an expression that puts a text together while running; `None` for any other."""
    parts: list[ast.expr]
    match node:
        case ast.JoinedStr(values=values) if any(isinstance(value, ast.FormattedValue) for value in values):
            parts = values
        case ast.BinOp(left=left, op=ast.Mod() | ast.Add(), right=right):
            parts = [left] if isinstance(node.op, ast.Mod) else [left, right]
            if all(isinstance(part, ast.Constant) for part in (left, right)):
                return None
        case ast.Call(func=ast.Attribute(value=text, attr="format" | "format_map")):
            parts = [text]
        case _:
            return None
    return "".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def sql_made_of_values(source: str, tree: ast.Module) -> Iterator[int]:
    """Numbers of the lines where an assembled text is run as SQL, or looks like it, without the allowing comment."""
    lines = source.split("\n")
    run = {
        id(call.args[0])
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in RUNS_SQL
        and call.args
    }
    for node in ast.walk(tree):
        text = assembled(node)
        if text is None or not isinstance(node, ast.expr):
            continue
        allowed = any(ALLOWED in line for line in lines[node.lineno - 1 : node.end_lineno])
        if (id(node) in run or SQL.match(text)) and not allowed:
            yield node.lineno


def code_made_of_data(tree: ast.Module) -> Iterator[int]:
    """Numbers of the lines that import a way, or call a way, to make code or objects out of stored data."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if {alias.name.partition(".")[0] for alias in names} & CODE_FROM_DATA:
                yield node.lineno
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in CODE_FROM_DATA:
                yield node.lineno
            case ast.Call(func=ast.Name(id="eval" | "exec" | "compile")):
                yield node.lineno


def test_sql_takes_values_as_parameters_only() -> None:
    found = [
        f"{path}:{n}" for path, where in modules("store", "recordings").items() for n in sql_made_of_values(*where)
    ]
    assert found == []


def test_nothing_is_unpickled_or_evaluated() -> None:
    assert [f"{path}:{n}" for path, (_, tree) in modules().items() for n in code_made_of_data(tree)] == []


@pytest.mark.parametrize(
    "source",
    [
        'c.execute(f"{verb} into t")',
        "c.execute(\"select * from t where k = '%s'\" % key)",
        'c.execute("select * from t where k = " + key)',
        'c.execute("select {}".format(key))',
        'text = f"delete from t where k = {key}"',
        'text = f"""\n  SELECT *\n  from {table}"""',
        'c.executemany(f"insert into t values ({marks})", rows)',
    ],
)
def test_sql_made_of_values_is_found(source: str) -> None:
    assert list(sql_made_of_values(source, ast.parse(source))) == [1]
    commented = f"{source}  {ALLOWED}"
    assert list(sql_made_of_values(commented, ast.parse(commented))) == []


@pytest.mark.parametrize(
    "source",
    [
        'c.execute("select * from t where k = ?", [key])',
        "c.execute(STATEMENT, [key])",
        'c.execute("select a "\n"from t")',
        'raise ValueError(f"{path} has no table")',
        "total = first + second",
    ],
)
def test_sql_with_parameters_is_left_alone(source: str) -> None:
    assert list(sql_made_of_values(source, ast.parse(source))) == []


@pytest.mark.parametrize("source", ["import pickle", "from marshal import loads", "eval(text)", "exec(text)"])
def test_code_made_of_data_is_found(source: str) -> None:
    assert list(code_made_of_data(ast.parse(source))) == [1]


def test_a_method_called_compile_is_left_alone() -> None:
    assert list(code_made_of_data(ast.parse("re.compile(text)"))) == []
