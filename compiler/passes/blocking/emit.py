"""Writing a stage of a cluster as loops: a map over batches, in it a scan over blocks of rows.

Inside of a block every op is as before but for sizes: an axis that a loop goes over has size 1, or
as many rows as a block. Values that others need are stacked; sums over rows are carried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.compiler.ir.build import constant
from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType, i64
from weft.compiler.ir.graph import Constant, Op, Result, Value
from weft.compiler.ir.location import Location
from weft.compiler.ir.types import ArrayType
from weft.compiler.ops import helpers
from weft.compiler.ops.arithmetic import add, mul
from weft.compiler.ops.conversion import cast
from weft.compiler.ops.reduction import reduce_sum
from weft.compiler.ops.shape import broadcast, concatenate, dynamic_slice, iota, part, reshape
from weft.compiler.passes.blocking.cluster import Cluster, ClusterStage, Member
from weft.compiler.passes.blocking.loops import Array, BlockLoop
from weft.compiler.passes.blocking.views import BlockView, static_shape
from weft.compiler.record import record

Lookup = Callable[[Value], Value]


@record
class Segment:
    """Rows from `start` that are gone over in `count` blocks of `rows` each, and which columns of
    them are computed, where not all are.
    """

    start: int
    rows: int
    count: int
    columns: tuple[int, int] | None = None

    @property
    def stop(self) -> int:
        return self.start + self.rows * self.count


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a stage is looped over: loops whose steps stand alone, loops that are summed over and so
    go step by step, and the blocks of rows.
    """

    cluster: Cluster
    stage: ClusterStage
    mapped: tuple[int, ...]
    scanned: tuple[int, ...]
    segments: tuple[Segment, ...]
    location: Location | None

    def sizes(self, loops: Iterable[int]) -> list[int]:
        return [self.cluster.sizes[loop] for loop in loops]

    @property
    def has_loops(self) -> bool:
        """Whether there is more than one block."""
        steps = math.prod(self.sizes((*self.mapped, *self.scanned)))
        return steps > 1 or sum([segment.count for segment in self.segments]) > 1

    @property
    def column(self) -> int:
        """The number that marks the axis of columns."""
        return len(self.cluster.sizes)


def emit(plan: Plan, lookup: Lookup) -> dict[Value, Value]:
    """Emit the loops of a stage; returns what stands for its exits and sums."""
    stage = plan.stage
    steps = math.prod(plan.sizes(plan.mapped))
    batches = BlockLoop(steps, _indices(plan, plan.mapped, 1), plan.location)
    with batches.inside():
        reader = _Reader(plan, lookup, batches)
        totals = [helpers.zeros(_partial(plan, member)) for member in stage.sums]
        stacks: list[list[Value]] = [[] for _ in stage.exits]
        for segment in plan.segments:
            begun = [_cut(plan, *pair, segment) for pair in zip(stage.sums, totals, strict=True)]
            ended, pieces = _segment(plan, reader, segment, begun)
            totals = [
                _pasted(plan, member, total, new, segment)
                for member, total, new in zip(stage.sums, totals, ended, strict=True)
            ]
            for stack, value in zip(stacks, pieces, strict=True):
                stack.append(value)
        row_axis = len(plan.scanned)
        exits = [s[0] if len(s) == 1 else concatenate(*s, axis=row_axis) for s in stacks]
    _, results = batches.finish([], [*exits, *totals])
    replacements: dict[Value, Value] = {}
    for member, result in zip(stage.exits, results, strict=False):
        replacements[member.op.results[0]] = _exit(plan, member, result)
    for member, result in zip(stage.sums, results[len(exits) :], strict=True):
        replacements[member.op.results[0]] = _sum(plan, member, result)
    return replacements


def _cut(plan: Plan, member: Member, total: Value, segment: Segment) -> Value:
    """The part of a sum to which a segment adds."""
    axis = _column_axis(plan, member)
    if segment.columns is None or axis is None:
        return total
    return part(total, axis, *segment.columns)


def _pasted(plan: Plan, member: Member, total: Value, new: Value, segment: Segment) -> Value:
    """The sum after a segment has added to its part."""
    axis = _column_axis(plan, member)
    if segment.columns is None or axis is None:
        return new
    begin, end = segment.columns
    size = static_shape(total)[axis]
    pieces = [part(total, axis, 0, begin)] if begin else []
    pieces += [new, *([part(total, axis, end, size)] if end < size else [])]
    return concatenate(*pieces, axis=axis) if len(pieces) > 1 else new


def _column_axis(plan: Plan, member: Member) -> int | None:
    """The axis of columns of what a sum has in one step of the mapped loops."""
    *_, others = _axes(plan, member.result)
    columns = [n for n, axis in enumerate(others) if member.result.loops[axis] == plan.column]
    return columns[0] if columns else None


def _indices(plan: Plan, loops: Sequence[int], inner: int) -> dict[int, Array]:
    """For steps over all indices of loops, each for `inner` steps: where each loop is."""
    sizes = plan.sizes(loops)
    grids = np.indices(sizes, dtype=np.int64)
    return {loop: np.repeat(grid.ravel(), inner) for loop, grid in zip(loops, grids, strict=True)}


def _segment(
    plan: Plan, reader: _Reader, segment: Segment, totals: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """The blocks of a segment: sums so far, and exits with axes scanned, rows, others."""
    stage = plan.stage
    outer = math.prod(plan.sizes(plan.scanned))
    indices = _indices(plan, plan.scanned, segment.count)
    starts = segment.start + segment.rows * np.arange(segment.count, dtype=np.int64)
    indices[plan.cluster.row] = np.tile(starts, outer)
    blocks = BlockLoop(outer * segment.count, indices, plan.location)
    with blocks.inside():
        carried = [blocks.carry(total) for total in totals]
        block = _Block(plan, reader, blocks, segment)
        for member in stage.members:
            block.compute(member)
        sums = [
            add(total, _reshaped(block.values[member.op], total.type.shape))
            for total, member in zip(carried, stage.sums, strict=True)
        ]
        outs = [_packed(plan, member.result, block.values[member.op]) for member in stage.exits]
    ended, stacks = blocks.finish(sums, outs)
    lead = (*plan.sizes(plan.scanned), segment.rows * segment.count)
    joined = [_reshaped(stack, (*lead, *stack.type.shape[2:])) for stack in stacks]
    return ended, joined


# --- order of axes --------------------------------------------------------------------------------


def _axes(plan: Plan, view: BlockView) -> tuple[list[int], list[int], list[int], list[int]]:
    """The axes of mapped loops, of scanned ones, of rows, and others."""
    axis_of = {loop: axis for axis, loop in enumerate(view.loops) if loop is not None}
    mapped = [axis_of[loop] for loop in plan.mapped if loop in axis_of]
    scanned = [axis_of[loop] for loop in plan.scanned if loop in axis_of]
    rows = [axis_of[plan.cluster.row]] if plan.cluster.row in axis_of else []
    others = [axis for axis, loop in enumerate(view.loops) if loop in (None, plan.column)]
    return mapped, scanned, rows, others


def _reshaped(value: Value, sizes: Sequence[Size]) -> Value:
    """The value in another shape, without the shapes it had in between."""
    while isinstance(value, Result) and value.op.definition is reshape:
        (value,) = value.op.operands
    return helpers.reshape(value, tuple(sizes))


def _turned(value: Value, order: Sequence[int]) -> Value:
    """The value with its axes in another order; moving axes of size 1 moves nothing."""
    sizes = static_shape(value)
    several = [axis for axis in order if sizes[axis] > 1]
    if several == sorted(several):
        return _reshaped(value, [sizes[axis] for axis in order])
    return helpers.transpose(value, order)


def _block_shape(plan: Plan, view: BlockView, segment: Segment) -> tuple[int, ...]:
    begin, end = segment.columns or (0, plan.cluster.columns)
    sizes = {plan.cluster.row: segment.rows, plan.column: end - begin}
    return tuple(
        [
            size if loop is None else sizes.get(loop, 1)
            for size, loop in zip(view.shape, view.loops, strict=True)
        ]
    )


def _packed(plan: Plan, view: BlockView, block: Value) -> Value:
    """A block with the rows first, without the axes of other loops."""
    mapped, scanned, rows, others = _axes(plan, view)
    turned = _turned(block, (*mapped, *scanned, *rows, *others))
    return _reshaped(turned, turned.type.shape[len(mapped) + len(scanned) :])


def _exit(plan: Plan, member: Member, stack: Value) -> Value:
    """The value that was made step by step, as the op made it."""
    mapped, scanned, rows, others = _axes(plan, member.result)
    sizes = (*plan.sizes(plan.mapped), *stack.type.shape[1:])
    order = (*mapped, *scanned, *rows, *others)
    turned = _turned(_reshaped(stack, sizes), helpers.inverse(order))
    return _reshaped(turned, member.op.results[0].type.shape)


def _partial(plan: Plan, member: Member) -> ArrayType:
    """The type of what one step of the mapped loops adds up."""
    *_, others = _axes(plan, member.result)
    return member.op.results[0].type.with_shape([member.result.shape[axis] for axis in others])


def _sum(plan: Plan, member: Member, stack: Value) -> Value:
    """A sum whose parts were made step by step, as the op made it."""
    mapped, _, _, others = _axes(plan, member.result)
    parts = _reshaped(stack, (*plan.sizes(plan.mapped), *stack.type.shape[1:]))
    over = [axis for axis, loop in enumerate(plan.mapped) if loop in member.summed]
    total = reduce_sum(parts, axes=over) if over else parts
    return _turned(total, helpers.inverse((*mapped, *others)))


# --- inputs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """An input inside of the mapped loops: its axes are those of loops whose index is still to be
    taken, of scanned loops, of rows, and others.
    """

    value: Value
    open: tuple[int, ...]
    scanned: tuple[int, ...]
    has_rows: bool


class _Reader:
    """Brings inputs into the mapped loops."""

    def __init__(self, plan: Plan, lookup: Lookup, batches: BlockLoop) -> None:
        self.plan = plan
        self.lookup = lookup
        self.batches = batches
        self._held: dict[tuple[Value, BlockView], _Held] = {}

    def held(self, value: Value, view: BlockView) -> _Held:
        key = (value, view)
        if key not in self._held:
            self._held[key] = self._bring(value, view)
        return self._held[key]

    def _bring(self, value: Value, view: BlockView) -> _Held:
        plan, batches = self.plan, self.batches
        mapped, scanned, rows, others = _axes(plan, view)
        present = tuple([loop for loop in plan.mapped if loop in view.used])
        inner = tuple([loop for loop in plan.scanned if loop in view.used])
        with batches.outside():
            shaped = _reshaped(self.lookup(value), view.shape)
            turned = _turned(shaped, (*mapped, *scanned, *rows, *others))
            sizes = static_shape(turned)[len(mapped) :]
        if present and len(present) == len(plan.mapped):
            with batches.outside():
                steps = _reshaped(turned, (batches.length, *sizes))
            return _Held(batches.sequence(steps), (), inner, bool(rows))
        constant = batches.const(turned)
        if not present or plan.cluster.is_wide(view):
            return _Held(constant, present, inner, bool(rows))
        indices = [batches.index(loop) for loop in present]
        with batches.inside():
            window = _window(constant, indices, (*[1] * len(indices), *sizes))
            return _Held(_reshaped(window, sizes), (), inner, bool(rows))


def _window(value: Value, indices: Sequence[Value], sizes: Sequence[int]) -> Value:
    """The part of a value that begins at indices along its first axes."""
    rest = [constant(0, i64)] * (value.type.rank - len(indices))
    return dynamic_slice(value, *indices, *rest, sizes=sizes)


# --- blocks ---------------------------------------------------------------------------------------


class _Block:
    """Computes members for one block of rows."""

    def __init__(self, plan: Plan, reader: _Reader, blocks: BlockLoop, segment: Segment) -> None:
        self.plan = plan
        self.reader = reader
        self.blocks = blocks
        self.segment = segment
        self.values: dict[Op, Value] = {}
        self._read: dict[tuple[Value, BlockView], Value] = {}

    def compute(self, member: Member) -> None:
        operands = [
            self._operand(value, view)
            for value, view in zip(member.op.operands, member.operands, strict=True)
        ]
        with self.blocks.body.at(member.op.location):
            self.values[member.op] = self._emit(member, operands)

    def _operand(self, value: Value, view: BlockView) -> Value:
        maker = self.plan.cluster.maker(value, view)
        if maker is not None and maker.op in self.values:
            return self.values[maker.op]
        key = (value, view)
        if key not in self._read:
            self._read[key] = self._input(value, view)
        return self._read[key]

    def _input(self, value: Value, view: BlockView) -> Value:
        """The part of an input that belongs to this block."""
        if not value.type.rank and isinstance(value, Constant):
            return value
        plan, blocks, segment = self.plan, self.blocks, self.segment
        held = self.reader.held(value, view)
        is_wide = plan.cluster.is_wide(view)
        if not is_wide:
            with blocks.outside():
                held = self._narrowed(held, view)
        *_, others = _axes(plan, view)
        shape = _block_shape(plan, view, segment)
        block = (*[segment.rows] * held.has_rows, *[shape[axis] for axis in others])
        if not held.open and not held.scanned and not held.has_rows:
            piece = blocks.const(held.value)
        elif self._is_sequence(held, is_wide):
            with blocks.outside():
                rows, size = held.value, segment.rows * segment.count
                if size != plan.cluster.sizes[plan.cluster.row]:
                    rows = part(rows, len(held.scanned), segment.start, segment.stop)
                steps = _reshaped(rows, (blocks.length, *block))
            piece = blocks.sequence(steps)
        else:
            piece = _reshaped(self._window(held, view, block), block)
        return self._placed(piece, view)

    def _is_sequence(self, held: _Held, is_wide: bool) -> bool:
        """Whether blocks of an input follow each other in memory. Those of large inputs of which
        not all is read are taken out where they are read.
        """
        plan, segment = self.plan, self.segment
        if held.open or not held.has_rows or len(held.scanned) != len(plan.scanned):
            return False
        size = plan.cluster.sizes[plan.cluster.row]
        return not is_wide or (segment.columns is None and segment.rows * segment.count == size)

    def _narrowed(self, held: _Held, view: BlockView) -> _Held:
        """An input without the columns that are left out."""
        *_, others = _axes(self.plan, view)
        lead = held.value.type.rank - len(others)
        for number, axis in enumerate(others):
            if view.loops[axis] == self.plan.column and self.segment.columns is not None:
                return replace(held, value=part(held.value, lead + number, *self.segment.columns))
        return held

    def _window(self, held: _Held, view: BlockView, block: Sequence[int]) -> Value:
        """The part of an input where the loops are."""
        plan, blocks = self.plan, self.blocks
        indices = [blocks.const(self.reader.batches.index(loop)) for loop in held.open]
        indices += [blocks.index(loop) for loop in held.scanned]
        indices += [blocks.index(plan.cluster.row)] * held.has_rows
        *_, others = _axes(plan, view)
        begin, _ = self.segment.columns or (0, 0)
        is_cut = plan.cluster.is_wide(view)
        indices += [
            constant(begin if is_cut and view.loops[axis] == plan.column else 0, i64)
            for axis in others
        ]
        ones = [1] * (len(held.open) + len(held.scanned))
        return dynamic_slice(blocks.const(held.value), *indices, sizes=(*ones, *block))

    def _placed(self, value: Value, view: BlockView) -> Value:
        """An input with its axes where ops expect them."""
        *_, rows, others = _axes(self.plan, view)
        axes = (*rows, *others)
        turned = _turned(value, sorted(range(len(axes)), key=axes.__getitem__))
        return _reshaped(turned, _block_shape(self.plan, view, self.segment))

    # --- ops ---

    def _emit(self, member: Member, operands: Sequence[Value]) -> Value:
        op, view = member.op, member.result
        target = _block_shape(self.plan, view, self.segment)
        attributes = dict(op.attributes)
        match op.name:
            case "iota":
                return self._iota(op, view)
            case "reshape":
                return _reshaped(operands[0], target)
            case "broadcast":
                attributes["shape"] = target
            case "slice":
                attributes["limits"] = [
                    limit if loop is None else size
                    for limit, loop, size in zip(
                        op.attributes["limits"], view.loops, target, strict=True
                    )
                ]
        return op.definition(*operands, **attributes)

    def _iota(self, op: Op, view: BlockView) -> Value:
        """Counting along an axis of the whole, or through all elements where the view is another
        shape.
        """
        dtype = op.attributes["dtype"]
        target = _block_shape(self.plan, view, self.segment)
        if view.is_own(op.results[0]):
            steps = {op.attributes["axis"]: 1}
        else:
            steps = {axis: math.prod(view.shape[axis + 1 :]) for axis in range(len(view.shape))}
        start: Value = constant(0, dtype)
        total: Value | None = None
        for axis, step in steps.items():
            loop = view.loops[axis]
            if loop == self.plan.column:
                begin, _ = self.segment.columns or (0, 0)
                start = add(start, constant(begin * step, dtype))
            elif loop is not None:
                start = add(start, _times(self._index(loop, dtype), step))
            if target[axis] > 1:
                counted = _times(iota(dtype=dtype, shape=target, axis=axis), step)
                total = counted if total is None else add(total, counted)
        return broadcast(start, shape=target, dims=()) if total is None else add(total, start)

    def _index(self, loop: int, dtype: DType) -> Value:
        is_mapped = loop in self.plan.mapped
        index = self.reader.batches.index(loop) if is_mapped else self.blocks.index(loop)
        return cast(self.blocks.const(index) if is_mapped else index, dtype=dtype)


def _times(value: Value, step: int) -> Value:
    return value if step == 1 else mul(value, helpers.number(step, value))
