"""NumPy's products of arrays: dot, matmul and their relatives, tensordot, kron, cross."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.build import origins
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import format_shape
from weft.compiler.ops.arithmetic import mul, neg, sub
from weft.compiler.ops.contraction import dot_general
from weft.frontends.numpy.functions.axis_access import element, move
from weft.frontends.numpy.functions.axis_ops import stack_values
from weft.frontends.numpy.functions.einsums import einsum
from weft.frontends.numpy.functions.labels import Labels, Term, contract
from weft.frontends.numpy.functions.magnitude import conjugate
from weft.frontends.tracing.core import (
    broadcast_shapes,
    broadcast_together,
    cast,
    check_no,
    lift,
    normalize_axis,
    product,
    reshape,
    wrap,
)
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "cross",
    "dot",
    "einsum",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]


# --- vectors and matrices ----------------------------------------------------------------------


def dot(a: ArrayLike, b: ArrayLike, out: None = None) -> Tracer:
    """As `numpy.dot`: sums over the last axis of a and the last but one of b."""
    check_no("dot", out=out)
    x, y = _common(a, b)
    if not x.type.shape or not y.type.shape:
        return wrap(_outer(x, y))
    return wrap(_sum_products("dot", x, y, [x.type.rank - 1], [max(y.type.rank - 2, 0)]))


def inner(a: ArrayLike, b: ArrayLike, /) -> Tracer:
    """As `numpy.inner`: sums over the last axes."""
    x, y = _common(a, b)
    if not x.type.shape or not y.type.shape:
        return wrap(_outer(x, y))
    return wrap(_sum_products("inner", x, y, [x.type.rank - 1], [y.type.rank - 1]))


def vdot(a: ArrayLike, b: ArrayLike, /) -> Tracer:
    """As `numpy.vdot`: flattens both and conjugates a."""
    x, y = [_flatten(value) for value in _common(a, b)]
    return wrap(_sum_products("vdot", conjugate(x), y, [0], [0]))


def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Tracer:
    """As `numpy.tensordot`."""
    x, y = _common(a, b)
    left, right = _tensordot_axes(axes, x.type.rank, y.type.rank)
    if not left:
        return wrap(_outer(x, y))
    return wrap(_sum_products("tensordot", x, y, left, right))


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Tracer:
    """As `numpy.outer`: the products of all pairs of the flattened arrays."""
    check_no("outer", out=out)
    return wrap(_outer(*[_flatten(value) for value in _common(a, b)]))


def _common(a: ArrayLike, b: ArrayLike) -> list[Value]:
    """Both in their common dtype; here, unlike in ufuncs, Python scalars count as arrays."""
    values = lift(a), lift(b)
    dtype = dtypes.promote(*[value.type.dtype for value in values])
    return [cast(value, dtype) for value in values]


def _flatten(value: Value) -> Value:
    return reshape(value, (value.type.size,))


def _outer(x: Value, y: Value) -> Value:
    labels: Labels = tuple(range(x.type.rank + y.type.rank))
    terms = Term(x, labels[: x.type.rank]), Term(y, labels[x.type.rank :])
    return contract(terms, labels)


def _sum_products(
    name: str, x: Value, y: Value, left: Sequence[int], right: Sequence[int]
) -> Value:
    """One contraction; its result has the other axes of x, then those of y."""
    if [x.type.shape[axis] for axis in left] != [y.type.shape[axis] for axis in right]:
        raise ShapeError(
            f"{name}: shapes {format_shape(x.type.shape)} and {format_shape(y.type.shape)} do not "
            f"fit: axes {tuple(left)} of the first and {tuple(right)} of the second are multiplied "
            "and summed, so they must have the same sizes"
        )
    return dot_general(x, y, lhs_contract=left, rhs_contract=right)


def _tensordot_axes(axes: Any, left_rank: int, right_rank: int) -> tuple[list[int], list[int]]:
    if not isinstance(axes, Sequence | np.ndarray):
        count = operator.index(axes)
        if not 0 <= count <= min(left_rank, right_rank):
            raise ShapeError(
                f"tensordot: arrays of rank {left_rank} and {right_rank} do not have "
                f"{count} axes each to sum over"
            )
        return list(range(left_rank - count, left_rank)), list(range(count))
    left, right = [np.atleast_1d(np.asarray(part, np.int64)).tolist() for part in axes]
    if len(left) != len(right):
        raise ShapeError(f"tensordot: axes {left} and {right} differ in number")
    return (
        [normalize_axis(axis, left_rank) for axis in left],
        [normalize_axis(axis, right_rank) for axis in right],
    )


# --- products of stacks ------------------------------------------------------------------------


def matmul(x1: ArrayLike, x2: ArrayLike, /, out: None = None, *, dtype: object = None) -> Tracer:
    """As `numpy.matmul`: matrices in the last two axes, leading axes stretched together."""
    check_no("matmul", out=out)
    x, y = _operands(x1, x2, dtype)
    left = ("k",) if x.type.rank == 1 else ("m", "k")
    right = ("k",) if y.type.rank == 1 else ("k", "n")
    return wrap(_stacked_product("matmul", x, left, y, right))


def vecdot(
    x1: ArrayLike, x2: ArrayLike, /, out: None = None, *, axis: int = -1, dtype: object = None
) -> Tracer:
    """As `numpy.vecdot`: sums over one axis, with x1 conjugated."""
    check_no("vecdot", out=out)
    x, y = [_axis_last(value, axis) for value in _operands(x1, x2, dtype)]
    return wrap(_stacked_product("vecdot", conjugate(x), ("k",), y, ("k",)))


def matvec(x1: ArrayLike, x2: ArrayLike, /, out: None = None, *, dtype: object = None) -> Tracer:
    """As `numpy.matvec`: matrices times vectors."""
    check_no("matvec", out=out)
    x, y = _operands(x1, x2, dtype)
    return wrap(_stacked_product("matvec", x, ("m", "k"), y, ("k",)))


def vecmat(x1: ArrayLike, x2: ArrayLike, /, out: None = None, *, dtype: object = None) -> Tracer:
    """As `numpy.vecmat`: vectors, conjugated, times matrices."""
    check_no("vecmat", out=out)
    x, y = _operands(x1, x2, dtype)
    return wrap(_stacked_product("vecmat", conjugate(x), ("k",), y, ("k", "n")))


def _operands(x1: ArrayLike, x2: ArrayLike, dtype: object) -> list[Value]:
    if dtype is None:
        return _common(x1, x2)
    wanted = dtypes.dtype(dtype)
    return [lift(operand, wanted) for operand in (x1, x2)]


def _axis_last(value: Value, axis: int) -> Value:
    return move(value, normalize_axis(axis, value.type.rank), value.type.rank - 1)


def _stacked_product(name: str, x: Value, left: Labels, y: Value, right: Labels) -> Value:
    """The product of arrays in the last axes, for each index of the leading ones."""
    terms = [_labelled(name, x, left), _labelled(name, y, right)]
    shapes = f"{name}: shapes {format_shape(x.type.shape)} and {format_shape(y.type.shape)}"
    if terms[0].size("k") != terms[1].size("k"):
        raise ShapeError(
            f"{shapes} do not fit: {terms[0].size('k')} and {terms[1].size('k')} elements would be "
            f"multiplied in pairs and summed:{origins((x, y))}"
        )
    stacks = x.type.shape[: -len(left)], y.type.shape[: -len(right)]
    try:
        rank = len(broadcast_shapes(*stacks))
    except ShapeError:
        raise ShapeError(
            f"{shapes}: the leading axes do not broadcast together:{origins((x, y))}"
        ) from None
    return contract(terms, (*range(-rank, 0), *[label for label in left + right if label != "k"]))


def _labelled(name: str, value: Value, core: Labels) -> Term:
    """The value with the labels of its last axes; the others are counted from there."""
    rank = value.type.rank - len(core)
    if rank < 0:
        raise ShapeError(f"{name} needs an operand of rank {len(core)} or more, got {value.type}")
    return Term(value, (*range(-rank, 0), *core))


# --- kron and cross ----------------------------------------------------------------------------


def kron(a: ArrayLike, b: ArrayLike) -> Tracer:
    """As `numpy.kron`: every element of a times all of b, as blocks."""
    values = _common(a, b)
    rank = max(value.type.rank for value in values)
    x, y = [reshape(v, (*[1] * (rank - v.type.rank), *v.type.shape)) for v in values]
    left: Labels = tuple(range(0, 2 * rank, 2))
    right: Labels = tuple(range(1, 2 * rank, 2))
    blocks = contract([Term(x, left), Term(y, right)], tuple(range(2 * rank)))
    pairs = zip(x.type.shape, y.type.shape, strict=True)
    return wrap(reshape(blocks, tuple([product(pair) for pair in pairs])))


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Tracer:
    """As `numpy.cross`: of vectors with 3 components, or 2, to which a third of 0 is added."""
    if axis is not None:
        axisa = axisb = axisc = axis
    values = _common(a, b)
    axes = [normalize_axis(at, v.type.rank) for v, at in zip(values, (axisa, axisb), strict=True)]
    sizes = [value.type.shape[at] for value, at in zip(values, axes, strict=True)]
    if any(size not in (2, 3) for size in sizes):
        raise ShapeError(
            f"cross takes vectors with 2 or 3 components, got {sizes[0]} and {sizes[1]}"
        )
    x, y = [_components(value, at) for value, at in zip(values, axes, strict=True)]
    third = _minus(_times(x[0], y[1]), _times(x[1], y[0]))
    if len(x) == len(y) == 2:
        assert third is not None
        return wrap(third)
    x, y = [*x, None][:3], [*y, None][:3]
    first = _minus(_times(x[1], y[2]), _times(x[2], y[1]))
    second = _minus(_times(x[2], y[0]), _times(x[0], y[2]))
    parts = [part for part in (first, second, third) if part is not None]
    rank = parts[0].type.rank + 1
    return wrap(stack_values(parts, normalize_axis(axisc, rank)))


def _components(value: Value, axis: int) -> list[Value | None]:
    count = operator.index(value.type.shape[axis])
    return [element(value, axis, i) for i in range(count)]


def _times(x: Value | None, y: Value | None) -> Value | None:
    """The product, None for zero."""
    return None if x is None or y is None else mul(*broadcast_together([x, y]))


def _minus(x: Value | None, y: Value | None) -> Value | None:
    if x is None or y is None:
        return x if y is None else neg(y)
    return sub(x, y)
