"""`weft.scipy.linalg`, `signal` and `ndimage` against SciPy's, with gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf
import weft.scipy

Array = np.ndarray[Any, Any]
GENERATOR = np.random.default_rng(0)
A = GENERATOR.standard_normal((4, 4)) + 4 * np.eye(4)
POSITIVE = A @ A.T
B = GENERATOR.standard_normal((4, 2))


def agree(name: str, *operands: Any, rtol: float = 1e-11, **options: Any) -> None:
    """Require that a function gives the same as SciPy's, compiled and at once."""
    module, function = name.split(".")
    ours = getattr(getattr(weft.scipy, module), function)
    theirs = getattr(__import__(f"scipy.{module}", fromlist=["x"]), function)
    expected = theirs(*operands, **options)
    arrays = [x for x in operands if isinstance(x, np.ndarray)]

    def rebuilt(*given: Any) -> Any:
        remaining = iter(given)
        args = [next(remaining) if isinstance(x, np.ndarray) else x for x in operands]
        return ours(*args, **options)

    for made in (wf.jit(rebuilt)(*arrays), ours(*operands, **options)):
        parts = zip(made, expected, strict=True) if isinstance(made, tuple) else [(made, expected)]
        for one, other in parts:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


# --- linalg ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("trans", [0, 1, 2, "T"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_solve_triangular(trans: Any, lower: bool, unit_diagonal: bool) -> None:
    flags = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    agree("linalg.solve_triangular", A, B, **flags)
    agree("linalg.solve_triangular", A, B[:, 0], **flags)


@pytest.mark.parametrize("lower", [False, True])
def test_solves_by_cholesky(lower: bool) -> None:
    agree("linalg.cholesky", POSITIVE, lower=lower)
    factor = scipy.linalg.cho_factor(POSITIVE, lower=lower)
    made = wf.jit(lambda c, b: weft.scipy.linalg.cho_solve((c, lower), b))(factor[0], B)
    np.testing.assert_allclose(made, scipy.linalg.cho_solve(factor, B), rtol=1e-11)

    def solved(a: Any, b: Any) -> Any:
        made = weft.scipy.linalg.cho_factor((a + a.T) / 2, lower=lower)
        return weft.scipy.linalg.cho_solve(made, b)

    wf.check_grads(solved, (POSITIVE, B), order=1)


def test_other_solves_and_factors() -> None:
    agree("linalg.solve", A, B)
    agree("linalg.solve", POSITIVE, B, assume_a="pos")
    agree("linalg.lu", A)
    agree("linalg.lu", A[:, :2], permute_l=True)
    agree("linalg.lu_factor", A)
    packed, pivots = scipy.linalg.lu_factor(A)
    for trans in (0, 1):
        made = wf.jit(lambda p, b, t=trans: weft.scipy.linalg.lu_solve((p, pivots), b, t))(
            packed, B
        )
        np.testing.assert_allclose(
            made, scipy.linalg.lu_solve((packed, pivots), B, trans), rtol=1e-10
        )
    agree("linalg.expm", A / 4)
    agree("linalg.det", A)
    agree("linalg.inv", A)
    agree("linalg.svdvals", A)
    made = weft.scipy.linalg.svd(A)
    np.testing.assert_allclose(made[0] * made[1] @ made[2], A, rtol=1e-11, atol=1e-11)


def test_matrices_of_a_structure() -> None:
    c, r = np.array([1.0, 2.0, 3.0]), np.array([1.0, 7.0])
    agree("linalg.toeplitz", c)
    agree("linalg.toeplitz", c, r)
    agree("linalg.hankel", c)
    agree("linalg.hankel", c, np.array([3.0, 8.0]))
    agree("linalg.circulant", c)
    agree("linalg.companion", c)
    agree("linalg.block_diag", A, c, B)
    np.testing.assert_array_equal(weft.scipy.linalg.hilbert(3), scipy.linalg.hilbert(3))
    np.testing.assert_array_equal(weft.scipy.linalg.kron(A, B), np.kron(A, B))
    wf.check_grads(weft.scipy.linalg.toeplitz, (c, r), order=1)


# --- signal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["fftconvolve", "convolve", "correlate"])
def test_convolutions(name: str, mode: str) -> None:
    x, k = GENERATOR.standard_normal(9), GENERATOR.standard_normal(4)
    plane, small = GENERATOR.standard_normal((6, 7)), GENERATOR.standard_normal((3, 2))
    agree(f"signal.{name}", x, k, mode=mode)
    agree(f"signal.{name}", plane, small, mode=mode)
    agree(f"signal.{name}", x + 1j, k - 2j, mode=mode)
    agree(f"signal.{name}", x.astype(np.float32), k.astype(np.float32), mode=mode, rtol=1e-5)
    function = getattr(weft.scipy.signal, name)
    wf.check_grads(lambda x, k: function(x, k, mode=mode), (plane, small), order=1)


@pytest.mark.parametrize("boundary", ["fill", "symm", "wrap"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_convolutions_in_the_plane(name: str, mode: str, boundary: str) -> None:
    plane, kernel = GENERATOR.standard_normal((6, 7)), GENERATOR.standard_normal((3, 2))
    agree(f"signal.{name}", plane, kernel, mode=mode, boundary=boundary)
    if boundary == "fill":
        agree(f"signal.{name}", plane, kernel, mode=mode, fillvalue=1.5)


def test_other_signals() -> None:
    x = GENERATOR.standard_normal((3, 8))
    agree("signal.fftconvolve", x, x, axes=1)
    agree("signal.convolve", np.arange(5), np.arange(3))
    agree("signal.convolve", x[0], x[1], method="fft")
    agree("signal.detrend", x)
    agree("signal.detrend", x, axis=0, type="constant")
    agree("signal.hilbert", x)
    agree("signal.hilbert", x[:, :7])


# --- ndimage --------------------------------------------------------------------------------------

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
IMAGE = GENERATOR.standard_normal((6, 7))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_filters(name: str, mode: str) -> None:
    for size in ((3, 3), (2, 4), (5, 1)):
        weights = GENERATOR.standard_normal(size)
        agree(f"ndimage.{name}", IMAGE, weights, mode=mode, cval=0.5)
    agree(f"ndimage.{name}", IMAGE, GENERATOR.standard_normal((3, 3)), mode=mode, origin=(1, -1))
    function = getattr(weft.scipy.ndimage, name)
    wf.check_grads(lambda x, w: function(x, w, mode=mode), (IMAGE, np.ones((3, 2))), order=1)


@pytest.mark.parametrize("mode", MODES)
def test_filters_along_axes(mode: str) -> None:
    line = np.array([1.0, -2.0, 0.5, 3.0])
    for axis in (0, -1):
        agree("ndimage.convolve1d", IMAGE, line, axis=axis, mode=mode)
        agree("ndimage.correlate1d", IMAGE, line, axis=axis, mode=mode, origin=1)
        agree("ndimage.gaussian_filter1d", IMAGE, 1.2, axis=axis, mode=mode)
        agree("ndimage.uniform_filter1d", IMAGE, 4, axis=axis, mode=mode)
        agree("ndimage.sobel", IMAGE, axis=axis, mode=mode)
        agree("ndimage.prewitt", IMAGE, axis=axis, mode=mode)
    agree("ndimage.gaussian_filter", IMAGE, (0.8, 1.5), mode=mode)
    agree("ndimage.uniform_filter", IMAGE, 3, mode=mode)
    agree("ndimage.laplace", IMAGE, mode=mode)


@pytest.mark.parametrize("mode", [*MODES, "grid-wrap", "grid-constant", "grid-mirror"])
@pytest.mark.parametrize("order", range(6))
@settings(max_examples=2, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6))
def test_map_coordinates(order: int, mode: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    places = generator.uniform(-9, 30, (2, 8))
    # SciPy's splines are not exact where a small image is reflected.
    image = IMAGE if order < 2 else generator.normal(size=(26, 24))
    expected = scipy.ndimage.map_coordinates(image, places, order=order, mode=mode, cval=0.25)
    made = weft.scipy.ndimage.map_coordinates(image, places, order=order, mode=mode, cval=0.25)
    np.testing.assert_allclose(made, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_splines_go_through_the_pixels(order: int) -> None:
    places = np.indices(IMAGE.shape).reshape(2, -1).astype(float)
    for mode in ("reflect", "mirror", "grid-wrap"):
        made = weft.scipy.ndimage.map_coordinates(IMAGE, places, order=order, mode=mode)
        np.testing.assert_allclose(made, IMAGE.ravel(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", [1, 3])
def test_map_coordinates_has_gradients(order: int) -> None:
    places = GENERATOR.uniform(0.1, 4.9, (2, 5))
    function = weft.scipy.ndimage.map_coordinates
    wf.check_grads(lambda x, p: function(x, [p[0], p[1]], order=order), (IMAGE, places), order=1)


def test_map_coordinates_of_integers() -> None:
    places = GENERATOR.uniform(0.1, 4.9, (2, 5))
    function = weft.scipy.ndimage.map_coordinates
    whole = np.arange(12).reshape(3, 4)
    expected = scipy.ndimage.map_coordinates(whole, places[:, :3] / 2.5, order=1)
    np.testing.assert_array_equal(function(whole, places[:, :3] / 2.5, order=1), expected)


def test_what_is_not_traced_says_so() -> None:
    for module, name in (("linalg", "schur"), ("signal", "remez"), ("ndimage", "label")):
        with pytest.raises(AttributeError, match=f"scipy.{module}.{name} has no traced version"):
            getattr(getattr(weft.scipy, module), name)
    with pytest.raises(wf.TraceError, match="give radius="):
        wf.jit(lambda x, s: weft.scipy.ndimage.gaussian_filter(x, s))(IMAGE, 1.0)
    with pytest.raises(wf.TraceError, match="from 0 to 5"):
        weft.scipy.ndimage.map_coordinates(IMAGE, np.zeros((2, 1)), order=6)
