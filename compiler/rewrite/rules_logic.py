"""Exact rules of comparisons, bits and selection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import bool_
from weft.compiler.ir.graph import Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.helpers import number
from weft.compiler.ops.logic import (
    and_,
    eq,
    ge,
    gt,
    le,
    lt,
    ne,
    not_,
    or_,
    select,
    shift_left,
    shift_right,
    xor,
)
from weft.compiler.rewrite.pattern import literal
from weft.compiler.rewrite.rule import Exhaustive, Rule, rule
from weft.compiler.rewrite.rules_arithmetic import INTEGERS, REALS

BITS: Final = ("bool", *INTEGERS)


def is_bool(x: Value) -> bool:
    return x.type.dtype.is_bool


def is_bits(x: Value) -> bool:
    return x.type.dtype.is_integer or x.type.dtype.is_bool


def _with_itself(op: OpDef, holds: bool) -> Rule:
    """A comparison of a value with itself, which only NaN makes a question."""
    return rule(
        f"{op.name}(x, x)",
        lambda x: op(x, x),
        lambda x: constant(holds, bool_),
        where={"x": is_bits},
        proof=Exhaustive(BITS),
    )


def _same(x: Value) -> Value:
    return x


def _bits(name: str, pattern: Callable[..., Value], replacement: Callable[..., Value]) -> Rule:
    return rule(name, pattern, replacement, where={"x": is_bits}, proof=Exhaustive(BITS))


def _bools(name: str, pattern: Callable[..., Value], replacement: Callable[..., Value]) -> Rule:
    return rule(name, pattern, replacement, where={"x": is_bool}, proof=Exhaustive(("bool",)))


def _all_bits(name: str, pattern: Callable[..., Value], replacement: Callable[..., Value]) -> Rule:
    """With a literal of all bits: -1, which is true for bools too by their own rules."""
    where = {"x": lambda x: x.type.dtype.kind == "int"}
    return rule(name, pattern, replacement, where=where, proof=Exhaustive(("i8", "i32", "i64")))


def _zero(x: Value) -> Value:
    return number(0, x)


_PRED: Final = {"p": "bool", "q": "bool"}
_SELECTED: Final = Exhaustive((*REALS, "bool", "c64"), _PRED)

RULES: Final[tuple[Rule, ...]] = (
    _with_itself(eq, True),
    _with_itself(ne, False),
    _with_itself(lt, False),
    _with_itself(le, True),
    _with_itself(gt, False),
    _with_itself(ge, True),
    _bits("not(not(x))", lambda x: not_(not_(x)), _same),
    _bits("x and x", lambda x: and_(x, x), _same),
    _bits("x or x", lambda x: or_(x, x), _same),
    _bits("x xor x", lambda x: xor(x, x), _zero),
    _bits("x and 0", lambda x: and_(x, literal(0)), _zero),
    _bits("x or 0", lambda x: or_(x, literal(0)), _same),
    _bits("x xor 0", lambda x: xor(x, literal(0)), _same),
    _all_bits("x and -1", lambda x: and_(x, literal(-1)), _same),
    _all_bits("x or -1", lambda x: or_(x, literal(-1)), lambda x: number(-1, x)),
    _all_bits("x xor -1", lambda x: xor(x, literal(-1)), not_),
    _bools("x and true", lambda x: and_(x, literal(True)), _same),
    _bools("x or true", lambda x: or_(x, literal(True)), lambda x: number(True, x)),
    _bools("x xor true", lambda x: xor(x, literal(True)), not_),
    _bools("x == true", lambda x: eq(x, literal(True)), _same),
    _bools("x == false", lambda x: eq(x, literal(False)), not_),
    _bools("x != true", lambda x: ne(x, literal(True)), not_),
    _bools("x != false", lambda x: ne(x, literal(False)), _same),
    rule(
        "cast(p) != 0",
        lambda p: ne(cast(p), literal(0.0)),
        lambda p: p,
        where={"p": is_bool},
        proof=Exhaustive(REALS, {"p": "bool"}),
    ),
    rule(
        "shift_left(x, 0)",
        lambda x: shift_left(x, literal(0)),
        _same,
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "shift_right(x, 0)",
        lambda x: shift_right(x, literal(0)),
        _same,
        proof=Exhaustive(INTEGERS),
    ),
    rule("select(p, x, x)", lambda p, x: select(p, x, x), _same, proof=_SELECTED),
    rule("select(true, x, y)", lambda x, y: select(literal(True), x, y), _same, proof=_SELECTED),
    rule(
        "select(false, x, y)",
        lambda x, y: select(literal(False), x, y),
        lambda y: y,
        proof=_SELECTED,
    ),
    rule(
        "select(not p, x, y)",
        lambda p, x, y: select(not_(p), x, y),
        lambda p, x, y: select(p, y, x),
        proof=_SELECTED,
    ),
    rule(
        "select(p, select(p, x, y), z)",
        lambda p, x, y, z: select(p, select(p, x, y), z),
        lambda p, x, z: select(p, x, z),
        proof=_SELECTED,
    ),
    rule(
        "select(p, x, select(p, y, z))",
        lambda p, x, y, z: select(p, x, select(p, y, z)),
        lambda p, x, z: select(p, x, z),
        proof=_SELECTED,
    ),
    rule(
        "select(p, true, false)",
        lambda p: select(p, literal(True), literal(False)),
        lambda p: p,
        when=lambda result: is_bool(result),
        proof=Exhaustive(("bool",), _PRED),
    ),
    rule(
        "select(p, 1, 0)",
        lambda p: select(p, literal(1), literal(0.0)),
        lambda p, result: cast(p, dtype=result.type.dtype),
        when=lambda result: not is_bool(result),
        proof=Exhaustive(REALS, _PRED),
    ),
)
