"""Colourings: matrices come back from their products, and few products are enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from weft.compiler.transforms.colouring import Colouring, colour_jacobian, colour_symmetric

Array = np.ndarray[Any, Any]


def pattern_of(matrix: Array) -> Any:
    return sparse.csr_array(matrix != 0)


def recovered(matrix: Array, colouring: Colouring) -> Array:
    """The matrix again, from its products with the sums of unit vectors alone."""
    rows, columns = matrix.shape
    forward, reverse = (
        np.zeros((colouring.n_forward, columns)),
        np.zeros((colouring.n_reverse, rows)),
    )
    for seeds, colours in ((forward, colouring.columns), (reverse, colouring.rows)):
        used = np.flatnonzero(colours >= 0)
        seeds[colours[used], used] = 1
    products = np.concatenate([(forward @ matrix.T).reshape(-1), (reverse @ matrix).reshape(-1)])
    pattern = pattern_of(matrix)
    entries = (products[colouring.sources], pattern.indices, pattern.indptr)
    return np.asarray(sparse.csr_array(entries, shape=matrix.shape).toarray())


def arrow(size: int, tip: int) -> Array:
    """A diagonal with one full row and column."""
    matrix = np.diag(np.arange(1.0, size + 1))
    matrix[tip] += 0.5
    matrix[:, tip] += 0.25
    return matrix


def band(size: int, width: int) -> Array:
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return np.where(distance <= width, 1.0 + distance + np.arange(size), 0.0)


@pytest.mark.parametrize("modes", [{}, {"reverse": False}, {"forward": False}], ids=str)
def test_random_matrices_come_back(modes: dict[str, bool]) -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        shape = random.integers(0, 9, 2)
        matrix = np.where(random.random(shape) < random.random(), random.random(shape) + 0.5, 0)
        colouring = colour_jacobian(pattern_of(matrix), **modes)
        np.testing.assert_allclose(recovered(matrix, colouring), matrix, rtol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
def test_random_symmetric_matrices_come_back(reverse: bool) -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        size = random.integers(0, 12)
        matrix = random.random((size, size)) * (random.random((size, size)) < 0.5 * random.random())
        matrix = matrix + matrix.T
        colouring = colour_symmetric(pattern_of(matrix), reverse=reverse)
        np.testing.assert_allclose(recovered(matrix, colouring), matrix, rtol=1e-12)


@pytest.mark.parametrize("width", [0, 1, 2, 5])
def test_band_needs_as_many_products_as_it_is_wide(width: int) -> None:
    pattern = pattern_of(band(40, width))
    assert colour_jacobian(pattern).total == 2 * width + 1
    assert colour_symmetric(pattern).total <= 2 * width + 1


def test_full_row_is_one_reverse_product() -> None:
    colouring = colour_jacobian(pattern_of(np.ones((1, 9))))
    assert (colouring.n_forward, colouring.n_reverse) == (0, 1)


@pytest.mark.parametrize("tip", [0, 4, 8])
def test_arrow_takes_three_products_and_two_if_symmetric(tip: int) -> None:
    assert colour_jacobian(pattern_of(arrow(9, tip))).total == 3
    assert colour_jacobian(pattern_of(arrow(9, tip)), reverse=False).total == 9
    assert colour_symmetric(pattern_of(arrow(9, tip))).total == 2


def test_empty_matrix_needs_no_product() -> None:
    for shape in ((0, 0), (3, 0), (0, 3), (3, 3)):
        assert colour_jacobian(pattern_of(np.zeros(shape))).total == 0
    assert colour_symmetric(pattern_of(np.zeros((3, 3)))).total == 0
