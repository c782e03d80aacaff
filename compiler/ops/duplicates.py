"""Derivatives of scatter at positions that several updates share.

`set` keeps one update per position, found by scattering their numbers and reading them back. `min`
and `max` share a tangent equally among all that reached the extreme, the operand included. `mul`
needs for each update the product of everything else at its position. Division does not give that
where factors are zero, so updates are sorted by position, and one product runs up to each from
either side; derivatives of any order follow from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import product
from weft.compiler.ir.dtypes import i64
from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.rules import Maybe
from weft.compiler.ir.types import ArrayType, Shape
from weft.compiler.ops import helpers
from weft.compiler.ops.primitives import ops


def where_last(values: Value, operand: ArrayType, indices: Sequence[Value], **places: Any) -> Value:
    """The values, shaped as updates, of those that `set` keeps, and 0 for those it overwrites.

    `places` are the attributes of gather.
    """
    index = indices[0].type.shape
    if not _may_repeat(indices, places["batch_dims"]):
        return values
    # Numbers stand for the updates; axes that are kept whole would only repeat them.
    room, places = _indexed_room(operand, **places)
    count = ops.iota(dtype=i64, shape=(product(index),), axis=0)
    numbers = helpers.reshape(count, index)
    none = helpers.stretch(constant(0, i64), room)
    written = ops.scatter(none, numbers, *indices, kind="set", **places)
    is_last = ops.eq(ops.gather(written, *indices, **places), numbers)
    if values.type.rank > len(index):
        is_last = ops.broadcast(is_last, shape=values.type.shape, dims=range(len(index)))
    return ops.select(is_last, values, helpers.number(0, values))


def _may_repeat(indices: Sequence[Value], batch_dims: int) -> bool:
    """Whether two updates can meet: not if there is one per batch element."""
    return product(indices[0].type.shape[batch_dims:]) != 1


# --- min and max --------------------------------------------------------------------------------


def extreme_tangent(op: Op, d_operand: Maybe, d_updates: Maybe) -> Value:
    """The mean of the tangents of all that are as extreme as the result there."""
    (operand, updates, *indices), (result,) = op.operands, op.results
    places = _places(op)
    # Asked so that NaN, which is beside everything, takes its part and leaves no 0 / 0.
    is_beaten = ops.lt if op.attributes["kind"] == "max" else ops.gt
    loses = is_beaten(operand, result)
    update_loses = is_beaten(updates, ops.gather(result, *indices, **places))
    zero, one = helpers.number(0, operand), helpers.number(1, operand)

    def total(of_operand: Maybe, of_updates: Maybe) -> Value:
        """What the operand and the updates contribute to each position if they do not lose."""
        start = helpers.zeros(operand.type)
        if of_operand is not None:
            start = ops.select(loses, zero, of_operand)
        if of_updates is None:
            return start
        added = ops.select(update_loses, zero, of_updates)
        return ops.scatter(start, added, *indices, kind="add", **places)

    return ops.div(total(d_operand, d_updates), total(one, one))


# --- mul ----------------------------------------------------------------------------------------


def product_tangent(op: Op, d_operand: Maybe, d_updates: Maybe) -> Value:
    """Each tangent times everything else at its position."""
    operand, updates, *indices = op.operands
    if not _may_repeat(indices, op.attributes["batch_dims"]):
        return _plain_product_tangent(op, d_operand, d_updates)
    total = None
    if d_operand is not None:
        ones = helpers.stretch(helpers.number(1, operand), operand.type.shape)
        total = ops.mul(d_operand, ops.scatter(ones, updates, *indices, **op.attributes))
    if d_updates is None:
        assert total is not None
        return total
    scaled = ops.mul(d_updates, _other_factors(op))
    start = total or helpers.zeros(operand.type)
    return ops.scatter(start, scaled, *indices, kind="add", **_places(op))


def _plain_product_tangent(op: Op, d_operand: Maybe, d_updates: Maybe) -> Value:
    """The product rule at the positions that are written, each by one update."""
    operand, updates, *indices = op.operands
    places = _places(op)
    changed = None
    if d_operand is not None:
        changed = ops.mul(ops.gather(d_operand, *indices, **places), updates)
    if d_updates is not None:
        other = ops.gather(operand, *indices, **places)
        changed = helpers.accumulate(changed, ops.mul(d_updates, other))
    assert changed is not None
    start = d_operand or helpers.zeros(operand.type)
    return ops.scatter(start, changed, *indices, kind="set", **places)


def _other_factors(op: Op) -> Value:
    """For each update the product of the operand and all other updates at its position."""
    operand, updates, *indices = op.operands
    batch_dims, index_rank = op.attributes["batch_dims"], indices[0].type.rank
    batch, kept = updates.type.shape[:batch_dims], updates.type.shape[index_rank:]
    steps = product(updates.type.shape[batch_dims:index_rank])
    axis = len(batch)
    spots = helpers.reshape(_spots(op), (*batch, steps))
    count = ops.iota(dtype=i64, shape=spots.type.shape, axis=axis)
    spots, order = ops.sort.emit(spots, count, axis=axis)
    along = {"axes": (axis,), "batch_dims": axis, "mode": "clip"}
    factors = ops.gather(helpers.reshape(updates, (*batch, steps, *kept)), order, **along)
    before = _products_before(factors, spots, axis, reverse=False)
    after = _products_before(factors, spots, axis, reverse=True)
    others = ops.mul(before, after)
    unsorted = ops.scatter(helpers.zeros(others.type), others, order, kind="add", **along)
    own = ops.gather(operand, *indices, **_places(op))
    return ops.mul(helpers.reshape(unsorted, updates.type.shape), own)


def _spots(op: Op) -> Value:
    """The number of the position that each index means, and 0 for those that are dropped."""
    operand, _, *indices = op.operands
    room, places = _indexed_room(operand.type, **_places(op))
    count = ops.iota(dtype=i64, shape=(product(room),), axis=0)
    numbers = ops.add(count, helpers.number(1, count))
    return ops.gather(helpers.reshape(numbers, room), *indices, **places)


def _products_before(factors: Value, spots: Value, axis: int, reverse: bool) -> Value:
    """The product of all earlier factors at the same spot, where equal spots lie together.

    A recurrence that begins anew at each spot, so that zeros among the factors need no division.
    """
    is_first = ops.ne(spots, _previous(spots, -1, axis, reverse))
    if factors.type.rank > spots.type.rank:
        is_first = ops.broadcast(is_first, shape=factors.type.shape, dims=range(spots.type.rank))
    zero, one = helpers.number(0, factors), helpers.number(1, factors)
    factor = ops.select(is_first, zero, _previous(factors, 1, axis, reverse))
    start = ops.select(is_first, one, zero)
    return ops.linear_recurrence(factor, start, axis=axis, reverse=reverse)


def _previous(x: Value, first: int, axis: int, reverse: bool) -> Value:
    """The element before each in running order, and `first` where there is none."""
    ahead = [int(i == axis) for i in range(x.type.rank)]
    behind = [-width for width in ahead]
    low, high = (behind, ahead) if reverse else (ahead, behind)
    return ops.pad(x, helpers.number(first, x), low=low, high=high, interior=[0] * len(low))


def _indexed_room(
    operand: ArrayType, *, axes: tuple[int, ...], batch_dims: int, mode: str
) -> tuple[Shape, dict[str, Any]]:
    """The shape of batch and indexed axes alone, and the attributes that index it."""
    room = (*operand.shape[:batch_dims], *[operand.shape[axis] for axis in axes])
    return room, {"axes": range(batch_dims, len(room)), "batch_dims": batch_dims, "mode": mode}


def _places(op: Op) -> dict[str, Any]:
    """The attributes that scatter shares with gather."""
    return {name: op.attributes[name] for name in ("axes", "batch_dims", "mode")}
