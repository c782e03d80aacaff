"""How ops that move elements read their operands and write their results: index maps, views by
strides, and pieces.

An index map takes an op, the number of a result and the place where the result is wanted, and
gives the expression of that element. Families name these functions in their ops' records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from weft.compiler.ir import dims
from weft.compiler.ir.axes import matching_axes
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Constant, Op, Value
from weft.compiler.ir.index.affine import ZERO, Guard, Index, Place, constant, row_major, total
from weft.compiler.ir.index.expression import (
    Choose,
    Expression,
    Literal,
    Position,
    Quotient,
    Ref,
    Resolved,
    Start,
)
from weft.compiler.ir.lowering import Piece, Strided, View

ANYWHERE: Final = Place(())


def itself(op: Op, number: int, place: Place) -> Expression:
    """The first operand as it is."""
    return Ref(op.operands[0], place)


def _scalar(value: Value) -> Ref:
    return Ref(value, ANYWHERE)


# --- views --------------------------------------------------------------------------------------


def broadcast(op: Op, number: int, place: Place) -> Expression:
    (x,) = op.operands
    targets, shape = op.attributes["dims"], op.attributes["shape"]
    indices = [
        place.indices[target] if size == shape[target] else ZERO
        for size, target in zip(x.type.shape, targets, strict=True)
    ]
    return Ref(x, place.at(indices))


def transpose(op: Op, number: int, place: Place) -> Expression:
    permutation = op.attributes["permutation"]
    indices = [ZERO] * len(permutation)
    for index, axis in zip(place.indices, permutation, strict=True):
        indices[axis] = index
    return Ref(op.operands[0], place.at(indices))


def reverse(op: Op, number: int, place: Place) -> Expression:
    (x,) = op.operands
    indices = list(place.indices)
    for axis in op.attributes["axes"]:
        indices[axis] = indices[axis] * -1 + (x.type.shape[axis] - 1)
    return Ref(x, place.at(indices))


def slice_(op: Op, number: int, place: Place) -> Expression:
    starts, strides = op.attributes["starts"], op.attributes["strides"]
    indices = [
        index * stride + start
        for index, start, stride in zip(place.indices, starts, strides, strict=True)
    ]
    return Ref(op.operands[0], place.at(indices))


def reshape(op: Op, number: int, place: Place) -> Expression:
    (x,) = op.operands
    return Ref(x, place.at(_reshaped(place.indices, op.attributes["shape"], x.type.shape)))


def _reshaped(
    indices: Sequence[Index], shape: Sequence[Size], target: Sequence[Size]
) -> list[Index]:
    """The index into `target` of the element that has these indices in `shape`, both in row-major
    order.
    """
    result: list[Index] = []
    for here, there in matching_axes(shape, target):
        sizes = [shape[axis] for axis in here]
        flat = total([indices[axis] for axis in here], row_major(sizes))
        result += _split(flat, [target[axis] for axis in there])
    return result


def _split(flat: Index, sizes: Sequence[Size]) -> list[Index]:
    """A flat index as one per axis: by sorting its terms where that is exact, else by division."""
    indices: list[Index] = []
    for size in reversed(sizes[1:]):
        if isinstance(size, int) and size == 1:
            indices.append(ZERO)
            continue
        quotient, rest = _divide(flat, size)
        indices.append(rest)
        flat = quotient
    if sizes:
        first = sizes[0]
        indices.append(ZERO if isinstance(first, int) and first == 1 else flat)
    return indices[::-1]


def _divide(flat: Index, size: Size) -> tuple[Index, Index]:
    """Quotient and remainder of a division by a size; of an empty axis nothing is read."""
    if isinstance(size, int) and size == 0:
        return ZERO, ZERO
    above = Index()
    below = Index()
    for loop, factor in flat.terms:
        multiple = _exact_quotient(factor, size)
        if multiple is None:
            below = below + Index(((loop, factor),))
        else:
            above = above + Index(((loop, multiple),))
    multiple = _exact_quotient(flat.constant, size)
    if multiple is not None:
        above = above + multiple
    elif isinstance(flat.constant, int) and isinstance(size, int):
        above = above + flat.constant // size
        below = below + flat.constant % size
    else:
        below = below + flat.constant
    if not flat.extras and below.lies_within(size):
        return above, below
    quotient = Index((), 0, ((1, Quotient(flat, size)),))
    return quotient, flat + quotient * (size * -1)


def _exact_quotient(size: Size, divisor: Size) -> Size | None:
    """size / divisor if that is whole for sure."""
    if isinstance(size, int) and isinstance(divisor, int):
        return size // divisor if divisor and size % divisor == 0 else None
    quotient = dims.floor_divide(size, divisor)
    return quotient if quotient * divisor == size else None


# --- views by strides ---------------------------------------------------------------------------


def _transpose_strides(op: Op, offset: Size, strides: Sequence[Size]) -> Strided:
    return offset, tuple([strides[axis] for axis in op.attributes["permutation"]])


def _broadcast_strides(op: Op, offset: Size, strides: Sequence[Size]) -> Strided:
    (x,), shape = op.operands, op.attributes["shape"]
    stretched: list[Size] = [0] * len(shape)
    for size, target, stride in zip(x.type.shape, op.attributes["dims"], strides, strict=True):
        stretched[target] = stride if size == shape[target] else 0
    return offset, tuple(stretched)


def _reverse_strides(op: Op, offset: Size, strides: Sequence[Size]) -> Strided:
    (x,), flipped = op.operands, list(strides)
    for axis in op.attributes["axes"]:
        offset = offset + flipped[axis] * (x.type.shape[axis] - 1)
        flipped[axis] = flipped[axis] * -1
    return offset, tuple(flipped)


def _slice_strides(op: Op, offset: Size, strides: Sequence[Size]) -> Strided:
    starts, steps = op.attributes["starts"], op.attributes["strides"]
    for start, stride in zip(starts, strides, strict=True):
        offset = offset + start * stride
    return offset, tuple([stride * step for stride, step in zip(strides, steps, strict=True)])


def _reshape_strides(op: Op, offset: Size, strides: Sequence[Size]) -> Strided:
    axes = zip(op.operands[0].type.shape, strides, strict=True)
    kept = iter([stride for size, stride in axes if size != 1])
    return offset, tuple([0 if size == 1 else next(kept) for size in op.attributes["shape"]])


def _drops_ones(op: Op) -> bool:
    """Whether a reshape only adds or drops axes of one element."""
    before, after = [
        [size for size in value.type.shape if size != 1] for value in (op.operands[0], *op.results)
    ]
    return before == after


TRANSPOSED: Final = View(_transpose_strides)
STRETCHED: Final = View(_broadcast_strides)
REVERSED: Final = View(_reverse_strides)
SLICED: Final = View(_slice_strides)
RESHAPED: Final = View(_reshape_strides, when=_drops_ones)


# --- windows, padding, joining ------------------------------------------------------------------


def _window_start(start: Value, limit: Size) -> Index:
    """The first index of a window that is moved inside; `limit` is the last possible one."""
    if isinstance(start, Constant) and isinstance(limit, int):
        return constant(min(max(int(start.array), 0), limit))
    if isinstance(limit, int) and limit == 0:
        return ZERO
    return Index((), 0, ((1, Start(_scalar(start), limit)),))


def dynamic_slice(op: Op, number: int, place: Place) -> Expression:
    x, *starts = op.operands
    sizes = op.attributes["sizes"]
    indices = [
        index + _window_start(start, available - size)
        for index, start, size, available in zip(
            place.indices, starts, sizes, x.type.shape, strict=True
        )
    ]
    return Ref(x, place.at(indices))


def dynamic_update_slice(op: Op, number: int, place: Place) -> Expression:
    x, update, *starts = op.operands
    indices, guards = [], []
    axes = zip(place.indices, starts, update.type.shape, x.type.shape, strict=True)
    for index, start, size, available in axes:
        inner = index + _window_start(start, available - size) * -1
        indices.append(inner)
        guards.append(Guard(inner, 0, size))
    window = place.at(indices).guarded(guards)
    added = window.guards[len(place.guards) :]
    return Choose(added, Ref(update, window), Ref(x, place)) if added else Ref(update, window)


def pad(op: Op, number: int, place: Place) -> Expression:
    x, value = op.operands
    low, interior = op.attributes["low"], op.attributes["interior"]
    indices, guards = [], []
    axes = zip(place.indices, low, interior, x.type.shape, strict=True)
    for index, before, gap, size in axes:
        inner = index + (before * -1)
        if gap:
            quotient = Index((), 0, ((1, Quotient(inner, gap + 1)),))
            guards.append(Guard(inner + quotient * -(gap + 1), 0, 1))
            inner = quotient
        indices.append(inner)
        guards.append(Guard(inner, 0, size))
    return _choose(x, place.at(indices), guards, _scalar(value))


def _choose(
    value: Value, place: Place, guards: Sequence[Guard], otherwise: Expression
) -> Expression:
    """A value where guards hold; the guards that always do are left out."""
    inside = place.guarded(guards)
    added = inside.guards[len(place.guards) :]
    return Choose(added, Ref(value, inside), otherwise) if added else Ref(value, inside)


def concatenate(op: Op, number: int, place: Place) -> Expression:
    axis = op.attributes["axis"]
    offset: Size = 0
    pieces: list[tuple[Value, Place, Guard]] = []
    for operand in op.operands:
        size = operand.type.shape[axis]
        indices = list(place.indices)
        indices[axis] = indices[axis] + (offset * -1)
        pieces.append((operand, place.at(indices), Guard(indices[axis], 0, size)))
        offset = offset + size
    zero = Literal(np.zeros((), op.results[0].type.dtype.numpy), op.results[0].type.dtype)
    result: Expression = zero
    for operand, at, guard in reversed(pieces):
        result = _choose(operand, at, [guard], result)
    return result


# --- writing piece by piece ---------------------------------------------------------------------


def joined_pieces(op: Op) -> Iterator[Piece]:
    """The operands of a concatenation, each behind the one before."""
    axis = op.attributes["axis"]
    offset: Size = 0
    for operand in op.operands:
        yield operand, _shift(axis, offset)
        offset = offset + operand.type.shape[axis]


def _shift(axis: int, offset: Size) -> Callable[[Place], Place]:
    def target(place: Place) -> Place:
        indices = list(place.indices)
        indices[axis] = indices[axis] + offset
        return place.at(indices)

    return target


def window_piece(op: Op) -> list[Piece]:
    """The window that an update replaces."""
    x, update, *starts = op.operands
    axes = zip(starts, update.type.shape, x.type.shape, strict=True)
    firsts = [_window_start(start, available - size) for start, size, available in axes]

    def target(place: Place) -> Place:
        return place.at([i + first for i, first in zip(place.indices, firsts, strict=True)])

    return [(update, target)]


def scattered_piece(op: Op) -> list[Piece]:
    """The updates of a scatter, each where its indices say."""
    operand, updates, *indices = op.operands
    rank = indices[0].type.rank

    def target(place: Place) -> Place:
        at = Place(place.indices[:rank])
        target_indices, guards = _indexed_place(op, operand, indices, at, place.indices[rank:])
        return Place(tuple(target_indices)).guarded(guards)

    return [(updates, target)]


# --- positions and gathers ----------------------------------------------------------------------


def iota(op: Op, number: int, place: Place) -> Expression:
    return Position(place.indices[op.attributes["axis"]], op.results[0].type.dtype)


def dim_value(op: Op, number: int, place: Place) -> Expression:
    return Position(constant(op.attributes["dim"]), op.results[0].type.dtype)


def gather(op: Op, number: int, place: Place) -> Expression:
    operand, *indices = op.operands
    rank = indices[0].type.rank
    at = place.at(place.indices[:rank])
    target, guards = _indexed_place(op, operand, indices, at, place.indices[rank:])
    dtype = operand.type.dtype
    nothing = Literal(np.zeros((), dtype.numpy), dtype)
    return _choose(operand, place.at(target), guards, nothing)


def _indexed_place(
    op: Op, operand: Value, indices: Sequence[Value], at: Place, kept: Sequence[Index]
) -> tuple[list[Index], list[Guard]]:
    """The index into the operand of a gather or scatter, and the guards under which it counts."""
    axes, batch, mode = (op.attributes[name] for name in ("axes", "batch_dims", "mode"))
    positions = dict(zip(axes, indices, strict=True))
    rest = iter(kept)
    target: list[Index] = []
    guards: list[Guard] = []
    for axis, size in enumerate(operand.type.shape):
        if axis < batch:
            target.append(at.indices[axis])
        elif axis in positions:
            ref = Ref(positions[axis], at)
            index = Index((), 0, ((1, Resolved(ref, size, mode, op, axis, at.guards)),))
            target.append(index)
            if mode == "fill":
                guards.append(Guard(index, 0, size))
        else:
            target.append(next(rest))
    return target, guards
