"""A product with a one-hot matrix is a lookup: `one_hot(labels) @ w` becomes a gather of rows.

The mask `labels[..., None] == arange(n)`, cast to the dtype of w, is recognised where it is
contracted along its own axis. A label out of range has a row of zeros in the product, and so it has
in the gather. Where w holds NaN or infinities the product has NaN in every row and the gather only
in those that are looked up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Constant, Graph, Op, Value
from weft.compiler.ops import helpers, logic
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.indexing import gather
from weft.compiler.ops.shape import broadcast, iota
from weft.compiler.rewrite.rules_shape import made_by


class OneHot(NamedTuple):
    """A one-hot array: the labels in its shape without `axis`, along which they are spread."""

    labels: Value
    axis: int


def gather_one_hot(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with lookups in place of products with one-hot arrays."""
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        gathered = _as_gather(op)
        if gathered is None:
            return None
        counts["one_hot @ w"] += 1
        return (gathered,)

    return edit(graph, visit, (dot_general,))


def _as_gather(op: Op) -> Value | None:
    attributes = op.attributes
    if attributes["lhs_batch"] or len(attributes["lhs_contract"]) != 1:
        return None
    if attributes["dtype"] not in (None, op.operands[0].type.dtype):
        return None
    (left,), (right,) = attributes["lhs_contract"], attributes["rhs_contract"]
    lhs, rhs = op.operands
    one_hot = _one_hot(lhs)
    if one_hot is not None and one_hot.axis == left:
        return _look_up(rhs, right, one_hot.labels)
    one_hot = _one_hot(rhs)
    if one_hot is None or one_hot.axis != right:
        return None
    gathered = _look_up(lhs, left, one_hot.labels)
    count, rank = one_hot.labels.type.rank, gathered.type.rank
    return helpers.transpose(gathered, [*range(count, rank), *range(count)])


def _look_up(w: Value, axis: int, labels: Value) -> Value:
    """Rows of w, of zeros where a label is out of range on either side."""
    dtype = labels.type.dtype
    if dtype.is_signed:
        beyond = constant(np.iinfo(dtype.numpy).max, dtype)
        labels = logic.select(logic.lt(labels, helpers.number(0, labels)), beyond, labels)
    return gather(w, labels, axes=(axis,), mode="fill")


def _one_hot(value: Value) -> OneHot | None:
    converted = made_by(value, cast)
    compared = None if converted is None else made_by(converted.operands[0], logic.eq)
    if compared is None or not compared.operands[0].type.dtype.is_integer:
        return None
    shape = compared.results[0].type.shape
    for counted, labels in (compared.operands, reversed(compared.operands)):
        axis = _counted_axis(counted)
        if axis is None or counted.type.shape != shape:
            continue
        if not _can_count(labels.type.dtype, shape[axis]):
            continue
        spread = _labels(labels, axis, shape)
        if spread is not None:
            return OneHot(spread, axis)
    return None


def _can_count(dtype: DType, size: Size) -> bool:
    """Whether the dtype has a number for every position, and one beyond; i64 always has."""
    most = dims.upper(size)
    return dtype.bits == 64 if most is None else most <= np.iinfo(dtype.numpy).max


def _counted_axis(value: Value) -> int | None:
    """The axis along which a value is 0, 1, 2, ... and otherwise the same; None if it is not so."""
    counter = made_by(value, iota)
    if counter is not None:
        return int(counter.attributes["axis"])
    if isinstance(value, Constant) and value.type.rank == 1:
        return 0 if np.array_equal(value.array, np.arange(value.array.size)) else None
    stretched = made_by(value, broadcast)
    if stretched is None:
        return None
    source = stretched.operands[0]
    inner = _counted_axis(source)
    if inner is None:
        return None
    axis = int(stretched.attributes["dims"][inner])
    return axis if source.type.shape[inner] == value.type.shape[axis] else None


def _labels(value: Value, axis: int, shape: Sequence[Size]) -> Value | None:
    """The labels that were repeated along `axis`, in the shape without it."""
    rest = [size for index, size in enumerate(shape) if index != axis]
    if not value.type.rank:
        return helpers.stretch(value, tuple(rest))
    stretched = made_by(value, broadcast)
    if stretched is None:
        return None
    places = stretched.attributes["dims"]
    if axis in places:
        return None
    kept = [index - (index > axis) for index in places]
    source = stretched.operands[0]
    if tuple(rest) == source.type.shape:
        return source
    return broadcast(source, shape=rest, dims=kept)
