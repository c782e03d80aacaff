"""digamma of f64 values near its roots left of -20, of which there is one between any two poles:
its terms cancel there, so that they are computed to twice the precision.

By reflection it is digamma(1 - x) - pi * cot(pi * d), where d = x - round(x) is exact. The first is
log(y) + 1 / (2 * y) less a series in y**-2, for y = -x.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from weft.compiler.lower.llvm.emit.function import Function, V
from weft.compiler.lower.llvm.math.logarithm import decomposed
from weft.compiler.lower.llvm.math.polynomial import (
    fast_two_sum,
    format_of,
    pair_horner,
    pair_inverse,
    pair_product,
    two_product,
    two_sum,
)

# Made by docs/decisions/digamma_roots.py. log((1 + s) / (1 - s)) / s in powers of s**2, up to the
# square of 3 - sqrt(8).
_LOGARITHM: Final = (
    (2.0, 1.611305131745344e-33),
    (0.6666666666666666, 3.700743415414727e-17),
    (0.4, -2.220446043010301e-17),
    (0.2857142857142857, 1.5860266523289313e-17),
    (0.2222222222222222, 1.2368474175801064e-17),
    (0.1818181818181818, 1.2419068614849062e-17),
    (0.15384615384615596, -3.6997450688602855e-18),
    (0.13333333333303574, 8.819759081901644e-18),
    (0.11764705885308857, -4.331296192299302e-18),
    (0.10526315579015687, -6.516416008475672e-18),
    (0.09523820301247539, 9.551397706310331e-19),
    (0.08695258977201678, 1.7773448343923314e-18),
    (0.08009951517052569, 3.183903155821254e-18),
    (0.07242069474728387, 3.8094409338798136e-18),
    (0.08498723547514207, 5.9629438224217674e-18),
)
# (pi * cot(pi * d) - 1 / d) / d in powers of d**2, for d up to 0.29.
_COTANGENT: Final = (
    (-3.289868133696453, -6.081344700796951e-17),
    (-2.1646464674222763, -9.497024085713314e-17),
    (-2.0346861239688985, 1.9517198336968e-16),
    (-2.0081547123958887, 4.034347099388656e-17),
    (-2.001989150255636, -2.1872976685561835e-16),
    (-2.000492173106616, -8.834133162846676e-18),
    (-2.000122496270117, 6.430378864725032e-19),
    (-2.0000305645188394, 1.258497812024981e-16),
    (-2.000007634585006, 2.1590873745627681e-16),
    (-2.0000019080032967, -1.2764296945688043e-16),
    (-2.000000473755964, -1.6226961513871726e-16),
    (-2.0000002156519403, 9.267362645013947e-17),
    (-1.9999977323504083, -2.2335226435634045e-17),
    (-2.000042552979431, 1.2348514224955895e-16),
    (-1.999390845982905, -8.530222362502153e-17),
    (-2.006658989369026, -3.027877793654397e-17),
    (-1.9456752649084648, -1.0145597141118898e-16),
    (-2.31793629317969, -3.240296587738099e-17),
    (-0.7581539422982345, -1.6354561506493835e-17),
    (-4.768263787996789, 1.5010929653411954e-16),
)
# (log(y) - 1 / (2 * y) - digamma(y)) * y**2 in powers of y**-2, for y from 19.75 on.
_TAIL: Final = (
    (0.08333333333333333, 4.6259292692714414e-18),
    (-0.008333333333333333, -1.1564822757443708e-19),
    (0.003968253968253968, 2.2021744053077736e-19),
    (-0.004166666666666667, 3.3764356819693e-19),
    (0.007575757575756339, -4.7200324593102055e-20),
    (-0.021092796090537706, -5.032994088842222e-19),
    (0.08333333075850269, 6.5361724459445455e-18),
    (-0.4432579142747875, 4.635787732055788e-18),
    (3.053059865592271, -2.1976475955082694e-16),
    (-26.19117691033717, 5.999874944208105e-16),
    (236.18122384424797, -6.171999723278838e-15),
)
# log(2) in three parts, of which the first is so short that k times it is exact.
_LN2: Final = (0.6931471805598903, 5.497923018708371e-14, 1.94704509238075e-31)

LEAST: Final = -19.75  # this serves what is to the left of it ...
REACH: Final = 0.28  # ... and has no larger values: others have their digits without it


def digamma(f: Function, x: V) -> V:
    """digamma(x) where that is small, for x to the left of the bound."""
    y, d = -x, x - f.round(x)
    inverse = pair_inverse(f, y)
    square = pair_product(f, inverse, inverse)
    tail = pair_product(f, square, pair_horner(f, square, _TAIL))
    slope = pair_horner(f, two_product(f, d, d), _COTANGENT)
    bend = pair_product(f, slope, (d, f.const(0.0, d.type)))
    taken = [*pair_inverse(f, d), *bend, *tail]
    return _sum(f, [*_log(f, y), *[part * 0.5 for part in inverse], *[-part for part in taken]])


def _sum(f: Function, terms: Sequence[V]) -> V:
    """A sum as if in three times the precision, as the largest terms may cancel altogether."""
    held = list(terms)
    for _ in range(2):
        for place in range(1, len(held)):
            held[place], held[place - 1] = two_sum(f, held[place], held[place - 1])
    return functools.reduce(f.add, held)


def _log(f: Function, x: V) -> list[V]:
    """Terms of k * log(2) + log(1 + t), the latter as a series in s = t / (2 + t)."""
    k, t = decomposed(f, x, f.const(format_of(x).shifter, x.type))
    under, under_rest = fast_two_sum(f, 2.0, t)
    s = t / under
    s_rest = f.fma(-s, under_rest, f.fma(-s, under, t)) / under
    root = fast_two_sum(f, s, s_rest)
    log = pair_product(f, root, pair_horner(f, pair_product(f, root, root), _LOGARITHM))
    return [k * _LN2[0], *two_product(f, k, _LN2[1]), k * _LN2[2], *log]
