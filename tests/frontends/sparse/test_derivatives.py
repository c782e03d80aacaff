"""Sparse Jacobians and Hessians: exact patterns and few products where problems are known to have
them, and never less than the dense derivative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import weft as wf
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def points(size: int, seed: int = 0) -> Array:
    """Numbers between 0.5 and 1.5, where no derivative below happens to be zero."""
    return np.random.default_rng(seed).random(size) + 0.5


def assert_same(found: Any, dense: Any) -> None:
    """Sparse and dense derivatives agree leaf by leaf, shapes flattened."""
    matrices, arrays = optree.tree_leaves(found), tree.flatten(dense)[0]
    for matrix, array in zip(matrices, arrays, strict=True):
        assert isinstance(matrix, sparse.csr_array)
        expected = np.asarray(array).reshape(matrix.shape)
        # Sums of terms that cancel are off by the rounding of the largest of them.
        largest = np.max(np.abs(expected), initial=1.0)
        np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-10, atol=1e-10 * largest)


def assert_jacobian(
    function: Function, *args: Any, argnums: Any = 0, exact: bool = True
) -> tuple[int, int]:
    """Equal to jacfwd, with all that is stored nonzero if `exact`; returns the products it took."""
    jacobian = wf.sparse_jacobian(function, argnums)
    found = jacobian(*args)
    assert_same(found, wf.jacfwd(function, argnums)(*args))
    if exact:
        assert all(np.all(matrix.data != 0) for matrix in optree.tree_leaves(found))
    colouring = jacobian.colouring(*args)
    return colouring.n_forward, colouring.n_reverse


def assert_hessian(function: Function, *args: Any, argnums: Any = 0, exact: bool = True) -> int:
    """The same for a Hessian."""
    hessian = wf.sparse_hessian(function, argnums)
    found = hessian(*args)
    assert_same(found, wf.hessian(function, argnums)(*args))
    if exact:
        assert all(np.all(matrix.data != 0) for matrix in optree.tree_leaves(found))
    return hessian.colouring(*args).total


def band(size: int, width: int) -> Array:
    return np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= width


# --- problems with known patterns ---------------------------------------------------------------


def test_stencil_is_tridiagonal_and_takes_three_products() -> None:
    def flow(u: Any) -> Any:
        wide = np.concatenate([np.zeros(1), u, np.ones(1)])
        return wide[2:] - 2 * wide[1:-1] + wide[:-2] + 0.1 * np.exp(u)

    assert assert_jacobian(flow, points(20)) == (3, 0)
    pattern = wf.sparsity_pattern(flow)(points(20))
    assert pattern.dtype == np.bool_
    np.testing.assert_array_equal(pattern.toarray(), band(20, 1))


def test_laplacian_in_two_dimensions_has_five_points() -> None:
    def residual(u: Any) -> Any:
        wide = np.pad(u, 1)
        around = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        return around - 4 * u + u**3

    u = points(35).reshape(5, 7)
    forward, reverse = assert_jacobian(residual, u)
    assert (forward, reverse) == (5, 0)
    expected = np.kron(np.eye(5), band(7, 1)) + np.kron(band(5, 1), np.eye(7))
    np.testing.assert_array_equal(wf.sparsity_pattern(residual)(u).toarray(), expected > 0)


def test_brusselator_has_diagonal_blocks_beside_its_bands() -> None:
    def rate(y: Any) -> Any:
        u, v = y.reshape(2, -1)
        wide = np.pad(y.reshape(2, -1), ((0, 0), (1, 1)))
        spread = 0.02 * (wide[:, 2:] - 2 * wide[:, 1:-1] + wide[:, :-2])
        return np.concatenate([1 + u * u * v - 4 * u, 3 * u - u * u * v]) + spread.reshape(-1)

    forward, reverse = assert_jacobian(rate, points(30))
    assert (forward, reverse) == (4, 0)
    expected = np.kron(np.eye(2), band(15, 1)) + np.kron(1 - np.eye(2), np.eye(15))
    np.testing.assert_array_equal(wf.sparsity_pattern(rate)(points(30)).toarray(), expected > 0)


def test_collocation_touches_neighbouring_nodes_and_the_parameter() -> None:
    """Defects of the trapezoidal rule: a pendulum with states, controls and a free final time."""
    nodes = 8

    def dynamics(state: Any, control: Any) -> Any:
        return np.stack([state[1], control - np.sin(state[0])])

    def defects(z: Any) -> Any:
        states, controls, time = z[: 2 * nodes].reshape(nodes, 2), z[2 * nodes : -1], z[-1]
        rates = wf.vmap(dynamics)(states, controls)
        return states[1:] - states[:-1] - time / (2 * nodes) * (rates[1:] + rates[:-1])

    forward, reverse = assert_jacobian(defects, points(3 * nodes + 1))
    assert reverse == 0
    assert forward <= 7
    per_node = np.kron(np.eye(nodes - 1, nodes) + np.eye(nodes - 1, nodes, 1), np.ones((2, 2)))
    controls = np.kron(np.eye(nodes - 1, nodes) + np.eye(nodes - 1, nodes, 1), [[0], [1]])
    expected = np.hstack([per_node, controls, np.ones((2 * nodes - 2, 1))])
    found = wf.sparsity_pattern(defects)(points(3 * nodes + 1)).toarray()
    np.testing.assert_array_equal(found, expected > 0)


def test_batched_function_is_block_diagonal() -> None:
    def solve(a: Any) -> Any:
        return np.linalg.solve(np.outer(a, a) + np.eye(3), np.cumsum(a))

    x = points(15).reshape(5, 3)
    forward, reverse = assert_jacobian(wf.vmap(solve), x)
    assert (forward, reverse) == (3, 0)
    expected = np.kron(np.eye(5), np.ones((3, 3)))
    np.testing.assert_array_equal(wf.sparsity_pattern(wf.vmap(solve))(x).toarray(), expected > 0)


def test_arrow_mixes_both_modes() -> None:
    def function(x: Any) -> Any:
        return np.concatenate([np.sum(x**2)[None], x[1:] * x[0]])

    assert assert_jacobian(function, points(12)) == (2, 1)


def test_scalar_function_takes_one_reverse_product() -> None:
    assert assert_jacobian(lambda x: np.sum(np.sin(x)), points(9)) == (0, 1)


def test_known_matrix_gives_its_own_pattern() -> None:
    matrix = np.where(np.random.default_rng(3).random((6, 8)) < 0.3, 2.0, 0.0)
    found = wf.sparsity_pattern(lambda x: np.tanh(matrix @ x))(points(8))
    np.testing.assert_array_equal(found.toarray(), matrix != 0)


def test_loops_are_followed() -> None:
    def smoothed(x: Any) -> Any:
        return wf.fori_loop(1, 6, lambda i, y: y.at[i].add(y[i] * y[i - 1]), x)

    assert_jacobian(smoothed, points(6))
    found = wf.sparsity_pattern(smoothed)(points(6)).toarray()
    np.testing.assert_array_equal(found, np.tril(np.ones((6, 6))))

    def diffused(x: Any) -> Any:
        return wf.scan(lambda u, _: (u + 0.1 * np.roll(u, 1), None), x, None, length=3)[0]

    forward, reverse = assert_jacobian(diffused, points(12))
    assert (forward, reverse) == (4, 0)


# --- what is gathered ---------------------------------------------------------------------------

SEEN = np.array([0, 2, 1, 0, 2, 1, 0, 1])
SPOTS = np.array([3, 0, 1, 2, 4, 4, 0, 3])


def test_products_by_what_is_gathered_are_those_of_one_observation() -> None:
    """Eight observations by three cameras share parameters, so that the matrix has full columns."""

    def errors(cameras: Any, spots: Any, weights: Any) -> Any:
        apart = np.sin(cameras[SEEN]) * spots[SPOTS][:, :1] - spots[SPOTS][:, 1:]
        return {"errors": apart * weights[:, None], "surplus": 1.0 - weights**2}

    cameras, spots, weights = points(6).reshape(3, 2), points(10).reshape(5, 2), points(8)
    found = assert_jacobian(errors, cameras, spots, weights, argnums=(0, 1, 2))
    assert found == (1, 2)  # by the parameters four forward ones
    one = wf.sparse_jacobian(errors, (1, 0))
    assert_same(one(cameras, spots, weights), wf.jacfwd(errors, (1, 0))(cameras, spots, weights))


def test_parameters_that_are_gathered_twice_have_sums_as_entries() -> None:
    edges = np.array([[0, 1, 2, 3, 0], [1, 2, 3, 0, 0]])

    def along(x: Any) -> Any:
        left, right = x[edges[0]], x[edges[1]]
        return np.stack([left * right**2, left + np.sin(right), left * x[0]], axis=1)

    assert assert_jacobian(along, points(4)) == (2, 0)
    assert assert_jacobian(lambda z: along(z[2:6][::-1]), points(7)) == (2, 0)


def test_many_readings_of_one_parameter_are_left_as_they_are() -> None:
    everywhere = np.zeros((3, 8), np.int64)
    assert_jacobian(lambda x: np.prod(x[everywhere] + x[1:4, None], axis=1), points(6))


def test_gathers_at_places_that_are_not_known_or_cut_off_are_right() -> None:
    assert_jacobian(lambda x: x[np.argsort(x)][:2] * x[2], points(4), exact=False)
    assert_jacobian(lambda x: np.take(x, np.array([0, 9, 3]), mode="clip") * x[0], points(4))


# --- Hessians -----------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_rosenbrock_chain_is_tridiagonal_and_takes_three_products() -> None:
    assert assert_hessian(rosenbrock, points(20)) == 3
    pattern = wf.sparse_hessian(rosenbrock).pattern(points(20))
    np.testing.assert_array_equal(pattern.toarray(), band(20, 1))


def test_arrow_hessian_takes_two_products() -> None:
    assert assert_hessian(lambda x: np.sum(x[0] * x[1:] ** 2) + np.sum(x**3), points(12)) == 2
    assert assert_hessian(lambda x: np.sum(x[-1] * x[:-1] ** 2) + np.sum(x**3), points(12)) == 2


def test_integer_arguments_shape_the_pattern() -> None:
    def energy(x: Any, edges: Any) -> Any:
        return np.sum((x[edges[:, 0]] - x[edges[:, 1]]) ** 4)

    hessian, x = wf.sparse_hessian(energy), points(6)
    for edges in ([[0, 1], [1, 2], [4, 5]], [[0, 5], [2, 3], [0, 2]]):
        array = np.array(edges)
        expected = np.zeros((6, 6), np.bool_)
        expected[array[:, 0], array[:, 1]] = expected[array[:, 1], array[:, 0]] = True
        expected[array.reshape(-1), array.reshape(-1)] = True
        np.testing.assert_array_equal(hessian.pattern(x, array).toarray(), expected)
        assert_same(hessian(x, array), wf.hessian(energy)(x, array))


def test_assembly_by_scattering() -> None:
    triangles = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4]])

    def forces(x: Any) -> Any:
        corners = x[triangles]
        local = corners * np.sum(corners**2, axis=1, keepdims=True)
        return (0 * x).at[triangles].add(local)

    assert_jacobian(forces, points(5), exact=False)
    np.testing.assert_array_equal(wf.sparsity_pattern(forces)(points(5)).toarray(), band(5, 2))


def test_sum_of_squares_of_a_linear_map() -> None:
    matrix = np.eye(6) + np.eye(6, k=2)
    assert_hessian(lambda x, scale: np.sum((scale * (matrix @ x)) ** 2), points(6), 3.0)


# --- structures, dtypes, values -----------------------------------------------------------------


def test_structures_are_those_of_the_dense_derivatives() -> None:
    def function(p: Any, y: Any) -> Any:
        return {"a": p["w"] @ p["x"], "b": (np.roll(y, 1) * y, np.argmax(y))}

    p = {"w": points(6).reshape(2, 3), "x": points(3)}
    assert_jacobian(function, p, points(4), argnums=(1, 0))
    assert_jacobian(function, p, points(4), argnums=-1)
    assert_jacobian(function, p, points(4), argnums=0)
    assert_hessian(lambda p: np.sum((p["w"] @ p["x"]) ** 2), p)
    assert_hessian(lambda x, y: np.sum(x * y**2), points(3), points(3), argnums=(1, 0), exact=False)


def test_results_may_have_any_rank() -> None:
    assert_jacobian(lambda x: 2.0 * x, 3.0)
    assert_jacobian(lambda x: np.outer(x, x), points(3))
    assert_jacobian(lambda x: x[:0], points(3))
    assert_jacobian(lambda x: np.sin(x), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("given", "stored"), [("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("c16", "c16")]
)
def test_dtype_is_that_of_the_result_if_scipy_has_it(given: str, stored: str) -> None:
    x = np.array([1.0, 2.0]).astype(given)
    found = wf.sparse_jacobian(lambda x: x * x)(x)
    assert found.dtype == np.dtype(stored)
    np.testing.assert_array_equal(found.toarray(), np.diag(2 * x))


def test_entries_that_happen_to_be_zero_stay_and_results_are_independent() -> None:
    jacobian = wf.sparse_jacobian(lambda x: x[1:] * x[:-1])
    first = jacobian(np.array([0.0, 1.0, 0.0]))
    assert first.nnz == 4
    first.eliminate_zeros()
    assert jacobian(np.array([1.0, 1.0, 1.0])).nnz == 4


def test_results_share_no_memory_and_know_that_they_are_sorted() -> None:
    jacobian, x = wf.sparse_jacobian(lambda x: x[1:] * x[:-1]), points(5)
    pattern, first, second = jacobian.pattern(x), jacobian(x), jacobian(x)
    for name in ("data", "indices", "indptr"):
        arrays = [getattr(each, name) for each in (pattern, first, second)]
        assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))
        arrays[0][:], arrays[1][:] = 1, 1
    assert second.has_canonical_format
    second.check_format(full_check=True)
    assert_same(second, wf.jacfwd(lambda x: x[1:] * x[:-1])(x))
    assert_same(jacobian(x), wf.jacfwd(lambda x: x[1:] * x[:-1])(x))


def test_blocks_are_read_from_products_of_either_mode() -> None:
    """A full row in reverse beside a diagonal, over several results and arguments of two dtypes."""

    def function(p: Any) -> Any:
        head = np.sum(p["a"] ** 2) * np.sum(p["b"] ** 2)
        return [np.concatenate([head[None], p["a"] * 3]), p["b"] ** 2, head, np.argmax(p["a"])]

    p = {"a": points(6), "b": points(4, seed=1).astype("f4")}
    jacobian = wf.sparse_jacobian(function)
    found = jacobian(p)
    colouring = jacobian.colouring(p)
    assert (colouring.n_forward, colouring.n_reverse) == (1, 2)
    dense = wf.jacfwd(function)(p)
    for matrix, array in zip(optree.tree_leaves(found), tree.flatten(dense)[0], strict=True):
        np.testing.assert_allclose(matrix.toarray(), array.reshape(matrix.shape), rtol=1e-5)
    assert [block["a"].dtype.name[5:] for block in found] == ["64", "32", "64", "32"]


def test_blocks_of_a_hessian_are_read_from_either_triangle() -> None:
    def energy(p: Any) -> Any:
        return np.sum(p["hub"] * p["rim"] ** 2) + np.sum(p["rim"] ** 3) + p["hub"] ** 4

    p = {"hub": np.array(0.7), "rim": points(9)}
    assert assert_hessian(energy, p) == 2


def test_argument_without_arrays_has_no_blocks() -> None:
    assert wf.sparse_jacobian(lambda p, x: (x, x * 2))({}, points(2)) == ({}, {})


def test_numbers_that_shape_the_pattern_are_compared_by_value() -> None:
    calls = []

    def function(x: Any, places: Any, power: int) -> Any:
        calls.append(places)
        return x[places] ** power

    jacobian, x, places = wf.sparse_jacobian(function), points(4), np.array([0, 2])
    np.testing.assert_array_equal(jacobian(x, places, 2).indices, [0, 2])
    count = len(calls)
    np.testing.assert_array_equal(jacobian(x, places.copy(), 2).indices, [0, 2])
    assert len(calls) == count
    places[0] = 3
    np.testing.assert_array_equal(jacobian(x, places, 2).indices, [3, 2])
    np.testing.assert_allclose(jacobian(x, places, 3).data, 3 * x[[3, 2]] ** 2)
    count = len(calls)
    np.testing.assert_allclose(jacobian(x, np.array([0, 2]), 2).data, 2 * x[[0, 2]])
    assert len(calls) == count


def test_kinds_of_numbers_have_plans_of_their_own() -> None:
    jacobian = wf.sparse_jacobian(lambda x, scale: x * scale)
    single = np.ones(2, "f4")
    assert jacobian(single, 2.0).dtype == np.float32
    assert jacobian(single, np.float64(2.0)).dtype == np.float64
    assert jacobian(single, np.array(2.0)).dtype == np.float64
    assert jacobian(single, 2).dtype == np.float32
    assert jacobian(single, True).data[0] == 1.0


def test_function_is_traced_once_per_kind_of_arguments() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return x * x

    jacobian = wf.sparse_jacobian(function)
    jacobian(points(3))
    count = len(calls)
    np.testing.assert_array_equal(jacobian(points(3, seed=1)).diagonal(), 2 * points(3, seed=1))
    assert len(calls) == count
    jacobian(points(4))
    assert len(calls) == 2 * count


def test_own_forward_rule_decides() -> None:
    @wf.custom_jvp
    def rounded(x: Any) -> Any:
        return np.round(x)

    @rounded.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return np.round(primals[0]), np.cumsum(tangents[0])

    found = wf.sparsity_pattern(rounded)(points(4))
    np.testing.assert_array_equal(found.toarray(), np.tril(np.ones((4, 4))))
    assert wf.sparsity_pattern(np.round)(points(4)).nnz == 0
    assert wf.sparsity_pattern(lambda x: wf.stop_gradient(np.sum(x)) * x)(points(4)).nnz == 4


def test_own_reverse_rule_is_computed_in_reverse() -> None:
    @wf.custom_vjp
    def moved(x: Any) -> Any:
        return np.roll(x, 1) ** 2

    moved.defvjp(lambda x: (np.roll(x, 1) ** 2, x), lambda x, given: (np.roll(given, -1) * 2 * x,))
    x = points(5)
    jacobian = wf.sparse_jacobian(moved)
    assert_same(jacobian(x), wf.jacrev(moved)(x))
    assert (jacobian.colouring(x).n_forward, jacobian.colouring(x).n_reverse) == (0, 1)
    assert_hessian(lambda x: np.sum(x * moved(x)), x, exact=False)


# --- what is refused ----------------------------------------------------------------------------


def test_symbolic_size_is_refused() -> None:
    with pytest.raises(wf.ShapeError, match="symbolic size"):
        wf.sparsity_pattern(lambda x: np.sin(x))(wf.spec("f64[n]"))


def test_spec_has_a_pattern_but_no_value() -> None:
    jacobian = wf.sparse_jacobian(lambda x: np.sin(x))
    assert jacobian.pattern(wf.spec("f64[3]")).nnz == 3
    with pytest.raises(wf.ArgumentError, match="needs arrays"):
        jacobian(wf.spec("f64[3]"))


def test_traced_arguments_are_refused() -> None:
    with pytest.raises(wf.TraceError, match="sparse_jacobian gives arrays of SciPy"):
        wf.jit(wf.sparse_jacobian(lambda x: np.sin(x)))(points(2))


def test_what_cannot_be_differentiated_is_refused() -> None:
    with pytest.raises(wf.DTypeError, match="argument i"):
        wf.sparse_jacobian(lambda i: i * 1.0)(np.arange(3))
    with pytest.raises(wf.ArgumentError, match="argnums names argument 1"):
        wf.sparse_jacobian(lambda x: x, argnums=1)(points(3))
    with pytest.raises(wf.ShapeError, match="scalar"):
        wf.sparse_hessian(lambda x: x)(points(3))
    with pytest.raises(wf.DTypeError, match="real arguments"):
        wf.sparse_hessian(lambda x: np.sum(np.abs(x)))(points(3) + 1j)


# --- random programs ----------------------------------------------------------------------------

SIZE = 6
MATRIX = np.where(np.random.default_rng(5).random((SIZE, SIZE)) < 0.3, 1.5, 0.0)
PLACES = np.array([4, 0, 4, 2, 5, 5])
MASK = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])


def _scanned(x: Any) -> Any:
    return wf.scan(lambda carry, step: (carry * 0.5 + step, carry * step), x[0], x)[1]


def _looped(x: Any) -> Any:
    return wf.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * np.roll(c[1], 1)), (0, x))[
        1
    ]


def _updated(x: Any) -> Any:
    return wf.fori_loop(0, 3, lambda i, y: y.at[2 * i].multiply(y[i]), x)


STEPS: dict[str, Function] = {
    "sin": lambda x: np.sin(x),
    "square": lambda x: x * x,
    "floor": lambda x: np.floor(x) + 0.5 * x,
    "roll": lambda x: np.roll(x, 2) - x,
    "mask": lambda x: MASK * x,
    "stop": lambda x: wf.stop_gradient(x) * x[::-1],
    "matrix": lambda x: MATRIX @ x,
    "quadratic": lambda x: x * (MATRIX @ x),
    "gather": lambda x: x[PLACES],
    "scatter": lambda x: (0 * x).at[PLACES].add(np.cos(x)),
    "gathers": lambda x: x[PLACES] * np.sin(x[PLACES[::-1]]) + x[0],
    "gathered rows": lambda x: (x.reshape(3, 2)[PLACES % 3] * x[:, None]).sum(axis=1),
    "set": lambda x: x.at[PLACES].set(x * x),
    "traced index": lambda x: x[np.argmax(x)] * x,
    "where": lambda x: np.where(x > 0.6, x, x[::-1]),
    "known where": lambda x: np.where(MASK > 0, x, 2.0),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.concatenate([np.cumprod(x[:3]), x[3:]]),
    "sort": lambda x: np.sort(x.reshape(2, 3), axis=1).reshape(-1),
    "extreme": lambda x: x * np.max(x[:2]),
    "mean": lambda x: x - np.repeat(np.mean(x.reshape(3, 2), axis=1), 2),
    "convolution": lambda x: np.convolve(x, np.array([1.0, 0.0, -1.0]), "same"),
    "pad": lambda x: np.pad(x[1:-1], 1),
    "outer": lambda x: np.tril(np.outer(x, x)).sum(axis=1),
    "transform": lambda x: np.abs(np.fft.fft(x.reshape(2, 3), axis=1)).reshape(-1),
    "solve": lambda x: np.linalg.solve(np.diag(x) + 4 * np.eye(SIZE), x),
    "branch": lambda x: wf.cond(x[0] > 0.7, lambda x: np.roll(x, 1), lambda x: x * x, x),
    "checkpoint": lambda x: wf.checkpoint(lambda y: np.sin(y) * np.roll(y, 1))(x),
    "batch": lambda x: wf.vmap(lambda a: a * np.sum(a))(x.reshape(3, 2)).reshape(-1),
    "scan": _scanned,
    "while": _looped,
    "loop": _updated,
}


def _program(names: list[str]) -> Function:
    def run(x: Any) -> Any:
        for name in names:
            x = STEPS[name](x)
        return x

    return run


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=4), st.integers(0, 3))
def test_jacobians_of_random_programs_are_those_of_jacfwd(names: list[str], seed: int) -> None:
    x, function = points(SIZE, seed), _program(names)
    dense = wf.jacfwd(function)(x)
    assert not np.any((dense != 0) & ~wf.sparsity_pattern(function)(x).toarray())
    assert_same(wf.sparse_jacobian(function)(x), dense)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=2), st.integers(0, 3))
def test_hessians_of_random_programs_are_those_of_hessian(names: list[str], seed: int) -> None:
    assert_hessian(lambda x: np.sum(_program(names)(x) ** 2), points(SIZE, seed), exact=False)


def test_what_the_function_reads_elsewhere_is_looked_at() -> None:
    scale, matrix, extra = [1.0], np.eye(3), [False]

    def function(x: Any) -> Any:
        return matrix @ (x * scale[0]) + (x[::-1] if extra[0] else 0.0)

    def energy(x: Any) -> Any:
        return np.sum(function(x) ** 2)

    x = points(3)
    jacobian, hessian = wf.sparse_jacobian(function), wf.sparse_hessian(energy)

    def check() -> None:
        for _ in range(2):
            assert_same(jacobian(x), wf.jacfwd(function)(x))
            assert_same(hessian(x), wf.hessian(energy)(x))

    check()
    plans = len(jacobian._known)
    check()
    assert len(jacobian._known) == plans == 1
    scale[0] = 2.0
    check()
    matrix[0, 2] = 3.0
    check()
    extra[0] = True  # the pattern is another one
    check()
    extra[0] = False
    check()
    assert len(jacobian._known) == 4


def test_draws_in_the_function_are_warned_of() -> None:
    jacobian = wf.sparse_jacobian(lambda x: x * np.random.rand())
    with pytest.warns(wf.FrozenValueWarning, match="np.random.rand was drawn once"):
        jacobian(points(2))
