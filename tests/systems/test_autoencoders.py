"""Golden numbers G57 to G60: penalties on a Jacobian, sparse codes, principal components, t-SNE."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import array, check, near, run, sigmoid


def test_g57_contractive_penalty() -> None:
    b, x = array(0, -1), array(1, 2)
    gradient = array([0.1487673743, 0.0655972348], [-0.0056683918, -0.0097176345])
    for jacobian in (wf.jacfwd, wf.jacrev):

        def penalty(w: Any, jacobian: Any = jacobian) -> Any:
            return np.sum(jacobian(lambda x: sigmoid(w @ x + b))(x) ** 2)

        check(penalty, [array([1, -1], [0.5, 2])], 0.080753196499, [gradient])


# --- G58: sparse code -----------------------------------------------------------------------------


def soft_threshold(x: Any, width: Any) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - width, 0.0)


def test_g58_proximal_sparse_code() -> None:
    x, c = array(1.5, -0.2, 0.7), np.zeros(3)
    near(run(lambda x, c: soft_threshold((x + c) / 2, 1 / 4), x, c), array(0.5, 0, 0.1))


def test_g58_iterated_shrinkage_finds_the_same_code() -> None:
    x, c = array(1.5, -0.2, 0.7), np.zeros(3)

    def smooth(z: Any) -> Any:
        return np.sum((z - x) ** 2) + np.sum((z - c) ** 2)

    def step(z: Any, penalty: Any) -> Any:
        return soft_threshold(z - 0.1 * wf.grad(smooth)(z), 0.1 * penalty)

    def solve(penalty: Any) -> Any:
        return wf.fori_loop(0, 60, lambda i, z: step(z, penalty), np.zeros(3))

    near(run(solve, 1.0), array(0.5, 0, 0.1))
    # What is not zero moves by -1/4 per unit of penalty.
    rate = run(wf.jacfwd(wf.implicit.fixed_point(step, solve)), 1.0)
    near(rate, array(-0.25, 0, -0.25))


# --- G59: principal components --------------------------------------------------------------------


def digits() -> Any:
    datasets = pytest.importorskip("sklearn.datasets")
    return datasets.load_digits().data / 16


RANKS = (2, 8, 16)
ERRORS = array(0.05242583, 0.02391325, 0.01104368)
EXPLAINED = array(0.285094, 0.673906, 0.849402)


@pytest.mark.slow
def test_g59_principal_components_of_digits() -> None:
    def reconstruction(images: Any) -> Any:
        centred = images - np.mean(images, axis=0)
        _, values, directions = np.linalg.svd(centred, full_matrices=False)
        errors = []
        for rank in RANKS:
            kept = directions[:rank]
            errors.append(np.mean((centred - centred @ kept.T @ kept) ** 2))
        explained = np.cumsum(values**2) / np.sum(values**2)
        return np.stack(errors), explained[np.array(RANKS) - 1]

    errors, explained = run(reconstruction, digits())
    near(errors, ERRORS, 8)
    near(explained, EXPLAINED, 6)


@pytest.mark.slow
def test_g59_principal_components_by_the_covariance() -> None:
    def explained(images: Any) -> Any:
        centred = images - np.mean(images, axis=0)
        values = np.linalg.eigvalsh(centred.T @ centred)[::-1]
        return (np.cumsum(values) / np.sum(values))[np.array(RANKS) - 1]

    near(run(explained, digits()), EXPLAINED, 6)


# --- G60: t-SNE -----------------------------------------------------------------------------------

HIGH = array([0, 0], [1, 0], [0, 2], [3, 3])
LOW = array([0, 0], [0.5, 0.1], [-0.2, 0.8], [1, 1])


def square_distances(x: Any) -> Any:
    return np.sum((x[:, None] - x) ** 2, axis=-1)


def without_diagonal(x: Any) -> Any:
    return np.where(np.eye(4) > 0, 0.0, x)


def conditional(distances: Any, sigma: Any) -> Any:
    kernel = without_diagonal(np.exp(-distances / (2 * sigma**2)))
    return kernel / np.sum(kernel, axis=1, keepdims=True)


def joint(x: Any) -> Any:
    p = conditional(square_distances(x), 1.0)
    return (p + p.T) / (2 * len(x))


def divergence(y: Any, p: Any) -> Any:
    kernel = without_diagonal(1 / (1 + square_distances(y)))
    q = kernel / np.sum(kernel)
    inside = p > 0
    return np.sum(
        np.where(inside, p * np.log(np.where(inside, p / np.where(inside, q, 1.0), 1.0)), 0)
    )


def test_g60_objective_and_gradient() -> None:
    p = run(joint, HIGH)
    near(p[[0, 0, 2], [1, 2, 3]], array(0.2120395922, 0.0982680098, 0.1044464125))
    gradient = array(
        [-0.0642800782, 0.036703348],
        [0.1591223538, 0.1521251612],
        [-0.0493818229, -0.0364268774],
        [-0.0454604527, -0.1524016318],
    )
    check(lambda y: divergence(y, joint(HIGH)), [LOW], 0.218124630205, [gradient])


def perplexity(sigma: Any) -> Any:
    """Of row 0."""
    row = conditional(square_distances(HIGH), sigma)[0][1:]
    return np.exp(-np.sum(row * np.log(row)))


def test_g60_perplexity_and_its_bisection() -> None:
    near(run(perplexity, 1.0), 1.610566745)

    def halve(i: Any, bounds: Any) -> Any:
        low, high = bounds
        middle = (low + high) / 2
        return wf.cond(perplexity(middle) < 2, lambda: (middle, high), lambda: (low, middle))

    near(run(lambda low, high: wf.fori_loop(0, 50, halve, (low, high))[0], 0.5, 4.0), 1.4598112453)
