"""The functions of `math` on traced numbers: NumPy's and SciPy's where they mean the same, with the
exceptions of Python's, and Python numbers as results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.graph import Value
from weft.compiler.ops.logic import and_, is_finite, is_nan, not_, or_
from weft.frontends.tracing import core
from weft.frontends.tracing.requirements import raised, require
from weft.frontends.tracing.trace import Tracer

_SAME: Final = (
    "acos asin atan atan2 acosh asinh atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs "
    "fmod log10 log1p log2 nextafter pow radians sin sinh sqrt tan tanh"
)
_NUMPY: Final = {
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "pow": "power",
}
_OVERFLOWS: Final = ("cosh", "exp", "exp2", "expm1", "pow", "sinh")
_SPECIAL: Final = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}
_TESTS: Final = ("isfinite", "isinf", "isnan")


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of `math`; on traced numbers its version for these."""
    if not any(_holds_traced(arg) for arg in (*args, *kwargs.values())):
        return function(*args, **kwargs)
    name = function.__name__
    ours = _FUNCTIONS.get(name)
    if ours is None:
        raise core.trace_error(
            f"math.{name} has no version for traced values; use functions of NumPy, or wf.callback"
        )
    return ours(*args, **kwargs)


def whole(number: Any, rounded: Callable[[Any], Any]) -> Tracer:
    """A traced number as a Python int, after it was rounded."""
    value = scalar(number)
    if value.type.dtype.is_complex:
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
        )
    if value.type.dtype.is_inexact:
        require(not_(is_nan(value)), raised(int, math.nan))
        require(is_finite(value), raised(int, math.inf))
        value = core.lift(rounded(core.wrap(value)))
    return core.wrap(core.cast(value, dtypes.i64), weak=True)


def real(number: Any) -> Value:
    """A traced number as the value of a Python float."""
    value = scalar(number)
    if value.type.dtype.is_complex:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return core.cast(value, dtypes.f64)


def scalar(number: Any) -> Value:
    """The value of something that is to be one number."""
    lifted = core.lift(number)
    if lifted.type.size != 1:
        raise core.trace_error(f"only arrays of one element are numbers, not {lifted.type}")
    return core.reshape(lifted, ())


def _holds_traced(arg: Any) -> bool:
    if isinstance(arg, list | tuple):
        return any(map(_holds_traced, arg))
    return isinstance(arg, Tracer)


def _float(value: Value) -> Tracer:
    return core.wrap(value, weak=True)


def _elementwise(name: str) -> Callable[..., Tracer]:
    ufunc = getattr(np, _NUMPY.get(name, name), None)
    plain = getattr(math, name, None)

    def run(*args: Any) -> Tracer:
        given = [real(arg) for arg in args]
        made = core.lift(ufunc(*map(core.wrap, given)))  # type: ignore[misc]
        _require_result(name, plain, given, made)
        return _float(made)

    return run


def _require_result(name: str, plain: Any, given: list[Value], made: Value) -> None:
    """As Python's functions: NaN of what is none is an error of domain, infinity of what is finite
    one of range.
    """
    if name in (
        "copysign",
        "fabs",
        "nextafter",
        "atan",
        "asinh",
        "cbrt",
        "tanh",
        "degrees",
        "radians",
    ):
        return

    error: Exception = ValueError("math domain error")
    require(or_(not_(is_nan(made)), reduce(or_, map(is_nan, given))), error)
    if name in _OVERFLOWS:
        error = OverflowError("math range error")
    is_infinite = not_(or_(is_finite(made), is_nan(made)))
    require(or_(not_(is_infinite), not_(reduce(and_, map(is_finite, given)))), error)


def _log(x: Any, base: Any = None) -> Tracer:
    made = _elementwise("log")(x)
    return made if base is None else made / _elementwise("log")(base)  # type: ignore[operator]


def _special(name: str) -> Callable[[Any], Tracer]:
    def run(x: Any) -> Tracer:
        from weft.frontends.scipy import special

        given = real(x)
        made = core.lift(getattr(special, _SPECIAL[name])(core.wrap(given)))
        if name in ("gamma", "lgamma"):
            _require_result(name, getattr(math, name), [given], made)
        return _float(made)

    return run


def _test(name: str) -> Callable[[Any], Tracer]:
    return lambda x: _float(core.lift(getattr(np, name)(core.wrap(real(x)))))


def _hypot(*coordinates: Any) -> Tracer:
    made: Any = core.wrap(core.full((), 0.0, dtypes.f64))
    for part in coordinates:
        coordinate: Any = core.wrap(real(part))
        made = np.hypot(made, coordinate)
    return _float(core.lift(made))


def _dist(p: Any, q: Any) -> Tracer:
    return _hypot(*[core.wrap(real(a)) - core.wrap(real(b)) for a, b in zip(p, q, strict=True)])  # type: ignore[operator]


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    x, y = core.wrap(real(a)), core.wrap(real(b))
    near = np.abs(x - y) <= np.maximum(rel_tol * np.maximum(np.abs(x), np.abs(y)), abs_tol)  # type: ignore
    both = np.isfinite(x) & np.isfinite(y)  # type: ignore[call-overload]
    return _float(core.lift((x == y) | (both & near)))


def _prod(iterable: Any, *, start: Any = 1) -> Any:
    made = start
    for part in iterable:
        made = made * part
    return made


def _sumprod(p: Any, q: Any) -> Any:
    return sum(a * b for a, b in zip(p, q, strict=True))


def _of_ints(ufunc: np.ufunc, start: int) -> Callable[..., Tracer]:
    def run(*args: Any) -> Tracer:
        for arg in args:
            if isinstance(arg, float) or (isinstance(arg, Tracer) and arg.type.dtype.is_inexact):
                raise TypeError("'float' object cannot be interpreted as an integer")
        values = [core.wrap(core.cast(scalar(arg), dtypes.i64)) for arg in args]
        return _float(core.lift(reduce(ufunc, values, core.wrap(core.full((), start, dtypes.i64)))))

    return run


def _pair(name: str, kinds: tuple[Any, Any]) -> Callable[[Any], tuple[Tracer, Tracer]]:
    def run(x: Any) -> tuple[Tracer, Tracer]:
        one, other = getattr(np, name)(core.wrap(real(x)))
        first, second = core.cast(core.lift(one), kinds[0]), core.cast(core.lift(other), kinds[1])
        return _float(first), _float(second)

    return run


def _ldexp(x: Any, exponent: Any) -> Tracer:
    given = real(x)
    made = core.lift(np.ldexp(core.wrap(given), core.wrap(scalar(exponent))))  # type: ignore[call-overload]
    _require_result("pow", math.ldexp, [given], made)
    return _float(made)


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: _elementwise(name) for name in _SAME.split()},
    **{name: _special(name) for name in _SPECIAL},
    **{name: _test(name) for name in _TESTS},
    "ceil": lambda x: whole(x, np.ceil),
    "dist": _dist,
    "floor": lambda x: whole(x, np.floor),
    "frexp": _pair("frexp", (dtypes.f64, dtypes.i64)),
    "gcd": _of_ints(np.gcd, 0),
    "hypot": _hypot,
    "isclose": _isclose,
    "lcm": _of_ints(np.lcm, 1),
    "ldexp": _ldexp,
    "log": _log,
    "modf": _pair("modf", (dtypes.f64, dtypes.f64)),
    "prod": _prod,
    "sumprod": _sumprod,
    "trunc": lambda x: whole(x, np.trunc),
}
