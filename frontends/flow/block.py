"""One function of a file, parsed without the rest of it: large files take long to read.

What is found is compiled and compared with the function that is running. Where it is not the same,
or cannot be told apart from others, the whole file is read (`source`).
"""

from __future__ import annotations

import ast
import inspect
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, Final

_NESTED: Final = 0x10  # a flag of code inside of another function
_UNREADABLE: Final = (SyntaxError, ValueError, IndexError, tokenize.TokenError)
AROUND: Final = "weft_around"


def function_in(
    lines: Sequence[str], code: CodeType, names: Mapping[str, Any], flags: int
) -> tuple[ast.FunctionDef, str] | None:
    """The node of a function that begins where its code says, and the class that it is written in;
    None if what stands there is something else. `names` are its globals.
    """
    first = code.co_firstlineno - 1
    if code.co_name == "<lambda>" or first >= len(lines):
        return None
    try:
        block = inspect.getblock(lines[first:])
        owner, around = _surroundings(code)
        for imports in _imports(code, names):
            before = [*imports, *around]
            tree = ast.parse("".join([*before, *block]), code.co_filename)
            ast.increment_lineno(tree, first - len(before))
            whole = compile(tree, code.co_filename, "exec", flags, dont_inherit=True)
            if any(part == code for part in _codes(whole)):
                nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
                return next(node for node in nodes if node.name == code.co_name), owner
    except _UNREADABLE:
        pass
    return None


def _imports(code: CodeType, names: Mapping[str, Any]) -> Iterator[list[str]]:
    """The imports that a module may have, on which the byte code of calls depends: of modules, or
    of these and all that is defined in others.
    """
    used = {name for part in _codes(code) for name in part.co_names if name in names}
    own = names.get("__name__")
    modules = {name for name in used if isinstance(names[name], ModuleType)}
    others = {name for name in used if getattr(names[name], "__module__", own) != own}
    yield [f"import {', '.join(sorted(modules))}\n"] * bool(modules)
    if others - modules:
        yield [f"import {', '.join(sorted(modules | others))}\n"]


def _surroundings(code: CodeType) -> tuple[str, list[str]]:
    """The class whose private names a function sees, and lines in which it means what it does where
    it stands: with that class and the variables around it.
    """
    scopes = [scope.split(".") for scope in code.co_qualname.split(".<locals>.")]
    classes = [scope[-2] if len(scope) > 1 else "" for scope in scopes]
    owner = next((name for name in reversed(classes) if name), "")
    is_method = bool(classes[-1])
    lines = []
    if owner and not is_method:
        lines.append(f"class {owner}:\n")
    if code.co_flags & _NESTED:
        lines.append(f"def {AROUND}({', '.join(code.co_freevars)}):\n")
    if is_method:
        lines.append(f"class {owner}:\n")
    return owner, [" " * depth + line for depth, line in enumerate(lines)]


def _codes(code: CodeType) -> list[CodeType]:
    """All code that a module holds, the outer before the inner."""
    found = [code]
    for each in found:
        found += [part for part in each.co_consts if isinstance(part, CodeType)]
    return found
