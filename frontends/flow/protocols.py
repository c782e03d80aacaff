"""Functions of NumPy's that its protocols do not hand on, on traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from weft.frontends.flow.lookups import holds_traced
from weft.frontends.numpy.functions.namespace import BY_NUMPY
from weft.frontends.tracing import core
from weft.frontends.tracing.failing import fail_where


def without(function: Any) -> Callable[..., Any] | None:
    """What is called in place of such a function, or None."""
    try:
        own = _OWN.get(function)
    except TypeError:
        return None
    if own is None and (getattr(function, "__module__", None) or "").startswith("numpy.testing"):
        return _checking(function)
    return own


def _require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`np.require`: layout and ownership mean nothing in a trace."""
    if not holds_traced(a):
        return np.require(a, dtype, requirements)
    return BY_NUMPY[np.asarray](a, dtype)


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """`np.fromiter`."""
    items = list(iter)
    if not holds_traced(items):
        return np.fromiter(items, dtype, count, **kwargs)
    if count > len(items):
        raise ValueError("iterator too short")
    return BY_NUMPY[np.array](items if count < 0 else items[:count], dtype)


def _chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`np.asarray_chkfinite`."""
    if not holds_traced(a):
        return np.asarray_chkfinite(a, dtype, order)
    raise core.trace_error(
        "np.asarray_chkfinite looks at values, which are only known when the program runs; use "
        "np.asarray"
    )


def _checking(function: Any) -> Callable[..., Any]:
    """A function of `np.testing`: those that compare elements check when the program runs."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if not holds_traced([*args, *kwargs.values()]):
            return function(*args, **kwargs)
        check = _CHECKS.get(function.__name__)
        if check is None:
            raise core.trace_error(
                f"np.testing.{function.__name__} looks at values, which are only known when the "
                "program runs; call it on the results, outside"
            )
        check(*args, **kwargs)
        return None

    return run


def _assert_allclose(
    actual: Any,
    desired: Any,
    rtol: Any = 1e-7,
    atol: Any = 0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
) -> None:
    _require_shapes(actual, desired)
    near = np.isclose(actual, desired, rtol=rtol, atol=atol, equal_nan=equal_nan)
    _require_all(near, f"Not equal to tolerance rtol={rtol:g}, atol={atol:g}", err_msg)


def _assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    _require_shapes(actual, desired, strict)
    one: Any = core.wrap(core.lift(actual))
    other: Any = core.wrap(core.lift(desired))
    if strict and one.type.dtype is not other.type.dtype:
        raise AssertionError(f"Arrays are not equal: {one.type.dtype} and {other.type.dtype}")
    same: Any = np.equal(one, other) | (np.not_equal(one, one) & np.not_equal(other, other))
    _require_all(same, "Arrays are not equal", err_msg)


def _require_shapes(actual: Any, desired: Any, strict: bool = False) -> None:
    """Raise at once if shapes do not agree; numbers fit to all."""
    shapes = [core.lift(one).type.shape for one in (actual, desired)]
    if shapes[0] != shapes[1] and (strict or all(shapes)):
        raise AssertionError(f"shapes {shapes[0]} and {shapes[1]} mismatch")


def _require_all(holds: Any, message: str, more: str) -> None:
    failed = core.lift(np.logical_not(np.all(holds)))
    fail_where(failed, AssertionError(f"{message}\n{more}" if more else message))


_CHECKS: Final[Mapping[str, Callable[..., None]]] = {
    "assert_allclose": _assert_allclose,
    "assert_array_equal": _assert_array_equal,
}
_OWN: Final[Mapping[Any, Callable[..., Any]]] = {
    np.asarray_chkfinite: _chkfinite,
    np.fromiter: _fromiter,
    np.require: _require,
}
