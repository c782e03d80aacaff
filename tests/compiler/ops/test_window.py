"""What the rows cannot say: select_and_scatter, which is no op, and window sizes with symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.ops.rows_contraction import small
from tests.compiler.ops.rows_convolution import G46_COTANGENT, G46_Z
from tests.compiler.ops.rows_window import attributes_of, elements, positions
from tests.compiler.ops.sample import Array
from weft.compiler.ir.build import Builder
from weft.compiler.ir.dims import Size, symbol
from weft.compiler.ir.dtypes import f32
from weft.compiler.ir.evaluate import evaluate
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.window import reduce_window, select_and_scatter


def run_select_and_scatter(operand: Array, source: Array, attributes: dict[str, Any]) -> Array:
    builder = Builder()
    with builder.active():
        parameters = [builder.parameter(type_of(array)) for array in (operand, source)]
        result = select_and_scatter(*parameters, **attributes)
    (scattered,) = evaluate(builder.graph("pool_gradient", [result]), [operand, source])
    return scattered


def scattered_by_walking(operand: Array, source: Array, attributes: dict[str, Any]) -> Array:
    expected = np.zeros(operand.shape, source.dtype)
    for position in np.ndindex(*source.shape):
        inside = list(elements(operand, position, attributes))
        if inside:
            expected[max(inside, key=lambda index: operand[index].item())] += source[position]
    return expected


def test_select_and_scatter_gives_the_cotangent_of_the_golden_max_pool() -> None:
    attributes = attributes_of((2, 2), strides=(2, 2))
    ones = np.ones((2, 2), np.float32)
    np.testing.assert_array_equal(run_select_and_scatter(G46_Z, ones, attributes), G46_COTANGENT)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"strides": (2, 1)},
        {"padding": ((1, 0), (2, 1)), "window_dilation": (1, 2)},
        {"padding": ((3, -1), (0, 0)), "base_dilation": (2, 1)},
        {"padding": ((-3, 0), (-3, 0))},
    ],
    ids=str,
)
def test_select_and_scatter_adds_each_source_at_the_maximum_of_its_window(
    given: dict[str, Any],
) -> None:
    attributes = attributes_of((2, 3), **given)
    operand = small((5, 6))
    source = 1 + small(positions(operand, attributes), np.float64)
    expected = scattered_by_walking(operand, source, attributes)
    np.testing.assert_array_equal(run_select_and_scatter(operand, source, attributes), expected)


def result_type(op: Any, types: list[ArrayType], attributes: dict[str, Any]) -> ArrayType:
    builder = Builder()
    with builder.active():
        found: ArrayType = op(*[builder.parameter(type) for type in types], **attributes).type
    return found


@pytest.mark.parametrize(
    ("size", "kernel", "attributes", "expected"),
    [
        (symbol("n", lower=3), 3, {}, "n - 2"),
        (symbol("n"), 3, {"padding": ((1, 1),)}, "n"),
        (2 * symbol("n"), 2, {"strides": (2,)}, "n"),
        (symbol("n"), 2, {"lhs_dilation": (2,), "padding": ((1, 1),)}, "2*n"),
        (symbol("n"), 3, {}, "max(n - 2, 0)"),
        (symbol("n"), symbol("k"), {"padding": ((symbol("k") - 1, 0),)}, "n"),
    ],
)
def test_convolution_of_symbolic_sizes(
    size: Size, kernel: Size, attributes: dict[str, Any], expected: str
) -> None:
    plain = {"strides": (1,), "padding": ((0, 0),), "lhs_dilation": (1,), "rhs_dilation": (1,)}
    batch = symbol("batch")
    types = [ArrayType(f32, (batch, 4, size)), ArrayType(f32, (6, 4, kernel))]
    assert (
        str(result_type(convolution, types, {**plain, **attributes}))
        == f"f32[batch, 6, {expected}]"
    )


def test_reduce_window_of_symbolic_sizes() -> None:
    batch, n = symbol("batch"), symbol("n")
    attributes = {"kind": "max", **attributes_of((1, 2), strides=(1, 2))}
    found = result_type(reduce_window, [ArrayType(f32, (batch, n))], attributes)
    assert found == ArrayType(f32, (batch, n // 2))
