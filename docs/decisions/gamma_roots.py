"""Prints the tables of compiler/lower/llvm/math/gamma_roots.py.

Each block of lines is one root left of 0: the interval that its expansion serves, the root in two
parts, the distance to the nearest pole if its logarithm is left out (else the value, 0), then
coefficients in powers of the distance to the root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mpmath import chebyt, cos, digamma, fabs, gamma, log, log1p, mp, mpf, pi, taylor

Real = Any  # mpmath's numbers have no types
HEADER = 5  # numbers of a root before its coefficients


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
    return [float(c) for c in total]


def parts(x: Real) -> tuple[float, float]:
    return float(x), float(x - mpf(float(x)))


def digamma_rows(intervals: int, reach: Real, count: int) -> list[list[float]]:
    rows = []
    for n in range(intervals):
        edge = mpf(10) ** -20
        root = crossing(digamma, mpf(-n - 1) + edge, mpf(-n) - edge)
        bounds = [
            crossing(lambda x, y=y: digamma(x) - y, mpf(-n - 1) + edge, mpf(-n) - edge)
            for y in (-reach, reach)
        ]
        slope = fitted(
            lambda t, r=root: digamma(r + t) / t,
            bounds[0] - root,
            bounds[1] - root,
            count,
        )
        rows.append([*map(float, bounds), *parts(root), 0.0, *slope])
    return rows


def log_gamma_rows(
    first: int, last: int, reach: Real, count: int, *, without_pole: bool
) -> list[list[float]]:
    rows = []
    for n in range(first, last):
        edge = mpf(10) ** -40
        turn = crossing(digamma, mpf(-n - 1) + edge, mpf(-n) - edge)
        for pole in (-n - 1, -n):
            side = mpf(pole) + edge * (1 if pole == -n - 1 else -1)
            root = crossing(log_gamma, side, turn)
            outer = crossing(lambda x: log_gamma(x) - reach, side, turn)
            inner = turn
            if log_gamma(turn) < -reach:
                inner = crossing(lambda x: log_gamma(x) + reach, side, turn)
            low, high = min(outer, inner), max(outer, inner)
            if float(low) == float(high):
                continue
            distance = (root - pole) if without_pole else mpf(0)
            rest = fitted(
                lambda t, r=root, d=distance: (log_gamma(r + t) + (log1p(t / d) if d else 0)) / t,
                low - root,
                high - root,
                count,
            )
            rows.append([float(low), float(high), *parts(root), float(distance), *rest])
    return rows


def turn_row(count: int) -> list[float]:
    """The middle between the first two roots of lgamma, where it is not much below 0."""
    turn = crossing(digamma, mpf("-2.9"), mpf("-2.1"))
    value = log_gamma(turn)
    slope = fitted(lambda t: (log_gamma(turn + t) - value) / t, mpf("-0.065"), mpf("0.065"), count)
    return [float(turn) - 0.06, float(turn) + 0.06, *parts(turn), float(value), *slope]


def show(name: str, rows: list[list[float]], *, without_pole: bool = False) -> None:
    print(f"{name}: Final = _Table(\n    {len(rows[0]) - HEADER},\n    {without_pole},")
    print('    """')
    for row in rows:
        line = ""
        for number in row:
            if len(line) + len(repr(number)) > 98:
                print(line)
                line = ""
            line += (" " if line else "") + repr(number)
        print(line)
    print('""",\n)')


if __name__ == "__main__":
    mp.prec = 300
    # How large values may be: beyond that the ordinary way is accurate. The further to the left,
    # the larger are the terms that cancel.
    show("_DIGAMMA", digamma_rows(20, mpf("0.27"), 11))
    first = log_gamma_rows(2, 4, mpf("0.27"), 24, without_pole=False)
    show("_LGAMMA_FIRST", [*first, turn_row(24)])
    others = log_gamma_rows(4, 18, mpf("0.6"), 9, without_pole=True)
    show("_LGAMMA", others, without_pole=True)
