"""Finds the polynomial coefficients in compiler/lower/llvm/math: Remez exchange with mpmath.

`minimax(function, powers, low, high, weight)` gives c with the least largest value of
|weight(x) * (function(x) - sum(c[i] * x ** powers[i]))|. With `bits` the coefficients are rounded
one after the other, the most significant first, and the rest is fitted again after each one, so
that later ones make up for the rounding of earlier ones. `rational` fits a quotient of two.

    from mpmath import mp, exp
    minimax(lambda r: (exp(r) - 1 - r) / r**2, range(10), -0.3466, 0.3466, lambda r: r**2 / exp(r))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import cos, fabs, log, lu_solve, matrix, mp, mpf, pi

Real = Any  # mpmath's numbers have no types
Map = Callable[[Real], Real]


def minimax(
    function: Map,
    powers: Sequence[int],
    low: float,
    high: float,
    weight: Map = lambda x: 1,
    *,
    bits: int | Sequence[int] = 0,
    points: int = 700,
) -> tuple[list[float], float]:
    """The coefficients, and the base-2 logarithm of the largest weighted error."""
    mp.prec = 200
    grid = [
        mpf(low) + (mpf(high) - low) * (1 - cos(pi * i / points)) / 2 for i in range(points + 1)
    ]
    grid = [x if x != 0 else mpf(high) / 10**6 for x in grid]
    values = [function(x) for x in grid]
    weights = [fabs(weight(x)) for x in grid]
    fitted = _remez(grid, values, weights, list(powers))
    widths = [bits] * len(powers) if isinstance(bits, int) else list(bits)
    for place in range(len(powers) if bits else 0):
        fitted[place] = _rounded(fitted[place], widths[place])
        left = _errors(grid, values, weights, powers, fitted)
        free = range(place + 1, len(powers))
        for other, change in zip(
            free, _refit(grid, left, weights, powers[place + 1 :]), strict=True
        ):
            fitted[other] += change
    worst = max(fabs(e) for e in _errors(grid, values, weights, powers, fitted))
    return [float(c) for c in fitted], float(log(worst, 2))


def rational(
    function: Map, over: int, under: int, low: float, high: float, weight: Map = lambda x: 1
) -> tuple[list[float], list[float], float]:
    """Coefficients of polynomials of these degrees whose quotient has the least largest weighted
    error, the last one of the denominator 1; and the base-2 logarithm of that error.
    """
    mp.prec = 250
    points = 600
    grid = [
        mpf(low) + (mpf(high) - low) * (1 - cos(pi * (i + 0.5) / points)) / 2 for i in range(points)
    ]
    values, weights = [function(x) for x in grid], [fabs(weight(x)) for x in grid]
    count = over + under + 2
    chosen = [round((points - 1) * (i + 0.5) / count) for i in range(count)]
    for _ in range(40):
        nodes = [(grid[i], values[i], (-1) ** row / weights[i]) for row, i in enumerate(chosen)]
        top, bottom = _levelled(nodes, over, under)
        errors = [
            w * (_at(top, x) / _at(bottom, x) - v)
            for x, v, w in zip(grid, values, weights, strict=True)
        ]
        following = _extrema(errors, count)
        if following == chosen:
            break
        chosen = following
    scaled = [[float(c / bottom[-1]) for c in part] for part in (top, bottom)]
    return scaled[0], scaled[1], float(log(max(fabs(e) for e in errors), 2))


def _levelled(
    nodes: list[tuple[Real, Real, Real]], over: int, under: int
) -> tuple[list[Real], list[Real]]:
    """The quotient that is off by one level times each node's unit. The level multiplies the
    unknown denominator, so it is put in as found before until it stays.
    """
    count, level = over + under + 2, mpf(0)
    for _ in range(8):
        system, right = matrix(count, count), matrix(count, 1)
        for row, (x, value, unit) in enumerate(nodes):
            for power in range(over + 1):
                system[row, power] = x**power
            for power in range(1, under + 1):
                system[row, over + power] = -(value + level * unit) * x**power
            system[row, count - 1] = -unit
            right[row] = value
        solution = lu_solve(system, right)
        level = solution[count - 1]
    found = [solution[i] for i in range(count - 1)]
    return found[: over + 1], [mpf(1), *found[over + 1 :]]


def _at(coefficients: list[Real], x: Real) -> Real:
    return sum(c * x**power for power, c in enumerate(coefficients))


def _errors(
    grid: list[Real],
    values: list[Real],
    weights: list[Real],
    powers: Sequence[int],
    coefficients: list[Real],
) -> list[Real]:
    return [
        w * (v - sum(c * x**p for c, p in zip(coefficients, powers, strict=True)))
        for x, v, w in zip(grid, values, weights, strict=True)
    ]


def _refit(
    grid: list[Real], errors: list[Real], weights: list[Real], powers: Sequence[int]
) -> list[Real]:
    """Small changes of coefficients that make the largest error least, by linear programming: the
    exchange need not converge once low powers are fixed. The errors are scaled, so doubles suffice.
    """
    if not powers:
        return []
    from scipy.optimize import linprog

    scale, reach = max(fabs(e) for e in errors), max(fabs(x) for x in grid)
    columns = np.array(
        [[float(w * (x / reach) ** p) for p in powers] for x, w in zip(grid, weights, strict=True)]
    )
    sizes = np.abs(columns).max(axis=0)
    columns /= sizes
    ones = np.ones((len(grid), 1))
    target = np.array([float(e / scale) for e in errors])
    found = linprog(
        [0.0] * len(powers) + [1.0],
        A_ub=np.block([[columns, -ones], [-columns, -ones]]),
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] * len(powers) + [(0, None)],
    )
    return [
        mpf(float(c)) * scale / float(size) / reach**p
        for c, size, p in zip(found.x[:-1], sizes, powers, strict=True)
    ]


def _rounded(value: Real, bits: int) -> Real:
    with mp.workprec(bits):
        return +value


def _remez(
    grid: list[Real], values: list[Real], weights: list[Real], powers: list[int]
) -> list[Real]:
    count = len(powers)
    columns = [[x**p for p in powers] for x in grid]
    last = len(grid) - 1
    # Off centre, as a place where the weight is 0 would force the error to be 0 everywhere.
    chosen = [round(last * (i + 0.37) / (count + 1)) for i in range(count + 1)]
    for _ in range(40):
        system = matrix(count + 1, count + 1)
        right = matrix(count + 1, 1)
        for row, place in enumerate(chosen):
            for column in range(count):
                system[row, column] = weights[place] * columns[place][column]
            system[row, count] = (-1) ** row
            right[row] = weights[place] * values[place]
        solution = lu_solve(system, right)
        found = [solution[i] for i in range(count)]
        following = _extrema(_errors(grid, values, weights, powers, found), count + 1)
        if following == chosen:
            break
        chosen = following
    return found


def _extrema(errors: list[Real], count: int) -> list[int]:
    """The places of the largest errors of alternating sign."""
    signs = np.array([1 if e > 0 else -1 for e in errors])
    cuts = [0, *(np.flatnonzero(np.diff(signs)) + 1).tolist(), len(errors)]
    peaks = [
        max(range(a, b), key=lambda i: fabs(errors[i]))
        for a, b in zip(cuts, cuts[1:], strict=False)
    ]
    while len(peaks) > count:
        first = fabs(errors[peaks[0]]) < fabs(errors[peaks[-1]])
        peaks.pop(0 if first else -1)
    while len(peaks) < count:  # an error near zero everywhere: fill up, the solve stays regular
        spare = [i for i in range(len(errors)) if i not in peaks]
        peaks = sorted([*peaks, spare[len(spare) // 2]])
    return peaks
