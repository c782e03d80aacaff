"""Native reductions over windows of any shape and dtype, against the references."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.lower.llvm.routines.guarding import (
    FLOATS,
    HALVES,
    LAID,
    SEEDS,
    UNHURRIED,
    Case,
    assert_same_in_pieces,
    numbers,
    relaid,
    spatial,
)
from tests.compiler.ops import rows_window
from weft.compiler.ops.window import reduce_window, window_argmax

pytestmark = pytest.mark.usefixtures("guarded")


@st.composite
def pools(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(("sum", "prod", "max", "min", "argmax")))
    ordered = (np.float32, np.float64, *HALVES, np.int8, np.uint64)
    others = FLOATS[2:] if kind in ("sum", "prod") else (np.bool_,)
    dtype = draw(st.sampled_from((*ordered, *others)))
    rank = draw(st.integers(0, 3))
    shape = [draw(st.sampled_from((0, 1, 2, 3, 5))) for _ in range(rank)]
    shape[-1:] = [draw(st.sampled_from((1, 7, 20, 70)))] if rank else []
    x = numbers(shape, dtype, draw(SEEDS))
    if x.size and np.dtype(dtype).kind == "f" and draw(st.booleans()):
        x.reshape(-1)[:: draw(st.integers(2, 9))] = draw(st.sampled_from((np.nan, -np.inf, 0.0)))
    attributes = draw(spatial(rank, ("strides", "base_dilation", "window_dilation")))
    attributes["window"] = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    if rank:
        last = (*attributes["window"][:-1], draw(st.integers(1, 7)))
        attributes["window"] = last
    op = window_argmax if kind == "argmax" else reduce_window
    given = attributes if kind == "argmax" else {"kind": kind, **attributes}
    # Products of n numbers are n roundings off.
    terms = math.prod(attributes["window"]) ** (2 if kind == "prod" else 1)
    return Case(op, [relaid(x, draw(LAID))], given, terms)


@settings(max_examples=12, **UNHURRIED)
@given(case=pools(), dynamic=st.booleans())
def test_drawn_pools(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(case=pools(), dynamic=st.booleans())
def test_many_drawn_pools(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


LARGE: dict[str, Case] = {
    "pool": Case(
        reduce_window,
        [numbers((40, 30, 50), np.float32, 1)],
        {"kind": "sum", **rows_window.attributes_of((2, 3, 3))},
        1,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_do_not_depend_on_how_loops_are_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same_in_pieces(LARGE[name], monkeypatch)
