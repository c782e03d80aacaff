"""What a traced function returned, as values of its trace."""

from __future__ import annotations

from typing import Any

from weft.compiler.ir.errors import ArgumentError
from weft.compiler.ir.graph import Value
from weft.frontends.tracing import tree
from weft.frontends.tracing.arguments import short
from weft.frontends.tracing.trace import Trace


def lift_results(result: Any, trace: Trace, name: str) -> tuple[list[Value], tree.TreeDef]:
    """The values of what a traced function returned, and its structure."""
    leaves, paths, treedef = tree.flatten_with_names(result)
    values = [
        lift_result(leaf, f"the result {path}".strip(), trace, name)
        for leaf, path in zip(leaves, paths, strict=True)
    ]
    return values, treedef


def lift_result(leaf: Any, where: str, trace: Trace, name: str) -> Value:
    """The value of a part of it; `where` names the part in messages."""
    try:
        return trace.lift(leaf)
    except ArgumentError:
        raise ArgumentError(
            f"{where} of {name} is a {type(leaf).__name__} ({short(leaf)}), not an array or a "
            "number"
        ) from None
