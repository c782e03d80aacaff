"""Rows of numpy.linalg: solves, factorisations, norms, and what is computed from them.

For matrices that have no answer NumPy raises, where traced functions give NaN: those drawn here
have one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import weft.numpy
from tests.frontends.numpy.arrays import (
    ALL,
    LINEAR,
    NUMBER,
    Array,
    Draw,
    a_dtype,
    an_axis,
    array,
    axes,
    broadcastable,
    chance,
    choice,
    distinct_axes,
    integer,
    keepdims,
    options,
    shape,
)
from tests.frontends.numpy.checking import Call, Function, call, check_against_numpy, check_compiled
from tests.frontends.numpy.row import Row, named, rows
from tests.frontends.numpy.rows_contraction import (
    crossed_in_last,
    matrix_products_alone,
    tensors,
    tensors_in_order,
    vectors_along,
)

# In units of the last place of the largest number around, for matrices of small condition.
TOLERANCE = 128.0


@dataclass(frozen=True)
class FactorRow(Row):
    """A row of a factorisation that is unique up to signs: compares what `common` makes of it."""

    common: Function = tuple

    def check(self, draw: Draw) -> None:
        """Draw a call and compare the factors multiplied, and the products of each with itself."""
        given = self.make(draw)
        check_against_numpy(
            self._then_common(named(np, self.name)),
            given.args,
            given.kwargs,
            ours=self._then_common(named(weft.numpy, self.name)),
            tolerance=self.tolerance,
            same_graph=self.same_graph,
        )

    def check_compiled(self, draw: Draw) -> None:
        """Draw a call and compare native code with NumPy."""
        ours, theirs = [self._then_common(named(m, self.name)) for m in (weft.numpy, np)]
        check_compiled(ours, self.make(draw), theirs, self.tolerance)

    def _then_common(self, function: Function) -> Function:
        return lambda *args, **kwargs: self.common(function(*args, **kwargs))


# --- matrices -------------------------------------------------------------------------------------


def any_matrices(draw: Draw, dtypes: tuple[str, ...] = LINEAR, most: int = 4) -> Array:
    """Matrices of any rank; once in a while a vector, or float16, which both refuse."""
    kinds = ("float16",) if integer(draw, 0, 19) == 19 else dtypes
    least = 1 if integer(draw, 0, 19) == 19 else 2
    return array(draw, kinds, least_rank=least, most_rank=4, most=most, values="small")


def regular(
    draw: Draw,
    rows_of: int,
    columns: int | None = None,
    stack: tuple[int, ...] | None = None,
    dtypes: tuple[str, ...] = LINEAR,
) -> Array:
    """Matrices of full rank and small condition, with their rows in any order."""
    columns = rows_of if columns is None else columns
    leading = shape(draw, most_rank=2) if stack is None else stack
    x = array(draw, dtypes, (*leading, rows_of, columns), values="small")
    # More than all others in a row together, of which there are at most 5 of size 2 * sqrt(2).
    dominant = x + 16 * np.eye(rows_of, columns, dtype=x.dtype)
    return dominant[..., draw(st.permutations(range(rows_of))), :].astype(x.dtype)


def square(draw: Draw) -> Array:
    """Regular matrices; once in a while something else, which is refused."""
    if integer(draw, 0, 14) == 14:
        return array(draw, LINEAR, choice(draw, (2, 3), (3,), (2, 2, 3), ()), values="small")
    if integer(draw, 0, 14) == 14:
        return regular(draw, 2, dtypes=("float16",))
    return regular(draw, integer(draw, 0, 4))


def one_square(draw: Draw) -> Call:
    return call(square(draw))


def one_of_any(draw: Draw) -> Call:
    return call(any_matrices(draw))


def singular(draw: Draw) -> Call:
    """Determinants are right for these too."""
    x = regular(draw, 3, stack=choice(draw, (), (2,)))
    x[..., 2, :] = choice(draw, 0, x[..., 1, :])
    return call(x)


# --- solving --------------------------------------------------------------------------------------


def to_solve(draw: Draw) -> Call:
    size = integer(draw, 0, 4)
    stack = shape(draw, most_rank=2)
    x = regular(draw, size, stack=stack)
    columns = integer(draw, 0, 3)
    of = choice(draw, (size,), (size, columns), (*broadcastable(draw, stack), size, columns))
    if integer(draw, 0, 9) == 9:
        of = choice(draw, (size + 1,), (size + 1, 2), ())
    return call(x, array(draw, LINEAR, of, values="small"))


def by_least_squares(draw: Draw) -> Call:
    rows_of, columns = integer(draw, 0, 4), integer(draw, 0, 4)
    x = regular(draw, rows_of, columns, stack=())
    of = choice(draw, (rows_of,), (rows_of, 2), (rows_of, 1), (rows_of, 0), (rows_of + 1,))
    b = array(draw, LINEAR, of, values="small")
    return call(x, b, **options(draw, rcond=st.sampled_from((None, 1e-5, np.float64(1e-6)))))


def to_invert_any(draw: Draw) -> Call:
    stack = shape(draw, most_rank=2)
    rows_of, columns = integer(draw, 0, 4), integer(draw, 0, 4)
    # The inverse of no integers is of integers in NumPy, of all others of float64; here it always
    # is float64, so that the dtype does not depend on a size.
    dtypes = LINEAR if rows_of and columns else LINEAR[:-1]
    x = regular(draw, rows_of, columns, stack, dtypes)
    limit = st.sampled_from((1e-5, np.array(1e-4), np.full(stack, 1e-3)))
    return call(x, **options(draw, **{choice(draw, "rcond", "rtol"): limit}))


def of_low_rank(draw: Draw) -> Call:
    """Products of thin matrices, of small integers, so that what is 0 is clear."""
    stack = shape(draw, most_rank=1)
    thin = integer(draw, 1, 2)
    left = regular(draw, integer(draw, thin, 4), thin, stack, ("float64", "complex128"))
    right = regular(draw, thin, integer(draw, thin, 4), stack, ("float64", "int32"))
    return call(left @ right, **options(draw, rtol=st.just(1e-6)))


def with_rank(draw: Draw) -> Call:
    if integer(draw, 0, 3) == 3:
        return call(array(draw, ("float64", "int32"), most_rank=1, values="small"))
    limits = choice(draw, options(draw, tol=st.just(1e-3)), options(draw, rtol=st.just(1e-4)))
    return call(choice(draw, *of_low_rank(draw).args, any_matrices(draw)), **limits)


def tensor_to_solve(draw: Draw) -> Call:
    x = regular(draw, 6, stack=())
    whole, of = choice(draw, ((2, 3, 6), (2, 3)), ((6, 3, 2), (6,)), ((2, 3, 3, 2), (2, 3)))
    if chance(draw):
        return call(x.reshape(whole), array(draw, LINEAR, of, values="small"))
    moved = np.moveaxis(x.reshape(2, 3, 6), 2, 0)
    return call(moved, array(draw, LINEAR, (2, 3), values="small"), axes=(0,))


def tensor_to_invert(draw: Draw) -> Call:
    x = regular(draw, 6, stack=())
    whole, first = choice(draw, ((2, 3, 6), 2), ((6, 3, 2), 1), ((2, 3, 3, 2), 2), ((2, 3, 6), 1))
    return call(x.reshape(whole), ind=choice(draw, first, first, first, 0))


# --- factorisations -------------------------------------------------------------------------------


def positive(draw: Draw) -> Call:
    """What cholesky takes; the triangle that it does not read says something else."""
    size = integer(draw, 0, 4)
    stack = shape(draw, most_rank=2)
    x = array(draw, LINEAR, (*stack, size, size), values="small")
    described = x + 16 * np.eye(size, dtype=x.dtype)
    real = np.eye(size, dtype=bool) & np.iscomplexobj(x)
    return call(
        np.where(real, described.real, described).astype(x.dtype),
        **options(draw, upper=st.booleans()),
    )


def hermitian(draw: Draw) -> Call:
    size = integer(draw, 0, 4)
    x = array(draw, LINEAR, (*shape(draw, most_rank=2), size, size), values="small")
    return call(x, **options(draw, UPLO=st.sampled_from(("L", "U", "l", "u", "X"))))


def to_triangle(draw: Draw) -> Call:
    return call(any_matrices(draw), **options(draw, mode=st.sampled_from(("reduced", "complete"))))


def to_triangle_alone(draw: Draw) -> Call:
    return call(any_matrices(draw), "r")


def singular_factors(draw: Draw) -> Call:
    return call(any_matrices(draw), **options(draw, full_matrices=st.booleans()))


def singular_values(draw: Draw) -> Call:
    return call(any_matrices(draw), compute_uv=False)


def gram(x: Any) -> Any:
    """The product of the adjoint with the matrices: what signs of columns do not change in size."""
    return abs(np.conj(np.swapaxes(x, -1, -2)) @ x)


def of_eigh(found: Any) -> Any:
    """The eigenvalues, and the matrices again."""
    values, vectors = found
    adjoint = np.conj(np.swapaxes(vectors, -1, -2))
    again = (vectors * values[..., np.newaxis, :]) @ adjoint
    return found._fields, values, again, gram(vectors)


def of_qr(found: Any) -> Any:
    """The matrices again, and sizes in the triangle."""
    q, r = found
    return found._fields, q @ r, np.tril(r, -1), gram(q), gram(r)


def of_triangle(r: Any) -> Any:
    """What is left of the matrices where only the triangle is known."""
    return np.tril(r, -1), gram(r)


def of_svd(found: Any) -> Any:
    """The singular values, and the matrices again."""
    u, s, vh = found
    count = s.shape[-1]
    again = (u[..., :count] * s[..., np.newaxis, :]) @ vh[..., :count, :]
    return found._fields, s, again, gram(u), gram(vh)


# --- norms ----------------------------------------------------------------------------------------

VECTOR_ORDERS = (None, 0, 1, 2, 3, 0.5, -1, np.inf, -np.inf)
MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)


def length(draw: Draw) -> Call:
    x = array(draw, values="positive" if chance(draw) else "finite")
    return call(x, **options(draw, keepdims=keepdims))


def length_along(draw: Draw) -> Call:
    x = array(draw, NUMBER, least_rank=1, values="positive")
    order = st.sampled_from((*VECTOR_ORDERS, "fro"))
    return call(x, axis=an_axis(draw, x.ndim), **options(draw, ord=order, keepdims=keepdims))


def matrix_length(draw: Draw) -> Call:
    x = array(draw, LINEAR, least_rank=2, values="finite")
    pair = distinct_axes(draw, x.ndim, least=2)[:2]
    order = st.sampled_from((None, *MATRIX_ORDERS, 3))
    return call(x, axis=pair, **options(draw, ord=order, keepdims=keepdims))


def of_all_axes(draw: Draw) -> Call:
    x = array(draw, LINEAR, least_rank=1, most_rank=2, values="finite", least=1)
    return call(x, choice(draw, None, 1, 2, np.inf, -np.inf, "fro"))


def vector_length(draw: Draw) -> Call:
    x = array(draw, NUMBER, values="positive")
    chosen = options(draw, ord=st.sampled_from(VECTOR_ORDERS[1:]), keepdims=keepdims)
    return call(x, **options(draw, axis=st.just(axes(draw, x.ndim) or None)), **chosen)


def length_in_last(draw: Draw) -> Call:
    x = array(draw, LINEAR, least_rank=1, values="finite")
    return call(x, **options(draw, ord=st.sampled_from(MATRIX_ORDERS), keepdims=keepdims))


def condition(draw: Draw) -> Call:
    order = choice(draw, None, *MATRIX_ORDERS)
    if order in (None, 2, -2) and chance(draw):
        return call(regular(draw, integer(draw, 1, 4), integer(draw, 1, 4)), order)
    return call(square(draw), order)


# --- products, and functions of matrices ----------------------------------------------------------


def raised(draw: Draw) -> Call:
    kinds = choice(draw, NUMBER, ("float16",))
    x = array(draw, kinds, (*shape(draw, most_rank=1), 3, 3), values="small")
    return call(choice(draw, x, x, array(draw, kinds, (2, 3))), integer(draw, 0, 6))


def raised_below(draw: Draw) -> Call:
    return call(square(draw), -integer(draw, 1, 3))


def chained(draw: Draw) -> Call:
    count = integer(draw, 1, 4)
    sizes = shape(draw, least_rank=count + 1, most_rank=count + 1)
    made = [array(draw, NUMBER, sizes[i : i + 2], values="small") for i in range(count)]
    if chance(draw):
        made[0] = array(draw, NUMBER, (sizes[1],), values="small")
    if count > 1 and chance(draw):
        made[-1] = array(draw, NUMBER, (choice(draw, sizes[-2], sizes[-2], 7),), values="small")
    return call(made)


def exponent(draw: Draw) -> Call:
    size = integer(draw, 0, 4)
    stack = shape(draw, most_rank=1)
    x = array(draw, (*LINEAR, "float16"), (*stack, size, size), values="small")
    if integer(draw, 0, 14) == 14:
        return call(array(draw, LINEAR, (2, 3)))
    return call(choice(draw, x, x * 2, x // 4 if x.dtype.kind == "i" else x / 16))


def expm(x: Array) -> Array:
    """Taylor's series in a wider dtype: SciPy's loses digits for matrices that are triangular."""
    narrow = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype
    dtype = np.dtype(np.float64) if narrow.kind == "i" else narrow
    wide = x.astype(np.clongdouble if dtype.kind == "c" else np.longdouble) / 2**8
    term = total = np.broadcast_to(np.eye(x.shape[-1], dtype=wide.dtype), wide.shape)
    for degree in range(1, 30):
        term = term @ wide / degree
        total = total + term
    for _ in range(8):
        total = total @ total
    return total.astype(dtype)


def on_diagonal(draw: Draw) -> Call:
    return call(array(draw, least_rank=1), **options(draw, offset=st.integers(-3, 3)))


def general(draw: Draw) -> Call:
    """Diagonally dominant, with eigenvalues apart."""
    size = integer(draw, 0, 4)
    x = array(draw, LINEAR, (*shape(draw, most_rank=1), size, size), values="small")
    return call((x + np.diag([8, 16, 24, 32][:size])).astype(x.dtype))


def of_values(values: Any) -> Any:
    """What does not depend on the order of eigenvalues; complex always."""
    values = values * np.complex64(1)
    return np.sum(values, -1), np.sum(values * values, -1) / 16


def of_eig(found: Any) -> Any:
    """Of the vectors, that they are of length 1 and what they make of the values."""
    values, vectors = [part * np.complex64(1) for part in found]
    again = vectors @ (values[..., None] * np.linalg.inv(vectors))
    return *of_values(values), np.sum(np.abs(vectors) ** 2, -2), again


def symmetric(draw: Draw) -> Call:
    """Hermitian, with eigenvalues of both signs, and one that is 0 once in a while."""
    size = integer(draw, 1, 4)
    x = array(draw, LINEAR, (*shape(draw, most_rank=1), size, size), values="small")
    signs = np.diag([8, -16, 24 if chance(draw) else 0, -32][:size])
    return call((x + x.conj().swapaxes(-1, -2) + 2 * signs).astype(x.dtype), hermitian=True)


def traced_sum(draw: Draw) -> Call:
    x = array(draw, values="finite", least_rank=1)
    dtype = a_dtype(("complex128",))
    return call(x, **options(draw, offset=st.integers(-3, 3), dtype=dtype))


def two_vectors(draw: Draw) -> Call:
    x, y = [array(draw, ALL, shape(draw, 1, choice(draw, 1, 1, 2))) for _ in range(2)]
    return call(x, y)


ROWS: list[Row] = [
    Row("linalg.solve", to_solve, tolerance=TOLERANCE),
    Row("linalg.inv", one_square, tolerance=TOLERANCE),
    Row("linalg.lstsq", by_least_squares, tolerance=TOLERANCE),
    Row("linalg.pinv", to_invert_any, tolerance=TOLERANCE),
    Row("linalg.pinv", of_low_rank, tolerance=TOLERANCE),
    Row("linalg.matrix_rank", with_rank),
    Row("linalg.tensorsolve", tensor_to_solve, tolerance=TOLERANCE),
    Row("linalg.tensorinv", tensor_to_invert, tolerance=TOLERANCE),
    *rows("linalg.det linalg.slogdet", one_square, tolerance=TOLERANCE),
    Row("linalg.det", singular, tolerance=TOLERANCE),
    Row("linalg.cholesky", positive, tolerance=TOLERANCE),
    FactorRow("linalg.eigh", hermitian, tolerance=TOLERANCE, common=of_eigh),
    Row("linalg.eigvalsh", hermitian, tolerance=TOLERANCE),
    FactorRow("linalg.eig", general, tolerance=512.0, common=of_eig),
    FactorRow("linalg.eigvals", general, tolerance=512.0, common=of_values),
    FactorRow("linalg.qr", to_triangle, tolerance=TOLERANCE, common=of_qr),
    FactorRow("linalg.qr", to_triangle_alone, tolerance=TOLERANCE, common=of_triangle),
    FactorRow("linalg.svd", singular_factors, tolerance=TOLERANCE, common=of_svd),
    Row("linalg.svd", singular_values, tolerance=TOLERANCE),
    FactorRow("linalg.svd", symmetric, tolerance=TOLERANCE, common=of_svd),
    *rows("linalg.pinv linalg.matrix_rank", symmetric, tolerance=512.0),
    Row("linalg.svdvals", one_of_any, tolerance=TOLERANCE),
    Row("linalg.norm", length),
    Row("linalg.norm", length_along, tolerance=TOLERANCE),
    Row("linalg.norm", matrix_length, tolerance=TOLERANCE),
    Row("linalg.norm", of_all_axes, tolerance=TOLERANCE),
    Row("linalg.vector_norm", vector_length, tolerance=TOLERANCE),
    Row("linalg.matrix_norm", length_in_last, tolerance=TOLERANCE),
    Row("linalg.cond", condition, tolerance=TOLERANCE),
    Row("linalg.matrix_power", raised, tolerance=TOLERANCE),
    Row("linalg.matrix_power", raised_below, tolerance=TOLERANCE),
    Row("linalg.multi_dot", chained, tolerance=TOLERANCE),
    Row("linalg.expm", exponent, tolerance=512.0, oracle=expm),
    Row("linalg.diagonal", on_diagonal),
    Row("linalg.trace", traced_sum),
    Row("linalg.outer", two_vectors),
    Row("linalg.cross", crossed_in_last),
    Row("linalg.matmul", matrix_products_alone),
    *rows("linalg.tensordot", tensors),
    *rows("linalg.tensordot", tensors_in_order),
    Row("linalg.vecdot", vectors_along),
]
