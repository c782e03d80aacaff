"""Samples of sort, top_k and searchsorted. The oracle is Python's own `sorted` and `bisect`."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.compiler.ops.sample import Array, BadSample, Sample
from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops.ordering import searchsorted, sort, top_k

NAN, INF = math.nan, math.inf
EDGE = np.array([0.0, NAN, -INF, -0.0, INF, 1.0, NAN, -1.0, 0.0, -0.0], np.float32)
COMPLEX_EDGE = np.array(
    [
        complex(a, b)
        for a, b in ((1, 2), (NAN, 1), (1, NAN), (0, NAN), (NAN, NAN), (NAN, 0), (1, 1), (0, INF))
    ]
)


def place_in_order(value: Any) -> tuple[Any, ...]:
    """A key that Python compares as NumPy compares numbers: NaN last, complex part by part."""
    if isinstance(value, np.complexfloating):
        parts = float(value.real), float(value.imag)
        real, imaginary = (0.0 if math.isnan(part) else part for part in parts)
        return 2 * math.isnan(parts[0]) + math.isnan(parts[1]), real, imaginary
    if dtypes.dtype(value.dtype).is_float:
        return math.isnan(value), 0.0 if math.isnan(value) else float(value)
    return (int(value),)


def order_of(lines: Sequence[Array], descending: bool) -> list[int]:
    """The stable order of positions by several keys of one dimension."""
    return sorted(
        range(len(lines[0])),
        key=lambda i: [place_in_order(line[i]) for line in lines],
        reverse=descending,
    )


def sort_row(
    *operands: Array, axis: int = 0, num_keys: int = 1, descending: bool = False, name: str = ""
) -> Sample:
    lines = [np.moveaxis(operand, axis, -1) for operand in operands]
    results = [np.empty_like(line) for line in lines]
    for outer in np.ndindex(*lines[0].shape[:-1]):
        order = order_of([line[outer] for line in lines[:num_keys]], descending)
        for line, result in zip(lines, results, strict=True):
            for target, source in enumerate(order):
                result[(*outer, target)] = line[(*outer, source)]
    expected = tuple(np.moveaxis(result, -1, axis) for result in results)
    attributes = {"axis": axis, "num_keys": num_keys, "descending": descending}
    return Sample(sort, operands, expected, attributes, name=name)


def top_k_row(x: Array, k: int, axis: int = 0, largest: bool = True, name: str = "") -> Sample:
    lines = np.moveaxis(x, axis, -1)
    indices = np.empty((*lines.shape[:-1], k), np.int64)
    values = np.empty(indices.shape, x.dtype)
    for outer in np.ndindex(*lines.shape[:-1]):
        for target, source in enumerate(order_of([lines[outer]], largest)[:k]):
            indices[(*outer, target)] = source
            values[(*outer, target)] = lines[(*outer, source)]
    expected = np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis)
    attributes = {"k": k, "axis": axis, "largest": largest}
    return Sample(top_k, (x,), expected, attributes, name=name)


def searchsorted_row(
    table: Array, values: Array, side: str = "left", batch_dims: int = 0, name: str = ""
) -> Sample:
    search = bisect.bisect_left if side == "left" else bisect.bisect_right
    expected = np.empty(values.shape, np.int64)
    for index in np.ndindex(*values.shape):
        row = [place_in_order(element) for element in table[index[:batch_dims]]]
        expected[index] = search(row, place_in_order(values[index]))
    attributes = {"side": side, "batch_dims": batch_dims}
    return Sample(searchsorted, (table, values), expected, attributes, name=name)


def few(rng: np.random.Generator, shape: Sequence[int], dtype: DType) -> Array:
    """Few distinct values, so that ties are common."""
    whole = rng.integers(0 if dtype.kind in ("uint", "bool") else -3, 4, shape)
    if dtype.is_bool:
        return np.asarray(whole % 2 == 0)
    if dtype.is_complex:
        return (whole + 1j * rng.integers(-1, 2, shape)).astype(dtype.numpy)
    return whole.astype(dtype.numpy)


def in_order(line: Array) -> Array:
    return line[order_of([line], False)]


def numbered(shape: Sequence[int]) -> Array:
    """Distinct numbers, which show where equal keys went."""
    return np.arange(math.prod(shape)).reshape(shape)


# --- good samples -------------------------------------------------------------------------------


def sort_rows() -> Iterator[Sample]:
    rng = np.random.default_rng(20240303)
    for dtype in dtypes.ALL:
        for descending in (False, True):
            keys = few(rng, (12,), dtype)
            yield sort_row(keys, numbered((12,)), descending=descending, name="every dtype")
    for descending in (False, True):
        for edge in (EDGE, EDGE.astype(np.float64), EDGE.astype(np.float16), COMPLEX_EDGE):
            yield sort_row(edge, numbered(edge.shape), descending=descending, name="edge values")
        narrow = EDGE.astype(dtypes.bf16.numpy), COMPLEX_EDGE.astype(np.complex64)
        for edge in narrow:
            yield sort_row(edge, numbered(edge.shape), descending=descending, name="edge values")
        for axis in range(3):
            x = few(rng, (3, 4, 2), dtypes.f32)
            yield sort_row(x, axis=axis, descending=descending, name=f"axis {axis}")
        for num_keys in (1, 2, 3):
            several = [few(rng, (2, 9), d) for d in (dtypes.u64, dtypes.f32, dtypes.i64)]
            yield sort_row(
                *several,
                numbered((2, 9)),
                axis=1,
                num_keys=num_keys,
                descending=descending,
                name="several keys",
            )
        nan_first = np.array([NAN, 1, NAN, 1], np.float32), np.array([2, 1, 1, 0], np.int64)
        yield sort_row(*nan_first, num_keys=2, descending=descending, name="NaN as first key")
        yield sort_row(np.zeros((0,)), descending=descending, name="zero size")
        yield sort_row(np.zeros((3, 0)), axis=0, descending=descending, name="zero size elsewhere")
        yield sort_row(
            np.zeros((0, 3)),
            numbered((0, 3)),
            axis=1,
            descending=descending,
            name="zero size elsewhere",
        )
        yield sort_row(np.ones((1,)), descending=descending, name="one element")
        strided = few(rng, (4, 6), dtypes.f64).T[::-1]
        yield sort_row(strided, numbered((6, 4))[:, ::-1], descending=descending, name="strided")
    extremes = np.array([0, -(2**63), 2**63 - 1, -1]), np.array([0, 2**64 - 1, 2**63], np.uint64)
    for integers in extremes:
        yield sort_row(integers, name="integer extremes")
        yield sort_row(integers, descending=True, name="integer extremes")


def top_k_rows() -> Iterator[Sample]:
    rng = np.random.default_rng(20240304)
    for largest in (True, False):
        for dtype in dtypes.ALL:
            yield top_k_row(few(rng, (9,), dtype), 4, largest=largest, name="every dtype")
        for axis in range(3):
            x = few(rng, (3, 4, 3), dtypes.f64)
            yield top_k_row(x, 2, axis, largest, name=f"axis {axis}")
        for k in (0, 1, 10):
            yield top_k_row(EDGE, k, largest=largest, name="edge values")
        yield top_k_row(EDGE.astype(dtypes.bf16.numpy), 5, largest=largest, name="edge values")
        yield top_k_row(np.zeros((0,)), 0, largest=largest, name="zero size")
        yield top_k_row(np.zeros((0, 3)), 2, 1, largest=largest, name="zero size elsewhere")
        yield top_k_row(few(rng, (4, 6), dtypes.f32).T[::-1], 3, 0, largest, name="strided")


def searchsorted_rows() -> Iterator[Sample]:
    rng = np.random.default_rng(20240305)
    for side in ("left", "right"):
        for dtype in dtypes.ALL:
            table = in_order(few(rng, (7,), dtype))
            yield searchsorted_row(table, few(rng, (9,), dtype), side, name="every dtype")
        for edge in (EDGE, EDGE.astype(np.float64), COMPLEX_EDGE, EDGE.astype(dtypes.bf16.numpy)):
            yield searchsorted_row(in_order(edge), edge, side, name="edge values")
            yield searchsorted_row(in_order(edge[:3]), edge, side, name="edge values")
        table = np.array([1.0, 2.0, 2.0, 4.0])
        yield searchsorted_row(table, np.array(2.0), side, name="rank 0")
        yield searchsorted_row(table, few(rng, (2, 3, 2), dtypes.f64), side, name="rank 3")
        yield searchsorted_row(table, np.zeros((0, 2)), side, name="no values")
        yield searchsorted_row(np.zeros((0,)), np.ones((3,)), side, name="empty table")
        rows = np.sort(few(rng, (3, 5), dtypes.i32), axis=1)
        for trailing in ((), (4,), (2, 3), (0,)):
            values = few(rng, (3, *trailing), dtypes.i32)
            yield searchsorted_row(rows, values, side, 1, name="batch")
        planes = np.sort(few(rng, (2, 3, 5), dtypes.f32), axis=2)
        yield searchsorted_row(planes, few(rng, (2, 3, 4), dtypes.f32), side, 2, name="batch of 2")
        yield searchsorted_row(np.zeros((0, 3)), np.zeros((0, 2)), side, 1, name="empty batch")
        yield searchsorted_row(rows[::-1], few(rng, (4, 3), dtypes.i32).T, side, 1, name="strided")


ROWS: list[Sample] = [*sort_rows(), *top_k_rows(), *searchsorted_rows()]


# --- what the type rules refuse -----------------------------------------------------------------


def bad_search(
    types: tuple[str, str], match: str, error: Any = ShapeError, batch_dims: int = 0
) -> BadSample:
    return BadSample(searchsorted, types, error, match, {"side": "left", "batch_dims": batch_dims})


BAD: list[BadSample] = [
    BadSample(sort, ("f32[3]",), ShapeError, "axis 1 is out of range", {"axis": 1}),
    BadSample(sort, ("f32[]",), ShapeError, "axis 0 is out of range", {"axis": 0}),
    BadSample(
        sort, ("f32[3]",), ShapeError, "num_keys is 2, expected 1", {"axis": 0, "num_keys": 2}
    ),
    BadSample(
        sort, ("f32[3]",), ShapeError, "num_keys is 0, expected 1", {"axis": 0, "num_keys": 0}
    ),
    BadSample(sort, (), ShapeError, "number of operands, 0", {"axis": 0}),
    BadSample(sort, ("f32[3]", "f32[4]"), ShapeError, "different shapes", {"axis": 0}),
    BadSample(top_k, ("f32[3]",), ShapeError, "k is 4, expected 0 to .* 3", {"k": 4, "axis": 0}),
    BadSample(top_k, ("f32[3]",), ShapeError, "k is -1", {"k": -1, "axis": 0}),
    BadSample(top_k, ("f32[]",), ShapeError, "axis 0 is out of range", {"k": 1, "axis": 0}),
    bad_search(("f32[3]", "f64[2]"), "different dtypes", DTypeError),
    bad_search(("f32[3, 2]", "f32[2]"), "sorted has rank 2, expected 1"),
    bad_search(("f32[]", "f32[2]"), "sorted has rank 0, expected 1"),
    bad_search(("f32[3, 2]", "f32[2]"), "batch axes differ", batch_dims=1),
    bad_search(("f32[3, 2]", "f32[]"), "batch axes differ", batch_dims=1),
]
