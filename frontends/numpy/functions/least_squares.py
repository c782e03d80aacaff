"""What singular values give: pseudo-inverse, least squares, rank."""

from __future__ import annotations

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops import linalg as primitives
from weft.compiler.ops.arithmetic import div, mul, sub
from weft.compiler.ops.logic import gt, select
from weft.frontends.numpy.functions.axis_access import element, stretch
from weft.frontends.numpy.functions.magnitude import conjugate, squared_magnitude
from weft.frontends.numpy.functions.matrices import decompose, matrices, multiply, operands
from weft.frontends.numpy.functions.reducing import ANY, SUM, reduce, truth
from weft.frontends.tracing.core import (
    broadcast_together,
    cast,
    full,
    lift,
    reshape,
    size_value,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["lstsq", "matrix_rank", "pinv"]


def pinv(
    a: ArrayLike,
    rcond: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.linalg.pinv`; in float32, singular values below its precision count as 0."""
    value = matrices("pinv", a)
    rows, columns = value.type.shape[-2:]
    if rows == 0 or columns == 0:
        return wrap(full((*value.type.shape[:-2], columns, rows), 0, value.type.dtype))
    limit = rcond if rcond is not None else rtol
    if limit is None and value.type.dtype.real is dtypes.f64:
        # NumPy computes float32 in double too, so that this number does for both there.
        limit = 1e-15
    u, s, vh = decompose(value, hermitian=hermitian)
    is_large = gt(s, _relative_cutoff(s, value, limit))
    scaled = _scale_rows(conjugate(vh), _reciprocals(s, is_large))
    return wrap(multiply(scaled, conjugate(u), turn_x=True, turn_y=True))


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: ArrayLike | None = None
) -> tuple[Tracer, Tracer, Tracer, Tracer]:
    """As `numpy.linalg.lstsq`, but with residuals also where the rank is too low for them."""
    matrix, target = operands("lstsq", a, b)
    is_vector = target.type.rank == 1
    if is_vector:
        target = reshape(target, (target.type.size, 1))
    if matrix.type.rank != 2 or target.type.rank != 2:
        raise ShapeError(
            f"lstsq takes one matrix and one right side, got {matrix.type}, {target.type}"
        )
    rows, columns = matrix.type.shape
    if target.type.shape[0] != rows:
        raise ShapeError(f"lstsq: {matrix.type} and {target.type} differ in the number of rows")
    u, s, vh = primitives.svd.emit(matrix, full=False)
    is_large = gt(s, _relative_cutoff(s, matrix, rcond))
    coordinates = multiply(conjugate(u), target, turn_x=True)
    scaled = _scale_rows(coordinates, _reciprocals(s, is_large))
    solution = multiply(conjugate(vh), scaled, turn_x=True)
    residuals = _residuals(matrix, solution, target)
    rank = reduce(SUM, cast(is_large, dtypes.i32), None)
    if is_vector:
        solution = reshape(solution, (columns,))
    return wrap(solution), wrap(residuals), wrap(rank), wrap(s)


def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> Tracer:
    """As `numpy.linalg.matrix_rank`."""
    given = lift(A)
    if given.type.rank < 2:
        return wrap(cast(reduce(ANY, truth(given), None), dtypes.i64))
    value = matrices("matrix_rank", A)
    _, s, _ = decompose(value, hermitian=hermitian)
    if tol is None:
        is_large = gt(s, _relative_cutoff(s, value, rtol))
    else:
        is_large = gt(s, _per_stack(lift(tol, s.type.dtype), s))
    return wrap(reduce(SUM, cast(is_large, dtypes.i64), -1))


def _relative_cutoff(s: Value, value: Value, limit: ArrayLike | None) -> Value:
    """Below which singular values count as 0: a fraction of the largest, in the shape of s."""
    last = s.type.rank - 1
    if s.type.shape[last] == 0:
        return s
    largest = element(s, last, 0)
    if limit is None:
        dtype = s.type.dtype
        size = size_value(dims.maximum(*value.type.shape[-2:]), dtype)
        fraction = mul(size, constant(np.finfo(dtype.numpy).eps, dtype))
    else:
        fraction = lift(limit, s.type.dtype)
    return _per_stack(mul(*broadcast_together([fraction, largest])), s)


def _per_stack(number: Value, s: Value) -> Value:
    """A number for each matrix of a stack, or one for all, stretched over its singular values."""
    if not number.type.shape:
        return number
    return stretch(number, range(number.type.rank), s.type.shape)


def _reciprocals(s: Value, is_large: Value) -> Value:
    """1 / s, and 0 for what counts as 0, with derivatives that stay finite there."""
    one, zero = constant(1, s.type.dtype), constant(0, s.type.dtype)
    return select(is_large, div(one, select(is_large, s, one)), zero)


def _scale_rows(value: Value, factors: Value) -> Value:
    shape = value.type.shape
    return mul(value, stretch(cast(factors, value.type.dtype), range(len(shape) - 1), shape))


def _residuals(matrix: Value, solution: Value, target: Value) -> Value:
    """The sum of squares that each column leaves; none unless there are more rows than columns."""
    rows, columns = matrix.type.shape
    if rows <= columns:
        return full((0,), 0, matrix.type.dtype.real)
    difference = sub(target, multiply(matrix, solution))
    return reduce(SUM, squared_magnitude(difference), 0)
