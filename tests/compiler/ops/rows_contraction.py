"""Samples of dot_general and of its form with sums. The oracle is einsum, on numbers small enough
that every sum is exact.

The order of a sum is not part of the op's meaning: rows with random numbers allow a few units in
the last place of the accumulator's dtype, and the others do not look at the sign of a zero.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.contraction import dot_general, dot_general_sums

ANY_ZERO = 1e-30
"""A tolerance that only lets +0 and -0 be equal."""

MATMUL: dict[str, Any] = {"lhs_contract": (1,), "rhs_contract": (0,)}


def small(shape: tuple[int, ...], dtype: Any = np.float32, shift: int = 2) -> Array:
    """Numbers of 0 to 6 less `shift` in an uneven order; for bool, a pattern."""
    count = (np.arange(int(np.prod(shape))) * 5 + 3) % 7
    if np.dtype(dtype) == np.bool_:
        return (count < 2).reshape(shape)
    low = 0 if np.dtype(dtype).kind == "u" else shift
    numbers = (count - low).reshape(shape)
    return (
        (numbers * (1 + 2j)).astype(dtype) if np.dtype(dtype).kind == "c" else numbers.astype(dtype)
    )


def wide(x: Array) -> Array:
    """In a dtype in which einsum is exact."""
    if x.dtype.kind in "iub":
        return x.astype(object) if x.dtype.kind != "b" else x.astype(np.int64)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def row(
    lhs: Array,
    rhs: Array,
    formula: str,
    name: str = "",
    tolerance: float = ANY_ZERO,
    **attributes: Any,
) -> Sample:
    """A row that expects `einsum(formula)`, in the operands' dtype unless one is given."""
    exact = np.asarray(np.einsum(formula, wide(lhs), wide(rhs)))
    dtype = attributes["dtype"].numpy if "dtype" in attributes else lhs.dtype
    expected = exact.astype(dtype)
    return Sample(
        dot_general, (lhs, rhs), expected, attributes, rtol=tolerance, atol=tolerance, name=name
    )


def normal(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    generator = np.random.default_rng(seed)
    numbers = generator.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * generator.normal(size=shape)
    return numbers.astype(dtype)


EVERY_DTYPE = [
    row(small((3, 4), d.numpy), small((4, 2), d.numpy), "ij,jk->ik", **MATMUL) for d in dtypes.ALL
]

RANDOM = [
    row(normal((5, 33), d, 1), normal((33, 7), d, 2), "ij,jk->ik", "random", tolerance, **MATMUL)
    for d, tolerance in (
        (np.float32, 1e-5),
        (np.float64, 1e-13),
        (np.complex64, 2e-5),
        (np.complex128, 2e-13),
        (np.float16, 4e-3),
        (ml_dtypes.bfloat16, 3e-2),
    )
]

AXES = [
    row(
        small((4, 3)),
        small((2, 4)),
        "ji,kj->ik",
        "both transposed",
        lhs_contract=(0,),
        rhs_contract=(1,),
    ),
    row(
        small((5, 2, 3), np.float64),
        small((5, 3, 4), np.float64),
        "bij,bjk->bik",
        "batched",
        lhs_contract=(2,),
        rhs_contract=(1,),
        lhs_batch=(0,),
        rhs_batch=(0,),
    ),
    row(
        small((3, 2, 4, 5)),
        small((4, 5, 3, 6)),
        "aibc,bcad->caid",
        "batch axes in the middle",
        lhs_contract=(2,),
        rhs_contract=(0,),
        lhs_batch=(3, 0),
        rhs_batch=(1, 2),
    ),
    row(
        small((2, 3, 4, 5)),
        small((4, 6, 3)),
        "iabj,bka->ijk",
        "two contracted axes, crosswise",
        lhs_contract=(1, 2),
        rhs_contract=(2, 0),
    ),
    row(small((3,)), small((4, 2)), "i,jk->ijk", "outer", lhs_contract=(), rhs_contract=()),
    row(small((6,)), small((6,)), "i,i->", "to rank 0", lhs_contract=(0,), rhs_contract=(0,)),
    row(
        small((2, 3)),
        small((2, 3)),
        "ij,ij->",
        "all axes",
        lhs_contract=(0, 1),
        rhs_contract=(0, 1),
    ),
    row(small(()), small((3,)), ",i->i", "rank 0", lhs_contract=(), rhs_contract=()),
    row(
        small((3, 4)),
        small((3, 4)),
        "ij,ij->ij",
        "batch axes only",
        lhs_contract=(),
        rhs_contract=(),
        lhs_batch=(0, 1),
        rhs_batch=(0, 1),
    ),
    row(small((4, 3)).T[::-1], small((2, 4)).T[:, ::-1], "ij,jk->ik", "negative strides", **MATMUL),
]

ZERO_SIZES = [
    Sample(
        dot_general,
        (np.ones((2, 0), d), np.ones((0, 3), d)),
        np.zeros((2, 3), d),
        MATMUL,
        name="empty sum",
    )
    for d in (np.float32, np.int8, np.bool_, np.complex64, ml_dtypes.bfloat16)
] + [
    Sample(
        dot_general,
        (np.ones((0, 4), np.float32), np.ones((4, 3), np.float32)),
        np.zeros((0, 3), np.float32),
        MATMUL,
        name="no rows",
    )
]

RESULT_DTYPE = [
    row(
        np.full((2, 3), -128, np.int8),
        np.full((3, 2), 127, np.int8),
        "ij,jk->ik",
        dtype=dtypes.i32,
        **MATMUL,
    ),
    row(
        np.full((2, 3), 255, np.uint8),
        np.full((3, 2), 255, np.uint8),
        "ij,jk->ik",
        dtype=dtypes.i32,
        **MATMUL,
    ),
    row(
        small((2, 3), np.float16),
        small((3, 2), np.float16),
        "ij,jk->ik",
        dtype=dtypes.f32,
        **MATMUL,
    ),
    row(small((2, 3), np.bool_), small((3, 2), np.bool_), "ij,jk->ik", dtype=dtypes.i64, **MATMUL),
    row(small((2, 3)), small((3, 2)), "ij,jk->ik", dtype=dtypes.f64, **MATMUL),
    Sample(
        dot_general,
        (np.array([[60000.0]], np.float16), np.array([[60000.0]], np.float16)),
        np.array([[59999.0 * 60000.0 + 60000.0]], np.float32),
        {**MATMUL, "dtype": dtypes.f32},
        rtol=1e-7,
        name="beyond f16",
    ),
]


def vectors(left: Any, right: Any, expected: Any, dtype: Any, name: str) -> Sample:
    operands = (np.asarray(left, dtype), np.asarray(right, dtype))
    attributes = {"lhs_contract": (0,), "rhs_contract": (0,)}
    return Sample(dot_general, operands, np.asarray(expected, dtype), attributes, name=name)


EDGE_VALUES = [
    vectors([0.0, 1.0], [np.inf, 1.0], np.nan, np.float32, "zero times infinity"),
    vectors([np.nan, 1.0], [0.0, 1.0], np.nan, np.float32, "zero times NaN"),
    vectors([1.0, 1.0], [np.inf, 1.0], np.inf, np.float64, "infinity"),
    vectors([1.0, 1.0], [np.inf, -np.inf], np.nan, np.float64, "infinities cancel"),
    vectors([3e38, 3e38], [2.0, 2.0], np.inf, np.float32, "overflow"),
    vectors([100, 100], [2, 1], 44, np.int8, "wraps"),
    vectors([2**31 - 1, 1], [1, 1], -(2**31), np.int32, "wraps"),
    vectors([-(2**63), 1], [-1, 0], -(2**63), np.int64, "least integer"),
    vectors([2**64 - 1, 2], [2, 1], 0, np.uint64, "wraps"),
    vectors([True, False], [False, True], False, np.bool_, "no pair"),
    vectors([True, True], [True, True], True, np.bool_, "two pairs"),
    vectors([1.0] * 512, [1.0] * 512, 512.0, ml_dtypes.bfloat16, "a bf16 sum would stop at 256"),
    vectors([1.0] * 4096, [1.0] * 4096, 4096.0, np.float16, "an f16 sum would stop at 2048"),
]


def with_sums(lhs: Array, rhs: Array, formula: str, name: str, **attributes: Any) -> Sample:
    """A row that expects `einsum(formula)` and the sums of rhs over what it contracts."""
    of_rhs, kept = formula.split(",")[1].split("->")
    left = "".join(axis for axis in of_rhs if axis in kept)
    expected = tuple(
        exact.astype(lhs.dtype)
        for exact in (
            np.asarray(np.einsum(formula, wide(lhs), wide(rhs))),
            np.asarray(np.einsum(f"{of_rhs}->{left}", wide(rhs))),
        )
    )
    return Sample(
        dot_general_sums,
        (lhs, rhs),
        expected,
        attributes,
        rtol=ANY_ZERO,
        atol=ANY_ZERO,
        name=name,
    )


SUMS = [
    with_sums(small((3, 4)), small((4, 2)), "ij,jk->ik", "matrices", **MATMUL),
    with_sums(
        small((18, 40), np.float64), small((40, 70), np.float64), "ij,jk->ik", "large", **MATMUL
    ),
    with_sums(
        small((4, 3)),
        small((2, 4)).T,
        "ji,jk->ik",
        "turned",
        lhs_contract=(0,),
        rhs_contract=(0,),
    ),
    with_sums(
        small((2, 3, 4), np.float64),
        small((4, 5, 3), np.float64),
        "iab,bka->ik",
        "two axes, crosswise",
        lhs_contract=(1, 2),
        rhs_contract=(2, 0),
    ),
    with_sums(small((0, 4)), small((4, 3)), "ij,jk->ik", "no rows", **MATMUL),
]

ROWS = EVERY_DTYPE + RANDOM + AXES + ZERO_SIZES + RESULT_DTYPE + EDGE_VALUES + SUMS


def bad(types: tuple[str, str], error: Any, match: str, **attributes: Any) -> BadSample:
    return BadSample(dot_general, types, error, match, {**MATMUL, **attributes})


BAD = [
    BadSample(
        dot_general_sums,
        ("i32[2, 3]", "i32[3, 4]"),
        DTypeError,
        "rhs has dtype i32, expected f32 or f64",
        MATMUL,
    ),
    bad(
        ("f32[2, 3]", "f32[4, 5]"),
        ShapeError,
        "contracted axes 1 of lhs and 0 of rhs differ: 3 and 4",
    ),
    bad(("f32[2, n]", "f32[m, 5]"), ShapeError, "differ: n and m"),
    bad(("f32[2, 3]", "f64[3, 5]"), DTypeError, "different dtypes: f32, f64"),
    bad(("f32[2]", "f32[3, 5]"), ShapeError, "axis 1 is out of range for rank 1"),
    bad(("f32[2, 3]", "f32[3, 5]"), ShapeError, "axis -1 is out of range", lhs_contract=(-1,)),
    bad(
        ("f32[3, 3]", "f32[3, 3]"),
        ShapeError,
        "name an axis twice",
        lhs_contract=(1, 1),
        rhs_contract=(0, 1),
    ),
    bad(
        ("f32[3, 3]", "f32[3, 3]"), ShapeError, "name an axis twice", lhs_batch=(1,), rhs_batch=(1,)
    ),
    bad(("f32[3, 3]", "f32[3, 3]"), ShapeError, "lhs has 2 contracted axes", lhs_contract=(0, 1)),
    bad(("f32[3, 3]", "f32[3, 3]"), ShapeError, "lhs has 1 batch axes", lhs_batch=(0,)),
    bad(
        ("f32[2, 3]", "f32[3, 4]"),
        ShapeError,
        "batch axes 0 of lhs and 1 of rhs differ",
        lhs_batch=(0,),
        rhs_batch=(1,),
    ),
    bad(
        ("f32[2, 3]", "f32[3, 5]"), DTypeError, "do not fit the result dtype f16", dtype=dtypes.f16
    ),
    bad(("i32[2, 3]", "i32[3, 5]"), DTypeError, "do not fit the result dtype i8", dtype=dtypes.i8),
    bad(
        ("c64[2, 3]", "c64[3, 5]"), DTypeError, "do not fit the result dtype f32", dtype=dtypes.f32
    ),
]
