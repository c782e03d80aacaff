"""Which `try` statements catch what numbers raise: the program may have to run their handlers."""

from __future__ import annotations

import ast
from typing import Final

from weft.frontends.flow import names

_KINDS: Final = frozenset(
    {
        "ArithmeticError",
        "FloatingPointError",
        "LinAlgError",
        "OverflowError",
        "ValueError",
        "ZeroDivisionError",
    }
)


def catches_numbers(node: ast.Try) -> bool:
    """Whether all handlers name exceptions of numbers and do not ask for the exception, and nothing
    else is a part of the statement.
    """
    if node.orelse or node.finalbody or not node.handlers or names.has_walrus(node):
        return False
    return all(_is_plain(handler) for handler in node.handlers)


def _is_plain(handler: ast.ExceptHandler) -> bool:
    asks = handler.name is not None and handler.name in names.read(handler.body)
    raises_again = any(
        isinstance(part, ast.Raise) and part.exc is None for part in names.within(handler.body)
    )
    return handler.type is not None and _names_numbers(handler.type) and not (asks or raises_again)


def _names_numbers(kind: ast.expr) -> bool:
    if isinstance(kind, ast.Tuple):
        return bool(kind.elts) and all(map(_names_numbers, kind.elts))
    name = kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "")
    return name in _KINDS
