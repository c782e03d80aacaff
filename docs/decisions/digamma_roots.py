"""Prints the tables of compiler/lower/llvm/math/digamma_roots.py: polynomials whose coefficients
are pairs of floats, fitted to about 2**-108.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import atanh, cot, digamma, log, mp, mpf, pi, sqrt

from docs.decisions.gamma_roots import fitted_exactly, parts

Real = Any  # mpmath's numbers have no types


def of_logarithm(z: Real) -> Real:
    """log((1 + s) / (1 - s)) / s, where z = s**2."""
    return 2 * atanh(sqrt(z)) / sqrt(z)


def of_cotangent(z: Real) -> Real:
    """(pi * cot(pi * d) - 1 / d) / d, where z = d**2."""
    return (pi * cot(pi * sqrt(z)) - 1 / sqrt(z)) / sqrt(z)


def of_tail(z: Real) -> Real:
    """(log(y) - 1 / (2 * y) - digamma(y)) * y**2, where z = y**-2."""
    return (log(1 / sqrt(z)) - sqrt(z) / 2 - digamma(1 / sqrt(z))) / z


def show(name: str, function: Callable[[Real], Real], high: Real, count: int) -> None:
    print(f"{name}: Final = (")
    for coefficient in fitted_exactly(function, mpf(0), high, count):
        print(f"    {parts(coefficient)},")
    print(")")


if __name__ == "__main__":
    mp.prec = 400
    show("_LOGARITHM", of_logarithm, mpf("0.02945"), 15)
    show("_COTANGENT", of_cotangent, mpf("0.0841"), 20)
    show("_TAIL", of_tail, 1 / mpf(390), 11)
    log_2 = log(mpf(2))
    first = mpf(0.6931471805598903)
    second = mpf(float(log_2 - first))
    print(f"_LN2: Final = {(float(first), float(second), float(log_2 - first - second))}")
