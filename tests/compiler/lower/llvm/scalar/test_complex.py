"""Complex elementwise ops in native code: arithmetic bit for bit, functions to a few units."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from tests.compiler.lower.llvm.scalar.runner import Case, run
from tests.compiler.lower.llvm.scalar.test_elementwise import LANES, check
from tests.compiler.lower.llvm.scalar.values import (
    COMPLEXES,
    NDArray,
    crossed,
    from_parts,
    operands,
    same,
)
from tests.compiler.ops import rows_special
from tests.compiler.ops.scalar_oracle import EPSILON
from weft.compiler.ir.dtypes import DType, c64, c128
from weft.compiler.ir.opdef import OpDef
from weft.compiler.ops import arithmetic, special

FUNCTIONS = [f for f in rows_special.FUNCTIONS if f.takes_complex]
INVERSES = (special.asin, special.acos, special.atan, special.asinh, special.acosh, special.atanh)


def plain_product(case: Case) -> NDArray:
    """The product part by part, each operation rounded."""
    z, w = case.arrays
    real = z.real * w.real - z.imag * w.imag
    return from_parts(real, z.real * w.imag + z.imag * w.real)


def test_products() -> None:
    check([Case(arithmetic.mul, operands(d, 2)) for d in COMPLEXES], expected=plain_product)


def test_a_number_times_its_conjugate_is_real() -> None:
    z = np.random.default_rng(0).normal(size=(2, 99))
    case = Case(arithmetic.mul, (from_parts(z[0], z[1]), from_parts(z[0], -z[1])))
    for made in run([case], LANES)[0]:
        assert (made.imag == 0).all()


# --- functions ----------------------------------------------------------------------------------


def points(d: DType, count: int = 400) -> NDArray:
    """Ordinary numbers, numbers of all sizes, close to 1 and i, and on the unit circle."""
    generator = np.random.default_rng(5)
    far = 709 if d is c128 else 88

    def sized(low: float, high: float) -> Any:
        signs = generator.choice([-1, 1], count)
        return np.exp(generator.uniform(low, high, count)) * signs

    angle = generator.uniform(0, 2 * np.pi, count)
    columns = [
        (generator.normal(size=count), generator.normal(size=count)),
        (sized(-3, 3), sized(-3, 3)),
        (sized(-30, 10), sized(-30, 10)),
        (sized(-far, far), sized(-far, far)),
        (sized(far - 3, far), sized(far - 3, far)),
        (1 + sized(-36, -1), sized(-60, -1)),
        (sized(-60, -1), 1 + sized(-36, -1)),
        (np.cos(angle), np.sin(angle)),
    ]
    real, imag = (np.concatenate(part) for part in zip(*columns, strict=True))
    return from_parts(real.astype(d.real.numpy), imag.astype(d.real.numpy))


def error(made: NDArray, wanted: NDArray, d: DType) -> NDArray:
    """How far off, in units of the last place of the whole number."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(wanted), np.finfo(d.real.numpy).tiny / EPSILON[d])
        off: NDArray = np.abs(made.astype(np.complex128) - wanted) / size / EPSILON[d]
        return off


@pytest.mark.parametrize(
    "op", [f.op for f in FUNCTIONS] + [arithmetic.abs_, arithmetic.sign], ids=lambda op: op.name
)
def test_functions(op: OpDef) -> None:
    """Against NumPy in c128, within 6 units of the whole; its own error is among them."""
    cases = [Case(op, (points(d),)) for d in COMPLEXES]
    for case, (vectors, scalars) in zip(cases, run(cases, LANES), strict=True):
        (z,), d = case.arrays, case.dtypes[0]
        with np.errstate(all="ignore"):
            wanted = np.asarray(op.reference(z.astype(np.complex128)))
            is_meant = np.isfinite(wanted.astype(case.result.numpy))
        if op is special.exp2:
            is_meant &= np.abs(z) < 3  # NumPy's z * log(2) is off by its rounding beyond
        assert same(vectors, scalars).all()
        off = np.where(is_meant, error(vectors, wanted, d), 0)
        at = int(np.argmax(off))
        assert off[at] <= 6, f"{case} at {z[at]}: {vectors[at]}, not {wanted[at]}"


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.op.name)
def test_each_part_is_precise(function: rows_special.Function) -> None:
    """Against mpmath: also a part that is small beside the other has its digits."""
    generator = np.random.default_rng(6)
    sizes = np.exp(generator.uniform(-12, 1, (2, 60))) * generator.choice([-1, 1], (2, 60))
    z = from_parts(sizes[0], sizes[1])
    with mpmath.workdps(60):
        exact = np.array([complex(function.compute(mpmath.mpmathify(complex(n)))) for n in z])
    (made, _) = run([Case(function.op, (z,))], 4)[0]
    bound = 12 if function.op is special.rsqrt else 6
    for part, wanted in ((made.real, exact.real), (made.imag, exact.imag)):
        # The real part of expm1 cancels along a curve.
        size = np.abs(exact) if function.op is special.expm1 else np.abs(wanted)
        assert (np.abs(part - wanted) <= bound * EPSILON[c128] * size).all()


PLACES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan])


def agree(z: NDArray, made: NDArray, wanted: NDArray) -> NDArray:
    """Where results agree in kind and sign; where C leaves a sign open, in kind."""
    is_open = np.isnan(wanted) | (np.isinf(z.real) & np.isinf(z.imag))
    parts = [(made.real, wanted.real), (made.imag, wanted.imag)]
    found: NDArray = np.logical_and(
        *[_agree(a, b) | (is_open & _agree(np.abs(a), np.abs(b))) for a, b in parts]
    )
    return found


def _agree(made: NDArray, wanted: NDArray) -> NDArray:
    is_close: NDArray = np.isclose(made, wanted, rtol=1e-6, atol=0, equal_nan=True)
    has_sign: NDArray = np.isnan(wanted) | (np.signbit(made) == np.signbit(wanted))
    return is_close & has_sign


@pytest.mark.parametrize("d", [c64, pytest.param(c128, marks=pytest.mark.slow)], ids=str)
def test_special_values_and_cuts(d: DType) -> None:
    parts = crossed(*[PLACES.astype(d.real.numpy)] * 2)
    z = from_parts(*parts)
    cases = [Case(f.op, (z,)) for f in FUNCTIONS] + [Case(arithmetic.sign, (z,))]
    for case, (vectors, scalars) in zip(cases, run(cases, LANES), strict=True):
        wanted = case.expected()
        if case.op is special.log1p:
            # SciPy loses the sign of a zero imaginary part.
            wanted.imag = np.where(wanted.imag == 0, np.copysign(0, z.imag), wanted.imag)
        for made in (vectors, scalars):
            agrees = agree(z, made, wanted)
            at = int(np.argmin(agrees))
            assert agrees.all(), f"{case} at {z[at]}: {made[at]}, not {wanted[at]}"


# --- powers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", COMPLEXES, ids=str)
def test_powers(d: DType) -> None:
    """The exponential magnifies the rounding of w * log(z), as NumPy's does: up to its size, here
    below 16, so many units.
    """
    generator = np.random.default_rng(7)
    z = from_parts(*generator.normal(size=(2, 402)))
    w = from_parts(*generator.normal(size=(2, 402)) * 2)
    w[:200] = generator.integers(-12, 13, 200)
    case = Case(arithmetic.pow_, (z.astype(d.numpy), w.astype(d.numpy)))
    for made in run([case], LANES)[0]:
        wanted = np.power(*[array.astype(np.complex128) for array in case.arrays])
        assert (error(made, wanted, d) <= 32).all()


def test_powers_of_and_to_zero() -> None:
    z, w = crossed(np.array([0, 1j, 2, np.inf]), np.array([0, 1, 2, 3, 0.5 + 1j]))
    case = Case(arithmetic.pow_, (z, w))
    for made in run([case], LANES)[0]:
        assert agree(z, made, case.expected()).all()
