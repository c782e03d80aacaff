"""Samples of elementwise arithmetic; oracles are Python's numbers, wrapped or rounded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tests.compiler.ops.sample import BadSample, Sample
from tests.compiler.ops.scalar_oracle import (
    COMPLEXES,
    EPSILON,
    FLOATS,
    INTEGERS,
    SIGNED,
    array,
    each,
    greatest,
    least,
    pairs,
    random,
)
from weft.compiler.ir.dtypes import DType, bool_, c64, c128, f16, f32, f64, i8, i32, u8
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import arithmetic as ops

INF, NAN = math.inf, math.nan

INTEGER_VALUES = (0, 1, 2, 3, 7, 100, -1, -2, -7)
FLOAT_VALUES = (0.0, -0.0, 0.5, 1.0, 1.5, -0.75, -2.5, 3.25, -7.0)
SPECIAL_VALUES = (0.0, 1.5, INF, -INF, NAN)


def integers(dtype: DType) -> Any:
    """Small numbers of both signs where there are two, and the ends of the range."""
    small = [number for number in INTEGER_VALUES if number >= least(dtype)]
    return np.array([*small, least(dtype), least(dtype) + 1, greatest(dtype)], dtype.numpy)


def compare_sign(x: Any) -> Any:
    return x if x != x else (x > 0) - (x < 0)


def quotient(x: Any, y: Any) -> Any:
    return x // y if y else 0


def modulus(x: Any, y: Any) -> Any:
    return x % y if y else 0


def c_modulus(x: int, y: int) -> int:
    return (abs(x) % abs(y)) * compare_sign(x) if y else 0


def power(x: int, y: int) -> int:
    """Integer power modulo 2**64, enough for every width; for negative y truncated towards zero."""
    if y < 0:
        return {1: 1, -1: 1 - 2 * (y % 2)}.get(x, 0)
    return pow(x, y, 2**64)


def larger(x: Any, y: Any) -> Any:
    return x + y if x != x or y != y else max(x, y)


def smaller(x: Any, y: Any) -> Any:
    return x + y if x != x or y != y else min(x, y)


INTEGER_FUNCTIONS: dict[OpDef, Callable[..., Any]] = {
    ops.neg: lambda x: -x,
    ops.abs_: abs,
    ops.sign: compare_sign,
    ops.add: lambda x, y: x + y,
    ops.sub: lambda x, y: x - y,
    ops.mul: lambda x, y: x * y,
    ops.pow_: power,
    ops.floor_divide: quotient,
    ops.remainder: modulus,
    ops.fmod: c_modulus,
    ops.maximum: max,
    ops.minimum: min,
}

FLOAT_FUNCTIONS: dict[OpDef, Callable[..., Any]] = {
    ops.neg: lambda x: -x,
    ops.abs_: abs,
    ops.sign: compare_sign,
    ops.add: lambda x, y: x + y,
    ops.sub: lambda x, y: x - y,
    ops.mul: lambda x, y: x * y,
    ops.maximum: larger,
    ops.minimum: smaller,
    ops.copysign: math.copysign,
    ops.hypot: math.hypot,
}

# Python refuses infinite arguments or zero divisors of these; literals below cover them. Its whole
# numbers are ints, which have no -0.
FINITE_FUNCTIONS: dict[OpDef, Callable[..., Any]] = {
    ops.floor: lambda x: math.copysign(math.floor(x), x),
    ops.ceil: lambda x: math.copysign(math.ceil(x), x),
    ops.trunc: lambda x: math.copysign(math.trunc(x), x),
    ops.round_: lambda x: math.copysign(round(x), x),
}

DIVISION_FUNCTIONS: dict[OpDef, Callable[..., Any]] = {
    ops.div: lambda x, y: x / y,
    ops.floor_divide: lambda x, y: x // y,
    ops.remainder: lambda x, y: x % y,
    ops.fmod: math.fmod,
}

COMPLEX_FUNCTIONS: dict[OpDef, Callable[..., Any]] = {
    ops.neg: lambda x: -x,
    ops.sign: lambda x: x / abs(x),
    ops.add: lambda x, y: x + y,
    ops.sub: lambda x, y: x - y,
    ops.mul: lambda x, y: x * y,
    ops.div: lambda x, y: x / y,
    ops.pow_: lambda x, y: x**y,
}


def integer_rows() -> list[Sample]:
    rows = []
    for op, function in INTEGER_FUNCTIONS.items():
        for dtype in INTEGERS:
            values = integers(dtype)
            operands = (values,) if len(op.operands) == 1 else pairs(values)
            rows.append(Sample(op, operands, each(function, *operands), name="all-pairs"))
    return rows


def float_rows() -> list[Sample]:
    """Each function in each float dtype: plain values, special ones, random ones, scalars, none."""
    rows = []
    for op, function in (FLOAT_FUNCTIONS | FINITE_FUNCTIONS | DIVISION_FUNCTIONS).items():
        for dtype in FLOATS:
            # hypot is a root of a rounded sum; the others round once, as their oracle does.
            rtol = EPSILON[dtype] if op is ops.hypot else 0.0
            for name, operands in float_operands(op, dtype).items():
                rows.append(Sample(op, operands, each(function, *operands), rtol=rtol, name=name))
    return rows


def float_operands(op: OpDef, dtype: DType) -> dict[str, tuple[Any, ...]]:
    values = array(FLOAT_VALUES, dtype)
    arity = len(op.operands)
    divisors = values[2:] if op in DIVISION_FUNCTIONS else values
    # maximum may return either zero, so no pair of zeros with different signs for it.
    if op in (ops.maximum, ops.minimum):
        values = divisors = values[1:]
    grid = (np.repeat(values, len(divisors)), np.tile(divisors, len(values)))
    found: dict[str, tuple[Any, ...]] = {"values": grid if arity == 2 else (values,)}
    if op in FLOAT_FUNCTIONS:
        found["special"] = pairs(array(SPECIAL_VALUES, dtype))[:arity]
    if dtype in (f32, f64):
        first, second = random(dtype, 3, 4), random(dtype, 3, 4, low=0.5, high=3.0)
        found["random"] = (first, second)[:arity]
        found["strided"] = (first.T[::-1, ::2], second.T[:, 1:])[:arity]
        found["scalar"] = (first[0, 0], second[0, 0])[:arity]
        found["empty"] = (first[:0], second[:0])[:arity]
    if dtype is f32 and arity == 2:
        found["scalar-left"] = (first[0, 0], second)
        found["scalar-right"] = (first, second[0, 0])
    return {name: tuple(map(np.asarray, operands)) for name, operands in found.items()}


def complex_rows() -> list[Sample]:
    rows = []
    for op, function in COMPLEX_FUNCTIONS.items():
        for dtype in COMPLEXES:
            x, y = random(dtype, 5), random(dtype, 5, low=-1.0, high=2.0)
            operands = (x, y)[: len(op.operands)]
            # Products of parts cancel: the rounding of a part is relative to the whole.
            rtol = (64 if op is ops.pow_ else 8) * EPSILON[dtype]
            rows.append(Sample(op, operands, each(function, *operands), rtol=rtol, atol=rtol))
    return rows


def special_values(
    op: OpDef, inputs: list[Any], outputs: list[float], dtypes: tuple[DType, ...] = FLOATS
) -> list[Sample]:
    """Rows of literal inputs (tuples for binary ops) and outputs in each dtype."""
    columns = list(zip(*inputs, strict=True)) if isinstance(inputs[0], tuple) else [inputs]
    return [
        Sample(op, tuple(array(c, d) for c in columns), array(outputs, d), name="literal")
        for d in dtypes
    ]


def next_float_rows(dtype: DType) -> list[Sample]:
    limits = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    tiny, largest = float(limits.smallest_subnormal), float(limits.max)
    below_one = 1 - EPSILON[dtype] / 2
    inputs = [(1, 2), (1, 0), (-1, 0), (0, 1), (0, -1), (tiny, 0), (largest, INF), (INF, 0), (3, 3)]
    outputs = [1 + EPSILON[dtype], below_one, -below_one, tiny, -tiny, 0.0, INF, largest, 3]
    rows = special_values(ops.nextafter, inputs, outputs, (dtype,))
    return rows + special_values(ops.nextafter, [(NAN, 1), (1, NAN)], [NAN, NAN], (dtype,))


def literal_rows() -> list[Sample]:
    edges = [INF, -INF, NAN, -0.0]
    rows: list[Sample] = []
    for op in (ops.floor, ops.ceil, ops.trunc, ops.round_):
        rows += special_values(op, edges, edges)
    halves = [0.5, 1.5, 2.5, -0.5, -1.5, 0.25]
    rows += special_values(ops.round_, halves, [0.0, 2.0, 2.0, -0.0, -2.0, 0.0])
    rows += special_values(ops.sign, [-0.0, 0.0, -INF, NAN], [0.0, 0.0, -1.0, NAN])
    by_zero = [(1, 0), (-1, 0), (1, -0.0), (0, 0), (INF, 2), (2, INF), (-2, INF), (NAN, 1)]
    rows += special_values(ops.div, by_zero, [INF, -INF, -INF, NAN, INF, 0, -0.0, NAN])
    rows += special_values(ops.floor_divide, by_zero, [INF, -INF, -INF, NAN, NAN, 0, -1, NAN])
    rows += special_values(ops.remainder, by_zero, [NAN, NAN, NAN, NAN, NAN, 2, INF, NAN])
    rows += special_values(ops.fmod, by_zero, [NAN, NAN, NAN, NAN, NAN, 2, -2, NAN])
    rows += special_values(
        ops.pow_,
        [
            (2, 3),
            (2, -1),
            (0, 0),
            (0, -1),
            (-8, 2),
            (-8, 0.5),
            (NAN, 0),
            (1, NAN),
            (INF, -1),
            (2, INF),
        ],
        [8, 0.5, 1, INF, 64, NAN, 1, 1, 0, INF],
    )
    rows += special_values(ops.hypot, [(3e38, 4e37)], [3.0265491900843113e38], (f64,))
    rows += special_values(ops.hypot, [(INF, NAN), (3, 4), (0, -0.0)], [INF, 5, 0])
    rows += special_values(ops.add, [(65504, 65504)], [INF], (f16,))
    return rows + [row for dtype in FLOATS for row in next_float_rows(dtype)]


def power_rows() -> list[Sample]:
    rows = []
    for dtype in FLOATS:
        x, y = random(dtype, 2, 5, low=0.1, high=3.0), random(dtype, 2, 5)
        expected = each(lambda a, b: a**b, x, y)
        rows.append(Sample(ops.pow_, (x, y), expected, rtol=2 * EPSILON[dtype], name="random"))
    rows.append(Sample(ops.pow_, (array(2, f32), array([1, 2, 3], f32)), array([2, 4, 8], f32)))
    rows.append(Sample(ops.pow_, (array([[]], f64), array(2, f64)), array([[]], f64)))
    zeros = array([0, 0], c128)
    rows.append(Sample(ops.pow_, (zeros, array([0, 2], c128)), array([1, 0], c128), name="zero"))
    return rows


def clamp_rows() -> list[Sample]:
    rows = []
    for dtype in (*INTEGERS, *FLOATS):
        x = array([0, 1, 2, 3, 4, 5], dtype)
        low, high = array(1, dtype), array([4, 4, 4, 2, 2, 0], dtype)
        rows.append(Sample(ops.clamp, (low, x, high), array([1, 1, 2, 2, 2, 0], dtype)))
    for dtype in FLOATS:
        x, zero, one = array([NAN, INF, -INF, 0.5], dtype), array(0, dtype), array(1, dtype)
        rows.append(Sample(ops.clamp, (zero, x, one), array([NAN, 1, 0, 0.5], dtype), name="edge"))
        everything = (array(-INF, dtype), x, array(INF, dtype))
        rows.append(Sample(ops.clamp, everything, x, name="unlimited"))
        rows.append(Sample(ops.clamp, (array(NAN, dtype), one, one), array(NAN, dtype)))
    zero, one = array(0, f32), array(1, f32)
    rows.append(Sample(ops.clamp, (zero, array(7, f32), one), one, name="scalar"))
    rows.append(Sample(ops.clamp, (zero, array([], f32), one), array([], f32), name="empty"))
    return rows


def other_rows() -> list[Sample]:
    """What the tables above do not reach: real results of complex operands, extremes of bools."""
    lengths = array([3 + 4j, -5 + 12j, complex(INF, NAN), 0], c64)
    flags = pairs(array([False, True], bool_))
    big = array([3e300 + 4e300j], c128)
    return [
        Sample(ops.abs_, (lengths,), array([5, 13, INF, 0], f32), name="complex"),
        Sample(ops.abs_, (big,), array([5e300], f64), rtol=1e-15, name="no-overflow"),
        Sample(
            ops.sign,
            (array([0, 2j, complex(NAN, 1)], c128),),
            array([0, 1j, complex(NAN, NAN)], c128),
        ),
        Sample(ops.maximum, flags, array([False, True, True, True], bool_)),
        Sample(ops.minimum, flags, array([False, False, False, True], bool_)),
        *[
            Sample(ops.neg, (np.array(least(d), d.numpy),), np.array(least(d), d.numpy))
            for d in SIGNED
        ],
        Sample(ops.neg, (array([1, 255], u8),), array([255, 1], u8), name="unsigned"),
        Sample(ops.floor_divide, (array(-7, i8), array(2, i8)), array(-4, i8), name="scalar"),
        Sample(ops.remainder, (array([], i32), array(0, i32)), array([], i32), name="empty"),
    ]


ROWS: list[Sample] = [
    *integer_rows(),
    *float_rows(),
    *complex_rows(),
    *literal_rows(),
    *power_rows(),
    *clamp_rows(),
    *other_rows(),
]

REFUSED: dict[OpDef, tuple[str, ...]] = {
    **dict.fromkeys((ops.neg, ops.abs_, ops.sign, ops.add, ops.sub, ops.mul, ops.pow_), ("bool",)),
    ops.div: ("bool", "i32", "u8"),
    **dict.fromkeys((ops.floor_divide, ops.remainder, ops.fmod, ops.clamp), ("bool", "c64")),
    **dict.fromkeys((ops.maximum, ops.minimum), ("c64", "c128")),
    **dict.fromkeys((ops.hypot, ops.copysign, ops.nextafter), ("bool", "i32", "c64")),
    **dict.fromkeys((ops.floor, ops.ceil, ops.trunc, ops.round_), ("bool", "i32", "c64")),
}


def bad_rows() -> list[BadSample]:
    rows = []
    for op, refused in REFUSED.items():
        arity = len(op.operands)
        for dtype in refused:
            match = rf"{op.operands[0]} has dtype {dtype}, expected"
            rows.append(BadSample(op, (f"{dtype}[2]",) * arity, DTypeError, match))
        if arity == 1:
            continue
        mixed = ("f32[2]", "f64[2]", "f32[2]")[:arity]
        rows.append(BadSample(op, mixed, DTypeError, "operands have different dtypes: f32, f64"))
        apart = ("f32[2]", "f32[3]", "f32[]")[:arity]
        match = r"operands have different shapes: \(2,\) and \(3,\)"
        rows.append(BadSample(op, apart, ShapeError, match))
        ranks = ("f32[1]", "f32[1, 1]", "f32[]")[:arity]
        rows.append(BadSample(op, ranks, ShapeError, "operands have different shapes"))
    return rows


BAD: list[BadSample] = bad_rows()
