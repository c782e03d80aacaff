"""The ways in which convolutions of real floats are computed, against the reference in f64: sizes
around those of tiles, options, layouts, and what is not a number. Workspace begins as NaN, so that
whatever is read before it was written shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.compiler.lower import harness
from tests.compiler.lower.llvm.routines.guarding import Guard, build
from tests.compiler.ops.rows_convolution import attributes_of
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.convolution import api as convolution
from weft.compiler.lower.llvm.routines.convolution.costs import Costs
from weft.compiler.ops.convolution import convolution as op

Array = np.ndarray[Any, Any]


class Unset(Guard):
    """Memory that is NaN before something is written to it."""

    def take(self, size: int) -> int:
        at = super().take(size)
        room, start, _ = self.held[at]
        room[start : start + size] = 0xFF
        return at


GUARD = Unset()


@pytest.fixture(autouse=True)
def _guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def workspace(self: Env, f: Function, bytes: Operand) -> V:
        return f.call("guard_take", PTR, [f.const(bytes, I64)])

    def free(self: Env, f: Function, pointer: V) -> None:
        f.call("guard_give_back", VOID, [pointer])

    monkeypatch.setattr(Env, "workspace", workspace)
    monkeypatch.setattr(Env, "free", free)
    monkeypatch.setattr(harness, "_garbage", GUARD.result)


def run(lhs: Array, rhs: Array, **given: Any) -> Array:
    """The routine's result."""
    attributes = attributes_of(lhs.ndim - 2, **given)
    _, node = build(op, [lhs, rhs], attributes)
    emit = convolution.ROUTINES["convolution"]
    (made,) = harness.run_routine(emit, node, [lhs, rhs], dynamic=True, imports=GUARD.imports)
    copied = made.copy()
    GUARD.check()
    return copied


def reference(lhs: Array, rhs: Array, **given: Any) -> Array:
    options = {"groups": 1, **attributes_of(lhs.ndim - 2, **given)}
    with np.errstate(all="ignore"):
        made: Array = op.reference(lhs.astype(np.float64), rhs.astype(np.float64), **options)
    return made


def check(lhs: Array, rhs: Array, **given: Any) -> None:
    """Compare with sums in f64: terms are of about 1, errors some units of the dtype of sums."""
    got, want = run(lhs, rhs, **given), reference(lhs, rhs, **given)
    terms = rhs[0].size
    sums = np.finfo(np.float32 if lhs.dtype.itemsize == 2 else lhs.dtype).eps
    tolerance = float(40 * sums * (2 + np.sqrt(terms)))
    if lhs.dtype.itemsize == 2:
        tolerance += (
            (2.0**-7 if lhs.dtype == ml_dtypes.bfloat16 else 2.0**-10) * (2 + np.sqrt(terms)) * 2
        )
    message = f"{lhs.shape} {rhs.shape} {given}"
    np.testing.assert_allclose(got.astype(np.float64), want, 0, tolerance, err_msg=message)


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    made: Array = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    return made


SAME = {"padding": ((1, 1), (1, 1))}


# --- by windows ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_outputs_of_all_residues_of_a_tile(dtype: Any) -> None:
    x = normal(2, 3, 6, 9, dtype=dtype)
    for outputs in range(1, 27):
        check(x, normal(outputs, 3, 3, 2, dtype=dtype, seed=outputs))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_all_residues_of_a_strip(dtype: Any) -> None:
    w = normal(5, 2, 2, 3, dtype=dtype, seed=1)
    many = normal(40, 2, 2, 3, dtype=dtype, seed=2)  # their strips go on from row to row
    for width in range(1, 68, 2):
        x = normal(1, 2, 5, width, dtype=dtype)
        check(x, w, **SAME)
        check(x, many, **SAME)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_strides_and_dilations_of_both(stride: int, dilation: int) -> None:
    x, w = normal(2, 4, 11, 23), normal(14, 2, 3, 3, seed=1)
    steps = (stride, 1 + stride % 3)
    for holes in ((1, 1), (2, 2), (3, 2), (1, 3)):
        for padding in (((0, 0), (0, 0)), ((2, 1), (-1, 4)), ((-2, 3), (3, -2))):
            options: dict[str, Any] = {"strides": steps, "rhs_dilation": (dilation, 2)}
            check(x, w, groups=2, padding=padding, lhs_dilation=holes, **options)


def test_several_images_are_joined() -> None:
    """Images of few windows, and kernels of many bytes."""
    check(normal(9, 20, 7, 7), normal(30, 20, 2, 2, seed=1), padding=((0, 1), (0, 1)))
    check(normal(5, 64, 3, 3), normal(70, 64, 2, 3, seed=1), padding=((0, 1), (1, 1)))
    check(normal(3, 30, 5), normal(20, 30, 5, seed=1), padding=((2, 2),))


def test_more_channels_than_a_slice() -> None:
    check(normal(2, 300, 6, 8), normal(14, 300, 2, 2, seed=1))
    check(normal(1, 2, 40, 40), normal(14, 2, 30, 25, seed=1))


def test_large_images_are_divided_into_bands() -> None:
    check(normal(1, 40, 90, 100), normal(13, 40, 2, 3, seed=1), padding=((1, 0), (1, 1)))
    check(normal(1, 20, 20_000), normal(13, 20, 3, seed=1), strides=(2,))
    check(normal(1, 8, 20, 30, 30), normal(13, 8, 3, 2, 3, seed=1))


def test_one_to_three_axes() -> None:
    check(normal(3, 4, 50), normal(6, 4, 5, seed=1), padding=((2, 2),))
    check(normal(3, 4, 5, 6, 20), normal(6, 4, 3, 3, 3, seed=1), padding=((1, 1),) * 3)
    check(normal(3, 4, 3, 4, 5, 6), normal(6, 4, 2, 2, 2, 2, seed=1))
    check(normal(3, 4), normal(6, 4, seed=1))


# --- by taps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_taps_with_outputs_and_rows_of_all_residues(dtype: Any) -> None:
    for count in range(1, 36, 2):
        x, w = normal(1 + count % 15, 3, 9, 11, dtype=dtype), normal(count, 3, 8, 10, dtype=dtype)
        check(x, w, padding=((0, 1), (1, 0)))


def test_taps_in_several_parts() -> None:
    check(normal(5, 9, 30, 30), normal(33, 9, 28, 29, seed=1))
    check(normal(2, 3, 2000), normal(20, 3, 1990, seed=1), rhs_dilation=(1,))
    check(normal(7, 40, 9, 9), normal(33, 40, 4, 4, seed=1), rhs_dilation=(2, 2))


def test_taps_with_few_outputs_are_in_lanes() -> None:
    for outputs in (1, 2, 3, 4):
        w = normal(outputs * 3, 5, 20, 19, seed=outputs)
        check(normal(2, 15, 22, 21), w, groups=3)
        check(normal(1, 15, 42, 43), w, groups=3, rhs_dilation=(2, 2), strides=(1, 2))
        check(normal(2, 15, 22, 21), w[..., ::-1], groups=3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_small_planes_of_many_channels(dtype: Any) -> None:
    """Outputs are in lanes: kernels are packed in one piece, or channel by channel."""
    w, many = normal(50, 40, 3, 3, dtype=dtype, seed=1), normal(50, 80, 3, 3, dtype=dtype, seed=1)
    for size in (3, 5, 7):
        x = normal(2, 40, size, size, dtype=dtype)
        for kernels in (w, many[:, ::2], many[:, 40:], w[..., ::-1, ::-1]):
            check(x, kernels, **SAME)
            check(x, kernels, strides=(2, 2), **SAME)
    check(normal(1, 80, 5, 5, dtype=dtype), w, groups=2, strides=(2, 1), **SAME)
    check(normal(1, 200, 7, 7, dtype=dtype), normal(60, 200, 1, 1, dtype=dtype), strides=(2, 2))
    check(normal(1, 40, 7, dtype=dtype), normal(50, 40, 3, dtype=dtype, seed=1))
    check(normal(1, 40, 3, 3, 3, dtype=dtype), normal(50, 40, 3, 2, 2, dtype=dtype, seed=1))


# --- Winograd -----------------------------------------------------------------------------------


@pytest.fixture
def _transformed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transforms wherever they are possible, whatever they cost."""
    monkeypatch.setattr(Costs, "by_winograd", lambda costs: costs.f.const(0, I64))


@pytest.mark.slow
@pytest.mark.usefixtures("_transformed")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_three_by_three_kernels(dtype: Any) -> None:
    """Around tiles of 2x2 windows, rows that are parts of a vector, and several images."""
    sizes = [
        (4, 5),
        (7, 7),
        (8, 8),
        (9, 8),
        (8, 15),
        (16, 16),
        (14, 14),
        (32, 32),
        (33, 35),
        (5, 70),
    ]
    for number, (height, width) in enumerate(sizes):
        x = normal(1 + number % 4, 17 + number % 2, height, width, dtype=dtype)
        w = normal(16 + 2 * number, 17 + number % 2, 3, 3, dtype=dtype, seed=1)
        check(x, w, **SAME)
        check(x, w[..., ::-1, ::-1], padding=((0, 2), (2, 0)))
        check(x, w, padding=((-1, 0), (1, -1)))


@pytest.mark.usefixtures("_transformed")
def test_three_by_three_kernels_in_groups_and_planes() -> None:
    check(normal(3, 32, 9, 10), normal(40, 16, 3, 3, seed=1), groups=2, **SAME)
    x, w = normal(2, 20, 3, 9, 10), normal(24, 20, 1, 3, 3, seed=1)
    check(x, w, padding=((0, 0), (1, 1), (1, 1)))
    turned = np.ascontiguousarray(normal(20, 24, 3, 3, seed=1)).transpose(1, 0, 2, 3)
    check(normal(2, 20, 9, 10), turned, **SAME)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_three_by_three_kernels(dtype: Any) -> None:
    for number, (height, width) in enumerate([(8, 8), (7, 9), (16, 16), (33, 32), (10, 70)]):
        channels, outputs = 16 + 5 * number, 40 - 5 * number
        x = normal(2 + number, channels, height, width, dtype=dtype)
        g = normal(2 + number, outputs, height, width, dtype=dtype, seed=1)
        check(x.swapaxes(0, 1), g.swapaxes(0, 1), **SAME)
    x, g = normal(17, 6, 9, 9, dtype=dtype), normal(40, 3, 9, 9, dtype=dtype, seed=1)
    check(x, g, groups=2, **SAME)


@pytest.mark.usefixtures("_transformed")
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_where_it_is(bad: float) -> None:
    """Transforms would spread it to neighbours."""
    x, w = normal(2, 16, 9, 12), normal(16, 16, 3, 3, seed=1)
    x[1, 3, 4, 5] = bad
    got, want = run(x, w, **SAME), reference(x, w, **SAME)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    assert 0 < np.isfinite(got).sum() < got.size
    x, g = normal(16, 2, 9, 12), normal(16, 2, 9, 12, seed=1)
    g[3, 1, 8, 5] = bad
    got, want = run(x, g, **SAME), reference(x, g, **SAME)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.usefixtures("_transformed")
def test_large_numbers_overflow_only_where_sums_do() -> None:
    x, w = np.full((1, 16, 8, 8), 1e38, np.float32), np.zeros((16, 16, 3, 3), np.float32)
    x[:, ::2] *= -1
    w[:, :2, 1, 1] = 1
    assert np.array_equal(run(x, w, **SAME), np.zeros((1, 16, 8, 8), np.float32))


@pytest.mark.usefixtures("_transformed")
def test_errors_of_transforms_are_those_of_sums() -> None:
    """The bound of docs/compiling.md: 4 units of the largest sum of absolute terms."""
    x, w = normal(2, 64, 16, 16), normal(32, 64, 3, 3, seed=1)
    scale = reference(abs(x), abs(w), **SAME).max()
    assert abs(run(x, w, **SAME) - reference(x, w, **SAME)).max() < 4 * 2**-24 * scale
    g = normal(2, 32, 16, 16, seed=2)
    a, b = x.swapaxes(0, 1), g.swapaxes(0, 1)
    scale = reference(abs(a), abs(b), **SAME).max()
    assert abs(run(a, b, **SAME) - reference(a, b, **SAME)).max() < 4 * 2**-24 * scale


# --- layouts and dtypes -------------------------------------------------------------------------


def laid_out(x: Array, how: str) -> Array:
    """The same elements elsewhere in memory."""
    if how == "channels last":
        return np.ascontiguousarray(np.moveaxis(x, 1, -1)).swapaxes(1, -1).swapaxes(2, -1)
    if how == "turned":
        turn = (slice(None), slice(None), *[slice(None, None, -1)] * (x.ndim - 2))
        return np.ascontiguousarray(x[turn])[turn]
    if how == "apart":
        made = np.zeros((*x.shape, 2), x.dtype)
        made[..., 1] = x
        return made[..., 1]
    return np.ascontiguousarray(x.swapaxes(0, 1)).swapaxes(0, 1)


@pytest.mark.parametrize("how", ["channels last", "turned", "apart", "outputs inside"])
def test_operands_may_lie_anyhow(how: str) -> None:
    for shape, taps in (((2, 4, 9, 20), (2, 3)), ((2, 16, 9, 20), (3, 3)), ((3, 4, 9, 9), (8, 8))):
        x, w = normal(*shape), normal(18, shape[1], *taps, seed=1)
        check(laid_out(x, how), w, **SAME)
        check(x, laid_out(w, how), **SAME)
        check(laid_out(x, how), laid_out(w, how), strides=(2, 1))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_summed_up_in_f32(dtype: Any) -> None:
    for taps in ((3, 3), (2, 5), (8, 9)):
        x, w = normal(2, 20, 9, 12, dtype=dtype), normal(18, 20, *taps, dtype=dtype, seed=1)
        check(x, w, **SAME)
        check(x, w, strides=(1, 2), lhs_dilation=(2, 1), **SAME)


@pytest.mark.parametrize(
    "lhs,rhs",
    [
        ((0, 3, 5, 5), (4, 3, 3, 3)),
        ((2, 0, 5, 5), (4, 0, 3, 3)),
        ((2, 3, 5, 5), (0, 3, 3, 3)),
        ((2, 3, 0, 5), (4, 3, 1, 3)),
        ((2, 3, 2, 5), (4, 3, 3, 3)),
        ((2, 3, 5, 5), (4, 3, 0, 3)),
    ],
)
def test_empty_operands(lhs: Sequence[int], rhs: Sequence[int]) -> None:
    for holes in (1, 2):
        x, w, options = normal(*lhs), normal(*rhs), {"lhs_dilation": (holes, holes)}
        np.testing.assert_allclose(run(x, w, **options), reference(x, w, **options), 0, 1e-5)


# --- drawn cases --------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, Array, dict[str, Any]]:
    dtype = draw(st.sampled_from((np.float32, np.float64)))
    rank, groups = draw(st.integers(1, 3)), draw(st.sampled_from((1, 1, 1, 2, 5)))
    channels = draw(st.sampled_from((1, 2, 3, 16, 20, 70)))
    outputs = draw(st.sampled_from((1, 2, 7, 12, 16, 33, 50)))
    size = st.integers(1, 40 if rank < 3 else 9)
    sizes = [draw(size) for _ in range(rank)]
    taps = [draw(st.sampled_from((1, 2, 3, 3, 3, 8, 19))) for _ in range(rank)]
    seed = draw(st.integers(0, 1000))
    x = normal(draw(st.integers(1, 9)), groups * channels, *sizes, dtype=dtype, seed=seed)
    w = normal(groups * outputs, channels, *taps, dtype=dtype, seed=seed + 1)
    few = st.tuples(*[st.sampled_from((1, 1, 1, 1, 2, 3))] * rank)
    edges = st.tuples(*[st.tuples(st.integers(-2, 4), st.integers(-2, 4))] * rank)
    names = ("strides", "lhs_dilation", "rhs_dilation")
    options = {name: draw(few) for name in names}
    layouts = st.sampled_from(("none", "none", "channels last", "turned", "apart"))
    x, w = [laid_out(a, how) for a in (x, w) if (how := draw(layouts)) or True]
    return x, w, {"groups": groups, "padding": draw(edges), **options}


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_drawn_cases(case: tuple[Array, Array, dict[str, Any]]) -> None:
    x, w, options = case
    check(x, w, **options)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_many_drawn_cases(case: tuple[Array, Array, dict[str, Any]]) -> None:
    x, w, options = case
    check(x, w, **options)
