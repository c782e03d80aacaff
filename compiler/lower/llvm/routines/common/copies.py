"""Copies between arrays of one shape, whatever their strides and dtypes, and loops over batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Env,
    contiguous,
    dot,
    product,
    times,
    unravel,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I8, I64, VOID
from weft.compiler.lower.llvm.routines.common import rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import read, vector_lanes, working, write


def copy(f: Function, env: Env, source: Array, target: Array) -> None:
    """Copy on several threads at once."""
    source, target = _simplified(source, target)
    if not source.shape:
        copy_here(f, source, target)
        return
    steps = product(f, source.shape[1:])

    def chunk(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], _: list[Operand]
    ) -> None:
        with g.range(begin, end) as i:
            here = [array.without(0).moved(g, g.mul(i, array.strides[0])) for array in arrays]
            copy_here(g, *here)

    rows.parallel(f, env, source.shape[0], steps, [source, target], [], chunk)


def copy_here(f: Function, source: Array, target: Array) -> None:
    """Copy on this thread."""
    source, target = _simplified(source, target)
    if len(source.shape) > 1:
        with f.range(0, source.shape[0]) as i:
            here = [
                array.without(0).moved(f, f.mul(i, array.strides[0])) for array in (source, target)
            ]
            copy_here(f, *here)
        return
    if not source.shape:
        _copy_run(f, source, target, 0, 0, 1, 1)
        return
    strides = source.strides[0], target.strides[0]
    lanes = vector_lanes(working(target.dtype))
    if sizes.all_known(strides) and strides != (1, 1):
        _copy_run(f, source, target, 0, 0, source.shape[0], 1)
        return
    count = sizes.value(f, source.shape[0])
    # Where strides are not both 1 the vectors get none of the elements.
    unit = sizes.equal(f, strides[0], 1) & sizes.equal(f, strides[1], 1)
    whole = f.select(unit, count & -lanes, 0)
    _copy_run(f, source, target, lanes, 0, whole, lanes)
    _copy_run(f, source, target, 0, whole, count, 1)


def _copy_run(
    f: Function,
    source: Array,
    target: Array,
    lanes: int,
    begin: Operand,
    end: Operand,
    step: int,
) -> None:
    through = working(target.dtype)
    if source.dtype is target.dtype and not target.dtype.is_bool:
        through = target.dtype
    with f.range(begin, end, step) as i:
        made = read(f, source, dot(f, [i] * len(source.shape), source.strides), lanes, through)
        write(f, target, dot(f, [i] * len(target.shape), target.strides), made, through)


def _simplified(source: Array, target: Array) -> tuple[Array, Array]:
    shape, (read_strides, write_strides) = sizes.coalesced(
        target.shape, [source.strides, target.strides]
    )
    return (
        Array(source.pointer, source.dtype, tuple(shape), tuple(read_strides)),
        Array(target.pointer, target.dtype, tuple(shape), tuple(write_strides)),
    )


def permuted(array: Array, order: Sequence[int]) -> Array:
    """The array with its axes in another order."""
    return Array(
        array.pointer,
        array.dtype,
        tuple(array.shape[axis] for axis in order),
        tuple(array.strides[axis] for axis in order),
    )


def turned(array: Array) -> Array:
    """The array with its last two axes exchanged."""
    rank = len(array.shape)
    return permuted(array, [*range(rank - 2), rank - 1, rank - 2])


def scratch(f: Function, env: Env, dtype: DType, shape: Sequence[Operand]) -> Array:
    """A row-major array in workspace, which is given back with `env.free(f, array.pointer)`."""
    pointer = env.workspace(f, times(f, product(f, shape), dtype.itemsize))
    return contiguous(f, pointer, dtype, shape)


Body: TypeAlias = Callable[[Function, Env, list[Array], V, list[Operand]], None]


def for_each(
    f: Function,
    env: Env,
    batch: Sequence[Operand],
    arrays: Sequence[Array],
    steps: Operand,
    body: Body,
    *,
    numbers: Sequence[Operand] = (),
    at_once: bool = True,
    scratch: Operand = 0,
) -> None:
    """`body(g, env, items, number, numbers)` for the items of arrays at each index of their leading
    axes `batch`: the index counted in row-major order, and the numbers as `g` knows them.

    Items take about `steps` steps each, and `scratch` bytes of memory, if that is planned; unless
    `at_once` they follow each other on this thread.
    """
    rank = len(batch)
    strides = [array.strides[:rank] for array in arrays]
    shape, outer = sizes.coalesced(batch, strides)
    inner = [sizes.rank_split(array, rank)[1] for array in arrays]
    if not shape:
        body(f, env, inner, f.const(0, I64), list(numbers))
        return
    moved = [
        Array(item.pointer, item.dtype, (*shape, *item.shape), (*steps_of, *item.strides))
        for item, steps_of in zip(inner, outer, strict=True)
    ]
    if not at_once:
        with f.range(0, product(f, shape)) as i:
            body(f, env, _items(f, i, moved, len(shape)), i, list(numbers))
        return

    def chunk(
        g: Function, inner_env: Env, begin: V, end: V, given: list[Array], there: list[Operand]
    ) -> None:
        with g.range(begin, end) as i:
            body(g, inner_env, _items(g, i, given, len(shape)), i, there)

    rows.parallel(f, env, product(f, shape), steps, moved, numbers, chunk, scratch=scratch)


def _items(f: Function, number: V, arrays: Sequence[Array], rank: int) -> list[Array]:
    """What lies at an index, counted in row-major order, of the leading axes."""
    index = unravel(f, number, arrays[0].shape[:rank])
    split = [sizes.rank_split(array, rank) for array in arrays]
    return [inner.moved(f, outer.position(f, index)) for outer, inner in split]


def zero(f: Function, array: Array) -> None:
    """Fill a row-major array with zeros."""
    count = sizes.value(f, times(f, product(f, array.shape), array.dtype.itemsize))
    cleared = [array.pointer, f.const(0, I8), count, f.const(False, I1)]
    f.call("llvm.memset.p0.i64", VOID, cleared)
