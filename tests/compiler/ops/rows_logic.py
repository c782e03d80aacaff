"""Samples of comparisons, bitwise ops, shifts and selection; oracles are Python's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compiler.ops.sample import BadSample, Sample
from tests.compiler.ops.scalar_oracle import (
    COMPLEXES,
    FLOATS,
    INTEGERS,
    array,
    each,
    greatest,
    least,
    pairs,
    random,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType, bool_, c64, c128, f32, f64, i32
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import logic as ops

INF, NAN = math.inf, math.nan

COMPARISONS: dict[OpDef, Callable[..., Any]] = {
    ops.eq: lambda x, y: x == y,
    ops.ne: lambda x, y: x != y,
    ops.lt: lambda x, y: x < y,
    ops.le: lambda x, y: x <= y,
    ops.gt: lambda x, y: x > y,
    ops.ge: lambda x, y: x >= y,
}

BITWISE: dict[OpDef, Callable[..., Any]] = {
    ops.and_: lambda x, y: x & y,
    ops.or_: lambda x, y: x | y,
    ops.xor: lambda x, y: x ^ y,
}


def values_of(dtype: DType) -> Any:
    """A few values of any dtype, the ones that compare oddly among them."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        ends = [least(dtype), least(dtype) + 1, greatest(dtype) - 1, greatest(dtype)]
        return np.array([0, 1, 2, 5, *ends], dtype.numpy)
    if dtype.is_float:
        return array([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN], dtype)
    return array([0, -0.0, 1 + 2j, 1 - 2j, complex(NAN, 1), complex(1, INF)], dtype)


def comparison_rows() -> list[Sample]:
    rows = []
    for op, function in COMPARISONS.items():
        for dtype in dtypes.ALL:
            if dtype.is_complex and op not in (ops.eq, ops.ne):
                continue
            operands = pairs(values_of(dtype))
            expected = each(function, *operands, dtype=bool_)
            rows.append(Sample(op, operands, expected, name="all-pairs"))
        matrix, half = random(f32, 2, 3), array(0.5, f32)
        for name, operands in {
            "scalar-left": (half, matrix),
            "strided": (matrix[::-1, ::2], matrix[:, 1:]),
            "scalar": (half, half),
            "empty": (matrix[:0], half),
        }.items():
            expected = each(function, *operands, dtype=bool_)
            rows.append(Sample(op, operands, expected, name=name))
        wide = pairs(random(f64, 3))
        rows.append(Sample(op, wide, each(function, *wide, dtype=bool_), name="random"))
    return rows


def bitwise_rows() -> list[Sample]:
    rows = []
    for op, function in BITWISE.items():
        for dtype in (bool_, *INTEGERS):
            operands = pairs(values_of(dtype))
            rows.append(Sample(op, operands, each(function, *operands), name="all-pairs"))
        one, three = np.int32(1), np.array([[3, 4]], np.int32)
        rows.append(Sample(op, (one, three), each(function, np.asarray(one), three), name="mixed"))
        rows.append(Sample(op, (three[:, :0], one), three[:, :0], name="empty"))
        rows.append(Sample(op, (np.True_, np.True_), np.bool_(op is not ops.xor), name="scalar"))
    for dtype in INTEGERS:
        values = values_of(dtype)
        rows.append(Sample(ops.not_, (values,), each(lambda x: ~x, values)))
    rows.append(Sample(ops.not_, (np.array([True, False]),), np.array([False, True])))
    rows.append(Sample(ops.not_, (np.False_,), np.True_, name="scalar"))
    rows.append(Sample(ops.not_, (np.zeros((0, 2), bool),), np.zeros((0, 2), bool), name="empty"))
    return rows


def shift_rows() -> list[Sample]:
    """All shifts of a few numbers, counts that are negative or beyond the width included."""
    rows = []
    for dtype in INTEGERS:
        beyond = [dtype.bits - 1, dtype.bits, dtype.bits + 1, greatest(dtype)]
        counts = np.array(
            [0, 1, 3, *beyond, *((-1, least(dtype)) if dtype.is_signed else ())], dtype.numpy
        )
        values = values_of(dtype)
        operands = np.repeat(values, len(counts)), np.tile(counts, len(values))

        def left(x: int, count: int, bits: int = dtype.bits) -> int:
            return x << count if 0 <= count < bits else 0

        def right(x: int, count: int, bits: int = dtype.bits) -> int:
            return x >> (count if 0 <= count < bits else bits)

        rows.append(Sample(ops.shift_left, operands, each(left, *operands), name="all"))
        rows.append(Sample(ops.shift_right, operands, each(right, *operands), name="all"))
    for op, result in ((ops.shift_left, 12), (ops.shift_right, 3)):
        rows.append(Sample(op, (np.int16(6), np.int16(1)), np.int16(result), name="scalar"))
        rows.append(Sample(op, (np.array([[6]]), np.array(1)), np.array([[result]]), name="mixed"))
        rows.append(Sample(op, (np.zeros(0, int), np.array(1)), np.zeros(0, int), name="empty"))
    return rows


def population_rows() -> list[Sample]:
    rows = []
    for dtype in INTEGERS:
        values = values_of(dtype)[::-1]
        expected = each(lambda x, d=dtype: bin(x % (1 << d.bits)).count("1"), values)
        rows.append(Sample(ops.population_count, (values,), expected))
    rows.append(Sample(ops.population_count, (np.int8(-1),), np.int8(8), name="scalar"))
    rows.append(Sample(ops.population_count, (np.zeros(0, np.uint8),), np.zeros(0, np.uint8)))
    return rows


def predicate_rows() -> list[Sample]:
    """The tests for NaN and finiteness, in each dtype that has them."""
    rows = []
    for dtype in FLOATS:
        x = array([0, -0.0, 1e30, INF, -INF, NAN], dtype)
        finite = [True, True, dtype is not dtypes.f16, False, False, False]
        rows.append(Sample(ops.is_nan, (x,), np.array([False] * 5 + [True])))
        rows.append(Sample(ops.is_finite, (x,), np.array(finite)))
    for dtype in COMPLEXES:
        z = array([1 + 2j, complex(1, NAN), complex(NAN, 1), complex(INF, 0)], dtype)
        rows.append(Sample(ops.is_nan, (z,), np.array([False, True, True, False])))
        rows.append(Sample(ops.is_finite, (z,), np.array([True, False, False, False])))
    for op in (ops.is_nan, ops.is_finite):
        rows.append(Sample(op, (array(INF, f64),), np.False_, name="scalar"))
        rows.append(Sample(op, (array([[], []], f32),), np.zeros((2, 0), bool), name="empty"))
    return rows


def select_rows() -> list[Sample]:
    rows = []
    pred = np.array([[True, False], [False, True]])
    for dtype in dtypes.ALL:
        left, right = array([[1, 0], [1, 1]], dtype), array([[0, 1], [1, 0]], dtype)
        rows.append(Sample(ops.select, (pred, left, right), array([[1, 1], [1, 1]], dtype)))
    one, row = array(1, f32), array([3, NAN], f32)
    yes, flags = np.True_, np.array([False, True])
    rows += [
        Sample(ops.select, (flags, one, row), array([3, 1], f32), name="masks-nan"),
        Sample(ops.select, (yes, row, one), row, name="scalar-pred"),
        Sample(ops.select, (flags, one, array(-0.0, f32)), array([-0.0, 1], f32)),
        Sample(ops.select, (np.False_, one, array(2, f32)), array(2, f32), name="scalar"),
        Sample(ops.select, (yes, one, row[:0]), row[:0], name="empty"),
        Sample(ops.select, (flags[::-1], row[::-1], one), array([NAN, 1], f32), name="strided"),
    ]
    return rows


ROWS: list[Sample] = [
    *comparison_rows(),
    *bitwise_rows(),
    *shift_rows(),
    *population_rows(),
    *predicate_rows(),
    *select_rows(),
]

REFUSED: dict[OpDef, tuple[DType, ...]] = {
    **dict.fromkeys((ops.lt, ops.le, ops.gt, ops.ge), (c64, c128)),
    **dict.fromkeys((ops.and_, ops.or_, ops.xor, ops.not_), (f32, c64)),
    **dict.fromkeys((ops.shift_left, ops.shift_right, ops.population_count), (bool_, f32, c64)),
    **dict.fromkeys((ops.is_nan, ops.is_finite), (bool_, i32)),
}


def bad_rows() -> list[BadSample]:
    rows = []
    for op, refused in REFUSED.items():
        for dtype in refused:
            match = f"x has dtype {dtype}, expected"
            operands = (f"{dtype}[2]",) * len(op.operands)
            rows.append(BadSample(op, operands, DTypeError, match))
    for op in (*COMPARISONS, *BITWISE, ops.shift_left, ops.shift_right):
        match = "operands have different dtypes: i32, i64"
        rows.append(BadSample(op, ("i32[2]", "i64[2]"), DTypeError, match))
        match = r"operands have different shapes: \(2,\) and \(1, 2\)"
        rows.append(BadSample(op, ("i32[2]", "i32[1, 2]"), ShapeError, match))
    return rows


BAD: list[BadSample] = [
    *bad_rows(),
    BadSample(
        ops.select, ("i8[2]", "f32[2]", "f32[2]"), DTypeError, "pred has dtype i8, expected bool"
    ),
    BadSample(
        ops.select, ("bool[2]", "f32[2]", "f64[2]"), DTypeError, "different dtypes: f32, f64"
    ),
    BadSample(ops.select, ("bool[3]", "f32[2]", "f32[]"), ShapeError, r"\(3,\) and \(2,\)"),
]
