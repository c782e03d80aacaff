"""What the tests of rules share: graphs of patterns, edge values, and equality of bits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from weft.compiler.ir.build import Builder
from weft.compiler.ir.dtypes import BY_NAME, DType
from weft.compiler.ir.graph import Constant, Graph, Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import conversion
from weft.compiler.rewrite.pattern import Application, Literal, Pattern, Placeholder

Array = np.ndarray[Any, Any]


def edge_values(dtype: DType) -> Array:
    """Numbers at which arithmetic of a dtype is special, each once."""
    if dtype.is_bool:
        return np.array([False, True])
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        numbers = [info.min, info.min + 1, -2, -1, 0, 1, 2, 3, 7, info.max - 1, info.max]
        return np.array([n for n in numbers if info.min <= n], dtype.numpy)
    real = dtype.real
    big, tiny, least = _extremes(real)
    positive = [0.0, least, tiny, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 1024.0, big, np.inf]
    with np.errstate(all="ignore"):
        floats = np.array([*positive, *[-x for x in positive], np.nan]).astype(real.numpy)
    if not dtype.is_complex:
        return floats
    few = floats[[0, 5, 7, 11, 12, 17, 24]]
    pairs = np.array(list(itertools.product(few.tolist(), repeat=2)))
    made = np.empty(len(pairs), dtype.numpy)
    made.real, made.imag = pairs[:, 0], pairs[:, 1]
    return made


def _extremes(dtype: DType) -> tuple[float, float, float]:
    """The largest, the smallest normal and the smallest positive float of a dtype."""
    info: Any = ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)


def emit_pattern(pattern: Pattern, values: Mapping[str, Value], dtype: DType) -> Value:
    """The pattern as ops on values, with literals of a dtype; literals beside a value of another
    dtype take that one.
    """
    if isinstance(pattern, Placeholder):
        return values[pattern.name]
    if isinstance(pattern, Literal):
        return Constant(np.array(pattern.value).astype(dtype.numpy))
    assert isinstance(pattern, Application)
    if pattern.definition is conversion.cast:
        return conversion.cast(emit_pattern(pattern.operands[0], values, dtype), dtype=dtype)
    is_select = pattern.definition.name == "select"
    operands = [
        emit_pattern(operand, values, BY_NAME["bool"] if is_select and place == 0 else dtype)
        for place, operand in enumerate(pattern.operands)
    ]
    return pattern.definition(*operands)


def pattern_graph(
    pattern: Application, types: Mapping[str, ArrayType], known: Mapping[str, Value], dtype: DType
) -> Graph:
    """A graph of the pattern, with parameters of these types and other placeholders known."""
    builder = Builder()
    values: dict[str, Value] = dict(known)
    values.update({name: builder.parameter(type, name) for name, type in types.items()})
    with builder.active():
        result = emit_pattern(pattern, values, dtype)
    return builder.graph("g", [result])


def combinations(columns: Sequence[Array]) -> list[Array]:
    """All combinations of the columns' elements, as columns again."""
    grids = np.meshgrid(*columns, indexing="ij")
    return [grid.reshape(-1) for grid in grids]


def assert_same_bits(actual: Array, expected: Array) -> None:
    """The same dtype, shape and bits; one NaN is as good as another."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype.kind == "c":
        assert_same_bits(actual.real.copy(), expected.real.copy())
        assert_same_bits(actual.imag.copy(), expected.imag.copy())
        return
    width = f"u{actual.dtype.itemsize}"
    bits = [np.ascontiguousarray(a).view(width) for a in (actual, expected)]
    same = bits[0] == bits[1]
    if actual.dtype.kind in "fV":
        same |= np.isnan(actual) & np.isnan(expected)
    assert same.all(), f"{actual[~same][:5]} instead of {expected[~same][:5]}"
