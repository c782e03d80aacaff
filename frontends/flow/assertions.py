"""`assert` as an `if` around a `raise`, as Python runs it."""

from __future__ import annotations

import ast
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


def with_raises(statement: ast.stmt) -> ast.stmt:
    """A statement with all assertions in it as `if not ...: raise AssertionError(...)`; functions
    and classes inside are left as they are.
    """
    return statement if not __debug__ else _Asserted().visit(statement)


class _Asserted(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        message = [] if node.msg is None else [node.msg]
        error = ast.Call(ast.Name("AssertionError", ast.Load()), message, [])
        test = ast.UnaryOp(ast.Not(), node.test)
        return _at(ast.If(test, [ast.Raise(error, None)], []), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node


def _at(node: _Node, place: ast.AST) -> _Node:
    """A new node at the place of another; parts that have a place keep it."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node
