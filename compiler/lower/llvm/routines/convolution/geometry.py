"""The numbers of a convolution as native code passes them on: sizes, strides, how windows lie.

The code of convolutions is compiled once and serves all sizes, so everything that it is to know is
in memory, in records of i64 words with names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from weft.compiler.abi import Run
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env, Follower
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.record import record

AXES: Final = 3  # spatial axes; signals with fewer have axes of size 1 in front

_COUNTS: Final = ("images", "groups", "channels", "outputs")  # the last two are those of one group
_STRIDES: Final = (
    "lhs_image",
    "lhs_channel",
    "rhs_output",
    "rhs_channel",
    "result_image",
    "result_output",
)
AXIS: Final = (
    "size",  # of the signal
    "taps",
    "count",  # of windows
    "low",  # padding in front
    "stride",
    "holes",  # distance of the signal's elements from each other: its dilation
    "dilation",  # of the taps
    "lhs",  # strides of the three arrays
    "rhs",
    "result",
)
# Who goes on with planes that are done (a function and its data, or 0), into how many lines it
# divides each, or 1, and whether the code that ran last has called it.
_FOLLOWER: Final = ("task", "data", "parts", "is_followed")
PLAIN: Final = (
    *_COUNTS,
    *_STRIDES,
    *_FOLLOWER,
    *[f"{name}{axis}" for axis in range(AXES) for name in AXIS],
)
# What is known where a convolution is called: also how many phases its windows have, and every
# how many-th tap those of a phase meet.
GIVEN: Final = (*PLAIN, *[f"{x}{axis}" for axis in range(AXES) for x in ("phases", "every")])
# And of one phase: also whether taps are numbered from the last one, as they lie in memory.
NUMBERS: Final = (*PLAIN, *[f"is_turned{axis}" for axis in range(AXES)])


class Record:
    """Named words in memory."""

    def __init__(self, f: Function, names: Sequence[str], pointer: V | None = None) -> None:
        """At an address, or on the stack of the function."""
        self.f: Final = f
        self.names: Final = tuple(names)
        self.pointer: Final = pointer or f.stack(I64, len(self.names), align=8)

    def at(self, name: str) -> V:
        """The address of a word."""
        return self.f.element(self.pointer, I64, self.names.index(name))

    def __getitem__(self, name: str) -> V:
        return self.f.load(self.at(name), I64)

    def __setitem__(self, name: str, value: Operand) -> None:
        self.f.store(self.f.const(value, I64), self.at(name))

    def axis(self, name: str) -> list[V]:
        """A number of each axis."""
        return [self[f"{name}{axis}"] for axis in range(AXES)]

    def set_axis(self, name: str, values: Sequence[Operand]) -> None:
        for axis, value in enumerate(values):
            self[f"{name}{axis}"] = value

    def copy_from(self, other: Record) -> None:
        for name in other.names:
            self[name] = other[name]


def follower_of(numbers: Record) -> Follower:
    """Who goes on with planes, if there is a task."""
    f = numbers.f
    task, data = [f.load(numbers.at(name), PTR) for name in ("task", "data")]
    return Follower(task, data)


@record
class Operands:
    """The addresses of the three arrays of a convolution."""

    lhs: V
    rhs: V
    result: V

    @property
    def values(self) -> list[V]:
        return [self.lhs, self.rhs, self.result]


def tasks_wanted(f: Function, run: V, each: int) -> V:
    """How many tasks keep all threads busy: so many for each, if there are several."""
    threads = f.load(f.element(run, I64, int(Run.THREADS)), I64)
    return f.select(threads.gt(1), threads * each, 1)


def more_tasks(f: Function, run: V, tasks: V, each: int) -> V:
    """The same where there are tasks already, which are as long as each other: 0 if all threads
    have as many of them.
    """
    threads = f.load(f.element(run, I64, int(Run.THREADS)), I64)
    is_even = f.remainder(tasks, f.maximum(threads, 1)).eq(0)
    return f.select(is_even, 0, tasks_wanted(f, run, each))


def up(f: Function, size: Operand, step: Operand) -> V:
    """`size / step` rounded up, for sizes from 0 on."""
    return f.divide(f.add(f.const(size, I64), f.sub(f.const(step, I64), 1)), f.const(step, I64))


def product(values: Sequence[V]) -> V:
    first, *others = values
    for value in others:
        first = first * value
    return first


def weighted(values: Sequence[V], weights: Sequence[V]) -> V:
    """The sum of products."""
    first, *others = [x * y for x, y in zip(values, weights, strict=True)]
    for value in others:
        first = first + value
    return first


@record
class Band:
    """A range of positions along each axis: the first ones, and how many there are."""

    starts: list[V]
    lengths: list[V]


def band_at(plan: Record, number: V, sizes: list[V]) -> tuple[Band, V]:
    """The band of a number, of those that a plan divides axes of these sizes into; and the number
    of what has so many bands.
    """
    f, starts, lengths = plan.f, list(sizes), list(sizes)
    for axis in reversed(range(AXES)):
        bands, length = plan[f"bands{axis}"], plan[f"band{axis}"]
        starts[axis] = f.remainder(number, bands) * length
        lengths[axis] = f.minimum(sizes[axis] - starts[axis], length)
        number = f.divide(number, bands)
    return Band(starts, lengths), number


class Runs:
    """Taps of kernels that follow each other in memory, for some channels: the taps of all of these
    channels, of one, of a plane, or of a row; `lengths` tells how many there are along each axis.
    """

    def __init__(self, f: Function, numbers: Record, lengths: list[V], channels: V) -> None:
        self.f: Final = f
        self.channel_step: Final = numbers["rhs_channel"]
        taps, steps = numbers.axis("taps"), numbers.axis("rhs")
        row, plane = taps[2] * steps[2], taps[1] * taps[2] * steps[2]
        # The step of an axis with one tap is never taken, whatever it is.
        rows = (steps[1].eq(row) | taps[1].eq(1)) & lengths[2].eq(taps[2])
        planes = rows & (steps[0].eq(plane) | taps[0].eq(1)) & lengths[1].eq(taps[1])
        every = planes & self.channel_step.eq(taps[0] * plane) & lengths[0].eq(taps[0])
        in_plane = f.select(rows, lengths[1] * lengths[2], lengths[2])
        in_channel = f.select(planes, lengths[0] * in_plane, in_plane)
        self.length: Final = f.select(every, channels * in_channel, in_channel)
        self.channels: Final = f.select(every, 1, channels)
        self.counts: Final = [f.select(planes, 1, lengths[0]), f.select(rows, 1, lengths[1])]
        self.steps: Final = steps

    @contextmanager
    def each(self) -> Iterator[V]:
        """A loop over the runs, which is given how far each is behind the first."""
        f = self.f
        with (
            f.range(0, self.channels) as c,
            f.range(0, self.counts[0]) as z,
            f.range(0, self.counts[1]) as y,
        ):
            yield c * self.channel_step + z * self.steps[0] + y * self.steps[1]


def shared_way(
    module: Module,
    way: str,
    dtype: DType,
    emit: Callable[[Function, Env, DType, Operands, Record], None],
) -> str:
    """The function conv.<way>(run, lhs, rhs, result, numbers) of a module, made once."""
    name = f"conv.{way}.{dtype}"
    parameters = [(x, PTR) for x in ("run", "lhs", "rhs", "result", "numbers")]

    def build(f: Function) -> None:
        run, lhs, rhs, result, numbers = f.arguments
        env = Env(module, run, name, [])
        emit(f, env, dtype, Operands(lhs, rhs, result), Record(f, NUMBERS, numbers))
        f.ret()

    return rows.shared(module, name, VOID, parameters, build, "noinline nounwind")
