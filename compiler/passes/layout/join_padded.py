"""Arrays that lie side by side in a sum of zero-padded ones, as one concatenation: the gradient of
what was cut into slices, such as the gates of an LSTM.

Each element of the sum is an element of one array plus zeros, so only the sign of a zero can
change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.edit import edit
from weft.compiler.ir.graph import Graph, Op, Result, Value
from weft.compiler.ops import helpers
from weft.compiler.ops.arithmetic import add
from weft.compiler.ops.shape import concatenate, pad
from weft.compiler.passes.scans.parts import holds
from weft.compiler.record import record
from weft.compiler.rewrite.rules_shape import made_by


@record
class JoinLimits:
    """How far to look; gradients of gates have 4 terms, and every sum is looked through anew."""

    most_terms: int = 32  # of a sum


LIMITS: Final = JoinLimits()


def join_padded(graph: Graph, fired: Counter[str] | None = None) -> Graph:
    """The graph with sums of padded neighbours as concatenations."""
    if not holds(graph, pad):
        return graph
    counts = fired if fired is not None else Counter()

    def visit(op: Op) -> Sequence[Value] | None:
        if op.definition is not add or not any(made_by(v, pad) for v in op.operands):
            return None
        pieces, others = _terms(op)
        joined = _joined(pieces)
        if len(joined) == len(pieces):
            return None
        counts[f"{len(pieces)} arrays"] += 1
        total = others + joined
        while len(total) > 1:
            total = [add(total[0], total[1]), *total[2:]]
        return total

    return edit(graph, visit)


class _Piece(NamedTuple):
    """An array between zeros along one axis."""

    padded: Value
    array: Value
    axis: int
    low: Size
    high: Size


def _terms(op: Op) -> tuple[list[_Piece], list[Value]]:
    """The terms of a sum: those that are padded along one axis, and others."""
    pieces: list[_Piece] = []
    others: list[Value] = []
    stack = [*reversed(op.operands)]
    while stack:
        value = stack.pop()
        piece = _as_piece(value)
        if piece is not None:
            pieces.append(piece)
        elif (
            (inner := made_by(value, add)) is not None
            and len(pieces) + len(others) + len(stack) < LIMITS.most_terms
            and all(v.type == value.type for v in inner.operands)
        ):
            stack += reversed(inner.operands)
        else:
            others.append(value)
    return pieces, others


def _as_piece(value: Value) -> _Piece | None:
    op = made_by(value, pad)
    if op is None or any(op.attributes["interior"]) or not helpers.is_zero(op.operands[1]):
        return None
    ends = list(zip(op.attributes["low"], op.attributes["high"], strict=True))
    axes = [axis for axis, end in enumerate(ends) if end != (0, 0)]
    if len(axes) != 1 or any((dims.lower(end) or 0) < 0 for end in ends[axes[0]]):
        return None
    return _Piece(value, op.operands[0], axes[0], *ends[axes[0]])


def _joined(pieces: Sequence[_Piece]) -> list[Value]:
    """The pieces with neighbours joined, as values of the sum's shape."""
    following = {(piece.axis, piece.low): piece for piece in reversed(pieces)}
    if len(following) == 1:
        return [piece.padded for piece in pieces]
    waiting = dict.fromkeys(pieces)
    ends = {(piece.axis, _end(piece)) for piece in pieces}
    result: list[Value] = []
    # A row of neighbours begins where none ends; what is left lies in the place of another.
    for first in [p for p in pieces if (p.axis, p.low) not in ends] + list(pieces):
        row: list[_Piece] = []
        piece: _Piece | None = first
        while piece is not None and piece in waiting:
            del waiting[piece]
            row.append(piece)
            piece = following.get((piece.axis, _end(piece)))
        if row:
            result.append(_concatenated(row))
    return result


def _end(piece: _Piece) -> Size:
    return piece.low + piece.array.type.shape[piece.axis]


def _concatenated(row: Sequence[_Piece]) -> Value:
    first, last = row[0], row[-1]
    if len(row) == 1:
        return first.padded
    arrays = [array for piece in row for array in _parts(piece)]
    whole = concatenate(*arrays, axis=first.axis)
    if (first.low, last.high) == (0, 0):
        return whole
    low: list[Size] = [0] * whole.type.rank
    high = list(low)
    low[first.axis], high[first.axis] = first.low, last.high
    return pad(whole, helpers.number(0, whole), low=low, high=high, interior=[0] * len(low))


def _parts(piece: _Piece) -> Sequence[Value]:
    """The array, or what it was joined of."""
    op = piece.array.op if isinstance(piece.array, Result) else None
    if op is not None and op.definition is concatenate and op.attributes["axis"] == piece.axis:
        return op.operands
    return (piece.array,)
