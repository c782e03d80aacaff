"""NumPy's covariance and correlation matrices."""

from __future__ import annotations

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import constant
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.compiler.ops.arithmetic import clamp, div, maximum, mul, sub
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.conversion import complex_, imag, real
from weft.compiler.ops.special import sqrt
from weft.frontends.numpy.functions.axis_access import stretch
from weft.frontends.numpy.functions.axis_ops import join
from weft.frontends.numpy.functions.diagonals import diagonal
from weft.frontends.numpy.functions.magnitude import conjugate, real_part
from weft.frontends.numpy.functions.reducing import SUM, reduce
from weft.frontends.tracing.core import (
    cast,
    lift,
    reshape,
    result_dtype,
    size_value,
    transpose,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["corrcoef", "cov"]


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: object = None,
) -> Tracer:
    """As `numpy.cov`; as there, at least float64 unless dtype= says otherwise."""
    given = [operand for operand in (m, y) if operand is not None]
    result = result_dtype(*given, np.float64(0)) if dtype is None else dtypes.dtype(dtype)
    parts = [_observations(lift(operand, result), rowvar, operand is m) for operand in given]
    values = join(parts, 0)
    weights = [None if w is None else lift(w, result.real) for w in (fweights, aweights)]
    freedom = (0 if bias else 1) if ddof is None else ddof
    covariance = _covariance(values, weights[0], weights[1], freedom)
    return wrap(reshape(covariance, ()) if values.type.shape[0] == 1 else covariance)


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: object = None
) -> Tracer:
    """As `numpy.corrcoef`."""
    covariance = lift(cov(x, y, rowvar, dtype=dtype))
    if not covariance.type.shape:
        return wrap(div(covariance, covariance))
    deviations = cast(sqrt(real_part(lift(diagonal(wrap(covariance))))), covariance.type.dtype)
    shape = covariance.type.shape
    by_row = div(covariance, stretch(deviations, (0,), shape))
    return wrap(_clip_parts(div(by_row, stretch(deviations, (1,), shape))))


def _observations(value: Value, rowvar: bool, is_first: bool) -> Value:
    """Variables as rows, observations as columns."""
    if value.type.rank > 2:
        raise ShapeError(f"cov takes arrays of rank 2 or less, got {value.type}")
    if value.type.rank < 2:
        return reshape(value, (1, value.type.size))
    # NumPy takes a second operand of one row for a variable even where variables are columns.
    if rowvar or (not is_first and value.type.shape[0] == 1):
        return value
    return transpose(value, (1, 0))


def _covariance(
    values: Value, frequencies: Value | None, reliabilities: Value | None, ddof: int
) -> Value:
    dtype, shape = values.type.dtype, values.type.shape
    weight = _product([w for w in (frequencies, reliabilities) if w is not None], values)
    if weight is None:
        total, weighted = size_value(shape[1], dtype.real), values
    else:
        total, weighted = reduce(SUM, weight, None), _weigh(values, weight)
    mean = div(reduce(SUM, weighted, 1), cast(total, dtype))
    centered = sub(values, stretch(mean, (0,), shape))
    weighted = centered if weight is None else _weigh(centered, weight)
    products = dot_general(centered, conjugate(weighted), lhs_contract=(1,), rhs_contract=(1,))
    if ddof != 0:
        total = _less_freedom(total, weight, reliabilities, ddof)
    return div(products, cast(total, dtype))


def _product(weights: list[Value], values: Value) -> Value | None:
    """The weight of each observation, or None if all count the same."""
    count = values.type.shape[1]
    for weight in weights:
        if weight.type.shape != (count,):
            raise ShapeError(
                f"weights have shape {format_shape(weight.type.shape)}, but there are {count} "
                "observations; give one weight for each"
            )
    return mul(*weights) if len(weights) == 2 else weights[0] if weights else None


def _weigh(values: Value, weight: Value) -> Value:
    return mul(values, stretch(cast(weight, values.type.dtype), (1,), values.type.shape))


def _less_freedom(
    total: Value, weight: Value | None, reliabilities: Value | None, ddof: int
) -> Value:
    """The sum of weights less the degrees of freedom that are used up, at least 0."""
    used: Value = constant(ddof, total.type.dtype)
    if weight is not None and reliabilities is not None:
        used = mul(used, div(reduce(SUM, mul(weight, reliabilities), None), total))
    return maximum(sub(total, used), constant(0, total.type.dtype))


def _clip_parts(value: Value) -> Value:
    """Real and imaginary parts moved into [-1, 1], out of which rounding may bring them."""
    if value.type.dtype.is_complex:
        return complex_(_clip_parts(real(value)), _clip_parts(imag(value)))
    return clamp(constant(-1, value.type.dtype), value, constant(1, value.type.dtype))
