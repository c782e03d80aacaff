"""Convolution of any dtype and rank: filters [outputs, terms] times panels of windows.

Each image is copied into a frame first, dilated and with its padding; along the last axis elements
that are a stride apart become neighbours. A panel, as wide as a vector, then takes its lines from
the frame in runs of consecutive elements, one run for each row of the result that it touches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from weft.compiler.ir.alignment import FLAG_BYTES
from weft.compiler.ir.dims import Size
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Element,
    Env,
    contiguous,
    dot,
    plus,
    product,
    times,
    unravel,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.scratch import rounded
from weft.compiler.lower.llvm.emit.types import I64
from weft.compiler.lower.llvm.routines.common import copies, planning, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import ElementCell, read, select, working
from weft.compiler.lower.llvm.routines.gemm import products
from weft.compiler.lower.llvm.routines.gemm.strategy import Kinds
from weft.compiler.record import record


@record
class PanelAxis:
    """One spatial axis: sizes of the input, the kernel and the result; how windows lie on it."""

    size: Operand
    taps: Operand
    count: Operand
    low: Operand
    stride: int
    base_dilation: int
    dilation: int

    def length(self, f: Function) -> Operand:
        """How much of the dilated and padded axis windows touch; 1 at least."""
        windows = times(f, sizes.minus(f, self.count, 1), self.stride)
        inside = times(f, sizes.minus(f, self.taps, 1), self.dilation)
        return sizes.most(f, plus(f, plus(f, windows, inside), 1), 1)

    @property
    def numbers(self) -> tuple[Operand, ...]:
        return self.size, self.taps, self.count, self.low

    def with_numbers(self, numbers: Sequence[Operand]) -> PanelAxis:
        size, taps, count, low = numbers
        return PanelAxis(size, taps, count, low, self.stride, self.base_dilation, self.dilation)

    def is_plain(self, f: Function) -> bool:
        """Whether windows are known to touch elements of the input only."""
        if not sizes.is_known(self.low) or self.low > 0 or self.base_dilation != 1:
            return False
        end = sizes.minus(f, self.length(f), self.low)
        return sizes.is_known(end) and sizes.is_known(self.size) and end <= self.size


class Panels:
    """A convolution under emission."""

    def __init__(
        self,
        f: Function,
        env: Env,
        input: Array,
        filter: Array,
        made: Array,
        axes: Sequence[PanelAxis],
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.input: Final = input
        self.filter: Final = filter
        self.made: Final = made
        self.axes: Final = axes
        sums = working(made.dtype)
        self.kinds: Final = Kinds(sums, sums, made.dtype)

    def emit(self) -> None:
        """Images, or groups of channels of images, several at once."""
        f, env, made = self.f, self.env, self.made
        matrix, workspace = self._filter_matrices()
        points = product(f, made.shape[3:])
        given = [
            self.input,
            matrix,
            contiguous(f, made.pointer, made.dtype, (*made.shape[:3], points)),
        ]
        self._each_image(given, product(f, (made.shape[2], points, matrix.shape[3])))
        if workspace is not None:
            env.free(f, workspace)

    def bytes(self, threads: Size) -> Size:
        """What it works in, where so many threads may be at work; 0 where sizes are known only at
        run time: then it asks the heap.
        """
        f, made, filter, kinds = self.f, self.made, self.filter, self.kinds
        numbers = [number for axis in self.axes for number in axis.numbers]
        if not sizes.all_known([*numbers, *made.shape, *filter.shape, *filter.strides]):
            return 0
        copied: Size = 0
        if not self._is_in_place:
            copied = planning.array(kinds.sums, map(sizes.known, filter.shape[1:]))
        shapes = (made.shape[:2], made.shape[3:], filter.shape[3:])
        images, points, terms = [sizes.known(product(f, shape)) for shape in shapes]
        outputs = sizes.known(made.shape[2])
        _, shape = _frame_shape(f, filter.shape[3], self.axes)
        frame = planning.part(sizes.known(_frame_bytes(f, kinds, shape)))
        strips = planning.chunks(-(-points // kinds.lanes), terms * (outputs + kinds.lanes))

        def image(threads: Size) -> Size:
            return frame + planning.tasks(terms * kinds.line_bytes, threads, strips)

        if images == 1:
            return copied + image(threads)
        chunks = planning.chunks(images, outputs * points * terms)
        return copied + planning.tasks(image(1), threads, chunks)

    @property
    def _is_in_place(self) -> bool:
        """Whether the terms of filters lie behind each other, in the dtype of sums."""
        shape, _ = sizes.coalesced(self.filter.shape[3:], [self.filter.strides[3:]])
        return self.filter.dtype is self.kinds.sums and len(shape) < 2

    def _filter_matrices(self) -> tuple[Array, V | None]:
        """The filters as [N, groups, outputs, terms], and the workspace they were copied to if
        their terms do not lie behind each other or have another dtype than sums.
        """
        f, filter = self.f, self.filter
        shape, (strides,) = sizes.coalesced(filter.shape[3:], [filter.strides[3:]])
        terms = product(f, shape)
        if self._is_in_place:
            seen = (*filter.strides[:3], *(strides or [1]))
            return Array(filter.pointer, filter.dtype, (*filter.shape[:3], terms), seen), None
        packed = copies.scratch(f, self.env, self.kinds.sums, filter.shape[1:])
        copies.copy(f, self.env, filter.without(0), packed)
        one = contiguous(f, packed.pointer, packed.dtype, (*filter.shape[1:3], terms))
        seen = (0, *one.strides)
        return Array(one.pointer, one.dtype, (filter.shape[0], *one.shape), seen), one.pointer

    def _each_image(self, given: Sequence[Array], steps: Operand) -> None:
        f, env = self.f, self.env
        batch = given[0].shape[:2]
        numbers = [number for axis in self.axes for number in axis.numbers]

        def chunk(
            g: Function, inner: Env, begin: V, end: V, arrays: list[Array], here: list[Operand]
        ) -> None:
            axes = [axis.with_numbers(here[4 * n : 4 * n + 4]) for n, axis in enumerate(self.axes)]
            with g.range(begin, end) as i:
                index = unravel(g, i, arrays[0].shape[:2])
                parts = [sizes.rank_split(array, 2) for array in arrays]
                items = [inside.moved(g, outer.position(g, index)) for outer, inside in parts]
                _Image(g, inner, self.kinds, axes, *items).emit()

        count = product(f, batch)
        if sizes.is_known(count) and count == 1:
            # All threads share what there is to do for a single one.
            chunk(f, env, f.const(0, I64), f.const(1, I64), list(given), numbers)
            return
        _, shape = _frame_shape(f, given[0].shape[2], self.axes)
        frame = rounded(_frame_bytes(f, self.kinds, shape))
        panel = rounded(times(f, given[1].shape[3], self.kinds.line_bytes))
        # A flag and a panel, as inside of a task there is one thread.
        each = plus(f, plus(f, frame, panel), rounded(FLAG_BYTES))
        rows.parallel(f, env, count, steps, given, numbers, chunk, scratch=each)


def _frame_shape(
    f: Function, channels: Operand, axes: Sequence[PanelAxis]
) -> tuple[list[Operand], tuple[Operand, ...]]:
    """How much of each axis a frame has, and its shape. Along the last axis: as many rows as the
    stride, of elements that are a stride apart.
    """
    lengths = [axis.length(f) for axis in axes]
    row = sizes.ceil_divide(f, lengths[-1], axes[-1].stride)
    return lengths, (channels, *lengths[:-1], axes[-1].stride, row)


def _frame_room(f: Function, kinds: Kinds, shape: Sequence[Operand]) -> Operand:
    """The elements of a frame. Lines begin up to a vector before the first element, and end up to
    one after the last.
    """
    return plus(f, product(f, shape), 2 * kinds.lanes)


def _frame_bytes(f: Function, kinds: Kinds, shape: Sequence[Operand]) -> Operand:
    return times(f, _frame_room(f, kinds, shape), kinds.sums.itemsize)


class _Image:
    """One image, or one group of it, under emission: input [channels, *spatial], filters
    [outputs, terms], result [outputs, points].
    """

    def __init__(
        self,
        f: Function,
        env: Env,
        kinds: Kinds,
        axes: Sequence[PanelAxis],
        input: Array,
        filter: Array,
        made: Array,
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.kinds: Final = kinds
        self.axes: Final = axes
        self.input: Final = input
        self.filter: Final = filter
        self.made: Final = made
        self.lengths, self.shape = _frame_shape(f, input.shape[0], axes)

    def emit(self) -> None:
        f, env, kinds = self.f, self.env, self.kinds
        workspace = env.workspace(f, _frame_bytes(f, kinds, self.shape))
        room = _frame_room(f, kinds, self.shape)
        whole = contiguous(f, workspace, kinds.sums, (room,))
        start = f.offset(workspace, kinds.lanes * kinds.sums.itemsize)
        frame = contiguous(f, start, kinds.sums, self.shape)
        if not all(axis.is_plain(f) for axis in self.axes):
            copies.zero(f, whole)
        self._fill(frame)
        self._strips(frame)
        env.free(f, workspace)

    # --- the frame ---

    def _fill(self, frame: Array) -> None:
        """Copy what windows touch of the input to its places in the frame."""
        f, last = self.f, self.axes[-1]
        shape: list[Operand] = [self.input.shape[0]]
        source, target = [self.input.strides[0]], [frame.strides[0]]
        read_start: Operand = 0
        write_start: Operand = 0
        for n, axis in enumerate(self.axes[:-1], 1):
            first, end = self._touched(n - 1)
            place = plus(f, axis.low, times(f, first, axis.base_dilation))
            read_start = plus(f, read_start, times(f, first, self.input.strides[n]))
            write_start = plus(f, write_start, times(f, place, frame.strides[n]))
            shape.append(sizes.most(f, sizes.minus(f, end, first), 0))
            source.append(self.input.strides[n])
            target.append(times(f, frame.strides[n], axis.base_dilation))
        outer = tuple(shape), tuple(source), tuple(target)
        starts = self.input.moved(f, read_start), frame.moved(f, write_start)
        if last.stride == 1:
            self._fill_rows(starts, outer, 0)
        else:
            with f.range(0, last.stride) as phase:
                self._fill_rows(starts, outer, phase)

    def _touched(self, number: int) -> tuple[Operand, Operand]:
        """The first element of an axis that windows may touch, and the end of those."""
        f, axis = self.f, self.axes[number]
        first = sizes.most(
            f, sizes.ceil_divide(f, sizes.minus(f, 0, axis.low), axis.base_dilation), 0
        )
        reach = sizes.minus(f, sizes.minus(f, self.lengths[number], 1), axis.low)
        end = plus(f, sizes.floor_divide(f, reach, axis.base_dilation), 1)
        return first, sizes.least(f, axis.size, end)

    def _fill_rows(
        self,
        starts: tuple[Array, Array],
        outer: tuple[tuple[Operand, ...], ...],
        phase: Operand,
    ) -> None:
        """The elements i of all rows with low + i * base_dilation = phase, modulo the stride: they
        are `every` apart, and in the frame `apart`.
        """
        f, axis, (input, frame) = self.f, self.axes[-1], starts
        shared = math.gcd(axis.base_dilation, axis.stride)
        every, apart = axis.stride // shared, axis.base_dilation // shared
        first, end = self._touched(len(self.axes) - 1)
        # `first` and what follows it up to the first of the phase: a step count modulo `every`.
        gap = sizes.minus(f, phase, plus(f, axis.low, times(f, first, axis.base_dilation)))
        inverse = pow(apart, -1, every) if every > 1 else 0
        skipped = sizes.modulo(f, times(f, sizes.floor_divide(f, gap, shared), inverse), every)
        chosen = plus(f, first, skipped)
        count = sizes.most(f, sizes.ceil_divide(f, sizes.minus(f, end, chosen), every), 0)
        if shared > 1:
            solvable = sizes.equal(f, sizes.modulo(f, gap, shared), 0)
            count = f.select(solvable, sizes.value(f, count), 0)
        place = plus(f, axis.low, times(f, chosen, axis.base_dilation))
        column = sizes.floor_divide(f, place, axis.stride)
        shape, source, target = outer
        step = input.strides[-1]
        there = plus(f, times(f, phase, frame.strides[-2]), column)
        copies.copy_here(
            f,
            Array(
                input.at(f, times(f, chosen, step)),
                input.dtype,
                (*shape, count),
                (*source, times(f, step, every)),
            ),
            Array(frame.at(f, there), frame.dtype, (*shape, count), (*target, apart)),
        )

    # --- products ---

    def _strips(self, frame: Array) -> None:
        """All points of the result, a panel at a time."""
        f, kinds = self.f, self.kinds
        points = self.made.shape[1]
        count = sizes.ceil_divide(f, points, kinds.lanes)
        steps = times(f, self.filter.shape[1], plus(f, self.filter.shape[0], kinds.lanes))
        numbers = [number for axis in self.axes for number in axis.numbers]

        def chunk(
            g: Function, inner: Env, begin: V, end: V, arrays: list[Array], here: list[Operand]
        ) -> None:
            there, filter, made = arrays
            axes = [axis.with_numbers(here[4 * n : 4 * n + 4]) for n, axis in enumerate(self.axes)]
            panel = inner.workspace(g, times(g, filter.shape[1], kinds.line_bytes))
            strip = _Strip(g, kinds, axes, there, panel)
            with g.range(begin, end) as number:
                first = number * kinds.lanes
                width = g.minimum(sizes.value(g, made.shape[1]) - first, kinds.lanes)
                strip.fill(first, width)
                target = made.moved(g, first)
                products.multiply_panel(g, kinds, filter, panel, target, width)
            inner.free(g, panel)

        arrays = [frame, self.filter, self.made]
        panel = times(f, self.filter.shape[1], kinds.line_bytes)
        rows.parallel(f, self.env, count, steps, arrays, numbers, chunk, scratch=panel)


class _Strip:
    """A panel of windows under emission. A run is a row of the result, as far as the panel touches
    it: the lane that it begins at, and the place in the frame that lane 0 would have in that row.
    """

    def __init__(
        self, f: Function, kinds: Kinds, axes: Sequence[PanelAxis], frame: Array, panel: V
    ) -> None:
        self.f: Final = f
        self.kinds: Final = kinds
        self.axes: Final = axes
        self.frame: Final = frame
        self.panel: Final = panel
        self.lanes: Final = f.stack(I64, kinds.lanes)
        self.places: Final = f.stack(I64, kinds.lanes)
        self.runs: Final = f.variable(0, I64)

    def fill(self, first: V, width: V) -> None:
        """The windows of `width` points, one after the other in the lines of the panel."""
        self._find_runs(first, width)
        f, axes, strides = self.f, self.axes, self.frame.strides
        line = f.variable(0, I64)
        with ExitStack() as loops:
            index: list[Operand] = [loops.enter_context(f.range(0, self.frame.shape[0]))]
            index += [loops.enter_context(f.range(0, axis.taps)) for axis in axes]
            moved = [
                times(f, tap, axis.dilation) for tap, axis in zip(index[1:], axes, strict=True)
            ]
            stride = axes[-1].stride
            phase = sizes.modulo(f, moved[-1], stride)
            column = sizes.floor_divide(f, moved[-1], stride)
            place = dot(f, [index[0], *moved[:-1], phase, column], strides)
            products.put_line(f, self.kinds, self.panel, line.get(), self._line(place))
            line.set(line.get() + 1)

    def _find_runs(self, first: V, width: V) -> None:
        f, axes = self.f, self.axes
        counts = [axis.count for axis in axes]
        lane, number = f.variable(0, I64), f.variable(0, I64)
        with f.loop_while() as loop:
            at = lane.get()
            loop.stop_unless(at.lt(width))
            *outer, column = unravel(f, first + at, counts)
            steps = [times(f, i, axis.stride) for i, axis in zip(outer, axes[:-1], strict=True)]
            place = dot(f, [0, *steps, 0, column], self.frame.strides)
            f.store(at, f.element(self.lanes, I64, number.get()))
            f.store(place - at, f.element(self.places, I64, number.get()))
            number.set(number.get() + 1)
            lane.set(at + f.sub(sizes.value(f, counts[-1]), column))
        self.runs.set(number.get())

    def _line(self, place: V) -> Element:
        """One element of each window: from run to run the lanes that begin there."""
        f, lanes = self.f, self.kinds.lanes
        numbers = f.lanes_const(list(range(lanes)), I64)

        def read_run(number: Operand) -> Element:
            start = f.load(f.element(self.places, I64, number), I64)
            return read(f, self.frame, place + start, lanes, self.kinds.sums)

        made = ElementCell(f, read_run(0))
        with f.range(1, self.runs.get()) as number:
            begin = f.load(f.element(self.lanes, I64, number), I64)
            inside = numbers.ge(f.splat(begin, lanes))
            made.set(select(f, inside, read_run(number), made.get()))
        return made.get()
