"""Winograd's minimal filtering F(2x2, 3x3): transforms of inputs, filters and sums, in vectors.

A tile of 2x2 windows of 3x3 taps reads 4x4 elements d. With g the kernel, its windows are
A'[(G g G') * (B' d B)]A, where * multiplies element by element: 16 multiplications instead of 36
(Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015). The constants are 0, 1
and 1/2, so errors are about those of the plain sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from weft.compiler.lower.llvm.emit.function import V

SIDE: Final = 4  # of a transformed tile
POINTS: Final = SIDE * SIDE
TAPS: Final = 3  # along an axis
WINDOWS: Final = 2  # of a tile, along an axis

Line: TypeAlias = Sequence[V]
Square: TypeAlias = Sequence[Sequence[V]]


def input(d: Square) -> list[list[V]]:
    """B' d B, of 4x4 elements."""
    return _both(d, _signal_line)


def kernel(g: Square) -> list[list[V]]:
    """G g G', of 3x3 taps."""
    return _both(g, _kernel_line)


def sums(m: Square) -> list[list[V]]:
    """A' m A, of 4x4 products: 2x2 windows."""
    return _both(m, _sums_line)


def windows(y: Square) -> list[list[V]]:
    """A y A', of 2x2 windows: what `sums` takes back, for the gradient of a kernel."""
    return _both(y, _windows_line)


def gradient(m: Square) -> list[list[V]]:
    """G' m G, of 4x4 sums: the gradient of 3x3 taps."""
    return _both(m, _gradient_line)


def _both(square: Square, line: Callable[[Line], list[V]]) -> list[list[V]]:
    """A transform of lines applied to the columns, and then to the rows."""
    columns = [line(column) for column in zip(*square, strict=True)]
    return [line(row) for row in zip(*columns, strict=True)]


def _signal_line(d: Line) -> list[V]:
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def _kernel_line(g: Line) -> list[V]:
    even, odd = (g[0] + g[2]) * 0.5, g[1] * 0.5
    return [g[0], even + odd, even - odd, g[2]]


def _sums_line(m: Line) -> list[V]:
    return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]


def _windows_line(y: Line) -> list[V]:
    return [y[0], y[0] + y[1], y[0] - y[1], -y[1]]


def _gradient_line(m: Line) -> list[V]:
    even, odd = (m[1] + m[2]) * 0.5, (m[1] - m[2]) * 0.5
    return [m[0] + even, odd, even + m[3]]
