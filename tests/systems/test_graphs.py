"""Golden numbers G51 to G56: Laplacians, spectra and their gradients, graph convolution and message
passing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as wf
from tests.systems.models import Array, array, check, check_modes, near, relu, run

PATH = array([0, 1, 0], [1, 0, 1], [0, 1, 0])
PATH_LAPLACIAN = array([1, -1, 0], [-1, 2, -1], [0, -1, 1])


def laplacian(adjacency: Any) -> Any:
    return np.diag(np.sum(adjacency, axis=1)) - adjacency


def adjacency_of(edges: Any, weights: Any, size: int) -> Any:
    """The symmetric matrix of edge weights."""
    i, j = edges[:, 0], edges[:, 1]
    upper = wf.numpy.zeros((size, size)).at[i, j].add(weights)
    return upper + upper.T


# --- G51: Laplacians ------------------------------------------------------------------------------


def test_g51_laplacians_of_a_path() -> None:
    def normalised(adjacency: Any) -> Any:
        degrees = np.sum(adjacency, axis=1)
        made = laplacian(adjacency)
        symmetric = made / np.sqrt(degrees[:, None] * degrees)
        return made, symmetric, made / degrees[:, None], np.linalg.eigvalsh(symmetric)

    made, symmetric, walk, spectrum = run(normalised, PATH)
    near(made, PATH_LAPLACIAN)
    side = -1 / np.sqrt(2)
    near(symmetric, array([1, side, 0], [side, 1, side], [0, side, 1]))
    near(walk, array([1, -1, 0], [-0.5, 1, -0.5], [0, -1, 1]))
    near(spectrum, array(0, 1, 2))


def test_g51_incidence_matrix() -> None:
    incidence = array([1, 0], [-1, 1], [0, -1])
    near(run(lambda p: p @ p.T, incidence), PATH_LAPLACIAN)


@pytest.mark.parametrize(
    ("f", "value", "gradient"),
    [((1, 1, 1), 0.0, (0, 0, 0)), ((-1, 0, 1), 2.0, (-2, 0, 2)), ((1, -2, 1), 18.0, (6, -12, 6))],
)
def test_g51_smoothness(f: Any, value: float, gradient: Any) -> None:
    check(lambda f: f @ laplacian(PATH) @ f, [array(*f)], value, [array(*gradient)])


# --- G52, G53: spectra ----------------------------------------------------------------------------


def aligned(vectors: Any, expected: Any) -> Any:
    """Eigenvectors with the signs of the expected ones."""
    return vectors * np.sign(np.sum(vectors * expected, axis=0))


def test_g52_spectrum_of_a_path() -> None:
    values, vectors = run(lambda a: np.linalg.eigh(laplacian(a)), PATH)
    near(values, array(0, 1, 3))
    expected = array([1, 1, 1], [-1, 0, 1], [1, -2, 1]).T / np.sqrt([3, 2, 6])
    near(aligned(vectors, expected), expected)
    near(run(lambda a: np.trace(laplacian(a)), PATH), 4.0)


def test_g52_spectrum_of_two_components() -> None:
    both = np.zeros((5, 5))
    both[:3, :3] = PATH
    both[3, 4] = both[4, 3] = 1
    near(run(lambda a: np.linalg.eigvalsh(laplacian(a)), both), array(0, 0, 1, 2, 3))


TRIANGLES = np.array([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)])


def second_eigenvalue(weights: Any) -> Any:
    return np.linalg.eigvalsh(laplacian(adjacency_of(TRIANGLES, weights, 6)))[1]


def test_g53_fiedler_vector_of_two_triangles() -> None:
    def spectrum(weights: Any) -> Any:
        return np.linalg.eigh(laplacian(adjacency_of(TRIANGLES, weights, 6)))

    values, vectors = run(spectrum, np.ones(7))
    near(values, array(0, 0.43844719, 3, 3, 3, 4.56155281), 8)
    outer, inner = 0.46470513, 0.26095647
    expected = array(outer, outer, inner, -inner, -outer, -outer)
    near(aligned(vectors[:, 1], expected), expected, 8)


def test_g53_gradient_of_an_eigenvalue_beside_repeated_ones() -> None:
    side, bridge = 0.0415135156, 0.2723931249
    gradient = array(0, side, side, bridge, side, side, 0)
    check(second_eigenvalue, [np.ones(7)], 0.438447187191, [gradient])

    def by_eigh(weights: Any) -> Any:
        return np.linalg.eigh(laplacian(adjacency_of(TRIANGLES, weights, 6)))[0][1]

    near(run(wf.grad(by_eigh), np.ones(7)), gradient)


KARATE = """
1-2 1-3 1-4 1-5 1-6 1-7 1-8 1-9 1-11 1-12 1-13 1-14 1-18 1-20 1-22 1-32 2-3 2-4 2-8 2-14 2-18 2-20
2-22 2-31 3-4 3-8 3-9 3-10 3-14 3-28 3-29 3-33 4-8 4-13 4-14 5-7 5-11 6-7 6-11 6-17 7-17 9-31 9-33
9-34 10-34 14-34 15-33 15-34 16-33 16-34 19-33 19-34 20-34 21-33 21-34 23-33 23-34 24-26 24-28 24-30
24-33 24-34 25-26 25-28 25-32 26-32 27-30 27-34 28-34 29-32 29-34 30-33 30-34 31-33 31-34 32-33
32-34 33-34
"""


def karate_edges() -> Array:
    return np.array([pair.split("-") for pair in KARATE.split()], np.int64) - 1


def test_g53_karate_club() -> None:
    edges = karate_edges()
    assert edges.shape == (78, 2)

    def spectrum(weights: Any) -> Any:
        return np.linalg.eigvalsh(laplacian(adjacency_of(edges, weights, 34)))

    values = run(spectrum, np.ones(78))
    near(values[[1, 33]], array(0.4685252267, 18.1366959730))
    near(values.sum(), 156.0)
    # Scaling all weights scales the eigenvalue: its gradient times the weights is itself.
    slope = run(wf.grad(lambda w: spectrum(w)[1]), np.ones(78))
    near(slope.sum(), 0.4685252267)


# --- G54: graph Fourier ---------------------------------------------------------------------------


def test_g54_graph_fourier_transform() -> None:
    def coefficients(f: Any) -> Any:
        _, vectors = np.linalg.eigh(laplacian(PATH))
        return vectors.T @ f

    near(np.abs(run(coefficients, array(1, 0, 1))), array(1.1547005384, 0, 0.8164965809))


def test_g54_spectral_filter() -> None:
    def filtered(f: Any, response: Any) -> Any:
        _, vectors = np.linalg.eigh(laplacian(PATH))
        return vectors @ (response * (vectors.T @ f))

    f, response = array(1, 2, 4), array(1, 0.5, 0)
    near(run(filtered, f, response), array(1.5833333333, 2.3333333333, 3.0833333333))
    check_modes(lambda *args: np.sum(filtered(*args) ** 2), [f, response], (0, 1))


# --- G55, G56: graph networks ---------------------------------------------------------------------


def propagation(adjacency: Any) -> Any:
    looped = adjacency + np.eye(3)
    degrees = np.sum(looped, axis=1)
    return looped / np.sqrt(degrees[:, None] * degrees)


def test_g55_graph_convolution() -> None:
    side = 0.4082482905
    expected = array([0.5, side, 0], [side, 0.3333333333, side], [0, side, 0.5])
    near(run(propagation, PATH), expected)
    on_vector = run(lambda a, x: propagation(a) @ x, PATH, array(1, 2, 4))
    near(on_vector, array(1.3164965809, 2.707908119, 2.8164965809))

    def layer(w: Any, h: Any) -> Any:
        return relu(propagation(PATH) @ h @ w)

    h, w = array([1, 0], [0, 1], [1, 1]), array([1, -1], [2, 0.5])
    column = array(1.3164965809, 2.2996598285, 2.3164965809)
    near(run(layer, w, h), np.stack([column, np.zeros(3)], axis=1))
    w_bar = array([1.8164965809, 0], [2.0580782047, 0])
    check(lambda w, h: np.sum(layer(w, h)), [w, h], column.sum(), [w_bar])


def test_g56_graph_network_block() -> None:
    source, target = np.array([0, 1, 2]), np.array([1, 2, 0])

    def block(v: Any, e: Any, u: Any) -> Any:
        e = e + v[source] + v[target] + u
        received = np.zeros_like(v)
        np.add.at(received, target, e)
        v = v + received + u
        return e, v, u + np.mean(v) + np.mean(e)

    args = (array(1, 2, 4), array(0.5, -0.5, 1), 0.1)
    edges, vertices, world = run(block, *args)
    near(edges, array(3.6, 5.6, 6.1))
    near(vertices, array(7.2, 5.7, 9.7))
    near(world, 12.7333333333)
    # Each vertex enters two edges, each edge its own mean and that of the vertices.
    gradients = [np.full(3, 1 / 3 + 4 / 3), np.full(3, 2 / 3), 1 + 1 + 2.0]
    check(lambda *a: block(*a)[2], args, 12.7333333333, gradients)
