"""Golden numbers G45 to G50: convolution, pooling and their gradients, and maps of what a network
looks at. The tests of options and refusals at the end are not golden.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import array, check, check_modes, near, relu, run
from weft.frontends.nn.convolution import avg_pool, conv, max_pool

# --- G45: one dimension ---------------------------------------------------------------------------


def correlate(x: Any, kernel: Any, **options: Any) -> Any:
    """Plain sequences under the network layout."""
    return conv(x[None, None], kernel[None, None], **options)[0, 0]


def test_g45_cross_correlation_and_convolution() -> None:
    x, kernel = array(1, 2, 4, 8, 4, 2, 1), array(1, 0, -1)
    expected = array(-2, -3, -6, 0, 6, 3, 2)
    near(run(lambda x, k: correlate(x, k, padding="same"), x, kernel), expected)
    near(run(lambda x, k: np.correlate(x, k, "same"), x, kernel), expected)
    near(run(lambda x, k: correlate(x, k[::-1], padding="same"), x, kernel), -expected)
    near(run(lambda x, k: np.convolve(x, k, "same"), x, kernel), -expected)


def test_g45_gradients_of_a_rectified_convolution() -> None:
    def loss(a: Any, x: Any) -> Any:
        return np.sum(relu(correlate(x, a)))

    a, x = array(1, 2, -1), array(1, 2, 4, 7, 11)
    near(run(lambda a, x: correlate(x, a), a, x), array(1, 3, 7))
    check(loss, [a, x], 11.0, [array(7, 13, 22), array(1, 3, 2, 1, -1)])


def test_g45_a_dead_convolution_has_no_gradient() -> None:
    a, x = array(1, 0, -1), array(1, 2, 4, 7, 11)
    near(run(lambda a, x: correlate(x, a), a, x), array(-3, -5, -7))
    check(lambda a, x: np.sum(relu(correlate(x, a))), [a, x], 0.0, [np.zeros(3), np.zeros(5)])


def test_g45_circular_convolution() -> None:
    x, kernel = array(1, 2, 3, 4), array(1, 0, -1, 0)
    expected = array(-2, -2, 2, 2)

    def by_fft(x: Any, k: Any) -> Any:
        return np.real(np.fft.ifft(np.fft.fft(x) * np.fft.fft(k)))

    def by_shifts(x: Any, k: Any) -> Any:
        return sum(k[j] * np.roll(x, j) for j in range(4))

    def by_padding(x: Any, k: Any) -> Any:
        return correlate(np.pad(x, (3, 0), mode="wrap"), k[::-1])

    near(run(np.fft.fft, x), np.array([10, -2 + 2j, -2, -2 - 2j]))
    weights = array(1, 2, 3, 4)
    for function in (by_fft, by_shifts, by_padding):
        near(run(function, x, kernel), expected)
        # The derivative of a circular convolution is a circular correlation.
        slope = run(wf.grad(lambda x, f=function: np.sum(weights * f(x, kernel))), x)
        near(slope, array(-2, -2, 2, 2))


# --- G46: three channels --------------------------------------------------------------------------

X = array(
    [[2, 1, 0, 0], [0, 0, 2, 1], [0, 2, 0, 1], [2, 1, 0, 1]],
    [[2, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 0], [0, 1, 0, 1]],
    [[2, 1, 0, 0], [0, 0, 2, 1], [2, 0, 0, 0], [0, 1, 0, 1]],
)
W = array(
    [[1, 0, 0], [0, -2, 0], [0, 0, -1]],
    [[1, 2, 0], [2, 0, -1], [0, -1, 1]],
    [[0, 0, -2], [0, 1, 2], [-2, 2, 0]],
)
CHANNEL_MAPS = array(
    [[-4, -4, -1, 0], [-2, 2, -4, -2], [-1, -4, -1, 0], [-4, -2, 2, -2]],
    [[-2, 6, 3, -1], [4, 6, -1, 4], [1, -3, 5, 7], [-1, 0, 5, 2]],
    [[4, 1, 4, -2], [2, 0, 4, 1], [2, -2, -4, 2], [2, 1, 2, 1]],
)
Z = array([0, 5, 8, -1], [6, 10, 1, 5], [4, -7, 2, 11], [-1, 1, 11, 3])
Y = array([0, 5, 8, 0], [6, 10, 1, 5], [4, 0, 2, 11], [0, 1, 11, 3])
MAX_POOL_W = array(
    [[4, 2, 0], [1, 1, 4], [0, 7, 2]],
    [[4, 3, 0], [4, 0, 2], [0, 3, 4]],
    [[4, 2, 0], [1, 2, 2], [2, 3, 2]],
)
MAX_POOL_X = array(
    [[1, 0, -2, 0], [0, -2, 1, -1], [-2, 0, -1, -2], [0, -1, 0, 0]],
    [[1, 4, 0, -1], [4, 0, -1, 3], [0, -2, 3, 0], [-1, 1, 0, -1]],
    [[0, 0, -1, 2], [0, -3, 4, 0], [-1, 4, 0, 1], [2, 0, -2, 2]],
)
SHARED_W = array(
    [[4, 1.5, 0.5], [1.5, 0.5, 4.5], [0, 6.5, 2]],
    [[3, 3.5, 0], [3.5, 0, 2.5], [0, 2.5, 4]],
    [[3, 1.5, 0], [1.5, 2, 2.5], [2, 2.5, 2]],
)
AVG_POOL_W = array(
    [[1.75, 2.25, 0.75], [2.5, 1.75, 1.75], [0.75, 2, 2]],
    [[2, 2.25, 1.25], [2.25, 2.25, 1], [0.75, 1.25, 1.75]],
    [[1.75, 1.5, 0.5], [1.5, 2, 1], [0.75, 1.25, 1.25]],
)
FLIPPED_Y = array([4, 7, 8, 0], [4, 4, 8, 3], [6, 4, 2, 1], [4, 1, 1, 3])


def pre_activation(b: Any, w: Any, x: Any) -> Any:
    return conv(x[None], w[None], padding=1) + b


def layer(b: Any, w: Any, x: Any) -> Any:
    return relu(pre_activation(b, w, x))


def max_by_reshape(y: Any, size: int) -> Any:
    """Windows as axes, whose maximum shares its gradient among equals."""
    n, c, height, width = y.shape
    return np.max(y.reshape(n, c, height // size, size, width // size, size), axis=(3, 5))


def test_g46_layer_and_pools() -> None:
    near(run(lambda x, w: conv(x[None], w[:, None], padding=1, groups=3)[0], X, W), CHANNEL_MAPS)
    near(run(pre_activation, 2.0, W, X), Z[None, None])
    near(run(layer, 2.0, W, X), Y[None, None])
    near(run(layer, 2.0, W[:, ::-1, ::-1], X), FLIPPED_Y[None, None])
    highest = array([10, 8], [4, 11])[None, None]
    near(run(lambda *a: max_pool(layer(*a), 2), 2.0, W, X), highest)
    near(run(lambda *a: max_by_reshape(layer(*a), 2), 2.0, W, X), highest)
    mean = array([5.25, 3.5], [1.25, 6.75])[None, None]
    near(run(lambda *a: avg_pool(layer(*a), 2), 2.0, W, X), mean)


def test_g46_max_pool_gives_a_tie_to_the_first() -> None:
    gradients = [4.0, MAX_POOL_W, MAX_POOL_X]
    check(lambda *a: np.sum(max_pool(layer(*a), 2)), [2.0, W, X], 33.0, gradients)


def test_g46_maximum_over_axes_shares_a_tie() -> None:
    gradients = [4.0, SHARED_W]
    check(lambda *a: np.sum(max_by_reshape(layer(*a), 2)), [2.0, W, X], 33.0, gradients)


def test_g46_average_pool_and_the_kink_of_the_rectifier() -> None:
    gradients = [3.0, AVG_POOL_W]
    check(lambda *a: np.sum(avg_pool(layer(*a), 2)), [2.0, W, X], 16.75, gradients)
    slope = run(wf.grad(lambda z: np.sum(relu(z))), Z)
    assert slope[0, 0] == 0


# --- G47: strides, padding, dilation --------------------------------------------------------------

RAMP, TAPS = np.arange(1.0, 26).reshape(5, 5), array([1, 2], [3, 4])
STRIDED = {
    (1, 0, 1): (
        [[51, 61, 71, 81], [101, 111, 121, 131], [151, 161, 171, 181], [201, 211, 221, 231]],
        [[160, 176], [240, 256]],
        [[1, 3, 3, 3, 2], *[[4, 10, 10, 10, 6]] * 3, [3, 7, 7, 7, 4]],
    ),
    (2, 0, 1): (
        [[51, 71], [151, 171]],
        [[28, 32], [48, 52]],
        [*[[1, 2, 1, 2, 0], [3, 4, 3, 4, 0]] * 2, [0, 0, 0, 0, 0]],
    ),
    (1, 0, 2): (
        [[92, 102, 112], [142, 152, 162], [192, 202, 212]],
        [[63, 81], [153, 171]],
        [*[[1, 1, 3, 2, 2]] * 2, [4, 4, 10, 6, 6], *[[3, 3, 7, 4, 4]] * 2],
    ),
    (2, 1, 1): (
        [[4, 18, 32], [56, 111, 131], [116, 211, 231]],
        [[52, 78], [78, 117]],
        [*[[4, 3, 4, 3, 4], [2, 1, 2, 1, 2]] * 2, [4, 3, 4, 3, 4]],
    ),
    (2, 1, 3): (
        [[52, 96], [108, 193]],
        [[7, 18], [34, 76]],
        [[0] * 5, [0, 1, 2, 0, 2], [0, 3, 4, 0, 4], [0] * 5, [0, 3, 4, 0, 4]],
    ),
}


@pytest.mark.parametrize(("stride", "padding", "dilation"), STRIDED)
def test_g47_stride_padding_and_dilation(stride: int, padding: int, dilation: int) -> None:
    y, w_bar, x_bar = (array(*rows) for rows in STRIDED[stride, padding, dilation])

    def image(x: Any, w: Any) -> Any:
        return conv(x[None, None], w[None, None], stride, padding, rhs_dilation=dilation)[0, 0]

    near(run(image, RAMP, TAPS), y)
    check(lambda x, w: np.sum(image(x, w)), [RAMP, TAPS], np.sum(y), [x_bar, w_bar])


def test_g47_pools() -> None:
    image = RAMP[None, None]
    near(run(lambda x: max_pool(x, 2, 2), image)[0, 0], array([7, 9], [17, 19]))
    near(run(lambda x: avg_pool(x, 2, 2), image)[0, 0], array([4, 6], [14, 16]))


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "expected"),
    [
        (13, 2, 2, 0, 1, 6),
        (13, 3, 2, 0, 1, 6),
        (32, 3, 1, 1, 1, 32),
        (7, 3, 1, 0, 2, 3),
        (227, 11, 4, 0, 1, 55),
        (224, 7, 2, 3, 1, 112),
        (10, 3, 2, 1, 2, 4),
        (100, 3, 1, 0, 1, 98),
    ],
)
def test_g47_output_sizes(
    size: int, kernel: int, stride: int, padding: int, dilation: int, expected: int
) -> None:
    def convolved(x: Any, w: Any) -> Any:
        return conv(x, w, stride, padding, rhs_dilation=dilation)

    def pooled(x: Any) -> Any:
        return max_pool(x, kernel, stride, padding, dilation)

    x, w = wf.spec(f"f32[n, 3, {size}]"), wf.spec(f"f32[8, 3, {kernel}]")
    assert wf.trace(convolved)(x, w).results[0].type.shape[2] == expected
    assert wf.trace(pooled)(x).results[0].type.shape[2] == expected
    of_any_size = wf.jit(convolved, specs=(wf.spec("f32[n, 3, k]"), w))
    ones = np.ones((2, 3, size), np.float32), np.ones((8, 3, kernel), np.float32)
    assert of_any_size(*ones).shape == (2, 8, expected)


def test_g47_pooled_size_of_a_long_sequence() -> None:
    graph = wf.trace(lambda x, w: max_pool(conv(x, w), 2))(
        wf.spec("f32[1, 1, 100]"), np.ones((1, 1, 3))
    )
    assert graph.results[0].type.shape == (1, 1, 49)


# --- G48: fixed filters ---------------------------------------------------------------------------

FILTERS: dict[str, Any] = {
    "identity": ([[0, 0, 0], [0, 1, 0], [0, 0, 0]], 25.0, 1.0),
    "edge": ([[0, -1, 0], [-1, 4, -1], [0, -1, 0]], -20.0, 0.0),
    "sharpen": ([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], 5.0, 1.0),
    "box": ([[1 / 9] * 3] * 3, 31.6666666667, 1.0),
    "sobel x": ([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], 80.0, 0.0),
    "sobel y": ([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], 240.0, 0.0),
}
GAUSSIAN = array(
    [1, 4, 7, 4, 1], [4, 16, 26, 16, 4], [7, 26, 41, 26, 7], [4, 16, 26, 16, 4], [1, 4, 7, 4, 1]
)


def test_g48_fixed_filters() -> None:
    kernels = np.stack([array(*kernel) for kernel, _, _ in FILTERS.values()])[:, None]
    squares = np.arange(1.0, 10).reshape(1, 1, 3, 3) ** 2
    responses = run(conv, squares, kernels)[0, :, 0, 0]
    near(responses, array(*[response for _, response, _ in FILTERS.values()]))
    flat = run(conv, np.full((1, 1, 5, 5), 7.0), kernels)[0]
    factors = array(*[factor for _, _, factor in FILTERS.values()])
    near(flat, 7 * np.ones((6, 3, 3)) * factors[:, None, None])


def test_g48_gaussian_kernel() -> None:
    near(run(np.sum, GAUSSIAN), 273.0)
    blurred = run(
        lambda x, k: conv(x, k[None, None] / np.sum(k)), np.full((1, 1, 5, 5), 7.0), GAUSSIAN
    )
    near(blurred, np.full((1, 1, 1, 1), 7.0))


# --- G49: transposed convolution ------------------------------------------------------------------


def transposed(x: Any, w: Any, stride: int) -> Any:
    """The adjoint of `conv` with the same w [O, C, *spatial], from [N, O, *] to [N, C, *]."""
    axes = tuple(range(2, w.ndim))
    padding = [(size - 1, size - 1) for size in w.shape[2:]]
    return conv(x, np.flip(w.swapaxes(0, 1), axes), 1, padding, lhs_dilation=stride)


TRANSPOSED = [
    (array(1, 2, 3), array(1, 0, -1), 1, array(1, 2, 2, -2, -3)),
    (array(1, 2, 3), array(1, 0, -1), 2, array(1, 0, 1, 0, 1, 0, -3)),
    (TAPS, TAPS, 1, array([1, 4, 4], [6, 20, 16], [9, 24, 16])),
    (TAPS, TAPS, 2, array([1, 2, 2, 4], [3, 4, 6, 8], [3, 6, 4, 8], [9, 12, 12, 16])),
]


@pytest.mark.parametrize(("x", "kernel", "stride", "expected"), TRANSPOSED)
def test_g49_transposed_convolution(x: Any, kernel: Any, stride: int, expected: Any) -> None:
    made = run(lambda x, k: transposed(x[None, None], k[None, None], stride), x, kernel)
    near(made[0, 0], expected)
    back = wf.linear_transpose(lambda y: conv(y, kernel[None, None], stride), expected[None, None])
    near(run(back, x[None, None])[0], made)


def test_g49_transposed_convolution_is_the_adjoint() -> None:
    random = np.random.default_rng(0)
    w = random.standard_normal((4, 3, 3, 2))
    x = random.standard_normal((2, 3, 9, 8))
    y = random.standard_normal((2, 4, 4, 4))
    left = np.sum(run(lambda x, w: conv(x, w, 2), x, w) * y)
    right = np.sum(x * run(lambda y, w: transposed(y, w, 2), y, w))
    near(left, right)
    check_modes(lambda y, w: np.sum(np.sin(transposed(y, w, 2))), [y, w], (0, 1))


# --- G50: class activation maps -------------------------------------------------------------------


def test_g50_class_activation_maps() -> None:
    maps = array([[1, 2], [3, 4]], [[0, 1], [1, 6]])
    weights = array(2, -1)

    def score(maps: Any) -> Any:
        return weights @ np.mean(maps, axis=(1, 2))

    def grad_cam(maps: Any) -> Any:
        alpha = np.mean(wf.grad(score)(maps), axis=(1, 2))
        return relu(np.einsum("k,kij->ij", alpha, maps))

    near(run(lambda w, maps: np.einsum("k,kij->ij", w, maps), weights, maps), array([2, 3], [5, 2]))
    check(score, [maps], 3.0, [np.full((2, 2, 2), 0.25) * weights[:, None, None]])
    near(run(grad_cam, maps), array([0.5, 0.75], [1.25, 0.5]))


# --- options and refusals -------------------------------------------------------------------------


def test_same_padding_makes_one_window_per_stride() -> None:
    for size in range(1, 9):
        for stride in (1, 2, 3):
            x, w = wf.spec(f"f32[1, 1, {size}]"), wf.spec("f32[1, 1, 3]")
            graph = wf.trace(lambda x, w, s=stride: conv(x, w, s, "same"))(x, w)
            assert graph.results[0].type.shape[2] == -(-size // stride)


def test_average_pool_may_leave_padding_out_of_the_count() -> None:
    x = np.ones((1, 1, 3))
    near(run(lambda x: avg_pool(x, 2, 2, [(1, 0)]), x)[0, 0], array(0.5, 1))
    near(run(lambda x: avg_pool(x, 2, 2, [(1, 0)], count_padding=False), x)[0, 0], array(1, 1))


def test_max_pool_never_takes_padding() -> None:
    x = array(-3, -1, -2)[None, None]
    near(run(lambda x: max_pool(x, 2, 2, [(1, 0)]), x)[0, 0], array(-3, -1))
    near(run(lambda x: max_pool(x, 2, 1, 0, 2), x)[0, 0], array(-2))


def test_pooling_outside_of_a_trace_computes_at_once() -> None:
    made = max_pool(RAMP[None, None], 2)
    assert isinstance(made, np.ndarray)
    near(made[0, 0], array([7, 9], [17, 19]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: conv(x[0], w), "conv takes"),
        (lambda x, w: conv(x, w[0]), "as many axes"),
        (lambda x, w: conv(x, w, strides=0), "strides must be"),
        (lambda x, w: conv(x, w, rhs_dilation=(1, 1)), "rhs_dilation must be"),
        (lambda x, w: conv(x, w, padding="full"), "padding must be"),
        (lambda x, w: conv(x, w, padding=[(1, 2, 3)]), "padding must be"),
        (lambda x, w: max_pool(x, (2, 2)), "window must be"),
        (lambda x, w: avg_pool(x.astype("i8"), 2), "floating-point"),
    ],
)
def test_wrong_options_are_refused(call: Any, message: str) -> None:
    x, w = np.ones((1, 1, 5)), np.ones((1, 1, 3))
    with pytest.raises(wf.WeftError, match=message):
        wf.trace(call)(x, w)
