"""Jumps as flags: `return`, `break` and `continue` inside of statements become assignments to
variables, and what they jump over is guarded by an `if`.

Where a branch always jumps, the rest of the block moves into the other branch instead, so that the
usual early return is a plain `if` and `else`. What this makes has no jumps but a `return` at the
end of a function.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard, TypeVar

from weft.frontends.flow.names import has_walrus, within

RETURNED: Final = "weft_returned"
VALUE: Final = "weft_value"
_BROKE: Final = "weft_broke_"
_CONTINUED: Final = "weft_continued_"
_LOOPS: Final = (ast.While, ast.For)
_Node = TypeVar("_Node", bound=ast.AST)


class JumpGuard(ast.If):
    """An `if` that jumps over statements, or of which one branch does: what the other one assigns
    is read under the same condition.
    """


def is_internal(name: str) -> bool:
    """Whether a variable is one of these flags, or the value to return."""
    return name.startswith("weft_")


@dataclass(frozen=True)
class _Loop:
    """The flags of the loop that a statement is in."""

    broke: str
    continued: str


def without_jumps(body: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a function with flags in place of jumps."""
    if not any(_jumps(statement) for statement in _but_last_return(body)):
        return body
    last = body[-1]
    ending: list[ast.stmt] = [] if _exits(body) else [_at(ast.Return(None), last)]
    lowered = _Lowering().block([*body, *ending], None)
    start = _assign(RETURNED, ast.Constant(False), body[0])
    return [start, *lowered, _at(ast.Return(_load(VALUE)), last)]


def _but_last_return(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[:-1] if isinstance(body[-1], ast.Return) else body


def _is_jump(node: ast.AST) -> TypeGuard[ast.Return | ast.Break | ast.Continue]:
    return isinstance(node, ast.Return | ast.Break | ast.Continue)


def _jumps(statement: ast.stmt) -> bool:
    """Whether a jump may lead out of a statement or begins in it, or a loop has an `else`."""
    return any(
        _is_jump(node)
        or (isinstance(node, ast.While) and has_walrus(node.test))
        or (isinstance(node, _LOOPS) and bool(node.orelse))
        for node in within(statement)
    )


def _exits(block: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    for statement in block:
        if _is_jump(statement) or isinstance(statement, ast.Raise):
            return True
        if isinstance(statement, ast.If) and _exits(statement.body) and _exits(statement.orelse):
            return True
        if isinstance(statement, ast.With) and _exits(statement.body):
            return True
        if isinstance(statement, _LOOPS) and _is_left_by_return(statement):
            return True
    return False


def _is_left_by_return(loop: ast.While | ast.For) -> bool:
    """Whether only `return` leads out of a loop; a `break` of a loop inside counts too much."""
    if any(isinstance(node, ast.Break) for node in within(loop.body)):
        return False
    test = loop.test if isinstance(loop, ast.While) else None
    return _exits(loop.orelse) or (isinstance(test, ast.Constant) and bool(test.value))


class _Lowering:
    def __init__(self) -> None:
        self._count = 0

    def block(self, block: Sequence[ast.stmt], loop: _Loop | None) -> list[ast.stmt]:
        """The statements of a block, each guarded by the flags that those before it may set."""
        result: list[ast.stmt] = []
        for number, statement in enumerate(block):
            rest = list(block[number + 1 :])
            if isinstance(statement, ast.If) and rest and _jumps(statement):
                if _exits(statement.body) or _exits(statement.orelse):
                    return result + self._divided(statement, rest, loop)
            may_jump = _jumps(statement)
            lowered = self._statement(statement, loop)
            result += lowered
            if _is_jump(statement) or isinstance(statement, ast.Raise):
                return result
            flags = _flags(lowered, loop) if may_jump else []
            if flags and rest:
                guarded = self.block(rest, loop)
                return [*result, _at(JumpGuard(_none_of(flags), guarded, []), rest[0])]
        return result

    def _divided(
        self, statement: ast.If, rest: list[ast.stmt], loop: _Loop | None
    ) -> list[ast.stmt]:
        """An `if` with the rest of its block in the branch that goes on."""
        body, orelse = list(statement.body), list(statement.orelse)
        if not _exits(body):
            body += rest
        elif not _exits(orelse):
            orelse += rest
        return self._statement(_at(JumpGuard(statement.test, body, orelse), statement), loop)

    def _statement(self, statement: ast.stmt, loop: _Loop | None) -> list[ast.stmt]:
        if isinstance(statement, ast.Return):
            value = statement.value or _at(ast.Constant(None), statement)
            returned = _assign(RETURNED, ast.Constant(True), statement)
            return [_assign(VALUE, value, statement), returned]
        if isinstance(statement, ast.Break | ast.Continue):
            assert loop is not None, "Python refuses jumps outside of loops"
            name = loop.broke if isinstance(statement, ast.Break) else loop.continued
            return [_assign(name, ast.Constant(True), statement)]
        if isinstance(statement, ast.While) and has_walrus(statement.test):
            statement = _tested_inside(statement)
        if isinstance(statement, _LOOPS) and (_jumps(statement) or statement.orelse):
            return self._loop(statement, loop)
        if not _jumps(statement):
            return [statement]
        if isinstance(statement, ast.If) and (_exits(statement.body) or _exits(statement.orelse)):
            statement = _at(JumpGuard(statement.test, statement.body, statement.orelse), statement)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(statement, field, None), list):
                setattr(statement, field, self._filled(getattr(statement, field), statement, loop))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            part.body = self._filled(part.body, statement, loop)
        return [statement]

    def _filled(
        self, block: list[ast.stmt], around: ast.stmt, loop: _Loop | None
    ) -> list[ast.stmt]:
        return self.block(block, loop) or ([_at(ast.Pass(), around)] if block else [])

    def _loop(self, statement: ast.While | ast.For, outer: _Loop | None) -> list[ast.stmt]:
        self._count += 1
        loop = _Loop(f"{_BROKE}{self._count}", f"{_CONTINUED}{self._count}")
        body = self.block(statement.body, loop)
        written = _assigned(body)
        before: list[ast.stmt] = []
        if loop.continued in written:
            body = [_assign(loop.continued, ast.Constant(False), statement), *body]
        stops = [name for name in (loop.broke, RETURNED) if name in written]
        if loop.broke in written:
            before = [_assign(loop.broke, ast.Constant(False), statement)]
        orelse, statement.orelse = statement.orelse, []
        statement.body = body
        if stops:
            _set_stops(statement, stops)
        made = [*before, statement]
        if orelse and stops:
            inner = self.block(orelse, outer)
            return [*made, _at(JumpGuard(_none_of(stops), inner, []), orelse[0])]
        return made + self.block(orelse, outer)


def _tested_inside(loop: ast.While) -> ast.While:
    """`while (x := f()) > 0` with the test as a statement, as it assigns."""
    leave = ast.If(ast.UnaryOp(ast.Not(), loop.test), [ast.Break()], [])
    made = ast.While(ast.Constant(True), [_at(leave, loop.test), *loop.body], loop.orelse)
    return _at(made, loop)


def _set_stops(loop: ast.While | ast.For, stops: list[str]) -> None:
    """Let a loop end when one of the flags is set: a `for` keeps them beside its fields."""
    if isinstance(loop, ast.While):
        goes_on = _none_of(stops)
        loop.test = _at(ast.BoolOp(ast.And(), [goes_on, loop.test]), loop.test)
    else:
        loop.more = _at(_none_of(stops), loop.iter)  # type: ignore[attr-defined]


def _assigned(block: Sequence[ast.stmt]) -> set[str]:
    return {
        node.id
        for node in within(block)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _flags(lowered: Sequence[ast.stmt], loop: _Loop | None) -> list[str]:
    """The flags that statements may have set, in the loop or function they are in."""
    written = _assigned(lowered)
    known = [RETURNED] if loop is None else [loop.continued, loop.broke, RETURNED]
    return [name for name in known if name in written]


def _none_of(flags: Sequence[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), _load(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    return _at(ast.Assign([ast.Name(name, ast.Store())], value), place)


def _at(node: _Node, place: ast.AST) -> _Node:
    """A new node at the place of another; parts that have a place keep it."""
    for part in ast.walk(node):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node
