"""How a ufunc can be called besides plainly: `out=`, `where=`, `reduce`, `accumulate`, `outer`,
`at`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from weft.compiler.ir.dtypes import dtype as as_dtype
from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ops import cumulative
from weft.compiler.ops.logic import select
from weft.frontends.functions import core, indexing, reductions
from weft.frontends.functions.ufuncs import apply_ufunc
from weft.frontends.trace import Tracer

_REDUCE: Final[Mapping[np.ufunc, Any]] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: reductions.max,
    np.minimum: reductions.min,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
}
_ACCUMULATE: Final[Mapping[np.ufunc, Any]] = {
    np.add: reductions.cumsum,
    np.multiply: reductions.cumprod,
    np.maximum: cumulative.cummax,
    np.minimum: cumulative.cummin,
}
_AT: Final[Mapping[np.ufunc, str]] = {
    np.add: "add",
    np.subtract: "add",
    np.multiply: "mul",
    np.maximum: "max",
    np.minimum: "min",
}


def apply_ufunc_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What `ufunc.method(*inputs, **kwargs)` computes."""
    if method == "__call__":
        return _call(ufunc, inputs, **kwargs)
    if method == "reduce" and ufunc in _REDUCE:
        return _reduce(ufunc, *inputs, **kwargs)
    if method == "accumulate" and ufunc in _ACCUMULATE:
        return _accumulate(ufunc, *inputs, **kwargs)
    if method == "outer":
        return _outer(ufunc, *inputs, **kwargs)
    if method == "at" and ufunc in _AT:
        return _at(ufunc, *inputs)
    raise core.trace_error(f"numpy.{ufunc.__name__}.{method} is not supported on traced arrays")


def _call(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    *,
    out: tuple[Any, ...] | None = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    **others: Any,
) -> Any:
    core.check_no(f"numpy.{ufunc.__name__}", **others)
    result = apply_ufunc(ufunc, *inputs, dtype=dtype, casting=casting)
    if out is None:
        if where is not True:
            raise core.trace_error(
                f"numpy.{ufunc.__name__}: where= needs out=, else the rest is undefined"
            )
        return result
    results = result if isinstance(result, tuple) else (result,)
    for target, made in zip(out, results, strict=True):
        _require_castable(target, made, casting, ufunc)
    written = [
        _write(target, made, where, ufunc) for target, made in zip(out, results, strict=True)
    ]
    return tuple(written) if isinstance(result, tuple) else written[0]


def _require_castable(target: Any, made: Tracer, casting: Any, ufunc: np.ufunc) -> None:
    if not isinstance(target, Tracer):
        return
    given, wanted = made.type.dtype, target.type.dtype
    if not np.can_cast(given.numpy, wanted.numpy, casting):
        raise DTypeError(
            f"numpy.{ufunc.__name__} makes {given}, which does not fit into out= of {wanted}; give "
            'an out= of its dtype, or casting="unsafe"'
        )


def _write(target: Any, made: Tracer, where: Any, ufunc: np.ufunc) -> Any:
    if target is None:
        return made
    if not isinstance(target, Tracer):
        raise core.trace_error(
            f"numpy.{ufunc.__name__}: out= is a NumPy array that the trace cannot write to; "
            "create it with weft.numpy.zeros or np.zeros_like(x) inside the function"
        )
    value = core.broadcast_value(core.cast(made.value, target.type.dtype), target.type.shape)
    if where is not True:
        mask = core.broadcast_value(core.lift(where), target.type.shape)
        value = select(mask, value, core.lift(target))
    target.assign(value, f"x = np.{ufunc.__name__}(...)")
    return target


def _reduce(
    ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **kwargs: Any
) -> Any:
    core.check_no(f"numpy.{ufunc.__name__}.reduce", out=out)
    options = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    if dtype is not None and ufunc in (np.add, np.multiply):
        options["dtype"] = dtype
    elif dtype is not None:
        array = core.wrap(core.lift(array, as_dtype(dtype)))
    return _REDUCE[ufunc](array, axis=axis, **options)


def _accumulate(
    ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None
) -> Any:
    core.check_no(f"numpy.{ufunc.__name__}.accumulate", out=out)
    value = core.lift(array)
    if not value.type.rank:
        raise ShapeError(f"numpy.{ufunc.__name__}.accumulate needs an array of rank 1 or more")
    if ufunc in (np.add, np.multiply):
        return _ACCUMULATE[ufunc](array, axis=axis, dtype=dtype)
    if dtype is not None:
        value = core.cast(value, as_dtype(dtype))
    return core.wrap(_ACCUMULATE[ufunc](value, axis=core.normalize_axis(axis, value.type.rank)))


def _outer(ufunc: np.ufunc, left: Any, right: Any, **kwargs: Any) -> Any:
    first, second = core.lift(left), core.lift(right)
    spread = core.reshape(first, (*first.type.shape, *[1] * second.type.rank))
    # Unlike in a plain call, numbers promote as arrays.
    return _call(ufunc, (core.wrap(spread), core.wrap(second)), **kwargs)


def _at(ufunc: np.ufunc, array: Any, key: Any, new: Any = None) -> None:
    if not isinstance(array, Tracer):
        raise core.trace_error(
            f"numpy.{ufunc.__name__}.at writes to a NumPy array from inside a trace"
        )
    kind = _AT[ufunc]
    if ufunc is np.subtract:
        new = apply_ufunc(np.negative, new)
    spelled = ufunc.__name__.removesuffix("imum")
    array.assign(indexing.update(array, key, new, kind), f"x = x.at[i].{spelled}(...)")
