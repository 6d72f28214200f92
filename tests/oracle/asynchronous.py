"""The same program as `async def`: `yield` and `yield from` become `await`."""

from __future__ import annotations

import ast
import functools


@functools.cache
def as_async(source: str) -> str:
    """The source with every generator function turned into a coroutine function."""
    return ast.unparse(ast.fix_missing_locations(_Awaiting().visit(ast.parse(source))))


class _Awaiting(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
        self.generic_visit(node)
        if not yields:
            return node
        fields = {name: getattr(node, name) for name in node._fields}
        return ast.AsyncFunctionDef(**fields)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        return ast.Pass() if node.value is None else ast.Await(node.value)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        self.generic_visit(node)
        return ast.Await(node.value)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        return node.value if isinstance(node.value, ast.Pass) else node
