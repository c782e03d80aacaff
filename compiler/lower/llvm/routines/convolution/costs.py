"""What the strategies of a convolution cost, by its sizes, so that the cheapest can be taken.

Costs are counted in multiplications of two vectors, times the lanes of a vector. Strategies differ
in what they do to the filters, once in every call, and in the lanes that stay empty: small planes
have few windows to make up for either. The number of threads plays no part, as results have to have
the same bits for all of them.
"""

from __future__ import annotations

from typing import Final

from weft.compiler.ir.dtypes import DType
from weft.compiler.lower.llvm.emit.function import V
from weft.compiler.lower.llvm.emit.types import I64, of_dtype
from weft.compiler.lower.llvm.routines.common.elements import working
from weft.compiler.lower.llvm.routines.convolution.geometry import Phase, product, up
from weft.compiler.lower.llvm.routines.convolution.strategies.winograd_transforms import (
    POINTS,
    TAPS,
    WINDOWS,
)
from weft.compiler.lower.llvm.routines.gemm.tiles import tile_of

# Measured with AVX-512: what is done to a vector, in multiplications of two of them.
_PACK: Final = 14  # filters are packed
_LINE: Final = 4  # a line of windows is copied to a panel
_FINISH: Final = 16  # sums by taps are turned, and not followed plane by plane
_TRANSFORM: Final = 17  # filters are packed and transformed
_SPILL: Final = 26  # transformed filters go to memory and come back
_TILES: Final = 130  # a tile of a channel is copied and transformed, or the sums of an output
_POINT: Final = POINTS * 5 // 4  # a tile is multiplied: sums are as short as the channels are few
_SPILLED: Final = 1 << 21  # bytes of transformed filters that the second cache does not hold
_SMALL: Final = 256  # windows of a plane whose frame is small


class Costs:
    """The costs of a convolution whose input is not dilated, under emission."""

    def __init__(self, numbers: Phase, dtype: DType) -> None:
        self.f: Final = numbers.f
        self.numbers: Final = numbers
        type = of_dtype(working(dtype))
        self.itemsize: Final = type.itemsize
        self.lanes: Final = tile_of(type, self.f.module.target).lanes
        self.channels: Final = numbers.channels
        self.outputs: Final = numbers.out_channels
        self.plane: Final = product(numbers.out_positions.values())
        self.windows: Final = numbers.images * self.plane
        self.taps: Final = product(numbers.taps.values())

    def by_points(self) -> V:
        """Windows in lanes (`direct`)."""
        # Rows that fill vectors are read where they lie.
        f, windows, row = self.f, self._filled(self.windows), self.numbers.out_positions[2]
        lines = f.select(self._filled(row).eq(row), 0, windows * _LINE)
        return self.channels * self.taps * (self.outputs * (windows + _PACK) + lines)

    def by_taps(self) -> V:
        """Outputs in lanes (`filter`)."""
        terms, outputs = self.channels * self.taps, self._filled(self.outputs)
        return (terms * (self.windows + _PACK) + self.windows * _FINISH) * outputs

    def by_winograd(self) -> V:
        """Tiles of windows in lanes (`winograd`)."""
        f, numbers, pairs = self.f, self.numbers, self.channels * self.outputs
        high, wide = [up(f, numbers.out_positions[axis], WINDOWS) for axis in (1, 2)]
        tiles = self._filled(numbers.images * numbers.out_positions[0] * high * wide)
        is_spilled = (pairs * (POINTS * self.itemsize)).gt(_SPILLED)
        each = f.select(is_spilled, f.const(_TRANSFORM + _SPILL, I64), _TRANSFORM)
        multiplied = pairs * (tiles * _POINT + each * (TAPS * TAPS))
        return multiplied + (self.channels + self.outputs) * tiles * _TILES

    def is_small(self) -> V:
        """Whether planes are so small that outputs may be in lanes."""
        return self.plane.le(_SMALL)

    def _filled(self, count: V) -> V:
        """As many as there are, and as lanes stay empty."""
        return up(self.f, count, self.lanes) * self.lanes
