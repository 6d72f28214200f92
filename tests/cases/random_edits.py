"""Random programs, edited at random: a statement added, dropped, swapped with the next, changed; or an early end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random
from typing import Literal

Edit = Literal["add write", "add status", "add timer", "add activity", "drop", "swap", "change", "return", "raise"]
INSERTED: dict[Edit, str] = {
    "add write": 'ctx.set_kv_value("added", "x")',
    "add status": 'ctx.set_custom_status("added")',
    "add timer": "yield ctx.schedule_timer(777)",
    "add activity": 'yield ctx.schedule_activity("Added", 1)',
    "return": 'return "early"',
    "raise": 'raise KeyError("early")',
}
LEFT_ALONE = {
    "get_kv_value",
    "get_kv_all_values",
    "get_kv_all_keys",
    "get_kv_length",
    "get_custom_status",
    "prune_kv_values_updated_before",
    "continue_as_new",
}
"""Reads leave no record, a prune may leave none, and what is done to a continue-as-new is another ending."""
Place = tuple[list[ast.stmt], int]
"""A block and the index of a statement in it."""


def edited_at_random(source: str, edit: Edit, seed: str) -> str | None:
    """The program with one edit at a place that the seed chooses; None when it has no such place."""
    random = Random(seed)
    tree = ast.parse(source)
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name != "mark"]
    if edit in ("return", "raise"):  # in the program itself, where nothing catches it
        places = _operations_of(functions[-1].body)
    else:
        places = [place for function in functions for block in _blocks(function) for place in _operations_of(block)]
    if edit == "swap":
        places = [place for place in places if _may_swap(*place)]
    if not places:
        return None
    block, index = random.choice(places)
    if edit in INSERTED:
        block.insert(index, _statement(INSERTED[edit]))
    elif edit == "drop":
        block[index] = _statement("result = None" if isinstance(block[index], ast.Assign) else "pass")
    elif edit == "swap":
        middle = _end(block, index)
        end = _end(block, middle)
        block[index:end] = block[middle:end] + block[index:middle]
    elif not _change(block[index], random):
        return None
    return ast.unparse(ast.fix_missing_locations(tree))


def _statement(text: str) -> ast.stmt:
    function = ast.parse(f"def f():\n    {text}").body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.body[0]


def _blocks(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _operations_of(block: list[ast.stmt]) -> list[Place]:
    return [(block, index) for index in range(len(block)) if _is_operation_at(block, index)]


def _is_operation_at(block: list[ast.stmt], index: int) -> bool:
    """Whether there is a simple statement that asks the context for an operation."""
    if index >= len(block) or not isinstance(block[index], ast.Expr | ast.Assign):
        return False
    called = [node.func for node in ast.walk(block[index]) if isinstance(node, ast.Call)]
    asked = {each.attr for each in called if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "ctx"}
    return bool(asked - LEFT_ALONE)


def _may_swap(block: list[ast.stmt], index: int) -> bool:
    """Whether another operation follows, one that does not need a name which this one sets."""
    middle = _end(block, index)
    if not _is_operation_at(block, middle):
        return False
    sets = _names(block[index:middle], ast.Store) - {"seen", "result"}
    return not sets & _names(block[middle : _end(block, middle)], ast.Load)


def _names(statements: list[ast.stmt], context: type[ast.expr_context]) -> set[str]:
    nodes = [node for statement in statements for node in ast.walk(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _end(block: list[ast.stmt], index: int) -> int:
    """Behind a statement and the one that takes in its result."""
    following = block[index + 1 : index + 2]
    takes_in = bool(following) and isinstance(following[0], ast.Assign) and not _is_operation_at(block, index + 1)
    return index + 2 if takes_in else index + 1


def _change(statement: ast.stmt, random: Random) -> bool:
    """Another text or number somewhere in it; False when it has none."""
    constants = [
        node for node in ast.walk(statement) if isinstance(node, ast.Constant) and type(node.value) in (str, int)
    ]
    if not constants:
        return False
    chosen = random.choice(constants)
    chosen.value = f"{chosen.value}x" if isinstance(chosen.value, str) else int(chosen.value) + 1  # type: ignore[arg-type]
    return True
