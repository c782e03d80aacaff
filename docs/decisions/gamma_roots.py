"""Prints the tables of compiler/lower/llvm/math/gamma_roots.py.

Each block of lines is one root left of 0: the interval that its expansion serves, the root in
three parts, the rest of the first coefficient, then coefficients in powers of the distance to the
root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import chebyt, cos, digamma, fabs, gamma, log, mp, mpf, pi, taylor

Real = Any  # mpmath's numbers have no types
HEADER = 6  # numbers of a root before its coefficients


def log_gamma(x: Real) -> Real:
    return log(fabs(gamma(x)))


def crossing(function: Callable[[Real], Real], low: Real, high: Real) -> Real:
    """Where a function that has different signs at both ends is 0."""
    is_positive = function(low) > 0
    for _ in range(mp.prec):
        middle = (low + high) / 2
        if (function(middle) > 0) == is_positive:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def fitted(function: Callable[[Real], Real], low: Real, high: Real, count: int) -> list[float]:
    """Coefficients of a polynomial that is near the function between two bounds."""
    return [float(c) for c in fitted_exactly(function, low, high, count)]


def fitted_exactly(
    function: Callable[[Real], Real], low: Real, high: Real, count: int
) -> list[Real]:
    """The same, not rounded."""
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [cos(pi * (i + mpf(1) / 2) / count) for i in range(count)]
    values = [function(middle + half * node) for node in nodes]
    total = [mpf(0)] * count
    for degree in range(count):
        weight = mpf(2 if degree else 1) / count
        share = weight * sum(v * chebyt(degree, n) for v, n in zip(values, nodes, strict=True))
        # In powers of the argument itself, by the expansion of a polynomial, which is exact.
        powers = taylor(lambda t, d=degree: chebyt(d, (t - middle) / half), 0, degree)
        for power, c in enumerate(powers):
            total[power] += share * c
    return total


def parts(x: Real) -> tuple[float, float]:
    return float(x), float(x - mpf(float(x)))


def row(
    function: Callable[[Real], Real], bounds: list[Real], root: Real, count: int
) -> list[float]:
    low, high = sorted(bounds)
    slope = fitted_exactly(lambda t: function(root + t) / t, low - root, high - root, count)
    first, rest = parts(slope[0])
    third = float(root - sum(map(mpf, parts(root))))
    return [float(low), float(high), *parts(root), third, rest, first, *map(float, slope[1:])]


def digamma_rows(intervals: int, reach: Real, count: int) -> list[list[float]]:
    rows = []
    for n in range(intervals):
        edge = mpf(10) ** -20
        ends = mpf(-n - 1) + edge, mpf(-n) - edge
        bounds = [crossing(lambda x, y=y: digamma(x) - y, *ends) for y in (-reach, reach)]
        rows.append(row(digamma, bounds, crossing(digamma, *ends), count))
    return rows


def log_gamma_rows(first: int, last: int, reach: Real, count: int) -> list[list[float]]:
    rows = []
    for n in range(first, last):
        edge = mpf(10) ** -40
        turn = crossing(digamma, mpf(-n - 1) + edge, mpf(-n) - edge)
        for pole in (-n - 1, -n):
            side = mpf(pole) + edge * (1 if pole == -n - 1 else -1)
            bounds = [
                crossing(lambda x, y=y: log_gamma(x) - y, side, turn) for y in (reach, -reach)
            ]
            if float(bounds[0]) != float(bounds[1]):
                rows.append(row(log_gamma, bounds, crossing(log_gamma, side, turn), count))
    return rows


def show(name: str, rows: list[list[float]]) -> None:
    print(f"{name}: Final = _Table(\n    {len(rows[0]) - HEADER},")
    print('    """')
    for numbers in rows:
        line = ""
        for number in map(repr, numbers):
            if len(line) + len(number) > 98:
                print(line)
                line = ""
            line += (" " if line else "") + number
        print(line)
    print('""",\n)')


if __name__ == "__main__":
    mp.prec = 300
    # How large values may be: beyond that the ordinary ways are accurate.
    show("_DIGAMMA", digamma_rows(20, mpf("0.27"), 11))
    show("_LGAMMA", log_gamma_rows(2, 18, 1 / mpf(16), 15))
