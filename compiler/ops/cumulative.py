"""Cumulative ops: each element becomes the combination of all up to it along an axis, with itself.

With `reverse` they run from the end: each element combines with all after it. The tangents of all
of them run along the axis too, as a linear recurrence, which is an op of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from weft.compiler.ir.attributes import BOOL, INT
from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ir.rules import JvpRule, Maybe, TransposeRule
from weft.compiler.ir.types import ArrayType, format_shape
from weft.compiler.ops import helpers
from weft.compiler.ops.common import (
    FLOAT,
    INEXACT,
    NUMBER,
    ORDERED,
    require_axis,
    require_kind,
    same_dtype,
)
from weft.compiler.ops.precision import Array, widen
from weft.compiler.ops.primitives import ops


def cumulative(
    name: str,
    doc: str,
    *,
    kinds: Sequence[str],
    accumulate: Callable[..., Any],
    linear: tuple[int, ...] | None = None,
    jvp: JvpRule | None = None,
    transpose: TransposeRule | None = None,
) -> OpDef:
    """An op along `axis`; `accumulate(x, axis=axis)` is NumPy's function for going forward."""

    def infer(x: ArrayType, *, axis: int, reverse: bool) -> ArrayType:
        require_kind(x, kinds, "x")
        require_axis(axis, x.rank)
        return x

    def reference(x: Array, *, axis: int, reverse: bool) -> Any:
        if not reverse:
            return accumulate(widen(x), axis=axis)
        return np.flip(accumulate(np.flip(widen(x), axis), axis=axis), axis)

    return OpDef(
        name,
        doc,
        infer=infer,
        reference=reference,
        attributes={"axis": INT, "reverse": BOOL},
        defaults={"reverse": False},
        operands=("x",),
        linear=linear,
        jvp=jvp,
        transpose=transpose,
        batch=_batch,
    )


def _batch(op: Op, operands: Sequence[Value], batched: Sequence[bool], size: Size) -> Value:
    aligned = [
        value if mark else helpers.add_leading_axis(value, size)
        for value, mark in zip(operands, batched, strict=True)
    ]
    axis, reverse = op.attributes["axis"] + 1, op.attributes["reverse"]
    return op.definition(*aligned, axis=axis, reverse=reverse)


# --- the linear recurrence ----------------------------------------------------------------------


def _infer_recurrence(factor: ArrayType, x: ArrayType, *, axis: int, reverse: bool) -> ArrayType:
    require_kind(x, INEXACT, "x")
    same_dtype((factor, x))
    if factor.shape != x.shape:
        raise ShapeError(
            f"factor and x have different shapes: {format_shape(factor.shape)} and "
            f"{format_shape(x.shape)}"
        )
    require_axis(axis, x.rank)
    return x


def _recurrence(factor: Array, x: Array, *, axis: int, reverse: bool) -> Array:
    factors, terms = np.moveaxis(widen(factor), axis, 0), np.moveaxis(widen(x), axis, 0)
    result = np.empty_like(terms)
    order = range(len(terms))
    state = np.zeros(terms.shape[1:], terms.dtype)
    for i in reversed(order) if reverse else order:
        state = factors[i] * state + terms[i]
        result[i] = state
    return np.moveaxis(result, 0, axis)


def _recurrence_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """The same recurrence of dx and of what the factors' tangents add at each place."""
    (of_factor, total), (factor, _), (z,) = tangents, op.operands, op.results
    axis, reverse = op.attributes["axis"], op.attributes["reverse"]
    if of_factor is not None:
        term = ops.mul(of_factor, _previous(z, 0, axis, reverse))
        total = helpers.accumulate(total, term)
    assert total is not None
    return linear_recurrence(factor, total, axis=axis, reverse=reverse)


def _recurrence_transpose(
    op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]
) -> list[Maybe]:
    """The recurrence run back: each cotangent goes on by the factor of the place it comes from."""
    axis, reverse = op.attributes["axis"], not op.attributes["reverse"]
    factor = _previous(op.operands[0], 0, axis, reverse)
    cotangent = linear_recurrence(factor, helpers.only(cotangents), axis=axis, reverse=reverse)
    return [None, cotangent]


def _previous(x: Value, first: float, axis: int, reverse: bool) -> Value:
    """The element before each in running order, and `first` where there is none."""
    at_axis = [int(i == axis) for i in range(x.type.rank)]
    back = [-width for width in at_axis]
    low, high = (back, at_axis) if reverse else (at_axis, back)
    return ops.pad(x, helpers.number(first, x), low=low, high=high, interior=[0] * len(low))


linear_recurrence = OpDef(
    "linear_recurrence",
    "z[i] = factor[i] * z[i - 1] + x[i] along axis, from 0 before the first: products and sums of "
    "what decays, such as averages that forget.",
    infer=_infer_recurrence,
    reference=_recurrence,
    attributes={"axis": INT, "reverse": BOOL},
    defaults={"reverse": False},
    operands=("factor", "x"),
    jvp=_recurrence_jvp,
    transpose=_recurrence_transpose,
    batch=_batch,
)


# --- sums, products, extremes -------------------------------------------------------------------


def _cumsum_transpose(op: Op, cotangents: Sequence[Maybe], linear: Sequence[bool]) -> list[Maybe]:
    axis, reverse = op.attributes["axis"], not op.attributes["reverse"]
    return [cumsum(helpers.only(cotangents), axis=axis, reverse=reverse)]


def exclusive_product(x: Value, *, axis: int, reverse: bool) -> Value:
    """The products of all elements before each; 1 for the first."""
    return _previous(cumprod(x, axis=axis, reverse=reverse), 1, axis, reverse)


def _recurrence_rule(
    coefficients: Callable[[Value, Value, int, bool], tuple[Value, Value]],
) -> JvpRule:
    """The jvp dz[i] = factor[i] * dz[i - 1] + weight[i] * dx[i] of z = op(x).

    `coefficients(x, z, axis, reverse)` gives factor and weight.
    """

    def jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
        (tangent,), (x,), (z,) = tangents, op.operands, op.results
        assert tangent is not None
        axis, reverse = op.attributes["axis"], op.attributes["reverse"]
        factor, weight = coefficients(x, z, axis, reverse)
        term = ops.mul(tangent, weight)
        return linear_recurrence(factor, term, axis=axis, reverse=reverse)

    return jvp


def _of_product(x: Value, z: Value, axis: int, reverse: bool) -> tuple[Value, Value]:
    """From z[i] = x[i] * z[i - 1], right for zeros in x too."""
    return x, _previous(z, 1, axis, reverse)


def _of_logsumexp(x: Value, z: Value, axis: int, reverse: bool) -> tuple[Value, Value]:
    """The shares e ** (z[i - 1] - z[i]) and e ** (x[i] - z[i]), 0 as long as all is -inf."""
    lowest = helpers.number(-math.inf, z)
    safe = ops.select(ops.eq(z, lowest), helpers.number(0, z), z)
    before = _previous(z, -math.inf, axis, reverse)
    return ops.exp(ops.sub(before, safe)), ops.exp(ops.sub(x, safe))


def _extreme_jvp(op: Op, tangents: Sequence[Maybe]) -> Maybe:
    """Each result follows the first element that reached it: ties go to the earlier one."""
    (tangent,), (z,) = tangents, op.results
    assert tangent is not None
    axis, reverse = op.attributes["axis"], op.attributes["reverse"]
    # NaN equals nothing, so the first result is new whatever it is.
    stays = ops.eq(z, _previous(z, math.nan, axis, reverse))
    term = ops.select(stays, helpers.number(0, z), tangent)
    factor = ops.cast(stays, dtype=z.type.dtype)
    return linear_recurrence(factor, term, axis=axis, reverse=reverse)


# Without its dtype argument np.cumsum and np.cumprod would widen small integers, which must wrap.
cumsum = cumulative(
    "cumsum",
    "The sums of all elements up to each; integers wrap.",
    kinds=NUMBER,
    accumulate=lambda x, axis: np.cumsum(x, axis=axis, dtype=x.dtype),
    linear=(),
    transpose=_cumsum_transpose,
)

cumprod = cumulative(
    "cumprod",
    "The products of all elements up to each; integers wrap.",
    kinds=NUMBER,
    accumulate=lambda x, axis: np.cumprod(x, axis=axis, dtype=x.dtype),
    jvp=_recurrence_rule(_of_product),
)

cummax = cumulative(
    "cummax",
    "The largest of all elements up to each, NaN from the first NaN on.",
    kinds=ORDERED,
    accumulate=np.maximum.accumulate,
    jvp=_extreme_jvp,
)

cummin = cumulative(
    "cummin",
    "The smallest of all elements up to each, NaN from the first NaN on.",
    kinds=ORDERED,
    accumulate=np.minimum.accumulate,
    jvp=_extreme_jvp,
)

cumlogsumexp = cumulative(
    "cumlogsumexp",
    "log of the sums of e ** x of all elements up to each, without overflow; -inf adds nothing.",
    kinds=FLOAT,
    accumulate=np.logaddexp.accumulate,
    jvp=_recurrence_rule(_of_logsumexp),
)

OPS: Final = (
    cumsum,
    cumprod,
    cummax,
    cummin,
    cumlogsumexp,
    linear_recurrence,
)
