"""Inverse, error, gamma and Bessel functions and roots: accuracy, special values, and the same bits
for every number of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import mpmath as mp
import numpy as np
import pytest

from tests.compiler.lower.harness import map_lanes
from tests.compiler.lower.llvm.math.ulp import (
    BINARY,
    DIVISIONS,
    REFERENCES,
    Exact,
    NDArray,
    errors,
    exact,
    measure,
    native,
    polygamma_of,
)
from weft.compiler.lower.llvm import math
from weft.compiler.lower.llvm.math import bessel, erf, gamma, inverse, roots
from weft.compiler.ops import TABLE

FAMILIES: Final = (inverse, roots, erf, gamma, bessel)
NAMES: Final = [name for family in FAMILIES for name in family.FUNCTIONS if name != "polygamma"]
SINGLE: Final[np.dtype[Any]] = np.dtype(np.float32)
DOUBLE: Final[np.dtype[Any]] = np.dtype(np.float64)
ORDERS: Final = (1, 2, 3, 7, 8)

# The largest errors allowed, for f32 and f64, in ulps. What is not listed is within 1 ulp.
MOST_ULPS: Final[Mapping[str, tuple[float, float]]] = {
    "lgamma": (0.51, 2.0),
    "digamma": (0.51, 1.1),
}
MOST_ULPS_OF_POLYGAMMA: Final = (0.51, 0.55)

# Where arguments are drawn from, in equal parts: everyday ones, and those where a function changes
# its method, has a root or leaves its domain. "any" is floats of all exponents and both signs.
_UNIT: Final = ((-1.0, 1.0), (-0.6, -0.4), (0.45, 0.55), (0.99, 1.0), "small")
_GAMMA: Final = ((0.0, 0.6), (0.9, 1.1), (1.3, 1.6), (1.9, 2.6), (2.9, 3.1), (0.0, 40.0), "large")
SAMPLES: Final[Mapping[str, Sequence[tuple[float, float] | str]]] = {
    **dict.fromkeys(("asin", "acos", "atanh"), _UNIT),
    "erfinv": ((-1.0, 1.0), (0.99, 1.0)),
    **dict.fromkeys(("atan", "asinh"), ((-3.0, 3.0), (0.4, 0.6), (0.9, 1.1), (1.9, 2.1), "any")),
    "acosh": ((1.0, 1.0001), (1.0, 2.0), (1.4, 1.6), (1.0, 1e10), "large"),
    **dict.fromkeys(("atan2", "hypot"), ((-1.0, 1.0), (0.9, 1.0), "any")),
    "cbrt": ((-8.0, 8.0), (0.9, 1.1), "any"),
    "erf": ((-1.0, 1.0), (-6.0, 6.0), (0.2, 0.3), "small"),
    "erfc": ((-1.0, 1.0), (-6.0, 6.0), (0.0, 10.5), (8.0, 27.3), "small"),
    "lgamma": _GAMMA,
    "digamma": (*_GAMMA, (1.46, 1.464)),
    **dict.fromkeys(("i0e", "i1e"), ((-2.0, 2.0), (-20.0, 20.0), (7.0, 13.0), (-500.0, 500.0))),
}
# mpmath's own functions are slow, or lose digits far out.
COUNTS: Final = {"erfinv": 300, "i0e": 800, "i1e": 800, "digamma": 800}

every_dtype = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
every_name = pytest.mark.parametrize("name", NAMES)


def most_ulps(name: str, dtype: np.dtype[Any]) -> float:
    return MOST_ULPS.get(name, (1.0, 1.0))[dtype.itemsize == 8]


def drawn(interval: tuple[float, float] | str, dtype: np.dtype[Any], count: int) -> NDArray:
    rng = np.random.default_rng(count)
    if isinstance(interval, tuple):
        return rng.uniform(*interval, count).astype(dtype)
    reach = np.log2(float(np.finfo(dtype).max)) - 0.01
    least, most = {"any": (-reach, reach), "small": (-reach, 0), "large": (0, reach * 0.98)}[
        interval
    ]
    found = np.exp2(rng.uniform(least, most, count)).astype(dtype)
    return found if interval == "large" else found * rng.choice([-1, 1], count).astype(dtype)


def columns_for(name: str, dtype: np.dtype[Any], count: int) -> list[NDArray]:
    intervals = SAMPLES[name]
    part = -(-count // len(intervals))
    first = np.concatenate([drawn(interval, dtype, part) for interval in intervals])
    if name not in BINARY:
        return [first]
    return [first, np.concatenate([drawn(interval, dtype, part)[::-1] for interval in intervals])]


def reference(name: str, columns: Sequence[NDArray], **attributes: Any) -> NDArray:
    """What NumPy or SciPy computes, rounded to the dtype."""
    with np.errstate(all="ignore"):
        found = TABLE[name].reference(*columns, **attributes)
        return np.asarray(found).astype(columns[0].dtype)


def polygamma(order: int, x: NDArray, lanes: int | None = None) -> NDArray:
    return map_lanes(
        lambda f, value: math.call(f, "polygamma", value, order=order), [x], x.dtype, lanes
    )


def specials(dtype: np.dtype[Any]) -> NDArray:
    info = np.finfo(dtype)
    sizes = [0, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 5, 10, 28, 100, 1e5, info.max, info.tiny, np.inf]
    sizes += [info.smallest_subnormal, 1 + info.eps, 1 - info.epsneg, 2.0**info.nmant, 1e-20, 1e20]
    positive = np.array(sizes).astype(dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def assert_same(got: NDArray, want: NDArray, at: Sequence[NDArray], ulps: float = 0.0) -> None:
    """Equal up to some ulps, with zeros and infinities of the same sign; any NaN is a NaN."""
    with np.errstate(all="ignore"):
        near = np.abs(got - want) <= ulps * np.spacing(np.abs(want))
    same = (got == want) | near | (np.isnan(got) & np.isnan(want))
    same &= (np.signbit(got) == np.signbit(want)) | np.isnan(want)
    bad = ~same
    assert same.all(), ([column[bad][:5] for column in at], got[bad][:5], want[bad][:5])


def worst(got: NDArray, want: Exact, at: Sequence[NDArray]) -> tuple[float, list[float]]:
    off = errors(got, want)
    place = int(np.argmax(off))
    return float(off[place]), [float(column[place]) for column in at]


def exactly(compute: Callable[[Any], Any], x: NDArray) -> Exact:
    """Values of a function to many digits, as `ulp.exact` has them."""
    found = Exact(np.empty(x.shape), np.zeros(x.shape))
    with mp.workprec(300):
        for place, number in enumerate(x):
            value = compute(mp.mpf(float(number)))
            found.high[place] = float(value)
            spacing = mp.mpf(float(np.spacing(np.abs(found.high[place]))))
            found.rest[place] = float((value - mp.mpf(float(found.high[place]))) / spacing)
    return found


@every_dtype
@every_name
def test_accuracy(name: str, dtype: np.dtype[Any]) -> None:
    columns = columns_for(name, dtype, COUNTS.get(name, 2000))
    found, at = worst(native(name, columns), exact(name, columns), columns)
    assert found <= most_ulps(name, dtype), (found, at)


@every_dtype
@pytest.mark.parametrize("order", ORDERS)
def test_accuracy_of_polygamma(order: int, dtype: np.dtype[Any]) -> None:
    parts = [(0.001, 2.0), (2.0, 12.0), (6.0, 8.0), (10.0, 1e3), (4e15, 8e15), (-30.0, 0.0)]
    if order % 2 == 0:  # which has roots on the left
        parts.pop()
    x = np.concatenate([drawn(part, dtype, 60) for part in parts])
    found, at = worst(polygamma(order, x), exactly(polygamma_of(order), x), [x])
    assert found <= MOST_ULPS_OF_POLYGAMMA[dtype.itemsize == 8], (found, at)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_absolute_error_on_the_left(name: str) -> None:
    """Between the poles are roots, near which errors are at most those of the terms that cancel."""
    x = np.random.default_rng(3).uniform(-40, 0, 600)
    got, want = native(name, [x]), exact(name, [x]).high
    with np.errstate(divide="ignore"):
        size = np.abs(want) + np.abs(native(name, [np.abs(x)])) + 1
    assert np.max(np.abs(got - want) / size) <= 2.0**-52


def between(function: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Where a function of mpmath changes its sign, by halving."""
    is_positive = function(low) > 0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (function(middle) > 0) == is_positive else (low, middle)
    return middle


def roots_of_digamma(last: int) -> list[Any]:
    edge = mp.mpf(10) ** -30
    return [between(mp.digamma, -n - 1 + edge, -n - edge) for n in range(last)]


def roots_of_lgamma(last: int) -> list[Any]:
    """Two between any two poles from -2 on, at both sides of a root of digamma."""
    found = []
    for n, turn in list(enumerate(roots_of_digamma(last)))[2:]:
        for pole in (-n - 1, -n):
            side = pole + (turn - pole) * mp.mpf(10) ** -25
            found.append(between(lambda x: mp.log(abs(mp.gamma(x))), side, turn))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "roots"), [("lgamma", roots_of_lgamma), ("digamma", roots_of_digamma)]
)
def test_roots_on_the_left(name: str, roots: Callable[[int], list[Any]]) -> None:
    """At the floats next to a root, and as far around it as from the nearest pole."""
    rng, parts = np.random.default_rng(3), []
    with mp.workprec(300):
        for root in map(float, roots(18)):
            reach = abs(root - round(root))
            parts.append(root + np.arange(-2, 3) * np.spacing(abs(root)))
            parts.append(root + reach * rng.choice([-1, 1], 12) * 10.0 ** rng.uniform(-14, 0, 12))
    x = np.concatenate([*parts, rng.uniform(-18, 0, 300)])
    x = x[x != np.round(x)]
    got = native(name, [x])
    found, at = worst(got, exactly(REFERENCES[name], x), [x])
    assert found <= 1.1, (found, at)
    assert_same(native(name, [x], lanes=0), got, [x])


def test_roots_of_digamma_far_to_the_left() -> None:
    """There is one between any two poles, in about the place where pi * cot(pi * x) is log(-x)."""
    rng, parts = np.random.default_rng(3), []
    numbers = [*range(19, 32), 87, *(2.0 ** rng.uniform(5, 20, 12)).astype(int), 2**20, 2**40]
    with mp.workprec(200):
        for n in map(int, numbers):
            guess = -n + mp.atan(mp.pi / mp.log(n)) / mp.pi
            root = float(mp.findroot(mp.digamma, guess))
            parts.append(root + np.arange(-2, 3) * np.spacing(abs(root)))
            parts.append(root + rng.choice([-1, 1], 4) * 10.0 ** rng.uniform(-8, -1.5, 4))
    x = np.concatenate(parts)
    got = native("digamma", [x])
    found, at = worst(got, exactly(REFERENCES["digamma"], x), [x])
    assert found <= 1.1, (found, at)
    assert_same(native("digamma", [x], lanes=0), got, [x])


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
@pytest.mark.parametrize("name", ["zeta", "logaddexp", "logaddexp2", *DIVISIONS])
def test_accuracy_of_two_arguments(name: str, dtype: np.dtype[Any]) -> None:
    """`floor_divide` is NumPy's, whose long quotients are not always the nearest."""
    found = measure(name, dtype, 2000, seed=5)
    assert found.ulps <= {"zeta": 1.5, "floor_divide": 2.0}.get(name, 1.0), found


def test_atan2_of_quotients_below_the_normal_numbers() -> None:
    y = np.float32(9.994752889005972e-39) * np.arange(1, 200, dtype=SINGLE) / 100
    columns = [y.astype(SINGLE), np.linspace(0.3, 0.9, y.size).astype(SINGLE)]
    found, at = worst(native("atan2", columns), exact("atan2", columns), columns)
    assert found <= 1, (found, at)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_f32_is_accurate_on_the_left_too(name: str) -> None:
    x = np.random.default_rng(3).uniform(-20, 0, 500).astype(SINGLE)
    found, at = worst(native(name, [x]), exact(name, [x]), [x])
    assert found <= 0.51, (found, at)


def is_known_to_scipy(x: NDArray) -> NDArray:
    """Not so are lgamma of subnormal numbers, which is infinite there, and both near 1, near the
    poles and between them, where digits are lost.
    """
    beside_one = (np.abs(np.abs(x) - 1) < 1e-6) & (np.abs(x) != 1)
    between = (x < -1e-19) & (x != np.round(x))
    subnormal = (x != 0) & (np.abs(x) < np.finfo(DOUBLE).tiny)
    return np.asarray(~(beside_one | between | subnormal))


@every_dtype
@every_name
def test_special_values_are_the_references(name: str, dtype: np.dtype[Any]) -> None:
    values = specials(dtype)
    if name in ("lgamma", "digamma"):
        values = values[is_known_to_scipy(values)]
    columns = [values]
    if name in BINARY:
        columns = [np.ravel(column).copy() for column in np.meshgrid(values, values)]
    # SciPy is some ulps off itself.
    assert_same(native(name, columns), reference(name, columns), columns, ulps=8)


@every_dtype
@pytest.mark.parametrize("order", ORDERS)
def test_special_values_of_polygamma(order: int, dtype: np.dtype[Any]) -> None:
    values = specials(dtype)
    # Between poles SciPy loses digits, and takes as many steps as an operand is large.
    values = values[(values == np.round(values)) | ~(values < 0) | (np.abs(values) < 1e-10)]
    want = reference("polygamma", [values], order=order)
    assert_same(polygamma(order, values), want, [values], ulps=16)


def test_lgamma_of_subnormal_numbers_is_a_logarithm() -> None:
    x = np.array([5e-324, 1e-310, -1e-310])
    assert_same(native("lgamma", [x]), -np.log(np.abs(x)), [x], ulps=1)


@pytest.mark.parametrize("order", [20, 171, 200])
def test_polygamma_of_high_order_has_values(order: int) -> None:
    """The factorial overflows from 171 on, as it does in SciPy."""
    x = np.array([0.5, 1.0, 2.0])
    got = polygamma(order, x)
    assert_same(got, reference("polygamma", [x], order=order), [x], ulps=16)


@every_dtype
@every_name
def test_bits_do_not_depend_on_lanes(name: str, dtype: np.dtype[Any]) -> None:
    columns = columns_for(name, dtype, 300)
    if name not in BINARY:
        columns = [np.concatenate([columns[0], specials(dtype)])]
    assert_same(native(name, columns, lanes=0), native(name, columns), columns)


def test_bits_of_polygamma_do_not_depend_on_lanes() -> None:
    x = np.concatenate([drawn((-20.0, 20.0), DOUBLE, 300), specials(DOUBLE)])
    assert_same(polygamma(2, x, lanes=0), polygamma(2, x), [x])
