"""Functions with their control flow converted, against Python itself running them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

import weft as wf


def as_python(function: Callable[..., Any], *args: Any, tolerance: float = 1e-12) -> None:
    """Compare results by structure, shape, dtype and values; arguments are copied."""
    expected = function(*map(_copied, args))
    made = wf.jit(function, control_flow=True)(*args)
    left, left_tree = optree.tree_flatten(made)
    right, right_tree = optree.tree_flatten(expected)
    assert left_tree == right_tree
    for one, other in zip(left, right, strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def _copied(arg: Any) -> Any:
    return arg.copy() if isinstance(arg, np.ndarray) else arg
