"""Exact rules of arithmetic: each gives the same bits for all operands of the dtypes it accepts.

Floats are not numbers of algebra: x + 0.0 is not x for -0.0, x * 0 is not 0 for NaN. What holds for
some dtypes only says so in `where`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.arithmetic import (
    abs_,
    add,
    ceil,
    div,
    floor,
    maximum,
    minimum,
    mul,
    neg,
    pow_,
    round_,
    sub,
    trunc,
)
from weft.compiler.ops.conversion import complex_, conj, imag, real
from weft.compiler.ops.helpers import number
from weft.compiler.rewrite.pattern import literal, uniform_value
from weft.compiler.rewrite.rule import Exhaustive, Rule, rule

INTEGERS: Final = ("i8", "i32", "i64", "u8", "u32")
FLOATS: Final = ("f16", "bf16", "f32", "f64")
REALS: Final = (*INTEGERS, *FLOATS)
SIGNED: Final = ("i8", "i32", "i64", *FLOATS)


def is_integer(x: Value) -> bool:
    return x.type.dtype.is_integer


def is_float(x: Value) -> bool:
    return x.type.dtype.is_float


def is_real(x: Value) -> bool:
    return x.type.dtype.is_integer or x.type.dtype.is_float


def is_signed(x: Value) -> bool:
    return is_real(x) and x.type.dtype.is_signed


def is_number(x: Value) -> bool:
    """A constant of rank 0, or one whose elements are all the same."""
    return uniform_value(x) is not None


def _reciprocal(x: Value, c: Value) -> Value | None:
    """x * (1 / c) for a power of two whose reciprocal is a float of the dtype too."""
    value = uniform_value(c)
    if not isinstance(value, float) or value == 0 or not math.isfinite(value):
        return None
    if abs(math.frexp(value)[0]) != 0.5:
        return None
    with np.errstate(over="ignore"):
        inverse = np.asarray(1 / value).astype(c.type.dtype.numpy)
    if float(inverse) != 1 / value or not math.isfinite(1 / value):
        return None
    return mul(x, constant(inverse, c.type.dtype))


def _joined(combine: str) -> Callable[..., Value | None]:
    """(x + c) + d as x + (c + d), and likewise for *: integers wrap, so the order is free."""

    def replacement(x: Value, c: Value, d: Value) -> Value | None:
        dtype = x.type.dtype
        numbers = [np.array(uniform_value(v), dtype.numpy) for v in (c, d)]
        with np.errstate(all="ignore"):
            joined = numbers[0] + numbers[1] if combine == "add" else numbers[0] * numbers[1]
        return (add if combine == "add" else mul)(x, constant(joined, dtype))

    return replacement


def _zero(x: Value) -> Value:
    return number(0, x)


def _idempotent(op: OpDef) -> Rule:
    name = f"{op.name}({op.name}(x))"
    return rule(name, lambda x: op(op(x)), op, proof=Exhaustive(FLOATS))


RULES: Final[tuple[Rule, ...]] = (
    rule(
        "x + 0",
        lambda x: add(x, literal(-0.0)),  # of floats only -0.0 leaves -0.0 as it is
        lambda x: x,
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "x - 0",
        lambda x: sub(x, literal(0.0)),
        lambda x: x,
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "0 - x of integers",
        lambda x: sub(literal(0), x),
        neg,
        where={"x": is_integer},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "x - x of integers",
        lambda x: sub(x, x),
        _zero,
        where={"x": is_integer},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "x * 1",
        lambda x: mul(x, literal(1)),
        lambda x: x,
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "x * -1",
        lambda x: mul(x, literal(-1)),
        neg,
        where={"x": is_signed},
        proof=Exhaustive(SIGNED),
    ),
    rule(
        "x * 0 of integers",
        lambda x: mul(x, literal(0)),
        _zero,
        where={"x": is_integer},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "x / 1",
        lambda x: div(x, literal(1)),
        lambda x: x,
        where={"x": is_float},
        proof=Exhaustive(FLOATS),
    ),
    rule(
        "x / 2**n",
        lambda x, c: div(x, c),
        _reciprocal,
        where={"x": is_float, "c": is_number},
        proof=Exhaustive(FLOATS),
    ),
    rule("-(-x)", lambda x: neg(neg(x)), lambda x: x, proof=Exhaustive((*REALS, "c64", "c128"))),
    rule("x + -y", lambda x, y: add(x, neg(y)), sub, where={"x": is_real}, proof=Exhaustive(REALS)),
    rule("x - -y", lambda x, y: sub(x, neg(y)), add, where={"x": is_real}, proof=Exhaustive(REALS)),
    rule(
        "-x * -y",
        lambda x, y: mul(neg(x), neg(y)),
        mul,
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "-x / -y",
        lambda x, y: div(neg(x), neg(y)),
        div,
        where={"x": is_float},
        proof=Exhaustive(FLOATS),
    ),
    rule(
        "-x * c",
        lambda x, c: mul(neg(x), c),
        lambda x, c: mul(x, constant(-np.array(uniform_value(c), c.type.dtype.numpy))),
        where={"x": is_real, "c": is_number},
        proof=Exhaustive(REALS),
    ),
    rule(
        "(x + c) + d of integers",
        lambda x, c, d: add(add(x, c), d),
        _joined("add"),
        where={"x": is_integer, "c": is_number, "d": is_number},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "(x * c) * d of integers",
        lambda x, c, d: mul(mul(x, c), d),
        _joined("mul"),
        where={"x": is_integer, "c": is_number, "d": is_number},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "x ** 1",
        lambda x: pow_(x, literal(1)),
        lambda x: x,
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "x ** 0",
        lambda x: pow_(x, literal(0.0)),
        lambda x: number(1, x),
        where={"x": is_real},
        proof=Exhaustive(REALS),
    ),
    rule(
        "x ** 2 of integers",
        lambda x: pow_(x, literal(2)),
        lambda x: mul(x, x),
        where={"x": is_integer},
        proof=Exhaustive(INTEGERS),
    ),
    rule(
        "x ** 3 of integers",
        lambda x: pow_(x, literal(3)),
        lambda x: mul(mul(x, x), x),
        where={"x": is_integer},
        proof=Exhaustive(INTEGERS),
    ),
    rule("maximum(x, x)", lambda x: maximum(x, x), lambda x: x, proof=Exhaustive((*REALS, "bool"))),
    rule("minimum(x, x)", lambda x: minimum(x, x), lambda x: x, proof=Exhaustive((*REALS, "bool"))),
    rule(
        "maximum(x, -inf)",
        lambda x: maximum(x, literal(-math.inf)),
        lambda x: x,
        proof=Exhaustive(FLOATS),
    ),
    rule(
        "minimum(x, inf)",
        lambda x: minimum(x, literal(math.inf)),
        lambda x: x,
        proof=Exhaustive(FLOATS),
    ),
    rule(
        "maximum(maximum(x, y), y)",
        lambda x, y: maximum(maximum(x, y), y),
        maximum,
        proof=Exhaustive(INTEGERS),
        where={"x": is_integer},
    ),
    rule(
        "minimum(minimum(x, y), y)",
        lambda x, y: minimum(minimum(x, y), y),
        minimum,
        proof=Exhaustive(INTEGERS),
        where={"x": is_integer},
    ),
    rule("|-x|", lambda x: abs_(neg(x)), abs_, where={"x": is_signed}, proof=Exhaustive(SIGNED)),
    rule("||x||", lambda x: abs_(abs_(x)), abs_, proof=Exhaustive((*REALS, "c64"))),
    *[_idempotent(op) for op in (floor, ceil, trunc, round_)],
    rule("conj(conj(z))", lambda z: conj(conj(z)), lambda z: z, proof=Exhaustive(("c64", "c128"))),
    rule(
        "real(complex(x, y))",
        lambda x, y: real(complex_(x, y)),
        lambda x: x,
        proof=Exhaustive(("f32", "f64")),
    ),
    rule(
        "imag(complex(x, y))",
        lambda x, y: imag(complex_(x, y)),
        lambda y: y,
        proof=Exhaustive(("f32", "f64")),
    ),
    rule(
        "complex(real(z), imag(z))",
        lambda z: complex_(real(z), imag(z)),
        lambda z: z,
        proof=Exhaustive(("c64", "c128")),
    ),
)
