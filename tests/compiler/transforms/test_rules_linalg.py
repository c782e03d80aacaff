"""Derivative and batching rules of factorisations and solves: every row of the table, then values
that are known, equal eigenvalues and singular values, and what the rules refuse.

Matrices of which an op reads the lower triangle are rebuilt from it first, so that differences move
both triangles. Eigenvectors and singular vectors have a free phase; they are compared as products
in which it cancels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.compiler.ops.rows_contraction import normal
from tests.compiler.ops.rows_eig import PAIR
from tests.compiler.ops.rows_linalg import ROWS, positive, steady
from tests.compiler.ops.sample import Array, Sample
from tests.compiler.transforms.checking import (
    check_batch,
    check_jvp,
    check_rules,
    check_second_order,
    check_symbolic,
    check_types,
    check_vjp,
    gradient,
    inexact,
    jvp,
    run,
    scaled,
    trace,
    vjp_region,
)
from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import type_of
from weft.compiler.ops import (
    arithmetic,
    contraction,
    conversion,
    helpers,
    logic,
    reduction,
    shape,
    special,
)
from weft.compiler.ops.linalg import (
    cholesky,
    eig,
    eigh,
    lu,
    qr,
    slogdet,
    solve,
    svd,
    triangular_solve,
)
from weft.compiler.transforms import derive

# --- functions of the ops -----------------------------------------------------------------------


def adjoint(a: Value) -> Value:
    rank = a.type.rank
    turned = shape.transpose(a, permutation=(*range(rank - 2), rank - 1, rank - 2))
    return conversion.conj(turned) if a.type.dtype.is_complex else turned


def matmul(left: Value, right: Value) -> Value:
    rank = left.type.rank
    batch = tuple(range(rank - 2))
    axes = {"lhs_contract": (rank - 1,), "rhs_contract": (rank - 2,)}
    return contraction.dot_general(left, right, lhs_batch=batch, rhs_batch=batch, **axes)


def described(a: Value) -> Value:
    """The Hermitian matrix that the lower triangle describes."""
    sizes, rank = a.type.shape, a.type.rank
    row = shape.iota(dtype=dtypes.i32, shape=sizes, axis=rank - 2)
    column = shape.iota(dtype=dtypes.i32, shape=sizes, axis=rank - 1)
    lower = logic.select(logic.gt(row, column), a, helpers.number(0, a))
    half = helpers.number(0.5, a)
    diagonal = logic.select(logic.eq(row, column), arithmetic.mul(a, half), helpers.number(0, a))
    both = arithmetic.add(lower, diagonal)
    return arithmetic.add(both, adjoint(both))


def weighted(vectors: Value) -> Value:
    """The columns times 1, 2, 3, ..., which tells them apart."""
    sizes = vectors.type.shape
    count = shape.iota(dtype=vectors.type.dtype, shape=sizes, axis=len(sizes) - 1)
    return arithmetic.mul(vectors, arithmetic.add(count, helpers.number(1, count)))


def cholesky_of_hermitian(a: Value) -> Value:
    return cholesky(described(a))


def eigh_without_phases(a: Value) -> tuple[Value, ...]:
    w, v = eigh.emit(described(a))
    return w, matmul(weighted(v), adjoint(v))


def svd_without_phases(a: Value, full: bool = False) -> tuple[Value, ...]:
    u, s, vh = svd.emit(a, full=full)
    v = adjoint(vh)
    return (
        s,
        matmul(u, vh),
        matmul(weighted(u), vh),
        matmul(weighted(u), adjoint(u)),
        matmul(weighted(v), vh),
    )


FORMS: dict[str, Callable[..., Any]] = {
    "cholesky": cholesky_of_hermitian,
    "eigh": eigh_without_phases,
    "svd": svd_without_phases,
}


# --- every row ----------------------------------------------------------------------------------


def has_derivative(sample: Sample) -> bool:
    if not sample.attributes.get("full"):
        return True
    rows, columns = sample.operands[0].shape[-2:]
    return bool(rows == columns or (sample.op is qr and rows < columns))


DIFFERENTIABLE = [row for row in ROWS if has_derivative(row)]
REFUSED = [row for row in ROWS if not has_derivative(row)]
# The checks widen to double, so rows that differ in precision alone would repeat each other.
DOUBLE = [row for row in DIFFERENTIABLE if row.operands[0].dtype in (np.float64, np.complex128)]
# Points at which one-sided slopes exist or differ by direction, which differences cannot tell.
SINGULAR = {
    ("lu", "all zero"),
    ("lu", "zero columns"),
    ("slogdet", "singular"),
    ("qr", "rank 1"),
    ("qr", "all zero"),
    ("eigh", "repeated"),
}
DOUBLE = [row for row in DOUBLE if (row.op.name, row.name) not in SINGULAR]
REGULAR = ("random", "typical", "every flag", "batch", "two batch axes", "known", "Hermitian")


@pytest.mark.parametrize("sample", DIFFERENTIABLE, ids=str)
def test_derived_graphs_of_every_row_have_the_right_types(sample: Sample) -> None:
    check_types(FORMS.get(sample.op.name, sample.op), sample.operands, sample.attributes)


@pytest.mark.slow
@pytest.mark.parametrize("sample", DOUBLE, ids=str)
def test_derivatives_of_every_row(sample: Sample) -> None:
    form = FORMS.get(sample.op.name, sample.op)
    compared = check_jvp(form, sample.operands, sample.attributes)
    check_vjp(form, sample.operands, sample.attributes)
    compared_again = check_second_order(form, sample.operands, sample.attributes)
    if sample.name in REGULAR:
        assert compared and compared_again


@pytest.mark.slow
@pytest.mark.parametrize("sample", DOUBLE, ids=str)
def test_batching_of_every_row(sample: Sample) -> None:
    form = FORMS.get(sample.op.name, sample.op)
    check_batch(form, sample.operands, sample.attributes, vary=scaled)
    if not sample.attributes.get("full"):
        check_symbolic(form, sample.operands, sample.attributes)


@pytest.mark.parametrize("sample", REFUSED, ids=str)
def test_full_factors_have_no_derivative(sample: Sample) -> None:
    region = trace(sample.op, map(type_of, sample.operands), sample.attributes)
    with pytest.raises(TraceError, match="full=True has no derivative.*use full=False"):
        derive.jvp(region, [True])


@pytest.mark.parametrize("op, size", [(eigh, (3, 3)), (svd, (3, 3)), (svd, (4, 2)), (svd, (2, 4))])
def test_real_vectors_themselves(op: Any, size: tuple[int, int]) -> None:
    a = normal(size, np.float64, 30)
    form = (lambda a: op.emit(described(a))) if op is eigh else op
    assert check_jvp(form, [a])
    check_rules(form, [a], vary=scaled)


def apart(dtype: Any) -> Array:
    """A matrix with eigenvalues so far apart that a small change leaves them in their order."""
    matrix: Array = np.diag([1, 5, 12, 30]) + normal((4, 4), dtype, 51) / 4
    return matrix


@pytest.mark.parametrize(
    "a", [apart(np.float64), apart(np.complex128), PAIR, np.stack([PAIR, PAIR.T])]
)
def test_values_and_vectors_of_general_matrices(a: Array) -> None:
    assert check_jvp(eig, [a])
    check_rules(eig, [a], vary=scaled)


# --- known values -------------------------------------------------------------------------------


def close(actual: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def total(value: Value) -> Value:
    return reduction.reduce_sum(value, axes=tuple(range(value.type.rank)))


def log_determinant(a: Value) -> Value:
    return slogdet.emit(a)[1]


def eigenvalues(a: Value) -> Value:
    return eigh.emit(a)[0]


def singular_values(a: Value) -> Value:
    return svd.emit(a)[1]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_of_the_log_determinant_is_the_inverse_transpose(dtype: Any) -> None:
    a = normal((4, 4), dtype, 31)
    (made,) = gradient(log_determinant, [a])
    close(made, np.linalg.inv(a).T)


def in_triangle(gradient: Array) -> Array:
    """The gradient of a function of Hermitian matrices as one of the lower triangle, where elements
    below the diagonal count for their mirror images too.
    """
    folded: Array = 2 * np.tril(gradient, -1) + np.diag(np.diag(gradient).real)
    return folded


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_gradient_by_cholesky_is_in_the_triangle_that_it_reads(dtype: Any) -> None:
    """Half the log determinant, as the sum of logarithms of L's diagonal."""
    a = positive(4, dtype, 32)

    def half_log_determinant(a: Value) -> Value:
        root = cholesky(a)
        ones = constant(np.eye(4), root.type.dtype)
        diagonal = reduction.reduce_sum(arithmetic.mul(root, ones), axes=(1,))
        real = conversion.real(diagonal) if a.type.dtype.is_complex else diagonal
        return total(special.log(real))

    (made,) = gradient(half_log_determinant, [a])
    close(made, in_triangle(np.linalg.inv(a).T / 2))


def test_tangents_of_hermitian_matrices_count_by_their_lower_triangle() -> None:
    a, lower = positive(3, np.float64, 33), np.tril(normal((3, 3), np.float64, 34), -1)
    upper = np.triu(normal((3, 3), np.float64, 35), 1)
    for op in (cholesky, eigh):
        described = jvp(op, [a], [lower + lower.T])
        for tangent in (lower, lower + upper):
            for one, other in zip(jvp(op, [a], [tangent]), described, strict=True):
                close(one, other)


def test_the_unread_triangle_gets_no_gradient() -> None:
    a = np.where(np.tri(3, dtype=bool), steady(3, np.float64, 35), np.nan)
    flags = {"lower": True}
    made, _ = gradient(triangular_solve, [a, normal((3, 2), np.float64, 36)], flags)
    assert np.all(np.isfinite(made)) and np.all(np.triu(made, 1) == 0)
    made, _ = gradient(
        triangular_solve, [a, np.ones((3, 1))], {"lower": True, "unit_diagonal": True}
    )
    assert np.all(np.triu(made) == 0)


def test_gradient_of_solve_is_the_transposed_system() -> None:
    a, b = normal((3, 3), np.float64, 37), normal((3, 1), np.float64, 38)
    da, db = gradient(solve, [a, b])
    expected = np.linalg.solve(a.T, np.ones((3, 1)))
    close(db, expected)
    close(da, -expected @ np.linalg.solve(a, b).T)


def test_solves_with_one_matrix_batch_as_columns() -> None:
    types = [type_of(np.zeros((2, 3, 3))), type_of(np.zeros((2, 3, 4)))]
    for op, flags in ((solve, {}), (triangular_solve, {"lower": True})):
        made = derive.TRANSFORMS.batch(trace(op, types, flags), [False, True], 5, [True]).region
        (solved,) = (o for o in made.ops if o.definition is op)
        assert solved.operands[0] is made.parameters[0]
        assert solved.operands[1].type.shape == (2, 3, 20)


def test_fiedler_value_of_two_joined_triangles() -> None:
    """The second eigenvalue of the Laplacian by the weight of edge ij is (q_i - q_j)^2, although
    the eigenvalue 3 comes three times.
    """
    edges = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5)]
    weights = np.zeros((6, 6))
    for i, j in edges:
        weights[i, j] = weights[j, i] = 1

    def fiedler(weights: Value) -> Value:
        degrees = reduction.reduce_sum(weights, axes=(1,))
        spread = shape.broadcast(degrees, shape=(6, 6), dims=(0,))
        on_diagonal = arithmetic.mul(spread, constant(np.eye(6)))
        values = eigenvalues(arithmetic.sub(on_diagonal, weights))
        return total(arithmetic.mul(values, constant(np.eye(6)[1])))

    (value,) = run(trace(fiedler, [type_of(weights)], None), [weights])
    close(value, (5 - np.sqrt(17)) / 2)
    (made,) = gradient(fiedler, [weights])
    by_edge = {edge: made[edge] + made[edge[::-1]] for edge in edges}
    close([by_edge[2, 3], by_edge[0, 2], by_edge[0, 1]], [0.2723931249, 0.0415135156, 0], 1e-10)


def test_log_determinant_of_an_invertible_convolution() -> None:
    """A 1x1 convolution of 4x4 pixels."""

    def pixels(w: Value) -> Value:
        return arithmetic.mul(log_determinant(w), helpers.number(16, w))

    w = np.array([[2.0, 1.0], [1.0, 3.0]])
    close(run(trace(pixels, [type_of(w)], None), [w])[0], 25.7510065989, 1e-11)
    close(gradient(pixels, [w])[0], [[9.6, -3.2], [-3.2, 6.4]])


# --- equal eigenvalues and singular values ------------------------------------------------------


def with_eigenvalues(values: list[float], dtype: Any, seed: int) -> Array:
    """A Hermitian matrix with these eigenvalues, equal ones as near as rounding leaves them."""
    q, _ = np.linalg.qr(normal((len(values), len(values)), dtype, seed))
    made: Array = (q * np.array(values)) @ q.conj().T
    return ((made + made.conj().T) / 2).astype(dtype)


def leading_projection(a: Value) -> Value:
    """The projection to the vectors of all but the largest eigenvalue of three."""
    _, v = eigh.emit(described(a))
    chosen = arithmetic.mul(v, constant(np.array([[1, 1, 0]] * 3), v.type.dtype))
    return matmul(chosen, adjoint(v))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("seed", range(3))
def test_symmetric_functions_of_equal_eigenvalues(dtype: Any, seed: int) -> None:
    a = with_eigenvalues([2.0, 2.0, 2.0, 5.0, 5.0], dtype, seed)
    tolerance = 1000 * float(np.finfo(dtype).eps)
    close(gradient(eigenvalues, [a])[0], np.eye(5), tolerance)

    def cubes(a: Value) -> Value:
        w = eigenvalues(a)
        return total(arithmetic.mul(w, arithmetic.mul(w, w)))

    close(gradient(cubes, [a])[0], in_triangle(3 * (a @ a).T), tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("count", [2, 7, 40])
def test_rounding_does_not_tell_equal_eigenvalues_apart(dtype: Any, count: int) -> None:
    """The projection to each of two spaces moves by what crosses between them, over the gap."""
    a = with_eigenvalues([1.0] * count + [3.0] * count, dtype, count)
    da = normal(a.shape, dtype, 42)
    da = da + da.conj().T

    def projection(a: Value) -> Value:
        _, v = eigh.emit(a)
        kept = constant(np.arange(2 * count) < count, v.type.dtype)
        first = arithmetic.mul(v, shape.broadcast(kept, shape=v.type.shape, dims=(1,)))
        return matmul(first, adjoint(v))

    (moved,) = jvp(projection, [a], [da])
    low = (3 * np.eye(2 * count) - a) / 2
    crossing = low @ da @ (np.eye(2 * count) - low)
    close(moved, -(crossing + crossing.conj().T) / 2, 1000 * count * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("seed", range(3))
def test_projection_to_a_space_of_equal_eigenvalues(dtype: Any, seed: int) -> None:
    a = with_eigenvalues([1.0, 1.0, 3.0], dtype, seed)
    assert check_jvp(leading_projection, [a]) == 9
    check_vjp(leading_projection, [a])


@pytest.mark.parametrize("op", [eigh, svd])
@pytest.mark.parametrize("a", [np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, 0.0])])
def test_derivatives_beside_equal_values_are_finite(op: Any, a: Array) -> None:
    region = trace(op, [type_of(a)], None)
    once = vjp_region(region, [True], [True] * len(region.results))
    inputs = [a, *[np.ones(t.shape) for t in once.parameter_types[1:]]]
    assert all(np.all(np.isfinite(made)) for made in run(once, inputs))
    twice = vjp_region(once, inexact(once.parameter_types), inexact(once.result_types))
    inputs += [np.ones(t.shape) for t in twice.parameter_types[len(inputs) :]]
    assert all(np.all(np.isfinite(made)) for made in run(twice, inputs))


def test_a_last_pivot_of_zero_is_differentiable() -> None:
    """The determinant as the product of pivots, whose gradient is the transposed adjugate."""
    a = np.array([[1.0, 2.0], [2.0, 4.0]])

    def determinant(a: Value) -> Value:
        packed, _, _ = lu.emit(a)
        diagonal = reduction.reduce_sum(arithmetic.mul(packed, constant(np.eye(2))), axes=(1,))
        first, last = (
            shape.slice_(diagonal, starts=(i,), limits=(i + 1,), strides=(1,)) for i in (0, 1)
        )
        return arithmetic.neg(arithmetic.mul(first, last))

    close(gradient(determinant, [a])[0], [[4.0, -2.0], [-2.0, 1.0]])
    check_rules(lu, [a], vary=scaled)
    check_rules(lu, [np.array([[2.0, 4.0, 1.0], [1.0, 2.0, 0.5]])], vary=scaled)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("size", [(3, 3), (4, 3), (3, 4)])
def test_polar_factor_beside_equal_singular_values(dtype: Any, size: tuple[int, int]) -> None:
    def polar(a: Value) -> Value:
        u, _, vh = svd.emit(a)
        return matmul(u, vh)

    left, _, right = np.linalg.svd(normal(size, dtype, 40), full_matrices=False)
    a = (left * np.array([2.0, 2.0, 0.5])) @ right
    assert check_jvp(polar, [a]) == a.size
    check_vjp(polar, [a])


def test_nuclear_norm_of_a_matrix_without_full_rank() -> None:
    a = np.outer([1.0, 2.0], [2.0, 0.0, 1.0])
    (made,) = gradient(singular_values, [a])
    assert np.all(np.isfinite(made))
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    close(made, u @ vh)


def test_permutations_and_pivots_are_constants() -> None:
    a = normal((4, 3), np.float64, 41)
    region = trace(lu, [type_of(a)], None)
    assert derive.TRANSFORMS.jvp(region, [True]).has == (True, False, False)
    packed, _, permutation = run(region, [a])
    (moved,) = jvp(lu, [a], [a])
    # Scaling a scales U and leaves L as it is.
    close(moved, np.triu(packed))
    close(a[permutation], (np.tril(packed, -1) + np.eye(4, 3)) @ np.triu(packed)[:3])
