"""Every row of the op tables on native code: all rows of an op in one program, as they are, with
operands that are not row-major, and with sizes that only the run tells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.ops.sample import Sample
from tests.compiler.ops.test_table import ROWS_BY_OP, assert_same
from weft.compiler.ir import dims
from weft.compiler.ir.build import Builder
from weft.compiler.ir.errors import WeftError
from weft.compiler.ir.graph import Graph, Value
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops import TABLE, control
from weft.frontends.driver.cpu_program import CpuProgram

Array = np.ndarray[Any, Any]
NAMES = [name for name, op in TABLE.items() if op not in control.OPS]

# Native code adds in another order and has its own functions: what a row demands beyond exactness
# of the reference's double precision is loosened to a few roundings of the dtype.
ROUNDINGS = 8


def build(rows: list[Sample]) -> Graph:
    """One graph that computes all rows."""
    builder = Builder()
    results: list[Value] = []
    for number, row in enumerate(rows):
        operands = [
            builder.parameter(type_of(np.asarray(x)), f"row{number}.{i}")
            for i, x in enumerate(row.operands)
        ]
        results += builder.emit(row.op, operands, row.attributes)
    return builder.graph("rows", results)


def loosened(row: Sample, actual: Array) -> Sample:
    dtype = actual.dtype
    if dtype.kind not in "fcV":
        return row
    precision = 2**-8 if dtype.itemsize == 2 else float(np.finfo(dtype).eps)
    if row.rtol == row.atol == 0 and row.op.name in EXACT:
        return row
    rtol = max(row.rtol, ROUNDINGS * precision)
    expected = np.asarray(row.expected[0] if isinstance(row.expected, tuple) else row.expected)
    scale = _scale(expected)
    atol = max(row.atol, ROUNDINGS * precision * scale)
    return Sample(row.op, row.operands, row.expected, row.attributes, rtol, atol, row.name)


def _scale(expected: Array) -> float:
    """The size of the numbers that rounding is relative to: of sums, that of the largest one."""
    finite = np.abs(expected.astype(np.complex128))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 1.0


EXACT = {
    *("neg", "abs", "sign", "add", "sub", "mul", "div", "maximum", "minimum", "clamp", "copysign"),
    *("nextafter", "floor", "ceil", "trunc", "round", "select", "cast", "bitcast", "sqrt"),
    *("broadcast", "reshape", "transpose", "reverse", "slice", "pad", "concatenate", "gather"),
    *("sort", "top_k", "reduce_max", "reduce_min", "cummax", "cummin", "real", "imag", "conj"),
    *("floor_divide", "remainder", "fmod", "dynamic_slice", "dynamic_update_slice"),
}


def check(rows: list[Sample], results: list[Array]) -> None:
    made = iter(results)
    for row in rows:
        expected = row.expected if isinstance(row.expected, tuple) else (row.expected,)
        for value in expected:
            actual = next(made)
            try:
                assert_same(actual, loosened(row, actual), value)
            except AssertionError as error:
                raise AssertionError(f"{row}: {error}") from error


# Ops with long code; quick tests have some of their rows, with other strides.
LONG = {
    *("fft", "svd", "qr", "convolution", "reduce_window", "window_argmax", "triangular_solve"),
    *("sort", "top_k", "searchsorted", "cumprod", "sparse_dot"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NAMES]
)
def test_rows_of(name: str) -> None:
    rows = ROWS_BY_OP[name]
    arguments = [np.asarray(x) for row in rows for x in row.operands]
    check(rows, CpuProgram(build(rows))(arguments))


def some(rows: list[Sample], most: int = 24) -> list[Sample]:
    """At most so many of the rows, evenly spread over them."""
    return rows[:: -(-len(rows) // most)]


@pytest.mark.parametrize("name", NAMES)
def test_rows_with_other_strides_of(name: str) -> None:
    rows = some(ROWS_BY_OP[name])
    arguments = [spread(np.asarray(x)) for row in rows for x in row.operands]
    check(rows, CpuProgram(build(rows))(arguments))


def spread(array: Array) -> Array:
    """The same elements, every second one of a larger array, backwards."""
    if not array.ndim:
        return array
    shape = [2 * size for size in array.shape]
    room = np.zeros(shape, array.dtype)
    view = room[tuple(slice(None, None, -2) for _ in shape)]
    view[...] = array
    return view


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rows_with_symbolic_sizes_of(name: str) -> None:
    check_with_symbolic_sizes(some(ROWS_BY_OP[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_rows_with_symbolic_sizes_of(name: str) -> None:
    check_with_symbolic_sizes(ROWS_BY_OP[name])


def check_with_symbolic_sizes(samples: list[Sample]) -> None:
    rows = []
    results: list[Value] = []
    arguments: list[Array] = []
    builder = Builder()
    for number, row in enumerate(samples):
        arrays = [np.asarray(x) for x in row.operands]
        types = [symbolic(type_of(array), number) for array in arrays]
        try:
            trial = Builder()
            trial.emit(row.op, [trial.parameter(type) for type in types], row.attributes)
        except WeftError:
            continue  # the row's attributes name sizes
        operands = [builder.parameter(type, f"row{number}.{i}") for i, type in enumerate(types)]
        results += builder.emit(row.op, operands, row.attributes)
        arguments += arrays
        rows.append(row)
    if rows:
        check(rows, CpuProgram(builder.graph("rows", results))(arguments))


def symbolic(type: ArrayType, number: int) -> ArrayType:
    """The type with sizes above 1 as symbols, equal ones alike within a row."""
    return type.with_shape(
        [size if size == 1 else dims.symbol(f"n{number}_{size}", lower=0) for size in type.shape]
    )
