"""Golden numbers G13 to G16: views, einsum, affine maps and piecewise-linear networks.

Strides in bytes are not part of an array program, so G13 is tested by what they cause: which
element is where, and what a write to a view changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import array, check, near, relu, run, sigmoid, tiny

# --- G13: views -----------------------------------------------------------------------------------


def test_g13_swapped_axes_show_the_same_elements() -> None:
    buffer = np.arange(24.0)

    def element(buffer: Any) -> Any:
        view = buffer.reshape(2, 3, 4).swapaxes(0, 1)
        assert view.shape == (3, 2, 4)
        return view[2, 1, 3]

    check(element, [buffer], 23.0, [np.eye(24)[23]])


def test_g13_a_write_to_the_view_reaches_the_buffer_but_one_to_its_flat_copy_does_not() -> None:
    def write(buffer: Any, new: Any) -> Any:
        whole = buffer.copy()
        view = whole.reshape(2, 3, 4).swapaxes(0, 1)
        view[2, 1, 3] = new
        flat = view.flatten()
        flat[0] = 100.0
        return whole, flat

    whole, flat = run(write, np.arange(24.0), -1.0)
    expected = np.arange(24.0)
    expected[23] = -1
    near(whole, expected)
    swapped = expected.reshape(2, 3, 4).swapaxes(0, 1).flatten()
    swapped[0] = 100
    near(flat, swapped)


def test_g13_the_gradient_of_flattening_a_view_is_permuted_back() -> None:
    def weighted(x: Any) -> Any:
        return np.sum(x.swapaxes(0, 1).reshape(24) * np.arange(24.0))

    expected = np.arange(24.0).reshape(3, 2, 4).swapaxes(0, 1)
    near(run(wf.grad(weighted), np.ones((2, 3, 4))), expected)


def space_to_depth(x: Any, block: int) -> Any:
    channels, height, width = x.shape
    parts = x.reshape(channels, height // block, block, width // block, block)
    moved = parts.transpose(2, 4, 0, 1, 3)
    return moved.reshape(channels * block**2, height // block, width // block)


def test_g13_space_to_depth_and_its_transpose() -> None:
    image = np.arange(16.0).reshape(1, 4, 4)
    made = run(lambda x: space_to_depth(x, 2), image)
    corners = ([[0, 2], [8, 10]], [[1, 3], [9, 11]], [[4, 6], [12, 14]], [[5, 7], [13, 15]])
    near(made, array(*corners))
    back = wf.linear_transpose(lambda x: space_to_depth(x, 2), image)
    near(run(back, made), (image,))


# --- G14: einsum ----------------------------------------------------------------------------------

A, B = array([1, 2], [3, 4]), array([5, 6], [7, 8])
ONE_TO_TWELVE = np.arange(1.0, 13)
EINSUMS: dict[str, Any] = {
    "ik,kj->ij": ((A, B), array([19, 22], [43, 50])),
    "ii": ((A,), 5.0),
    "ik,jk->ij": ((A, B), array([17, 23], [39, 53])),
    "ij,ij->ij": ((A, B), array([5, 12], [21, 32])),
    "i,j->ij": ((array(1, 2), array(3, 4)), array([3, 4], [6, 8])),
    "ikl,klj->ij": (
        (ONE_TO_TWELVE.reshape(2, 3, 2), ONE_TO_TWELVE.reshape(3, 2, 2)),
        array([161, 182], [377, 434]),
    ),
}


@pytest.mark.parametrize("equation", EINSUMS)
def test_g14_einsum(equation: str) -> None:
    operands, expected = EINSUMS[equation]
    near(run(lambda *operands: np.einsum(equation, *operands), *operands), expected)


@pytest.mark.parametrize("equation", EINSUMS)
def test_g14_gradients_of_einsum_are_einsums(equation: str) -> None:
    """Each term is linear in an operand, so the gradient times the operand gives the sum back."""
    operands, expected = EINSUMS[equation]
    weights = np.arange(1.0, np.size(expected) + 1).reshape(np.shape(expected))

    def weighted(*operands: Any) -> Any:
        return np.sum(weights * np.einsum(equation, *operands))

    gradients = run(wf.grad(weighted, tuple(range(len(operands)))), *operands)
    for operand, gradient in zip(operands, gradients, strict=True):
        near(np.sum(operand * gradient), np.sum(weights * expected))
    wf.check_grads(weighted, operands, order=2)


# --- G15, G16: affine and piecewise-linear maps ---------------------------------------------------


def test_g15_affine_maps_fold_to_one() -> None:
    a1, b1 = array([1, 2], [3, 4], [5, 6]), array(1, 0, -1)
    a2, b2 = array(1, -1, 2), 0.5

    def composed(x: Any) -> Any:
        return a2 @ (a1 @ x + b1) + b2

    check(composed, [array(1, 1)], 17.5, [array(8, 10)])
    near(run(composed, np.zeros(2)), -0.5)
    near(run(lambda: (a2 @ a1, a2 @ b1 + b2)), (array(8, 10), -0.5))


def test_g16_piecewise_linear_network() -> None:
    knots, slopes = array(0, 1, 2), array(-1, 2, 0.5, 3)

    def network(x: Any) -> Any:
        return slopes[0] * x + 1 + np.diff(slopes) @ relu(x - knots)

    points = array(-1, 0, 0.5, 1, 1.5, 2, 3)
    near(run(wf.vmap(network), points), array(2, 1, 2, 3, 3.25, 3.5, 6.5))
    near(run(wf.vmap(wf.grad(network)), array(-1, 0.5, 1.5, 3)), slopes)


def bump(x: Any) -> Any:
    return sigmoid(50 * (x - 0.4)) - sigmoid(50 * (x - 0.6))


def tower(x: Any, y: Any) -> Any:
    return sigmoid(50 * (bump(x) + bump(y) - 1.5))


def plain_sigmoid(x: Any) -> Any:
    """Without the rounding of 1 + tanh, which hides what is left far below."""
    return 1 / (1 + np.exp(-x))


def test_g16_bump_and_tower() -> None:
    near(run(bump, array(0.5, 0.4, 0.3)), array(0.9866142982, 0.4999546021, 0.006692545))
    tiny(run(tower, 0.5, 0.5), 0.999999999947, 12)
    low = run(lambda x, y: plain_sigmoid(50 * (bump(x) + bump(y) - 1.5)), 0.5, 0.2)
    tiny(low, 7.1278e-12, 5)
