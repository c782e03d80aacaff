"""Derivative and batching rules of the indexing and ordering families: every row of their tables,
then ties, zeros and duplicates, where differences say nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.ops import rows_indexing, rows_ordering
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
    inexact,
    jvp,
    jvp_region,
    run,
    tame,
    trace,
    vjp_region,
)
from tests.compiler.transforms.tables import rows_by_op
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import f64, i64
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType, type_of
from weft.compiler.ops import shape
from weft.compiler.ops.indexing import gather, scatter
from weft.compiler.ops.ordering import searchsorted, sort, top_k
from weft.compiler.transforms import derive

INF, NAN = np.inf, np.nan
ROWS = rows_by_op(rows_indexing, rows_ordering)


def untied(row: Sample) -> Sample:
    """The row with floats a little apart: of several equal elements differences follow none."""
    operands = [
        array + 0.07 * np.arange(array.size).reshape(array.shape)
        if rows.is_inexact(array)
        else array
        for array in tame(row.operands)
    ]
    return Sample(row.op, tuple(operands), row.expected, row.attributes, name=row.name)


def without_mode(row: Sample) -> str:
    """What a row of gather or scatter is, but for the mode, which rules only pass on."""
    shapes = [np.shape(x) for x in row.operands]
    kinds = [np.asarray(x).dtype.kind for x in row.operands]
    return repr((shapes, kinds, {k: v for k, v in row.attributes.items() if k != "mode"}))


SCATTER = pytest.param("scatter", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["gather", SCATTER])
def test_derivatives_of_indexing_agree_with_differences(name: str) -> None:
    samples = rows.differentiable(ROWS[name])
    rows.check_each(samples, check_types, check_jvp)
    once = {without_mode(row): row for row in samples}
    rows.check_each(once.values(), check_vjp, check_second_order)


@pytest.mark.parametrize("name", ["sort", "top_k"])
def test_derivatives_of_ordering_agree_with_differences(name: str) -> None:
    samples = [untied(row) for row in rows.differentiable(ROWS[name])]
    rows.check_each(samples, check_types, check_jvp, check_vjp, check_second_order)


@pytest.mark.parametrize("name", ["gather", SCATTER, "sort", "top_k", "searchsorted"])
def test_a_batch_agrees_with_a_loop(name: str) -> None:
    once = {without_mode(row): row for row in ROWS[name]}
    rows.check_each(once.values(), check_batch)


def test_a_search_has_no_tangent() -> None:
    region = trace(searchsorted, [ArrayType(f64, (4,)), ArrayType(f64, (2,))], {"side": "left"})
    assert jvp_region(region, [True, True]).result_types == (ArrayType(i64, (2,)),)


# --- symbolic sizes -----------------------------------------------------------------------------


def x(*sizes: int) -> Array:
    return direction(ArrayType(f64, sizes), seed=1)


INDEX = np.array([2, 0, 2, 1, 2])
SYMBOLIC = [
    Sample(gather, (x(3, 4), INDEX), None, {"axes": (0,)}),
    Sample(gather, (x(4, 3, 2), np.tile(INDEX, (4, 1))), None, {"axes": (1,), "batch_dims": 1}),
    *[
        Sample(scatter, (x(3, 4), x(5, 4), INDEX), None, {"axes": (0,), "kind": kind})
        for kind in ("set", "add", "mul", "min", "max")
    ],
    *[
        Sample(
            scatter,
            (x(4, 2, 3), x(4, 5, 2), np.tile(INDEX, (4, 1))),
            None,
            {"axes": (2,), "batch_dims": 1, "kind": kind, "mode": "fill"},
        )
        for kind in ("set", "mul", "max")
    ],
    Sample(sort, (x(4, 3), x(4, 3)), None, {"axis": 0, "num_keys": 1}),
    Sample(top_k, (x(4, 3),), None, {"axis": 0, "k": 1}),
    Sample(searchsorted, (x(5), x(3, 4)), None, {"side": "left"}),
]


@pytest.mark.parametrize("row", SYMBOLIC, ids=lambda row: f"{row}-{row.attributes}")
def test_rules_take_symbolic_sizes(row: Sample) -> None:
    check_symbolic(row.op, row.operands, row.attributes)


# --- duplicates, ties, zeros --------------------------------------------------------------------


def scatter_gradient(
    kind: str, operand: Any, updates: Any, index: Any, mode: str = "raise"
) -> list[list[float]]:
    """The cotangents of operand and updates for cotangents 1, 2, 3, ... of the results."""
    operands = [np.array(operand, float), np.array(updates, float), np.array(index)]
    weights = np.arange(1.0, 1 + len(operand))
    attributes = {"axes": (0,), "kind": kind, "mode": mode}
    return [made.tolist() for made in gradient(scatter, operands, attributes, [weights])]


def test_only_the_last_update_at_a_position_counts_in_set() -> None:
    made = scatter_gradient("set", [7, 7, 7, 7], [1, 2, 3, 4], [2, 0, 2, -4])
    assert made == [[0, 2, 0, 4], [0, 0, 3, 1]]


def test_updates_that_are_dropped_have_no_gradient() -> None:
    for kind in ("set", "add", "mul", "min", "max"):
        of_operand, of_updates = scatter_gradient(kind, [5, 5], [1, 9, 1], [7, 1, -9], "fill")
        assert (of_updates[0], of_updates[2], of_operand[0]) == (0, 0, 1), kind


def test_updates_that_are_clipped_meet_at_the_end() -> None:
    assert scatter_gradient("set", [5, 5], [1, 9, 3], [7, 1, -9], "clip") == [[0, 0], [0, 2, 1]]
    assert scatter_gradient("add", [5, 5], [1, 9, 3], [7, 1, -9], "clip") == [[1, 2], [2, 2, 1]]


def test_ties_of_extremes_share_equally_with_the_operand() -> None:
    operand, updates, index = [3, 8, 2, 9], [3, 8, 8, 1, 8, 5], [0, 1, 1, 2, 1, 2]
    expected = [[0.5, 0.5, 0, 4], [0.5, 0.5, 0.5, 0, 0.5, 3]]
    assert scatter_gradient("max", operand, updates, index) == expected
    low_operand, low_updates = [-value for value in operand], [-value for value in updates]
    assert scatter_gradient("min", low_operand, low_updates, index) == expected


def test_nan_beside_an_extreme_leaves_gradients_finite() -> None:
    made = scatter_gradient("max", [NAN, 1, NAN], [2, 3], [0, 1])
    assert made == [[0.5, 0, 3], [0.5, 2]]


def test_signed_zeros_are_a_tie() -> None:
    assert scatter_gradient("max", [0.0], [-0.0], [0]) == [[0.5], [0.5]]


@pytest.mark.parametrize("zeros", range(4))
def test_products_of_zeros_have_exact_derivatives_up_to_the_third(zeros: int) -> None:
    """Five factors meet at one position; a derivative is the product of those it leaves."""
    factors = np.array([2.0, 3.0, 5.0, 7.0, 11.0])
    factors[1 : 1 + zeros] = 0.0
    operand, updates = np.array([1.0, factors[0]]), factors[1:]

    def function(operand: Value, updates: Value) -> Value:
        return scatter(operand, updates, constant([1] * 4), axes=(0,), kind="mul")

    region = trace(function, [type_of(operand), type_of(updates)], None)
    backward = vjp_region(region, [True, True], [True])
    second = jvp_region(backward, [False, True, False])
    third = jvp_region(second, [False, True, False, False])
    weights = np.array([0.0, 1.0])
    first = run(backward, [operand, updates, weights])
    np.testing.assert_array_equal(first[2], [product_without(factors, {i}) for i in range(1, 5)])
    assert first[1].tolist() == [0.0, product_without(factors, {0})]
    units = np.eye(4)
    for j in range(4):
        made = run(second, [operand, updates, weights, units[j]])[-1]
        expected = [0 if i == j else product_without(factors, {i + 1, j + 1}) for i in range(4)]
        np.testing.assert_array_equal(made, expected)
        for k in range(4):
            made = run(third, [operand, updates, weights, units[j], units[k]])[-1]
            expected = [
                product_without(factors, {i + 1, j + 1, k + 1}) if len({i, j, k}) == 3 else 0
                for i in range(4)
            ]
            np.testing.assert_array_equal(made, expected)


def product_without(factors: Array, places: set[int]) -> float:
    return float(np.prod([f for i, f in enumerate(factors) if i not in places]))


def test_equal_elements_keep_their_tangents_in_order() -> None:
    values, moves = np.array([2.0, 1.0, 2.0, 1.0, NAN]), np.arange(5.0)
    (up,) = jvp(sort, [values], [moves], {"axis": 0})
    (down,) = jvp(sort, [values], [moves], {"axis": 0, "descending": True})
    assert up.tolist() == [1, 3, 0, 2, 4]
    assert down.tolist() == [4, 0, 2, 1, 3]
    (best,) = jvp(top_k, [values], [moves], {"axis": 0, "k": 3})
    assert best.tolist() == [4, 0, 2]


def test_what_is_sorted_along_moves_with_the_keys() -> None:
    keys, carried = np.array([[3, 1, 2]]), np.array([[10.0, 20.0, 30.0]])
    (made,) = gradient(sort, [keys, carried], {"axis": 1}, [np.array([[1.0, 2.0, 3.0]])])
    assert made.tolist() == [[3, 1, 2]]


# --- leanness -----------------------------------------------------------------------------------


def batched_ops(function: Any, types: list[ArrayType], marks: list[bool]) -> list[str]:
    region = trace(function, types, None)
    made = derive.TRANSFORMS.batch(region, marks, 3, [True] * len(region.results))
    return [op.name for op in made.region.ops]


def test_a_gather_repeats_neither_operand_nor_result() -> None:
    plain, index = ArrayType(f64, (5, 2)), ArrayType(i64, (4,))
    assert batched_ops(lambda x, i: gather(x, i, axes=(0,)), [plain, index], [False, True]) == [
        "gather"
    ]
    assert batched_ops(lambda x, i: gather(x, i, axes=(0,)), [plain, index], [True, True]) == [
        "gather"
    ]
    rows_of_each = [ArrayType(f64, (4, 5)), ArrayType(i64, (4, 6))]
    made = batched_ops(
        lambda x, i: gather(x, i, axes=(1,), batch_dims=1), rows_of_each, [False, True]
    )
    assert made == ["iota", "gather"]


def test_a_search_in_one_table_keeps_it() -> None:
    types = [ArrayType(f64, (5,)), ArrayType(f64, (2,))]
    assert batched_ops(lambda t, v: searchsorted(t, v, side="left"), types, [False, True]) == [
        "searchsorted"
    ]


def test_a_sort_that_carries_a_count_is_not_repeated() -> None:
    def order(x: Value) -> Any:
        return sort.emit(x, shape.iota(dtype=i64, shape=(5,), axis=0), axis=0)

    region = trace(order, [ArrayType(f64, (5,))], None)
    made = vjp_region(region, [True], inexact(region.result_types))
    assert [op.name for op in made.ops].count("sort") == 1


def test_one_update_per_batch_element_needs_no_search_for_the_last() -> None:
    region = trace(
        scatter,
        [ArrayType(f64, (5, 2)), ArrayType(f64, (1, 2)), ArrayType(i64, (1,))],
        {"axes": (0,), "kind": "set"},
    )
    made = vjp_region(region, [True, True, False], [True])
    names = [op.name for op in made.ops if op not in set(region.ops)]
    assert sorted(names) == ["broadcast", "gather", "scatter"]
