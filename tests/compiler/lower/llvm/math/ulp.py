"""Errors of the vector functions in units in the last place, against mpmath.

`sample(name, dtype, count)` has arguments that are worth a look, `exact` the results to more digits
than f64 has, and `errors` compares. An ulp is the distance of neighbouring floats at the exact
result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import mpmath as mp
import numpy as np

import weft
from tests.compiler.lower.harness import map_lanes
from weft.compiler.lower.llvm import math as vector_math
from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.scalar import division
from weft.scipy.special import zeta

NDArray = np.ndarray[Any, Any]
Real = Any  # mpmath's numbers have no types

_DOUBLE: Final = np.dtype(np.float64)
PRECISION: Final = 200  # bits: the cancellation in any of these functions leaves 70 at least


class Exact(NamedTuple):
    """Exact results: the nearest doubles, and what is missing in units of their last place."""

    high: NDArray
    rest: NDArray


def _sigmoid(x: Real) -> Real:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Real) -> Real:
    return mp.log1p(mp.exp(-abs(x))) + max(x, 0)


def _cbrt(x: Real) -> Real:
    return mp.sign(x) * mp.cbrt(abs(x))


def _scaled_bessel(order: int) -> Callable[[Real], Real]:
    def compute(x: Real) -> Real:
        return mp.besseli(order, x) * mp.exp(-abs(x))

    return compute


def _lgamma(x: Real) -> Real:
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1000 else mp.re(mp.loggamma(x))


def polygamma_of(order: int) -> Callable[[Real], Real]:
    """By its series: mpmath's polygamma fails on the left, its zeta function far to the right."""

    @functools.cache
    def coefficients(precision: int) -> list[Real]:
        return [
            mp.bernoulli(2 * k) * mp.rf(order + 1, 2 * k - 1) / mp.factorial(2 * k)
            for k in range(25)
        ]

    def compute(x: Real) -> Real:
        steps = max(int(mp.ceil(30 - x)), 0)
        total = mp.fsum([(x + k) ** -(order + 1) for k in range(steps)])
        y = x + steps
        tail = y**-order / order + y ** -(order + 1) / 2
        series = mp.polyval(coefficients(mp.mp.prec)[:0:-1], y**-2)
        return (
            (-1) ** (order + 1) * mp.factorial(order) * (total + tail + series * y ** -(order + 2))
        )

    return compute


def _logaddexp(base: int | None) -> Callable[[Real, Real], Real]:
    def compute(x: Real, y: Real) -> Real:
        scale = mp.log(base) if base else mp.mpf(1)
        return max(x, y) + mp.log1p(mp.exp(-abs(x - y) * scale)) / scale

    return compute


def _division(name: str) -> Callable[[Real, Real], Real]:
    """What is left by a whole quotient, or the quotient, which may have a thousand digits."""

    def compute(x: Real, y: Real) -> Real:
        a, b = Fraction(float(x)), Fraction(float(y))
        quotient = math.floor(a / b)
        if name == "floor_divide":
            return mp.mpf(quotient)
        rest = a - (math.trunc(a / b) if name == "fmod" else quotient) * b
        return mp.mpf(rest.numerator) / rest.denominator

    return compute


REFERENCES: Final[Mapping[str, Callable[..., Real]]] = {
    "exp": mp.exp,
    "exp2": lambda x: mp.mpf(2) ** x,
    "expm1": mp.expm1,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "log": mp.log,
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": mp.log10,
    "log1p": mp.log1p,
    "sqrt": mp.sqrt,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "pow": lambda x, y: x**y,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "tanh": mp.tanh,
    "asin": mp.asin,
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "asinh": mp.asinh,
    "acosh": mp.acosh,
    "atanh": mp.atanh,
    "cbrt": _cbrt,
    "hypot": mp.hypot,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfinv": mp.erfinv,
    "lgamma": _lgamma,
    "digamma": mp.digamma,
    "polygamma": polygamma_of(1),
    "i0e": _scaled_bessel(0),
    "i1e": _scaled_bessel(1),
    **{name: _division(name) for name in ("fmod", "remainder", "floor_divide")},
    "logaddexp": _logaddexp(None),
    "logaddexp2": _logaddexp(2),
    "zeta": mp.zeta,
    **{f"polygamma of order {order}": polygamma_of(order) for order in (2, 4, 8)},
}

# Intervals that the arguments are drawn from, in equal parts: where functions have their digits,
# and across their reductions. "any" draws floats of all exponents, "positive" those above 0.
Interval = tuple[float, float] | str
_NEAR: Final = ((-1.0, 1.0), (-20.0, 20.0), "any")
_POSITIVE: Final = ((0.5, 2.0), (0.97, 1.03), (0.0, 100.0), "positive")
_EXPONENT: Final = (*_NEAR, (-750.0, 750.0), (-105.0, 105.0))
_UNIT: Final = ((-1.0, 1.0), (-0.1, 0.1), (0.9, 1.0))
_ANGLE: Final = ((-1.6, 1.6), (-100.0, 100.0), (-1e5, 1e5), (-1e9, 1e9), "multiples", "any")
DOMAINS: Final[Mapping[str, Sequence[Interval]]] = {
    **dict.fromkeys(("exp", "expm1", "sigmoid", "softplus", "sinh", "cosh", "tanh"), _EXPONENT),
    "exp2": (*_NEAR, (-1076.0, 1025.0), (-150.0, 129.0)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt"), _POSITIVE),
    "log1p": ((-0.5, 1.0), (-0.01, 0.01), (-1.0, 0.0), "positive"),
    **dict.fromkeys(("sin", "cos", "tan"), _ANGLE),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv"), _UNIT),
    "acosh": ((1.0, 1.1), (1.0, 10.0), (1.0, 1e10)),
    **dict.fromkeys(("erf", "erfc"), ((-1.0, 1.0), (-6.0, 6.0), (-28.0, 28.0))),
    **dict.fromkeys(
        ("lgamma", "digamma"),
        ((0.0, 3.0), (0.0, 40.0), (-20.0, 0.0), (-1e3, 0.0), (1e2, 1e6)),
    ),
    "polygamma": ((0.0, 3.0), (0.0, 40.0), (-20.0, 0.0), (1e2, 1e6)),
    **{f"polygamma of order {n}": ((0.0, 3.0), (0.0, 40.0), (1e2, 1e6)) for n in (2, 4, 8)},
    # Beside 0 on the left there are roots.
    **dict.fromkeys(("logaddexp", "logaddexp2"), ((0.0, 1.0), (0.0, 50.0), "positive")),
    **dict.fromkeys(("i0e", "i1e"), ((-1.0, 1.0), (-20.0, 20.0), (-500.0, 500.0))),
}
# Of functions with attributes, the ones that are measured.
ATTRIBUTES: Final[Mapping[str, Mapping[str, int]]] = {
    "polygamma": {"order": 1},
    **{f"polygamma of order {order}": {"order": order} for order in (2, 4, 8)},
}
DIVISIONS: Final = ("fmod", "remainder", "floor_divide")
# Those that are made of others.
COMPOSED: Final[Mapping[str, Callable[..., Any]]] = {
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
    "zeta": zeta,
}
BINARY: Final = frozenset({"pow", "atan2", "hypot", *DIVISIONS, *COMPOSED})


def _drawn(interval: Interval, dtype: np.dtype[Any], count: int, seed: int) -> NDArray:
    rng = np.random.default_rng(seed)
    if isinstance(interval, tuple):
        return rng.uniform(*interval, count).astype(dtype)
    if interval == "multiples":  # the floats nearest to multiples of pi/2, where angles cancel
        return (rng.integers(-(2**20), 2**20, count) * (np.pi / 2)).astype(dtype)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=np.uint64, endpoint=False)
    found = bits.astype(f"u{dtype.itemsize}").view(dtype)
    found = np.where(np.isfinite(found), found, dtype.type(0.5))
    return np.abs(found) if interval == "positive" else found


def sample(name: str, dtype: np.dtype[Any], count: int, seed: int = 0) -> list[NDArray]:
    """About `count` arguments of a function, a column per operand."""
    if name == "pow":
        return _powers(dtype, count, seed)
    if name == "zeta":
        sides = ((1.0, 20.0), (0.0, 30.0))
        return [_drawn(side, dtype, count // 50, seed + c) for c, side in enumerate(sides)]
    intervals = DOMAINS.get(name, _NEAR)
    part = -(-count // len(intervals))
    columns = range(2 if name in BINARY else 1)
    return [
        np.concatenate([_drawn(i, dtype, part, seed + 2 * n + c) for n, i in enumerate(intervals)])
        for c in columns
    ]


def _powers(dtype: np.dtype[Any], count: int, seed: int) -> list[NDArray]:
    """Bases of all sizes, with exponents that lead to results of all sizes."""
    rng = np.random.default_rng(seed)
    part = -(-count // 2)
    near = 1 + rng.uniform(-0.5, 1, part) * 2.0 ** -rng.integers(0, 20, part)
    x = np.concatenate([near.astype(dtype), np.abs(_drawn("positive", dtype, part, seed))])
    x = np.where((x == 0) | (x == 1), dtype.type(3), x)
    reach = 745.0 if dtype.itemsize == 8 else 103.0
    y = rng.uniform(-reach, reach, x.size) / np.log(x.astype(np.float64))
    return [x, y.astype(dtype)]


def exact(name: str, columns: Sequence[NDArray]) -> Exact:
    """The function's values to about 100 bits; NaN where mpmath has none."""
    reference = REFERENCES[name]
    found = Exact(np.empty(columns[0].shape), np.zeros(columns[0].shape))
    with mp.workprec(PRECISION):
        for place, arguments in enumerate(zip(*columns, strict=True)):
            value = _value(reference, [mp.mpf(float(a)) for a in arguments])
            high = _as_float(value)
            found.high[place] = high
            if np.isfinite(high):
                unit = mp.ldexp(1, int(_last_place(np.float64(high), _DOUBLE)))
                found.rest[place] = float((value - mp.mpf(high)) / unit)
    return found


def _value(reference: Callable[..., Real], arguments: list[Real]) -> Real:
    try:
        value = reference(*arguments)
    except (ValueError, ZeroDivisionError, mp.libmp.ComplexResult):
        return mp.nan
    return value if isinstance(value, mp.mpf) else mp.nan


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _last_place(x: Any, dtype: np.dtype[Any], below: Any = 0) -> Any:
    """The exponent of the last place of floats of a dtype at x, or just below x if that is 1."""
    info = np.finfo(dtype)
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    first = exponent - 1 - (below & (np.abs(mantissa) == 0.5))
    return np.maximum(first, int(info.minexp)) - int(info.nmant)


def errors(got: NDArray, want: Exact) -> NDArray:
    """How far results are off, in ulps; infinite if only one of the two is NaN or infinite."""
    below = np.sign(want.high) * want.rest < 0
    unit = np.ldexp(1.0, _last_place(want.high, got.dtype, below))
    missing = want.rest * (np.ldexp(1.0, _last_place(want.high, _DOUBLE)) / unit)
    with np.errstate(all="ignore"):
        rounded = want.high.astype(got.dtype)
        off = np.abs((got.astype(np.float64) - want.high) / unit - missing)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    return np.where(finite, off, np.where(same, 0.0, np.inf))


def native(name: str, columns: Sequence[NDArray], lanes: int | None = None) -> NDArray:
    """What our code gives; of functions that are composed, in compiled programs."""
    if name in COMPOSED:
        return np.asarray(weft.jit(COMPOSED[name])(*columns))
    attributes = ATTRIBUTES.get(name, {})

    def emit(f: Function, *values: V) -> V:
        if name in DIVISIONS:
            divided: V = getattr(division, name)(f, *values)
            return divided
        return vector_math.call(f, name.split()[0], *values, **attributes)

    return map_lanes(emit, columns, columns[0].dtype, lanes)


class Measured(NamedTuple):
    """The largest error found."""

    name: str
    dtype: str
    ulps: float
    at: tuple[float, ...]


def measure(name: str, dtype: np.dtype[Any], count: int, seed: int = 0) -> Measured:
    """The largest error of one function on a sample."""
    columns = sample(name, dtype, count, seed)
    off = errors(native(name, columns), exact(name, columns))
    worst = int(np.argmax(off))
    at = tuple(float(column[worst]) for column in columns)
    return Measured(name, dtype.name, float(off[worst]), at)
