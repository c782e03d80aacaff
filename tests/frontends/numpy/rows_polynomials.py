"""Rows of polynomials: leading coefficients are not 0, as NumPy leaves out those that are."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.frontends.numpy.arrays import Array, Draw, array, chance, choice, integer, options
from tests.frontends.numpy.checking import Call, call
from tests.frontends.numpy.row import Row, rows
from tests.frontends.numpy.rows_linalg import FactorRow

KINDS = ("int64", "float32", "float64", "complex128")


def coefficients(draw: Draw, least: int = 1, kinds: tuple[str, ...] = KINDS) -> Array:
    return array(draw, kinds, (integer(draw, least, 5),), values="unit")


def two(draw: Draw) -> Call:
    first = coefficients(draw)
    return call(
        first, choice(draw, coefficients(draw), array(draw, ("float64",), (), values="unit"))
    )


def quotient(draw: Draw) -> Call:
    kinds = (choice(draw, "float64", "complex128"),)
    return call(coefficients(draw, kinds=kinds), coefficients(draw, kinds=kinds))


def divided(u: Array, v: Array) -> Any:
    """NumPy leaves out the zeros before the remainder."""
    found, rest = np.polydiv(u, v)
    if len(v) > len(u):
        return found.astype(rest.dtype), rest
    kept = rest[-(len(v) - 1) :] if len(v) > 1 else rest[:0]
    filled = np.zeros(len(u), rest.dtype)
    filled[len(u) - len(kept) :] = kept
    return found, filled


def derived(draw: Draw) -> Call:
    return call(coefficients(draw), **options(draw, m=st.integers(0, 3)))


def integrated(draw: Draw) -> Call:
    m = integer(draw, 0, 3)
    return call(coefficients(draw), m, choice(draw, None, 2.0, [1.0, 2.0, 3.0][:m] if m else None))


def in_order(draw: Draw) -> Call:
    """Roots that are real and apart come in a known order once sorted."""
    zeros = np.sort(np.array(choice(draw, [1.0, 2.0, 4.0], [-3.0, 0.5], [2.0], [-1.0, 1.0, 3.0])))
    return call(np.poly(zeros))


def in_line(roots: Any) -> Any:
    return np.sort(np.real(roots))


def fitted(draw: Draw) -> Call:
    x = np.linspace(-1, 1, 7)
    y = array(draw, ("float64",), choice(draw, (7,), (7, 2)), values="small")
    given = options(draw, w=st.just(np.arange(1.0, 8)))
    if chance(draw):
        given |= {"cov": choice(draw, True, "unscaled")}
    elif chance(draw):
        given |= {"full": True}
    return call(x, y, integer(draw, 0, 3), **given)


def of_zeros(draw: Draw) -> Call:
    return call(array(draw, ("float64", "int64", "float32"), (integer(draw, 0, 4),), values="unit"))


ROWS: list[Row] = [
    *rows("polyadd polysub polymul", two, tolerance=64),
    Row("polydiv", quotient, oracle=divided, tolerance=512),
    Row("polyder", derived),
    Row("polyint", integrated),
    Row("polyfit", fitted, tolerance=4096),
    Row("poly", of_zeros, tolerance=64, same_graph=False),
    FactorRow("roots", in_order, common=in_line, tolerance=512, same_graph=False),
]
