"""Rows of arrays, the lines along one axis: numbering them, and running them in parallel.

What a parallel task sees is only what it was given, so arrays and numbers are taken apart into
values here and put together again inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Env,
    FusedConsumer,
    dot,
    plus,
    product,
    times,
    unravel,
)
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I1, I64, Type
from weft.compiler.lower.llvm.routines.common import sizes

# Elementary steps that are worth a parallel task.
LEAST_STEPS: Final = 20_000
_FOLLOWED_STEPS: Final = 8  # of a follower for each element of a row, by a rough guess

Body: TypeAlias = Callable[[Function, Env, V, V, list[Array], list[Operand]], None]


def parallel(
    f: Function,
    env: Env,
    count: Operand,
    steps: Operand,
    arrays: Sequence[Array],
    numbers: Sequence[Operand],
    body: Body,
    *,
    group: int = 1,
    scratch: Operand = 0,
) -> None:
    """Items 0 to `count` in chunks that may run at once, each a multiple of `group` items but the
    last; an item takes about `steps` steps.

    `body(g, env, begin, end, arrays, numbers)` emits the items of one chunk; the same arrays and
    numbers (pointers too) are given to it as `g` knows them. A chunk works in so many bytes of
    `scratch`, if that is planned. Of a part of all rows, only the items of these are visited, one
    after the other.
    """
    if env.part is not None:
        part = env.part
        each = sizes.floor_divide(f, count, sizes.most(f, part.rows, 1))
        begin, end = [f.const(times(f, row, each), I64) for row in (part.begin, part.end)]
        body(f, env, begin, end, list(arrays), list(numbers))
        return
    chunk = chunk_size(f, steps, group)
    chunks = sizes.ceil_divide(f, count, chunk)
    every = [count, chunk, *numbers]

    def step(g: Function, inner: Env, number: V, values: list[V]) -> None:
        given = iter(values)
        there = [_restored(g, array, given) for array in arrays]
        total, size, *rest = [_next(x, given) for x in every]
        begin = g.mul(number, size)
        body(g, inner, begin, g.minimum(begin + size, total), there, rest)

    captured = [value for array in arrays for value in _values(array)]
    captured += [x for x in every if isinstance(x, V)]
    env.parallel(f, chunks, step, captured, scratch=scratch)


def follow_at_once(
    f: Function, env: Env, follower: FusedConsumer, count: Operand, columns: Operand
) -> None:
    """Let a follower go on with all rows, on several threads."""

    def chunk(
        g: Function, inner: Env, begin: V, end: V, _: list[Array], given: list[Operand]
    ) -> None:
        task, data, first = given
        assert isinstance(task, V) and isinstance(data, V)
        FusedConsumer(task, data, first).call(g, inner.run, begin, end)

    passed = [follower.task, follower.data, follower.first]
    parallel(f, env, count, times(f, columns, _FOLLOWED_STEPS), [], passed, chunk)


def chunk_size(f: Function, steps: Operand, group: int = 1) -> Operand:
    """How many items of so many steps make a task, as a multiple of `group`."""
    if not isinstance(steps, V):
        return -(-LEAST_STEPS // (max(int(steps), 1) * group)) * group
    each = f.mul(f.maximum(steps, 1), group)
    return f.mul(f.add(f.divide(f.const(LEAST_STEPS, I64), each), 1), group)


def _values(array: Array) -> list[V]:
    parts = (array.pointer, *array.shape, *array.strides)
    return [part for part in parts if isinstance(part, V)]


def _restored(g: Function, array: Array, given: Iterator[V]) -> Array:
    pointer = next(given)
    shape = tuple(_next(size, given) for size in array.shape)
    strides = tuple(_next(stride, given) for stride in array.strides)
    return Array(pointer, array.dtype, shape, strides)


def _next(x: Operand, given: Iterator[V]) -> Operand:
    return next(given) if isinstance(x, V) else x


# --- rows ---------------------------------------------------------------------------------------


def row_count(f: Function, array: Array, axis: int) -> Operand:
    """How many rows an array has along an axis."""
    return product(f, array.without(axis).shape)


def row_starts(f: Function, arrays: Sequence[Array], axis: int, row: V) -> list[V]:
    """The position of the first element of a row in each of several arrays that have the same
    sizes but for the axis.
    """
    index = unravel(f, row, arrays[0].without(axis).shape)
    return [dot(f, index, array.without(axis).strides) for array in arrays]


def along(f: Function, start: Operand, number: Operand, stride: Operand) -> V:
    """The position of the element at a number of a row."""
    return f.const(plus(f, start, times(f, number, stride)), I64)


def round_up(f: Function, x: Operand, multiple: int) -> Operand:
    """The next multiple, for numbers from 0 up."""
    return times(f, sizes.ceil_divide(f, x, multiple), multiple)


def shared(
    module: Module,
    name: str,
    result: Type,
    parameters: Sequence[tuple[str, Type]],
    build: Callable[[Function], None],
    attributes: str = "",
) -> str:
    """The name of an internal function, which is built the first time that a module asks."""
    if name not in module.functions:
        build(module.function(name, result, parameters, internal=True, attributes=attributes))
    return name


# --- vectors ------------------------------------------------------------------------------------


def vector_range(
    f: Function, stop: Operand, lanes: int, step: Callable[[V, int], None], start: Operand = 0
) -> None:
    """A loop in whole vectors, `step(i, lanes)`, and then one by one, `step(i, 0)`."""
    if lanes > 1:
        count = sizes.floor_divide(f, sizes.minus(f, stop, start), lanes)
        whole = plus(f, start, times(f, count, lanes))
        with f.range(start, whole, lanes) as i:
            step(i, lanes)
        start = whole
        if not isinstance(whole, V) and whole == stop:
            return
    with f.range(start, stop) as i:
        step(i, 0)


def vector_of(f: Function, values: Sequence[V]) -> V:
    """Scalars in the lanes of a vector; a single one stays a scalar."""
    if len(values) == 1:
        return values[0]
    result = V(f, "poison", values[0].type.with_lanes(len(values)))
    for lane, value in enumerate(values):
        result = f.insert(result, lane, value)
    return result


def lanes_of(f: Function, vector: V) -> list[V]:
    """The lanes of a vector; a scalar is its only one."""
    if not vector.type.lanes:
        return [vector]
    return [f.extract(vector, lane) for lane in range(vector.type.lanes)]


def any_lane(f: Function, condition: V) -> V:
    """Whether a condition holds in some lane."""
    if not condition.type.lanes:
        return condition
    return f.intrinsic("vector.reduce.or", condition, result=I1)


def transposed(f: Function, vectors: Sequence[V]) -> list[V]:
    """As many vectors as they have lanes: vector i then has lane i of each."""
    held, lanes = list(vectors), len(vectors)
    step = lanes // 2
    while step:
        low = [j if not j & step else lanes + j - step for j in range(lanes)]
        high = [j + step if not j & step else lanes + j for j in range(lanes)]
        for i in range(lanes):
            if not i & step:
                pair = held[i], held[i + step]
                held[i], held[i + step] = f.shuffle(*pair, low), f.shuffle(*pair, high)
        step //= 2
    return held
