"""Small compositions that derivative and batching rules of all families use."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Op, Result, Value
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops.primitives import ops


def zeros(type: ArrayType) -> Value:
    """Zeros of a type: one number, stretched."""
    return stretch(constant(0, type.dtype), type.shape)


def is_zero(value: Value) -> bool:
    """Whether a value is plainly zero: a constant 0, possibly stretched."""
    if isinstance(value, Result) and value.op.definition is ops.broadcast:
        return is_zero(value.op.operands[0])
    return isinstance(value, Constant) and not value.array.any()


def is_power_of_two(value: Value) -> bool:
    """Whether a value is a known power of two, a product with which is exact."""
    if not isinstance(value, Constant) or value.type.shape:
        return False
    return abs(float(np.frexp(value.array.astype(np.float64))[0])) == 0.5


def masked_as(cotangent: Value, product: Value) -> Value:
    """A product of a cotangent, with zeros again where a select put zeros into the cotangent.

    A branch that is not taken has the cotangent 0; where its slope is infinite the product would be
    NaN, and leak into what the branch was made of.
    """
    source = cotangent
    while isinstance(source, Result) and source.op.definition in (ops.neg, ops.cast):
        source = source.op.operands[0]
    if not isinstance(source, Result) or source.op.definition is not ops.select:
        return product
    pred, on_true, on_false = source.op.operands
    if pred.type.shape not in ((), product.type.shape):
        return product
    if is_zero(on_false):
        return ops.select(pred, product, number(0, product))
    return ops.select(pred, number(0, product), product) if is_zero(on_true) else product


def number(value: object, like: Value) -> Value:
    """A constant of a value's dtype."""
    return constant(value, like.type.dtype)


def scale(value: Value, factor: object) -> Value:
    """The value times a number."""
    return ops.mul(value, number(factor, value))


def offset(value: Value, amount: object) -> Value:
    """The value plus a number."""
    return ops.add(value, number(amount, value))


def square(value: Value) -> Value:
    """The value times itself."""
    return ops.mul(value, value)


def unless_zero(value: Value) -> Value:
    """The value, and 1 where it is 0, to divide by or to take the logarithm of."""
    is_zero = ops.eq(value, number(0, value))
    return ops.select(is_zero, number(1, value), value)


def stretch(value: Value, target: Shape) -> Value:
    """A rank-0 value stretched to a shape; others already have it."""
    if value.type.shape == target:
        return value
    return ops.broadcast(value, shape=target, dims=())


def unstretch(value: Value, target: Shape) -> Value:
    """The adjoint of stretching: a sum over everything for a rank-0 target."""
    if value.type.shape == target:
        return value
    return ops.reduce_sum(value, axes=tuple(range(value.type.rank)))


def accumulate(left: Maybe, right: Maybe) -> Maybe:
    """The sum of two tangents or cotangents, either of which may be zero."""
    if left is None or right is None:
        return right if left is None else left
    return ops.add(left, right)


def transpose(value: Value, permutation: Sequence[int]) -> Value:
    """The value with its axes permuted, or itself."""
    if list(permutation) == list(range(value.type.rank)):
        return value
    return ops.transpose(value, permutation=tuple(permutation))


def reshape(value: Value, target: Shape) -> Value:
    """The value in another shape, or itself."""
    return value if value.type.shape == target else ops.reshape(value, shape=target)


def add_leading_axis(value: Value, size: Size) -> Value:
    """The value repeated along a new first axis."""
    rank = value.type.rank
    return ops.broadcast(value, shape=(size, *value.type.shape), dims=tuple(range(1, rank + 1)))


def with_leading_axis(values: Sequence[Value], batched: Sequence[bool], size: Size) -> list[Value]:
    """The values, repeated along the batch axis where they have none."""
    return [
        value if mark else add_leading_axis(value, size)
        for value, mark in zip(values, batched, strict=True)
    ]


def shifted(axes: Sequence[int]) -> tuple[int, ...]:
    """The numbers that axes have behind a new first one."""
    return tuple([axis + 1 for axis in axes])


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def expand_axes(value: Value, axes: Sequence[int], full: Shape) -> Value:
    """What a reduction over `axes` gave, stretched back to the shape before it."""
    if not axes:
        return value
    kept = tuple(axis for axis in range(len(full)) if axis not in axes)
    return ops.broadcast(value, shape=full, dims=kept)


def only(cotangents: Sequence[Maybe]) -> Value:
    """The cotangent of the one result; rules are not asked when it is zero."""
    (cotangent,) = cotangents
    assert cotangent is not None
    return cotangent


def operand_cotangents(op: Op, linear: Sequence[bool], *made: Callable[[], Value]) -> list[Maybe]:
    """The cotangents of the linear operands, each summed down to its operand's shape."""
    return [
        unstretch(make(), operand.type.shape) if mark else None
        for operand, mark, make in zip(op.operands, linear, made, strict=True)
    ]
