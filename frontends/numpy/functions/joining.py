"""Functions that join arrays along an axis, and those that split one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from weft.compiler.ir import dims, dtypes
from weft.compiler.ir.dims import Dim, Size
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.graph import Value
from weft.frontends.numpy.functions.axis_ops import (
    as_value,
    flat,
    join,
    slice_axis,
    stack_values,
    unstack_value,
    with_axis,
)
from weft.frontends.numpy.functions.indexing import getitem
from weft.frontends.numpy.functions.manipulation import raise_rank
from weft.frontends.tracing import core
from weft.frontends.tracing.core import cast, check_no, normalize_axis, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = [
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "row_stack",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]

Arrays: TypeAlias = "ArrayLike | Iterable[ArrayLike]"


# --- joining --------------------------------------------------------------------------------------


def concatenate(
    arrays: Arrays,
    /,
    axis: int | None = 0,
    out: None = None,
    *,
    dtype: object = None,
    casting: str = "same_kind",
) -> Tracer:
    """As `numpy.concatenate`."""
    check_no("concatenate", out=out)
    values = _promoted(_operands(arrays), dtype, casting)
    if axis is None:
        return wrap(join([flat(value) for value in values], 0))
    for value in values:
        if not value.type.rank:
            raise ShapeError("an array of rank 0 has no axis to join along; use stack")
    return wrap(join(values, normalize_axis(axis, values[0].type.rank)))


concat = concatenate


def stack(
    arrays: Arrays,
    axis: int = 0,
    out: None = None,
    *,
    dtype: object = None,
    casting: str = "same_kind",
) -> Tracer:
    """As `numpy.stack`."""
    check_no("stack", out=out)
    values = _promoted(_operands(arrays), dtype, casting)
    return wrap(stack_values(values, normalize_axis(axis, values[0].type.rank + 1)))


def vstack(tup: Arrays, *, dtype: object = None, casting: str = "same_kind") -> Tracer:
    """As `numpy.vstack`."""
    values = [raise_rank(value, 2) for value in _operands(tup)]
    return wrap(join(_promoted(values, dtype, casting), 0))


row_stack = vstack


def hstack(tup: Arrays, *, dtype: object = None, casting: str = "same_kind") -> Tracer:
    """As `numpy.hstack`."""
    values = [raise_rank(value, 1) for value in _operands(tup)]
    return wrap(join(_promoted(values, dtype, casting), 0 if values[0].type.rank == 1 else 1))


def dstack(tup: Arrays) -> Tracer:
    """As `numpy.dstack`."""
    return wrap(join(_promoted([raise_rank(value, 3) for value in _operands(tup)]), 2))


def column_stack(tup: Arrays) -> Tracer:
    """As `numpy.column_stack`."""
    columns = [
        with_axis(raise_rank(value, 1), 1) if value.type.rank < 2 else value
        for value in _operands(tup)
    ]
    return wrap(join(_promoted(columns), 1))


def block(arrays: Any) -> Tracer:
    """As `numpy.block`."""
    depth = _depth(arrays)
    values: list[Value] = []
    _each_leaf(arrays, lambda leaf: values.append(as_value(leaf)))
    rank = max(depth, *[value.type.rank for value in values])
    ready = iter([_with_leading_axes(value, rank) for value in _promoted(values)])
    return wrap(_assemble(arrays, ready.__next__, rank - depth))


def _assemble(arrays: Any, following: Callable[[], Value], axis: int) -> Value:
    """The blocks of nested lists joined, the outermost list along `axis`."""
    if not isinstance(arrays, list):
        return following()
    return join([_assemble(item, following, axis + 1) for item in arrays], axis)


def _depth(arrays: Any) -> int:
    """How deep lists are nested, which must be the same everywhere."""
    if isinstance(arrays, tuple):
        raise ShapeError(
            "block arranges lists, and got a tuple; use lists, or asarray for an array"
        )
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ShapeError("a list given to block is empty")
    depths = {_depth(item) for item in arrays}
    if len(depths) > 1:
        raise ShapeError(f"lists given to block are nested to different depths: {sorted(depths)}")
    return 1 + depths.pop()


def _each_leaf(arrays: Any, visit: Callable[[Any], None]) -> None:
    if not isinstance(arrays, list):
        return visit(arrays)
    for item in arrays:
        _each_leaf(item, visit)


def _with_leading_axes(value: Value, rank: int) -> Value:
    return core.reshape(value, (*((1,) * (rank - value.type.rank)), *value.type.shape))


def _operands(arrays: Arrays) -> list[Value]:
    """The arrays to join; a single array stands for its slices along the first axis."""
    if isinstance(arrays, Tracer):
        values = unstack_value(core.lift(arrays))
    elif isinstance(arrays, Iterable):
        values = [as_value(array) for array in arrays]
    else:
        raise core.trace_error(f"expected a sequence of arrays to join, got {arrays!r}")
    if not values:
        raise ShapeError("there is nothing to join; give at least one array")
    return values


def _promoted(
    values: Sequence[Value], dtype: object = None, casting: str = "same_kind"
) -> list[Value]:
    """The values in their common dtype; here Python scalars count as the arrays they become."""
    if dtype is None:
        common = dtypes.promote(*{value.type.dtype for value in values})
        return [cast(value, common) for value in values]
    wanted = dtypes.dtype(dtype)
    for value in values:
        if not np.can_cast(value.type.dtype.numpy, wanted.numpy, casting):  # type: ignore[arg-type]
            raise DTypeError(
                f"joining {value.type} as {wanted} is not allowed by casting={casting!r}; "
                'give casting="unsafe", or cast it first'
            )
    return [cast(value, wanted) for value in values]


# --- splitting ------------------------------------------------------------------------------------


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Tracer, ...]:
    """As `numpy.unstack`."""
    value = as_value(x)
    if not value.type.rank:
        raise ShapeError("an array of rank 0 has no axis to unstack")
    place = normalize_axis(axis, value.type.rank)
    return tuple([wrap(part) for part in unstack_value(value, place)])


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """As `numpy.split`."""
    value = as_value(ary)
    place = normalize_axis(axis, value.type.rank)
    size = value.type.shape[place]
    sections = _sections(indices_or_sections)
    if sections is not None and not dims.is_divisible(size, sections):
        raise ShapeError(
            f"axis {place} of {value.type} does not split into {sections} equal parts; "
            "use array_split for unequal ones"
        )
    return array_split(wrap(value), indices_or_sections, place)


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Tracer]:
    """As `numpy.array_split`."""
    value = as_value(ary)
    place = normalize_axis(axis, value.type.rank)
    size = value.type.shape[place]
    sections = _sections(indices_or_sections)
    if sections is not None:
        bounds = [_section_start(size, sections, i) for i in range(sections + 1)]
        pairs = zip(bounds[:-1], bounds[1:], strict=True)
        return [wrap(slice_axis(value, place, start, limit)) for start, limit in pairs]
    cuts = [0, *[core.as_size(cut) for cut in indices_or_sections], size]
    return [
        wrap(getitem(wrap(value), (*[slice(None)] * place, slice(start, limit))))
        for start, limit in zip(cuts[:-1], cuts[1:], strict=True)
    ]


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tracer]:
    """As `numpy.hsplit`."""
    value = _of_rank("hsplit", ary, 1)
    return split(wrap(value), indices_or_sections, min(1, value.type.rank - 1))


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tracer]:
    """As `numpy.vsplit`."""
    return split(wrap(_of_rank("vsplit", ary, 2)), indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Tracer]:
    """As `numpy.dsplit`."""
    return split(wrap(_of_rank("dsplit", ary, 3)), indices_or_sections, 2)


def _of_rank(function: str, array: ArrayLike, least: int) -> Value:
    value = as_value(array)
    if value.type.rank < least:
        raise ShapeError(f"{function} needs an array of rank {least} or more, got {value.type}")
    return value


def _sections(given: Any) -> int | None:
    """The number of sections, or None where places to cut at are given."""
    if isinstance(given, Tracer | Dim):
        core.as_shape(given)
        raise core.trace_error(f"the number of sections must be a Python int, not the size {given}")
    if isinstance(given, Sequence) or (isinstance(given, np.ndarray) and given.ndim):
        return None
    sections = operator.index(given)
    if sections < 1:
        raise ShapeError(f"the number of sections must be 1 or more, got {sections}")
    return sections


def _section_start(size: Size, sections: int, index: int) -> Size:
    """Where a section starts: the first `size % sections` of them have one element more."""
    least = dims.floor_divide(size, sections)
    return index * least + dims.minimum(index, size - sections * least)
