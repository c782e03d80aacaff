"""Derivative and batching rules of convolution and of the window ops: every row of their tables,
the golden gradients of SYSTEMS G45 to G49, symbolic sizes, ties, and how few ops the rules take.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.compiler.ops import rows_convolution, rows_window
from tests.compiler.ops.rows_convolution import (
    G46_BIAS,
    G46_IMAGE_GRADIENT,
    G46_KERNEL_GRADIENT,
    G46_W,
    G46_X,
    G46_Z,
    G47_W,
    G47_X,
)
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
    run,
    trace,
    vjp_region,
)
from weft.compiler.ir import dims
from weft.compiler.ir.build import constant
from weft.compiler.ir.dtypes import f64
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import arithmetic, logic, reduction
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.window import reduce_window, window_argmax
from weft.compiler.transforms import derive

CHECKS = (check_types, check_jvp, check_vjp, check_second_order, check_batch)


@pytest.mark.slow
def test_convolutions_agree_with_differences_and_loops() -> None:
    rows.check_each(rows.differentiable(rows_convolution.ROWS), *CHECKS)


@pytest.mark.slow
def test_windows_agree_with_differences_and_loops() -> None:
    rows.check_each(rows.differentiable(rows_window.ROWS), *CHECKS)


def x(*sizes: int, seed: int = 1) -> Array:
    return direction(ArrayType(f64, sizes), seed)


def conv(rank: int, **given: Any) -> dict[str, Any]:
    return rows_convolution.attributes_of(rank, **given)


def pool(*window: int, **given: Any) -> dict[str, Any]:
    return rows_window.attributes_of(window, **given)


# --- golden gradients ---------------------------------------------------------------------------


def relu(value: Value) -> Value:
    zero = constant(0.0, f64)
    return logic.select(logic.gt(value, zero), value, zero)


def total(value: Value) -> Value:
    return reduction.reduce_sum(value, axes=range(value.type.rank))


@pytest.mark.parametrize(
    ("kernel", "of_kernel", "of_signal"),
    [([1, 2, -1], [7, 13, 22], [1, 3, 2, 1, -1]), ([1, 0, -1], [0, 0, 0], [0, 0, 0, 0, 0])],
)
def test_g45_one_dimensional(kernel: list[int], of_kernel: list[int], of_signal: list[int]) -> None:
    signal = np.array([[[1.0, 2, 4, 7, 11]]])

    def loss(x: Value, k: Value) -> Value:
        return total(relu(convolution(x, k, **conv(1))))

    made = gradient(loss, [signal, np.array([[kernel]], float)])
    assert made[0].ravel().tolist() == of_signal
    assert made[1].ravel().tolist() == of_kernel


def g46_pooled(image: Value, kernel: Value, bias: Value, kind: str) -> Value:
    attributes = conv(2, padding=((1, 1), (1, 1)))
    active = relu(arithmetic.add(convolution(image, kernel, **attributes), bias))
    return reduce_window(active, kind=kind, **pool(1, 1, 2, 2, strides=(1, 1, 2, 2)))


G46_OPERANDS = [G46_X[None].astype(float), G46_W[None].astype(float), np.array(float(G46_BIAS))]


def test_g46_max_pool_gives_ties_to_the_first() -> None:
    image, kernel, bias = gradient(lambda x, w, b: total(g46_pooled(x, w, b, "max")), G46_OPERANDS)
    np.testing.assert_array_equal(image[0], G46_IMAGE_GRADIENT)
    np.testing.assert_array_equal(kernel[0], G46_KERNEL_GRADIENT)
    assert bias == 4


G46_MEAN_KERNEL_GRADIENT = [
    [[1.75, 2.25, 0.75], [2.5, 1.75, 1.75], [0.75, 2, 2]],
    [[2, 2.25, 1.25], [2.25, 2.25, 1], [0.75, 1.25, 1.75]],
    [[1.75, 1.5, 0.5], [1.5, 2, 1], [0.75, 1.25, 1.25]],
]


def test_g46_mean_pool() -> None:
    def loss(x: Value, w: Value, b: Value) -> Value:
        return arithmetic.div(total(g46_pooled(x, w, b, "sum")), constant(4.0, f64))

    _, kernel, bias = gradient(loss, G46_OPERANDS)
    np.testing.assert_array_equal(kernel[0], G46_MEAN_KERNEL_GRADIENT)
    assert bias == 3


def test_g46_max_pool_alone() -> None:
    attributes = {"kind": "max", **pool(2, 2, strides=(2, 2))}
    (made,) = gradient(reduce_window, [G46_Z.astype(float)], attributes)
    np.testing.assert_array_equal(made, rows_convolution.G46_COTANGENT)


# Stride, padding, dilation: gradients of kernel and image.
G47: dict[tuple[int, int, int], tuple[list[list[int]], list[list[int]]]] = {
    (1, 0, 1): (
        [[160, 176], [240, 256]],
        [
            [1, 3, 3, 3, 2],
            [4, 10, 10, 10, 6],
            [4, 10, 10, 10, 6],
            [4, 10, 10, 10, 6],
            [3, 7, 7, 7, 4],
        ],
    ),
    (2, 0, 1): (
        [[28, 32], [48, 52]],
        [[1, 2, 1, 2, 0], [3, 4, 3, 4, 0], [1, 2, 1, 2, 0], [3, 4, 3, 4, 0], [0, 0, 0, 0, 0]],
    ),
    (1, 0, 2): (
        [[63, 81], [153, 171]],
        [[1, 1, 3, 2, 2], [1, 1, 3, 2, 2], [4, 4, 10, 6, 6], [3, 3, 7, 4, 4], [3, 3, 7, 4, 4]],
    ),
    (2, 1, 1): (
        [[52, 78], [78, 117]],
        [[4, 3, 4, 3, 4], [2, 1, 2, 1, 2], [4, 3, 4, 3, 4], [2, 1, 2, 1, 2], [4, 3, 4, 3, 4]],
    ),
    (2, 1, 3): (
        [[7, 18], [34, 76]],
        [[0, 0, 0, 0, 0], [0, 1, 2, 0, 2], [0, 3, 4, 0, 4], [0, 0, 0, 0, 0], [0, 3, 4, 0, 4]],
    ),
}


@pytest.mark.parametrize(("stride", "pad", "dilation"), G47)
def test_g47_stride_padding_dilation(stride: int, pad: int, dilation: int) -> None:
    attributes = conv(
        2,
        strides=(stride, stride),
        padding=((pad, pad), (pad, pad)),
        rhs_dilation=(dilation, dilation),
    )
    operands = [G47_X[None, None].astype(float), np.array(G47_W, float)[None, None]]
    image, kernel = gradient(convolution, operands, attributes)
    of_kernel, of_image = G47[stride, pad, dilation]
    np.testing.assert_array_equal(kernel[0, 0], of_kernel)
    np.testing.assert_array_equal(image[0, 0], of_image)


def transposed(y: Any, kernel: Any, stride: int) -> Array:
    """The transposed convolution: the cotangent y of a strided one, with one channel."""
    y, kernel = np.array(y, float), np.array(kernel, float)
    sizes = [(n - 1) * stride + k for n, k in zip(y.shape, kernel.shape, strict=True)]
    attributes = conv(y.ndim, strides=(stride,) * y.ndim)
    operands = [np.zeros((1, 1, *sizes)), kernel[None, None]]
    made: Array = gradient(convolution, operands, attributes, [y[None, None]])[0][0, 0]
    return made


@pytest.mark.parametrize(
    ("y", "kernel", "stride", "expected"),
    [
        ([1, 2, 3], [1, 0, -1], 1, [1, 2, 2, -2, -3]),
        ([1, 2, 3], [1, 0, -1], 2, [1, 0, 1, 0, 1, 0, -3]),
        ([[1, 2], [3, 4]], G47_W, 1, [[1, 4, 4], [6, 20, 16], [9, 24, 16]]),
        (
            [[1, 2], [3, 4]],
            G47_W,
            2,
            [[1, 2, 2, 4], [3, 4, 6, 8], [3, 6, 4, 8], [9, 12, 12, 16]],
        ),
    ],
)
def test_g49_transposed_convolution(y: Any, kernel: Any, stride: int, expected: Any) -> None:
    np.testing.assert_array_equal(transposed(y, kernel, stride), expected)


GEOMETRIES: list[dict[str, Any]] = [
    {},
    {"strides": (2, 3)},
    {"padding": ((2, 0), (-1, 3))},
    {"padding": ((-2, -1), (5, 4)), "strides": (2, 1)},
    {"lhs_dilation": (2, 3), "padding": ((1, -2), (0, 1))},
    {"rhs_dilation": (2, 1), "strides": (3, 2), "padding": ((4, 1), (1, 1))},
    {
        "lhs_dilation": (3, 1),
        "rhs_dilation": (1, 2),
        "strides": (2, 2),
        "padding": ((0, 2), (2, 2)),
    },
    {"padding": ((-9, 0), (0, 0))},
]


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_g49_the_adjoint_identity(geometry: dict[str, Any], groups: int) -> None:
    """<conv(x, w), y> = <x, convT(y)> = <w, the kernel's gradient>, exactly in whole numbers."""
    rng = np.random.default_rng(5)
    image = rng.integers(-4, 5, (3, 4, 6, 7)).astype(float)
    kernel = rng.integers(-4, 5, (8, 4 // groups, 3, 2)).astype(float)
    attributes = conv(2, groups=groups, **geometry)
    types = [ArrayType(f64, image.shape), ArrayType(f64, kernel.shape)]
    (made,) = run(trace(convolution, types, attributes), [image, kernel])
    weights = rng.integers(-4, 5, made.shape).astype(float)
    of_image, of_kernel = gradient(convolution, [image, kernel], attributes, [weights])
    product = np.sum(made * weights)
    assert product == np.sum(image * of_image) == np.sum(kernel * of_kernel)


# --- batches and symbolic sizes -----------------------------------------------------------------


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("geometry", GEOMETRIES[-3:], ids=str)
def test_batches_fold_into_other_axes(geometry: dict[str, Any], groups: int) -> None:
    operands = [x(2, 4, 5, 6), x(8, 4 // groups, 3, 2)]
    check_batch(convolution, operands, conv(2, groups=groups, **geometry))


@pytest.mark.parametrize(
    "attributes",
    [
        conv(1),
        conv(1, strides=(2,), padding=((1, 1),)),
        conv(1, padding=((2, -1),), lhs_dilation=(3,)),
        conv(1, strides=(2,), padding=((4, 3),), rhs_dilation=(2,)),
    ],
    ids=str,
)
def test_convolutions_take_symbolic_sizes(attributes: dict[str, Any]) -> None:
    check_symbolic(convolution, [x(2, 3, 9), x(4, 3, 5)], attributes)


def test_a_batch_of_symbolic_size_becomes_groups() -> None:
    size = dims.symbol("b", lower=0)
    types = [ArrayType(f64, (2, 4, 5)), ArrayType(f64, (6, 2, 3))]
    region = trace(convolution, types, conv(1, groups=2))
    made = derive.TRANSFORMS.batch(region, [True, True], size, [True]).region
    images, kernels = x(3, 2, 4, 5), x(3, 6, 2, 3)
    loop = [run(region, [image, kernel])[0] for image, kernel in zip(images, kernels, strict=True)]
    np.testing.assert_allclose(run(made, [images, kernels])[0], loop, atol=1e-12)


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize(
    "attributes",
    [
        pool(1, 2, strides=(1, 2)),
        pool(2, 3, padding=((1, 0), (2, 2)), strides=(1, 2)),
        pool(2, 1, base_dilation=(2, 1), padding=((1, 1), (0, 0))),
    ],
    ids=str,
)
def test_windows_take_symbolic_sizes(attributes: dict[str, Any], kind: str) -> None:
    check_symbolic(reduce_window, [x(4, 7)], {"kind": kind, **attributes})


def test_the_place_of_a_maximum_takes_symbolic_sizes() -> None:
    check_symbolic(window_argmax, [x(4, 7)], pool(2, 2, padding=((1, 1), (3, 0))))


# --- ties, padding, leanness --------------------------------------------------------------------


def test_extremes_of_windows_follow_the_first_of_equal_elements() -> None:
    values = np.array([1.0, 3.0, 3.0, 0.0, 0.0])
    for kind, expected in {"max": [0, 3, 3, 4, 0], "min": [1, 2, 0, 7, 0]}.items():
        (made,) = gradient(
            reduce_window, [values], {"kind": kind, **pool(2)}, [np.array([1.0, 2, 3, 4])]
        )
        assert made.tolist() == expected


def test_a_window_of_padding_only_has_no_gradient() -> None:
    attributes = {"kind": "max", **pool(1, padding=((1, 1),))}
    assert gradient(reduce_window, [np.array([5.0, 6.0])], attributes)[0].tolist() == [1, 1]


def test_products_of_windows_are_exact_for_zeros() -> None:
    attributes = {"kind": "prod", **pool(3)}
    (made,) = gradient(reduce_window, [np.array([0.0, 2.0, 0.0, 5.0])], attributes)
    assert made.tolist() == [0, 0, 10, 0]


def added_ops(function: Any, types: list[ArrayType], attributes: dict[str, Any]) -> list[str]:
    region = trace(function, types, attributes)
    made = vjp_region(region, [True] * len(types), [True])
    return [op.name for op in made.ops if op not in set(region.ops)]


def test_the_gradient_of_a_sum_of_windows_is_one_op() -> None:
    attributes = {"kind": "sum", **pool(2, 3, strides=(2, 1), padding=((1, 0), (1, 1)))}
    assert added_ops(reduce_window, [ArrayType(f64, (6, 7))], attributes) == ["reduce_window"]


def test_gradients_of_a_convolution_are_convolutions_of_views() -> None:
    image, kernel = ArrayType(f64, (2, 3, 6, 6)), ArrayType(f64, (4, 3, 3, 3))
    made = added_ops(convolution, [image, kernel], conv(2))
    assert sorted(made) == ["convolution"] * 2 + ["reverse"] + ["transpose"] * 4
    pointwise = ArrayType(f64, (4, 3, 1, 1))
    assert "reverse" not in added_ops(convolution, [image, pointwise], conv(2))


def test_a_batch_of_images_is_one_convolution() -> None:
    types = [ArrayType(f64, (2, 3, 6)), ArrayType(f64, (4, 3, 3))]
    region = trace(convolution, types, conv(1))
    made = derive.TRANSFORMS.batch(region, [True, False], 5, [True]).region
    assert [op.name for op in made.ops] == ["reshape", "convolution", "reshape"]
