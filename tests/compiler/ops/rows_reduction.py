"""Samples of reductions; the oracle folds Python's numbers one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

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
from weft.compiler.ir.dtypes import DType, bool_, c64, f16, f32, f64, i8, i32, i64, u8, u16
from weft.compiler.ir.errors import DTypeError, ShapeError, VerifyError
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import reduction as ops

INF, NAN = math.inf, math.nan


def fold(
    function: Callable[[list[Any]], Any], x: Array, axes: Sequence[int], dtype: DType
) -> Array:
    """The function on each list of elements along the axes, as an array of the dtype."""
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    result = np.zeros([x.shape[axis] for axis in kept], dtype.numpy)
    for place in itertools.product(*[range(size) for size in result.shape]):
        index: list[Any] = [slice(None)] * x.ndim
        for axis, at in zip(kept, place, strict=True):
            index[axis] = at
        number = function(numbers(np.asarray(x[tuple(index)])))
        result[place] = wrap(number, dtype) if dtype.is_integer else number
    return result


def largest(values: list[Any]) -> Any:
    return NAN if any(v != v for v in values) else max(values)


def smallest(values: list[Any]) -> Any:
    return NAN if any(v != v for v in values) else min(values)


def first_of(choose: Callable[[list[Any]], Any]) -> Callable[[list[Any]], int]:
    """Where the first NaN stands, else the first of the chosen elements."""

    def find(values: list[Any]) -> int:
        wanted = choose(values)
        return next(i for i, v in enumerate(values) if v == wanted or v != v)

    return find


FOLDS: dict[OpDef, Callable[[list[Any]], Any]] = {
    ops.reduce_sum: sum,
    ops.reduce_prod: math.prod,
    ops.reduce_max: largest,
    ops.reduce_min: smallest,
    ops.reduce_any: any,
    ops.reduce_all: all,
}
POSITIONS = {ops.argmax: first_of(largest), ops.argmin: first_of(smallest)}
ARITHMETIC = (ops.reduce_sum, ops.reduce_prod)
EXTREMES = (ops.reduce_max, ops.reduce_min)
LOGICAL = (ops.reduce_any, ops.reduce_all)

AXES = ((), (0,), (1,), (2,), (0, 1), (0, 2), (2, 1), (0, 1, 2))


def accepted(op: OpDef) -> tuple[DType, ...]:
    if op in LOGICAL:
        return (bool_,)
    if op in ARITHMETIC:
        return (*INTEGERS, *FLOATS, *COMPLEXES)
    return (bool_, *INTEGERS, *FLOATS)


def cube(dtype: DType) -> Array:
    """A 2 x 3 x 4 array; integers of the whole range, so that sums and products wrap."""
    if dtype.is_integer:
        generator = np.random.default_rng(3)
        return generator.integers(
            least(dtype), greatest(dtype), (2, 3, 4), dtype.numpy, endpoint=True
        )
    if dtype.is_bool:
        return random(f64, 2, 3, 4) > -2
    return random(dtype, 2, 3, 4, low=-2.0, high=2.0)


def sample(op: OpDef, x: Array, axes: Sequence[int], name: str) -> Sample:
    """A row whose tolerance is one rounding of the result, and of sums as much of each term."""
    dtype = dtypes.dtype(x.dtype)
    bound = EPSILON[dtype] * 4 if op in ARITHMETIC and dtype.is_inexact else 0.0
    expected = fold(FOLDS[op], x, axes, dtype)
    return Sample(op, (x,), expected, {"axes": axes}, rtol=bound, atol=bound * x.size, name=name)


def fold_rows() -> list[Sample]:
    rows = []
    for op in FOLDS:
        for dtype in accepted(op):
            rows.append(sample(op, cube(dtype), (1,), "middle"))
            rows.append(sample(op, cube(dtype), (0, 2), "two"))
        x = cube(accepted(op)[-1])
        rows += [sample(op, x, axes, f"axes-{axes}") for axes in AXES]
        rows.append(sample(op, x.transpose(2, 0, 1)[::-1, :, ::2], (0, 1), "strided"))
        rows.append(sample(op, x[0, 0, 0:1].reshape(()), (), "scalar"))
        rows.append(sample(op, x[:, :0], (0,), "empty-result"))
        rows.append(sample(op, x[:1], (0,), "one-element"))
    return rows


def position_rows() -> list[Sample]:
    rows = []
    for op, function in POSITIONS.items():
        for dtype in (bool_, *INTEGERS, *FLOATS):
            for axis in (0, 1, 2):
                x = cube(dtype)
                expected = fold(function, x, (axis,), i64)
                rows.append(Sample(op, (x,), expected, {"axis": axis}, name=f"axis-{axis}"))
        for dtype in (i8, i32, u8, u16):
            attributes = {"axis": 0, "dtype": dtype}
            expected = fold(function, x[::-1], (0,), dtype)
            rows.append(Sample(op, (x[::-1],), expected, attributes, name=f"index-{dtype}"))
        nothing, none = np.zeros((0, 2), "f4"), np.zeros(0, np.int64)
        rows.append(Sample(op, (nothing,), none, {"axis": 1}, name="empty-result"))
        rows.append(Sample(op, (array([7], f32),), np.int64(0), {"axis": 0}, name="one-element"))
        long = np.zeros(128, "f4")
        rows.append(Sample(op, (long,), np.int8(0), {"axis": 0, "dtype": i8}, name="just-fits"))
    return rows


def position_edge_rows() -> list[Sample]:
    rows = []
    for dtype in FLOATS:
        x = array(
            [[1, 3, 3, 2], [1, NAN, 9, NAN], [-INF, INF, INF, -INF], [0, -0.0, 0, -0.0]], dtype
        )
        highest, lowest = array([1, 1, 1, 0], i64), array([0, 1, 0, 0], i64)
        rows.append(Sample(ops.argmax, (x,), highest, {"axis": 1}, name="ties-and-nan"))
        rows.append(Sample(ops.argmin, (x,), lowest, {"axis": 1}, name="ties-and-nan"))
    return rows


def edge_rows() -> list[Sample]:
    rows = []
    none: Any = {"axes": (0,)}
    for dtype in (*INTEGERS, *FLOATS, *COMPLEXES):
        empty = np.zeros((0, 2), dtype.numpy)
        rows.append(Sample(ops.reduce_sum, (empty,), array([0, 0], dtype), none, name="empty"))
        rows.append(Sample(ops.reduce_prod, (empty,), array([1, 1], dtype), none, name="empty"))
    no_flags = np.zeros((0, 2), bool)
    rows.append(Sample(ops.reduce_any, (no_flags,), np.array([False, False]), none, name="empty"))
    rows.append(Sample(ops.reduce_all, (no_flags,), np.array([True, True]), none, name="empty"))
    for dtype in FLOATS:
        x = array([[1, NAN, 3], [INF, -INF, 1], [INF, 1, 2]], dtype)
        for op, outputs in (
            (ops.reduce_sum, [NAN, NAN, INF]),
            (ops.reduce_prod, [NAN, -INF, INF]),
            (ops.reduce_max, [NAN, INF, INF]),
            (ops.reduce_min, [NAN, -INF, 1]),
        ):
            rows.append(Sample(op, (x,), array(outputs, dtype), {"axes": (1,)}, name="special"))
    ones = np.full(70000, 1, "f2")
    return [
        *rows,
        # A running sum in f16 would stop growing at 2048; the whole sum overflows.
        Sample(ops.reduce_sum, (ones[:4096],), array(4096, f16), {"axes": (0,)}, name="long"),
        Sample(ops.reduce_sum, (ones,), array(INF, f16), {"axes": (0,)}, name="overflow"),
        Sample(
            ops.reduce_sum, (array([100, 100], i8),), array(-56, i8), {"axes": (0,)}, name="wraps"
        ),
        Sample(
            ops.reduce_prod, (array([16, 17], u8),), array(16, u8), {"axes": (0,)}, name="wraps"
        ),
        Sample(
            ops.reduce_prod, (array([1j, 1j], c64),), array(-1, c64), {"axes": (0,)}, name="unit"
        ),
    ]


ROWS: list[Sample] = [*fold_rows(), *position_rows(), *position_edge_rows(), *edge_rows()]


def bad_rows() -> list[BadSample]:
    rows = []
    for op in FOLDS:
        typed = "bool[2, 3]" if op in LOGICAL else "i32[2, 3]"
        for axes, match in (
            ((2,), "axis 2 is out of range for rank 2"),
            ((-1,), "axis -1 is out of range for rank 2"),
            ((1, 1), r"axes \(1, 1\) name an axis twice"),
        ):
            rows.append(BadSample(op, (typed,), ShapeError, match, {"axes": axes}))
        rows.append(BadSample(op, (typed,), VerifyError, "needs the attribute axes"))
    refused: dict[OpDef, tuple[str, ...]] = {op: ("bool",) for op in ARITHMETIC}
    refused |= {op: ("c64", "c128") for op in EXTREMES} | {op: ("i32", "f32") for op in LOGICAL}
    for op, names in refused.items():
        for name in names:
            match = f"x has dtype {name}, expected"
            rows.append(BadSample(op, (f"{name}[2]",), DTypeError, match, {"axes": (0,)}))
    for op in EXTREMES:
        match = "axis 1 is empty"
        rows.append(BadSample(op, ("f32[2, 0]",), ShapeError, match, {"axes": (0, 1)}))
    return rows


def bad_position_rows() -> list[BadSample]:
    rows = []
    for op in POSITIONS:
        narrow = {"axis": 0, "dtype": i8}
        rows += [
            BadSample(op, ("c64[2]",), DTypeError, "x has dtype c64, expected", {"axis": 0}),
            BadSample(op, ("f32[]",), ShapeError, "axis 0 is out of range for rank 0", {"axis": 0}),
            BadSample(op, ("f32[3, 0]",), ShapeError, "axis 1 is empty", {"axis": 1}),
            BadSample(
                op, ("f32[3]",), DTypeError, "f32 cannot hold indices", {"axis": 0, "dtype": f32}
            ),
            BadSample(op, ("f32[129]",), DTypeError, "i8 ends at 127, too early", narrow),
        ]
    return rows


BAD: list[BadSample] = [*bad_rows(), *bad_position_rows()]
