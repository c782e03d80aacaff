"""The namespace of JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import jvp as jvp
from jax import value_and_grad as value_and_grad
from jax.lax import scan as scan
from jax.lax import while_loop as while_loop
from jax.numpy import abs as abs
from jax.numpy import arange as arange
from jax.numpy import asarray as asarray
from jax.numpy import broadcast_to as broadcast_to
from jax.numpy import concatenate as concatenate
from jax.numpy import cos as cos
from jax.numpy import einsum as einsum
from jax.numpy import exp as exp
from jax.numpy import log as log
from jax.numpy import log1p as log1p
from jax.numpy import max as max
from jax.numpy import maximum as maximum
from jax.numpy import mean as mean
from jax.numpy import minimum as minimum
from jax.numpy import sin as sin
from jax.numpy import sqrt as sqrt
from jax.numpy import stack as stack
from jax.numpy import sum as sum
from jax.numpy import take_along_axis as take_along_axis
from jax.numpy import tanh as tanh
from jax.numpy import where as where
from jax.numpy import zeros as zeros
from jax.scipy.special import erf as erf


def segment_sum(values: Any, segments: Any, count: int) -> Any:
    """The sums of the rows of each segment."""
    return jax.ops.segment_sum(values, segments, count)


def scatter_inside(array: Any, inside: Any) -> Any:
    """The array with all but its edges replaced."""
    return array.at[1:-1, 1:-1].set(inside)


def solve(a: Any, b: Any) -> Any:
    """The solutions of systems of which each has one right-hand side."""
    return jax.numpy.linalg.solve(a, b[..., None])[..., 0]


def conv(x: Any, w: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """A convolution of images."""
    edges = [(padding, padding)] * 2
    return jax.lax.conv_general_dilated(x, w, (stride, stride), edges, feature_group_count=groups)


def max_pool(x: Any, size: int, stride: int | None = None, padding: int = 0) -> Any:
    """The largest of each window of an image."""
    step, edge = stride or size, (padding, padding)
    window, strides = (1, 1, size, size), (1, 1, step, step)
    edges = ((0, 0), (0, 0), edge, edge)
    return jax.lax.reduce_window(x, -np.inf, jax.lax.max, window, strides, edges)
