"""Samples of sparse_dot; the oracle is NumPy's product with the matrix written out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from tests.compiler.ops.scalar_oracle import COMPLEXES, EPSILON, FLOATS, INTEGERS
from weft.compiler.ir.dtypes import DType, f64
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.sparse import sparse_dot

# Lines 0 and 3 are empty, line 1 has one position twice, and no line is in order.
INDICES = np.array([4, 0, 4, 2, 1, 3, 0], np.int32)
OFFSETS = np.array([0, 0, 3, 4, 4, 7], np.int32)
ACROSS = 6


def dense(data: Array) -> Array:
    """The lines of the matrix."""
    made = np.zeros((len(OFFSETS) - 1, ACROSS), np.complex128 if data.dtype.kind == "c" else float)
    for line, (begin, end) in enumerate(itertools.pairwise(OFFSETS)):
        for p in range(begin, end):
            made[line, INDICES[p]] += data[p]
    return made


def row(dtype: DType, columns: tuple[int, ...], transposed: bool, **kinds: Any) -> Sample:
    least = 0 if dtype.kind == "uint" else -2
    data = np.arange(least, least + 7).astype(dtype.numpy)
    matrix = dense(data).T if transposed else dense(data)
    count = int(np.prod((matrix.shape[1], *columns)))
    x = (np.arange(count) % 5).astype(dtype.numpy).reshape(matrix.shape[1], *columns)
    if dtype.is_complex:
        data, x = data * data.dtype.type(1 + 2j), x * x.dtype.type(2 - 1j)
        matrix = matrix * (1 + 2j)
    expected = (matrix @ x.astype(matrix.dtype)).astype(dtype.numpy)
    bound = 4 * EPSILON[dtype] if dtype.is_inexact else 0.0
    indices = INDICES.astype(kinds.get("indices", np.int32))
    offsets = OFFSETS.astype(kinds.get("offsets", np.int32))
    attributes = {"transposed": transposed, "size": len(matrix)}
    operands = (data, indices, offsets, x)
    return Sample(sparse_dot, operands, expected, attributes, rtol=bound, atol=bound)


def edges() -> list[Sample]:
    none, no_offsets = np.zeros(0), np.zeros(1, np.int64)
    wide = {"transposed": True, "size": 3}
    narrow = {"transposed": False, "size": 0}
    empty = np.zeros(0, np.int64)
    return [
        Sample(sparse_dot, (none, empty, no_offsets, np.ones(2)), none, narrow, name="no-rows"),
        Sample(sparse_dot, (none, empty, no_offsets, none), np.zeros(3), wide, name="no-columns"),
        Sample(
            sparse_dot,
            (none, empty, np.zeros(4, np.int64), np.ones((5, 2))),
            np.zeros((3, 2)),
            {"transposed": False, "size": 3},
            name="no-entries",
        ),
    ]


ROWS: list[Sample] = [
    *[
        row(dtype, columns, transposed)
        for dtype in (*FLOATS, *COMPLEXES, *INTEGERS)
        for columns in ((), (3,))
        for transposed in (False, True)
    ],
    *[row(f64, (n,), transposed) for n in (0, 1, 16, 53) for transposed in (False, True)],
    row(f64, (), False, indices=np.uint8, offsets=np.int64),
    row(f64, (2,), True, indices=np.uint64, offsets=np.int16),
    *edges(),
]

BAD: list[BadSample] = [
    BadSample(sparse_dot, types, error, match, {"transposed": False, "size": 2})
    for types, error, match in (
        (("f64[4]", "i32[4]", "i32[3]", "f32[5]"), DTypeError, "different dtypes"),
        (("f64[4]", "f64[4]", "i32[3]", "f64[5]"), DTypeError, "indices has dtype f64"),
        (("bool[4]", "i32[4]", "i32[3]", "bool[5]"), DTypeError, "data has dtype bool"),
        (("f64[4]", "i32[3]", "i32[3]", "f64[5]"), ShapeError, "data and indices differ: 4 and 3"),
        (("f64[4]", "i32[4]", "i32[4]", "f64[5]"), ShapeError, "lines plus one differ: 4 and 3"),
        (("f64[4]", "i32[4]", "i32[3, 1]", "f64[5]"), ShapeError, "offsets has type .*rank 1"),
        (("f64[4]", "i32[4]", "i32[3]", "f64[5, 2, 2]"), ShapeError, "a vector or a matrix"),
    )
]
