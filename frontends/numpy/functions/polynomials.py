"""NumPy's polynomials as arrays of coefficients, the highest power first.

Leading zeros stay, as how many there are depends on values: results have the size that the sizes of
the operands give.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Constant, Value
from weft.compiler.ops.arithmetic import mul, neg, sub
from weft.frontends.numpy.functions import filtering, least_squares, linalg, reductions
from weft.frontends.numpy.functions.axis_access import padded
from weft.frontends.numpy.functions.axis_ops import as_value, join, slice_axis, unstack_value
from weft.frontends.numpy.functions.ranges import vander
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.tracing.core import (
    cast,
    full,
    inexact_dtype,
    lift,
    reshape,
    result_dtype,
    trace_error,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "roots",
]


def _coefficients(name: str, p: ArrayLike) -> Value:
    value = as_value(p)
    if value.type.rank > 1:
        raise ShapeError(f"{name}: coefficients have rank 1, got {value.type}")
    return reshape(value, (value.type.size,))


# --- arithmetic ---------------------------------------------------------------------------------


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Tracer:
    """As `numpy.polyadd`."""
    return apply_ufunc(np.add, *_same_degree("polyadd", a1, a2))  # type: ignore[no-any-return]


def polysub(a1: ArrayLike, a2: ArrayLike) -> Tracer:
    """As `numpy.polysub`."""
    return apply_ufunc(np.subtract, *_same_degree("polysub", a1, a2))  # type: ignore[no-any-return]


def _same_degree(name: str, *polynomials: ArrayLike) -> list[Tracer]:
    """The coefficients with zeros put before the shorter ones."""
    values = [_coefficients(name, p) for p in polynomials]
    sizes = [operator.index(value.type.shape[0]) for value in values]
    return [
        wrap(padded(value, 0, max(sizes) - size, 0))
        for value, size in zip(values, sizes, strict=True)
    ]


def polymul(a1: ArrayLike, a2: ArrayLike) -> Tracer:
    """As `numpy.polymul`; leading zeros stay."""
    first, second = _coefficients("polymul", a1), _coefficients("polymul", a2)
    return filtering.convolve(wrap(first), wrap(second))


def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Tracer, Tracer]:
    """As `numpy.polydiv`; the remainder has as many coefficients as the dividend, zeros first.

    The divisor's first coefficient must not be 0.
    """
    dtype = result_dtype(u, v, 0.0)
    rest = cast(_coefficients("polydiv", u), dtype)
    divisor = cast(_coefficients("polydiv", v), dtype)
    size, span = rest.type.shape[0], divisor.type.shape[0]
    steps = size - span + 1
    if span == 0:
        raise ShapeError("polydiv: the divisor has no coefficients")
    if steps < 1:
        return wrap(full((1,), 0, dtype)), wrap(rest)
    scale = apply_ufunc(np.reciprocal, wrap(slice_axis(divisor, 0, 0, 1)))
    quotient: list[Value] = []
    for step in range(steps):
        digit = mul(slice_axis(rest, 0, step, step + 1), lift(scale))
        quotient.append(digit)
        taken = padded(mul(reshape(digit, ()), divisor), 0, step, steps - 1 - step)
        rest = sub(rest, taken)
    # What was divided away is 0 but for rounding.
    left = padded(slice_axis(rest, 0, steps, size), 0, steps, 0)
    return wrap(join(quotient, 0)), wrap(left if span > 1 else full((size,), 0, dtype))


# --- calculus -----------------------------------------------------------------------------------


def polyder(p: ArrayLike, m: int = 1) -> Tracer:
    """As `numpy.polyder`."""
    if m < 0:
        raise trace_error(f"polyder: the order must be 0 or more, got {m}")
    value = _coefficients("polyder", p)
    for _ in range(m):
        size = operator.index(value.type.shape[0])
        if size == 0:
            break
        powers = np.arange(size - 1, 0, -1)
        kept = slice_axis(value, 0, 0, size - 1)
        value = lift(apply_ufunc(np.multiply, wrap(kept), powers))
    return wrap(value)


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Tracer:
    """As `numpy.polyint`; `k` are the constants of integration."""
    if m < 0:
        raise trace_error(f"polyint: the order must be 0 or more, got {m}")
    value = _coefficients("polyint", p)
    constants = _constants(m, k)
    for constant in constants:
        powers = np.arange(operator.index(value.type.shape[0]), 0, -1)
        divided = lift(apply_ufunc(np.true_divide, wrap(value), powers))
        dtype = dtypes.promote(divided.type.dtype, constant.type.dtype)
        parts = [cast(divided, dtype), cast(reshape(constant, (1,)), dtype)]
        value = join(parts, 0)
    return wrap(value)


def _constants(m: int, k: ArrayLike | None) -> list[Value]:
    given = lift(0.0 if k is None else k)
    if not given.type.shape or given.type.shape == (1,):
        return [reshape(given, ())] * m
    if given.type.shape != (m,):
        raise ShapeError(f"polyint: there are {m} constants of integration, got {given.type}")
    return unstack_value(given)


# --- roots and fits -----------------------------------------------------------------------------


def roots(p: ArrayLike) -> Tracer:
    """As `numpy.roots`, but always complex; the first coefficient must not be 0 if it is traced.

    They are eigenvalues of the companion matrix, in no order.
    """
    value = _coefficients("roots", p)
    trailing = 0
    if isinstance(value, Constant):
        places = np.flatnonzero(value.array)
        first, last = (places[0], places[-1]) if len(places) else (0, -1)
        trailing = len(value.array) - 1 - int(last) if len(places) else 0
        value = Constant(value.array[int(first) : int(last) + 1])
    value = cast(value, inexact_dtype(value.type.dtype))
    size = operator.index(value.type.shape[0])
    complex_dtype = dtypes.promote(value.type.dtype, dtypes.c64)
    if size < 2:
        return wrap(full((trailing,), 0, complex_dtype))
    found = lift(linalg.eigvals(wrap(_companion(value, size))))
    return wrap(padded(found, 0, 0, trailing))


def _companion(value: Value, size: int) -> Value:
    """The matrix whose characteristic polynomial has these coefficients, divided by the first."""
    leading = wrap(slice_axis(value, 0, 0, 1))
    divided = apply_ufunc(np.true_divide, wrap(neg(slice_axis(value, 0, 1, size))), leading)
    top = reshape(lift(divided), (1, size - 1))
    below = Constant(np.eye(size - 2, size - 1, dtype=value.type.dtype.numpy))
    return join([top, below], 0)


def poly(seq_of_zeros: ArrayLike) -> Tracer:
    """As `numpy.poly`: of zeros or of a square matrix; complex if these are.

    NumPy makes the result real where the zeros come in conjugate pairs, which depends on values.
    """
    value = as_value(seq_of_zeros)
    if value.type.rank == 2:
        value = lift(linalg.eigvals(wrap(value)))
    if value.type.rank > 1:
        raise ShapeError(f"poly takes zeros or a square matrix, got {value.type}")
    value = reshape(value, (value.type.size,))
    if value.type.size == 0:
        return wrap(full((), 1, dtypes.f64))
    dtype = inexact_dtype(value.type.dtype)
    made = full((1,), 1, dtype)
    for zero in unstack_value(cast(value, dtype)):
        made = sub(padded(made, 0, 0, 1), padded(mul(made, zero), 0, 1, 0))
    return wrap(made)


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """As `numpy.polyfit`, for a degree that is one number; the rank is not warned about."""
    at, values, degree = lift(x, _at_least_f64(x)), lift(y, _at_least_f64(y)), operator.index(deg)
    if degree < 0 or at.type.rank != 1 or at.type.size == 0:
        raise ShapeError(f"polyfit takes a degree from 0 up and x of rank 1, got {at.type}")
    if values.type.rank not in (1, 2) or values.type.shape[0] != at.type.shape[0]:
        raise ShapeError(f"polyfit: y has rank 1 or 2 and the length of x, got {values.type}")
    left: Any = vander(wrap(at), degree + 1)
    right: Any = wrap(values)
    if w is not None:
        weights: Any = wrap(lift(w, _at_least_f64(w)))
        left = left * weights[:, None]
        right = right * (weights[:, None] if values.type.rank == 2 else weights)
    scale = apply_ufunc(np.sqrt, reductions.sum(left * left, axis=0))
    limit = at.type.size * np.finfo(at.type.dtype.numpy).eps if rcond is None else rcond
    solution, residuals, rank, singular = least_squares.lstsq(left / scale, right, limit)
    found = (wrap(lift(solution)).T / scale).T  # type: ignore[attr-defined]
    if full:
        return found, residuals, rank, singular, limit
    if not cov:
        return found
    return found, _covariance(left, scale, residuals, at, values, degree, cov)


def _covariance(
    left: Any, scale: Any, residuals: Any, at: Value, values: Value, degree: int, cov: Any
) -> Any:
    """How uncertain the coefficients are, scaled by what the fit leaves unless it is "unscaled"."""
    inner: Any = left / scale
    base: Any = linalg.inv(inner.T @ inner) / (scale[:, None] * scale)
    factor: Any = 1
    if cov != "unscaled":
        freedom = operator.index(at.type.size) - (degree + 1)
        if freedom <= 0:
            raise trace_error(
                "polyfit: the covariance needs more points than coefficients; use cov='unscaled'"
            )
        factor = residuals / freedom
    return base * factor if values.type.rank == 1 else base[:, :, None] * factor


def _at_least_f64(operand: ArrayLike) -> Any:
    return dtypes.promote(lift(operand).type.dtype, dtypes.f64)
