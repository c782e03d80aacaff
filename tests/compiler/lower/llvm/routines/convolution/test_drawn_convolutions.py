"""Native convolutions with any options, sizes, layouts and dtypes, against the references."""

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
from tests.compiler.ops import rows_convolution
from weft.compiler.ops.convolution import convolution as convolution_op

pytestmark = pytest.mark.usefixtures("guarded")


@st.composite
def convolutions(draw: st.DrawFn) -> Case:
    dtype = draw(st.sampled_from((*FLOATS, *HALVES, np.int8, np.int64)))
    rank, groups = draw(st.integers(0, 3)), draw(st.sampled_from((1, 1, 2, 3)))
    size = st.sampled_from((1, 2, 3, 5, 9, 20) if rank < 3 else (1, 3, 4))
    signal = [draw(size) for _ in range(rank)]
    taps = [draw(st.sampled_from((1, 2, 3))) for _ in range(rank)]
    channels, outputs = draw(st.integers(0, 4)), groups * draw(st.integers(0, 5))
    lhs = numbers((draw(st.integers(0, 3)), groups * channels, *signal), dtype, draw(SEEDS))
    rhs = numbers((outputs, channels, *taps), dtype, draw(SEEDS))
    attributes = draw(spatial(rank, ("strides", "lhs_dilation", "rhs_dilation")))
    operands = [relaid(lhs, draw(LAID)), relaid(rhs, draw(LAID))]
    terms = channels * math.prod(taps)
    return Case(convolution_op, operands, {"groups": groups, **attributes}, terms)


@settings(max_examples=6, **UNHURRIED)
@given(case=convolutions(), dynamic=st.booleans())
def test_drawn_convolutions(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


@pytest.mark.slow
@settings(max_examples=300, **UNHURRIED)
@given(case=convolutions(), dynamic=st.booleans())
def test_many_drawn_convolutions(case: Case, dynamic: bool) -> None:
    case.check(dynamic)


LARGE: dict[str, Case] = {
    "convolution": Case(
        convolution_op,
        [numbers((2, 8, 20, 21), np.float32, 1), numbers((16, 4, 3, 3), np.float32, 2)],
        rows_convolution.attributes_of(2, groups=2, padding=((1, 1), (1, 2))),
        1,
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_results_do_not_depend_on_how_loops_are_shared(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same_in_pieces(LARGE[name], monkeypatch)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("padding", [((-1, 0),), ((0, -1),), ((-2, -1),), ((-1, 0), (0, -2))])
def test_windows_of_one_element_may_crop(
    padding: tuple[tuple[int, int], ...], dynamic: bool
) -> None:
    """The first element of such a product is not the first of the signal."""
    rank = len(padding)
    lhs = numbers((2, 4, *[5] * rank), np.float32, 1)
    rhs = numbers((6, 2, *[1] * rank), np.float32, 2)
    attributes = rows_convolution.attributes_of(rank, padding=padding, groups=2)
    for left in (lhs, relaid(lhs, "reversed")):
        Case(convolution_op, [left, rhs], attributes, 2).check(dynamic)
