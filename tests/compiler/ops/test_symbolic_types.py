"""Symbolic sizes through the type rules of the shape, indexing and ordering families.

Each row is checked twice: the inferred type as text, and the inferred shapes at some values of the
symbols against the shapes that the reference really makes there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size, symbol
from weft.compiler.ir.dtypes import DType, f32, i32, i64
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops.indexing import gather, scatter
from weft.compiler.ops.ordering import searchsorted, sort, top_k
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

n, m = symbol("n"), symbol("m")
k = symbol("k", lower=8)
z = symbol("z", lower=0)
VALUES = [
    {"n": 1, "m": 1, "k": 9, "z": 0},
    {"n": 2, "m": 3, "k": 10, "z": 1},
    {"n": 5, "m": 4, "k": 12, "z": 4},
]


def array(*shape: Size, dtype: DType = f32) -> ArrayType:
    return ArrayType(dtype, shape)


@dataclass(frozen=True)
class Row:
    """An op on symbolic operand types, and its result types as text."""

    op: OpDef
    operands: tuple[ArrayType, ...]
    expected: str
    attributes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op.name}-{self.expected}"


def sliced(size: Size, start: Size, limit: Size, stride: int, expected: str) -> Row:
    attributes = {"starts": (start,), "limits": (limit,), "strides": (stride,)}
    return Row(slice_, (array(size),), expected, attributes)


def padded(size: Size, low: Size, high: Size, interior: int, expected: str) -> Row:
    attributes = {"low": (low,), "high": (high,), "interior": (interior,)}
    return Row(pad, (array(size), array()), expected, attributes)


INDEX = array(m, dtype=i64)
START = array(dtype=i32)

ROWS = [
    Row(broadcast, (array(n),), "f32[m, n]", {"shape": (m, n), "dims": (1,)}),
    Row(broadcast, (array(n, 1),), "f32[n, 2*m]", {"shape": (n, 2 * m), "dims": (0, 1)}),
    Row(broadcast, (array(),), "f32[n + 1, z]", {"shape": (n + 1, z), "dims": ()}),
    Row(broadcast, (array(1),), "f32[z]", {"shape": (z,), "dims": (0,)}),
    Row(reshape, (array(n, m),), "f32[m*n]", {"shape": (n * m,)}),
    Row(reshape, (array(n * m),), "f32[m, n]", {"shape": (m, n)}),
    Row(reshape, (array(2 * n, 3),), "f32[n, 6]", {"shape": (n, 6)}),
    Row(reshape, (array(n + 1, m),), "f32[m*n + m]", {"shape": ((n + 1) * m,)}),
    Row(reshape, (array(n, 0),), "f32[0, m]", {"shape": (0, m)}),
    Row(transpose, (array(n, 3, m),), "f32[m, n, 3]", {"permutation": (2, 0, 1)}),
    Row(reverse, (array(n, m),), "f32[n, m]", {"axes": (1,)}),
    sliced(n, 0, n, 1, "f32[n]"),
    sliced(n, 0, n - 1, 1, "f32[n - 1]"),
    sliced(n, 1, n, 1, "f32[n - 1]"),
    sliced(n, 0, n, 2, "f32[((n + 1)//2)]"),
    sliced(2 * n, 1, 2 * n, 2, "f32[n]"),
    sliced(2 * n, 0, n, 1, "f32[n]"),
    sliced(k, 2, k, 3, "f32[(k//3)]"),
    sliced(k, 2, 8, 1, "f32[6]"),
    sliced(k - 9, 0, k - 9, 1, "f32[k - 9]"),
    Row(dynamic_slice, (array(n, k), START, START), "f32[n, 8]", {"sizes": (n, 8)}),
    Row(dynamic_slice, (array(n + m), START), "f32[m]", {"sizes": (m,)}),
    Row(dynamic_update_slice, (array(n, k), array(1, 3), START, START), "f32[n, k]"),
    padded(n, 1, 2, 0, "f32[n + 3]"),
    padded(n, 0, 0, 1, "f32[2*n - 1]"),
    padded(n, m, -1, 2, "f32[m + 3*n - 3]"),
    padded(z, 1, 0, 1, "f32[max(z - 1, 0) + z + 1]"),
    padded(k, -3, -5, 0, "f32[k - 8]"),
    Row(concatenate, (array(n, m), array(3, m), array(n, m)), "f32[2*n + 3, m]", {"axis": 0}),
    Row(concatenate, (array(n), array(z)), "f32[n + z]", {"axis": 0}),
    Row(iota, (), "i32[n, 2*m]", {"dtype": i32, "shape": (n, 2 * m), "axis": 1}),
    Row(dim_value, (), "i64[]", {"dim": n * m + 1}),
    Row(gather, (array(n, 7), INDEX), "f32[m, 7]", {"axes": (0,), "mode": "clip"}),
    Row(gather, (array(n, 7, k), INDEX, INDEX), "f32[m, 7]", {"axes": (0, 2)}),
    Row(
        gather,
        (array(n, k, 5), array(n, m, 2, dtype=i64)),
        "f32[n, m, 2, 5]",
        {"axes": (1,), "batch_dims": 1},
    ),
    Row(scatter, (array(n, 7), array(m, 7), INDEX), "f32[n, 7]", {"axes": (0,), "kind": "add"}),
    Row(
        scatter,
        (array(n, k, 5), array(n, m, 5), array(n, m, dtype=i64)),
        "f32[n, k, 5]",
        {"axes": (1,), "batch_dims": 1, "kind": "set"},
    ),
    Row(sort, (array(n, m), array(n, m, dtype=i64)), "f32[n, m], i64[n, m]", {"axis": 1}),
    Row(top_k, (array(m, k),), "f32[m, 8], i64[m, 8]", {"k": 8, "axis": 1}),
    Row(searchsorted, (array(k), array(n, m)), "i64[n, m]", {"side": "left"}),
    Row(
        searchsorted,
        (array(n, k), array(n, m, 2)),
        "i64[n, m, 2]",
        {"side": "right", "batch_dims": 1},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_inferred_type(row: Row) -> None:
    assert ", ".join(str(value.type) for value in emit(row)[1]) == row.expected


@pytest.mark.parametrize("values", VALUES, ids=str)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_reference_makes_the_inferred_shape(row: Row, values: dict[str, int]) -> None:
    builder, results = emit(row)
    arguments = [np.zeros(concrete(p.type, values), p.type.dtype.numpy) for p in builder.parameters]
    arrays = evaluate(builder.graph("f", results), arguments)
    assert [a.shape for a in arrays] == [concrete(result.type, values) for result in results]


def emit(row: Row) -> tuple[Builder, tuple[Any, ...]]:
    """The row as a graph; a parameter that nothing uses ties every symbol to a size."""
    builder = Builder()
    operands = [builder.parameter(operand) for operand in row.operands]
    builder.parameter(array(n, m, k, z), "sizes")
    return builder, builder.emit(row.op, operands, row.attributes)


def concrete(type: ArrayType, values: dict[str, int]) -> tuple[int, ...]:
    return tuple(dims.evaluate(size, values) for size in type.shape)


def test_dim_value_is_the_size_at_run_time() -> None:
    builder, results = emit(Row(dim_value, (), "", {"dim": n * m + 1}))
    (value,) = evaluate(builder.graph("f", results), [np.zeros((3, 4, 8, 0), np.float32)])
    assert value == 13 and value.dtype == np.int64


UNPROVEN = [
    Row(broadcast, (array(n),), "does not stretch to m", {"shape": (m,), "dims": (0,)}),
    Row(reshape, (array(n),), "has n elements, .* 2.* has", {"shape": (n // 2, 2)}),
    Row(reshape, (array(n, m),), "m.n elements", {"shape": (n, n)}),
    sliced(n, 0, 4, 1, "cannot decide .* declare bounds"),
    sliced(n, 4, n, 1, "cannot decide .* declare bounds"),
    sliced(n, 0, n + 1, 1, r"0:n \+ 1 does not lie inside axis 0 of size n"),
    Row(dynamic_slice, (array(n), START), "cannot decide", {"sizes": (2,)}),
    Row(dynamic_update_slice, (array(n), array(m), START), "cannot decide"),
    padded(n, -2, 0, 0, "cannot decide"),
    Row(concatenate, (array(n, m), array(n, n)), "outside axis 0", {"axis": 0}),
    Row(
        gather,
        (array(n, m, 2), array(m, 2, dtype=i64)),
        "batch axes differ",
        {"axes": (1,), "batch_dims": 1},
    ),
    Row(
        scatter,
        (array(n), array(n), INDEX),
        "updates have shape",
        {"axes": (0,), "kind": "add"},
    ),
    Row(sort, (array(n), array(m)), "different shapes", {"axis": 0}),
    Row(top_k, (array(n),), "cannot decide", {"k": 2, "axis": 0}),
    Row(
        searchsorted,
        (array(n, 3), array(m, 3)),
        "batch axes",
        {"side": "left", "batch_dims": 1},
    ),
]


@pytest.mark.parametrize("row", UNPROVEN, ids=str)
def test_what_cannot_be_proved_is_refused(row: Row) -> None:
    with pytest.raises(ShapeError, match=row.expected):
        emit(row)
