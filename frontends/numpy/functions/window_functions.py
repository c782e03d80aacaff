"""NumPy's window functions: weights that fall off towards both ends."""

from __future__ import annotations

import operator

import numpy as np

from weft.compiler.ir import dtypes
from weft.compiler.ir.graph import Constant
from weft.compiler.ops.arithmetic import mul, sub
from weft.compiler.ops.special import exp, i0e
from weft.frontends.numpy.functions.ufuncs import apply_ufunc
from weft.frontends.tracing.core import cast, inexact_dtype, lift, wrap
from weft.frontends.tracing.trace import ArrayLike, Tracer

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def bartlett(M: int) -> Tracer:
    """As `numpy.bartlett`; the number of points must be known."""
    return wrap(Constant(np.bartlett(operator.index(M))))


def blackman(M: int) -> Tracer:
    """As `numpy.blackman`; the number of points must be known."""
    return wrap(Constant(np.blackman(operator.index(M))))


def hamming(M: int) -> Tracer:
    """As `numpy.hamming`; the number of points must be known."""
    return wrap(Constant(np.hamming(operator.index(M))))


def hanning(M: int) -> Tracer:
    """As `numpy.hanning`; the number of points must be known."""
    return wrap(Constant(np.hanning(operator.index(M))))


def kaiser(M: int, beta: ArrayLike) -> Tracer:
    """As `numpy.kaiser`; the number of points must be known, `beta` may be traced."""
    points = operator.index(M)
    if points <= 1:
        return wrap(Constant(np.ones(max(points, 0))))
    middle = (points - 1) / 2
    distance = (np.arange(points) - middle) / middle
    height = np.sqrt(np.maximum(1 - distance**2, 0))
    steepness = lift(beta)
    steepness = cast(steepness, dtypes.promote(inexact_dtype(steepness.type.dtype), dtypes.f64))
    inner = lift(apply_ufunc(np.absolute, apply_ufunc(np.multiply, wrap(steepness), height)))
    outer = lift(apply_ufunc(np.absolute, wrap(steepness)))
    # Bessel functions without their exponential growth, so that no beta overflows.
    grown = exp(sub(inner, outer))
    ratio = apply_ufunc(np.true_divide, wrap(mul(i0e(inner), grown)), wrap(i0e(outer)))
    return wrap(lift(ratio))
