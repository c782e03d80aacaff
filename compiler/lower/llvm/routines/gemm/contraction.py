"""dot_general: its axes brought into the form of matrices, whose products `products` computes.

`contract` is the one entry. An operand whose free or contracted axes do not lie behind each other
in memory is copied first; all else is a matter of strides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Size
from weft.compiler.ir.graph import Op
from weft.compiler.ir.index.affine import row_major
from weft.compiler.ir.types import ArrayType
from weft.compiler.lower.choice import Products
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Env,
    FusedConsumer,
    contiguous,
    product,
    times,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR
from weft.compiler.lower.llvm.routines import Planned, Routine, ScratchOf
from weft.compiler.lower.llvm.routines.common import copies, planning, sizes
from weft.compiler.lower.llvm.routines.common.elements import all_of
from weft.compiler.lower.llvm.routines.gemm import products, scratch
from weft.compiler.lower.llvm.routines.gemm.strategy import (
    SINGLE_THREADED,
    Kinds,
    Strategy,
    strategy_of,
)
from weft.compiler.lower.llvm.target import Target
from weft.compiler.record import record

Axes: TypeAlias = tuple[int, ...]
_MANY: Final = 8


def _emit(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    _contract_axes(f, env, op, operands, results[0], None)


def _emit_sums(f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]) -> None:
    product, sums = results
    _contract_axes(f, env, op, operands, product, sums.pointer)


def _contract_axes(
    f: Function, env: Env, op: Op, operands: list[Array], result: Array, totals: V | None
) -> None:
    lhs, rhs = operands
    axes = _axes_of(op)
    contract(
        f,
        env,
        lhs,
        rhs,
        result,
        env.follower,
        totals,
        lhs_contract=axes.lhs_contract,
        rhs_contract=axes.rhs_contract,
        lhs_batch=axes.lhs_batch,
        rhs_batch=axes.rhs_batch,
    )


@record
class _ContractedAxes:
    """Which axes of the operands are summed over, and which are those of batches."""

    lhs_contract: Axes
    rhs_contract: Axes
    lhs_batch: Axes
    rhs_batch: Axes


def _axes_of(op: Op) -> _ContractedAxes:
    names = _ContractedAxes.__match_args__
    return _ContractedAxes(*[tuple(op.attributes.get(name, ())) for name in names])


def contract(
    f: Function,
    env: Env,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: FusedConsumer | None = None,
    totals: V | None = None,
    *,
    lhs_contract: Axes,
    rhs_contract: Axes,
    lhs_batch: Axes = (),
    rhs_batch: Axes = (),
) -> None:
    """Sums of products over the contracted axes into a row-major result with axes batch, lhs free,
    rhs free; operands count as converted to its dtype. A follower sees the rows of all matrices as
    those of one. Sums of rhs over its contracted axes go to `totals`, if there is no batch.
    """
    order = _sum_order(lhs, rhs, lhs_contract, rhs_contract)
    lhs_contract = tuple(lhs_contract[i] for i in order)
    rhs_contract = tuple(rhs_contract[i] for i in order)
    lhs_free = _others(lhs, lhs_batch + lhs_contract)
    rhs_free = _others(rhs, rhs_batch + rhs_contract)
    left = _matrices(f, env, lhs, lhs_batch, lhs_free, lhs_contract)
    right = _matrices(f, env, rhs, rhs_batch, rhs_contract, rhs_free)
    n = len(lhs_batch)
    batch, rows, columns = result.shape[:n], left.array.shape[n], right.array.shape[n + 1]
    target = contiguous(f, result.pointer, result.dtype, (*batch, rows, columns))
    multiply_batch(f, env, left.array, right.array, target, follower, totals)
    for matrices in (left, right):
        if matrices.workspace is not None:
            env.free(f, matrices.workspace)


def multiply_batch(
    f: Function,
    env: Env,
    lhs: Array,
    rhs: Array,
    result: Array,
    follower: FusedConsumer | None = None,
    totals: V | None = None,
) -> None:
    """Products of matrices [*batch, m, k] and [*batch, k, n] into row-major [*batch, m, n]; without
    a batch sums of the right one's columns too, where `totals` says.
    """
    batch = result.shape[:-2]
    steps = product(f, (*result.shape[-2:], lhs.shape[-1]))
    division = _division_of(env.products, f.module.target, lhs, rhs, result)
    strategy = division.strategy
    env.notes.append(strategy.text)
    passed = [] if follower is None else [follower.task, follower.data]

    def each(g: Function, inner: Env, items: list[Array], number: V, given: list[Operand]) -> None:
        goes_on = None
        if follower is not None:
            task, data = given
            assert isinstance(task, V) and isinstance(data, V)
            goes_on = FusedConsumer(task, data, times(g, number, items[2].shape[0]))
        x, y, z = items
        products.multiply(g, inner, strategy, x, y, z, goes_on, totals)

    bytes = _item_bytes(f.module.target, strategy, lhs, rhs, result)

    def run(at_once: bool) -> None:
        copies.for_each(
            f,
            env,
            batch,
            [lhs, rhs, result],
            steps,
            each,
            numbers=passed,
            at_once=at_once,
            scratch=bytes,
        )

    if division.at_once is not None:
        run(division.at_once)
        return
    with f.otherwise(sizes.value(f, steps).le(SINGLE_THREADED)) as choice:
        run(True)
        choice.otherwise()
        run(False)


@record
class _BatchDivision:
    """How a batch of products is computed: each by a strategy, several at once or one after the
    other (None: known only at run time).
    """

    strategy: Strategy
    at_once: bool | None


def _division_of(
    choice: Products, target: Target, lhs: Array, rhs: Array, result: Array
) -> _BatchDivision:
    batch, shape = result.shape[:-2], (*result.shape[-2:], lhs.shape[-1])
    steps = math.prod(shape) if sizes.all_known(shape) else None
    is_small = steps is not None and steps <= SINGLE_THREADED
    several = not all(map(_is_one, batch)) and (is_small or _is_many(batch))
    left, right, made = [sizes.rank_split(x, len(batch))[1] for x in (lhs, rhs, result)]
    strategy = strategy_of(left, right, made, choice, target, several=several)
    if steps is not None:
        return _BatchDivision(strategy, is_small or _is_many(batch))
    return _BatchDivision(strategy, None if batch else True)


def _item_bytes(target: Target, strategy: Strategy, lhs: Array, rhs: Array, result: Array) -> int:
    """What each of several products works in that are computed at once; 0 where that is known only
    at run time: then they ask the heap.
    """
    numbers = (*result.shape[-2:], lhs.shape[-1], *lhs.strides[-2:], *rhs.strides[-2:])
    if not sizes.all_known(numbers):
        return 0
    m, n, k, down, across, deeper, along = numbers
    kinds = Kinds(lhs.dtype, rhs.dtype, result.dtype)
    product = scratch.Matrices(kinds, m, n, k, (down, across), (deeper, along), target, 1)
    bytes = scratch.product_bytes(product, strategy)
    assert isinstance(bytes, int)
    return bytes


def _is_many(batch: Sequence[Operand]) -> bool:
    """Whether matrices keep all threads busy one each; a few large ones are shared out instead."""
    known = [size for size in batch if sizes.is_known(size)]
    return len(known) == len(batch) and math.prod(known) >= _MANY


# --- axes ---------------------------------------------------------------------------------------


def _others(array: Array, axes: Axes) -> Axes:
    return tuple(axis for axis in range(len(array.shape)) if axis not in axes)


def _sum_order(lhs: Array, rhs: Array, lhs_axes: Axes, rhs_axes: Axes) -> list[int]:
    """The order of the contracted axes, which is free, in which most of them lie behind each other
    in both operands.
    """
    numbers = range(len(lhs_axes))
    candidates = [
        list(numbers),
        sorted(numbers, key=lambda i: lhs_axes[i]),
        sorted(numbers, key=lambda i: rhs_axes[i]),
    ]
    for array, axes in ((lhs, lhs_axes), (rhs, rhs_axes)):
        strides = [array.strides[axis] for axis in axes]
        if sizes.all_known(strides):
            distances = [-abs(stride) for stride in strides]
            candidates.append(sorted(numbers, key=distances.__getitem__))

    def breaks(order: list[int]) -> int:
        return sum(
            len(_breaks(array, [axes[i] for i in order]))
            for array, axes in ((lhs, lhs_axes), (rhs, rhs_axes))
        )

    return min(candidates, key=breaks)


def _breaks(array: Array, axes: Sequence[int]) -> list[tuple[Operand, Operand, Operand]]:
    """What keeps axes from being one: for neighbours the outer stride, the inner one, and the inner
    size, whose product would have to be the first.
    """
    wide = [axis for axis in axes if not _is_one(array.shape[axis])]
    pairs = zip(wide, wide[1:], strict=False)
    found = [(array.strides[a], array.strides[b], array.shape[b]) for a, b in pairs]
    return [x for x in found if not (sizes.all_known(x) and x[0] == x[1] * x[2])]


def _is_one(size: Operand) -> bool:
    return sizes.is_known(size) and size == 1


@record
class _Matrices:
    """An operand as [*batch, rows, columns], and the workspace it lies in, if any."""

    array: Array
    workspace: V | None


def _matrices(
    f: Function, env: Env, array: Array, batch: Axes, rows: Axes, columns: Axes
) -> _Matrices:
    """The operand with each of two groups of axes merged into one axis, where need be by a copy."""
    breaks = [*_breaks(array, rows), *_breaks(array, columns)]
    merged = [_merged(f, array, group) for group in (rows, columns)]
    direct = Array(
        array.pointer,
        array.dtype,
        (*[array.shape[axis] for axis in batch], *[size for size, _ in merged]),
        (*[array.strides[axis] for axis in batch], *[stride for _, stride in merged]),
    )
    if not breaks:
        return _Matrices(direct, None)
    ordered = copies.permuted(array, batch + rows + columns)
    if any(sizes.all_known(x) for x in breaks):
        packed = _pack(f, env, ordered, direct)
        return _Matrices(packed, packed.pointer)
    fits = all_of(f, [sizes.equal(f, outer, times(f, a, b)) for outer, a, b in breaks])
    return _packed_unless(f, env, fits, ordered, direct)


def _merged(f: Function, array: Array, axes: Axes) -> tuple[Operand, Operand]:
    """Size and stride of axes that lie behind each other."""
    wide = [axis for axis in axes if not _is_one(array.shape[axis])]
    size = product(f, [array.shape[axis] for axis in wide])
    return size, array.strides[wide[-1]] if wide else 1


def _pack(f: Function, env: Env, ordered: Array, direct: Array) -> Array:
    """A copy with the axes in order, seen as matrices. A batch axis along which the operand repeats
    itself (stride 0) is copied once.
    """
    n = len(direct.shape) - 2
    repeats = [_is_repeated(ordered.strides[axis]) for axis in range(n)]
    batch = [1 if repeat else size for repeat, size in zip(repeats, direct.shape[:n], strict=True)]
    shape = (*batch, *ordered.shape[n:])
    once = Array(ordered.pointer, ordered.dtype, shape, ordered.strides)
    packed = copies.scratch(f, env, ordered.dtype, shape)
    copies.copy(f, env, once, packed)
    seen = contiguous(f, packed.pointer, packed.dtype, (*batch, *direct.shape[n:]))
    strides = [
        0 if repeat else stride for repeat, stride in zip(repeats, seen.strides[:n], strict=True)
    ]
    return Array(packed.pointer, packed.dtype, direct.shape, (*strides, *seen.strides[n:]))


def _is_repeated(stride: Operand) -> bool:
    return sizes.is_known(stride) and stride == 0


def _packed_unless(f: Function, env: Env, fits: V, ordered: Array, direct: Array) -> _Matrices:
    """The operand itself if it turns out to fit, else a copy."""
    pointer, workspace = f.variable(direct.pointer), f.variable(0, PTR)
    strides = [f.variable(stride, I64) for stride in direct.strides]
    with f.when(~fits):
        packed = _pack(f, env, ordered, direct)
        pointer.set(packed.pointer)
        workspace.set(packed.pointer)
        for variable, stride in zip(strides, packed.strides, strict=True):
            variable.set(stride)
    chosen = tuple(variable.get() for variable in strides)
    return _Matrices(Array(pointer.get(), direct.dtype, direct.shape, chosen), workspace.get())


# --- planning -----------------------------------------------------------------------------------


def _scratch(call: Planned) -> Size:
    """Copies of operands, and what a product takes, or each of those that run at once."""
    op, n = call.op, len(call.op.attributes.get("lhs_batch", ()))
    axes = _axes_of(op)
    types = [operand.type for operand in op.operands]
    seen = [planning.seen(*given) for given in zip(types, call.strides, strict=True)]
    order = _sum_order(seen[0], seen[1], axes.lhs_contract, axes.rhs_contract)
    lhs_sum, rhs_sum = [
        tuple(contracted[i] for i in order) for contracted in (axes.lhs_contract, axes.rhs_contract)
    ]
    lhs_free = _others(seen[0], axes.lhs_batch + lhs_sum)
    rhs_free = _others(seen[1], axes.rhs_batch + rhs_sum)
    left = _PlannedMatrix(types[0], call.strides[0], axes.lhs_batch, lhs_free, lhs_sum)
    right = _PlannedMatrix(types[1], call.strides[1], axes.rhs_batch, rhs_sum, rhs_free)
    copied = left.copied_bytes(seen[0]) + right.copied_bytes(seen[1])
    m, k = left.sizes
    shape = (*op.results[0].type.shape[:n], m, right.sizes[1])
    result = planning.seen(op.results[0].type.with_shape(shape), row_major(shape))
    arrays = [matrix.seen(array) for matrix, array in zip((left, right), seen, strict=True)]
    strides = [matrix.strides(array) for matrix, array in zip((left, right), seen, strict=True)]
    batch = PlannedBatch(shape[:n], m, shape[-1], k, strides[0], strides[1])
    bytes = batch_bytes(call, batch, arrays[0], arrays[1], result)
    if op.name == "dot_general_sums":
        sums = scratch.vector_bytes(result.dtype, shape[-1], k, None, None)
        bytes = dims.maximum(bytes, sums)
    return copied + bytes


@record
class PlannedBatch:
    """Products [*batch, m, k] times [*batch, k, n], and the strides of each matrix, as the plan
    knows them.
    """

    batch: Sequence[Size]
    m: Size
    n: Size
    k: Size
    lhs: scratch.Strides
    rhs: scratch.Strides


def batch_bytes(call: Planned, batch: PlannedBatch, lhs: Array, rhs: Array, result: Array) -> Size:
    """What `multiply_batch` takes, which sees the arrays like this: what a product does, or each of
    those that run at once.
    """
    division = _division_of(call.products, call.target, lhs, rhs, result)
    if division.at_once and not all(map(_is_one, result.shape[:-2])):
        each = _item_bytes(call.target, division.strategy, lhs, rhs, result)
        steps = dims.product((batch.m, batch.n, batch.k))
        chunks = planning.chunks(dims.product(batch.batch), steps)
        return planning.tasks(each, call.threads, chunks)
    product = scratch.Matrices(
        Kinds(lhs.dtype, rhs.dtype, result.dtype),
        batch.m,
        batch.n,
        batch.k,
        batch.lhs,
        batch.rhs,
        call.target,
        call.threads,
    )
    return scratch.product_bytes(product, division.strategy)


@record
class _PlannedMatrix:
    """An operand with two groups of its axes merged, as the plan knows it."""

    type: ArrayType
    steps: tuple[Size, ...]
    batch: Axes
    rows: Axes
    columns: Axes

    @property
    def sizes(self) -> tuple[Size, Size]:
        rows, columns = [
            dims.product(self.type.shape[axis] for axis in group)
            for group in (self.rows, self.columns)
        ]
        return rows, columns

    def is_copied(self, seen: Array) -> bool | None:
        """Whether it is copied first; None where that is known only at run time."""
        breaks = [*_breaks(seen, self.rows), *_breaks(seen, self.columns)]
        if not breaks:
            return False
        return True if any(sizes.all_known(x) for x in breaks) else None

    def copied_bytes(self, seen: Array) -> Size:
        if self.is_copied(seen) is False:
            return 0
        batch = [1 if self.steps[axis] == 0 else self.type.shape[axis] for axis in self.batch]
        return planning.array(self.type.dtype, (*batch, *self.sizes))

    def strides(self, seen: Array) -> scratch.Strides:
        """The strides of a matrix that is multiplied, if they are known."""
        match self.is_copied(seen):
            case None:
                return None
            case True:
                return self.sizes[1], 1
        steps = [self._step(group) for group in (self.rows, self.columns)]
        return steps[0], steps[1]

    def seen(self, seen: Array) -> Array:
        """The matrix as its strategy is chosen for it."""
        shape = (*[self.type.shape[axis] for axis in self.batch], *self.sizes)
        strides = self.strides(seen) or (dims.symbol("down"), dims.symbol("across"))
        steps = (*[self.steps[axis] for axis in self.batch], *strides)
        return planning.seen(self.type.with_shape(shape), steps)

    def _step(self, axes: Axes) -> Size:
        wide = [axis for axis in axes if self.type.shape[axis] != 1]
        return self.steps[wide[-1]] if wide else 1


ROUTINES: Final[Mapping[str, Routine]] = {"dot_general": _emit, "dot_general_sums": _emit_sums}
SCRATCH: Final[Mapping[str, ScratchOf]] = dict.fromkeys(ROUTINES, _scratch)
