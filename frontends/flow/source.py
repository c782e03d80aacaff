"""The syntax tree of a function that the user wrote, found in the file that it came from.

Functions are parsed on their own where that is sure to give the one that is running; else whole
files are, and lambdas are told apart by where they stand. Lines and columns are those of the file.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, Final, TypeAlias

from weft.compiler.ir.location import Location
from weft.frontends.flow.block import function_in
from weft.frontends.flow.left import why_file_is_left, why_generator
from weft.frontends.flow.texts import lines_of, typed

FunctionNode: TypeAlias = ast.FunctionDef | ast.Lambda

FUTURE_FLAGS: Final = 0x1FE0000  # of `from __future__ import ...` in code objects


class NoSource(Exception):
    """Why there is no syntax tree of a function."""


def place_of(error: BaseException) -> Location | None:
    """The user's line that an error comes from."""
    location, entry = None, error.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if not why_file_is_left(code.co_filename):
            location = Location.of_instruction(code, entry.tb_lasti, entry.tb_lineno)
        entry = entry.tb_next
    return location


def function_node(code: CodeType, names: Mapping[str, Any]) -> tuple[FunctionNode, str]:
    """The node of a function and the class that it is written in, if any.

    `names` are its globals, by which zipped modules find their text. Raises `NoSource`.
    """
    generator = why_generator(code)
    if generator:
        raise NoSource(generator)
    lines = lines_of(code, names)
    if not _is_rewritten(names):
        block = function_in(lines, code, names, code.co_flags & FUTURE_FLAGS)
        if block is not None:
            return block
    for text in map("".join, typed(code)):
        if _is_running(code, text, names):
            return _only(_nodes(code, text), code)
    text = "".join(lines)
    if text and not _is_running(code, text, names):  # a module may have been loaded again
        linecache.checkcache(code.co_filename)
        text = "".join(lines_of(code, names))
    if not text:
        raise NoSource(f"the text of {code.co_filename} is not available")
    found = _nodes(code, text)
    if not _is_running(code, text, names):
        raise NoSource(f"the text of {code.co_filename} is not the one that is running")
    return _only(found, code)


def _nodes(code: CodeType, text: str) -> list[tuple[FunctionNode, str]]:
    """The functions of a text that may be the one."""
    found = [
        (node, owner) for node, owner in _functions(code.co_filename, text) if _is_of(node, code)
    ]
    if len(found) > 1:
        found = [(node, owner) for node, owner in found if _holds(node, code)]
    return found


def _only(found: list[tuple[FunctionNode, str]], code: CodeType) -> tuple[FunctionNode, str]:
    if len(found) != 1:
        raise NoSource(f"several functions of {code.co_filename} stand in its place")
    if _leaves_finally(found[0][0]):
        raise NoSource("it leaves a `finally` by a jump, which drops exceptions; jump after it")
    return found[0]


def _is_rewritten(names: Mapping[str, Any]) -> bool:
    """Whether pytest loaded a module, and put other code in place of `assert`."""
    return type(names.get("__loader__")).__module__.startswith("_pytest.")


def _leaves_finally(node: FunctionNode) -> bool:
    """Whether a `return`, `break` or `continue` stands in a `finally`."""
    jumps = (ast.Return, ast.Break, ast.Continue)
    return any(
        isinstance(inner, jumps)
        for part in ast.walk(node)
        if isinstance(part, ast.Try)
        for statement in part.finalbody
        for inner in ast.walk(statement)
    )


def _is_running(code: CodeType, text: str, names: Mapping[str, Any]) -> bool:
    """Whether a function was compiled from a text, which then gives the same byte code: as it is,
    or as pytest rewrites it for `assert`.
    """
    ways = [False]
    if _is_rewritten(names):
        ways.append(True)
    flags, place = code.co_flags & FUTURE_FLAGS, (code.co_name, code.co_firstlineno)
    return any(
        code == other
        for is_rewritten in ways
        for other in _compiled(code.co_filename, text, flags, is_rewritten).get(place, ())
    )


@functools.lru_cache(maxsize=64)
def _compiled(
    file: str, text: str, flags: int, is_rewritten: bool
) -> dict[tuple[str, int], list[CodeType]]:
    """All code objects of a text, by name and line."""
    try:
        tree = ast.parse(text, file)
        if is_rewritten:
            from _pytest.assertion.rewrite import rewrite_asserts

            rewrite_asserts(tree, text.encode(), file)
        module = compile(tree, file, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, ImportError, TypeError):
        return {}
    found: dict[tuple[str, int], list[CodeType]] = {}
    stack = [module]
    while stack:
        code = stack.pop()
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        stack += [each for each in code.co_consts if isinstance(each, CodeType)]
    return found


@functools.lru_cache(maxsize=64)
def _functions(file: str, text: str) -> tuple[tuple[FunctionNode, str], ...]:
    try:
        return tuple(_walk(ast.parse(text, file)))
    except SyntaxError:
        return ()


def _walk(module: ast.Module) -> Iterator[tuple[FunctionNode, str]]:
    stack: list[tuple[ast.AST, str]] = [(module, "")]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        stack.extend((child, inner) for child in ast.iter_child_nodes(node))


def _is_of(node: FunctionNode, code: CodeType) -> bool:
    """Whether a node starts where the code does and has its parameters."""
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    first = node.lineno
    if isinstance(node, ast.FunctionDef):
        first = min([first, *[decorator.lineno for decorator in node.decorator_list]])
    return name == code.co_name and first == code.co_firstlineno and _has_parameters(node, code)


def _has_parameters(node: FunctionNode, code: CodeType) -> bool:
    count = code.co_argcount + code.co_kwonlyargcount
    given = node.args
    names = [p.arg for p in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    held = code.co_varnames[:count]
    return len(names) == count and all(
        own == name or own.endswith(name) for own, name in zip(held, names, strict=True)
    )


def _holds(node: FunctionNode, code: CodeType) -> bool:
    """Whether all instructions stand inside a node: tells apart lambdas on one line."""
    body = node.body if isinstance(node.body, list) else [node.body]
    start = (body[0].lineno, body[0].col_offset)
    end = (body[-1].end_lineno or 0, body[-1].end_col_offset or 0)
    return all(
        start <= (line, column) and (end_line, end_column) <= end
        for line, end_line, column, end_column in code.co_positions()
        if line is not None
        and end_line is not None
        and column is not None
        and end_column is not None
        and (end_line, end_column) != (line, column)
        and line >= body[0].lineno
    )
