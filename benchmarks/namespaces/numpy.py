"""The namespace of NumPy: loops are Python's, and there are no derivatives."""

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
from scipy.special import erf as erf

from benchmarks.workload import Unsupported

Function = Callable[..., Any]


def scan(step: Function, carry: Any, rows: Any) -> Any:
    """The steps one after the other, with what they return stacked."""
    made = []
    for i in range(len(rows)):
        carry, row = step(carry, rows[i])
        made.append(row)
    return carry, np.stack(made)


def while_loop(condition: Function, step: Function, carry: Any) -> Any:
    """Steps as long as the condition holds."""
    while condition(carry):
        carry = step(carry)
    return carry


def segment_sum(values: Any, segments: Any, count: int) -> Any:
    """The sums of the rows of each segment."""
    total = np.zeros((count, *values.shape[1:]), values.dtype)
    np.add.at(total, segments, values)
    return total


def scatter_inside(array: Any, inside: Any) -> Any:
    """The array with all but its edges replaced."""
    new = array.copy()
    new[1:-1, 1:-1] = inside
    return new


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of which each has one right-hand side."""
    return np.linalg.solve(a, b[..., None])[..., 0]


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """A convolution of images, as a product with all windows."""
    edges = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, edges), w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    batch, channels, *size = windows.shape[:4]
    split = windows.reshape(batch, groups, channels // groups, *size, *w.shape[2:])
    kernels = w.reshape(groups, -1, *w.shape[1:])
    made = np.einsum("bgchwij,gocij->bgohw", split, kernels, optimize=True)
    return made.reshape(batch, -1, *size)


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    """The largest of each window of an image."""
    edges = ((0, 0), (0, 0), (padding, padding), (padding, padding))
    padded = np.pad(x, edges, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))
    step = stride or size
    return windows[:, :, ::step, ::step].max((-1, -2))


def value_and_grad(function: Function, argnums: tuple[int, ...]) -> Function:
    """NumPy has no derivatives."""
    raise Unsupported("no derivatives")


def jvp(function: Function, primals: Any, tangents: Any) -> Any:
    """NumPy has no derivatives."""
    raise Unsupported("no derivatives")
