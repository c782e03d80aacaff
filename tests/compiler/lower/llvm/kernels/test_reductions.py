"""Reductions along all axes: in the order of memory, in parts, with the same bits on all threads.

Sums of small whole numbers are exact in every order, so they are compared to the last bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import weft as wf

Axes = tuple[int, ...]

SHAPES = [(140001,), (300, 459), (64, 49, 47), (13, 27, 18, 22)]
LARGE = [(9, 10, 11, 12, 13), (9000, 17), (17, 9000), (500, 3, 90), (30000, 2, 3), (2, 3, 30000)]


def subsets(shape: tuple[int, ...]) -> list[Axes]:
    axes = range(len(shape))
    return [chosen for n in axes for chosen in itertools.combinations(axes, n + 1)]


def cases(shapes: list[tuple[int, ...]]) -> list[Any]:
    return [pytest.param(s, a, id=f"{s} over {a}") for s in shapes for a in subsets(s)]


def wholes(shape: tuple[int, ...], dtype: str = "f4", seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def on_threads(f: Any, *arguments: Any) -> Any:
    """The result, which is the same for 1, 2 and 4 threads."""
    made = []
    for count in (1, 2, 4):
        with wf.threads(count):
            made.append(np.asarray(f(*arguments)))
    assert made[0].tobytes() == made[1].tobytes() == made[2].tobytes()
    return made[0]


def assert_sums(x: Any, axes: Axes) -> None:
    made = on_threads(wf.jit(lambda x: (x * x + x).sum(axis=axes)), x)
    np.testing.assert_array_equal(made, (x * x + x).sum(axis=axes))


@pytest.mark.parametrize(("shape", "axes"), cases(SHAPES))
def test_sums_along_all_axes(shape: tuple[int, ...], axes: Axes) -> None:
    assert_sums(wholes(shape), axes)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "axes"), cases(LARGE))
def test_sums_along_all_axes_of_more_shapes(shape: tuple[int, ...], axes: Axes) -> None:
    assert_sums(wholes(shape), axes)
    assert_sums(wholes(shape, "f8")[::-1, ...], axes)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 33, 64, 130]), min_size=1, max_size=5),
    st.data(),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_sums_of_any_shape_order_and_stride(sizes: list[int], data: Any) -> None:
    assume(1 << 16 < np.prod(sizes) < 1 << 21)
    order = data.draw(st.permutations(range(len(sizes))))
    steps = data.draw(st.lists(st.sampled_from([1, 1, -1, 2]), min_size=5, max_size=5))
    x = wholes(tuple(sizes)).transpose(order)[
        tuple(slice(None, None, s) for s in steps[: len(sizes)])
    ]
    axes = data.draw(st.sets(st.sampled_from(range(len(sizes))), min_size=1))
    assert_sums(x, tuple(sorted(axes)))


KINDS: dict[str, Callable[[Any, Axes], Any]] = {
    "max": lambda x, axes: x.max(axis=axes),
    "min": lambda x, axes: x.min(axis=axes) * 2 + 1,
    "product": lambda x, axes: (1 + (x > 3.9) * (x < 3.95)).prod(axis=axes),
    "any": lambda x, axes: (x > 3.9).any(axis=axes),
    "all": lambda x, axes: (x > -3.9).all(axis=axes),
    "several": lambda x, axes: np.stack((x.max(axis=axes), x.min(axis=axes))),
    "argmax": lambda x, axes: x.argmax(axis=axes[0]),
    "argmin": lambda x, axes: np.round(x).argmin(axis=axes[0]),
}


@pytest.mark.parametrize("shape", [(50000, 9), (20000, 70), (9, 50000), (140000,)])
@pytest.mark.parametrize("axis", [0, -1])
def test_places_of_extremes_in_parts(shape: tuple[int, ...], axis: int) -> None:
    """The first of many equal ones, and the first NaN."""
    x = np.random.default_rng(2).integers(0, 9, shape).astype("f4")
    for of in (np.argmax, np.argmin):
        f = wf.jit(lambda x, of=of: of(x, axis=axis))
        np.testing.assert_array_equal(on_threads(f, x), of(x, axis=axis))
    x.ravel()[x.size // 3 :: x.size // 5] = np.nan
    np.testing.assert_array_equal(
        on_threads(wf.jit(lambda x: x.argmax(axis=axis)), x), x.argmax(axis=axis)
    )


@pytest.mark.parametrize("axes", [(0,), (0, 2), (1,)])
@pytest.mark.parametrize("name", KINDS)
def test_other_reductions(name: str, axes: Axes) -> None:
    x = np.random.default_rng(1).standard_normal((64, 49, 47)).astype("f4")
    made = on_threads(wf.jit(lambda x: KINDS[name](x, axes)), x)
    np.testing.assert_array_equal(made, KINDS[name](x, axes))


@pytest.mark.parametrize("dtype", ["f8", "c8", "i4", "i1", "u8", "f2"])
@pytest.mark.parametrize("axes", [(0, 2), (0, 1)])
def test_dtypes(dtype: str, axes: Axes) -> None:
    x = np.abs(wholes((64, 49, 47), dtype))
    made = on_threads(wf.jit(lambda x: x.sum(axis=axes)), x)
    wanted = x.astype("f4").sum(axis=axes).astype("f2") if dtype == "f2" else x.sum(axis=axes)
    np.testing.assert_array_equal(made, wanted)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda x: x.transpose(2, 0, 1),
    "every other": lambda x: x[::2, ::-1, 1::2],
    "stretched": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("axes", [(0,), (0, 2), (1,), (1, 2)])
@pytest.mark.parametrize("view", VIEWS)
def test_strided_arguments(view: str, axes: Axes) -> None:
    assert_sums(VIEWS[view](wholes((132, 70, 71))), axes)


@pytest.mark.parametrize("axes", [(0,), (0, 2), (1,), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(0, 400, 400), (400, 0, 400), (400, 400, 0)])
def test_no_elements(shape: tuple[int, ...], axes: Axes) -> None:
    x = np.zeros(shape, "f4")
    np.testing.assert_array_equal(wf.jit(lambda x: x.sum(axis=axes))(x), x.sum(axis=axes))


@pytest.mark.parametrize("axes", [(0,), (0, 2), (0, 1)])
def test_nan_and_infinity_stay_in_their_places(axes: Axes) -> None:
    x = wholes((64, 49, 47))
    x[7, 3, 9], x[11, 5, 2], x[12, 5, 2] = np.nan, np.inf, -np.inf
    for kind in (np.sum, np.max, np.min):
        made = on_threads(wf.jit(lambda x, kind=kind: kind(x, axis=axes)), x)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(made, kind(x, axis=axes))


@pytest.mark.parametrize("axes", [(0,), (0, 2), (1,), (0, 1)])
@pytest.mark.parametrize("spec", ["f32[n, 64, 40]", "f32[60, n, 40]", "f32[n, m, k]"])
def test_symbolic_sizes(spec: str, axes: Axes) -> None:
    f = wf.jit(lambda x: (x * x).sum(axis=axes), specs=[wf.spec(spec)])
    for size in (1, 30, 64):
        shape = (60, size, 40) if "[60" in spec else (size, 64, 40)
        x = wholes(shape)
        np.testing.assert_array_equal(on_threads(f, x), (x * x).sum(axis=axes))


def batch_norm(x: Any, scale: Any) -> Any:
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    variance = x.var(axis=(0, 2, 3), keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * scale[:, None, None]


def test_batch_norm_and_its_gradient() -> None:
    random = np.random.default_rng(0)
    x, scale = random.standard_normal((32, 6, 30, 31)), random.standard_normal(6)
    np.testing.assert_allclose(wf.jit(batch_norm)(x, scale), batch_norm(x, scale), rtol=1e-9)
    step = wf.grad(lambda x, scale: (batch_norm(x, scale) ** 3).sum(), (0, 1))
    for made, wanted in zip(wf.jit(step)(x, scale), step(x, scale), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-7, atol=1e-7)
