"""Which variables statements bind, change in place and read.

Comprehensions are part of the function that they stand in; lambdas and functions inside of it are
scopes of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
WRITING: Final = frozenset(
    ("at", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
)
"""Functions of NumPy that write to their first argument."""

Nodes: TypeAlias = ast.AST | Iterable[ast.AST]


def within(nodes: Nodes) -> Iterator[ast.AST]:
    """All nodes of one scope: what stands in functions and classes inside of it is left out."""
    stack = [nodes] if isinstance(nodes, ast.AST) else list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, SCOPES):
            stack.extend(ast.iter_child_nodes(node))
        elif not isinstance(node, ast.Lambda | ast.ClassDef):
            stack.extend([*node.decorator_list, *node.args.defaults])


def bound(nodes: Nodes) -> set[str]:
    """The names that statements bind: assignments, loop variables, imports, definitions, ..."""
    names = rebound(nodes)
    for node in within(nodes):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def rebound(nodes: Nodes) -> set[str]:
    """The names that statements bind by something else than `x += ...`."""
    names: set[str] = set()
    hidden: set[int] = set()
    for node in within(nodes):
        if isinstance(node, ast.comprehension):
            hidden.update(id(part) for part in ast.walk(node.target))
        elif isinstance(node, ast.AugAssign):
            hidden.add(id(node.target))
    for node in within(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            if id(node) not in hidden:
                names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchStar | ast.MatchAs) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.add(node.rest)
    return names


def changed(nodes: Nodes) -> set[str]:
    """The names whose objects statements write to: `x[i] = v`, `x += v`, `np.add.at(x, i, v)`."""
    names: set[str] = set()
    for node in within(nodes):
        target: ast.AST | None = None
        if isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            target = node
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            target = written_by(node.value)
        while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


def written_by(call: ast.Call) -> ast.Name | None:
    """The variable whose array a call writes to, as far as its text tells."""
    targets = [word.value for word in call.keywords if word.arg == "out"]
    if isinstance(call.func, ast.Attribute) and call.func.attr in WRITING:
        targets += call.args[:1]
    elif isinstance(call.func, ast.Attribute) and call.func.attr == "fill":
        targets.append(call.func.value)
    return next((target for target in targets if isinstance(target, ast.Name)), None)


def attributes(nodes: Nodes) -> set[str]:
    """The attributes of variables that statements assign to: `self.h` as "self.h"."""
    return {
        f"{node.value.id}.{node.attr}"
        for node in within(nodes)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
    }


def read(nodes: Nodes) -> set[str]:
    """The names that statements read, those in functions inside of them included."""
    given = [nodes] if isinstance(nodes, ast.AST) else list(nodes)
    return {
        node.id
        for root in given
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def read_by_inner_functions(nodes: Nodes) -> set[str]:
    """The names that functions and lambdas inside of statements read, whenever they are called."""
    return {name for node in within(nodes) if isinstance(node, SCOPES) for name in read(node)}


def declared(nodes: Nodes, kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names that statements declare to be global or nonlocal."""
    return {name for node in within(nodes) if isinstance(node, kind) for name in node.names}


def has_walrus(node: ast.AST) -> bool:
    """Whether an expression binds a name by `:=`, so that it cannot move into a function."""
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
