"""The namespace of Weft: NumPy's own functions, which it traces, and what NumPy has no name for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import abs as abs
from numpy import arange as arange
from numpy import asarray as asarray
from numpy import broadcast_to as broadcast_to
from numpy import concatenate as concatenate
from numpy import cos as cos
from numpy import einsum as einsum
from numpy import exp as exp
from numpy import log as log
from numpy import log1p as log1p
from numpy import max as max
from numpy import maximum as maximum
from numpy import mean as mean
from numpy import minimum as minimum
from numpy import sin as sin
from numpy import sqrt as sqrt
from numpy import stack as stack
from numpy import sum as sum
from numpy import take_along_axis as take_along_axis
from numpy import tanh as tanh
from numpy import where as where
from numpy import zeros as zeros

import weft as wf
from weft import scan as scan
from weft import value_and_grad as value_and_grad
from weft import while_loop as while_loop

Function = Callable[..., Any]


def erf(x: Any) -> Any:
    """SciPy's, which is not loaded where a compiled program is found on disk."""
    from scipy import special

    return special.erf(x)


def segment_sum(values: Any, segments: Any, count: int) -> Any:
    """The sums of the rows of each segment."""
    total = np.zeros((count, *values.shape[1:]), values.dtype)
    return wf.numpy.asarray(total).at[segments].add(values)


def scatter_inside(array: Any, inside: Any) -> Any:
    """The array with all but its edges replaced."""
    new = array.copy()
    new[1:-1, 1:-1] = inside
    return new


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of which each has one right-hand side."""
    return np.linalg.solve(a, b[..., None])[..., 0]


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """A convolution of images."""
    return wf.conv(x, w, strides=stride, padding=padding, groups=groups)


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    """The largest of each window of an image."""
    return wf.max_pool(x, size, strides=stride or size, padding=padding)


def jvp(function: Function, primals: Any, tangents: Any) -> Any:
    """The value and its derivative along the tangents."""
    return wf.jvp(function, primals, tangents)
