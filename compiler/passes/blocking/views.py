"""Which ops can be computed block by block, and what a block of a result needs of the operands.

Loops go over axes of values: each over one axis of every value that depends on it. `operand_views`
says, for an op whose result has certain loops over its axes, over which axes of the operands they
go; `result_view` is the other way round. Both say None where blocks of the result are not made of
blocks of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from weft.compiler.ir.graph import Op, Value
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops.contraction import dot_general
from weft.compiler.ops.cumulative import cummax, cummin, cumprod, cumsum
from weft.compiler.ops.indexing import gather, scatter
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.shape import (
    broadcast,
    concatenate,
    iota,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from weft.compiler.record import record

Loops = tuple[int | None, ...]
"""For each axis the number of the loop over it."""


@record
class BlockView:
    """A value as loops see it. The shape is the value's own or, for a value that is made element by
    element in row-major order, the one that it is reshaped to.
    """

    shape: tuple[int, ...]
    loops: Loops

    @property
    def used(self) -> frozenset[int]:
        """The loops that the value depends on."""
        return frozenset([loop for loop in self.loops if loop is not None])

    @property
    def width(self) -> int:
        """The elements for one index of each loop."""
        total = 1
        for size, loop in zip(self.shape, self.loops, strict=True):
            total *= size if loop is None else 1
        return total

    def is_own(self, value: Value) -> bool:
        """Whether the shape is the value's own."""
        return self.shape == value.type.shape


NUMBER: Final = BlockView((), ())


def is_plain(op: Op) -> bool:
    """Whether an op has one result, no regions, and sizes that are known and not 0: an empty array
    has no blocks.
    """
    if len(op.results) != 1 or op.regions or op.definition.is_marker:
        return False
    values = (*op.operands, *op.results)
    return all([value.type.is_static and 0 not in value.type.shape for value in values])


def static_shape(value: Value) -> tuple[int, ...]:
    """The shape of a value whose sizes are all known."""
    return tuple([size for size in value.type.shape if isinstance(size, int)])


def _view(value: Value, loops: Sequence[int | None]) -> BlockView:
    return BlockView(static_shape(value), tuple(loops))


# --- from the result to the operands --------------------------------------------------------------


def operand_views(op: Op, view: BlockView) -> list[BlockView] | None:
    """What each operand has to be for blocks of a view of the result; None if that does not go."""
    if not is_plain(op):
        return None
    if op.definition.is_elementwise:
        return [view if operand.type.rank else NUMBER for operand in op.operands]
    if op.definition is iota:
        return [] if op.results[0].type.rank == 1 or view.is_own(op.results[0]) else None
    rule = _reduction if op.definition.is_reduction else _OPERANDS.get(op.definition)
    return rule(op, view) if rule is not None and view.is_own(op.results[0]) else None


def _broadcast(op: Op, view: BlockView) -> list[BlockView]:
    (x,) = op.operands
    targets = op.attributes["dims"]
    loops = [
        view.loops[target] if size == view.shape[target] else None
        for size, target in zip(x.type.shape, targets, strict=True)
    ]
    return [_view(x, loops)]


def _transpose(op: Op, view: BlockView) -> list[BlockView]:
    loops: list[int | None] = [None] * len(view.loops)
    for axis, loop in zip(op.attributes["permutation"], view.loops, strict=True):
        loops[axis] = loop
    return [_view(op.operands[0], loops)]


def _reshape(op: Op, view: BlockView) -> list[BlockView]:
    (x,) = op.operands
    loops = reshaped_loops(view, static_shape(x))
    return [view if loops is None else _view(x, loops)]


def reshaped_loops(view: BlockView, target: Sequence[int]) -> Loops | None:
    """The loops over the axes of another shape, if each loop is over one whole axis of it."""
    loops: list[int | None] = [None] * len(target)
    here = [axis for axis, size in enumerate(view.shape) if size != 1]
    there = [axis for axis, size in enumerate(target) if size != 1]
    i = j = 0
    while i < len(here) and j < len(there):
        left, right = view.shape[here[i]], target[there[j]]
        if left == right:
            loops[there[j]] = view.loops[here[i]]
            i, j = i + 1, j + 1
            continue
        begin = i
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * view.shape[here[i]], i + 1
            else:
                right, j = right * target[there[j]], j + 1
        if any(view.loops[axis] is not None for axis in here[begin:i]):
            return None
    return tuple(loops)


def _reduction(op: Op, view: BlockView) -> list[BlockView]:
    axes = _reduced(op)
    loops = list(view.loops)
    for axis in sorted(axes):
        loops.insert(axis, None)
    return [_view(op.operands[0], loops)]


def _reduced(op: Op) -> tuple[int, ...]:
    axes = op.attributes.get("axes")
    return tuple(axes) if axes is not None else (op.attributes["axis"],)


def _dot_general(op: Op, view: BlockView) -> list[BlockView]:
    views: list[BlockView] = []
    batch = len(op.attributes["lhs_batch"])
    at = batch
    for side, operand in zip(("lhs", "rhs"), op.operands, strict=True):
        loops: list[int | None] = [None] * operand.type.rank
        for number, axis in enumerate(op.attributes[f"{side}_batch"]):
            loops[axis] = view.loops[number]
        for axis in _free(op, side, operand):
            loops[axis] = view.loops[at]
            at += 1
        views.append(_view(operand, loops))
    return views


def _free(op: Op, side: str, operand: Value) -> list[int]:
    taken = (*op.attributes[f"{side}_batch"], *op.attributes[f"{side}_contract"])
    return [axis for axis in range(operand.type.rank) if axis not in taken]


def _slice(op: Op, view: BlockView) -> list[BlockView] | None:
    (x,) = op.operands
    starts, strides = op.attributes["starts"], op.attributes["strides"]
    for axis, loop in enumerate(view.loops):
        is_whole = (starts[axis], strides[axis]) == (0, 1)
        if loop is not None and not (is_whole and x.type.shape[axis] == view.shape[axis]):
            return None
    return [_view(x, view.loops)]


def _pad(op: Op, view: BlockView) -> list[BlockView] | None:
    added = zip(*[op.attributes[name] for name in ("low", "high", "interior")], strict=True)
    for loop, sizes in zip(view.loops, added, strict=True):
        if loop is not None and any(size != 0 for size in sizes):
            return None
    return [_view(op.operands[0], view.loops), NUMBER]


def _along(op: Op, view: BlockView) -> list[BlockView] | None:
    """Ops that mix elements along some axes only: joining, reversing, running sums."""
    axes = op.attributes.get("axes", (op.attributes.get("axis"),))
    if any(view.loops[axis] is not None for axis in axes):
        return None
    return [_view(operand, view.loops) for operand in op.operands]


def _gather(op: Op, view: BlockView) -> list[BlockView] | None:
    operand, *indices = op.operands
    batch, axes, rank = op.attributes["batch_dims"], op.attributes["axes"], indices[0].type.rank
    kept = iter(view.loops[rank:])
    loops = [
        view.loops[axis] if axis < batch else None if axis in axes else next(kept)
        for axis in range(operand.type.rank)
    ]
    return [_view(operand, loops), *[_view(index, view.loops[:rank]) for index in indices]]


def _scatter(op: Op, view: BlockView) -> list[BlockView] | None:
    operand, updates, *indices = op.operands
    batch = op.attributes["batch_dims"]
    if any(loop is not None for loop in view.loops[batch:]):
        return None
    lead = view.loops[:batch]
    return [
        view,
        *[_view(v, (*lead, *[None] * (v.type.rank - batch))) for v in (updates, *indices)],
    ]


_OPERANDS: Final[Mapping[OpDef, Callable[[Op, BlockView], list[BlockView] | None]]] = {
    broadcast: _broadcast,
    transpose: _transpose,
    reshape: _reshape,
    dot_general: _dot_general,
    slice_: _slice,
    pad: _pad,
    gather: _gather,
    scatter: _scatter,
    **dict.fromkeys((concatenate, reverse, cumsum, cumprod, cummax, cummin), _along),
}


# --- from an operand to the result ----------------------------------------------------------------


def result_view(op: Op, number: int, view: BlockView) -> BlockView | None:
    """What the result is where the operand at a place has a view."""
    if not is_plain(op):
        return None
    operand, (result,) = op.operands[number], op.results
    loops = _result_loops(op, number, view) if view.is_own(operand) else None
    if loops is None:
        return None
    of_result = _view(result, loops)
    needed = operand_views(op, of_result)
    return of_result if needed is not None and needed[number] == view else None


def _result_loops(op: Op, number: int, view: BlockView) -> Sequence[int | None] | None:
    shape = static_shape(op.results[0])
    if op.definition.is_elementwise:
        return view.loops if view.shape == shape else None
    match op.name:
        case "broadcast":
            loops: list[int | None] = [None] * len(shape)
            for target, loop in zip(op.attributes["dims"], view.loops, strict=True):
                loops[target] = loop
            return loops
        case "transpose":
            return [view.loops[axis] for axis in op.attributes["permutation"]]
        case "reshape":
            return reshaped_loops(view, shape)
        case "dot_general":
            return _product_loops(op, number, view)
        case "gather" | "scatter":
            lead = view.loops[: op.attributes["batch_dims"]]
            return [*lead, *[None] * (len(shape) - len(lead))]
        case _:
            axes = _reduced(op) if op.definition.is_reduction else ()
            if any(view.loops[axis] is not None for axis in axes):
                return None  # `summed` knows more
            kept = _dropped(view.loops, axes)
            return kept if len(kept) == len(shape) else None


def _product_loops(op: Op, number: int, view: BlockView) -> Sequence[int | None] | None:
    side = ("lhs", "rhs")[number]
    if any(view.loops[axis] is not None for axis in op.attributes[f"{side}_contract"]):
        return None
    batch = [view.loops[axis] for axis in op.attributes[f"{side}_batch"]]
    free = [view.loops[axis] for axis in _free(op, side, op.operands[number])]
    other = op.operands[1 - number]
    others: list[int | None] = [None] * len(_free(op, ("rhs", "lhs")[number], other))
    return [*batch, *free, *others] if number == 0 else [*batch, *others, *free]


# --- sums over loops ------------------------------------------------------------------------------


@record
class Summed:
    """An op whose result is a sum over indices of loops: views of its operands and its result, and
    which loops.
    """

    operands: tuple[BlockView, ...]
    result: BlockView
    loops: frozenset[int]


def summed(op: Op, number: int, view: BlockView) -> Summed | None:
    """The op as a sum over loops, where the operand at a place has a view; None if it is none."""
    if not is_plain(op) or not view.is_own(op.operands[number]):
        return None
    (result,) = op.results
    if op.definition is reduce_sum:
        loops = {view.loops[axis] for axis in op.attributes["axes"]} - {None}
        kept = _view(result, _dropped(view.loops, op.attributes["axes"]))
        return Summed((view,), kept, frozenset(_known(loops))) if loops else None
    if op.definition is not dot_general:
        return None
    mine, other = ("lhs", "rhs") if number == 0 else ("rhs", "lhs")
    pairs = [
        pair
        for group in ("contract", "batch")
        for pair in zip(
            op.attributes[f"{mine}_{group}"], op.attributes[f"{other}_{group}"], strict=True
        )
    ]
    contracted = {view.loops[axis] for axis in op.attributes[f"{mine}_contract"]} - {None}
    if not contracted:
        return None
    loops_there: list[int | None] = [None] * op.operands[1 - number].type.rank
    for here, there in pairs:
        loops_there[there] = view.loops[here]
    there_view = _view(op.operands[1 - number], loops_there)
    batch = [view.loops[axis] for axis in op.attributes[f"{mine}_batch"]]
    free = [view.loops[axis] for axis in _free(op, mine, op.operands[number])]
    others: list[int | None] = [None] * len(_free(op, other, op.operands[1 - number]))
    ordered = [*batch, *free, *others] if number == 0 else [*batch, *others, *free]
    views = (view, there_view) if number == 0 else (there_view, view)
    return Summed(views, _view(result, ordered), frozenset(_known(contracted)))


def _dropped(loops: Loops, axes: Sequence[int]) -> Loops:
    return tuple([loop for axis, loop in enumerate(loops) if axis not in axes])


def _known(loops: set[int | None]) -> set[int]:
    return {loop for loop in loops if loop is not None}
