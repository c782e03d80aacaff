"""Derivative and batching rules of the shape family: every row of its table, then what rows cannot
say: symbolic sizes, windows that start elsewhere in each batch element, and how few ops rules take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiler.ops import rows_shape
from tests.compiler.ops.sample import Sample
from tests.compiler.transforms import rows
from tests.compiler.transforms.checking import (
    Array,
    check_batch,
    check_jvp,
    check_second_order,
    check_symbolic,
    check_types,
    check_vjp,
    direction,
    gradient,
    run,
    symbol,
    trace,
    vjp_region,
)
from tests.compiler.transforms.tables import rows_by_op
from weft.compiler.ir import dims
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import f64
from weft.compiler.ir.graph import Graph, Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops import shape
from weft.compiler.transforms import derive

ROWS = rows_by_op(rows_shape)
n3, n4, n5 = symbol(3), symbol(4), symbol(5)


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_agree_with_differences(name: str) -> None:
    samples = rows.differentiable(ROWS[name])
    rows.check_each(samples, check_types, check_jvp, check_vjp, check_second_order)


@pytest.mark.parametrize("name", ROWS)
def test_a_batch_agrees_with_a_loop(name: str) -> None:
    rows.check_each([row for row in ROWS[name] if row.operands], check_batch)


# --- symbolic sizes -----------------------------------------------------------------------------


def x(*sizes: int) -> Array:
    return direction(ArrayType(f64, sizes), seed=1)


START = np.int64(1)

SYMBOLIC = [
    Sample(shape.broadcast, (x(3),), None, {"shape": (2 * n3, n3), "dims": (1,)}),
    Sample(shape.broadcast, (x(3, 1),), None, {"shape": (n3, n3 + 1, 2), "dims": (0, 1)}),
    Sample(shape.reshape, (x(3, 4),), None, {"shape": (n3 * n4,)}),
    Sample(shape.reshape, (x(3, 4),), None, {"shape": (1, n4, n3)}),
    Sample(shape.transpose, (x(3, 4, 5),), None, {"permutation": (1, 2, 0)}),
    Sample(shape.reverse, (x(3, 4),), None, {"axes": (1,)}),
    Sample(
        shape.slice_,
        (
            x(
                5,
            ),
        ),
        None,
        {"starts": (1,), "limits": (n5,), "strides": (1,)},
    ),
    Sample(
        shape.slice_,
        (
            x(
                5,
            ),
        ),
        None,
        {"starts": (0,), "limits": (n5,), "strides": (2,)},
    ),
    Sample(
        shape.slice_,
        (
            x(
                5,
            ),
        ),
        None,
        {"starts": (1,), "limits": (n5,), "strides": (3,)},
    ),
    Sample(shape.dynamic_slice, (x(3, 5), START, START), None, {"sizes": (n3, 1)}),
    Sample(shape.dynamic_update_slice, (x(3, 5), x(3, 1), START, START), None, {}),
    Sample(
        shape.pad,
        (x(3, 4), x()),
        None,
        {"low": (1, n3), "high": (n4, 0), "interior": (2, 0)},
    ),
    Sample(
        shape.pad,
        (x(3, 4), x()),
        None,
        {"low": (-1, 2), "high": (n4, -1), "interior": (1, 0)},
    ),
    Sample(shape.concatenate, (x(3, 4), x(5, 4), x(3, 4)), None, {"axis": 0}),
]


@pytest.mark.parametrize("row", SYMBOLIC, ids=str)
def test_rules_take_symbolic_sizes(row: Sample) -> None:
    check_symbolic(row.op, row.operands, row.attributes)


z = dims.symbol("z", lower=0)

MAYBE_EMPTY: list[tuple[OpDef, dict[str, Any]]] = [
    (shape.slice_, {"starts": (0,), "limits": (z,), "strides": (3,)}),
    (shape.pad, {"low": (2,), "high": (1,), "interior": (2,)}),
    (shape.pad, {"low": (-1,), "high": (4,), "interior": (1,)}),
    (shape.broadcast, {"shape": (3, z), "dims": (1,)}),
    (shape.reshape, {"shape": (z, 1)}),
]


@pytest.mark.parametrize("size", [0, 1, 4])
@pytest.mark.parametrize(("op", "attributes"), MAYBE_EMPTY, ids=str)
def test_transposes_take_sizes_that_may_be_zero(
    op: OpDef, attributes: dict[str, Any], size: int
) -> None:
    def function(x: Value) -> Value:
        return op(x, *[constant(0.0, f64)] * (op is shape.pad), **attributes)

    region = trace(function, [ArrayType(f64, (z,))], None)
    backward = vjp_region(region, [True], [True])
    (forward,) = run(region, [x(size)])
    weights = np.cos(np.arange(forward.size)).reshape(forward.shape)
    _, made = run(backward, [x(size), weights])
    expected = [float(np.sum(weights * run(region, [unit])[0])) for unit in np.eye(size)]
    np.testing.assert_allclose(made, np.reshape(expected, (size,)), atol=1e-14)


# --- windows whose starts are batched -----------------------------------------------------------

STARTS: list[Array] = [
    np.array([-7, 0, 1, 2, 9]),
    np.array([0, 1, 2, 3, 255], np.uint8),
    np.array([0, 1, 2**63, 2**64 - 1, 3], np.uint64),
]


@pytest.mark.parametrize("starts", STARTS, ids=lambda s: str(s.dtype))
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("second", [0, "one", "each"])
def test_windows_may_start_elsewhere_in_each_batch_element(
    starts: Array, batched: bool, second: int | str
) -> None:
    count = len(starts)
    whole = x(4, 3, 5) if not batched else x(count, 4, 3, 5)
    piece = x(count, 2, 3, 4)
    last: Any = {0: np.int64(0), "one": np.int64(1), "each": np.arange(count) - 1}[second]
    marks = [batched, True, False, second == "each"]
    operands = [whole, starts, np.int64(0), last]
    read = {"sizes": (2, 3, 4)}
    assert_batches(shape.dynamic_slice, operands, marks, read)
    assert_batches(
        shape.dynamic_update_slice, [whole, piece, *operands[1:]], [batched, True, *marks[1:]], {}
    )


def assert_batches(
    op: OpDef, operands: list[Any], marks: list[bool], attributes: dict[str, Any]
) -> None:
    """The batched op, and its batched vjp, against a loop."""
    arrays = [np.asarray(operand) for operand in operands]
    single = [a[0] if mark else a for a, mark in zip(arrays, marks, strict=True)]
    region = trace(op, [type_of(np.asarray(a)) for a in single], attributes)
    floats = [type.dtype.is_inexact for type in region.parameter_types]
    cotangent = direction(region.result_types[0], seed=7)
    backward = vjp_region(region, floats, [True])
    for derived, extra in ((region, []), (backward, [cotangent])):
        flags = [*marks, *[False] * len(extra)]
        count = len(next(a for a, mark in zip(arrays, marks, strict=True) if mark))
        keep = [True] * len(derived.results)
        made = derive.TRANSFORMS.batch(derived, flags, count, keep).region
        inputs = [*arrays, *extra]
        actual = run(made, inputs)
        loop = [
            run(derived, [np.asarray(a[i]) if m else a for a, m in zip(inputs, flags, strict=True)])
            for i in range(count)
        ]
        for got, expected in zip(actual, zip(*loop, strict=True), strict=True):
            np.testing.assert_array_equal(got, np.stack(expected))


# --- exactness and leanness ---------------------------------------------------------------------


def test_the_gradient_of_a_padding_value_is_exact_beside_infinities() -> None:
    attributes = {"low": (1,), "high": (1,), "interior": (1,)}
    weights = np.array([1.0, np.inf, 2.0, np.nan, 1e-30])
    of_x, of_value = gradient(shape.pad, [x(2), 0.5], attributes, [weights])
    np.testing.assert_array_equal(of_x, [np.inf, np.nan])
    assert of_value == 1.0 + 2.0 + 1e-30


def names(region: Region) -> list[str]:
    return [op.name for op in region.ops]


def backward_ops(
    function: OpDef | Callable[..., Value], *sizes: tuple[int, ...], **attributes: Any
) -> list[str]:
    """The ops that reverse mode adds to a function, for all its operands at once."""
    region = trace(function, [ArrayType(f64, size) for size in sizes], attributes)
    made = vjp_region(region, [True] * len(sizes), [True])
    Graph("lean", made).verify()
    known = set(region.ops)
    return [op.name for op in made.ops if op not in known]


def test_transposes_take_few_ops() -> None:
    assert backward_ops(shape.broadcast, (3,), shape=(1, 3), dims=(1,)) == ["reshape"]
    assert backward_ops(shape.broadcast, (3,), shape=(4, 3), dims=(1,)) == ["reduce_sum"]
    kept = backward_ops(shape.broadcast, (3, 1), shape=(4, 3, 5), dims=(1, 2))
    assert kept == ["reduce_sum", "reshape"]
    assert backward_ops(shape.concatenate, (2,), (3,), axis=0) == ["slice", "slice"]
    taken = {"starts": (1,), "limits": (4,), "strides": (2,)}
    assert backward_ops(shape.slice_, (5,), **taken) == ["pad"]
    padding = {"low": (1,), "high": (2,), "interior": (1,)}

    def padded(x: Value) -> Value:
        return shape.pad(x, constant(0.0, f64), **padding)

    assert backward_ops(padded, (5,)) == ["slice"]


def test_a_batch_takes_one_op() -> None:
    rank_one = [ArrayType(f64, (5,))]
    start = trace(lambda x: shape.dynamic_slice(x, constant(1), sizes=(2,)), rank_one, None)
    assert names(derive.TRANSFORMS.batch(start, [True], 3, [True]).region) == ["dynamic_slice"]
    turned = trace(lambda x: shape.reverse(x, axes=(0,)), rank_one, None)
    assert names(derive.TRANSFORMS.batch(turned, [True], 3, [True]).region) == ["reverse"]
