"""Native contractions of any axes, sizes, layouts and dtypes, against the references."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.lower.llvm.routines.guarding import (
    FLOATS,
    HALVES,
    INTEGERS,
    LAID,
    MATMUL,
    SEEDS,
    SIZES,
    UNHURRIED,
    Array,
    Case,
    assert_same_in_pieces,
    numbers,
    relaid,
)
from weft.compiler.ir import dtypes
from weft.compiler.ops.contraction import dot_general

pytestmark = pytest.mark.usefixtures("guarded")


@st.composite
def matrix_products(draw: st.DrawFn) -> Case:
    """Matrices of all sizes, some of them in a batch, of which one operand may be repeated."""
    dtype = draw(st.sampled_from((*FLOATS, *HALVES, *INTEGERS, np.bool_)))
    rows, columns, depth = draw(SIZES), draw(SIZES), draw(SIZES | st.just(70))
    batch: tuple[int, ...] = draw(st.sampled_from(((), (), (3,), (2, 3))))
    lhs = relaid(numbers((*batch, rows, depth), dtype, draw(SEEDS)), draw(LAID))
    rhs = relaid(numbers((*batch, depth, columns), dtype, draw(SEEDS)), draw(LAID))
    is_repeated = draw(st.booleans())
    if batch and is_repeated:
        rhs = np.broadcast_to(rhs[:1], rhs.shape)
    into = draw(st.sampled_from((None, None, *dtypes.ALL)))
    promoted = None if into is None else dtypes.promote(dtypes.dtype(dtype), into)
    if promoted is not None and promoted.is_inexact and dtype in INTEGERS:
        # Small enough that sums are of about the size of their terms.
        lhs, rhs = lhs % 7, rhs % 7
    n = len(batch)
    axes = {"lhs_batch": tuple(range(n)), "rhs_batch": tuple(range(n))}
    attributes: dict[str, Any] = {"lhs_contract": (n + 1,), "rhs_contract": (n,), **axes}
    return Case(dot_general, [lhs, rhs], {**attributes, "dtype": promoted}, 36 * depth)


@st.composite
def contractions(draw: st.DrawFn) -> Case:
    """Several axes of each kind, in any order."""
    counts = [draw(st.integers(0, 2)) for _ in range(4)]
    sizes = [[draw(st.sampled_from((1, 2, 3, 4))) for _ in range(count)] for count in counts]
    batch, contracted, left, right = sizes
    orders = [draw(st.permutations(range(len(batch + contracted + own)))) for own in (left, right)]
    arrays: list[Array] = []
    attributes: dict[str, Any] = {}
    dtype = draw(st.sampled_from((np.float32, np.complex128, np.int32)))
    for name, own, order in zip(("lhs", "rhs"), (left, right), orders, strict=True):
        plain = numbers(batch + contracted + own, dtype, draw(SEEDS))
        arrays.append(relaid(plain.transpose(order).copy(), draw(LAID)))
        places = [order.index(axis) for axis in range(len(batch + contracted))]
        attributes[f"{name}_batch"] = tuple(places[: len(batch)])
        attributes[f"{name}_contract"] = tuple(places[len(batch) :])
    return Case(dot_general, arrays, attributes, math.prod(contracted))


@settings(max_examples=6, **UNHURRIED)
@given(case=matrix_products(), dynamic=st.booleans())
def test_drawn_matrix_products(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(case=matrix_products(), dynamic=st.booleans())
def test_many_drawn_matrix_products(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@settings(max_examples=6, **UNHURRIED)
@given(case=contractions(), dynamic=st.booleans())
def test_drawn_contractions(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(case=contractions(), dynamic=st.booleans())
def test_many_drawn_contractions(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


LARGE: dict[str, Case] = {
    "matrix and vector": Case(
        dot_general, [numbers((700, 300), np.float32, 1), numbers((300,), np.float32, 2)], MATMUL, 1
    ),
    "turned matrix and vector": Case(
        dot_general,
        [numbers((300, 700), np.float32, 1).T, numbers((300,), np.float32, 2)],
        MATMUL,
        1,
    ),
    "panels": Case(
        dot_general, [numbers((90, 80), np.int32, 1), numbers((80, 200), np.int32, 2)], MATMUL, 1
    ),
    "batch": Case(
        dot_general,
        [numbers((50, 20, 30), np.float64, 1), numbers((50, 30, 20), np.float64, 2)],
        {"lhs_contract": (2,), "rhs_contract": (1,), "lhs_batch": (0,), "rhs_batch": (0,)},
        1,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_do_not_depend_on_how_loops_are_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same_in_pieces(LARGE[name], monkeypatch)


@pytest.mark.parametrize(
    "dtype",
    [
        np.float32,
        *[pytest.param(of, marks=pytest.mark.slow) for of in (np.complex64, np.int16, np.float16)],
    ],
)
def test_products_larger_than_any_block(dtype: Any) -> None:
    """Rows, columns and terms beyond what fits a panel, by BLAS and without."""
    lhs, rhs = numbers((37, 1100), dtype, 1), numbers((1100, 70), dtype, 2)
    for left in (lhs, np.asfortranarray(lhs), relaid(lhs, "reversed")):
        Case(dot_general, [left, rhs], MATMUL, 1100).check(dynamic=False)
