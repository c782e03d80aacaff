"""Exponentials, logarithms, powers, circular and hyperbolic functions: accuracy, special values,
and the same bits for every number of lanes.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

from tests.compiler.lower.llvm.math.ulp import (
    BINARY,
    NDArray,
    errors,
    exact,
    measure,
    native,
    sample,
)
from weft.compiler.lower.llvm.emit.function import Module
from weft.compiler.lower.llvm.emit.types import F32, VOID
from weft.compiler.lower.llvm.math import call as math_call
from weft.compiler.lower.llvm.math import circular, exponential, hyperbolic, logarithm, power
from weft.compiler.ops import TABLE

FAMILIES: Final = (exponential, logarithm, power, circular, hyperbolic)
NAMES: Final = [name for family in FAMILIES for name in family.FUNCTIONS]
DTYPES: Final = [np.dtype(np.float32), np.dtype(np.float64)]
# NumPy rounds the root and the quotient, and rsqrt of f64 gives the same.
MOST_ULPS: Final = {("rsqrt", "float64"): 1.5}
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
every_name = pytest.mark.parametrize("name", NAMES)


def most_ulps(name: str, dtype: np.dtype[Any]) -> float:
    return MOST_ULPS.get((name, dtype.name), 1.0)


def check(name: str, columns: list[NDArray]) -> None:
    got = native(name, columns)
    off = errors(got, exact(name, columns))
    worst = int(np.argmax(off))
    at = [column[worst] for column in columns]
    assert off[worst] <= most_ulps(name, columns[0].dtype), (at, got[worst], off[worst])


def reference(name: str, columns: list[NDArray]) -> NDArray:
    """What NumPy computes, rounded to the dtype."""
    with np.errstate(all="ignore"):
        return np.asarray(TABLE[name].reference(*columns)).astype(columns[0].dtype)


def assert_same_bits(x: NDArray, y: NDArray) -> None:
    """Equal, zeros of equal sign; any NaN is a NaN."""
    same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)
    assert same.all(), (np.flatnonzero(~same)[:5], x[~same][:5], y[~same][:5])


def specials(dtype: np.dtype[Any]) -> NDArray:
    info = np.finfo(dtype)
    sizes = [0, 0.5, 1, 1.5, 2, 3, 10, 1e5, info.max, info.tiny, info.smallest_subnormal, np.inf]
    sizes += [1 + info.eps, 1 - info.epsneg, 2.0**info.nmant + 1, info.max / 2, info.tiny * 0.75]
    positive = np.array(sizes).astype(dtype)
    quiet = np.array([0x7FC01234, 0xFFC00001], np.uint32).view(np.float32).astype(dtype)
    return np.concatenate([positive, -positive, quiet, np.array([np.nan], dtype)])


@every_dtype
@every_name
def test_is_within_an_ulp(name: str, dtype: np.dtype[Any]) -> None:
    found = measure(name, dtype, 1500, seed=7)
    assert found.ulps <= most_ulps(name, dtype), found


@every_dtype
@every_name
def test_special_values_are_numpys(name: str, dtype: np.dtype[Any]) -> None:
    values = specials(dtype)
    columns = [values]
    if name in BINARY:
        columns = [np.ravel(column).copy() for column in np.meshgrid(values, values)]
    got, want = native(name, columns), reference(name, columns)
    with np.errstate(invalid="ignore", over="ignore"):
        near = (want != 0) & (np.abs(got - want) <= np.spacing(np.abs(want)))
    assert_same_bits(np.where(near, want, got), want)


@every_dtype
@every_name
def test_every_number_of_lanes_gives_the_same_bits(name: str, dtype: np.dtype[Any]) -> None:
    columns = sample(name, dtype, 400, seed=3)
    for column in columns:
        column[5:30] = np.resize(specials(dtype), 25)
    one_by_one = native(name, columns, lanes=0)
    assert_same_bits(native(name, columns, lanes=4), one_by_one)
    assert_same_bits(native(name, columns), one_by_one)


@every_dtype
@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", "sigmoid", "softplus", "sinh", "cosh"])
def test_edges_of_the_range(name: str, dtype: np.dtype[Any]) -> None:
    """Where results overflow, become subnormal and vanish, and where the reduction rounds."""
    edges = [709.7827128933840, 710.4758600739439, -708.3964185322641, -745.1332191019412, -745.14]
    edges += [88.72283905206835, 89.4159862922329, -87.33654475055310, -103.9720770839918, -104.0]
    edges += [1024.0, 1023.999, -1022.0, -1074.0, -1074.9, 128.0, 127.9999, -126.0, -149.0, -149.4]
    edges += [(n + 0.5) * np.log(2) for n in range(-40, 40)]
    middle = np.array([*edges, *np.negative(edges)]).astype(dtype)
    check(name, [np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9)])])


@every_dtype
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_that_cancel(name: str, dtype: np.dtype[Any]) -> None:
    """Floats next to multiples of pi/2, small and huge: 6381956970095103 * 2**797 is the double
    that is nearest of all.
    """
    turns = np.concatenate([np.arange(1, 400), 2.0 ** np.arange(8, 62), 3 * 5.0 ** np.arange(30)])
    near = (turns * (np.pi / 2)).astype(dtype)
    hard = [6381956970095103 * 2.0**797, 2.0**1023, 1e22, 2.0**30, 2.0**17, 16367173 * 2.0**72]
    with np.errstate(over="ignore"):
        others = np.array(hard).astype(dtype)
    values = np.concatenate([near, np.nextafter(near, 0), others[np.isfinite(others)]])
    check(name, [np.concatenate([values, -values])])


@every_dtype
@pytest.mark.parametrize("name", ["log", "log2", "log10", "log1p"])
def test_logarithms_near_their_zero(name: str, dtype: np.dtype[Any]) -> None:
    tiny = np.ldexp(1.0, -np.arange(1, 60))
    shift = 0.0 if name == "log1p" else 1.0
    values = np.concatenate([shift + tiny, shift - tiny]).astype(dtype)
    check(name, [values[(values != shift) & (values > shift - 1)]])


@every_dtype
def test_exact_logarithms_and_powers_are_exact(dtype: np.dtype[Any]) -> None:
    info = np.finfo(dtype)
    whole = np.arange(info.minexp, info.maxexp).astype(dtype)
    assert_same_bits(native("exp2", [whole]), np.ldexp(dtype.type(1), whole.astype(int)))
    assert_same_bits(native("log2", [np.ldexp(dtype.type(1), whole.astype(int))]), whole)
    base = np.repeat(np.arange(-12, 13).astype(dtype), 5)
    exponent = np.tile(np.arange(5).astype(dtype), 25)
    assert_same_bits(native("pow", [base, exponent]), base**exponent)
    tens = np.array([10.0**n for n in range(11)]).astype(dtype)
    assert_same_bits(native("log10", [tens]), np.arange(11).astype(dtype))


@every_dtype
def test_rsqrt_is_the_reference(dtype: np.dtype[Any]) -> None:
    values = sample("rsqrt", dtype, 100_000)
    assert_same_bits(native("rsqrt", values), reference("rsqrt", values))


@every_dtype
def test_negative_bases(dtype: np.dtype[Any]) -> None:
    base, _ = sample("pow", dtype, 500)
    exponents = np.random.default_rng(1).integers(-9, 9, base.size).astype(dtype)
    exponents[::4] += dtype.type(0.5)
    columns = [-base, exponents]
    got, want = native("pow", columns), reference("pow", columns)
    assert (np.isnan(got) == np.isnan(want)).all()
    assert (np.signbit(got) == np.signbit(want))[~np.isnan(want)].all()


def test_a_function_is_defined_once_for_each_type() -> None:
    module = Module()
    f = module.function("f", VOID, [("x", F32)], flags="")
    x = f.arguments[0]
    math_call(f, "exp", math_call(f, "exp", x))
    f.ret()
    assert sum("define" in line for line in module.text().splitlines()) == 2


def check_near(name: str, columns: list[NDArray], want: NDArray) -> None:
    """Within the bound of results in a wider dtype, and the same infinities and NaN."""
    got = native(name, columns)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        tame = np.isfinite(rounded)
        off = np.where(tame, np.abs(got - want) / np.spacing(np.abs(rounded)), 0)
    assert_same_bits(got[~tame], rounded[~tame])
    off = np.where(np.abs(rounded) == np.finfo(got.dtype).max, 0, off)  # has no spacing
    assert off.max() <= most_ulps(name, got.dtype), [column[np.argmax(off)] for column in columns]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in BINARY])
def test_all_of_f32_in_strides(name: str) -> None:
    """Every 61st float, against NumPy in f64, which is more than 20 bits better."""
    for start in range(0, 2**32, 2**28):
        x = np.arange(start, start + 2**28, 61).astype(np.uint32).view(np.float32)
        with np.errstate(all="ignore"):
            want = np.asarray(TABLE[name].reference(x), np.float64)
        check_near(name, [x], want)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(np, name)])
def test_many_doubles(name: str) -> None:
    """Against the C library's long double, where that has 64 bits."""
    if np.finfo(np.longdouble).nmant != 63:
        pytest.skip("no wider floats")
    columns = sample(name, np.dtype(np.float64), 2_000_000)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*[column.astype(np.longdouble) for column in columns])
    check_near(name, columns, want)
