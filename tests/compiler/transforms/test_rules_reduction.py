"""The rules of reductions and cumulative ops: all rows of their tables against differences, zeros
in products, ties of extremes, infinities.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from tests.compiler.ops import rows_cumulative, rows_reduction
from tests.compiler.transforms.checking import (
    Array,
    check_rules,
    gradient,
    inexact,
    jvp,
    jvp_region,
    run,
    trace,
    vjp_region,
)
from tests.compiler.transforms.tables import check_rows, rows_by_op
from weft.compiler.ir.build import constant
from weft.compiler.ir.graph import Region, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.reader import parse_type
from weft.compiler.ir.types import type_of
from weft.compiler.ops import arithmetic, cumulative, reduction

INF, NAN = math.inf, math.nan

ROWS = rows_by_op(rows_reduction, rows_cumulative)
INTEGER_VALUED = ("argmax", "argmin", "reduce_any", "reduce_all")


@pytest.mark.parametrize("name", ROWS)
def test_rules_agree_with_differences(name: str) -> None:
    assert check_rows(ROWS[name]) > 0 or name in INTEGER_VALUED


def derivatives(op: OpDef, x: Array, attributes: dict[str, Any]) -> tuple[Array, Array]:
    """The Jacobian and the second derivatives of the sum of results times 1, 2, 3 ..., from the
    rules.
    """
    region = trace(op, [type_of(x)], attributes)
    backward = vjp_region(region, [True], [True])
    over = jvp_region(backward, [True, False])
    weights = np.arange(1.0, 1 + np.size(run(region, [x])[0])).reshape(region.result_types[0].shape)
    slope = run(backward, [x, weights])[1]
    rows = [run(over, [x, weights, unit])[3] for unit in np.eye(x.size)]
    return slope, np.array(rows)


def expected_derivatives(factors_of: list[list[int]], x: Array) -> tuple[Array, Array]:
    """The same of products of the elements at the given places, term by term."""
    slope, second = np.zeros(x.size), np.zeros((x.size, x.size))
    for weight, places in enumerate(factors_of, start=1):
        for i in places:
            slope[i] += weight * math.prod(x[k] for k in places if k != i)
        for i, j in itertools.permutations(places, 2):
            second[i, j] += weight * math.prod(x[k] for k in places if k not in (i, j))
    return slope, second


WITH_ZEROS = (
    [2.0, 3.0, 5.0, 7.0],
    [0.0, 3.0, 5.0, 7.0],
    [2.0, 3.0, 5.0, 0.0],
    [2.0, 0.0, 5.0, 0.0],
    [0.0, 0.0, 0.0, 7.0],
    [0.0, 0.0, 0.0, 0.0],
)


@pytest.mark.parametrize("values", WITH_ZEROS, ids=str)
def test_product_has_both_derivatives_at_zeros(values: list[float]) -> None:
    x = np.array(values)
    actual = derivatives(reduction.reduce_prod, x, {"axes": (0,)})
    for got, expected in zip(actual, expected_derivatives([[0, 1, 2, 3]], x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("values", WITH_ZEROS, ids=str)
def test_cumulative_product_has_both_derivatives_at_zeros(
    values: list[float], reverse: bool
) -> None:
    x = np.array(values)
    actual = derivatives(cumulative.cumprod, x, {"axis": 0, "reverse": reverse})
    places = [list(range(i, 4) if reverse else range(i + 1)) for i in range(4)]
    for got, expected in zip(actual, expected_derivatives(places, x), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (2, 0), (1, 2), (0, 1, 2), ()])
def test_product_over_any_axes_with_zeros(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(-2, 3, (2, 3, 2)).astype(np.float64)
    check_rules(reduction.reduce_prod, [x], {"axes": axes})


@pytest.mark.parametrize("op", [reduction.reduce_max, reduction.reduce_min], ids=repr)
def test_ties_of_a_reduction_share_equally(op: OpDef) -> None:
    sign = 1.0 if op is reduction.reduce_max else -1.0
    x = sign * np.array([[3.0, 1.0, 3.0], [0.0, 5.0, 4.0], [-0.0, -1.0, 0.0]])
    (of_x,) = gradient(op, [x], {"axes": (1,)})
    assert of_x.tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    (of_x,) = gradient(op, [np.full((2, 2), INF)], {"axes": (0, 1)})
    assert of_x.tolist() == [[0.25, 0.25], [0.25, 0.25]]


@pytest.mark.parametrize("op", [cumulative.cummax, cumulative.cummin], ids=repr)
@pytest.mark.parametrize("reverse", [False, True])
def test_running_extreme_follows_the_first_that_reached_it(op: OpDef, reverse: bool) -> None:
    sign = 1.0 if op is cumulative.cummax else -1.0
    x = sign * np.array([-INF, 2.0, 1.0, 2.0, 3.0, 3.0])
    expected = [1.0, 3.0, 0.0, 0.0, 2.0, 0.0]
    operand = x[::-1].copy() if reverse else x
    (of_x,) = gradient(op, [operand], {"axis": 0, "reverse": reverse})
    assert of_x.tolist() == (expected[::-1] if reverse else expected)


def test_logsumexp_is_stable_where_elements_are_far_apart() -> None:
    x = np.array([-INF, -INF, 0.0, -INF, 1000.0, 1000.0, -1000.0])
    (of_x,) = gradient(cumulative.cumlogsumexp, [x], {"axis": 0})
    # The rounding of 1000 + log(2) is an error of its share.
    np.testing.assert_allclose(of_x, [0.0, 0.0, 2.0, 0.0, 2.0, 1.0, 0.0], rtol=1e-13)
    (tangent,) = jvp(cumulative.cumlogsumexp, [x], [np.arange(7.0)], {"axis": 0})
    np.testing.assert_allclose(tangent, [0.0, 0.0, 2.0, 2.0, 4.0, 4.5, 4.5], rtol=1e-13)


def test_second_derivative_of_logsumexp_is_finite_beside_minus_infinity() -> None:
    x = np.array([-INF, 0.0, -INF, 1.0])
    _, second = derivatives(cumulative.cumlogsumexp, x, {"axis": 0})
    share = 1 / (1 + math.exp(-1.0))
    bend = 4 * share * (1 - share)
    expected = np.zeros((4, 4))
    expected[np.ix_([1, 3], [1, 3])] = [[bend, -bend], [-bend, bend]]
    np.testing.assert_allclose(second, expected, rtol=1e-12, atol=1e-15)


def test_recurrence_of_zero_factors_starts_anew() -> None:
    factor, x = np.array([9.0, 2.0, 0.0, 3.0]), np.array([1.0, 1.0, 1.0, 1.0])
    check_rules(cumulative.linear_recurrence, [factor, x], {"axis": 0})
    of_factor, of_x = gradient(cumulative.linear_recurrence, [factor, x], {"axis": 0})
    assert of_x.tolist() == [3.0, 1.0, 4.0, 1.0]
    assert of_factor.tolist() == [0.0, 1.0, 12.0, 1.0]


def test_mean_of_squares_is_short_in_reverse() -> None:
    def mean_of_squares(x: Value) -> Value:
        total = reduction.reduce_sum(arithmetic.mul(x, x), axes=(0,))
        return arithmetic.div(total, constant(4.0))

    region = trace(mean_of_squares, [type_of(np.ones(4))], None)
    derived = vjp_region(region, [True], [True])
    names = [op.name for op in derived.ops]
    assert names == ["mul", "mul", "reduce_sum", "div", "div", "broadcast", "mul"]


@pytest.mark.parametrize("op", [reduction.reduce_sum, reduction.reduce_prod, reduction.reduce_max])
def test_no_axes_is_the_identity(op: OpDef) -> None:
    region = trace(op, [type_of(np.ones(4))], {"axes": ()})
    derived = vjp_region(region, [True], inexact(region.result_types))
    assert len(derived.ops) == 1


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        (reduction.reduce_prod, {"axes": (0, 2)}),
        (reduction.reduce_max, {"axes": (1,)}),
        (cumulative.cumprod, {"axis": 1}),
        (cumulative.cumlogsumexp, {"axis": 2, "reverse": True}),
    ],
)
def test_rules_keep_symbolic_sizes(op: OpDef, attributes: dict[str, Any]) -> None:
    region: Region = trace(op, [parse_type("f32[n, m, 2*k + 1]")], attributes)
    derived = vjp_region(region, [True], [True])
    assert derived.results[1].type == parse_type("f32[n, m, 2*k + 1]")
