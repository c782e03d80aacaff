"""What several test files share: comparison with NumPy, numerical derivatives, counts of ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import weft as wf
from weft.compiler.ir.graph import Graph
from weft.frontends.tracing import tree

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]


def matrix() -> Array:
    return np.array([[3.0, -1.0, 4.0], [1.0, -5.0, 9.0]])


def leaves(result: Any) -> list[Array]:
    return [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]


def assert_as_numpy(function: Function, *arguments: Array) -> None:
    """The function traced gives what it gives on NumPy arrays, but for roundings that compiled code
    leaves out, and leaves its arguments alone.
    """
    want = leaves(function(*[argument.copy() for argument in arguments]))
    before = [argument.copy() for argument in arguments]
    got = leaves(wf.jit(function)(*arguments))
    for one, other in zip(got, want, strict=True):
        rtol = 8 * np.finfo(other.dtype).eps if other.dtype.kind in "fc" else 0
        np.testing.assert_allclose(one, other, rtol=rtol, strict=True)
    for argument, original in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, original, strict=True)


def numerical_gradient(function: Function, x: Array, step: float = 1e-3) -> Array:
    """The gradient of a scalar function by central differences, extrapolated once: the error is of
    order step**4, beside rounding of order 1e-16 / step.
    """
    gradient = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        direction = np.zeros(x.shape)
        direction[place] = 1.0

        def central(size: float, direction: Array = direction) -> float:
            ahead, behind = function(x + size * direction), function(x - size * direction)
            return float(ahead - behind) / (2 * size)

        gradient[place] = (4 * central(step / 2) - central(step)) / 3
    return gradient


def numerical_hessian(gradient: Function, x: Array, step: float = 1e-3) -> Array:
    """The Hessian of a function of a vector from its gradient, in the same way."""
    rows = [numerical_gradient(lambda y, i=i: gradient(y)[i], x, step) for i in range(x.size)]
    return np.stack(rows)


def assert_trees_close(got: Any, want: Any, rtol: float = 1e-12, atol: float = 0.0) -> None:
    """Same structure, and leaves that agree."""
    got_leaves, got_tree = tree.flatten(got)
    want_leaves, want_tree = tree.flatten(want)
    assert got_tree == want_tree
    for one, other in zip(got_leaves, want_leaves, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)


def op_counts(graph: Graph) -> Counter[str]:
    """How often each op is there, inside regions too."""
    return Counter(op.name for region in graph.regions() for op in region.ops)


def op_count(graph: Graph) -> int:
    """The number of ops, inside regions too."""
    return op_counts(graph).total()
