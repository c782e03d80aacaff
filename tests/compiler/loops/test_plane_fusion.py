"""What goes on with a convolution's planes while it runs: the same numbers as without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft as wf

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)


def arrays(
    images: int, channels: int, outputs: int, size: tuple[int, ...], taps: int = 3, groups: int = 1
) -> tuple[Array, Array, Array]:
    x = RNG.standard_normal((images, channels, *size))
    w = RNG.standard_normal((outputs, channels // groups, *[taps] * len(size)))
    b = RNG.standard_normal((outputs, *[1] * len(size)))
    return x.astype("f4"), (w / np.sqrt(w[0].size)).astype("f4"), b.astype("f4")


def convolve(x: Any, w: Any, **options: Any) -> Any:
    return wf.conv(x, w, padding="same", **options)


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "bias and relu": lambda x, w, b: relu(convolve(x, w) + b),
    "gelu": lambda x, w, b: (y := convolve(x, w) + b) * 0.5 * (1 + np.tanh(0.8 * y)),
    "scale and cast": lambda x, w, b: (convolve(x, w) * 0.125).astype(np.float64),
    "residual": lambda x, w, b: relu(convolve(x, w) + x[:, : len(w)]),
    "maxima": lambda x, w, b: wf.max_pool(relu(convolve(x, w) + b), 2),
    "averages": lambda x, w, b: wf.avg_pool(convolve(x, w), 3, strides=1, padding=1),
    "averages of planes": lambda x, w, b: convolve(x, w).mean(axis=(2, 3)),
    "pooled twice": lambda x, w, b: wf.max_pool(wf.max_pool(convolve(x, w), 2) + b, 2),
    "both": lambda x, w, b: (y := relu(convolve(x, w) + b), wf.max_pool(y, 2)),
    "over images": lambda x, w, b: np.tanh(convolve(x, w)).sum(axis=0),
    "slope": lambda x, w, b: wf.grad(lambda x: np.sum(convolve(relu(x), w) ** 2))(x),
}
SHAPES = {
    "few images": (3, 16, 20, (8, 8)),
    "wide": (2, 16, 16, (70, 66)),
    "small images": (9, 32, 36, (4, 4)),
    "no transforms": (4, 5, 7, (11, 12)),
}


def chains(f: Any) -> list[list[str]]:
    (version,) = f._cache.values()
    code = version.program.code
    found = code.plan.order.consumers
    assert set(code.schedule.by_rows) == {node for chain in found.values() for node in chain.nodes}
    return [[type(node).__name__ for node in chain.nodes] for chain in found.values()]


def flat(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check(function: Callable[..., Any], values: tuple[Array, ...]) -> Any:
    """The compiled function, after it gave what the reference gives, in the same bits for any
    number of threads.
    """
    f = wf.jit(function)
    wanted = wf.jit(function, backend="reference")(*values)
    made = []
    for count in (1, 2, 3):
        with wf.threads(count):
            made.append(flat(f(*values)))
    for result in made[1:]:
        for one, other in zip(result, made[0], strict=True):
            assert one.tobytes() == other.tobytes()
    for got, want in zip(made[0], flat(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)
    return f


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_planes_are_followed(name: str, shape: str) -> None:
    images, channels, outputs, size = SHAPES[shape]
    outputs = min(outputs, channels) if name == "residual" else outputs
    f = check(FUNCTIONS[name], arrays(images, channels, outputs, size))
    assert bool(chains(f)) == (name != "over images")


def test_a_pooling_follows_what_follows() -> None:
    f = wf.jit(FUNCTIONS["maxima"])
    f(*arrays(*SHAPES["few images"]))
    assert chains(f) == [["FusionGroup", "OpaqueNode"]]
    told = f.explain()
    assert "plane by plane with it: kernel over 3 x 20 x 8 x 8: maximum, add" in told
    assert "plane by plane with it: reduce_window" in told
    (part,) = f.profile(*arrays(*SHAPES["few images"])).parts
    assert "plane by plane with it: reduce_window" in part.name


@pytest.mark.parametrize(
    ("options", "size", "taps"),
    [
        ({"groups": 4}, (12, 12), 3),
        ({"groups": 16}, (24, 24), 3),
        ({"strides": 2}, (13, 12), 3),
        ({}, (12, 12), 1),
        ({}, (40,), 3),
        ({}, (5, 6, 7), 3),
        ({"rhs_dilation": 2}, (12, 12), 3),
    ],
)
def test_other_convolutions(options: dict[str, Any], size: tuple[int, ...], taps: int) -> None:
    values = arrays(3, 16, 16, size, taps, options.get("groups", 1))
    f = check(lambda x, w, b: wf.max_pool(relu(convolve(x, w, **options) + b), 2), values)
    assert chains(f) == [["FusionGroup", "OpaqueNode"]]


@pytest.mark.parametrize(
    ("images", "channels", "size", "taps"),
    [
        (1, 16, (39, 32), 3),  # transforms, an odd number of lines
        (1, 16, (40, 131), 3),
        (2, 40, (64, 80), 3),
        (1, 5, (50, 48), 3),  # no transforms
        (1, 16, (70, 64), 5),
        (1, 16, (6, 12, 32), 3),
    ],
)
def test_lines_of_large_planes_are_followed(
    images: int, channels: int, size: tuple[int, ...], taps: int
) -> None:
    values = arrays(images, channels, channels, size, taps)
    f = check(lambda x, w, b: relu(convolve(x, w) + b) + x, values)
    assert chains(f) == [["FusionGroup"]]
    assert "line by line with it: kernel over" in f.explain()
    g = check(lambda x, w, b: wf.avg_pool(convolve(x, w), 2), values)
    assert chains(g) == [["OpaqueNode", "FusionGroup"]]
    assert "plane by plane with it: reduce_window" in g.explain()


def test_what_makes_little_at_a_time_is_not_followed() -> None:
    x, w, _ = arrays(3, 16, 16, (12, 12), groups=16)
    f = check(lambda x, w: relu(convolve(x, w, groups=16)), (x, w))
    assert chains(f) == []


def test_a_result_takes_the_place_of_the_convolution() -> None:
    f = wf.jit(FUNCTIONS["bias and relu"])
    assert f.memory(*arrays(*SHAPES["few images"])).peak == 0


def steps(r: Any, x: Any, w: Any) -> Any:
    return wf.fori_loop(0, 3, lambda i, r: relu(convolve(x, w) + r) * 0.5 + r, r)


@pytest.mark.parametrize(("images", "size"), [(6, (10, 10)), (1, (40, 32))])
@pytest.mark.parametrize("wrong", [np.inf, np.nan])
@pytest.mark.parametrize(
    "function",
    [
        lambda r, x, w: relu(convolve(x, w) + r),
        lambda r, x, w: wf.max_pool(relu(convolve(x, w) + r), 2),
        lambda r, x, w: relu(convolve(x, w) + np.sin(r)),
        steps,
    ],
)
def test_what_is_not_finite_is_followed_once(
    function: Callable[..., Any], wrong: float, images: int, size: tuple[int, int]
) -> None:
    """Transforms spread infinities, so all is computed again: followers see the new planes, and
    what they read besides these is as it was, even where it could be written over.
    """
    x, w, _ = arrays(images, 16, 16, size)
    r = arrays(images, 16, 16, size)[0]
    x[-1, 3, 4, 5] = wrong
    wanted = wf.jit(function, backend="reference")(r, x, w)
    made = wf.jit(function, donate=0)(r.copy(), x, w)
    np.testing.assert_allclose(made, wanted, rtol=2e-3, atol=2e-4)


def test_sizes_that_the_run_tells() -> None:
    specs = [wf.spec("f32[n>=0, 16, h>=3, w>=3]"), wf.spec("f32[20, 16, 3, 3]")]
    f = wf.jit(lambda x, w: wf.max_pool(relu(wf.conv(x, w)), 1), specs=specs)
    for shape in ((2, 16, 9, 9), (1, 16, 40, 64), (0, 16, 5, 5), (3, 16, 3, 3)):
        x, w = RNG.standard_normal(shape).astype("f4"), arrays(1, 16, 20, (3, 3))[1]
        want = wf.jit(lambda x, w: relu(wf.conv(x, w)), backend="reference")(x, w)
        np.testing.assert_allclose(f(x, w), want, rtol=2e-3, atol=2e-4)


@settings(max_examples=8, deadline=None)
@given(
    images=st.integers(1, 5),
    channels=st.integers(1, 20),
    outputs=st.integers(1, 20),
    size=st.tuples(st.integers(4, 20), st.integers(4, 20)),
    pool=st.integers(1, 3),
    strides=st.integers(1, 2),
)
def test_any_sizes(
    images: int, channels: int, outputs: int, size: tuple[int, int], pool: int, strides: int
) -> None:
    def function(x: Any, w: Any, b: Any) -> Any:
        made = relu(convolve(x, w, strides=strides) + b)
        return wf.max_pool(made, pool, strides=1), made.sum(axis=(2, 3))

    def loss(x: Any, w: Any, b: Any) -> Any:
        pooled, sums = function(x, w, b)
        return np.sum(pooled**2) + np.sum(sums)

    values = arrays(images, channels, outputs, size)
    check(function, values)
    check(lambda x, w, b: tuple(wf.grad(loss, (0, 1, 2))(x, w, b)), values)
