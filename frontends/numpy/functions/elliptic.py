"""Elliptic integrals on traced arrays, of the parameter m: complete ones by means of arithmetic
and geometric averages, incomplete ones by Carlson's symmetric forms.

`b` is (K - E) / m throughout, by which derivatives are smooth where m is 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.frontends.numpy.functions.gammas import weighted, with_rule

_AVERAGES: Final = 10  # the error is squared by each: enough for 1 - m of 1e-300
_DUPLICATIONS: Final = 11  # each brings the operands nearer to each other by 4


def ellipkm1(p: Any) -> Any:
    """The complete integral of the first kind of 1 - p."""
    return _complete(p)[0]


def ellipk(m: Any) -> Any:
    """The complete integral of the first kind."""
    return _complete(1 - m)[0]


def ellipe(m: Any) -> Any:
    """The complete integral of the second kind."""
    one = np.ones_like(m)
    inside = np.where(m == 1, 0.5, m).astype(m.dtype)
    is_left = inside < 0
    turned = np.where(is_left, inside / (inside - 1), inside).astype(m.dtype)
    first, b = _complete(1 - turned)
    made = (first - turned * b) * np.where(is_left, np.sqrt(one - inside), one)
    ends = np.where(m == 1, 1.0, np.where(m == -math.inf, math.inf, made))
    return ends.astype(m.dtype)


def _complete(p: Any) -> tuple[Any, Any]:
    """K and (K - E) / m of m = 1 - p."""
    inside = np.where(p > 0, p, 1.0).astype(p.dtype)
    finite = np.where(np.isinf(inside), 1.0, inside).astype(p.dtype)
    root = np.sqrt(finite)
    high, low = (1 + root) / 2, np.sqrt(root)
    share = 1 / (2 * (1 + root))
    difference = (1 - finite) * share
    total, weight = 0.5 + difference * share, 1.0
    for _ in range(_AVERAGES):
        mean = (high + low) / 2
        share = share * difference / (4 * mean)
        difference = difference * difference / (4 * mean)
        weight *= 2
        total = total + weight * difference * share
        high, low = mean, np.sqrt(high * low)
    first = math.pi / 2 / high
    edge = np.where(p == 0, np.inf, np.where(np.isinf(p) & (p > 0), 0.0, np.nan))
    is_inside = (p > 0) & np.isfinite(p)
    b = np.where(is_inside, first * total, edge).astype(p.dtype)
    return np.where(is_inside, first, edge).astype(p.dtype), b


def _symmetric(x: Any, y: Any, z: Any) -> Any:
    """Carlson's symmetric integral of the first kind, of operands that are not negative."""
    mean = (x + y + z) / 3
    first, second = mean - x, mean - y
    for _ in range(_DUPLICATIONS):
        x, y, z, mean, _ = _doubled(x, y, z, mean)
    scale = 4.0**_DUPLICATIONS * mean
    u, v = first / scale, second / scale
    w = -(u + v)
    e2, e3 = u * v - w * w, u * v * w
    return (1 - e2 / 10 + e3 / 14 + e2 * e2 / 24 - 3 * e2 * e3 / 44) / np.sqrt(mean)


def _symmetric_second(x: Any, y: Any, z: Any) -> Any:
    """Carlson's symmetric integral of the second kind, of operands that are not negative."""
    mean = (x + y + 3 * z) / 5
    first, second = mean - x, mean - y
    total, factor = np.zeros_like(mean), 1.0
    for _ in range(_DUPLICATIONS):
        before = z
        x, y, z, mean, step = _doubled(x, y, z, mean)
        total = total + factor / (np.sqrt(before) * (before + step))
        factor /= 4
    scale = mean / factor
    u, v = first / scale, second / scale
    w = -(u + v) / 3
    uv = u * v
    e2, e3 = uv - 6 * w * w, (3 * uv - 8 * w * w) * w
    e4, e5 = 3 * (uv - w * w) * w * w, uv * w * w * w
    made = 1 - 3 * e2 / 14 + e3 / 6 + 9 * e2 * e2 / 88 - 3 * e4 / 22 - 9 * e2 * e3 / 52
    return factor * (made + 3 * e5 / 26) / (mean * np.sqrt(mean)) + 3 * total


def _doubled(x: Any, y: Any, z: Any, mean: Any) -> tuple[Any, ...]:
    """One step of duplication, which leaves the integrals what they are."""
    a, b, c = np.sqrt(x), np.sqrt(y), np.sqrt(z)
    step = a * b + b * c + c * a
    return (x + step) / 4, (y + step) / 4, (z + step) / 4, (mean + step) / 4, step


def _incomplete(phi: Any, m: Any) -> tuple[Any, Any]:
    """F and (F - E) / m of an amplitude."""
    turns = np.round(phi / math.pi)
    rest = phi - turns * math.pi
    sine, cosine = np.sin(rest), np.cos(rest)
    square = sine * sine
    height = np.maximum(1 - m * square, 0.0)
    one = np.ones_like(height)
    first = sine * _symmetric(cosine * cosine, height, one)
    third = sine * square * _symmetric_second(cosine * cosine, height, one) / 3
    has_turns = turns != 0
    whole, b = _complete(np.where(has_turns, 1 - m, 1.0).astype(m.dtype))
    more = [np.where(has_turns, 2 * turns * part, 0.0) for part in (whole, b)]
    return first + more[0], third + more[1]


def _values(phi: Any, m: Any) -> tuple[Any, Any]:
    """F and E; NaN for m above 1, and where an angle is none."""
    wide, parameter = phi.astype("float64"), m.astype("float64")
    is_inside = (parameter <= 1) & np.isfinite(wide) & np.isfinite(parameter)
    safe = np.where(is_inside, parameter, 0.0)
    first, b = _incomplete(np.where(is_inside, wide, 0.0), safe)
    second = np.where(is_inside, first - safe * b, np.nan).astype(phi.dtype)
    return np.where(is_inside, first, np.nan).astype(phi.dtype), second


def _slopes(phi: Any, m: Any) -> tuple[Any, Any]:
    """(F - E) / m and the height of the integrand's root."""
    _, b = _incomplete(phi, m)
    return b, np.sqrt(1 - m * np.sin(phi) ** 2)


@functools.cache
def _first_kind() -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any) -> Any:
        phi, m = primals

        def by_parameter() -> Any:
            b, root = _slopes(phi, m)
            edge = np.sin(phi) * np.cos(phi) / root
            return (ellipkinc(phi, m) - b - edge) / (2 * (1 - m))

        return ellipkinc(phi, m), weighted([lambda: 1 / _slopes(phi, m)[1], by_parameter], tangents)

    return with_rule(lambda phi, m: _values(phi, m)[0], rule)


@functools.cache
def _second_kind() -> Callable[..., Any]:
    def rule(primals: Any, tangents: Any) -> Any:
        phi, m = primals
        slopes = [lambda: _slopes(phi, m)[1], lambda: -_slopes(phi, m)[0] / 2]
        return ellipeinc(phi, m), weighted(slopes, tangents)

    return with_rule(lambda phi, m: _values(phi, m)[1], rule)


def ellipkinc(phi: Any, m: Any) -> Any:
    """The incomplete integral of the first kind."""
    phi, m = np.broadcast_arrays(phi, m)
    return _first_kind()(phi, m)


def ellipeinc(phi: Any, m: Any) -> Any:
    """The incomplete integral of the second kind."""
    phi, m = np.broadcast_arrays(phi, m)
    return _second_kind()(phi, m)
