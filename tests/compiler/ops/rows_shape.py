"""Samples of the shape ops. The oracle places each element by hand, one index at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.shape import (
    broadcast,
    concatenate,
    dim_value,
    dynamic_slice,
    dynamic_update_slice,
    iota,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)

EDGE = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45], np.float32)


def numbered(shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """1, 2, 3, ... in this shape; for bool, an uneven pattern."""
    count = 1 + np.arange(int(np.prod(shape))).reshape(shape)
    return count % 3 == 0 if dtype == np.bool_ else count.astype(dtype)


def by_element(
    shape: Sequence[int], dtype: Any, element: Callable[[tuple[int, ...]], Any]
) -> Array:
    result = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        result[index] = element(index)
    return result


def every_dtype(shape: Sequence[int]) -> list[Array]:
    return [numbered(shape, dtype.numpy) for dtype in dtypes.ALL]


# --- broadcast, reshape, transpose, reverse -----------------------------------------------------


def broadcast_row(
    x: Array, shape: tuple[int, ...], dims: tuple[int, ...], name: str = ""
) -> Sample:
    def element(index: tuple[int, ...]) -> Any:
        return x[tuple(0 if n == 1 else index[d] for n, d in zip(x.shape, dims, strict=True))]

    attributes = {"shape": shape, "dims": dims}
    return Sample(broadcast, (x,), by_element(shape, x.dtype, element), attributes, name=name)


def reshape_row(x: Array, shape: tuple[int, ...], name: str = "") -> Sample:
    elements = iter([x[index] for index in np.ndindex(*x.shape)])
    expected = by_element(shape, x.dtype, lambda index: next(elements))
    return Sample(reshape, (x,), expected, {"shape": shape}, name=name)


def transpose_row(x: Array, permutation: tuple[int, ...], name: str = "") -> Sample:
    expected = np.empty([x.shape[axis] for axis in permutation], x.dtype)
    for index in np.ndindex(*x.shape):
        expected[tuple(index[axis] for axis in permutation)] = x[index]
    return Sample(transpose, (x,), expected, {"permutation": permutation}, name=name)


def reverse_row(x: Array, axes: tuple[int, ...], name: str = "") -> Sample:
    def element(index: tuple[int, ...]) -> Any:
        return x[
            tuple(
                n - 1 - i if a in axes else i
                for a, (i, n) in enumerate(zip(index, x.shape, strict=True))
            )
        ]

    return Sample(reverse, (x,), by_element(x.shape, x.dtype, element), {"axes": axes}, name=name)


BROADCAST = [
    *(broadcast_row(x, (2, 3, 2), (1,)) for x in every_dtype((3,))),
    broadcast_row(numbered((2, 1), np.float64), (2, 4), (0, 1), "stretches an axis of size 1"),
    broadcast_row(numbered((1, 2)), (3, 2, 4, 2), (0, 3), "stretches and adds axes"),
    broadcast_row(numbered((2, 3)), (2, 3), (0, 1), "same shape"),
    broadcast_row(np.array(7.0, np.float32), (2, 2), (), "rank 0"),
    broadcast_row(np.array(-0.0), (), (), "rank 0 to rank 0"),
    broadcast_row(numbered((1, 2)), (0, 2), (0, 1), "size 1 to 0"),
    broadcast_row(numbered((0,)), (2, 0), (1,), "zero size"),
    broadcast_row(EDGE, (2, 6), (1,), "edge values"),
    broadcast_row(numbered((2, 3)).T[::-1], (2, 3, 2), (1, 2), "strided"),
]

RESHAPE = [
    *(reshape_row(x, (3, 4)) for x in every_dtype((2, 6))),
    reshape_row(numbered((2, 3, 4), np.float64), (24,)),
    reshape_row(numbered((2, 3, 4)), (4, 1, 6)),
    reshape_row(numbered((2, 3)), (2, 3), "same shape"),
    reshape_row(numbered(()), (1, 1), "from rank 0"),
    reshape_row(numbered((1,)), (), "to rank 0"),
    reshape_row(numbered((0, 3)), (5, 0, 2), "zero size"),
    reshape_row(EDGE, (3, 2), "edge values"),
    reshape_row(numbered((4, 3)).T[:, ::-1], (2, 6), "strided"),
]

TRANSPOSE = [
    *(transpose_row(x, (1, 0)) for x in every_dtype((2, 3))),
    *(transpose_row(numbered((2, 3, 4)), p) for p in itertools.permutations(range(3))),
    transpose_row(numbered((2, 1, 3, 2), np.float64), (3, 1, 0, 2)),
    transpose_row(numbered(()), (), "rank 0"),
    transpose_row(numbered((0, 3)), (1, 0), "zero size"),
    transpose_row(EDGE.reshape(2, 3), (1, 0), "edge values"),
    transpose_row(numbered((2, 6))[::-1, ::2], (1, 0), "strided"),
]

REVERSE = [
    *(reverse_row(x, (0,)) for x in every_dtype((4,))),
    reverse_row(numbered((2, 3, 4), np.float64), (0, 2)),
    reverse_row(numbered((2, 3)), (1, 0), "axes in any order"),
    reverse_row(numbered((2, 3)), (), "no axes"),
    reverse_row(numbered(()), (), "rank 0"),
    reverse_row(numbered((0, 3)), (0, 1), "zero size"),
    reverse_row(EDGE, (0,), "edge values"),
    reverse_row(numbered((3, 4))[::-1].T, (0,), "strided"),
]


# --- slices -------------------------------------------------------------------------------------


def slice_row(
    x: Array,
    starts: tuple[int, ...],
    limits: tuple[int, ...],
    strides: tuple[int, ...],
    name: str = "",
) -> Sample:
    picked = [list(range(*bounds)) for bounds in zip(starts, limits, strides, strict=True)]
    expected = by_element(
        [len(positions) for positions in picked],
        x.dtype,
        lambda index: x[tuple(p[i] for p, i in zip(picked, index, strict=True))],
    )
    attributes = {"starts": starts, "limits": limits, "strides": strides}
    return Sample(slice_, (x,), expected, attributes, name=name)


def clamped(starts: Sequence[Array], sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """XLA's rule, as its documentation writes it: clamp(0, start, dimension - size)."""
    wanted = [int(start) for start in starts]
    return [sorted((0, w, n - s))[1] for w, s, n in zip(wanted, sizes, shape, strict=True)]


def dynamic_slice_row(
    x: Array, starts: Sequence[Any], sizes: tuple[int, ...], name: str = ""
) -> Sample:
    scalars = tuple(np.asarray(start) for start in starts)
    firsts = clamped(scalars, sizes, x.shape)
    expected = by_element(
        sizes, x.dtype, lambda index: x[tuple(f + i for f, i in zip(firsts, index, strict=True))]
    )
    return Sample(dynamic_slice, (x, *scalars), expected, {"sizes": sizes}, name=name)


def dynamic_update_slice_row(
    x: Array, update: Array, starts: Sequence[Any], name: str = ""
) -> Sample:
    scalars = tuple(np.asarray(start) for start in starts)
    firsts = clamped(scalars, update.shape, x.shape)
    expected = np.array(x)
    for index in np.ndindex(*update.shape):
        expected[tuple(f + i for f, i in zip(firsts, index, strict=True))] = update[index]
    return Sample(dynamic_update_slice, (x, update, *scalars), expected, name=name)


SLICE = [
    *(slice_row(x, (1,), (5,), (2,)) for x in every_dtype((6,))),
    *(
        slice_row(numbered((7,)), (a,), (b,), (s,))
        for a in (0, 2)
        for b in (2, 5, 7)
        for s in (1, 2, 3)
    ),
    slice_row(numbered((3, 4, 5), np.float64), (0, 1, 2), (3, 4, 3), (2, 3, 1)),
    slice_row(numbered(()), (), (), (), "rank 0"),
    slice_row(numbered((0, 3)), (0, 1), (0, 3), (1, 1), "zero size"),
    slice_row(numbered((3,)), (3,), (3,), (1,), "empty at the end"),
    slice_row(numbered((3,)), (1,), (3,), (9,), "stride beyond the end"),
    slice_row(EDGE, (1,), (5,), (1,), "edge values"),
    slice_row(numbered((4, 6)).T[::-1], (1, 0), (6, 4), (2, 3), "strided"),
]

INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)

DYNAMIC_SLICE = [
    *(dynamic_slice_row(x, [np.int32(2)], (3,)) for x in every_dtype((6,))),
    *(dynamic_slice_row(numbered((5,)), [kind(2)], (2,), "start dtype") for kind in INTEGERS),
    *(
        dynamic_slice_row(numbered((5,)), [np.int64(s)], (3,), "clamped")
        for s in (-9, -1, 0, 2, 3, 99)
    ),
    dynamic_slice_row(numbered((4, 5), np.float64), [np.int64(-1), np.uint8(9)], (2, 3), "mixed"),
    dynamic_slice_row(numbered((300,)), [np.int8(127)], (200,), "narrow start"),
    dynamic_slice_row(numbered((5,)), [np.uint64(2**64 - 1)], (2,), "largest u64"),
    dynamic_slice_row(numbered((5,)), [np.int64(-(2**63))], (2,), "smallest i64"),
    dynamic_slice_row(numbered(()), [], (), "rank 0"),
    dynamic_slice_row(numbered((3, 0)), [np.int64(1), np.int64(4)], (2, 0), "zero size"),
    dynamic_slice_row(EDGE, [np.int64(2)], (4,), "edge values"),
    dynamic_slice_row(numbered((4, 6)).T[::-1], [np.int64(1), np.int64(1)], (3, 2), "strided"),
]

DYNAMIC_UPDATE_SLICE = [
    *(dynamic_update_slice_row(x, x[3:], [np.int32(1)]) for x in every_dtype((6,))),
    *(
        dynamic_update_slice_row(numbered((5,)), -numbered((3,)), [np.int64(s)], "clamped")
        for s in (-9, -1, 0, 2, 3, 99)
    ),
    dynamic_update_slice_row(
        numbered((4, 5), np.float64), -numbered((2, 3), np.float64), [np.int16(1), np.uint64(2**63)]
    ),
    dynamic_update_slice_row(numbered(()), np.zeros((), np.float32), [], "rank 0"),
    dynamic_update_slice_row(
        numbered((3, 2)), numbered((0, 2)), [np.int64(1), np.int64(0)], "empty update"
    ),
    dynamic_update_slice_row(
        numbered((0, 2)), numbered((0, 1)), [np.int64(1), np.int64(1)], "zero size"
    ),
    dynamic_update_slice_row(numbered((9,)), EDGE, [np.int64(2)], "edge values"),
    dynamic_update_slice_row(
        numbered((4, 6)).T[::-1], -numbered((2, 3)).T, [np.int64(1), np.int64(1)], "strided"
    ),
]


# --- pad and concatenate ------------------------------------------------------------------------


def pad_row(
    x: Array,
    value: Any,
    low: tuple[int, ...],
    high: tuple[int, ...],
    interior: tuple[int, ...],
    name: str = "",
) -> Sample:
    """Walks over the result: where the dilated operand has no element stands the value."""
    filler = np.asarray(value).astype(x.dtype)
    widths = list(zip(x.shape, low, high, interior, strict=True))
    shape = [n + max(n - 1, 0) * gap + lo + hi for n, lo, hi, gap in widths]

    def element(index: tuple[int, ...]) -> Any:
        source = []
        for i, (n, lo, _, gap) in zip(index, widths, strict=True):
            position, between = divmod(i - lo, gap + 1)
            if between or not 0 <= position < n:
                return filler
            source.append(position)
        return x[tuple(source)]

    attributes = {"low": low, "high": high, "interior": interior}
    return Sample(pad, (x, filler), by_element(shape, x.dtype, element), attributes, name=name)


def concatenate_row(operands: Sequence[Array], axis: int, name: str = "") -> Sample:
    first = operands[0]
    sources = [(operand, i) for operand in operands for i in range(operand.shape[axis])]
    shape = (*first.shape[:axis], len(sources), *first.shape[axis + 1 :])

    def element(index: tuple[int, ...]) -> Any:
        operand, position = sources[index[axis]]
        return operand[(*index[:axis], position, *index[axis + 1 :])]

    expected = by_element(shape, first.dtype, element)
    return Sample(concatenate, tuple(operands), expected, {"axis": axis}, name=name)


PAD = [
    *(pad_row(x, 1, (2,), (1,), (1,)) for x in every_dtype((3,))),
    *(
        pad_row(numbered((4,)), 9.0, (lo,), (hi,), (gap,))
        for lo in (-3, -1, 0, 2)
        for hi in (-1, 0, 3)
        for gap in (0, 1, 2)
    ),
    pad_row(numbered((2, 3), np.float64), -1.5, (1, -1), (0, 2), (2, 0)),
    pad_row(numbered((1,)), 0.0, (-2,), (5,), (0,), "cropped beyond the operand"),
    pad_row(numbered((2,)), 0.0, (-2,), (0,), (0,), "cropped to nothing"),
    pad_row(numbered(()), 0.0, (), (), (), "rank 0"),
    pad_row(numbered((0,)), 5.0, (1,), (2,), (3,), "zero size has no interior"),
    pad_row(numbered((0, 2)), 5.0, (0, 1), (0, 1), (1, 1), "zero size"),
    pad_row(EDGE, np.nan, (1,), (0,), (1,), "edge values"),
    pad_row(numbered((3, 4)).T[::-1], 0.0, (1, 0), (0, 1), (0, 1), "strided"),
]

CONCATENATE = [
    *(concatenate_row([x, x[:1]], 0) for x in every_dtype((2,))),
    *(
        concatenate_row([numbered((2, 3)), -numbered((2, 3)), numbered((2, 3))], axis)
        for axis in (0, 1)
    ),
    concatenate_row([numbered((2, k, 2), np.float64) for k in (1, 3, 2)], 1, "different sizes"),
    concatenate_row([numbered((2, 2))], 1, "one operand"),
    concatenate_row([numbered((0, 2)), numbered((1, 2)), numbered((0, 2))], 0, "zero size"),
    concatenate_row([numbered((3, 0)), numbered((3, 0))], 0, "all empty"),
    concatenate_row([EDGE, EDGE[::-1]], 0, "edge values, strided"),
]


# --- arrays from sizes --------------------------------------------------------------------------


def iota_row(dtype: str, shape: tuple[int, ...], axis: int, name: str = "") -> Sample:
    element = dtypes.named(dtype)
    expected = by_element(shape, element.numpy, lambda index: index[axis])
    attributes = {"dtype": element, "shape": shape, "axis": axis}
    return Sample(iota, (), expected, attributes, name=name)


IOTA = [
    *(iota_row(dtype.name, (5,), 0, dtype.name) for dtype in dtypes.ALL if not dtype.is_bool),
    *(iota_row("f32", (2, 3, 4), axis, f"axis {axis}") for axis in range(3)),
    iota_row("i64", (0,), 0, "zero size"),
    iota_row("f64", (3, 0), 0, "zero size elsewhere"),
    Sample(
        iota,
        (),
        np.array([*range(128), -128, -127], np.int8),
        {"dtype": "int8", "shape": (130,), "axis": 0},
        name="narrow integers wrap",
    ),
    Sample(
        iota,
        (),
        np.array([*range(257), 256, 258, 260], dtypes.bf16.numpy),
        {"dtype": "bf16", "shape": (260,), "axis": 0},
        name="narrow floats round to even",
    ),
]

DIM_VALUE = [
    Sample(dim_value, (), np.array(7, np.int64), {"dim": 7}, name="known size"),
    Sample(dim_value, (), np.array(0, np.int64), {"dim": 0}, name="zero"),
]

ROWS: list[Sample] = [
    *BROADCAST,
    *RESHAPE,
    *TRANSPOSE,
    *REVERSE,
    *SLICE,
    *DYNAMIC_SLICE,
    *DYNAMIC_UPDATE_SLICE,
    *PAD,
    *CONCATENATE,
    *IOTA,
    *DIM_VALUE,
]


# --- what the type rules refuse -----------------------------------------------------------------


def bad_slice(start: int, limit: int, stride: int, match: str) -> BadSample:
    attributes = {"starts": (start,), "limits": (limit,), "strides": (stride,)}
    return BadSample(slice_, ("f32[4]",), ShapeError, match, attributes)


def bad_pad(types: tuple[str, str], low: int, interior: int, error: Any, match: str) -> BadSample:
    attributes = {"low": (low,), "high": (0,), "interior": (interior,)}
    return BadSample(pad, types, error, match, attributes)


BAD: list[BadSample] = [
    BadSample(
        broadcast, ("f32[3]",), ShapeError, "3 does not stretch to 4", {"shape": (4,), "dims": (0,)}
    ),
    BadSample(broadcast, ("f32[3]",), ShapeError, "dims has length 0", {"shape": (3,), "dims": ()}),
    BadSample(
        broadcast, ("f32[3]",), ShapeError, "axis 1 is out of range", {"shape": (3,), "dims": (1,)}
    ),
    BadSample(
        broadcast, ("f32[2, 2]",), ShapeError, "increasing", {"shape": (2, 2), "dims": (1, 0)}
    ),
    BadSample(
        broadcast, ("f32[2, 2]",), ShapeError, "increasing", {"shape": (2, 2), "dims": (1, 1)}
    ),
    BadSample(broadcast, ("f32[]",), ShapeError, "negative size -1", {"shape": (-1,), "dims": ()}),
    BadSample(reshape, ("f32[2, 3]",), ShapeError, "has 6 elements, .* has 8", {"shape": (4, 2)}),
    BadSample(reshape, ("f32[2, 3]",), ShapeError, "negative size -2", {"shape": (-2, -3)}),
    BadSample(transpose, ("f32[2, 3]",), ShapeError, "no permutation", {"permutation": (0,)}),
    BadSample(transpose, ("f32[2, 3]",), ShapeError, "no permutation", {"permutation": (0, 0)}),
    BadSample(transpose, ("f32[2, 3]",), ShapeError, "no permutation", {"permutation": (0, -1)}),
    BadSample(reverse, ("f32[2, 3]",), ShapeError, "axis 2 is out of range", {"axes": (2,)}),
    BadSample(reverse, ("f32[2, 3]",), ShapeError, "an axis twice", {"axes": (1, 1)}),
    bad_slice(-1, 2, 1, "-1:2 does not lie inside axis 0 of size 4"),
    bad_slice(0, 5, 1, "0:5 does not lie inside axis 0 of size 4"),
    bad_slice(3, 2, 1, "3:2 does not lie inside axis 0 of size 4"),
    bad_slice(0, 2, 0, "stride 0 of axis 0 is below 1"),
    bad_slice(0, 2, -1, "use reverse"),
    BadSample(
        slice_,
        ("f32[4, 4]",),
        ShapeError,
        "starts has length 1, expected the operand's rank 2",
        {"starts": (0,), "limits": (1, 1), "strides": (1, 1)},
    ),
    BadSample(
        dynamic_slice, ("f32[4]", "i32[]"), ShapeError, "size 5 does not fit", {"sizes": (5,)}
    ),
    BadSample(
        dynamic_slice, ("f32[4]", "i32[]"), ShapeError, "size -1 does not fit", {"sizes": (-1,)}
    ),
    BadSample(dynamic_slice, ("f32[4]",), ShapeError, "starts has length 0", {"sizes": (2,)}),
    BadSample(dynamic_slice, ("f32[4]", "i32[]"), ShapeError, "sizes has length 0", {"sizes": ()}),
    BadSample(
        dynamic_slice, ("f32[4]", "f32[]"), DTypeError, "start of axis 0 .* f32", {"sizes": (2,)}
    ),
    BadSample(dynamic_slice, ("f32[4]", "bool[]"), DTypeError, "start of axis 0", {"sizes": (2,)}),
    BadSample(dynamic_slice, ("f32[4]", "i32[1]"), ShapeError, "expected rank 0", {"sizes": (2,)}),
    BadSample(dynamic_update_slice, ("f32[4]", "f64[2]", "i32[]"), DTypeError, "different dtypes"),
    BadSample(dynamic_update_slice, ("f32[4]", "f32[]", "i32[]"), ShapeError, "update has rank 0"),
    BadSample(
        dynamic_update_slice, ("f32[4]", "f32[5]", "i32[]"), ShapeError, "does not fit axis 0"
    ),
    BadSample(dynamic_update_slice, ("f32[4]", "f32[2]"), ShapeError, "starts has length 0"),
    bad_pad(("f32[3]", "f32[]"), -4, 0, ShapeError, "leaves the negative size -1"),
    bad_pad(("f32[3]", "f32[]"), 0, -1, ShapeError, "interior padding -1 of axis 0 is negative"),
    bad_pad(("f32[3]", "f64[]"), 0, 0, DTypeError, "different dtypes"),
    bad_pad(("f32[3]", "f32[1]"), 0, 0, ShapeError, "expected rank 0"),
    bad_pad(
        ("f32[3, 3]", "f32[]"), 0, 0, ShapeError, "low has length 1, expected the operand's rank 2"
    ),
    BadSample(concatenate, (), ShapeError, "give at least one operand", {"axis": 0}),
    BadSample(concatenate, ("f32[]",), ShapeError, "axis 0 is out of range", {"axis": 0}),
    BadSample(concatenate, ("f32[2]", "f64[2]"), DTypeError, "different dtypes", {"axis": 0}),
    BadSample(concatenate, ("f32[2, 2]", "f32[2, 3]"), ShapeError, "outside axis 0", {"axis": 0}),
    BadSample(concatenate, ("f32[2, 2]", "f32[2]"), ShapeError, "outside axis 0", {"axis": 0}),
    BadSample(iota, (), DTypeError, "bool cannot", {"dtype": "bool", "shape": (2,), "axis": 0}),
    BadSample(iota, (), ShapeError, "axis 0 is out of", {"dtype": "i32", "shape": (), "axis": 0}),
    BadSample(iota, (), ShapeError, "negative size", {"dtype": "i32", "shape": (-1,), "axis": 0}),
]
