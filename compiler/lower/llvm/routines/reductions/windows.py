"""reduce_window and window_argmax: loops over the elements that each window really has.

Padding and the holes of a dilated array are never visited: for each position of a window and each
axis it is computed which taps meet an element. Along the last axis the windows between the two ends
have all their taps, and many of them are reduced at once, in vectors. Where all windows are known
to have all their elements, these are written out one by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.graph import Op
from weft.compiler.lower.llvm.emit.arrays import (
    Array,
    Element,
    Env,
    contiguous,
    plus,
    product,
    times,
    unravel,
)
from weft.compiler.lower.llvm.emit.function import Function, Operand, V
from weft.compiler.lower.llvm.emit.types import I32, I64, PTR
from weft.compiler.lower.llvm.routines import Planned, Routine, ScratchOf
from weft.compiler.lower.llvm.routines.common import copies, elements, planning, rows, sizes
from weft.compiler.lower.llvm.routines.common.elements import (
    ElementCell,
    number,
    read,
    vector_lanes,
    working,
    write,
)
from weft.compiler.record import record

_MOST_TAPS: Final = 5  # taps of the last axis that are written out
_WIDEST_STRIDE: Final = 4  # strides of the last axis for which vectors are read and thinned out
_MOST_ELEMENTS: Final = 27  # of a window that are written out


@record
class WindowAxis:
    """How windows lie on an axis: the sizes of the array and of the window, the number of windows,
    and the attributes.
    """

    size: Operand
    window: int
    count: Operand
    low: Operand
    stride: int
    base_dilation: int
    dilation: int

    @property
    def numbers(self) -> tuple[Operand, ...]:
        return self.size, self.count, self.low

    def with_numbers(self, numbers: Sequence[Operand]) -> WindowAxis:
        size, count, low = numbers
        return WindowAxis(
            size, self.window, count, low, self.stride, self.base_dilation, self.dilation
        )


@record
class WindowWalk:
    """The taps of a window that meet an element: how many they are, the index of the first such
    element, and the distance between their elements.
    """

    count: Operand
    first: Operand
    step: int


def walk(f: Function, axis: WindowAxis, position: Operand) -> WindowWalk:
    """Where the window at a position has elements.

    Tap t lies on element i where i * base_dilation = t * dilation - gap. Taps that do are `every`
    apart, and the first of them follows from a multiplicative inverse.
    """
    gap = sizes.minus(f, axis.low, times(f, position, axis.stride))
    shared = math.gcd(axis.base_dilation, axis.dilation)
    every, step = axis.base_dilation // shared, axis.dilation // shared
    reach = plus(f, times(f, sizes.minus(f, axis.size, 1), axis.base_dilation), gap)
    inside = sizes.most(f, sizes.ceil_divide(f, gap, axis.dilation), 0)
    end = sizes.least(f, plus(f, sizes.floor_divide(f, reach, axis.dilation), 1), axis.window)
    first = inside
    if every > 1:
        wanted = times(f, sizes.floor_divide(f, gap, shared), pow(step, -1, every))
        first = plus(f, inside, sizes.modulo(f, sizes.minus(f, wanted, inside), every))
    count = sizes.ceil_divide(f, sizes.minus(f, end, first), every)
    if shared > 1:
        solvable = sizes.equal(f, sizes.modulo(f, gap, shared), 0)
        count = f.select(solvable, sizes.value(f, count), 0)
    place = sizes.minus(f, times(f, first, axis.dilation), gap)
    return WindowWalk(count, sizes.floor_divide(f, place, axis.base_dilation), step)


def _is_inside(axis: WindowAxis) -> bool:
    """Whether all windows are known to lie on elements with all their taps."""
    numbers = (axis.size, axis.count, axis.low)
    if not sizes.all_known(numbers) or axis.base_dilation != 1 or not axis.window:
        return False
    size, count, low = numbers
    end = (count - 1) * axis.stride + (axis.window - 1) * axis.dilation - low
    return low <= 0 and end < size


# --- what is done with elements -----------------------------------------------------------------


class WindowReduction(Protocol):
    """A reduction over the elements of a window, of any number of lanes."""

    def begin(self, f: Function, lanes: int) -> list[ElementCell]: ...

    def step(self, f: Function, state: list[ElementCell], element: Element, index: V) -> None:
        """Take in an element of x, which is in the working dtype, and its row-major index."""

    def end(self, f: Function, state: list[ElementCell], place: V, result: Array) -> None: ...

    def first(self, f: Function, element: Element, offset: int) -> list[ElementCell]:
        """The state of a window that is known to have elements: after the first of them, so many
        elements behind its start.
        """

    def next(self, f: Function, state: list[ElementCell], element: Element, offset: int) -> None:
        """Take in a further element."""

    def last(
        self, f: Function, state: list[ElementCell], start: V, place: V, result: Array
    ) -> None:
        """Store what was found; `start` is the row-major index of the window's start."""


class _Fold:
    """sum, prod, max or min."""

    def __init__(self, kind: str, dtype: DType) -> None:
        self.kind: Final = kind
        self.dtype: Final = dtype
        self.sums: Final = working(dtype)

    def begin(self, f: Function, lanes: int) -> list[ElementCell]:
        return [ElementCell(f, number(f, identity(self.kind, self.dtype), self.sums, lanes))]

    def step(self, f: Function, state: list[ElementCell], element: Element, index: V) -> None:
        before = state[0].get()
        if self.kind == "sum":
            state[0].set(elements.add(before, element))
        elif self.kind == "prod":
            state[0].set(elements.multiply(before, element))
        else:
            wins = _wins(f, self.kind, element, before)
            state[0].set(elements.select(f, wins, element, before))

    def end(self, f: Function, state: list[ElementCell], place: V, result: Array) -> None:
        write(f, result, place, state[0].get(), self.sums)

    def first(self, f: Function, element: Element, offset: int) -> list[ElementCell]:
        if self.kind == "sum" and self.dtype.is_inexact:
            # As from 0: the sum of negative zeros is 0.
            zero = number(f, 0, self.sums, elements.parts(element)[0].type.lanes)
            return [ElementCell(f, elements.add(zero, element))]
        return [ElementCell(f, element)]

    def next(self, f: Function, state: list[ElementCell], element: Element, offset: int) -> None:
        self.step(f, state, element, f.const(offset, I64))

    def last(
        self, f: Function, state: list[ElementCell], start: V, place: V, result: Array
    ) -> None:
        self.end(f, state, place, result)


class _First:
    """The index of the first greatest element; `nothing` is the index of windows without one."""

    def __init__(self, dtype: DType, nothing: Operand) -> None:
        self.sums: Final = working(dtype)
        self.nothing: Final = nothing

    def begin(self, f: Function, lanes: int) -> list[ElementCell]:
        none = f.splat(sizes.value(f, self.nothing), lanes)
        return [ElementCell(f, number(f, 0, self.sums, lanes)), ElementCell(f, none)]

    def step(self, f: Function, state: list[ElementCell], element: Element, index: V) -> None:
        best, chosen = state[0].get(), state[1].get()
        assert isinstance(element, V) and isinstance(best, V) and isinstance(chosen, V)
        lanes = index.type.lanes
        better = chosen.eq(f.splat(sizes.value(f, self.nothing), lanes)) | element.gt(best)
        if element.type.is_float:
            better = better | (f.is_nan(element) & ~f.is_nan(best))
        state[0].set(f.select(better, element, best))
        state[1].set(f.select(better, index, chosen))

    def end(self, f: Function, state: list[ElementCell], place: V, result: Array) -> None:
        chosen = state[1].get()
        assert isinstance(chosen, V)
        f.store(chosen, result.at(f, place))

    def first(self, f: Function, element: Element, offset: int) -> list[ElementCell]:
        assert isinstance(element, V)
        where = f.const(offset, I32.with_lanes(element.type.lanes))
        return [ElementCell(f, element), ElementCell(f, where)]

    def next(self, f: Function, state: list[ElementCell], element: Element, offset: int) -> None:
        best, chosen = state[0].get(), state[1].get()
        assert isinstance(element, V) and isinstance(best, V) and isinstance(chosen, V)
        better = element.gt(best)
        if element.type.is_float:
            # Not less or equal: NaN wins over numbers, and stays.
            better = ~element.le(best) & ~f.is_nan(best)
        state[0].set(f.select(better, element, best))
        state[1].set(f.select(better, f.const(offset, chosen.type), chosen))

    def last(
        self, f: Function, state: list[ElementCell], start: V, place: V, result: Array
    ) -> None:
        chosen = state[1].get()
        assert isinstance(chosen, V)
        f.store(start + chosen.to(I64), result.at(f, place))


def _wins(f: Function, kind: str, element: Element, before: Element) -> V:
    """Whether an element replaces what was found before; NaN does, and stays."""
    assert isinstance(element, V) and isinstance(before, V)
    better = element.gt(before) if kind == "max" else element.lt(before)
    return better | f.is_nan(element) if element.type.is_float else better


def identity(kind: str, dtype: DType) -> float:
    """What leaves every number as it is."""
    if kind in ("sum", "prod"):
        return 0 if kind == "sum" else 1
    if dtype.is_bool:
        return int(kind == "min")
    if dtype.is_float:
        return -math.inf if kind == "max" else math.inf
    limits = np.iinfo(dtype.numpy)
    return int(limits.min if kind == "max" else limits.max)


# --- emission -----------------------------------------------------------------------------------


def _emit_reduce(
    f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]
) -> None:
    kind = op.attributes["kind"]

    def make(g: Function, inner: Sequence[Operand]) -> WindowReduction:
        return _Fold(kind, operands[0].dtype)

    _emit(f, env, op, operands[0], results[0], make, ())


def _emit_argmax(
    f: Function, env: Env, op: Op, operands: list[Array], results: list[Array]
) -> None:
    x = operands[0]

    def make(g: Function, given: Sequence[Operand]) -> WindowReduction:
        return _First(x.dtype, given[0])

    _emit(f, env, op, x, results[0], make, (product(f, x.shape),))


Make: TypeAlias = Callable[[Function, Sequence[Operand]], WindowReduction]


def _emit(
    f: Function,
    env: Env,
    op: Op,
    x: Array,
    result: Array,
    make: Make,
    given: Sequence[Operand],
) -> None:
    """Rows of the result, several at once; `make` gets the numbers `given` inside the task."""
    axes = _axes(env, op, x, result)
    if not axes:
        x, result = [Array(a.pointer, a.dtype, (1,), (1,)) for a in (x, result)]
        axes = [WindowAxis(1, 1, 1, 0, 1, 1, 1)]
    x, workspace = _in_one_piece(f, env, x)
    counts = [axis.count for axis in axes]
    steps = times(f, counts[-1], math.prod(axis.window for axis in axes))
    numbers = [*given, *[number for axis in axes for number in axis.numbers]]

    def chunk(
        g: Function, inner: Env, begin: V, end: V, arrays: list[Array], here: list[Operand]
    ) -> None:
        reduction, here = make(g, here[: len(given)]), here[len(given) :]
        there = [axis.with_numbers(here[3 * n : 3 * n + 3]) for n, axis in enumerate(axes)]
        with g.range(begin, end) as row:
            _Row(g, reduction, there, *arrays).emit(row)

    rows.parallel(f, env, product(f, counts[:-1]), steps, [x, result], numbers, chunk)
    if workspace is not None:
        env.free(f, workspace)


def _axes(env: Env, op: Op, x: Array, result: Array) -> list[WindowAxis]:
    names = ("window", "padding", "strides", "base_dilation", "window_dilation")
    attributes: list[Any] = [op.attributes[name] for name in names]
    return [
        WindowAxis(size, window, count, env.size(low), stride, base, dilation)
        for size, count, window, (low, _), stride, base, dilation in zip(
            x.shape, result.shape, *attributes, strict=True
        )
    ]


def _in_one_piece(f: Function, env: Env, x: Array) -> tuple[Array, V | None]:
    """x with stride 1 along its last axis, copied if need be, and the workspace of the copy."""
    if sizes.is_known(x.strides[-1]) and x.strides[-1] == 1:
        return x, None
    pointer, workspace = f.variable(x.pointer), f.variable(0, PTR)
    strides = [f.variable(stride, I64) for stride in x.strides]
    with f.when(~sizes.equal(f, x.strides[-1], 1)):
        packed = copies.scratch(f, env, x.dtype, x.shape)
        copies.copy(f, env, x, packed)
        pointer.set(packed.pointer)
        workspace.set(packed.pointer)
        for variable, stride in zip(strides, packed.strides, strict=True):
            variable.set(stride)
    chosen: tuple[Operand, ...] = (*[variable.get() for variable in strides[:-1]], 1)
    return Array(pointer.get(), x.dtype, x.shape, chosen), workspace.get()


class _Row:
    """The windows of one row of the result under emission."""

    def __init__(
        self,
        f: Function,
        reduction: WindowReduction,
        axes: Sequence[WindowAxis],
        x: Array,
        result: Array,
    ) -> None:
        self.f: Final = f
        self.reduction: Final = reduction
        self.axes: Final = axes
        self.x: Final = x
        self.result: Final = result
        self.order: Final = contiguous(f, x.pointer, x.dtype, x.shape)

    def emit(self, row: V) -> None:
        """The windows of the row: all alike, or those at the left end, in the middle, and at the
        right end.
        """
        if self._is_written_out_whole():
            self._emit_whole(row)
            return
        f, axis = self.f, self.axes[-1]
        count = axis.count
        outer = unravel(f, row, [axis.count for axis in self.axes[:-1]])
        walks = [walk(f, axis, i) for axis, i in zip(self.axes[:-1], outer, strict=True)]
        start = f.const(times(f, row, count), I64)
        if axis.base_dilation > 1:
            self._windows(walks, start, 0, count, 0, whole=False)
            return
        left, right, wide = self._middle()
        self._windows(walks, start, 0, left, 0, whole=False)
        first = left
        for lanes in self._widths():
            end = self._vector_end(first, wide, lanes)
            self._windows(walks, start, first, end, lanes, whole=True)
            first = end
        self._windows(walks, start, first, right, 0, whole=True)
        self._windows(walks, start, right, count, 0, whole=False)

    def _is_written_out_whole(self) -> bool:
        """Whether all windows are known to have all elements, few enough to write them out."""
        whole = all(_is_inside(axis) for axis in self.axes)
        few = math.prod(axis.window for axis in self.axes) <= _MOST_ELEMENTS
        if not whole or not few or not sizes.all_known(self.x.shape):
            return False
        # Places inside a window are kept in 32 bits.
        return self._is_written_out() and math.prod(self.x.shape) < 1 << 31

    def _emit_whole(self, row: V) -> None:
        f, axis = self.f, self.axes[-1]
        count = sizes.known(axis.count)
        outer = unravel(f, row, [axis.count for axis in self.axes[:-1]])
        origin = [
            sizes.minus(f, times(f, i, axis.stride), axis.low)
            for axis, i in zip(self.axes[:-1], outer, strict=True)
        ]
        start = f.const(times(f, row, count), I64)
        first = 0
        readable = sizes.known(self._middle()[2])
        for lanes in self._widths():
            end = readable if readable - first >= lanes else first
            self._whole_windows(origin, start, first, end, lanes)
            first = end
        self._whole_windows(origin, start, first, count, 0)

    def _whole_windows(
        self, origin: Sequence[Operand], start: V, begin: int, end: int, lanes: int
    ) -> None:
        """Windows from `begin` to `end`, so many lanes at a time, element by element."""
        if begin >= end:
            return
        f, axis = self.f, self.axes[-1]
        with f.range(begin, end, max(lanes, 1)) as counted:
            position = f.minimum(counted, end - lanes) if lanes else counted
            index = [*origin, sizes.minus(f, times(f, position, axis.stride), axis.low)]
            place, order = self.x.position(f, index), self.order.position(f, index)
            state: list[ElementCell] = []
            for taps in itertools.product(*[range(axis.window) for axis in self.axes]):
                reach = [tap * axis.dilation for tap, axis in zip(taps, self.axes, strict=True)]
                offset = sum(
                    step * sizes.known(stride)
                    for step, stride in zip(reach, self.order.strides, strict=True)
                )
                shift = reach[-1] % axis.stride if lanes else 0
                reach[-1] -= shift
                element = self._read(place + self.x.position(f, reach), lanes, shift)
                if state:
                    self.reduction.next(f, state, element, offset)
                else:
                    state = self.reduction.first(f, element, offset)
            if lanes:
                steps = f.lanes_const([axis.stride * lane for lane in range(lanes)], I64)
                order = f.splat(order, lanes) + steps
            self.reduction.last(f, state, order, start + position, self.result)

    def _middle(self) -> tuple[Operand, Operand, Operand]:
        """From where to where windows have all their taps, and up to where vectors, which may read
        on to the next multiple of the stride, stay inside as well.
        """
        f, axis = self.f, self.axes[-1]
        left = sizes.least(
            f, sizes.most(f, sizes.ceil_divide(f, axis.low, axis.stride), 0), axis.count
        )
        extent = (axis.window - 1) * axis.dilation
        read = extent // axis.stride * axis.stride if self._is_written_out() else extent
        end = plus(f, axis.size, axis.low)
        ends = [
            sizes.ceil_divide(f, sizes.minus(f, end, extent), axis.stride),
            sizes.floor_divide(f, sizes.minus(f, end, read), axis.stride),
        ]
        right, wide = [sizes.most(f, sizes.least(f, x, axis.count), left) for x in ends]
        return left, right, wide

    def _is_written_out(self) -> bool:
        """Whether each tap of the last axis has code of its own."""
        return self.axes[-1].window <= _MOST_TAPS

    def _vector_end(self, first: Operand, wide: Operand, lanes: int) -> Operand:
        """Up to where vectors go from `first`: to the end, unless there is no room for even one."""
        f = self.f
        if sizes.is_known(first) and sizes.is_known(wide):
            return wide if wide - first >= lanes else first
        fits = sizes.value(f, sizes.minus(f, wide, first)).ge(lanes)
        return f.select(fits, sizes.value(f, wide), first)

    def _widths(self) -> list[int]:
        if self.axes[-1].stride > _WIDEST_STRIDE:
            return []
        most = vector_lanes(working(self.x.dtype))
        return [most, max(most // 2, 2), max(most // 4, 2)]

    def _windows(
        self,
        walks: Sequence[WindowWalk],
        start: V,
        begin: Operand,
        end: Operand,
        lanes: int,
        *,
        whole: bool,
    ) -> None:
        """Windows from `begin` to `end`, so many lanes at a time; all taps count if `whole`."""
        if sizes.is_known(begin) and sizes.is_known(end) and begin >= end:
            return
        f, axis = self.f, self.axes[-1]
        with f.range(begin, end, max(lanes, 1)) as counted:
            # The last vector overlaps the one before, and computes the same again.
            position = f.minimum(counted, sizes.minus(f, end, lanes)) if lanes else counted
            state = self.reduction.begin(f, lanes)
            place = sizes.minus(f, times(f, position, axis.stride), axis.low)
            last = (
                WindowWalk(axis.window, place, axis.dilation) if whole else walk(f, axis, position)
            )
            written_out = whole and self._is_written_out()
            with ExitStack() as loops:
                index = [
                    plus(
                        f, way.first, times(f, loops.enter_context(f.range(0, way.count)), way.step)
                    )
                    for way in (walks if written_out else (*walks, last))
                ]
                if not written_out:
                    self._take(state, index, lanes, 0)
                for tap in range(axis.window if written_out else 0):
                    # Vectors begin at a multiple of the stride, so that taps share what they read.
                    shift = tap * axis.dilation % axis.stride if lanes else 0
                    there = plus(f, place, tap * axis.dilation - shift)
                    self._take(state, [*index, there], lanes, shift)
            self.reduction.end(f, state, start + position, self.result)

    def _take(
        self, state: list[ElementCell], index: Sequence[Operand], lanes: int, shift: int
    ) -> None:
        """Take in the element at an index, or those of so many windows from `shift` after it."""
        f, stride = self.f, self.axes[-1].stride
        place, order = self.x.position(f, index), self.order.position(f, index)
        taken = self._read(place, lanes, shift)
        if lanes:
            numbers = f.lanes_const(list(range(shift, lanes * stride, stride)), I64)
            order = f.splat(order, lanes) + numbers
        self.reduction.step(f, state, taken, order)

    def _read(self, place: V, lanes: int, shift: int) -> Element:
        """An element, or of as many windows as there are lanes one each, from `shift` on."""
        f, stride, work = self.f, self.axes[-1].stride, working(self.x.dtype)
        if not lanes:
            return read(f, self.x, place, 0, work)
        taken = read(f, self.x, place, lanes * stride, work)
        if stride == 1:
            return taken
        picked = range(shift, lanes * stride, stride)
        return elements.map_parts(lambda part: f.shuffle(part, part, picked), taken)


def _scratch(call: Planned) -> Size:
    """A copy of x, unless its last axis is known to lie in one piece."""
    x, strides = call.op.operands[0].type, call.strides[0]
    return 0 if not strides or strides[-1] == 1 else planning.array(x.dtype, x.shape)


ROUTINES: Final[Mapping[str, Routine]] = {
    "reduce_window": _emit_reduce,
    "window_argmax": _emit_argmax,
}
SCRATCH: Final[Mapping[str, ScratchOf]] = dict.fromkeys(ROUTINES, _scratch)
