"""Derivative and batching rules of the matrix factorisations and solves in `linalg`.

cholesky and eigh read the lower triangle, and their derivatives are those of what they compute: a
tangent counts by the Hermitian matrix that its lower triangle describes, and gradients are in that
triangle, an element below the diagonal counting for its mirror image too.

Vectors of equal eigenvalues or singular values are not differentiable: any rotation among them is
as good. Their rates of rotation into each other are taken as 0 wherever the values are as near as
rounding brings equal ones (`_safe_reciprocal`). So derivatives stay finite, and are right for what
does not ask how the space is spanned: symmetric functions of the values (sums, traces, norms) and
functions of the whole space (projections). A matrix function written as v f(w) v^H asks for more:
there, inside such a space, all but the diagonal of f'(w) v^H da v is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import TraceError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import Shape
from weft.compiler.ops import helpers
from weft.compiler.ops.primitives import ops

# --- batching -----------------------------------------------------------------------------------


def batch_alone(op: Op, operands: Sequence[Value], *_: object) -> tuple[Value, ...]:
    """The batching rule of ops on one operand: one more leading axis."""
    return op.definition.emit(*operands, **op.attributes)


def batch_solve(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    """Solves with the same matrix take the axis as further columns (rows, if a is on the right), so
    that it is factorised once.
    """
    (a, b), (a_batched, b_batched) = operands, batched
    if a_batched:
        b = b if b_batched else helpers.add_leading_axis(b, size)
        return op.definition(a, b, **op.attributes)
    axis = b.type.rank - (1 if op.attributes.get("left_side", True) else 2)
    order = (*range(1, axis), 0, *range(axis, b.type.rank))
    moved = helpers.transpose(b, order)
    sizes = moved.type.shape
    folded = (*sizes[: axis - 1], sizes[axis - 1] * sizes[axis], *sizes[axis + 1 :])
    solved = op.definition(a, ops.reshape(moved, shape=folded), **op.attributes)
    inverse = (axis - 1, *range(axis - 1), *range(axis, b.type.rank))
    return helpers.transpose(ops.reshape(solved, shape=sizes), inverse)


# --- triangular factors and solves --------------------------------------------------------------


def cholesky_jvp(op: Op, tangents: Sequence[Maybe]) -> Value:
    """dL = L phi(L^-1 da L^-H), where phi keeps the lower triangle and half of the diagonal."""
    (root,) = op.results
    conjugate = root.type.dtype.is_complex
    inner = ops.triangular_solve(root, _hermitian(_only(tangents)), lower=True)
    inner = ops.triangular_solve(
        root, inner, lower=True, transpose=True, conjugate=conjugate, left_side=False
    )
    return _matmul(root, _half_triangle(_plus_adjoint(inner), lower=True, factor=0.5))


def triangular_solve_jvp(op: Op, tangents: Sequence[Maybe]) -> Value:
    """op(a) dx = db - op(da) x, from the triangle of da that is read; from the right likewise."""
    (da, db), (a, _), (x,), flags = tangents, op.operands, op.results, op.attributes
    if da is None:
        assert db is not None
        return ops.triangular_solve(a, db, **flags)
    row, column = _positions(da)
    if not flags["lower"]:
        row, column = column, row
    read = ops.gt(row, column) if flags["unit_diagonal"] else ops.ge(row, column)
    da = _keep(read, da)
    da = _conjugate(da) if flags["conjugate"] else da
    if flags["left_side"]:
        change = _matmul(da, x, turn_left=flags["transpose"])
    else:
        change = _matmul(x, da, turn_right=flags["transpose"])
    return ops.triangular_solve(a, _difference(db, change), **flags)


def _difference(left: Maybe, right: Value) -> Value:
    return ops.neg(right) if left is None else ops.sub(left, right)


def triangular_solve_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    flags = {**op.attributes, "transpose": not op.attributes["transpose"]}
    return [None, ops.triangular_solve(op.operands[0], helpers.only(cotangents), **flags)]


def solve_jvp(op: Op, tangents: Sequence[Maybe]) -> Value:
    """a dx = db - da x."""
    (da, db), (a, _), (x,) = tangents, op.operands, op.results
    if da is None:
        assert db is not None
        return ops.solve(a, db)
    return ops.solve(a, _difference(db, _matmul(da, x)))


def solve_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    return [None, ops.solve(_transposed(op.operands[0]), helpers.only(cotangents))]


def lu_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """dL = L below(F) and dU = upper(G - below(F) U), with G = L^-1 da[permutation], F = G U^-1.

    For this L and U are made square: L by columns of the identity, U by rows of ones, where any
    invertible triangle would do. They replace the last row of U unless L has rows below it, since
    then no element of L was divided by that pivot, which may be 0.
    """
    packed, _, permutation = op.results
    rank, (rows, columns) = packed.type.rank, packed.type.shape[-2:]
    da = ops.gather(
        _only(tangents), permutation, axes=(rank - 2,), batch_dims=rank - 2, mode="clip"
    )
    divided = dims.maximum(dims.minimum(rows - 1, columns), 0)
    left = _resized(packed, rank - 1, rows)
    right = _resized(_resized(packed, rank - 2, divided), rank - 2, columns, fill=1.0)
    solved = ops.triangular_solve(left, da, lower=True, unit_diagonal=True)
    inner = ops.triangular_solve(right, solved, lower=False, left_side=False)
    below, _ = _below_and_upper(inner)
    _, du = _below_and_upper(ops.sub(solved, _matmul(below, _below_and_upper(right)[1])))
    # L is the identity plus what is packed below the diagonal.
    dl = ops.add(below, _matmul(_below_and_upper(left)[0], below))
    return [ops.add(dl, du), None, None]


def slogdet_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """With t = tr(a^-1 da), the logarithm changes by Re t and the sign by i Im t times itself."""
    (a,), (sign, _) = op.operands, op.results
    inverse_transpose = ops.solve(_transposed(a), _identity(a))
    products = ops.mul(_only(tangents), inverse_transpose)
    trace = ops.reduce_sum(products, axes=(a.type.rank - 2, a.type.rank - 1))
    if not a.type.dtype.is_complex:
        return [None, trace]
    turn = ops.complex_(constant(0, a.type.dtype.real), ops.imag(trace))
    return [ops.mul(turn, sign), ops.real(trace)]


# --- orthogonal factors -------------------------------------------------------------------------


def qr_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """dR = W R and dQ = da R^-1 - Q W, with C = Q^H da R^-1 and W the upper triangle of C + C^H
    with its diagonal halved, which keeps the diagonal of R real, as LAPACK makes it.

    Where a is wide, this holds for its leading square part.
    """
    da, (q, r) = _only(tangents), op.results
    rank, inner, columns = r.type.rank, r.type.shape[-2], r.type.shape[-1]
    if op.attributes["full"] and dims.minimum(inner, columns) != inner:
        raise _no_full_derivative(op)
    square, first = _resized(r, rank - 1, inner), _resized(da, rank - 1, inner)
    solved = ops.triangular_solve(square, first, lower=False, left_side=False)
    turn = _matmul(_conjugate(q), solved, turn_left=True)
    upper = _half_triangle(_plus_adjoint(turn), lower=False)
    dq = ops.sub(solved, _matmul(q, upper))
    if columns == inner:
        return [dq, _matmul(upper, r)]
    # Q^H da = Q^H dQ R + dR, of which Q^H dQ is C - W.
    dr = _matmul(_conjugate(q), da, turn_left=True)
    dr = ops.sub(dr, _matmul(ops.sub(turn, upper), r))
    return [dq, _below_and_upper(dr)[1]]


def _no_full_derivative(op: Op) -> TraceError:
    return TraceError(
        f"{op.name} of {op.operands[0].type} with full=True has no derivative: the vectors beyond "
        "the reduced ones are arbitrary; use full=False (in NumPy mode='reduced' of qr, "
        "full_matrices=False of svd)",
        location=op.location,
    )


def eigh_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """dw = Re diag(M) and dV = V (F * (M + M^H) / 2) with M = V^H da V and F_ij = 1 / (w_j - w_i),
    0 where these are near.
    """
    w, v = op.results
    sizes = v.type.shape
    moved = _matmul(_hermitian(_only(tangents)), v)
    turn = _plus_adjoint(_matmul(_conjugate(v), moved, turn_left=True))
    gaps = ops.sub(_per_column(w, sizes), _per_row(w, sizes))
    rates = _safe_reciprocal(gaps, _negligible(w), 0.5)
    dv = _matmul(v, ops.mul(turn, _as_dtype_of(rates, v)))
    return [_column_products(v, moved), dv]


def eig_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """dw = diag(M) and dV = V (F * M) with M = V^-1 da V and F_ij = 1 / (w_j - w_i), 0 where these
    are near, less what would change the length of a vector or turn its largest element, which
    LAPACK makes real.
    """
    w, v = op.results
    sizes, rank = v.type.shape, v.type.rank
    da = _as_dtype_of(_only(tangents), v)
    inner = ops.solve(v, _matmul(da, v))
    dw = ops.reduce_sum(_keep(ops.eq(*_positions(inner)), inner), axes=(rank - 2,))
    gaps = ops.sub(_per_column(w, sizes), _per_row(w, sizes))
    moved = _matmul(v, ops.mul(inner, _safe_reciprocal(gaps, _negligible(w))))
    along = _as_dtype_of(_column_products(v, moved), v)
    moved = ops.sub(moved, _scaled_columns(v, along))
    return [dw, ops.sub(moved, _scaled_columns(v, _turn_of_largest(v, moved)))]


def _turn_of_largest(vectors: Value, tangents: Value) -> Value:
    """i times the rate at which the largest element of each column turns in the complex plane."""
    rank, real = vectors.type.rank, vectors.type.dtype.real
    largest = ops.argmax(ops.abs_(vectors), axis=rank - 2)
    row = ops.iota(dtype=largest.type.dtype, shape=vectors.type.shape, axis=rank - 2)
    is_largest = ops.eq(row, _per_column(largest, vectors.type.shape))
    # The elements beside it are read as 0 / 1.
    length = ops.select(is_largest, ops.real(vectors), constant(1, real))
    turn = _keep(is_largest, ops.div(ops.imag(tangents), length))
    total = ops.reduce_sum(turn, axes=(rank - 2,))
    return ops.complex_(constant(0, real), total)


def svd_jvp(op: Op, tangents: Sequence[Maybe]) -> list[Maybe]:
    """ds = Re diag(P), dU = U (X + Y) / 2 and dV = V (X - Y) / 2, with P = U^H da V,
    X_ij = (P + P^H)_ij / (s_j - s_i) and Y_ij = (P - P^H)_ij / (s_j + s_i), 0 where these are near
    0; and what da moves out of the spaces that U and V span.

    Sum and difference, rather than the usual 1 / (s_j^2 - s_i^2) for both: near values then spoil
    only X, and the polar factor U V^H, which needs Y alone, is right beside equal ones.
    """
    da, (u, s, vh) = _only(tangents), op.results
    rows, columns, least = u.type.shape[-2], vh.type.shape[-1], s.type.shape[-1]
    if op.attributes["full"] and rows != columns:
        raise _no_full_derivative(op)
    moved = _matmul(da, _conjugate(vh), turn_right=True)
    inner = _matmul(_conjugate(u), moved, turn_left=True)
    negligible = _negligible(s)
    both, apart = _half_rotations(inner, s, negligible)
    du, dvh = ops.add(both, apart), ops.sub(apart, both)
    ds = _column_products(u, moved)
    if rows == columns:
        return [_matmul(u, du), ds, _matmul(dvh, vh)]
    inverse = _as_dtype_of(_safe_reciprocal(s, negligible), da)
    if rows == least:
        du = _matmul(u, du)
    else:
        du = ops.sub(du, _scaled_columns(inner, inverse))
        du = ops.add(_matmul(u, du), _scaled_columns(moved, inverse))
    if columns == least:
        dvh = _matmul(dvh, vh)
    else:
        dvh = ops.sub(dvh, _scaled_rows(inner, inverse))
        moved_back = _matmul(_conjugate(u), da, turn_left=True)
        dvh = ops.add(_matmul(dvh, vh), _scaled_rows(moved_back, inverse))
    return [du, ds, dvh]


def _half_rotations(inner: Value, s: Value, negligible: Value) -> tuple[Value, Value]:
    """X / 2 and Y / 2 of `svd_jvp`."""
    adjoint = _conjugate(_transposed(inner))
    column, row = _per_column(s, inner.type.shape), _per_row(s, inner.type.shape)
    to_both = _safe_reciprocal(ops.sub(column, row), negligible, 0.5)
    to_apart = _safe_reciprocal(ops.add(column, row), negligible, 0.5)
    both = ops.mul(ops.add(inner, adjoint), _as_dtype_of(to_both, inner))
    apart = ops.mul(ops.sub(inner, adjoint), _as_dtype_of(to_apart, inner))
    return both, apart


# --- pieces of rules ----------------------------------------------------------------------------


def _only(tangents: Sequence[Maybe]) -> Value:
    """The tangent of the one operand; rules are not asked when it is zero."""
    (tangent,) = tangents
    assert tangent is not None
    return tangent


def _matmul(
    left: Value, right: Value, *, turn_left: bool = False, turn_right: bool = False
) -> Value:
    """The products of two batches of matrices, each transposed first if it is to be turned."""
    rank = left.type.rank
    batch = tuple(range(rank - 2))
    return ops.dot_general(
        left,
        right,
        lhs_contract=(rank - 2 if turn_left else rank - 1,),
        rhs_contract=(rank - 1 if turn_right else rank - 2,),
        lhs_batch=batch,
        rhs_batch=batch,
    )


def _transposed(matrices: Value) -> Value:
    rank = matrices.type.rank
    return ops.transpose(matrices, permutation=(*range(rank - 2), rank - 1, rank - 2))


def _conjugate(value: Value) -> Value:
    return ops.conj(value) if value.type.dtype.is_complex else value


def _real(value: Value) -> Value:
    return ops.real(value) if value.type.dtype.is_complex else value


def _as_dtype_of(value: Value, like: Value) -> Value:
    """Numbers in the dtype of others, which may be complex."""
    if value.type.dtype is like.type.dtype:
        return value
    return ops.complex_(value, helpers.number(0, value))


def _plus_adjoint(matrices: Value) -> Value:
    """M + M^H, twice the Hermitian part."""
    return ops.add(matrices, _conjugate(_transposed(matrices)))


def _hermitian(matrices: Value) -> Value:
    """The Hermitian matrices that lower triangles describe."""
    row, column = _positions(matrices)
    below = _keep(ops.gt(row, column), matrices)
    diagonal = _as_dtype_of(_real(matrices), matrices)
    return ops.add(_plus_adjoint(below), _keep(ops.eq(row, column), diagonal))


def _positions(matrices: Value) -> tuple[Value, Value]:
    """The row and the column of every element."""
    sizes, rank = matrices.type.shape, matrices.type.rank
    row = ops.iota(dtype=dtypes.i32, shape=sizes, axis=rank - 2)
    return row, ops.iota(dtype=dtypes.i32, shape=sizes, axis=rank - 1)


def _keep(mask: Value, value: Value) -> Value:
    """The elements under the mask, and zeros elsewhere."""
    return ops.select(mask, value, helpers.number(0, value))


def _below_and_upper(matrices: Value) -> tuple[Value, Value]:
    """The elements below the diagonal and the others, each with zeros in the other's place."""
    mask, zero = ops.gt(*_positions(matrices)), helpers.number(0, matrices)
    return ops.select(mask, matrices, zero), ops.select(mask, zero, matrices)


def _identity(like: Value) -> Value:
    """Identity matrices of the type of others."""
    one = helpers.number(1, like)
    return _keep(ops.eq(*_positions(like)), one)


def _half_triangle(matrices: Value, *, lower: bool, factor: float = 1.0) -> Value:
    """One triangle times a factor, and half of that of the diagonal."""
    row, column = _positions(matrices)
    inside = ops.gt(row, column) if lower else ops.lt(row, column)
    on_diagonal = _keep(ops.eq(row, column), helpers.number(factor / 2, matrices))
    weights = ops.select(inside, helpers.number(factor, matrices), on_diagonal)
    return ops.mul(matrices, weights)


def _per_row(values: Value, target: Shape) -> Value:
    """Matrices whose rows each hold one of the values throughout."""
    return ops.broadcast(values, shape=target, dims=tuple(range(len(target) - 1)))


def _per_column(values: Value, target: Shape) -> Value:
    """Matrices whose columns each hold one of the values throughout."""
    rank = len(target)
    return ops.broadcast(values, shape=target, dims=(*range(rank - 2), rank - 1))


def _scaled_rows(matrices: Value, factors: Value) -> Value:
    return ops.mul(matrices, _per_row(factors, matrices.type.shape))


def _scaled_columns(matrices: Value, factors: Value) -> Value:
    return ops.mul(matrices, _per_column(factors, matrices.type.shape))


def _column_products(left: Value, right: Value) -> Value:
    """The real parts of the inner products of columns, Re diag(left^H right)."""
    products = ops.mul(_conjugate(left), right)
    return _real(ops.reduce_sum(products, axes=(left.type.rank - 2,)))


def _resized(matrices: Value, axis: int, size: Size, fill: float = 0.0) -> Value:
    """The matrices cut, or filled up, to a number of rows or columns; or themselves."""
    sizes = matrices.type.shape
    if sizes[axis] == size:
        return matrices
    zero = (0,) * len(sizes)
    high = (*zero[:axis], size - sizes[axis], *zero[axis + 1 :])
    value = helpers.number(fill, matrices)
    return ops.pad(matrices, value, low=zero, high=high, interior=zero)


def _negligible(values: Value) -> Value:
    """How far apart rounding may bring equal values of a matrix that has these: some units in the
    last place of the sum of their sizes (measured: up to 5 of them, from 2 to 600 rows).
    """
    sizes = ops.abs_(values)
    total = ops.reduce_sum(sizes, axes=(values.type.rank - 1,))
    unit = float(np.finfo(values.type.dtype.numpy).eps)
    return ops.mul(total, helpers.number(16 * unit, total))


def _safe_reciprocal(values: Value, negligible: Value, numerator: float = 1.0) -> Value:
    """The numerator over each value, 0 where the value is no larger than what is negligible."""
    batch = tuple(range(negligible.type.rank))
    limit = ops.broadcast(negligible, shape=values.type.shape, dims=batch)
    small = ops.le(ops.abs_(values), limit)
    # Divided by 1 there, so that no derivative of any order meets an infinity.
    safe = ops.select(small, helpers.number(1, values), values)
    numerators = ops.select(small, helpers.number(0, values), helpers.number(numerator, values))
    return ops.div(numerators, safe)
