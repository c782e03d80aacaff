"""How a ufunc can be called besides plainly: `out=`, `where=`, `reduce`, `accumulate`, `reduceat`,
`outer`, `at`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from weft.compiler.ir.errors import DTypeError, ShapeError
from weft.compiler.ir.types import format_shape
from weft.compiler.ops.logic import select
from weft.frontends.numpy import ufunc_reductions
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.tracing import core
from weft.frontends.tracing.trace import Tracer

_REDUCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "reduce": ufunc_reductions.reduce,
    "accumulate": ufunc_reductions.accumulate,
    "reduceat": ufunc_reductions.reduceat,
}


def apply_ufunc_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What `ufunc.method(*inputs, **kwargs)` computes."""
    if method == "__call__":
        return _call(ufunc, inputs, **kwargs)
    if method == "outer":
        return _outer(ufunc, *inputs, **kwargs)
    if method == "at":
        return ufunc_reductions.at(ufunc, *inputs)
    if method not in _REDUCTIONS or ufunc.nin != 2 or ufunc.nout != 1:
        raise core.trace_error(
            f"numpy.{ufunc.__name__}.{method} is for ufuncs of two operands and one result"
        )
    return _reduction(ufunc, method, inputs, **kwargs)


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
    name = f"numpy.{ufunc.__name__}"
    for target, made in zip(out, results, strict=True):
        _require_castable(target, made, casting, name)
    written = [write(target, made, name, where) for target, made in zip(out, results, strict=True)]
    return tuple(written) if isinstance(result, tuple) else written[0]


def _reduction(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], *, out: Any = None, **kwargs: Any
) -> Any:
    options = {name: value for name, value in kwargs.items() if value is not np._NoValue}
    result = _REDUCTIONS[method](ufunc, *inputs, **options)
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        return result
    return write_into(target, result, f"numpy.{ufunc.__name__}.{method}")


def write_into(target: Any, made: Any, name: str) -> Any:
    """The array of `out=`, once the result of a function is written to it."""
    if not isinstance(made, Tracer):
        raise core.trace_error(f"{name}: out= is for one array, and there are several results")
    _require_castable(target, made, "same_kind", name)
    if isinstance(target, Tracer) and target.type.shape != made.type.shape:
        raise ShapeError(
            f"{name} makes shape {format_shape(made.type.shape)}, which does not fit into out= of "
            f"{format_shape(target.type.shape)}"
        )
    return write(target, made, name)


def _require_castable(target: Any, made: Tracer, casting: Any, name: str) -> None:
    if not isinstance(target, Tracer):
        return
    given, wanted = made.type.dtype, target.type.dtype
    if not np.can_cast(given.numpy, wanted.numpy, casting):
        raise DTypeError(
            f"{name} makes {given}, which does not fit into out= of {wanted}; give an out= of its "
            'dtype, or casting="unsafe"'
        )


def write(target: Any, made: Tracer, name: str, where: Any = True) -> Any:
    """Write a result to the array of `out=`, or return it if there is none."""
    if target is None:
        return made
    if not isinstance(target, Tracer):
        raise core.trace_error(
            f"{name}: out= is a NumPy array that the trace cannot write to; create it with "
            "weft.numpy.zeros or np.zeros_like(x) inside the function"
        )
    value = core.broadcast_value(core.cast(made.value, target.type.dtype), target.type.shape)
    if where is not True:
        mask = core.broadcast_value(core.lift(where), target.type.shape)
        value = select(mask, value, core.lift(target))
    target.assign(value, f"x = {name.replace('numpy.', 'np.')}(...)")
    return target


def _outer(ufunc: np.ufunc, left: Any, right: Any, **kwargs: Any) -> Any:
    first, second = core.lift(left), core.lift(right)
    spread = core.reshape(first, (*first.type.shape, *[1] * second.type.rank))
    # Unlike in a plain call, numbers promote as arrays.
    return _call(ufunc, (core.wrap(spread), core.wrap(second)), **kwargs)
