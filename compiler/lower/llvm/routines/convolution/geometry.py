"""The geometry of a convolution as native code passes it on: sizes, strides, how windows lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from weft.compiler.abi import Run
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.arrays import Env, FusedConsumer
from weft.compiler.lower.llvm.emit.function import Function, Module, Operand, V
from weft.compiler.lower.llvm.emit.scratch import Scratch, Slots, rounded
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.convolution.records import AXES, Axes, PerAxis, Record, Word
from weft.compiler.record import record


class Geometry(Record):
    """The sizes and strides of a convolution, and how its windows lie; strides count elements.
    Channels are those of one group.
    """

    images = Word()
    groups = Word()
    channels = Word()
    out_channels = Word()
    input_image = Word()  # strides of the three arrays
    input_channel = Word()
    filter_out_channel = Word()
    filter_channel = Word()
    result_image = Word()
    result_channel = Word()
    task = Word()  # who goes on with planes that are done, a function and its data, or 0
    data = Word()
    parts = Word()  # into how many lines it divides each plane, or 1
    is_followed = Word()  # whether the code that ran last has called it
    input_size = PerAxis()
    taps = PerAxis()
    out_positions = PerAxis()
    padding = PerAxis()  # in front
    stride = PerAxis()
    input_dilation = PerAxis()  # distance of the input's elements from each other
    dilation = PerAxis()  # of the taps
    input_stride = PerAxis()  # strides of the three arrays
    filter_stride = PerAxis()
    result_stride = PerAxis()


class Convolution(Geometry):
    """What is known where a convolution is called: also how many phases its windows have, and every
    how many-th tap those of a phase meet.
    """

    phases = PerAxis()
    tap_step = PerAxis()


class Phase(Geometry):
    """A phase, whose input is not dilated: also whether taps are numbered from the last one, as
    they lie in memory.
    """

    is_reversed = PerAxis()


class Banded(Protocol):
    """A plan that divides axes into bands: the positions of a band, and how many there are."""

    @property
    def f(self) -> Function: ...
    @property
    def band(self) -> Axes: ...
    @property
    def bands(self) -> Axes: ...


def follower_of(numbers: Geometry) -> FusedConsumer:
    """Who goes on with planes, if there is a task."""
    words = (Geometry.task, Geometry.data)
    task, data = [numbers.load(word.position, PTR) for word in words]
    return FusedConsumer(task, data)


@record
class Operands:
    """The addresses of the three arrays of a convolution."""

    lhs: V
    rhs: V
    result: V

    @property
    def values(self) -> list[V]:
        return [self.lhs, self.rhs, self.result]


@record
class Tasks:
    """Tasks that threads share: how many, how many of them a thread takes at least, and the bytes
    that each thread works in.
    """

    count: V
    grain: V
    bytes: V

    def all_bytes(self, f: Function, env: Env) -> V:
        """The bytes for all threads."""
        return env.slots_bytes(f, self.count, self.bytes)


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


def leave_measured(f: Function, env: Env, own: V, *tasks: Tasks) -> None:
    """Return where memory is only measured, having noted what a strategy takes for all of its tasks
    and, one kind after the other, for these.
    """
    most = f.const(0, I64)
    for each in tasks:
        most = f.maximum(most, each.all_bytes(f, env))
    env.leave_measured(f, f.const(rounded(own), I64) + most)


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


def band_at(plan: Banded, number: V, sizes: list[V]) -> tuple[Band, V]:
    """The band of a number, of those that a plan divides axes of these sizes into; and the number
    of what has so many bands.
    """
    f, starts, lengths = plan.f, list(sizes), list(sizes)
    for axis in reversed(range(AXES)):
        bands, length = plan.bands[axis], plan.band[axis]
        starts[axis] = f.remainder(number, bands) * length
        lengths[axis] = f.minimum(sizes[axis] - starts[axis], length)
        number = f.divide(number, bands)
    return Band(starts, lengths), number


class Runs:
    """Taps of filters that follow each other in memory, for some channels: the taps of all of these
    channels, of one, of a plane, or of a row; `lengths` tells how many there are along each axis.
    """

    def __init__(self, f: Function, numbers: Phase, lengths: list[V], channels: V) -> None:
        self.f: Final = f
        self.channel_step: Final = numbers.filter_channel
        taps, steps = numbers.taps.values(), numbers.filter_stride.values()
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


def shared_strategy(
    module: Module,
    strategy: str,
    dtype: DType,
    emit: Callable[[Function, Env, DType, Operands, Phase], None],
) -> str:
    """The function conv.<strategy>(run, lhs, rhs, result, numbers, scratch) of a module, made
    once.
    """
    name = f"conv.{strategy}.{dtype}"
    parameters = [(x, PTR) for x in ("run", "lhs", "rhs", "result", "numbers", "scratch")]

    def build(f: Function) -> None:
        run, lhs, rhs, result, numbers, scratch = f.arguments
        env = Env(module, run, name, [], scratch=Scratch(scratch))
        emit(f, env, dtype, Operands(lhs, rhs, result), Phase(f, numbers))
        f.ret()

    return rows.shared(module, name, VOID, parameters, build, "noinline nounwind")


def call_strategy(f: Function, env: Env, name: str, operands: Operands, numbers: Phase) -> None:
    """Call such a function, with the memory that is set aside."""
    assert env.scratch is not None
    f.call(name, VOID, [env.run, *operands.values, numbers.pointer, env.scratch.record])


def share_out(
    f: Function,
    env: Env,
    name: str,
    tasks: Tasks,
    captured: Sequence[V],
    build: Callable[[Function, Env, list[V], V, V], None],
) -> None:
    """Let several threads run tasks; `build(g, env, captured, begin, end)` emits a range of them,
    once in a module. What they take from `env` is set aside for their thread.
    """
    slots = env.slots(f, tasks.count, tasks.bytes)
    assert slots is not None
    given = [*captured, *slots.values]
    parameters = [("run", PTR), *[(f"p{n}", value.type) for n, value in enumerate(given)]]
    parameters += [("begin", I64), ("end", I64)]

    def build_range(g: Function) -> None:
        run, *held, begin, end = g.arguments
        own = Slots.of(held[len(captured) :])
        number = own.claim(g, run)
        inner = Env(g.module, run, name, [], scratch=own.part(g, number))
        build(g, inner, held[: len(captured)], begin, end)
        own.give_back(g, number)
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build_range)
    env.share(f, name, tasks.count, given, tasks.grain)
    env.free(f, slots.flags)
