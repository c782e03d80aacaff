"""Sums of a convolution by taps at their places in the result: parts are added in order, and what
has outputs side by side gets the windows of an output side by side, square by square.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit import memory
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.emit.types import I64, PTR, VOID, of_dtype
from weft.compiler.lower.llvm.emit.vectors import transpose
from weft.compiler.lower.llvm.routines.common import rows
from weft.compiler.lower.llvm.routines.common.elements import converted, working
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase, product
from weft.compiler.lower.llvm.routines.gemm.tiles import ProductTile, below, tile_of
from weft.compiler.record import record


@record
class FilterSumParts:
    """Sums [parts, windows, outputs]: the first, how many parts there are and how far apart, how
    far apart the windows are, and how many outputs there are.
    """

    pointer: V
    count: V
    apart: V
    spacing: V
    outputs: V


def finish(f: Function, dtype: DType, parts: FilterSumParts, result: V, numbers: Phase) -> None:
    """The sums of all parts for one image and some outputs; `result` is the place of the first."""
    name = f"conv.finish.{dtype}"
    given = [parts.count, parts.apart, parts.spacing, parts.outputs]
    parameters = [("sums", PTR), ("result", PTR), ("numbers", PTR)]
    parameters += [(x, I64) for x in ("count", "apart", "spacing", "outputs")]

    def build(g: Function) -> None:
        sums, target, record, *others = g.arguments
        _Finish(g, dtype, FilterSumParts(sums, *others), target, Phase(g, record)).emit()
        g.ret()

    rows.shared(f.module, name, VOID, parameters, build, "noinline nounwind")
    f.call(name, VOID, [parts.pointer, result, numbers.pointer, *given])


class _Finish:
    """One image under emission."""

    def __init__(
        self, f: Function, dtype: DType, parts: FilterSumParts, result: V, numbers: Phase
    ) -> None:
        self.f: Final = f
        self.dtype: Final = dtype
        self.tile: Final[ProductTile] = tile_of(of_dtype(working(dtype)), f.module.target)
        self.parts: Final = parts
        self.result: Final = result
        self.counts: Final = numbers.out_positions.values()
        self.steps: Final = numbers.result_stride.values()
        self.output_step: Final = numbers.result_channel

    def emit(self) -> None:
        """Windows that follow each other are written in vectors, others one by one."""
        f, counts, steps = self.f, self.counts, self.steps
        follow = steps[2].eq(1) & steps[1].eq(counts[2]) & steps[0].eq(counts[1] * counts[2])
        with f.range(0, self.parts.outputs, self.tile.lanes) as first:
            mask = below(f, self.parts.outputs - first, self.tile.lanes)
            with f.otherwise(follow) as choice:
                self._squares(first, mask)
                choice.otherwise()
                self._one_by_one(first, mask)

    def _sum(self, window: V, output: V, mask: V) -> V:
        """The sums of a window for a vector of outputs."""
        f, parts, tile = self.f, self.parts, self.tile
        place = window * parts.spacing + output
        first = memory.load_lanes(f, f.element(parts.pointer, tile.type, place), tile.vector, mask)
        total = f.variable(first)
        with f.range(1, parts.count) as part:
            at = f.element(parts.pointer, tile.type, part * parts.apart + place)
            total.set(total.get() + memory.load_lanes(f, at, tile.vector, mask))
        return total.get()

    def _put(self, value: V, address: memory.Address, mask: V) -> None:
        made = converted(self.f, value, working(self.dtype), self.dtype)
        memory.store(self.f, self.result, made, address, self.tile.lanes, mask)

    def _squares(self, output: V, mask: V) -> None:
        f, tile, lanes = self.f, self.tile, self.tile.lanes
        windows = product(self.counts)
        held = f.stack(tile.vector, lanes, align=64)
        rows_at = [f.element(held, tile.type, lane * lanes) for lane in range(lanes)]
        with f.range(0, windows, lanes) as first:
            with f.range(0, lanes) as lane:
                # Windows past the end are not there to be read: the last one stands for them.
                place = f.minimum(first + lane, windows - 1)
                f.store(self._sum(place, output, mask), f.element(held, tile.type, lane * lanes))
            square = transpose(f, [f.load(at, tile.vector) for at in rows_at])
            inside = below(f, windows - first, lanes)
            for number, value in enumerate(square):
                with f.when((output + number).lt(self.parts.outputs)):
                    start = (output + number) * self.output_step + first
                    self._put(value, memory.Address(start, 1), inside)

    def _one_by_one(self, output: V, mask: V) -> None:
        f = self.f
        window = f.variable(0, I64)
        with (
            f.range(0, self.counts[0]) as z,
            f.range(0, self.counts[1]) as y,
            f.range(0, self.counts[2]) as x,
        ):
            made = self._sum(window.get(), output, mask)
            place = z * self.steps[0] + y * self.steps[1] + x * self.steps[2]
            address = memory.Address(output * self.output_step + place, self.output_step)
            self._put(made, address, mask)
            window.set(window.get() + 1)
