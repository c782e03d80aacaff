"""Python functions applied to parts of arrays: along axes, element by element, window by window.

The function is traced once, on one part, and batched over all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiler.ir.dims import Size
from weft.compiler.ir.errors import ShapeError
from weft.compiler.ir.graph import Value
from weft.compiler.ir.types import Shape, format_shape
from weft.compiler.ops.arithmetic import add
from weft.frontends.numpy.functions.axis_access import move
from weft.frontends.numpy.functions.axis_ops import as_value, gather_axis, iota
from weft.frontends.tracing.conversion import prepared
from weft.frontends.tracing.core import (
    as_shape,
    broadcast_shapes,
    broadcast_value,
    lift,
    normalize_axes,
    normalize_axis,
    product,
    reshape,
    trace_error,
    transpose,
    wrap,
)
from weft.frontends.tracing.outside import eager
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["apply_along_axis", "apply_over_axes", "sliding_window_view"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Tracer:
    """As `numpy.apply_along_axis`; the function is traced once, for all slices."""
    value = lift(arr)
    place = normalize_axis(axis, value.type.rank)
    lines = move(value, place, value.type.rank - 1)
    around = lines.type.shape[:-1]
    if product(around) == 0:
        raise ShapeError(f"apply_along_axis: there is no line along axis {axis} of {value.type}")
    rows = reshape(lines, (product(around), lines.type.shape[-1]))
    made = _map_rows(lambda row: func1d(row, *args, **kwargs), rows)
    inner = made.type.shape[1:]
    result = reshape(made, (*around, *inner))
    rank, outer = result.type.rank, len(around)
    order = [*range(place), *range(outer, rank), *range(place, outer)]
    return wrap(transpose(result, order))


def _map_rows(function: Callable[[Any], Any], rows: Value) -> Value:
    from weft.frontends.regions.batching import batched  # it loads what transforms graphs

    return lift(batched(lambda row: wrap(as_value(function(row))))(wrap(rows)))


def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Any) -> Tracer:
    """As `numpy.apply_over_axes`: the function is called for each axis in turn."""
    value = lift(a)
    rank = value.type.rank
    for axis in np.atleast_1d(np.asarray(axes)).tolist():
        place = normalize_axis(axis, rank)
        made = lift(func(wrap(value), place))
        shape = made.type.shape
        if made.type.rank == rank - 1:
            made = reshape(made, (*shape[:place], 1, *shape[place:]))
        if made.type.rank != rank:
            raise ShapeError(f"apply_over_axes: the function made {made.type} of {value.type}")
        value = made
    return wrap(value)


def sliding_window_view(
    x: ArrayLike,
    window_shape: Any,
    axis: Any = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tracer:
    """As `numpy.lib.stride_tricks.sliding_window_view`, but no view."""
    value, sizes = lift(x), as_shape(window_shape)
    axes = normalize_axes(axis, value.type.rank) if axis is not None else None
    if axes is None:
        axes = tuple(range(value.type.rank))
    if len(axes) != len(sizes):
        raise ShapeError(
            f"sliding_window_view: {len(sizes)} window sizes for {len(axes)} axes of {value.type}"
        )
    for along, size in zip(axes, sizes, strict=True):
        value = _windows(value, along, size)
    return wrap(value)


def _windows(value: Value, axis: int, size: Size) -> Value:
    """Windows along an axis, as a further last axis."""
    count = value.type.shape[axis] - size + 1
    if isinstance(count, int) and (count < 1 or size < 0):
        raise ShapeError(f"sliding_window_view: a window of {size} does not fit into {value.type}")
    shape = (count, size)
    gathered = gather_axis(value, add(iota(shape, 0), iota(shape, 1)), axis, "clip")
    return move(gathered, axis + 1, gathered.type.rank - 1)


# --- element by element -------------------------------------------------------------------------

_GROUP = re.compile(r"\(([^()]*)\)")


class vectorize:  # noqa: N801
    """As `numpy.vectorize`, but compiled: the function is traced on one element and batched.

    `signature` says which axes the function sees, as in "(m,n),(n)->(m)".

    >>> import numpy as np, weft as wf
    >>> clipped = wf.numpy.vectorize(lambda x, y: np.where(x > y, x - y, x + y))
    >>> clipped(np.array([1, 2, 3, 4]), 2)
    array([3, 4, 1, 2])
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.pyfunc = pyfunc
        self.excluded = frozenset(excluded or ())
        self.signature = signature
        self.otypes = [np.dtype(kind) for kind in otypes] if otypes else None
        self.__doc__ = doc or pyfunc.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of all elements; keyword arguments are handed on as they are."""
        return eager(self._apply)(*args, **kwargs)

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        from weft.frontends.regions.batching import batched

        places = [i for i in range(len(args)) if i not in self.excluded]
        values = [as_value(args[i]) for i in places]
        ranks = self._ranks(len(places))
        stack = _common_stack(values, ranks)
        rows = [_rows(value, rank, stack) for value, rank in zip(values, ranks, strict=True)]

        def of_one(*parts: Any) -> Any:
            given = list(args)
            for place, part in zip(places, parts, strict=True):
                given[place] = part
            made = prepared(self.pyfunc)(*given, **kwargs)
            return tuple(map(_traced, made)) if isinstance(made, tuple) else _traced(made)

        made = batched(of_one)(*[wrap(row) for row in rows])
        if isinstance(made, tuple):
            return tuple([self._shaped(part, stack, i) for i, part in enumerate(made)])
        return self._shaped(made, stack, 0)

    def _ranks(self, count: int) -> list[int]:
        """How many axes of each operand the function sees."""
        if self.signature is None:
            return [0] * count
        inputs = self.signature.replace(" ", "").split("->")[0]
        groups = _GROUP.findall(inputs)
        if len(groups) != count:
            raise trace_error(
                f"vectorize: the signature {self.signature!r} names {len(groups)} operands, the "
                f"call has {count}"
            )
        return [len(group.split(",")) if group else 0 for group in groups]

    def _shaped(self, made: Any, stack: Shape, number: int) -> Any:
        value = lift(made)
        result: Any = wrap(reshape(value, (*stack, *value.type.shape[1:])))
        return result if self.otypes is None else result.astype(self.otypes[number])


def _traced(made: Any) -> Tracer:
    return wrap(as_value(made))


def _common_stack(values: Sequence[Value], ranks: Sequence[int]) -> Shape:
    """The shape of all axes that the function does not see."""
    for value, rank in zip(values, ranks, strict=True):
        if value.type.rank < rank:
            raise ShapeError(
                f"vectorize: an operand of shape {format_shape(value.type.shape)} has fewer than "
                f"the {rank} axes of the signature"
            )
    outer = [v.type.shape[: v.type.rank - r] for v, r in zip(values, ranks, strict=True)]
    return broadcast_shapes(*outer)


def _rows(value: Value, rank: int, stack: Shape) -> Value:
    """The operand with all axes that the function does not see as one."""
    inner = value.type.shape[value.type.rank - rank :]
    spread = broadcast_value(value, (*stack, *inner)) if stack else value
    return reshape(spread, (product(stack), *inner))
