"""The function that programs call for a convolution of real floats, compiled once for each dtype.

    weft_conv_<dtype>(run, lhs, rhs, result, numbers, scratch)

`scratch` is the record of memory that is set aside (`emit.scratch`), or null: then the heap is
asked. How much that is follows from the sizes and from how many threads there are: with a record
that only measures, everything is divided as ever, and nothing else done.

Where the input is dilated, most products would be with the zeros between its elements. Windows are
divided into phases instead, which meet the same taps: the windows of a phase and the taps that they
meet are a convolution of the input as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm import linkage
from weft.compiler.lower.llvm.emit.arrays import Env
from weft.compiler.lower.llvm.emit.function import Function, Module, V
from weft.compiler.lower.llvm.emit.scratch import Scratch
from weft.compiler.lower.llvm.emit.types import I1, I8, I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.convolution.costs import Costs
from weft.compiler.lower.llvm.routines.convolution.geometry import (
    Convolution,
    Operands,
    Phase,
    call_strategy,
    follower_of,
    product,
    up,
)
from weft.compiler.lower.llvm.routines.convolution.strategies import direct
from weft.compiler.lower.llvm.routines.convolution.strategies import filter as filter_strategy
from weft.compiler.lower.llvm.routines.convolution.strategies import (
    winograd as winograd,
)
from weft.compiler.lower.llvm.routines.convolution.strategies import (
    winograd_filter as winograd_filter,
)

DTYPES: Final = (dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16)

_POINTERS: Final = ("run", "lhs", "rhs", "result", "numbers", "scratch")


def symbol(dtype: DType) -> str:
    """The name of the function."""
    return linkage.convolution(dtype.name)


def module_of(dtype: DType) -> Module:
    """The module with the function of a dtype."""
    module = Module()
    define(module, dtype)
    return module


def exports(dtype: DType) -> list[str]:
    """The functions of that module that programs may call."""
    return [symbol(dtype)]


def define(module: Module, dtype: DType) -> None:
    """Define the function of a dtype."""
    name = symbol(dtype)
    f = module.function(name, VOID, [(x, PTR) for x in _POINTERS])
    run, lhs, rhs, result, numbers, scratch = f.arguments
    env = Env(module, run, name, [], scratch=Scratch(scratch))
    given = Convolution(f, numbers)
    counts = [given.images, given.groups, given.out_channels]
    elements = product([*counts, *given.out_positions.values()])
    given.is_followed = 0
    with f.when(elements.gt(0)):
        _Phases(f, env, dtype, Operands(lhs, rhs, result), given).emit(elements)
    with f.when(given.task.ne(0) & given.is_followed.eq(0)):
        parts = f.maximum(given.parts, 1)
        columns = f.divide(product(given.out_positions.values()), parts)
        rows.follow_at_once(f, env, follower_of(given), product(counts) * parts, columns)
    f.ret()


class _Phases:
    """A convolution under emission."""

    def __init__(
        self, f: Function, env: Env, dtype: DType, operands: Operands, given: Convolution
    ) -> None:
        self.f: Final = f
        self.env: Final = env
        self.dtype: Final = dtype
        self.operands: Final = operands
        self.given: Final = given
        self.numbers: Final = Phase(f)

    def emit(self, elements: V) -> None:
        f, given, numbers = self.f, self.given, self.numbers
        numbers.copy_from(given)
        phases = given.phases.values()
        # A plane is done after all of its phases.
        numbers.task = f.select(product(phases).gt(1), 0, given.task)
        terms = given.channels * product(given.taps.values())
        # Windows that meet no element at all are not visited.
        is_partial = product(given.input_dilation.values()).gt(1) | terms.eq(0)
        with f.when(is_partial & ~self.env.is_measuring(f)):
            bytes = elements * of_dtype(self.dtype).itemsize
            cleared = [self.operands.result, f.const(0, I8), bytes, f.const(False, I1)]
            f.call("llvm.memset.p0.i64", VOID, cleared)
        rhs, result = self.operands.rhs, self.operands.result
        with (
            f.range(0, phases[0]) as z,
            f.range(0, phases[1]) as y,
            f.range(0, phases[2]) as x,
        ):
            filter, made = f.const(0, I64), f.const(0, I64)
            for axis, phase in enumerate((z, y, x)):
                filter = filter + self._set_axis(axis, phase)
                made = made + phase * given.result_stride[axis]
            type = of_dtype(self.dtype)
            moved = [f.element(rhs, type, filter), f.element(result, type, made)]
            self._plain(Operands(self.operands.lhs, moved[0], moved[1]))
        given.is_followed = numbers.is_followed

    def _set_axis(self, axis: int, phase: V) -> V:
        """Set the numbers of an axis to those of a phase; and the place of the first tap that it
        meets, or of the last one where taps lie the other way around.
        """
        f, given, numbers = self.f, self.given, self.numbers
        stride, input_dilation, dilation = (
            given.stride[axis],
            given.input_dilation[axis],
            given.dilation[axis],
        )
        low, phases, every = given.padding[axis], given.phases[axis], given.tap_step[axis]
        taps, count = given.taps[axis], given.out_positions[axis]
        tap = f.variable(0, I64)
        with f.loop_while() as loop:
            place = phase * stride + tap.get() * dilation - low
            loop.stop_unless(f.remainder(place, input_dilation).ne(0) & tap.get().lt(every))
            tap.set(tap.get() + 1)
        first = f.minimum(tap.get(), taps)
        met = f.select(tap.get().lt(every), up(f, taps - first, every), 0)
        place = phase * stride + first * dilation - low
        numbers.out_positions[axis] = up(f, count - phase, phases)
        numbers.taps[axis] = met
        numbers.stride[axis] = f.divide(phases * stride, input_dilation)
        numbers.dilation[axis] = f.divide(every * dilation, input_dilation)
        numbers.padding[axis] = -f.divide(place, input_dilation)
        numbers.input_dilation[axis] = 1
        numbers.result_stride[axis] = given.result_stride[axis] * phases
        step = given.filter_stride[axis] * every
        is_turned = step.lt(0)
        numbers.filter_stride[axis] = f.select(is_turned, -step, step)
        numbers.is_reversed[axis] = is_turned.to(I64)
        return first * given.filter_stride[axis] + f.select(is_turned, (met - 1) * step, 0)

    def _plain(self, operands: Operands) -> None:
        """A convolution whose input is not dilated: by taps where there are more of them than
        windows, as for gradients of filters, and else by the cheapest strategy.
        """
        f, numbers = self.f, self.numbers
        taps, windows = product(numbers.taps.values()), product(numbers.out_positions.values())
        with f.when((numbers.channels * taps).gt(0) & windows.gt(0)):
            with f.otherwise(taps.gt(windows)) as choice:
                transformed = winograd_filter
                with self._unless(transformed, operands, lambda: transformed.fits(numbers)):
                    self._call(filter_strategy, operands)
                choice.otherwise()
                self._by_windows(operands)

    def _by_windows(self, operands: Operands) -> None:
        f, numbers = self.f, self.numbers
        costs = Costs(numbers, self.dtype)
        points, taps = costs.by_points(), costs.by_taps()
        by_taps = costs.is_small() & taps.lt(points)
        plain, transformed = f.select(by_taps, taps, points), winograd

        def fits() -> V:
            return transformed.fits(numbers) & costs.by_winograd().lt(plain)

        with self._unless(transformed, operands, fits), f.otherwise(by_taps) as choice:
            self._call(filter_strategy, operands)
            choice.otherwise()
            self._call(direct, operands)

    @contextmanager
    def _unless(
        self, transformed: ModuleType, operands: Operands, fits: Callable[[], V]
    ) -> Iterator[None]:
        """Another way than the one with transforms, if that is slower or not for this dtype."""
        if self.dtype not in winograd.DTYPES:
            yield
            return
        with self.f.otherwise(fits()) as choice:
            self._call(transformed, operands)
            choice.otherwise()
            yield

    def _call(self, strategy: ModuleType, operands: Operands) -> None:
        name = strategy.define(self.f.module, self.dtype)
        call_strategy(self.f, self.env, name, operands, self.numbers)
