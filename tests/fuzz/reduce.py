"""Makes a failing program smaller while it fails in the same way.

Statements are dropped, blocks unwrapped, expressions replaced by their parts, results and
arguments left out, arrays made smaller and plainer; whatever still fails is kept.
"""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.fuzz.case import Case

Fails = Callable[[Case], bool]


def reduced(case: Case, fails: Fails, seconds: float = 30.0) -> Case:
    """The smallest case that was reached in that time."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for candidate in candidates(case):
            if time.monotonic() > end:
                break
            if candidate != case and fails(candidate):
                case, progress = candidate, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Cases that are a little smaller, those that take away most first."""
    tree = ast.parse(case.source)
    for edited in _edited_trees(tree):
        try:
            source = ast.unparse(ast.fix_missing_locations(edited)) + "\n"
        except Exception:
            continue
        yield replace(case, source=source)
    yield from _without_arguments(case)
    yield from _smaller_arguments(case)


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _edited_trees(tree: ast.Module) -> Iterator[ast.Module]:
    def edit(change: Callable[[ast.Module], bool]) -> Iterator[ast.Module]:
        twin = copy.deepcopy(tree)
        if change(twin):
            yield twin

    for number, block in enumerate(list(_blocks(tree))):
        for half in (len(block) // 2, 1):
            for at in range(0, len(block), half) if half > 0 else ():
                yield from edit(lambda t, n=number, a=at, h=half: _drop(t, n, a, h))  # type: ignore[misc]
        for at in range(len(block)):
            yield from edit(lambda t, n=number, a=at: _inline(t, n, a))  # type: ignore[misc]
            yield from edit(lambda t, n=number, a=at: _unwrap(t, n, a))  # type: ignore[misc]
    expressions = sum(1 for _ in _slots(tree))
    for number in range(expressions):
        for part in range(6):
            yield from edit(lambda t, n=number, p=part: _replace(t, n, p))  # type: ignore[misc]


def _drop(tree: ast.Module, number: int, at: int, count: int) -> bool:
    block = list(_blocks(tree))[number]
    chosen = [s for s in block[at : at + count] if not isinstance(s, ast.Return)]
    if any(isinstance(s, ast.FunctionDef) and s.name == "f" for s in chosen) or not chosen:
        return False
    if len(chosen) == len(block):
        return False
    for statement in chosen:
        block.remove(statement)
    return True


def _unwrap(tree: ast.Module, number: int, at: int) -> bool:
    block = list(_blocks(tree))[number]
    statement = block[at]
    if not isinstance(statement, ast.If | ast.For | ast.While):
        return False
    block[at : at + 1] = statement.body
    return True


def _inline(tree: ast.Module, number: int, at: int) -> bool:
    """Drops `x = y` and says y for x in that block and the blocks inside of it."""
    block = list(_blocks(tree))[number]
    match block[at]:
        case ast.Assign(targets=[ast.Name(id=old)], value=ast.Name(id=new)):
            del block[at]
        case _:
            return False
    for statement in block:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == old:
                node.id = new
    return True


def _slots(tree: ast.AST) -> Iterator[tuple[Any, str, int | None, ast.expr]]:
    """Every place that holds an expression: (node, field, position in the field, expression)."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("func", "targets", "target", "ctx"):
                continue
            if isinstance(value, ast.expr):
                yield node, name, None, value
            elif isinstance(value, list):
                for position, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield node, name, position, item


def _replace(tree: ast.Module, number: int, part: int) -> bool:
    """Puts a part of an expression in its place, or takes an element out of a tuple."""
    for index, (node, name, position, value) in enumerate(_slots(tree)):
        if index != number:
            continue
        options = [n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr)]
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            options = [value.func.value, *value.args]
        if isinstance(value, ast.Tuple) and len(value.elts) > 1:
            if part >= len(value.elts):
                return False
            del value.elts[part]
            return True
        if part >= len(options) or isinstance(value, ast.Name | ast.Constant):
            return False
        if position is None:
            setattr(node, name, options[part])
        else:
            getattr(node, name)[position] = options[part]
        return True
    return False


def _without_arguments(case: Case) -> Iterator[Case]:
    tree = ast.parse(case.source)
    function = next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "f")
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    for number, parameter in enumerate(function.args.args):
        if parameter.arg not in used and len(function.args.args) > 1:
            twin = copy.deepcopy(tree)
            target = next(s for s in twin.body if isinstance(s, ast.FunctionDef) and s.name == "f")
            del target.args.args[number]
            rest = (*case.arguments[:number], *case.arguments[number + 1 :])
            yield replace(case, source=ast.unparse(twin) + "\n", arguments=rest)


def _smaller_arguments(case: Case) -> Iterator[Case]:
    values = case.values()
    shapes = [v.shape if isinstance(v, np.ndarray) else () for v in values]
    for size in sorted({s for shape in shapes for s in shape}, reverse=True):
        for smaller in sorted({1, 2, size // 2, size - 1}):
            if 0 < smaller < size:  # all axes of that size at once, as they have to fit
                texts = [
                    _text(v[tuple(slice(smaller if s == size else s) for s in v.shape)], text)
                    if isinstance(v, np.ndarray)
                    else text
                    for v, text in zip(values, case.arguments, strict=True)
                ]
                yield replace(case, arguments=tuple(texts))
    for number, (value, text) in enumerate(zip(values, case.arguments, strict=True)):
        if isinstance(value, np.ndarray):
            for plainer in _plainer(value, text):
                changed = (*case.arguments[:number], plainer, *case.arguments[number + 1 :])
                yield replace(case, arguments=changed)


def _text(array: np.ndarray[Any, Any], text: str) -> str:
    if array.size <= 16:
        return _literal(array)
    return f"numbers({array.dtype.str[1:].replace('b1', '?')!r}, {array.shape}, 3)"


def _literal(array: np.ndarray[Any, Any]) -> str:
    values = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    literal = f"np.array({values}, {array.dtype.str.lstrip('<|=')!r})"
    return f"{literal}.reshape({array.shape})" if not array.size else literal


def _plainer(array: np.ndarray[Any, Any], text: str) -> Iterator[str]:
    plain = _text(array, text)
    if plain != text and (array.size <= 16 or "[" in text or ".T" in text):
        yield plain
    if array.size <= 16 and array.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            rounded = np.round(array)
        if not np.array_equal(rounded, array, equal_nan=True):
            yield _literal(np.asarray(rounded))
    for simple in (
        np.ones_like(array),
        np.arange(array.size).reshape(array.shape).astype(array.dtype),
    ):
        made = _text(simple, text)
        if array.size <= 16 and made != text and len(made) < len(text):
            yield made
