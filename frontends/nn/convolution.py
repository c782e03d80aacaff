"""Convolution and pooling of images and sequences in the layout [N, C, *spatial].

Options are one number for all spatial axes or one per axis. Padding is a number for both sides, a
pair (low, high) per axis, "valid" for none, or "same" for as many windows as there are strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from weft.compiler.ir import dims
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import ArgumentError, DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ops.arithmetic import div
from weft.compiler.ops.convolution import convolution
from weft.compiler.ops.window import dilated, reduce_window
from weft.frontends.eager.anywhere import eager
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import ArrayLike

__all__ = ["avg_pool", "conv", "max_pool"]

Numbers: TypeAlias = int | Sequence[int]
Padding: TypeAlias = "str | Size | Sequence[Any]"
Pairs: TypeAlias = tuple[tuple[Size, Size], ...]


@eager
def conv(
    x: ArrayLike,
    w: ArrayLike,
    strides: Numbers = 1,
    padding: Padding = 0,
    lhs_dilation: Numbers = 1,
    rhs_dilation: Numbers = 1,
    groups: int = 1,
) -> Any:
    """x [N, C, *spatial] cross-correlated with w [O, C / groups, *spatial], to [N, O, *spatial].

    `rhs_dilation` spreads the taps of w. `lhs_dilation` puts zeros between the elements of x: with
    the kernel flipped, and its first two axes exchanged, that is the transposed convolution.

    >>> import numpy as np, weft as wf
    >>> x, w = np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, 0.0, -1.0]]])
    >>> wf.conv(x, w, padding="same")[0, 0]
    array([-1., -2., -2., -2.,  3.])
    """
    lhs, rhs = core.promote(x, w)
    rank = _spatial_rank(lhs, "conv")
    if rhs.type.rank != lhs.type.rank:
        raise ShapeError(f"conv: x is {lhs.type} and w {rhs.type}, which must have as many axes")
    steps = _per_axis(strides, rank, "strides")
    holes = _per_axis(lhs_dilation, rank, "lhs_dilation")
    taps = _per_axis(rhs_dilation, rank, "rhs_dilation")
    sizes = [dilated(size, hole) for size, hole in zip(lhs.type.shape[2:], holes, strict=True)]
    made = convolution(
        lhs,
        rhs,
        strides=steps,
        padding=_pairs(padding, sizes, rhs.type.shape[2:], steps, taps),
        lhs_dilation=holes,
        rhs_dilation=taps,
        groups=groups,
    )
    return core.wrap(made)


@eager
def max_pool(
    x: ArrayLike,
    window: Numbers,
    strides: Numbers | None = None,
    padding: Padding = 0,
    dilation: Numbers = 1,
) -> Any:
    """The maximum of each window of x [N, C, *spatial]; the strides are the window unless given.

    Padding never wins. The gradient goes to the first maximum of a window in row-major order.

    >>> import numpy as np, weft as wf
    >>> wf.max_pool(np.arange(6.0).reshape(1, 1, 6), 2)
    array([[[1., 3., 5.]]])
    """
    return core.wrap(_pool("max", core.lift(x), window, strides, padding, dilation))


@eager
def avg_pool(
    x: ArrayLike,
    window: Numbers,
    strides: Numbers | None = None,
    padding: Padding = 0,
    dilation: Numbers = 1,
    count_padding: bool = True,
) -> Any:
    """The mean of each window of x [N, C, *spatial]; the strides are the window unless given.

    Padding counts as zeros, unless `count_padding` is false: then as nothing.

    >>> import numpy as np, weft as wf
    >>> wf.avg_pool(np.arange(6.0).reshape(1, 1, 6), 2)
    array([[[0.5, 2.5, 4.5]]])
    """
    value = core.lift(x)
    if not value.type.dtype.is_inexact:
        raise DTypeError(f"avg_pool takes floating-point arrays, got {value.type}; use x.astype")
    sums = _pool("sum", value, window, strides, padding, dilation)
    if not count_padding:
        ones = core.full(value.type.shape, 1, value.type.dtype)
        return core.wrap(div(sums, _pool("sum", ones, window, strides, padding, dilation)))
    count = dims.product(_per_axis(window, value.type.rank - 2, "window"))
    return core.wrap(div(sums, core.size_value(count, value.type.dtype)))


def _pool(
    kind: str,
    x: Value,
    window: Numbers,
    strides: Numbers | None,
    padding: Padding,
    dilation: Numbers,
) -> Value:
    rank = _spatial_rank(x, f"{'avg' if kind == 'sum' else kind}_pool")
    extents = _per_axis(window, rank, "window")
    steps = extents if strides is None else _per_axis(strides, rank, "strides")
    taps = _per_axis(dilation, rank, "dilation")
    around = _pairs(padding, x.type.shape[2:], extents, steps, taps)
    return reduce_window(
        x,
        kind=kind,
        window=(1, 1, *extents),
        strides=(1, 1, *steps),
        padding=((0, 0), (0, 0), *around),
        base_dilation=(1,) * x.type.rank,
        window_dilation=(1, 1, *taps),
    )


def _spatial_rank(x: Value, function: str) -> int:
    if x.type.rank < 3:
        raise ShapeError(
            f"{function} takes [N, C, *spatial] with at least one spatial axis, got {x.type}; "
            "add axes with x[None, None]"
        )
    return x.type.rank - 2


def _per_axis(given: Any, rank: int, name: str) -> tuple[int, ...]:
    """One positive number per spatial axis."""
    entries = (given,) * rank if isinstance(given, int) else tuple(given)
    if len(entries) != rank or any(not isinstance(n, int) or n < 1 for n in entries):
        raise ArgumentError(
            f"{name} must be a positive int or {rank} of them, one per spatial axis, got {given!r}"
        )
    return entries


def _pairs(
    given: Any,
    sizes: Sequence[Size],
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
) -> Pairs:
    """How much is added in front of and behind each spatial axis."""
    if given == "same":
        extents = [dilated(size, step) for size, step in zip(window, dilation, strict=True)]
        return tuple(map(_same, sizes, extents, strides))
    entries = [0 if given == "valid" else given] * len(sizes)
    if not isinstance(entries[0], int | Dim):
        entries = [] if isinstance(given, str) else list(given)
    pairs = tuple((e, e) if isinstance(e, int | Dim) else tuple(e) for e in entries)
    if len(pairs) != len(sizes) or any(len(pair) != 2 for pair in pairs):
        raise ArgumentError(
            f'padding must be "same", "valid", a number, or {len(sizes)} numbers or pairs (low, '
            f"high), one per spatial axis, got {given!r}"
        )
    return pairs


def _same(size: Size, extent: Size, stride: int) -> tuple[Size, Size]:
    """Padding for -(-size // stride) windows; of an odd amount the larger part behind."""
    covered = (-(-size // stride) - 1) * stride + extent
    total = dims.maximum(covered - size, 0)
    return total // 2, total - total // 2
