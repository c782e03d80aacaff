"""Powers, long products and exponentials of matrices, and tensors solved as matrices."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.compiler.ops.arithmetic import add, ceil, div, maximum, mul, neg, sub
from weft.compiler.ops.control import scan, switch
from weft.compiler.ops.conversion import stop_gradient
from weft.compiler.ops.linalg import solve
from weft.compiler.ops.logic import gt, le, select
from weft.compiler.ops.special import exp2, log2
from weft.frontends.numpy.functions.axis_access import stretch
from weft.frontends.numpy.functions.axis_ops import iota
from weft.frontends.numpy.functions.labels import Labels, Term, contract
from weft.frontends.numpy.functions.loops import region_of
from weft.frontends.numpy.functions.magnitude import magnitude
from weft.frontends.numpy.functions.matrices import (
    identity,
    inverse,
    multiply,
    operands,
    square_matrices,
)
from weft.frontends.numpy.functions.reducing import ANY, MAX, SUM, reduce, wide_dtype
from weft.frontends.tracing.core import (
    cast,
    check_no,
    lift,
    normalize_axis,
    product,
    reshape,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["expm", "matrix_power", "multi_dot", "tensorinv", "tensorsolve"]


def matrix_power(a: ArrayLike, n: int) -> Tracer:
    """As `numpy.linalg.matrix_power`, by repeated squaring."""
    power = operator.index(n)
    value = lift(a)
    shape = value.type.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"matrix_power takes square matrices, got {format_shape(shape)}")
    if power == 0:
        return wrap(identity(shape[-1], value.type.dtype, shape[:-2]))
    if power < 0:
        value, power = inverse(square_matrices("matrix_power", a)), -power
    result: Value | None = None
    while True:
        if power % 2:
            result = value if result is None else multiply(result, value)
        power //= 2
        if power == 0:
            assert result is not None
            return wrap(result)
        value = multiply(value, value)


def multi_dot(arrays: Sequence[ArrayLike], *, out: None = None) -> Tracer:
    """As `numpy.linalg.multi_dot`: a product of matrices in the cheapest order."""
    check_no("multi_dot", out=out)
    if len(arrays) < 2:
        raise ShapeError(f"multi_dot needs two arrays or more, got {len(arrays)}")
    values = [lift(array) for array in arrays]
    dtype = dtypes.promote(*[value.type.dtype for value in values])
    terms = []
    for i, value in enumerate(values):
        # The first may be a row and the last a column, as vectors.
        labels: Labels = (i, i + 1)
        if value.type.rank == 1 and i in (0, len(values) - 1):
            labels = (1,) if i == 0 else (i,)
        elif value.type.rank != 2:
            raise ShapeError(f"multi_dot takes matrices, but operand {i} is {value.type}")
        terms.append(Term(cast(value, dtype), labels))
    _require_chain(terms)
    counted = [label for term in (terms[0], terms[-1]) for label in term.labels]
    ends = [label for label in counted if label in (0, len(values))]
    return wrap(contract(terms, tuple(ends)))


def _require_chain(terms: Sequence[Term]) -> None:
    for left, right in zip(terms, terms[1:], strict=False):
        if left.value.type.shape[-1] != right.value.type.shape[0]:
            raise ShapeError(
                f"multi_dot: shapes {format_shape(left.value.type.shape)} and "
                f"{format_shape(right.value.type.shape)} do not fit together"
            )


# --- tensors -----------------------------------------------------------------------------------


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Tracer:
    """As `numpy.linalg.tensorsolve`."""
    left, right = operands("tensorsolve", a, b)
    rank = left.type.rank
    if axes is not None:
        last = [normalize_axis(axis, rank) for axis in axes]
        left = transpose(left, [*[axis for axis in range(rank) if axis not in last], *last])
    unknowns = left.type.shape[right.type.rank :]
    size = _square_size("tensorsolve", left, right.type.rank)
    matrix, column = reshape(left, (size, size)), reshape(right, (size, 1))
    return wrap(reshape(solve(matrix, column), unknowns))


def tensorinv(a: ArrayLike, ind: int = 2) -> Tracer:
    """As `numpy.linalg.tensorinv`."""
    (value,) = operands("tensorinv", a)
    shape = value.type.shape
    if ind <= 0:
        raise ShapeError(f"tensorinv: ind must be positive, got {ind}")
    size = _square_size("tensorinv", value, ind)
    return wrap(reshape(inverse(reshape(value, (size, size))), (*shape[ind:], *shape[:ind])))


def _square_size(name: str, value: Value, first: int) -> Size:
    """The number of rows when the first axes are taken as rows and the others as columns."""
    shape = value.type.shape
    rows, columns = product(shape[:first]), product(shape[first:])
    if rows != columns:
        raise ShapeError(
            f"{name}: {format_shape(shape)} has {rows} rows in its first {first} axes and "
            f"{columns} columns in the others; they must be equal"
        )
    return rows


# --- the exponential ---------------------------------------------------------------------------

# Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited (2005): the Pade
# approximant of degree 13 is exact to double precision up to this 1-norm.
_LARGEST_NORM: Final = 5.371920351148152
_PADE: Final = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_MOST_SQUARINGS: Final = 32


def expm(A: ArrayLike) -> Tracer:
    """The matrix exponential, as `scipy.linalg.expm`; NaN for norms above 1e10.

    A Pade approximant of the matrix halved often enough, squared as often. The number of squarings
    depends on values; those that are not needed are skipped.
    """
    given = lift(A)
    value = square_matrices("expm", wrap(cast(given, wide_dtype(given.type.dtype))))
    squarings = _squarings(stop_gradient(value))
    small = mul(value, _per_matrix(_half_power(squarings), value))
    return wrap(_square_repeatedly(_pade(small), squarings))


def _squarings(value: Value) -> Value:
    """How often each matrix must be halved until its norm is small enough; a float."""
    rank = value.type.rank
    columns = reduce(SUM, magnitude(value), rank - 2)
    if value.type.shape[-1] == 0:
        return reduce(SUM, columns, rank - 2)
    norm = reduce(MAX, columns, rank - 2)
    dtype = norm.type.dtype
    return maximum(ceil(log2(div(norm, constant(_LARGEST_NORM, dtype)))), constant(0, dtype))


def _half_power(squarings: Value) -> Value:
    """0.5 to the number of squarings, NaN if they are too many."""
    dtype = squarings.type.dtype
    is_possible = le(squarings, constant(_MOST_SQUARINGS, dtype))
    return select(is_possible, exp2(neg(squarings)), constant(math.nan, dtype))


def _per_matrix(number: Value, value: Value) -> Value:
    """One number per matrix, in the dtype of the matrices and stretched over their elements."""
    number, shape = cast(number, value.type.dtype), value.type.shape
    return stretch(number, range(len(shape) - 2), shape) if number.type.shape else number


def _pade(value: Value) -> Value:
    """The approximant (V - U)^-1 (V + U), U and V being the odd and the even part."""
    shape, dtype = value.type.shape, value.type.dtype
    second = multiply(value, value)
    fourth = multiply(second, second)
    sixth = multiply(fourth, second)
    powers = [identity(shape[-1], dtype, shape[:-2]), second, fourth, sixth]

    def part(first: int) -> Value:
        """The terms of degree `first`, `first + 2`, and so on, divided by the lowest power."""
        low = _combination(powers, _PADE[first : first + 8 : 2])
        high = _combination(powers[1:], _PADE[first + 8 :: 2])
        return add(multiply(sixth, high), low)

    odd, even = multiply(value, part(1)), part(0)
    return solve(sub(even, odd), add(even, odd))


def _combination(values: Sequence[Value], factors: Sequence[float]) -> Value:
    terms = [mul(v, constant(f, v.type.dtype)) for v, f in zip(values, factors, strict=True)]
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


def _square_repeatedly(value: Value, squarings: Value) -> Value:
    """Each matrix squared as often as its number says, by a loop whose other steps do nothing."""
    stack = range(value.type.rank - 2)

    def square(is_due: Value, current: Value) -> list[Value]:
        squared = multiply(current, current)
        if not stack:
            return [squared]
        return [select(stretch(is_due, stack, current.type.shape), squared, current)]

    def step(limits: Value, current: Value, number: Value) -> tuple[Value, ...]:
        is_due = gt(limits, number)
        types = is_due.type, current.type
        branches = region_of(lambda _, kept: [kept], types), region_of(square, types)
        return switch.emit(reduce(ANY, is_due, None), is_due, current, regions=branches)

    numbers = iota((_MOST_SQUARINGS,), 0, squarings.type.dtype)
    number_type = numbers.type.with_shape(())
    (result,) = scan.emit(
        squarings,
        value,
        numbers,
        regions=(region_of(step, (squarings.type, value.type, number_type)),),
        n_consts=1,
        n_carry=1,
        length=_MOST_SQUARINGS,
        reverse=False,
    )
    return result
