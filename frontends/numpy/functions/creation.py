"""Functions that make arrays: from data, from a shape and a number, from another array's type.

Memory order and device arguments are accepted where they say nothing about values. Sequences and
grids are in `ranges`, matrices with a diagonal in `diagonals`.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from weft.compiler.ir import dtypes
from weft.compiler.ir.dtypes import DType
from weft.compiler.ir.types import ArrayType
from weft.frontends.numpy.functions.axis_ops import as_value
from weft.frontends.numpy.functions.manipulation import stretch
from weft.frontends.numpy.masked.creation import of_shape
from weft.frontends.tracing import core
from weft.frontends.tracing.core import as_shape, check_no, python_type, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer, current_trace

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "copy",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "require",
    "zeros",
    "zeros_like",
]


# --- from data ------------------------------------------------------------------------------------


def asarray(
    a: ArrayLike,
    dtype: object = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: object = None,
) -> Tracer:
    """As `numpy.asarray`; a nested list may hold traced values, which are stacked.

    >>> import weft as wf
    >>> wf.jit(lambda x, y: wf.numpy.asarray([[x, 0.0], [1.0, y]]))(2.0, 3.0)
    array([[2., 0.],
           [1., 3.]])
    """
    check_device("asarray", device)
    wanted = optional_dtype(dtype)
    if isinstance(a, Tracer) and not _asks_for_copy(copy) and _is_as_wanted(a, wanted):
        return a
    made = wrap(as_value(a, wanted))
    if python_type(a) is not None:
        current_trace().scalars[made.value] = False
    return made


def _asks_for_copy(copy: Any) -> bool:
    """Also as SciPy says it, which has its modes of NumPy."""
    return copy.name == "ALWAYS" if isinstance(copy, Enum) else bool(copy)


def array(
    object: ArrayLike,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Tracer:
    """As `numpy.array`; a nested list may hold traced values, which are stacked."""
    check_no("array", ndmax=ndmax or None)
    made = asarray(object, dtype, copy=copy)
    missing = ndmin - made.type.rank
    return (
        wrap(core.reshape(made.value, (*((1,) * missing), *made.type.shape)))
        if missing > 0
        else made
    )


def ascontiguousarray(a: ArrayLike, dtype: object = None, *, like: object = None) -> Tracer:
    """As `numpy.ascontiguousarray`: at least rank 1."""
    made = asarray(a, dtype)
    return made if made.type.rank else wrap(core.reshape(made.value, (1,)))


def asanyarray(
    a: ArrayLike,
    dtype: object = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
    like: object = None,
) -> Tracer:
    """As `asarray`: there are no other classes of traced arrays."""
    return asarray(a, dtype, order, device=device, copy=copy)


def asfortranarray(a: ArrayLike, dtype: object = None, *, like: object = None) -> Tracer:
    """As `asarray`: memory has no order in a trace."""
    return asarray(a, dtype)


def require(
    a: ArrayLike, dtype: object = None, requirements: object = None, *, like: object = None
) -> Tracer:
    """As `asarray`: what `requirements` asks of memory means nothing in a trace."""
    return asarray(a, dtype)


def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> Tracer:
    """As `numpy.copy`: writes to the result do not reach `a`."""
    return array(a)


def _is_as_wanted(tracer: Tracer, wanted: DType | None) -> bool:
    """Whether asarray may return the tracer itself, so that writes through the result reach it."""
    has_dtype = wanted is None or tracer.type.dtype is wanted
    return has_dtype and not tracer.weak


# --- of one number --------------------------------------------------------------------------------


def zeros(
    shape: Any,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: object = None,
) -> Any:
    """As `numpy.zeros`; sizes may be symbolic, or traced where it is known how large they are."""
    check_device("zeros", device)
    return of_shape(shape, lambda sizes: core.full(sizes, 0, dtypes.dtype(dtype)))


def ones(
    shape: Any,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: object = None,
) -> Any:
    """As `numpy.ones`; sizes may be symbolic, or traced where it is known how large they are."""
    check_device("ones", device)
    return of_shape(shape, lambda sizes: core.full(sizes, 1, dtypes.dtype(dtype)))


def full(
    shape: Any,
    fill_value: ArrayLike,
    dtype: object = None,
    order: str = "C",
    *,
    device: str | None = None,
    like: object = None,
) -> Any:
    """As `numpy.full`; the value may be traced, and sizes as in `zeros`."""
    check_device("full", device)
    value = as_value(fill_value, optional_dtype(dtype))
    return of_shape(shape, lambda sizes: stretch(value, sizes))


empty = zeros


def zeros_like(
    a: ArrayLike,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Tracer:
    """As `numpy.zeros_like`."""
    return full_like(a, 0, dtype, order, subok, shape, device=device)


def ones_like(
    a: ArrayLike,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Tracer:
    """As `numpy.ones_like`."""
    return full_like(a, 1, dtype, order, subok, shape, device=device)


def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Tracer:
    """As `numpy.full_like`."""
    check_device("full_like", device)
    like: ArrayType = as_value(a).type
    target = like.shape if shape is None else as_shape(shape)
    return wrap(stretch(as_value(fill_value, optional_dtype(dtype) or like.dtype), target))


def empty_like(
    prototype: ArrayLike,
    /,
    dtype: object = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: str | None = None,
) -> Tracer:
    """As `numpy.empty_like`, but zeros: what is read of it is the same every time."""
    return full_like(prototype, 0, dtype, order, subok, shape, device=device)


# --- arguments ------------------------------------------------------------------------------------


def optional_dtype(dtype: object) -> DType | None:
    """A dtype argument, which may be left out."""
    return None if dtype is None else dtypes.dtype(dtype)


def check_device(function: str, device: str | None) -> None:
    """NumPy knows one device; where a program runs is said to jit."""
    check_no(function, device=None if device == "cpu" else device)
