"""Samples of cumulative ops; the oracle walks along the axis with Python's numbers and mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from tests.compiler.ops.sample import BadSample, Sample
from tests.compiler.ops.scalar_oracle import (
    COMPLEXES,
    EPSILON,
    FLOATS,
    INTEGERS,
    Array,
    array,
    greatest,
    least,
    numbers,
    random,
    wrap,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType, bool_, f16, f32, f64, i8, u8
from weft.compiler.ir.errors import DTypeError, ShapeError, VerifyError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import cumulative as ops

INF, NAN = math.inf, math.nan


def larger(x: Any, y: Any) -> Any:
    return NAN if x != x or y != y else max(x, y)


def smaller(x: Any, y: Any) -> Any:
    return NAN if x != x or y != y else min(x, y)


def log_add(x: Any, y: Any) -> Any:
    """log(e**x + e**y) to forty digits, with the limits at infinities."""
    if x != x or y != y:
        return NAN
    if INF in (x, y) or x == -INF or y == -INF:
        return max(x, y)
    return mpmath.log(mpmath.exp(x) + mpmath.exp(y))


STEPS: dict[OpDef, Callable[[Any, Any], Any]] = {
    ops.cumsum: lambda x, y: x + y,
    ops.cumprod: lambda x, y: x * y,
    ops.cummax: larger,
    ops.cummin: smaller,
    ops.cumlogsumexp: log_add,
}
ARITHMETIC = (ops.cumsum, ops.cumprod)


def walk(op: OpDef, x: Array, axis: int, reverse: bool) -> Array:
    """Each row along the axis, accumulated element by element."""
    dtype = dtypes.dtype(x.dtype)
    result = np.zeros(x.shape, dtype.numpy)
    others = [range(size) for i, size in enumerate(x.shape) if i != axis]
    for place in itertools.product(*others):
        index: tuple[Any, ...] = (
            *place[:axis],
            slice(None, None, -1 if reverse else 1),
            *place[axis:],
        )
        with mpmath.workdps(40):
            row = list(itertools.accumulate(numbers(x[index]), STEPS[op]))
            if dtype.is_integer:
                row = [wrap(number, dtype) for number in row]
            result[index] = [float(v) for v in row] if dtype.is_float else row
    return result


def accepted(op: OpDef) -> tuple[DType, ...]:
    if op in ARITHMETIC:
        return (*INTEGERS, *FLOATS, *COMPLEXES)
    return FLOATS if op is ops.cumlogsumexp else (bool_, *INTEGERS, *FLOATS)


def cube(dtype: DType) -> Array:
    """A 2 x 3 x 4 array; integers of the whole range, so that sums and products wrap."""
    if dtype.is_integer:
        generator = np.random.default_rng(3)
        return generator.integers(
            least(dtype), greatest(dtype), (2, 3, 4), dtype.numpy, endpoint=True
        )
    if dtype.is_bool:
        return random(f64, 2, 3, 4) > 0
    return random(dtype, 2, 3, 4, low=-2.0, high=2.0)


def sample(op: OpDef, x: Array, axis: int, reverse: bool, name: str) -> Sample:
    """A row whose tolerance is one rounding of a result, and as much of a term that may cancel."""
    dtype = dtypes.dtype(x.dtype)
    exact = op in (ops.cummax, ops.cummin) or not dtype.is_inexact
    bound = 0.0 if exact else 8 * EPSILON[dtype]
    expected = walk(op, x, axis, reverse)
    attributes = {"axis": axis, "reverse": reverse}
    return Sample(op, (x,), expected, attributes, rtol=bound, atol=bound, name=name)


def walk_rows() -> list[Sample]:
    rows = []
    for op in STEPS:
        for dtype in accepted(op):
            rows.append(sample(op, cube(dtype), 1, False, "forward"))
            rows.append(sample(op, cube(dtype), 1, True, "reverse"))
        x = cube(f64)
        for axis in (0, 2):
            rows.append(sample(op, x, axis, False, f"forward-{axis}"))
            rows.append(sample(op, x, axis, True, f"reverse-{axis}"))
        rows.append(sample(op, x.transpose(2, 0, 1)[::-1, :, ::2], 0, False, "strided"))
        rows.append(sample(op, x[:, :0], 1, True, "empty-axis"))
        rows.append(sample(op, x[:, :0], 2, False, "empty-other"))
        rows.append(sample(op, x[:1], 0, True, "one-element"))
        forward = x[0, 0]
        expected = walk(op, forward, 0, False)
        rows.append(
            Sample(op, (forward,), expected, {"axis": 0}, rtol=2e-15, atol=2e-15, name="default")
        )
    return rows


def edge_rows() -> list[Sample]:
    special = [-INF, -INF, 1.0, INF, 2.0, NAN, 3.0]
    outputs: dict[OpDef, list[float]] = {
        ops.cumsum: [-INF, -INF, -INF, NAN, NAN, NAN, NAN],
        ops.cumprod: [-INF, INF, INF, INF, INF, NAN, NAN],
        ops.cummax: [-INF, -INF, 1, INF, INF, NAN, NAN],
        ops.cummin: [-INF, -INF, -INF, -INF, -INF, NAN, NAN],
        ops.cumlogsumexp: [-INF, -INF, 1, INF, INF, NAN, NAN],
    }
    rows = []
    for dtype in FLOATS:
        for op, output in outputs.items():
            operands = (array(special, dtype),)
            rows.append(Sample(op, operands, array(output, dtype), {"axis": 0}, name="special"))
    return rows


def limit_rows() -> list[Sample]:
    """Where a plain formula would overflow, underflow or stop growing."""
    large, small = np.full(3, 1000.0), np.full(3, -1000.0)
    growth = np.log([1.0, 2.0, 3.0])
    ones, counts = np.ones(4096, "f2"), np.minimum(np.arange(1, 4097), 65504).astype("f2")
    forward: Any = {"axis": 0}
    return [
        Sample(ops.cumlogsumexp, (large,), 1000 + growth, forward, rtol=1e-15, name="large"),
        Sample(ops.cumlogsumexp, (small,), growth - 1000, forward, rtol=1e-15, name="small"),
        Sample(
            ops.cumlogsumexp,
            (array([-INF, 0.0, -1e4, -INF], f32),),
            array([0.0, 0.0, -1e4, -INF], f32),
            {"axis": 0, "reverse": True},
            name="far-apart",
        ),
        Sample(ops.cumsum, (ones,), counts, forward, name="f16-long"),
        Sample(ops.cumsum, (array([60000, 60000], f16),), array([60000, INF], f16), forward),
        Sample(ops.cumsum, (array([100, 100], i8),), array([100, -56], i8), forward, name="wraps"),
        Sample(
            ops.cumprod, (array([16, 17, 0], u8),), array([16, 16, 0], u8), forward, name="wraps"
        ),
    ]


def recur(factor: Array, x: Array, axis: int, reverse: bool) -> Array:
    """The recurrence along each row, number by number."""
    dtype = dtypes.dtype(x.dtype)
    result = np.zeros(x.shape, dtype.numpy)
    others = [range(size) for i, size in enumerate(x.shape) if i != axis]
    step = slice(None, None, -1 if reverse else 1)
    for place in itertools.product(*others):
        index: tuple[Any, ...] = (*place[:axis], step, *place[axis:])
        pairs = zip(numbers(factor[index]), numbers(x[index]), strict=True)
        row = itertools.accumulate(pairs, lambda z, pair: pair[0] * z + pair[1], initial=0.0)
        result[index] = list(row)[1:]
    return result


def recurrence_rows() -> list[Sample]:
    op, rows = ops.linear_recurrence, []
    for dtype in (*FLOATS, *COMPLEXES):
        x, factor = cube(dtype), cube(dtype)[::-1]
        for axis, reverse in itertools.product((0, 1, 2), (False, True)):
            bound = 8 * EPSILON[dtype]
            expected = recur(factor, x, axis, reverse)
            attributes = {"axis": axis, "reverse": reverse}
            rows.append(Sample(op, (factor, x), expected, attributes, rtol=bound, atol=bound))
    x, factor = cube(f64), cube(f64)[::-1]
    operands = (factor.transpose(2, 0, 1)[::-1, :, ::2], x.transpose(2, 0, 1)[:, ::-1, ::2])
    expected = recur(*operands, 1, True)
    attributes = {"axis": 1, "reverse": True}
    rows += [
        Sample(op, operands, expected, attributes, rtol=1e-15, atol=1e-15, name="strided"),
        Sample(op, (x[:, :0], x[:, :0]), x[:, :0], attributes, name="empty-axis"),
        Sample(op, (x[:, :0], x[:, :0]), x[:, :0], {"axis": 2}, name="empty-other"),
        Sample(op, (x[:, :1], x[:, :1]), x[:, :1].copy(), {"axis": 1}, name="one-element"),
    ]
    for dtype in FLOATS:
        factor = array([NAN, 2, 0, 1, INF], dtype)
        z = array([NAN, NAN, NAN, NAN, NAN], dtype)
        rows.append(Sample(op, (factor, factor), z, {"axis": 0}, name="nan-at-start"))
        factor, x = array([5, 2, 0, 1, 3], dtype), array([1, INF, 2, -0.0, -INF], dtype)
        z = array([1, INF, NAN, NAN, NAN], dtype)
        rows.append(Sample(op, (factor, x), z, {"axis": 0}, name="special"))
        factor, x = array([5, 2, 0, -1, 3], dtype), array([1, 2, 3, 0, 4], dtype)
        z = array([1, 4, 3, -3, -5], dtype)
        rows.append(Sample(op, (factor, x), z, {"axis": 0}, name="zero-factor"))
    return rows


ROWS: list[Sample] = [*walk_rows(), *edge_rows(), *limit_rows(), *recurrence_rows()]

REFUSED: dict[OpDef, tuple[str, ...]] = {
    ops.cumsum: ("bool",),
    ops.cumprod: ("bool",),
    ops.cummax: ("c64", "c128"),
    ops.cummin: ("c64", "c128"),
    ops.cumlogsumexp: ("bool", "i32", "c64"),
}

BAD: list[BadSample] = [
    *[
        BadSample(op, (f"{name}[2]",), DTypeError, f"x has dtype {name}, expected", {"axis": 0})
        for op, names in REFUSED.items()
        for name in names
    ],
    *[
        BadSample(
            op,
            ("f32[2, 3]",),
            ShapeError,
            f"axis {axis} is out of range for rank 2",
            {"axis": axis},
        )
        for op in STEPS
        for axis in (2, -1)
    ],
    *[
        BadSample(op, ("f32[]",), ShapeError, "out of range for rank 0", {"axis": 0})
        for op in STEPS
    ],
    *[BadSample(op, ("f32[2]",), VerifyError, "needs the attribute axis") for op in STEPS],
    *[
        BadSample(ops.linear_recurrence, types, error, match, {"axis": 1})
        for types, error, match in (
            (("i32[2, 3]", "i32[2, 3]"), DTypeError, "x has dtype i32, expected float or complex"),
            (("f32[2, 3]", "f64[2, 3]"), DTypeError, "operands have different dtypes"),
            (("f32[3]", "f32[2, 3]"), ShapeError, r"different shapes: \(3,\) and \(2, 3\)"),
            (("f32[3]", "f32[3]"), ShapeError, "axis 1 is out of range for rank 1"),
        )
    ],
]
